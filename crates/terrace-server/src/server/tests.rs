#![expect(
    clippy::disallowed_methods,
    reason = "these tests wait for a server that runs in other threads"
)]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

use super::*;
use crate::limits::REPAIR_INTERVAL;
use crate::memory::Memory;

const TOKEN: &str = "an-admin-token-for-tests";

/// A server that runs in threads of this process.
struct Running {
    address: SocketAddr,
    stop: Stop,
    ended: Option<JoinHandle<io::Result<()>>>,
    memory: Memory,
}

impl Running {
    fn start(vars: &[(&str, &str)]) -> Self {
        Self::start_with(vars, None)
    }

    fn start_with(vars: &[(&str, &str)], tls: Option<TlsFiles>) -> Self {
        let vars = [vars, &[("TERRACE_ADMIN_TOKEN", TOKEN)]].concat();
        let settings = ServerSettings {
            listen: "127.0.0.1:0".parse().unwrap(),
            threads: NonZeroUsize::new(2),
            tls,
            trusted_proxies: Vec::new(),
            look_interval: None,
        };
        let server = Server::bind(settings, Config::from_vars(&vars).unwrap()).unwrap();
        let (address, stop) = (server.address(), server.stop());
        let memory = Memory::new();
        let stores = (memory.clone(), memory.clone());
        let ended = std::thread::spawn(move || server.run(stores.0, stores.1));
        Self {
            address,
            stop,
            ended: Some(ended),
            memory,
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream
    }

    /// Sends a request, and returns everything that the server sends until it closes the connection.
    fn exchange(&self, request: &str) -> String {
        let mut stream = self.connect();
        // The server may respond before it has read everything.
        let _ = stream.write_all(request.as_bytes());
        rest(&mut stream)
    }

    fn get(&self, target: &str, host: &str) -> String {
        self.exchange(&format!(
            "GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        ))
    }

    /// Waits for the end of the stopped server.
    fn ended(mut self) {
        let ended = self.ended.take().unwrap();
        ended.join().unwrap().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// Returns the head and the body of a request that creates a token.
fn creation(name: &str, more: &str) -> (String, String) {
    let body = format!(r#"{{"name":"{name}","scopes":["read"]}}"#);
    let length = body.len();
    let head = format!(
        "POST /admin/v1/tokens HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
         content-length: {length}\r\n{more}\r\n"
    );
    (head, body)
}

fn rest(stream: &mut TcpStream) -> String {
    let mut received = Vec::new();
    let _ = stream.read_to_end(&mut received);
    String::from_utf8_lossy(&received).into_owned()
}

/// Reads until this text has arrived.
fn read_until(stream: &mut TcpStream, text: &str) {
    let mut received = Vec::new();
    while !String::from_utf8_lossy(&received).contains(text) {
        let mut buffer = [0; 1024];
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&received));
        received.extend_from_slice(buffer.get(..count).unwrap());
    }
}

const DISCOVERY: &str = "/.well-known/terraform.json";

/// A self-signed certificate for 127.0.0.1.
const CERTIFICATE: &[u8] = include_bytes!("../../../terrace-cli/tests/fixtures/tls/cert.pem");
const KEY: &[u8] = include_bytes!("../../../terrace-cli/tests/fixtures/tls/key.der");

fn key_pem() -> String {
    let key = STANDARD.encode(KEY);
    format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n")
}

/// Writes a certificate and its key, and reads them.
fn files(folder: &TempDir, certificate: &[u8], key: &str) -> Result<TlsFiles, String> {
    let [at, key_at] = ["cert.pem", "key.pem"].map(|it| folder.path().join(it));
    std::fs::write(&at, certificate).unwrap();
    std::fs::write(&key_at, key).unwrap();
    TlsFiles::read(&at, &key_at)
}

fn connect_tls(server: &Running) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(CERTIFICATE).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "127.0.0.1".try_into().unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    StreamOwned::new(client, server.connect())
}

#[test]
fn a_server_with_a_certificate_speaks_tls() {
    let folder = tempfile::tempdir().unwrap();
    let mut tls = files(&folder, CERTIFICATE, &key_pem()).unwrap();
    let server = Running::start_with(&[], Some(tls.clone()));
    let mut stream = connect_tls(&server);
    let host = "evil.example";
    let request = format!("GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    assert!(
        answer.contains("not served at https://evil.example"),
        "{answer}"
    );
    // A client without TLS gets no answer, and the next one does.
    assert!(!server.get(DISCOVERY, "localhost").starts_with("HTTP"));
    server.connect();
    assert!(!tls.read_again().unwrap());
    // Connections from now on get the new certificate, here one with a chain.
    let chain = [CERTIFICATE, CERTIFICATE].concat();
    files(&folder, &chain, &key_pem()).unwrap();
    assert!(tls.read_again().unwrap());
    // One that cannot be used is reported once, and changes nothing.
    files(&folder, b"", &key_pem()).unwrap_err();
    tls.read_again().unwrap_err();
    assert!(!tls.read_again().unwrap());
    let mut stream = connect_tls(&server);
    stream.write_all(request.as_bytes()).unwrap();
    let _ = stream.read(&mut [0]).unwrap();
    assert_eq!(stream.conn.peer_certificates().unwrap().len(), 2);
}

#[test]
fn a_certificate_without_its_key_is_refused() {
    for (certificate, key, reason) in [
        (CERTIFICATE, "", "the key file contains no private key"),
        (b"", &*key_pem(), "contains no certificate"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let error = files(&folder, certificate, key).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn only_configured_hosts_are_served() {
    let server = Running::start(&[("TERRACE_HOSTNAMES", "registry.example.com")]);
    for host in ["registry.example.com", "registry.example.com:8443", "[::1]"] {
        let served = server.get(DISCOVERY, host);
        assert!(served.starts_with("HTTP/1.1 200 "), "{host}: {served}");
    }
    let refused = server.get(DISCOVERY, "evil.example");
    assert!(refused.starts_with("HTTP/1.1 400 "), "{refused}");
    assert!(
        refused.contains("not served at http://evil.example"),
        "{refused}"
    );
    assert!(refused.contains("cache-control: no-store"), "{refused}");
    // The probes of the kubelet and of load balancers name the address of the server, or nothing (HAProxy).
    for probe in ["1.1\r\nhost: 10.42.0.17:8841", "1.0"] {
        let health = format!("GET /healthz HTTP/{probe}\r\nconnection: close\r\n\r\n");
        let health = server.exchange(&health);
        assert!(health.contains(" 200 OK\r\n"), "{health}");
        let other = format!("GET {DISCOVERY} HTTP/{probe}\r\nconnection: close\r\n\r\n");
        let other = server.exchange(&other);
        assert!(other.contains(" 400 Bad Request\r\n"), "{other}");
    }
    for target in ["http://evil.example/", "http://localhost@evil.example/"] {
        let refused = server.get(target, "localhost");
        assert!(refused.starts_with("HTTP/1.1 400 "), "{refused}");
        assert!(!refused.contains("evil.example"), "{refused}");
    }
    let own = server.get(&format!("http://localhost{DISCOVERY}"), "localhost");
    assert!(own.starts_with("HTTP/1.1 200 "), "{own}");
    for hosts in [
        "",
        "host: localhost\r\nhost: 127.0.0.1\r\n",
        "host: \u{ff}\r\n",
    ] {
        let request = format!("GET {DISCOVERY} HTTP/1.1\r\n{hosts}connection: close\r\n\r\n");
        let refused = server.exchange(&request);
        assert!(refused.starts_with("HTTP/1.1 400 "), "{refused}");
        assert!(refused.contains("exactly one header Host"), "{refused}");
    }
}

#[test]
fn a_large_head_is_refused() {
    let server = Running::start(&[]);
    let long = "x".repeat(2 * crate::limits::HEAD_BYTES);
    let request = format!("GET /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let refused = server.exchange(&request);
    let is_refused = |answer: &str| {
        ["HTTP/1.1 431 ", "HTTP/1.1 414 "]
            .iter()
            .any(|it| answer.starts_with(it))
    };
    assert!(refused.is_empty() || is_refused(&refused), "{refused}");
    let many = "x: y\r\n".repeat(2 * crate::limits::HEADERS);
    let request = format!("GET / HTTP/1.1\r\nhost: localhost\r\n{many}\r\n");
    let refused = server.exchange(&request);
    assert!(is_refused(&refused), "{refused}");
}

/// Without time to read it, the client would get a reset connection instead of the response.
#[test]
fn a_client_that_sends_a_refused_body_gets_the_response() {
    let server = Running::start(&[]);
    let length = 8 * 1024 * 1024;
    let head = format!(
        "PUT /admin/v1/modules/acme/vpc/aws/1.0.0 HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n"
    );
    let mut stream = server.connect();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&vec![b'x'; length]).unwrap();
    let refused = rest(&mut stream);
    assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
}

#[test]
fn a_stopped_server_completes_the_requests_that_it_has_begun() {
    let server = Running::start(&[]);
    let mut stream = server.connect();
    let (head, body) = creation("ci", "expect: 100-continue\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    // The server asks for the body when the request has been authorised.
    read_until(&mut stream, "100 Continue\r\n\r\n");
    server.stop.stop();
    // Until the server has noticed, it accepts connections.
    let began = Instant::now();
    while TcpStream::connect(server.address).is_ok() {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
    stream.write_all(body.as_bytes()).unwrap();
    let answer = rest(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    server.ended();
}

#[test]
fn a_stopped_server_closes_idle_connections() {
    let server = Running::start(&[]);
    let mut stream = server.connect();
    let request = format!("GET {DISCOVERY} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    read_until(&mut stream, "\r\n\r\n{");
    let began = Instant::now();
    server.stop.stop();
    rest(&mut stream);
    drop(stream);
    server.ended();
    assert!(began.elapsed() < crate::limits::HEAD_TIME.min(crate::limits::GRACE));
}

#[test]
fn a_change_is_completed_although_its_client_has_left() {
    let server = Running::start(&[]);
    let (head, body) = creation("left", "");
    let mut stream = server.connect();
    let write_time = Duration::from_millis(400);
    server.memory.slow_down(write_time);
    stream.write_all((head + &body).as_bytes()).unwrap();
    // The request has begun, and its first write has not ended.
    std::thread::sleep(write_time / 2);
    stream.shutdown(Shutdown::Both).unwrap();
    let listed = || {
        server.exchange(&format!(
            "GET /admin/v1/tokens HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\r\n"
        ))
    };
    let began = Instant::now();
    while !listed().contains("\"left\"") {
        assert!(began.elapsed() < Duration::from_secs(20), "{}", listed());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_panic_ends_one_request() {
    let server = Running::start(&[]);
    let mut stream = server.connect();
    let mut ask = |request: &str, answer: &str| {
        stream.write_all(request.as_bytes()).unwrap();
        read_until(&mut stream, answer);
    };
    let read = "GET /v1/modules/acme/vpc/aws/versions HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let (head, body) = creation("ci", "");
    let change = head + &body;
    server.memory.panic(true);
    for request in [read, &change] {
        ask(request, "HTTP/1.1 503 ");
    }
    server.memory.panic(false);
    ask(read, "HTTP/1.1 404 ");
    ask(&change, "HTTP/1.1 201 ");
}

#[tokio::test(start_paused = true)]
async fn the_repair_continues_after_a_panic() {
    let config: &'static Config = Box::leak(Box::new(
        Config::from_vars(&[("TERRACE_ADMIN_TOKEN", TOKEN)]).unwrap(),
    ));
    let hosts = ServedHosts::new(Vec::new(), "127.0.0.1".parse().unwrap());
    let entrance = Entrance {
        tls: None,
        proxies: TrustedProxies::new(Vec::new()),
        connections: Shares::new(1),
        replies: Shares::new(1),
    };
    let memory = Memory::new();
    let shared = Arc::new(Shared::new(config, hosts));
    let repaired = async {
        let thread = Thread::new(shared, entrance, memory.clone(), memory.clone());
        let (_stop, stopping) = watch::channel(false);
        thread.repair_regularly(stopping);
        memory.panic(true);
        tokio::time::sleep(REPAIR_INTERVAL * 3 / 2).await;
        memory.panic(false);
        tokio::time::sleep(REPAIR_INTERVAL).await;
        assert!(memory.writes() > 0);
    };
    LocalSet::new().run_until(repaired).await;
}

//! HTTP/1.1 by hand: a client that can also send malformed requests.

use std::fmt::{Display, Formatter};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::Response;

/// The time that a server has to respond. A connection on which the server waits for a missing body is closed
/// after it.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server that is reached over the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// `http` or `https`.
    pub scheme: &'static str,
    /// Its host, and its port unless that is the scheme's own.
    pub authority: String,
}

impl Server {
    /// Splits a URL into its server and its path; `None` if this is no whole URL.
    pub fn of(url: &str) -> Option<(Self, &str)> {
        let (scheme, rest) = ["http", "https"].into_iter().find_map(|scheme| {
            let rest = url.strip_prefix(scheme)?.strip_prefix("://")?;
            Some((scheme, rest))
        })?;
        let (authority, target) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let authority = authority.to_owned();
        Some((Self { scheme, authority }, target))
    }

    /// The host, without a port.
    pub fn hostname(&self) -> &str {
        self.authority.split(':').next().unwrap_or_default()
    }

    fn connect(&self) -> Box<dyn Stream> {
        let port = match self.scheme {
            "https" => ":443",
            _ => ":80",
        };
        let default_port = if self.authority.contains(':') {
            ""
        } else {
            port
        };
        let plain = TcpStream::connect(format!("{}{default_port}", self.authority));
        let plain = plain.unwrap_or_else(|error| panic!("{self} does not listen: {error}"));
        plain.set_read_timeout(Some(PATIENCE)).unwrap();
        if self.scheme == "http" {
            return Box::new(plain);
        }
        let name =
            ServerName::try_from(self.hostname().to_owned()).expect("a host of certificates");
        let connection = ClientConnection::new(tls(), name).unwrap();
        Box::new(StreamOwned::new(connection, plain))
    }
}

impl Display for Server {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

/// The settings of TLS: the certificates that this machine trusts, or those of `SSL_CERT_FILE`.
fn tls() -> Arc<ClientConfig> {
    static TLS: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let config = TLS.get_or_init(|| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        Arc::new(
            config
                .unwrap()
                .with_root_certificates(roots)
                .with_no_client_auth(),
        )
    });
    config.clone()
}

/// Sends `head` and `body` unchanged to a server and reads one response to its end. Returns `None` when
/// the server closed the connection without one.
pub fn exchange(server: &Server, head: &[u8], body: &[u8], is_head: bool) -> Option<Response> {
    let mut stream = server.connect();
    // The server may respond and close the connection before it has read everything.
    let _ = stream.write_all(head).and_then(|()| stream.write_all(body));
    let mut received = Vec::new();
    let mut buffer = [0u8; 64 * 1024];
    loop {
        if let Some(response) = parse(&received, false, is_head) {
            return Some(response);
        }
        match stream.read(&mut buffer) {
            Ok(0) => return parse(&received, true, is_head),
            Err(error) => {
                eprintln!("{server} sent {} bytes, then: {error}", received.len());
                return parse(&received, true, is_head);
            }
            Ok(count) => received.extend_from_slice(&buffer[..count]),
        }
    }
}

fn parse(received: &[u8], ended: bool, is_head: bool) -> Option<Response> {
    let split = received
        .windows(4)
        .position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&received[..split]).into_owned();
    let rest = &received[split + 4..];
    let mut lines = head.split("\r\n");
    let status: u16 = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let header = |name: &str| {
        headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    if status == 100 {
        return parse(rest, ended, is_head);
    }
    let body = if is_head {
        Vec::new()
    } else if header("transfer-encoding") == Some("chunked") {
        dechunk(rest)?
    } else {
        match header("content-length").and_then(|length| length.parse::<usize>().ok()) {
            Some(length) if rest.len() >= length => rest[..length].to_vec(),
            _ if ended || status == 304 || status == 204 => rest.to_vec(),
            _ => return None,
        }
    };
    Some(Response {
        status,
        headers,
        body,
    })
}

fn dechunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..line]).ok()?.split(';').next()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        rest = &rest[line + 2..];
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}

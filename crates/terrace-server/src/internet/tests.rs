use std::cell::RefCell;

use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::{LocalSet, spawn_local};
use tokio_rustls::TlsAcceptor;

use super::*;

/// A self-signed certificate for 127.0.0.1.
const CERTIFICATE: &[u8] = include_bytes!("../../../terrace-cli/tests/fixtures/tls/cert.pem");
const KEY: &[u8] = include_bytes!("../../../terrace-cli/tests/fixtures/tls/key.der");

fn certificate() -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(CERTIFICATE).unwrap()
}

fn acceptor() -> TlsAcceptor {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(KEY));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate()], key.clone_key());
    TlsAcceptor::from(Arc::new(config.unwrap()))
}

/// The requests that another server has received.
type Received = Rc<RefCell<Vec<String>>>;

/// Starts another server, which sends `answer` to the path of each request, and returns its origin.
async fn origin(answer: impl Fn(&str) -> String + 'static) -> (Url, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let received = Received::default();
    let journal = Rc::clone(&received);
    let acceptor = acceptor();
    spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut head = vec![0; 8 * 1024];
            let count = stream.read(&mut head).await.unwrap();
            let head = String::from_utf8_lossy(head.get(..count).unwrap()).into_owned();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            journal.borrow_mut().push(head);
            // A client that has read enough has left.
            let _ = stream.write_all(answer(&path).as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (
        Url::parse(&format!("https://{address}/")).unwrap(),
        received,
    )
}

fn internet() -> Internet {
    let mut roots = RootCertStore::empty();
    roots.add(certificate()).unwrap();
    Internet::new(Arc::new(Trust::only(roots)), Rc::default())
}

/// A guard that allows this origin, as an operator does who names it.
fn naming(origin: &Url) -> Guard {
    Guard::public().naming("127.0.0.1", origin.port().unwrap())
}

fn fetch(url: &Url, path: &str) -> Fetch {
    Fetch {
        base: Some(url.to_string()),
        reference: path.to_owned(),
        max_bytes: 10,
        with_token: false,
        what: "test",
    }
}

fn ok(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n{body}")
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
}

/// Returns the reason why a path is not fetched within this many seconds.
async fn failure(
    internet: &Internet,
    url: &Url,
    path: &str,
    guard: &Guard,
    seconds: u32,
) -> String {
    let fetched = internet.fetch(&fetch(url, path), guard, seconds).await;
    fetched.unwrap_err().0
}

async fn run(test: impl Future<Output = ()>) {
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn redirects_are_followed_up_to_the_limit() {
    run(async {
        let (url, _) = origin(|path| match path.strip_prefix("/back-from/") {
            Some("0") => ok("here"),
            Some(count) => {
                let count: usize = count.parse().unwrap();
                redirect(&format!("/back-from/{}", count - 1))
            }
            None => redirect("http://127.0.0.1/"),
        })
        .await;
        let (internet, guard) = (internet(), naming(&url));
        let back = |count: usize| format!("back-from/{count}");
        let most = fetch(&url, &back(limits::ORIGIN_REDIRECTS));
        let fetched = internet.fetch(&most, &guard, 5).await.unwrap();
        assert_eq!((fetched.status, &*fetched.body), (200, &b"here"[..]));
        assert!(fetched.final_url.ends_with("/back-from/0"), "{fetched:?}");
        let more = back(limits::ORIGIN_REDIRECTS + 1);
        let error = failure(&internet, &url, &more, &guard, 5).await;
        assert_eq!(error, "more than 5 redirects");
        let error = failure(&internet, &url, "other", &guard, 5).await;
        assert!(error.contains("only https is allowed"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn this_machine_is_contacted_only_if_the_operator_has_named_it() {
    run(async {
        let (url, received) = origin(|_| ok("")).await;
        let port = url.port().unwrap();
        for host in ["127.0.0.1", "localhost", "[::1]"] {
            let url = Url::parse(&format!("https://{host}:{port}/")).unwrap();
            let error = failure(&internet(), &url, "", &Guard::public(), 5).await;
            assert!(error.contains("this machine"), "{error}");
        }
        // The addresses of a name are checked as well: this name is not that of a URL that the guard would allow.
        let url = Url::parse(&format!("https://localhost:{port}/")).unwrap();
        let error = connection::connect(&url, &Guard::public())
            .await
            .unwrap_err()
            .0;
        assert!(error.contains("belongs to this machine"), "{error}");
        assert!(received.borrow().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_body_is_truncated_one_byte_above_its_limit() {
    run(async {
        let (url, _) = origin(|_| ok(&"x".repeat(100_000))).await;
        let fetched = internet().fetch(&fetch(&url, ""), &naming(&url), 5).await;
        assert_eq!(fetched.unwrap().body.len(), 11);
    })
    .await;
}

#[tokio::test]
async fn a_server_that_does_not_respond_is_given_up() {
    run(async {
        let (url, _) = origin(|_| "HTTP/1.1 200 OK\r\n".to_owned()).await;
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = silent.local_addr().unwrap();
        let silent_url = Url::parse(&format!("https://{address}/")).unwrap();
        let guard = naming(&silent_url);
        let error = failure(&internet(), &silent_url, "", &guard, 1).await;
        assert_eq!(error, "no response within 1 seconds");
        let error = failure(&internet(), &url, "", &naming(&url), 5).await;
        assert!(error.contains("\"127.0.0.1\" cannot be reached"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_an_error() {
    run(async {
        let (url, _) = origin(|_| ok("")).await;
        let stranger = Internet::new(Arc::new(Trust::only(RootCertStore::empty())), Rc::default());
        let error = failure(&stranger, &url, "", &naming(&url), 5).await;
        assert!(error.contains("certificate"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn forms_and_deliveries_are_posted() {
    run(async {
        let (url, received) = origin(|path| match path {
            "/token" => ok("{}"),
            _ => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
        })
        .await;
        let guard = naming(&url);
        let inquiry = IdentityProviderRequest {
            url: url.join("token?a=b").unwrap().into(),
            form: Some("code=1".to_owned()),
            authorization: Some("Basic eA==".to_owned()),
            max_bytes: 100,
        };
        let fetched = internet().inquire(&inquiry, &guard, 5).await.unwrap();
        assert_eq!(fetched.status, 204, "the query belongs to the target");
        let delivery = WebhookRequest {
            url: url.join("hook").unwrap().into(),
            headers: vec![("x-terrace-event", "publish".to_owned())],
            body: "{\"a\":1}".to_owned(),
        };
        assert_eq!(internet().notify(&delivery, &guard, 5).await, Ok(204));
        let received = received.borrow();
        let [inquiry, delivery] = received.as_slice() else {
            panic!("{received:?}");
        };
        assert!(
            inquiry.starts_with("POST /token?a=b HTTP/1.1\r\n"),
            "{inquiry}"
        );
        assert!(
            inquiry.contains("authorization: Basic eA==\r\n"),
            "{inquiry}"
        );
        assert!(inquiry.contains("x-www-form-urlencoded"), "{inquiry}");
        assert!(
            delivery.contains("x-terrace-event: publish\r\n"),
            "{delivery}"
        );
        assert!(delivery.contains("application/json"), "{delivery}");
        let host = url
            .as_str()
            .trim_start_matches("https://")
            .trim_end_matches('/');
        assert!(
            delivery.contains(&format!("host: {host}\r\n")),
            "{delivery}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_long_response_is_a_stream_of_known_length() {
    run(async {
        let body = "x".repeat(300_000);
        let (url, _) = origin(move |path| match path {
            "/zip" => ok(&body),
            _ => "HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\n\r\nno\n".to_owned(),
        })
        .await;
        let guard = naming(&url);
        let opened = internet().open(&fetch(&url, "zip"), &guard).await.unwrap();
        assert_eq!((opened.status, opened.length), (200, Some(300_000)));
        let bytes = stream::read(opened.stream.unwrap(), u64::MAX)
            .await
            .unwrap();
        assert_eq!(bytes.len(), 300_000);
        let missing = internet()
            .open(&fetch(&url, "other"), &guard)
            .await
            .unwrap();
        assert_eq!(missing.status, 404);
        assert!(missing.stream.is_none());
    })
    .await;
}

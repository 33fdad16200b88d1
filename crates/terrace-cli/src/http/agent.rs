//! The HTTP client under everything: whom it trusts, how long it waits, what its errors mean.

use std::time::Duration;

use terrace_core::http::guard::Guard;
use ureq::config::{Config, ConfigBuilder};
use ureq::http::{Response, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body};
use url::Url;

use super::base_url::is_loopback;
use crate::error::Failure;

/// How long a connection may take to be made, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a server may think after it has got everything: the registry may have to read a large
/// archive from its storage before it answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// How long a connection may stand still while something is sent. There is no limit on the whole
/// of an upload.
const STALL_TIMEOUT: Duration = Duration::from_secs(120);

/// The longest answer that is read: six manifests of 4 MiB in one JSON document, every quote of which is
/// escaped.
const ANSWER_BYTES: u64 = 64 * 1024 * 1024;

/// A client of the registry at this URL, which follows no redirects and returns every status. A registry on this machine is
/// reached without a proxy, as by Go's programs: the proxy would read the token, and be another machine.
pub(crate) fn agent(url: &Url) -> Result<Agent, Failure> {
    let configured = configured()?;
    let configured = if is_loopback(url) {
        configured.proxy(None)
    } else {
        configured
    };
    Ok(configured.build().into())
}

/// The same for other people's registries: it connects only where the guard allows, and gives a
/// body as long as it takes, as long as it does not stand still.
pub(crate) fn guarded_agent(guard: Guard) -> Result<Agent, Failure> {
    Ok(guarded(configured()?, guard))
}

/// A client that knows no token either, and gives a body as long as it takes, as long as it does not stand
/// still: for what the registry's own storage has.
pub(crate) fn download_agent() -> Result<Agent, Failure> {
    let config = configured()?
        .timeout_recv_body(None)
        .timeout_per_read(Some(STALL_TIMEOUT));
    Ok(config.build().into())
}

fn guarded(configured: ConfigBuilder<AgentScope>, guard: Guard) -> Agent {
    let config = configured
        .https_only(true)
        .timeout_recv_body(None)
        .timeout_per_read(Some(STALL_TIMEOUT));
    let resolver = GuardedResolver {
        guard,
        resolver: DefaultResolver::default(),
    };
    let connector = DefaultConnector::default();
    Agent::with_parts(config.build(), connector, resolver)
}

fn configured() -> Result<ConfigBuilder<AgentScope>, Failure> {
    let tls = TlsConfig::builder().root_certs(roots()?).build();
    Ok(Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_per_write(Some(STALL_TIMEOUT))
        .timeout_recv_response(Some(ANSWER_TIMEOUT))
        .timeout_recv_body(Some(ANSWER_TIMEOUT))
        .user_agent(concat!("terrace/", env!("CARGO_PKG_VERSION"))))
}

/// Looks names up, and refuses what they must not mean.
///
/// A name that a proxy looks up never comes here. What comes is the name of the proxy, and every
/// name that is looked up here in spite of one: of `NO_PROXY`, or of a proxy that is not spoken to.
#[derive(Debug)]
struct GuardedResolver {
    guard: Guard,
    resolver: DefaultResolver,
}

impl Resolver for GuardedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.resolver.resolve(uri, config, timeout)?;
        // The operator has named it.
        if config.proxy().is_some_and(|proxy| proxy.uri() == uri) {
            return Ok(found);
        }
        let host = uri.host().unwrap_or_default();
        for address in found.iter() {
            self.guard
                .check_address(host, uri.port_u16(), address.ip())
                .map_err(|error| ureq::Error::Other(Box::new(error)))?;
        }
        Ok(found)
    }
}

/// What the system trusts; in its place what `SSL_CERT_FILE` and `SSL_CERT_DIR` name. A system
/// that has no certificates at all, as in a bare container, gets Mozilla's.
fn roots() -> Result<RootCerts, Failure> {
    let found = rustls_native_certs::load_native_certs();
    if !found.certs.is_empty() {
        let certs: Vec<_> = found
            .certs
            .iter()
            .map(|der| Certificate::from_der(der).to_owned())
            .collect();
        return Ok(RootCerts::new_with_certs(&certs));
    }
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(std::env::var_os);
    if named.iter().any(Option::is_some) {
        let why = found.errors.first().map_or_else(
            || "there is none in what they name".to_owned(),
            ToString::to_string,
        );
        return Err(Failure::Usage(format!(
            "SSL_CERT_FILE or SSL_CERT_DIR is set, but no certificate can be read: {why}"
        )));
    }
    Ok(RootCerts::WebPki)
}

/// The body of an answer as text.
pub(crate) fn text(response: Response<Body>) -> Result<String, ureq::Error> {
    let body = response.into_body().into_with_config();
    body.limit(ANSWER_BYTES).lossy_utf8(true).read_to_string()
}

/// The pause that a server asks for, in seconds; dates are left to our own backoff.
pub(crate) fn retry_after<B>(response: &Response<B>) -> Option<Duration> {
    let header = response.headers().get("retry-after")?;
    header.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// Whether a request with this status may succeed when it is repeated.
pub(crate) fn is_transient_status(status: u16) -> bool {
    status == 429 || (500..=599).contains(&status)
}

/// Whether a request with this error may succeed when it is repeated.
pub(crate) fn is_transient_error(error: &ureq::Error) -> bool {
    match error {
        // rustls reports what it refuses, such as a certificate, as invalid data.
        ureq::Error::Io(error) => error.kind() != std::io::ErrorKind::InvalidData,
        ureq::Error::Timeout(_)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Protocol(_) => true,
        _ => false,
    }
}

/// An error in words that never hold a URL.
pub(crate) fn describe(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => "the URL is malformed".to_owned(),
        ureq::Error::RequireHttpsOnly(_) => "the URL is not https".to_owned(),
        ureq::Error::HostNotFound => "there is no host of this name".to_owned(),
        ureq::Error::Timeout(reason) => format!("no answer in time ({reason})"),
        ureq::Error::Io(error) => {
            let hint = if error.to_string().contains("InvalidContentType") {
                "; what answers there does not speak TLS: is the URL's scheme http?"
            } else if error.to_string().contains("certificate") {
                "; if the certificate is signed by an authority of your own, let SSL_CERT_FILE \
                 name that authority's certificate"
            } else {
                ""
            };
            format!("{error}{hint}")
        }
        ureq::Error::Other(error) => error.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::net::TcpListener;

    use ureq::{Proxy, ProxyProtocol};

    use super::*;

    /// What comes of a URL that nobody has checked, so that only its address can be refused.
    fn asking(url: &str, proxy: Proxy) -> ureq::Error {
        let configured = configured().unwrap().proxy(Some(proxy));
        let agent = guarded(configured, Guard::public());
        agent.get(url).call().unwrap_err()
    }

    #[test]
    fn a_name_in_no_proxy_may_not_mean_a_private_address_either() {
        let proxy = Proxy::builder(ProxyProtocol::Http)
            .host("127.0.0.1")
            .port(1);
        let proxy = proxy.no_proxy("localhost").build().unwrap();
        let error = asking("https://localhost:1/", proxy);
        let text = describe(&error);
        assert!(text.contains("this machine"), "{text}");
    }

    #[test]
    fn a_proxy_that_has_names_looked_up_here_gets_no_private_address() {
        let proxy = Proxy::builder(ProxyProtocol::Http)
            .host("127.0.0.1")
            .port(1);
        let proxy = proxy.resolve_target(true).build().unwrap();
        let text = describe(&asking("https://localhost:1/", proxy));
        assert!(text.contains("this machine"), "{text}");
    }

    #[test]
    fn a_proxy_may_be_private_even_if_no_proxy_names_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let proxy = Proxy::builder(ProxyProtocol::Http).host("127.0.0.1");
        let proxy = proxy.port(port).no_proxy("127.0.0.1").build().unwrap();
        let asked = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).unwrap();
            line
        });
        let error = asking("https://registry.example.com/", proxy);
        assert!(!matches!(error, ureq::Error::Other(_)), "{error}");
        let line = asked.join().unwrap();
        assert_eq!(line.trim_end(), "CONNECT registry.example.com:443 HTTP/1.1");
    }

    #[test]
    fn a_name_that_means_a_private_address_is_not_connected_to() {
        let agent = guarded_agent(Guard::public()).unwrap();
        // Nobody checked this URL, so it is the address that is refused.
        let error = agent.get("https://localhost:1/").call().unwrap_err();
        assert!(matches!(error, ureq::Error::Other(_)), "{error}");
        let text = describe(&error);
        assert!(text.contains("this machine"), "{text}");
        assert!(!is_transient_error(&error));
    }
}

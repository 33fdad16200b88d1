//! The HTTP client: its trusted certificates, timeouts, and errors.

use std::time::Duration;

use terrace_core::http::guard::{Guard, GuardError};
use ureq::config::{Config, ConfigBuilder};
use ureq::http::{Response, Uri};
use ureq::tls::{Certificate as Root, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Body};
use url::Url;

use super::base_url::is_loopback;
use crate::error::Failure;

/// The timeout for establishing a connection, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout for a response after the request is sent: the registry may have to read a large archive from
/// its storage first.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// The timeout for a connection that stalls while data is sent. An upload as a whole has no timeout.
const STALL_TIMEOUT: Duration = Duration::from_secs(120);

/// The variables that name certificate authorities in place of the system.
const CERTIFICATE_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The maximum size of a response: six manifests of 4 MiB in one JSON document, in which every quote is
/// escaped.
const ANSWER_BYTES: u64 = 64 * 1024 * 1024;

/// Creates a client for the registry at this URL, which follows no redirects and returns every status. A
/// registry on this machine is reached without a proxy, as in Go programs: the proxy would read the token,
/// and may be another machine.
pub(crate) fn agent(url: &Url) -> Result<Agent, Failure> {
    let configured = configured()?;
    let configured = if is_loopback(url) {
        configured.proxy(None)
    } else {
        configured
    };
    Ok(configured.build().into())
}

/// Creates a client for other registries: it connects only to hosts that the guard allows, and receives a
/// body for as long as it does not stall.
pub(crate) fn guarded_agent(guard: Guard) -> Result<Agent, Failure> {
    Ok(guarded(configured()?, guard))
}

/// Creates a client for downloads from the registry's own storage: it sends no token, and receives a body for
/// as long as it does not stall.
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

/// Resolves names, and rejects addresses that the guard does not allow.
///
/// A name that a proxy resolves never comes here. The names that do are that of the proxy, and names that are
/// resolved here in spite of one: names in `NO_PROXY`, or behind a proxy of an unsupported kind.
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
        // The operator configured this proxy.
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

/// Returns the certificates that the system trusts, or instead those in `SSL_CERT_FILE` and `SSL_CERT_DIR`. A
/// system without any certificates, such as a bare container, gets Mozilla's.
fn roots() -> Result<RootCerts, Failure> {
    let found = rustls_native_certs::load_native_certs();
    let certs = found.certs.iter().map(|der| Root::from_der(der).to_owned());
    let certs: Vec<_> = certs.collect();
    if !certs.is_empty() {
        return Ok(RootCerts::new_with_certs(&certs));
    }
    let named = CERTIFICATE_VARIABLES.map(std::env::var_os);
    match named.iter().any(Option::is_some) {
        true => Err(Failure::Usage(format!(
            "SSL_CERT_FILE or SSL_CERT_DIR is set, but no certificate can be read: {:?}",
            found.errors
        ))),
        false => Ok(RootCerts::WebPki),
    }
}

/// Reads the body of a response as text.
pub(crate) fn text(response: Response<Body>) -> Result<String, ureq::Error> {
    let body = response.into_body().into_with_config();
    body.limit(ANSWER_BYTES).lossy_utf8(true).read_to_string()
}

/// Returns the pause that a server requests, in seconds; for a date, our own backoff applies.
pub(crate) fn retry_after<B>(response: &Response<B>) -> Option<Duration> {
    let header = response.headers().get("retry-after")?;
    header.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// Returns whether a retry of a request with this status may succeed.
pub(crate) fn is_transient_status(status: u16) -> bool {
    // A server that does not implement a request never will.
    status == 429 || (500..=599).contains(&status) && status != 501
}

/// Returns whether a retry of a request with this error may succeed.
pub(crate) fn is_transient_error(error: &ureq::Error) -> bool {
    match error {
        // rustls reports rejections, such as of a certificate, as invalid data.
        ureq::Error::Io(error) => error.kind() != std::io::ErrorKind::InvalidData,
        ureq::Error::Timeout(_)
        | ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Protocol(_) => true,
        _ => false,
    }
}

/// Returns the guard's reason for a request that was not sent because its name has a private address.
pub(crate) fn guard_error(error: &ureq::Error) -> Option<&GuardError> {
    match error {
        ureq::Error::Other(reason) => reason.downcast_ref(),
        _ => None,
    }
}

/// Describes an error without a URL.
pub(crate) fn describe(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => "the URL is malformed".to_owned(),
        ureq::Error::RequireHttpsOnly(_) => "the URL is not https".to_owned(),
        ureq::Error::HostNotFound => "the host name cannot be resolved".to_owned(),
        ureq::Error::Timeout(_) => "no response in time".to_owned(),
        ureq::Error::Io(error) => {
            let hint = if error.to_string().contains("InvalidContentType") {
                "; the server does not use TLS: is the URL's scheme http?"
            } else if error.to_string().contains("certificate") {
                "; if your own certificate authority signed the certificate, set SSL_CERT_FILE to the authority's \
                 certificate"
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

    const LOCAL: &str = "https://localhost:1/";

    /// Requests a URL that was not checked before, so that only its address can be rejected. Returns the
    /// error.
    fn asking(url: &str, proxy: Proxy) -> ureq::Error {
        let configured = configured().unwrap().proxy(Some(proxy));
        let agent = guarded(configured, Guard::public());
        agent.get(url).call().unwrap_err()
    }

    #[test]
    fn a_name_with_a_private_address_is_rejected_behind_a_proxy_too() {
        let proxy = || {
            let proxy = Proxy::builder(ProxyProtocol::Http).host("127.0.0.1");
            proxy.port(1)
        };
        // These URLs were not checked, so their addresses are rejected.
        let agent = guarded_agent(Guard::public()).unwrap();
        for error in [
            agent.get(LOCAL).call().unwrap_err(),
            asking(LOCAL, proxy().no_proxy("localhost").build().unwrap()),
            asking(LOCAL, proxy().resolve_target(true).build().unwrap()),
        ] {
            let text = describe(&error);
            assert!(text.contains("this machine"), "{text}");
            assert!(!is_transient_error(&error));
        }
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
}

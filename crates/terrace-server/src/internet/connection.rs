//! Connections to other servers: names resolved to addresses that the guard allows, and TLS.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use terrace_app::host::UpstreamError;
use terrace_core::http::guard::Guard;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use crate::limits::CONNECT_TIME;

/// The certificates that are trusted. They are read for the first request: most registries never send one.
#[derive(Debug, Default)]
pub(crate) struct Trust(OnceLock<Result<Arc<ClientConfig>, String>>);

impl Trust {
    /// Trusts these certificates.
    #[cfg(test)]
    pub(super) fn only(roots: RootCertStore) -> Self {
        let trust = Self::default();
        let _ = trust.0.set(configured(roots));
        trust
    }

    fn config(&self) -> Result<Arc<ClientConfig>, UpstreamError> {
        let config = self.0.get_or_init(|| configured(roots()?));
        config.clone().map_err(UpstreamError)
    }
}

fn configured(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(Arc::new(config))
}

/// Returns the certificates that the system trusts, or instead those in `SSL_CERT_FILE` and `SSL_CERT_DIR`. A system without
/// any certificates, such as a bare container, gets Mozilla's.
fn roots() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(std::env::var_os);
    if named.iter().any(Option::is_some) {
        return Err(
            "SSL_CERT_FILE or SSL_CERT_DIR is set, but no certificate can be read".to_owned(),
        );
    }
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    Ok(roots)
}

/// Sends a request over a new connection. The connection ends with the response, or when that is dropped.
pub(super) async fn send(
    trust: &Trust,
    url: &Url,
    guard: &Guard,
    request: Request<String>,
) -> Result<Response<Incoming>, UpstreamError> {
    let stream = connect(url, guard).await?;
    let name = url.host_str().unwrap_or_default();
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(bare.to_owned())
        .map_err(|_| UpstreamError("the host name is invalid".to_owned()))?;
    let connector = TlsConnector::from(trust.config()?);
    let stream = connector.connect(name, stream).await.map_err(failed)?;
    let connected = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(failed)?;
    tokio::task::spawn_local(async move {
        // The reader of the response receives the error.
        let _ = connection.await;
    });
    sender.send_request(request).await.map_err(failed)
}

/// Connects to the first address of a host that accepts a connection.
pub(super) async fn connect(url: &Url, guard: &Guard) -> Result<TcpStream, UpstreamError> {
    let mut last = UpstreamError("the host name cannot be resolved".to_owned());
    for address in addresses(url).await? {
        let host = url.host_str().unwrap_or_default();
        if let Err(error) = guard.check_address(host, url.port(), address.ip()) {
            last = UpstreamError(error.to_string());
            continue;
        }
        match timeout(CONNECT_TIME, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = failed(error),
            Err(_) => last = UpstreamError("the host does not accept a connection".to_owned()),
        }
    }
    Err(last)
}

async fn addresses(url: &Url) -> Result<Vec<SocketAddr>, UpstreamError> {
    let port = url.port_or_known_default().unwrap_or_default();
    match url.host() {
        Some(Host::Ipv4(address)) => Ok(vec![(address, port).into()]),
        Some(Host::Ipv6(address)) => Ok(vec![(address, port).into()]),
        Some(Host::Domain(name)) => {
            let found = lookup_host((name, port)).await;
            found
                .map(Iterator::collect)
                .map_err(|_| UpstreamError("the host name cannot be resolved".to_owned()))
        }
        None => Ok(Vec::new()),
    }
}

fn failed(error: impl std::fmt::Display) -> UpstreamError {
    UpstreamError(error.to_string())
}

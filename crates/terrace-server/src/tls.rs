//! TLS towards clients.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::{fmt, fs, io, mem};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::limits::HANDSHAKE_TIME;

/// The protocol that clients may select (<https://www.rfc-editor.org/rfc/rfc7301>).
const HTTP_1_1: &[u8] = b"http/1.1";

/// The files of the certificate of a server and of its key, both in PEM, which are read again after a renewal.
/// Clones share the certificate in use.
#[derive(Clone)]
pub struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    /// Their content of the last time.
    last: [Vec<u8>; 2],
    tls: ServerTls,
}

impl TlsFiles {
    /// Reads the certificates, with those that lead to an authority, and the key.
    ///
    /// # Errors
    /// One of them is invalid, or they do not belong together.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let last = [content(certificate)?, content(key)?];
        Ok(Self {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            tls: ServerTls::from_pem(&last)?,
            last,
        })
    }

    pub(crate) fn tls(&self) -> ServerTls {
        self.tls.clone()
    }

    /// Reads the files again, and uses a changed certificate for connections from now on. Returns whether they have changed; a
    /// certificate that cannot be used is reported once.
    pub(crate) fn read_again(&mut self) -> Result<bool, String> {
        let pem = [content(&self.certificate)?, content(&self.key)?];
        let is_changed = mem::replace(&mut self.last, pem) != self.last;
        if is_changed {
            self.tls.replace(&ServerTls::from_pem(&self.last)?);
        }
        Ok(is_changed)
    }
}

fn content(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

impl fmt::Debug for TlsFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TlsFiles")
    }
}

/// The certificate of a server, with its key. Its clones share it, also after it is replaced.
#[derive(Clone)]
pub(crate) struct ServerTls(Arc<RwLock<TlsAcceptor>>);

impl ServerTls {
    fn from_pem([certificates, key]: &[Vec<u8>; 2]) -> Result<Self, String> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(|error: pem::Error| format!("the certificate file cannot be read: {error}"))?;
        if certificates.is_empty() {
            return Err("the certificate file contains no certificate in PEM".to_owned());
        }
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| format!("the key file contains no private key in PEM: {error}"))?;
        let provider = Arc::new(ring::default_provider());
        let config =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.and_then(|config| {
            let config = config.with_no_client_auth();
            config.with_single_cert(certificates, key)
        });
        let mut config =
            config.map_err(|error| format!("the certificate cannot be used: {error}"))?;
        config.alpn_protocols = vec![HTTP_1_1.to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Self(Arc::new(RwLock::new(acceptor))))
    }

    fn replace(&self, other: &Self) {
        let acceptor = other.acceptor();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
    }

    fn acceptor(&self) -> TlsAcceptor {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        timeout(HANDSHAKE_TIME, self.acceptor().accept(stream)).await?
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ServerTls")
    }
}

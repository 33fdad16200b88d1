//! TLS towards clients.

use std::sync::{Arc, PoisonError, RwLock};
use std::{fmt, io};

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

/// The certificate of a server, with its key. Its clones share it, also after it is replaced.
#[derive(Clone)]
pub struct ServerTls(Arc<RwLock<TlsAcceptor>>);

/// The reason why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The text contains no certificates.
    #[error("the certificate file contains no certificate in PEM")]
    NoCertificate,
    /// The certificates cannot be read.
    #[error("the certificate file cannot be read: {0}")]
    Certificate(pem::Error),
    /// The key cannot be read.
    #[error("the key file contains no private key in PEM: {0}")]
    Key(pem::Error),
    /// The certificate and the key cannot be used.
    #[error("the certificate cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
}

impl ServerTls {
    /// Returns a certificate, with those that lead from it to an authority, and its key. Both are texts in PEM.
    ///
    /// # Errors
    /// One of them is invalid, or they do not belong together.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(TlsError::Certificate)?;
        if certificates.is_empty() {
            return Err(TlsError::NoCertificate);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(TlsError::Key)?;
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(certificates, key)?;
        config.alpn_protocols = vec![HTTP_1_1.to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Self(Arc::new(RwLock::new(acceptor))))
    }

    /// Uses another certificate for connections from now on.
    pub(crate) fn replace(&self, other: &Self) {
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

//! The certificates that a server presents, to explain why they are not trusted and when they expire.
//!
//! Nothing is sent over these connections, so nothing here decides about trust: the requests do, which verify the
//! certificates themselves.

mod x509;

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ProtocolVersion, SignatureScheme,
};

pub(crate) use x509::Certificate;

use crate::clock::Stopwatch;

/// The most bytes that a server may send before the end of a handshake. Chains have a few thousand.
const HANDSHAKE_BYTES: u64 = 256 * 1024;

/// A finished handshake.
#[derive(Debug)]
pub(crate) struct Presented {
    /// The certificates, that of the server first.
    pub(crate) chain: Vec<Certificate>,
    /// The version of TLS.
    pub(crate) version: &'static str,
}

/// Connects to a server, and returns its certificates without verifying them.
///
/// # Errors
/// The reason why there was no handshake.
pub(crate) fn presented(host: &str, port: u16, timeout: Duration) -> Result<Presented, String> {
    let watch = Stopwatch::start();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses = (bare, port).to_socket_addrs();
    let addresses = addresses.map_err(|_| "the host name cannot be resolved".to_owned())?;
    let mut failure = "the host name has no address".to_owned();
    let mut stream = None;
    for address in addresses {
        let Some(rest) = watch.rest_of(timeout) else {
            break;
        };
        match TcpStream::connect_timeout(&address, rest) {
            Ok(connected) => {
                stream = Some(connected);
                break;
            }
            Err(error) => failure = error.to_string(),
        }
    }
    let seen = Arc::new(Recorder::new());
    let name = ServerName::try_from(bare.to_owned()).map_err(|error| error.to_string())?;
    let mut connection =
        ClientConnection::new(config(&seen)?, name).map_err(|it| it.to_string())?;
    let mut stream = Limited {
        stream: stream.ok_or(failure)?,
        watch,
        timeout,
        left: HANDSHAKE_BYTES,
    };
    while connection.is_handshaking() {
        connection
            .complete_io(&mut stream)
            .map_err(|error| error.to_string())?;
    }
    let chain = seen.chain.lock().map(|chain| chain.clone());
    let chain = chain.unwrap_or_default();
    let chain: Option<Vec<Certificate>> = chain.iter().map(|der| Certificate::parse(der)).collect();
    Ok(Presented {
        chain: chain.ok_or("a certificate is malformed")?,
        version: match connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => "TLS 1.3",
            _ => "TLS 1.2",
        },
    })
}

fn config(recorder: &Arc<Recorder>) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::clone(&recorder.provider);
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(recorder) as Arc<dyn ServerCertVerifier>)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Records the certificates of a server.
#[derive(Debug)]
struct Recorder {
    provider: Arc<CryptoProvider>,
    chain: Mutex<Vec<Vec<u8>>>,
}

impl Recorder {
    fn new() -> Self {
        Self {
            provider: Arc::new(ring::default_provider()),
            chain: Mutex::default(),
        }
    }
}

impl ServerCertVerifier for Recorder {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Ok(mut chain) = self.chain.lock() {
            let all = std::iter::once(end_entity).chain(intermediates);
            *chain = all.map(|certificate| certificate.to_vec()).collect();
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// A connection with an end: in time, and in received bytes.
struct Limited {
    stream: TcpStream,
    watch: Stopwatch,
    timeout: Duration,
    left: u64,
}

impl Limited {
    fn rest(&self) -> io::Result<Duration> {
        let rest = self.watch.rest_of(self.timeout);
        rest.ok_or_else(|| io::Error::new(io::ErrorKind::TimedOut, "no handshake in time"))
    }
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.rest()?))?;
        let count = self.stream.read(buffer)?;
        let left = self.left.checked_sub(count as u64);
        self.left = left.ok_or_else(|| io::Error::other("the handshake is too long"))?;
        Ok(count)
    }
}

impl Write for Limited {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.rest()?))?;
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

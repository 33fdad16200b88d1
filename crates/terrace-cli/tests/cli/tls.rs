//! Whom the program trusts.

use std::fs;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::support::registry::Registry;
use super::support::{TOKEN, ended, fixture, terrace};

#[test]
fn an_authority_of_ones_own_is_trusted_through_ssl_cert_file_and_not_without() {
    let file = fixture("tls/cert.pem");
    let certificate = CertificateDer::from_pem_file(&file).unwrap();
    let key = fs::read(fixture("tls/key.der")).unwrap();
    let key = PrivateKeyDer::try_from(key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let registry = Registry::with_tls(Arc::new(config));
    registry.add_key("publisher.asc");
    let list = || {
        let mut command = terrace(&["key", "list", "acme", "--url", registry.url()]);
        command.env("TERRACE_TOKEN", TOKEN);
        command
    };

    let trusted = ended(list().env("SSL_CERT_FILE", &file)).expect(0);
    assert!(trusted.stdout.contains("61C051AC9CA350D4"), "{trusted:?}");

    let doubted = ended(&mut list()).expect(6);
    assert!(doubted.stderr.contains("SSL_CERT_FILE"), "{doubted:?}");
    assert!(!doubted.stderr.contains("trying again"), "{doubted:?}");

    let absent = fixture("tls/absent.pem");
    let absent = ended(list().env("SSL_CERT_FILE", absent)).expect(2);
    assert!(absent.stderr.contains("SSL_CERT_FILE"), "{absent:?}");
}

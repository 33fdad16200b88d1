//! Whom the program trusts.

use std::fs;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;

use super::support::registry::Registry;
use super::support::{TOKEN, ended, terrace};

#[test]
fn an_authority_of_ones_own_is_trusted_through_ssl_cert_file_and_not_without() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let registry = Registry::with_tls(Arc::new(config));
    registry.add_key("publisher.asc");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    fs::write(&file, cert.pem()).unwrap();
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

    let absent = directory.path().join("absent.pem");
    let absent = ended(list().env("SSL_CERT_FILE", absent)).expect(2);
    assert!(absent.stderr.contains("SSL_CERT_FILE"), "{absent:?}");
}

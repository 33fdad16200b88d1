//! The certificates that the program trusts.

use super::support::registry::Registry;
use super::support::{TOKEN, ended, fixture, terrace, tls};

#[test]
fn a_private_certificate_authority_is_trusted_only_through_ssl_cert_file() {
    let file = fixture("tls/cert.pem");
    let registry = Registry::with_tls(tls());
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

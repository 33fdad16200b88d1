//! The certificates that the program trusts.

use super::support::registry::Registry;
use super::support::{TOKEN, assert_has, assert_lacks, ended, fixture, terrace, tls};

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
    assert_has!(trusted.stdout, "61C051AC9CA350D4");

    let doubted = ended(&mut list()).expect(6);
    assert_has!(doubted.stderr, "SSL_CERT_FILE");
    assert_lacks!(doubted.stderr, "retrying");

    let absent = fixture("tls/absent.pem");
    let absent = ended(list().env("SSL_CERT_FILE", absent)).expect(2);
    assert_has!(absent.stderr, "SSL_CERT_FILE");
}

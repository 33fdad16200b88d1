//! The statements of a provider's page about signatures.

use crate::native::api::packages::published;
use crate::support::memory::Memory;
use crate::support::{MirrorFixture, Registry};

#[test]
fn the_page_of_a_mirrored_version_does_not_say_that_its_signature_was_checked() {
    for fixture in [
        MirrorFixture::new("1.0.0"),
        MirrorFixture::new("1.0.0").unsigned(),
    ] {
        let registry = Registry::in_memory(&Memory::new(), &[]);
        fixture.publish(&registry);
        let path = format!("/mirrored/{}/1.0.0", fixture.address());
        let page = registry.get(&path).expect(200).text();
        assert!(!page.contains("Checked against the key"), "{page}");
        assert!(
            page.contains("This page does not know whether the origin signed this version"),
            "{page}"
        );
        // Nor does the summary for search engines.
        assert!(!page.contains("and signing key of version"), "{page}");
    }
}

#[test]
fn the_page_of_a_published_version_shows_its_signing_key() {
    let (_, registry) = published(&[]);
    let page = registry
        .get("/providers/acme/widget/1.1.0")
        .shows(200, "Fingerprint");
    assert!(!page.contains("does not know whether"), "{page}");
    assert!(page.contains("and signing key of version 1.1.0"), "{page}");
}

//! Badges of packages whose versions have a status.

use terrace_core::model::status::ReleaseState;

use super::{WIDGET, mark};
use crate::native::api::packages::published;
use crate::support::Registry;

const GOOD: &str = "#0b6e63";
const WARNING: &str = "#8a5a00";
const BAD: &str = "#b3261e";

/// Returns the title and the picture of a badge of the provider.
fn badge(registry: &Registry, name: &str) -> (String, String) {
    let path = format!("/badges/providers/acme/widget/{name}.svg");
    let svg = registry.get(&path).expect(200).text();
    let title = svg.split("<title>").nth(1).unwrap();
    let title = title.split("</title>").next().unwrap().to_owned();
    (title, svg)
}

#[test]
fn a_badge_follows_the_status_of_the_version_that_it_leads_to() {
    let (memory, registry) = published(&[]);
    mark(&memory, WIDGET, "1.1.0", ReleaseState::Revoked);
    // 1.0.0 is the newest one that can be installed.
    let (title, svg) = badge(&registry, "status");
    assert_eq!(title, "acme/widget: active");
    assert!(svg.contains(GOOD));
    mark(&memory, WIDGET, "1.0.0", ReleaseState::Deprecated);
    for (name, value) in [("status", "deprecated"), ("version", "v1.0.0")] {
        let (title, svg) = badge(&registry, name);
        assert_eq!(title, format!("acme/widget: {value}"));
        assert!(svg.contains(WARNING) && !svg.contains(GOOD), "{svg}");
    }
}

#[test]
fn a_badge_is_red_if_no_version_should_be_installed() {
    for (state, status, version) in [
        (ReleaseState::Withdrawn, "withdrawn", "v1.1.0"),
        (ReleaseState::Revoked, "revoked", "revoked"),
    ] {
        let (memory, registry) = published(&[]);
        for published in ["1.0.0", "1.1.0"] {
            mark(&memory, WIDGET, published, state);
        }
        for (name, value) in [("status", status), ("version", version)] {
            let (title, svg) = badge(&registry, name);
            assert_eq!(title, format!("acme/widget: {value}"));
            assert!(svg.contains(BAD) && !svg.contains(GOOD), "{svg}");
        }
    }
}

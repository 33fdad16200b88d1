//! The comparison of two versions.

use terrace_core::model::status::ReleaseState;

use super::{WIDGET, mark};
use crate::native::api::packages::published;
use crate::support::described::describe;
use crate::support::fixtures::{Signer, zip_of};
use crate::support::memory::Memory;
use crate::support::{ProviderFixture, Registry};

/// Returns a registry with two versions of a provider, of which the newer one has another platform and protocol.
fn changed() -> (Memory, Registry) {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    ProviderFixture::of("acme", "widget", "1.0.0").publish(&registry);
    let mut next = ProviderFixture::of("acme", "widget", "1.1.0");
    next.packages.clear();
    next.protocols = vec!["6.0".to_owned()];
    let zip = zip_of(&[("terraform-provider-widget_v1.1.0.exe", b"x")]);
    next.add_package("windows", "amd64", zip);
    next.sign(Signer::usual());
    next.publish(&registry);
    describe(&memory, WIDGET, &["1.1.0", "1.0.0"]);
    (memory, registry)
}

#[test]
fn a_comparison_of_providers_shows_platforms_and_protocols_from_one_operation() {
    let (memory, registry) = changed();
    memory.forget_operations();
    let page = registry
        .get("/providers/acme/widget/compare/1.0.0...1.1.0")
        .expect(200)
        .text();
    let operations = memory.operations();
    assert_eq!(operations.len(), 1, "{operations:?}");
    assert!(operations[0].starts_with("KV get "), "{operations:?}");
    for expected in [
        "Platforms",
        "Plugin protocols",
        "windows_amd64",
        "linux_amd64",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    assert!(!page.contains("are equal"), "{page}");
    mark(&memory, WIDGET, "1.1.0", ReleaseState::Revoked);
    memory.forget_operations();
    let compared = "/providers/acme/widget/compare/1.0.0...1.1.0";
    registry.get(compared).expect(200);
    assert_eq!(memory.operations().len(), 1);
}

#[test]
fn a_comparison_with_a_version_that_does_not_exist_reads_only_indices() {
    let (memory, registry) = published(&[]);
    for package in ["providers/acme/widget", "modules/acme/vpc/aws"] {
        for versions in ["1.0.0...9.9.9", "9.9.9...1.0.0", "8.8.8...9.9.9"] {
            memory.forget_operations();
            let path = format!("/{package}/compare/{versions}");
            let page = registry.get(&path).expect(404).text();
            let missing = versions
                .split("...")
                .find(|it| !it.starts_with('1'))
                .unwrap();
            assert!(page.contains(&format!("no version {missing} of")), "{page}");
            let operations = memory.operations();
            assert_eq!(operations.len(), 1, "{path}: {operations:?}");
            assert!(operations[0].starts_with("KV get "), "{operations:?}");
        }
    }
}

#[test]
fn a_comparison_is_answered_from_the_facts_if_an_index_is_lost() {
    let (memory, registry) = changed();
    let path = "/providers/acme/widget/compare/1.0.0...1.1.0";
    // The lists of a package are written together, and the indices of a version with the one that installs it.
    for (key, written) in [("about/1.1.0", 1), ("version/1.0.0", 8), ("overview", 4)] {
        memory.lose_index(&format!("{WIDGET}/{key}"));
        memory.forget_operations();
        let page = registry.get(path).expect(200).text();
        assert!(page.contains("compare"), "{key}: {page}");
        let operations = memory.operations();
        let puts = operations.iter().filter(|it| it.starts_with("KV put "));
        assert_eq!(puts.count(), written, "{key}: {operations:?}");
        memory.forget_operations();
        registry.get(path).expect(200);
        assert_eq!(memory.operations().len(), 1, "{key} is written again");
    }
}

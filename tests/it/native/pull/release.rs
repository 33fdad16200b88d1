//! Versions: their platforms and signed documents, and how an interrupted pull is completed.

use std::rc::Rc;
use terrace_core::upstream::pull::PULL_CHECK_SECONDS;

use super::{Pulling, amd64, path_of};
use crate::support::faults::{Failure, Operations, When, at_each_write};
use crate::support::fixtures::{Signer, sha256};
use crate::support::memory::Memory;
use crate::support::{ProviderFixture, Registry, Response};

#[test]
fn an_origin_that_changes_a_signed_version_is_rejected() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let url = pulling.url(&fixture);
    // The origin is replaced by one that publishes other bytes as the same version.
    let mut other = fixture.origin.clone();
    other.packages.reverse();
    let zips = (other.packages[0].3.clone(), other.packages[1].3.clone());
    (other.packages[1].3, other.packages[0].3) = zips;
    let memory = Memory::new();
    let anew = Rc::new(Registry::in_memory(&memory, &[]));
    let changed = ProviderFixture::of(&fixture.origin.namespace, "widget", "1.0.0")
        .with_files(&[("terraform-provider-widget_v1.0.0", b"other")]);
    changed.publish(&anew);
    pulling
        .memory
        .connect(move |url| Some(anew.get(&path_of(url))));
    let refused = pulling.registry.get(&url).expect(502).errors();
    assert!(refused.contains("has signed"), "{refused}");
}

#[test]
fn a_platform_of_the_origin_is_not_replaced_by_a_mirrored_one() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.archives(&fixture);
    let mut other = fixture.clone().only("amd64").unsigned();
    other.origin = other
        .origin
        .with_files(&[("terraform-provider-widget_v1.0.0", b"other")]);
    let refused = other.put(&pulling.registry).expect(409).errors();
    assert!(refused.contains("at its origin"), "{refused}");
    // The correct bytes are accepted, and then served from storage.
    fixture.clone().only("amd64").publish(&pulling.registry);
    assert!(pulling.url(&fixture).contains("/archives/"));
    let archives = pulling.archives(&fixture);
    let arm64 = archives["linux_arm64"]["url"].as_str().unwrap();
    assert!(arm64.contains("/pull/"), "{arm64}");
}

/// Breaks each write of a pull, before and after it takes effect: every later read succeeds, and the same
/// requests, sent again, end with everything stored.
#[test]
fn a_pull_that_fails_at_any_write_is_completed_by_the_next() {
    at_each_write(11, |at, when| {
        let pulling = Pulling::new();
        let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
        let fault = pulling
            .memory
            .fail(Operations::Writes, at, when, Failure::Error);
        let pull = || -> Option<()> {
            let ok = |response: Response| (response.status < 400).then_some(response);
            ok(pulling.registry.get(&fixture.index()))?;
            let json = ok(pulling.registry.get(&fixture.packages()))?.json();
            let url = json["archives"]["linux_amd64"]["url"].as_str()?.to_owned();
            let body = ok(pulling.registry.get(&url))?;
            assert!(body.status == 302 || body.body == amd64(&fixture));
            Some(())
        };
        let broken = pull();
        if !fault.lift() {
            assert!(broken.is_some());
            return false;
        }
        pulling.advance(60);
        pull().unwrap_or_else(|| panic!("write {at}, {when:?}"));
        pulling.advance(60);
        assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
        pull();
        let url = pulling.url(&fixture);
        assert!(url.contains("/archives/"), "write {at}, {when:?}: {url}");
        true
    });
}

/// The fetches, writes and listings of a pull determine its cost (`docs/limits.md`).
#[test]
fn a_pull_costs_a_few_writes() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let spent = || {
        let mut operations = pulling.memory.operations();
        pulling.memory.forget_operations();
        let of_rules = operations.extract_if(.., |line| line == "R2 list rules/");
        // A look at the rules, and one by each writer of indices.
        let of_rules = of_rules.count();
        assert!(of_rules <= 6, "{of_rules} listings of the rules");
        ["fetch ", "R2 put ", "R2 list ", "KV put "].map(|kind| {
            let of_kind = operations.iter().filter(|line| line.starts_with(kind));
            of_kind.count()
        })
    };
    pulling.versions(&fixture);
    assert_eq!(spent(), [2, 3, 4, 3], "the first list, and the format");
    pulling.advance(PULL_CHECK_SECONDS);
    pulling.versions(&fixture);
    // The provider gets its card, and the catalogue its line.
    assert_eq!(spent(), [2, 7, 4, 5], "a refreshed list");
    pulling.advance(PULL_CHECK_SECONDS);
    pulling.versions(&fixture);
    assert_eq!(spent(), [2, 2, 2, 3], "a list without a new version");
    let url = pulling.url(&fixture);
    assert_eq!(spent(), [4, 5, 1, 2], "a version");
    pulling.registry.get(&url).expect(200);
    // The card now has the time of the version.
    assert_eq!(spent(), [5, 10, 6, 11], "the first zip");
}

#[test]
fn the_response_does_not_wait_for_an_index() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling
        .memory
        .fail("KV put", 0..35, When::Before, Failure::Busy);
    pulling.archives(&fixture);
}

#[test]
fn an_origin_may_omit_platforms_from_its_list() {
    for platforms in [
        "[]",
        r#"[{"os":"aix","arch":"ppc64"},{"os":"linux","arch":"arm64"}]"#,
    ] {
        let pulling = Pulling::new();
        let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
        pulling.tamper(Rc::new(move |url: &str, mut response: Response| {
            if url.ends_with("/versions") {
                let mut json = response.json();
                json["versions"][0]["platforms"] = serde_json::from_str(platforms).unwrap();
                response.body = json.to_string().into_bytes();
            }
            response
        }));
        let archives = pulling.archives(&fixture);
        assert_eq!(archives.as_object().unwrap().len(), 2, "{platforms}");
    }
}

#[test]
fn the_file_names_of_a_provider_are_its_publishers_choice() {
    let pulling = Pulling::new();
    let mut provider = ProviderFixture::new("1.0.0").with_v();
    // The listed platforms are asked for in their order, and one that has another name does not hide the others.
    provider.packages[1].0 = "arm64+cgo~1.zip".to_owned();
    provider.sign(Signer::usual());
    let fixture = pulling.publish(&provider);
    assert_eq!(pulling.archives(&fixture).as_object().unwrap().len(), 2);
    // Both descriptions, but one SHA256SUMS.
    assert_eq!(pulling.asked("/download/"), 2);
    assert_eq!(pulling.asked("SHA256SUMS"), 1);
    let url = pulling.url(&fixture);
    assert_eq!(pulling.registry.get(&url).expect(200).body, amd64(&fixture));
    assert!(pulling.url(&fixture).contains("/archives/"));
    // A mirrored package is known by its platform, too.
    fixture.publish(&pulling.registry);
    let archives = pulling.archives(&fixture);
    let arm64 = archives["linux_arm64"]["url"].as_str().unwrap();
    assert!(arm64.contains("/archives/"), "{arm64}");
}

#[test]
fn the_signed_documents_of_an_origin_are_stored() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.archives(&fixture);
    let shasums = sha256(fixture.origin.shasums.as_bytes());
    let signature = sha256(&fixture.origin.signature);
    for key in [
        format!("archives/{shasums}.SHA256SUMS"),
        format!("archives/{signature}.sig"),
    ] {
        assert!(pulling.memory.keys().contains(&key), "{key}");
    }
}

#[test]
fn a_version_that_was_refused_is_not_fetched_again_for_a_while() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.tamper(Rc::new(|url: &str, mut response: Response| {
        if url.ends_with(".sig") {
            response.status = 500;
        }
        response
    }));
    pulling.registry.get(&fixture.packages()).expect(502);
    pulling.memory.forget_operations();
    pulling.registry.get(&fixture.packages()).expect(502);
    assert_eq!(pulling.asked(""), 0);
    pulling.connect();
    pulling.advance(30);
    pulling.archives(&fixture);
}

#[test]
fn a_version_that_is_mirrored_while_it_is_pulled_is_the_mirrored_one() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let other = super::pulling(&pulling.memory, &[]);
    let mirrored = fixture.clone();
    let meanwhile = move |url: &str, response: Response| {
        if url.ends_with(".sig") {
            mirrored.publish(&other);
        }
        response
    };
    pulling.tamper(Rc::new(meanwhile));
    let url = pulling.url(&fixture);
    assert!(url.contains("/archives/"), "{url}");
}

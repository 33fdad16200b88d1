//! Version lists: how they are fetched, how long they are cached, and what clients get when the origin is
//! down.

use std::rc::Rc;

use terrace_core::upstream::pull::PULL_ABSENCE_SECONDS;
use terrace_core::upstream::pull::PULL_CHECK_SECONDS;
use terrace_core::upstream::pull::PULL_STALE_SECONDS;

use super::{Pulling, amd64, another};
use crate::support::faults::{Failure, When, is_of_catalog};
use crate::support::fixtures::sha256;
use crate::support::registry::Sent;
use crate::support::{MirrorFixture, ProviderFixture, Response};

#[test]
fn a_pulled_provider_is_listed_and_installed_as_its_origin_has_it() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    pulling.publish(&another(&first, "1.1.0-beta1"));
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0-beta1"]);
    let archives = pulling.archives(&fixture);
    for (place, platform) in ["linux_amd64", "linux_arm64"].into_iter().enumerate() {
        let zip = &fixture.origin.packages[place].3;
        let hash = format!("zh:{}", sha256(zip));
        assert_eq!(archives[platform]["hashes"], serde_json::json!([hash]));
        let url = archives[platform]["url"].as_str().unwrap();
        assert!(url.starts_with("https://registry.test/pull/"), "{url}");
        let response = pulling.registry.get(url).expect(200);
        assert_eq!(response.body, *zip);
        assert_eq!(response.header("content-type"), Some("application/zip"));
        assert_eq!(response.header("cache-control"), Some("no-store"));
    }
}

#[test]
fn a_read_of_a_known_provider_makes_one_kv_read_and_no_request() {
    let (pulling, fixture) = Pulling::listed();
    pulling.archives(&fixture);
    for path in [fixture.index(), fixture.packages()] {
        pulling.memory.forget_operations();
        pulling.registry.get(&path).expect(200);
        let operations = pulling.memory.operations();
        assert_eq!(operations.len(), 1, "{operations:?}");
        assert!(operations[0].starts_with("KV get "), "{operations:?}");
    }
}

#[test]
fn a_provider_missing_at_its_origin_is_remembered_as_missing_for_a_while() {
    let pulling = Pulling::new();
    let fixture = MirrorFixture::new("1.0.0");
    for _ in 0..3 {
        pulling.registry.get(&fixture.index()).expect(404);
        pulling.registry.get(&fixture.packages()).expect(404);
    }
    assert_eq!(pulling.asked("/versions"), 1);
    fixture.origin.publish(&pulling.origin);
    pulling.registry.get(&fixture.index()).expect(404);
    pulling.advance(PULL_ABSENCE_SECONDS);
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
}

#[test]
fn a_stale_list_is_not_answered_by_the_entry() {
    let (pulling, fixture) = Pulling::one();
    let list = Sent::new("GET", &fixture.index());
    let is_by_entry = || pulling.registry.by_entry(&list).is_some();
    pulling.registry.send(&list).expect(200);
    let by_application = || pulling.registry.send(&list);
    let by_worker = || pulling.registry.by_worker(&list, 0);
    for answer in [&by_application as &dyn Fn() -> Response, &by_worker] {
        pulling.advance(PULL_CHECK_SECONDS - 1);
        assert!(is_by_entry());
        pulling.advance(1);
        assert!(!is_by_entry());
        let before = pulling.asked("/versions");
        let stale = answer().expect(200).text();
        assert!(stale.contains("1.0.0"), "{stale}");
        assert_eq!(pulling.asked("/versions"), before + 1, "after the answer");
        assert!(is_by_entry());
    }
}

#[test]
fn a_new_version_is_listed_when_the_origin_is_asked_again() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    let second = pulling.publish(&another(&first, "1.1.0"));
    pulling.advance(PULL_CHECK_SECONDS - 1);
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    pulling.registry.get(&second.packages()).expect(404);
    pulling.advance(1);
    // The first client to read a stale list does not wait for the new one.
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0"]);
    pulling.registry.get(&second.packages()).expect(200);
    // It waits if the list is very old.
    pulling.publish(&another(&first, "1.2.0"));
    pulling.advance(PULL_STALE_SECONDS);
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0", "1.2.0"]);
}

#[test]
fn a_stored_version_is_served_while_its_origin_is_down() {
    let (pulling, fixture) = Pulling::listed();
    pulling.registry.get(&pulling.url(&fixture)).expect(200);
    pulling.memory.disconnect();
    for (age, is_told) in [
        (0, false),
        (PULL_CHECK_SECONDS, true),
        (PULL_STALE_SECONDS, true),
    ] {
        pulling.advance(age);
        assert_eq!(pulling.versions(&fixture), ["1.0.0"], "{age}");
        let url = pulling.url(&fixture);
        assert_eq!(pulling.registry.get(&url).expect(200).body, amd64(&fixture));
        let told = format!("was last listed by its origin {age} s ago");
        let log = pulling.memory.log();
        let told = log
            .iter()
            .any(|line| line.starts_with("stale: ") && line.contains(&told));
        assert_eq!(told || age == PULL_STALE_SECONDS, is_told, "{age}: {log:?}");
    }
    // A list that is too old is built from R2 at each read: KV accepts one write of a key a second, and charges for each.
    pulling.memory.forget_operations();
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    let operations = pulling.memory.operations();
    let is_put = |operation: &String| operation.starts_with("KV put");
    assert!(!operations.iter().any(is_put), "{operations:?}");
    // Mirrored versions are served, even if the origin has never responded.
    let mirrored = MirrorFixture::new("1.0.0");
    mirrored.publish(&pulling.registry);
    pulling.memory.lose_indices();
    assert_eq!(pulling.versions(&mirrored), ["1.0.0"]);
}

#[test]
fn a_new_list_is_not_rebuilt_where_it_is_not_visible_yet() {
    let (pulling, fixture) = Pulling::listed();
    let key = format!("providers/{}/mirror", fixture.address());
    let old = pulling.memory.index(&key);
    pulling.advance(PULL_CHECK_SECONDS);
    pulling.versions(&fixture);
    pulling.memory.restore_index(&key, old);
    pulling.memory.forget_operations();
    pulling.versions(&fixture);
    let operations = pulling.memory.operations();
    assert_eq!(operations.len(), 2, "{operations:?}");
    assert!(
        operations[1].starts_with("R2 get origins/"),
        "{operations:?}"
    );
}

#[test]
fn a_new_version_is_hidden_until_it_has_the_minimum_age() {
    let day = 86_400;
    let pulling = Pulling::with(&[("TERRACE_PULL_MINIMUM_AGE", &day.to_string())]);
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    // Versions in the first list have no minimum age, if their origin gives no dates.
    let dated = format!("{}/{}/1.", first.namespace, first.provider_type);
    pulling.tamper(Rc::new(move |url: &str, mut response| {
        if url.contains(&dated) && !url.contains("/download/") {
            response.status = 404;
        }
        response
    }));
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    let second = pulling.publish(&another(&first, "1.1.0"));
    pulling.advance(PULL_CHECK_SECONDS);
    pulling.versions(&fixture);
    for _ in 0..2 {
        assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
        pulling.registry.get(&second.packages()).expect(404);
    }
    pulling.advance(day);
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0"]);
    pulling.registry.get(&second.packages()).expect(200);
}

#[test]
fn a_version_of_the_first_list_is_as_old_as_its_origin_says() {
    let day = 86_400;
    let pulling = Pulling::with(&[("TERRACE_PULL_MINIMUM_AGE", &day.to_string())]);
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    pulling.publish(&another(&first, "1.1.0"));
    pulling.advance(day);
    let new = pulling.publish(&another(&first, "1.2.0"));
    pulling.publish(&another(&first, "1.3.0"));
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0"]);
    pulling.registry.get(&new.packages()).expect(404);
    // The dates of two new versions and of the newest old one were requested.
    let dates = ["1.3.0", "1.2.0", "1.1.0", "1.0.0"].map(|version| {
        let path = format!("{}/{}/{version}", first.namespace, first.provider_type);
        pulling.asked(&path)
    });
    assert_eq!(dates, [1, 1, 1, 0]);
    pulling.advance(day);
    pulling.versions(&fixture);
    assert_eq!(
        pulling.versions(&fixture),
        ["1.0.0", "1.1.0", "1.2.0", "1.3.0"]
    );
}

#[test]
fn at_most_five_dates_are_requested() {
    let pulling = Pulling::with(&[("TERRACE_PULL_MINIMUM_AGE", "100")]);
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    for minor in 1..8 {
        pulling.publish(&another(&first, &format!("1.{minor}.0")));
    }
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0", "1.2.0"]);
    let dated = format!("{}/{}/1.", first.namespace, first.provider_type);
    assert_eq!(pulling.asked(&dated), 5);
}

#[test]
fn a_provider_that_its_origin_removed_is_404() {
    let (pulling, fixture) = Pulling::listed();
    pulling.fail("/versions", 404);
    pulling.advance(PULL_CHECK_SECONDS);
    pulling.versions(&fixture);
    pulling.registry.get(&fixture.index()).expect(404);
    pulling.memory.forget_operations();
    pulling.registry.get(&fixture.index()).expect(404);
    assert_eq!(pulling.memory.operations().len(), 1);
    // When the origin lists it again, it returns.
    pulling.connect();
    pulling.advance(PULL_CHECK_SECONDS);
    pulling.registry.get(&fixture.index()).expect(404);
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
}

#[test]
fn a_list_is_served_although_its_key_is_busy() {
    let (pulling, fixture) = Pulling::one();
    let memory = pulling.memory.clone();
    let busy = move |url: &str, response: Response| {
        if url.ends_with("/versions") {
            memory.fail("R2 put", 0, When::Before, Failure::Busy);
        }
        response
    };
    pulling.tamper(Rc::new(busy));
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
}

#[test]
fn a_list_older_than_the_last_fetch_is_rebuilt() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    pulling.versions(&fixture);
    let second = pulling.publish(&another(&first, "1.1.0"));
    pulling.advance(PULL_CHECK_SECONDS);
    // A read of the version requests it, without reading the list.
    pulling.archives(&second);
    assert_eq!(pulling.asked("/versions"), 2);
    pulling.advance(200);
    pulling.versions(&fixture);
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0"]);
    assert_eq!(pulling.asked("/versions"), 2);
}

#[test]
fn the_lists_of_pulled_providers_are_repaired_without_a_stored_release() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    pulling.versions(&fixture);
    // An unknown provider has no index.
    let nothing = MirrorFixture::new("1.0.0");
    pulling.registry.get(&nothing.index()).expect(404);
    let whole = pulling.memory.documents();
    assert!(!whole.is_empty());
    pulling.memory.lose_indices();
    let asked = pulling.asked("");
    // The repair also lists the provider in the catalogue.
    let lists = || {
        let mut repaired = pulling.memory.documents();
        repaired.retain(|key, _| key != "revocations" && !is_of_catalog(&format!("KV put {key}")));
        repaired
    };
    // The walk over the facts takes a few steps.
    for _ in 0..4 {
        pulling.registry.run_repair_step();
    }
    assert_eq!(lists(), whole);
    assert_eq!(pulling.asked(""), asked, "no origin received a request");
    let catalog = &pulling.memory.indices()["merged-catalog/1"];
    assert!(catalog.contains(&fixture.address()), "{catalog}");
    pulling.registry.run_repair_step();
    assert_eq!(lists(), whole);
}

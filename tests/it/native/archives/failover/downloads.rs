//! Downloads from either bucket: their URLs, and the reads that they cost.

use super::{MINUTE, Two};
use crate::support::ModuleFixture;
use crate::support::memory::second_bucket::COPIES;
use crate::support::registry::{S3, Sent};
use terrace_app::cache::REVOCATIONS_SECONDS;

#[test]
fn downloads_come_from_the_second_bucket_within_a_minute_of_the_change() {
    for vars in [&S3[..], &[]] {
        let two = Two::copied(vars);
        assert!(two.installs() && !two.location().starts_with(COPIES));
        let fault = two.break_r2();
        two.switch("fallback").expect(200);
        two.memory.advance(MINUTE);
        assert!(two.location().starts_with(COPIES), "{}", two.location());
        assert!(two.installs());
        two.mend_r2(&fault);
        two.switch("main").expect(200);
        two.memory.advance(MINUTE);
        assert!(two.installs() && !two.location().starts_with(COPIES));
    }
}

#[test]
fn an_isolate_that_signed_before_follows_the_change_when_its_cache_ends() {
    let two = Two::copied(&S3);
    two.location();
    let elsewhere = two.at(0);
    elsewhere.switch("fallback").expect(200);
    two.memory.advance(REVOCATIONS_SECONDS);
    assert!(two.location().starts_with(COPIES));
}

#[test]
fn a_read_of_a_known_state_costs_nothing_more() {
    let two = Two::copied(&S3);
    two.location();
    two.memory.forget_operations();
    two.location();
    let operations = two.memory.operations();
    assert_eq!(operations.len(), 1, "{operations:?}");
    // Ten seconds later one request reads the state, after its response.
    two.memory.advance(10);
    two.location();
    two.memory.forget_operations();
    two.location();
    assert_eq!(two.memory.operations().len(), 1);
    // A list has no URLs.
    two.memory.advance(MINUTE);
    two.memory.forget_operations();
    two.registry.get(&two.fixture.versions()).expect(200);
    assert_eq!(two.memory.operations().len(), 1);
}

#[test]
fn a_url_from_before_the_change_is_redirected_unless_its_archive_was_erased() {
    let edge = [&S3[..], &[("TERRACE_DOWNLOADS", "edge")]].concat();
    for vars in [&[], &edge[..]] {
        let two = Two::copied(vars);
        let other = ModuleFixture::of("acme", "1.1.0");
        other.publish(&two.registry);
        two.copy();
        let path = |fixture: &ModuleFixture| {
            let answer = two.registry.read(&fixture.download());
            let url = answer["location"].as_str().unwrap();
            let url = url.split("&checksum=").next().unwrap();
            url.replace("https://registry.test", "")
        };
        let (erased, kept) = (path(&two.fixture), path(&other));
        two.erase_while_down();
        two.memory.advance(MINUTE);
        let fault = two.break_r2();
        two.switch("fallback").expect(200);
        two.memory.advance(MINUTE);
        for method in ["GET", "HEAD"] {
            let redirect = two.registry.send(&Sent::new(method, &kept)).expect(302);
            let location = redirect.header("location").unwrap().to_owned();
            assert!(location.starts_with(COPIES), "{location}");
            let refused = two.registry.send(&Sent::new(method, &erased));
            assert!(refused.status >= 400, "{method} {}", refused.status);
        }
        two.mend_r2(&fault);
    }
}

#[test]
fn archives_are_listed_with_a_url_of_each_bucket() {
    let two = Two::copied(&[]);
    let path = "/admin/v1/archives?urls=true";
    let listed = two.registry.read_as_admin(path);
    let archive = &listed["archives"][0];
    let starts_with = |name: &str, start| archive[name].as_str().unwrap().starts_with(start);
    assert!(starts_with("url", "https://registry.test/"));
    assert!(starts_with("copy_url", COPIES));
    let listed = two.registry.read_as_admin("/admin/v1/archives");
    assert_eq!(listed["archives"][0].get("copy_url"), None);
}

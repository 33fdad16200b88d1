//! Decisions of administrators: when they are accepted, recorded and ended, and the changes that they stop.

use serde_json::{Value, json};
use terrace_core::api::route::Route;
use terrace_core::limits::LIST_CACHE_SECONDS;

use super::{MINUTE, Two};
use crate::native::access::paths;
use crate::native::archives::{alone, erase};
use crate::support::ModuleFixture;
use crate::support::chain;
use crate::support::faults::{Failure, When};
use crate::support::memory::second_bucket::{COPIES, EndpointFault};
use crate::support::registry::{S3, Sent, TOKEN};

#[test]
fn a_state_that_this_location_has_cached_counts_as_recorded() {
    let two = Two::copied(&S3);
    let there = two.at(1);
    two.memory.at_an_edge();
    two.switch("fallback").expect(200);
    two.state();
    there.switch("main").expect(200);
    assert_eq!(two.state()["recorded"], true);
}

#[test]
fn a_change_that_another_one_replaces_at_the_same_time_is_not_stated_as_recorded() {
    let two = Two::copied(&S3);
    let there = two.at(0);
    two.memory.before("R2 put failover/serving", move || {
        there.switch("main").expect(200);
    });
    let answer = two.switch("fallback").found();
    assert_eq!(answer["recorded"], false);
    two.minutes(2);
    assert_eq!(two.state()["recorded"], true);
}

#[test]
fn the_audit_log_states_the_bucket_before_a_change() {
    let two = Two::copied(&S3);
    for serving in ["fallback", "fallback", "main"] {
        two.switch(serving).expect(200);
    }
    let changes = chain::entries(&two.memory).into_iter();
    let changes = changes.filter_map(|entry| entry.change);
    let changes: Vec<String> = changes.map(|it| format!("{} {}", it.from, it.to)).collect();
    let expected = ["main fallback", "fallback fallback", "fallback main"];
    assert_eq!(changes, expected);
}

#[test]
fn an_administrator_changes_to_a_bucket_without_copies_only_explicitly() {
    let two = Two::new(&S3);
    let errors = two.switch("fallback").refuses(409, "no comparison");
    assert!(errors.contains("--force"), "{errors}");
    assert_eq!(two.state()["serving"], "main");
    let forced = json!({ "serving": "fallback", "reason": "a test", "force": true });
    two.send(&forced).expect(200);
    assert_eq!(two.state()["serving"], "fallback");
    // Also a bucket that has replaced another one is new.
    let two = Two::copied(&S3);
    let record = two.memory.index("failover/copy").text;
    let other = record.replace("copies.test", "older.test");
    two.memory.put_index("failover/copy", &other);
    two.switch("fallback").expect(409);
    two.memory.put_index("failover/copy", &record);
    two.switch("fallback").expect(200);
}

#[test]
fn a_change_during_an_outage_is_recorded_after_it() {
    let two = Two::copied(&S3);
    let fault = two.break_r2();
    let answer = two.switch("fallback").found();
    assert_eq!(answer["serving"], "fallback");
    assert_eq!(answer["recorded"], false);
    let facts = || two.memory.keys_with("failover/serving").len();
    assert_eq!(facts(), 0);
    two.mend_r2(&fault);
    two.minutes(1);
    assert_eq!(two.state()["recorded"], true);
    assert_eq!(facts(), 1);
    let entry = chain::entries(&two.memory).pop().unwrap();
    assert_eq!(entry.what, "PUT /admin/v1/failover");
    assert_eq!(entry.change.unwrap().reason, "R2 is down");
}

#[test]
fn a_lost_index_is_written_again_from_its_fact() {
    let two = Two::copied(&S3);
    two.switch("fallback").expect(200);
    let index = two.memory.index("failover/serving");
    two.memory.lose_index("failover/serving");
    two.minutes(1);
    assert_eq!(two.memory.index("failover/serving"), index);
}

#[test]
fn nothing_changes_while_the_second_bucket_serves_and_nothing_diverges_afterwards() {
    let two = Two::copied(&S3);
    let before = two.memory.objects_but_for_markers();
    let fault = two.break_r2();
    two.switch("fallback").expect(200);
    let refused = ModuleFixture::of("acme", "1.1.0").put(&two.registry);
    // A command does not wait for the end of an outage.
    assert_eq!(refused.header("retry-after"), Some("360"));
    refused.refuses(503, "nothing can be changed");
    erase(&two.registry, &alone(&[&two.key()])).expect(503);
    two.minutes(5);
    two.mend_r2(&fault);
    two.minutes(5);
    two.switch("main").expect(200);
    two.memory.advance(MINUTE);
    let unchanged = |key: &str| key.starts_with("archives/") || key.starts_with("releases/");
    let after = two.memory.objects_but_for_markers();
    for (key, bytes) in before.iter().filter(|(key, _)| unchanged(key)) {
        assert_eq!(after.get(key), Some(bytes), "{key}");
    }
    ModuleFixture::of("acme", "1.1.0").publish(&two.registry);
    two.copy();
    assert_eq!(two.memory.copies().len(), 2);
}

#[test]
fn each_change_is_refused_while_the_second_bucket_serves() {
    let two = Two::copied(&S3);
    two.switch("fallback").expect(200);
    let before = two.memory.objects();
    let mut refused = 0;
    for path in paths() {
        let route = Route::parse(path.split('?').next().unwrap()).unwrap();
        for action in route.endpoint().actions.iter().filter(|it| it.writes) {
            let sent = Sent::new(action.method.as_str(), &path).bearing(TOKEN);
            let answer = two.registry.send(&sent.body(b"")).expect(503);
            let is_told = answer.text().contains("nothing can be changed");
            assert!(is_told, "{path} {action:?}");
            refused += 1;
        }
    }
    assert!(refused > 20, "{refused}");
    assert!(two.memory.objects() == before, "nothing was stored");
}

#[test]
fn a_request_for_another_bucket_or_without_a_reason_is_rejected() {
    let two = Two::new(&S3);
    for (body, status) in [
        (json!({ "serving": "third", "reason": "x" }), 400),
        (json!({ "serving": "fallback" }), 400),
        (
            json!({ "serving": "fallback", "reason": "x", "force": "yes" }),
            400,
        ),
        (json!({ "serving": "fallback", "reason": "" }), 422),
        (
            json!({ "serving": "fallback", "reason": "two\nlines" }),
            422,
        ),
    ] {
        two.send(&body).expect(status);
    }
    assert_eq!(two.state()["serving"], "main");
}

#[test]
fn only_an_administrator_changes_the_bucket_and_the_log_says_when() {
    let two = Two::copied(&S3);
    let fault = two.break_r2();
    two.minutes(5);
    assert_eq!(two.state()["serving"], "main");
    let outage = "R2 does not answer; `terrace admin failover on --reason …`";
    two.memory.assert_logged(outage);
    two.switch("fallback").expect(200);
    two.mend_r2(&fault);
    two.minutes(5);
    assert_eq!(two.state()["serving"], "fallback");
    let end = "the main bucket answers; `terrace admin failover off --reason …`";
    two.memory.assert_logged(end);
}

#[test]
fn a_failed_endpoint_is_logged_and_wrong_keys_are_no_outage() {
    for (status, fails) in [(403, false), (429, false), (500, true), (503, true)] {
        let two = Two::copied(&S3);
        let fault = EndpointFault::Status(status);
        two.memory.set_endpoint_fault(Some(fault));
        two.minutes(1);
        let log = two.memory.log().join("\n");
        let is_told = log.contains("the main bucket fails");
        assert_eq!(is_told, fails, "{status}: {log}");
    }
}

#[test]
fn a_state_from_the_future_has_no_effect_and_the_next_change_replaces_it() {
    let two = Two::copied(&S3);
    let future = json!({ "serving": "fallback", "bucket": COPIES, "since": 9_000_000_000_u64, "by": "root", "reason": "a wrong clock" });
    let (key, future) = ("failover/serving", future.to_string());
    two.memory.put_object(key, future.as_bytes());
    two.memory.put_index(key, &future);
    two.memory.advance(MINUTE);
    assert_eq!(two.state()["serving"], "main");
    for serving in ["fallback", "main"] {
        two.switch(serving).expect(200);
        let state = two.state();
        assert_eq!(state["serving"], serving);
        assert_eq!(state["recorded"], true);
        let fact: Value = serde_json::from_slice(&two.memory.object_bytes(key)).unwrap();
        assert_eq!(fact["serving"], serving);
    }
}

#[test]
fn the_scheduled_event_does_not_write_an_older_fact_over_an_index_that_it_has_not_seen() {
    let two = Two::copied(&S3);
    let there = two.at(1);
    two.memory.at_an_edge();
    let memory = &two.memory;
    memory.read_index("failover/serving", LIST_CACHE_SECONDS);
    there.switch("main").expect(200);
    two.memory.advance(5);
    let write = "R2 put failover/serving";
    let fault = memory.fail(write, 0.., When::Before, Failure::Error);
    there.switch("fallback").expect(200);
    two.memory.advance(5);
    two.registry.run_repair_step();
    fault.lift();
    two.minutes(2);
    assert_eq!(there.state()["serving"], "fallback");
}

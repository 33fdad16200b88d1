//! The probe of the scheduled event: outages that it sees, and when it changes the bucket.

use serde_json::{Value, json};
use terrace_core::limits::LIST_CACHE_SECONDS;
use terrace_core::storage::failover::FAILBACK_PROBES;
use terrace_core::storage::failover::FAILOVER_PROBES;

use super::{MINUTE, Two, key_of};
use crate::support::ModuleFixture;
use crate::support::chain;
use crate::support::faults::{Failure, When};
use crate::support::memory::second_bucket::{COPIES, EndpointFault};
use crate::support::registry::S3;

#[test]
fn probes_that_can_change_nothing_cost_no_writes_of_kv() {
    let two = Two::new(&S3);
    two.memory.set_second_down(true);
    two.memory.set_endpoint_fault(Some(EndpointFault::NoAnswer));
    two.minutes(2 * FAILBACK_PROBES);
    two.memory.forget_operations();
    two.minutes(10);
    let writes = two.memory.operations();
    let writes = writes
        .iter()
        .filter(|it| it.starts_with("KV put failover/probes"));
    assert_eq!(writes.count(), 0);
    assert_eq!(two.state()["serving"], "main");
}

#[test]
fn a_probe_does_not_replace_a_decision_that_another_isolate_has_hidden_from_it() {
    let two = Two::copied(&S3);
    let there = two.at(1);
    let fault = two.break_r2();
    two.minutes(FAILOVER_PROBES);
    assert_eq!(two.state()["serving"], "fallback");
    two.mend_r2(&fault);
    two.minutes(FAILBACK_PROBES - 1);
    // After the probe has waited, and read the index.
    let decided = two
        .memory
        .run("KV get failover/serving", 1, When::After, move || {
            there.switch("fallback").expect(200);
        });
    two.minutes(1);
    assert!(decided.is_reached());
    assert_eq!(two.at(1).state()["serving"], "fallback");
}

#[test]
fn a_probe_replaces_a_damaged_fact_and_asks_the_endpoint_all_the_same() {
    let two = Two::copied(&S3);
    two.memory.put_object("failover/serving", b"{");
    two.memory.set_endpoint_fault(Some(EndpointFault::NoAnswer));
    // The first one replaces it, and counts for the state before.
    two.minutes(1 + FAILOVER_PROBES);
    let state = two.state();
    assert_eq!(
        (&state["serving"], &state["recorded"]),
        (&json!("fallback"), &json!(true))
    );
    let fact: Value = serde_json::from_slice(&two.memory.object_bytes("failover/serving")).unwrap();
    assert_eq!(fact["serving"], "fallback");
}

#[test]
fn a_state_from_the_future_has_no_effect_and_the_next_change_replaces_it() {
    let two = Two::copied(&S3);
    let future = json!({ "serving": "fallback", "bucket": COPIES, "since": 9_000_000_000_u64, "by": "root", "reason": "a wrong clock" });
    two.memory
        .put_object("failover/serving", future.to_string().as_bytes());
    two.memory
        .put_index("failover/serving", &future.to_string());
    two.memory.advance(MINUTE);
    assert_eq!(two.state()["serving"], "main");
    two.minutes(1);
    let now = two.memory.now_ms() / 1_000;
    for text in [
        two.memory.object_bytes("failover/serving"),
        two.memory.index("failover/serving").text.into_bytes(),
    ] {
        let state: Value = serde_json::from_slice(&text).unwrap();
        assert!(
            state["serving"] == "main" && state["since"].as_u64() <= Some(now),
            "{state}"
        );
    }
    for serving in ["fallback", "main"] {
        two.switch(serving).expect(200);
        let state = two.state();
        assert_eq!(
            (&state["serving"], &state["recorded"]),
            (&json!(serving), &json!(true))
        );
        let fact: Value =
            serde_json::from_slice(&two.memory.object_bytes("failover/serving")).unwrap();
        assert_eq!(fact["serving"], serving);
    }
}

#[test]
fn the_probe_changes_the_bucket_after_three_failures_and_back_after_five_successes() {
    for of_binding in [true, false] {
        let two = Two::copied(&S3);
        two.memory.set_endpoint_fault(Some(EndpointFault::NoAnswer));
        let fault = of_binding.then(|| two.break_r2());
        two.minutes(FAILOVER_PROBES - 1);
        assert_eq!(two.state()["serving"], "main");
        two.minutes(1);
        let state = two.state();
        assert_eq!(
            (&state["serving"], &state["by"]),
            (&json!("fallback"), &json!("probe"))
        );
        two.memory.advance(MINUTE);
        assert!(two.installs());
        match fault {
            Some(fault) => two.mend_r2(&fault),
            None => two.memory.set_endpoint_fault(None),
        }
        two.minutes(FAILBACK_PROBES - 1);
        assert_eq!(two.state()["serving"], "fallback");
        two.minutes(1);
        assert_eq!(two.state()["serving"], "main");
        two.memory.advance(MINUTE);
        assert!(two.installs());
        chain::entries(&two.memory);
    }
}

#[test]
fn a_status_of_a_failed_endpoint_is_an_outage_and_wrong_keys_are_none() {
    for (status, serving) in [
        (403, "main"),
        (400, "main"),
        (429, "main"),
        (500, "fallback"),
        (503, "fallback"),
    ] {
        let two = Two::copied(&S3);
        two.memory
            .set_endpoint_fault(Some(EndpointFault::Status(status)));
        two.minutes(2 * FAILOVER_PROBES);
        assert_eq!(two.state()["serving"], serving, "{status}");
    }
}

#[test]
fn a_failure_of_kv_or_a_damaged_fact_is_no_outage_of_the_bucket() {
    let two = Two::copied(&S3);
    two.switch("main").expect(200);
    two.memory.lose_index("failover/serving");
    let fault = two
        .memory
        .fail("KV put failover/serving", 0.., When::Before, Failure::Error);
    two.minutes(2 * FAILOVER_PROBES);
    fault.lift();
    two.memory.put_object("failover/serving", b"{");
    two.minutes(2 * FAILOVER_PROBES);
    assert_eq!(two.state()["serving"], "main");
}

#[test]
fn a_probe_that_counts_does_not_bring_back_the_state_before_a_change() {
    let two = Two::copied(&S3);
    let there = two.at(1);
    two.memory.at_an_edge();
    let fault = two.break_r2();
    two.minutes(1);
    there.switch("fallback").expect(200);
    // The location of the probe has cached the value of KV from before the change.
    two.memory.advance(20);
    two.registry.run_repair_step();
    two.memory.advance(MINUTE);
    let state = there.state();
    assert_eq!(state["serving"], "fallback");
    assert_ne!(state["by"], "probe");
    two.mend_r2(&fault);
}

#[test]
fn a_probe_with_three_failures_does_not_bring_back_the_state_before_a_change() {
    for serving in ["main", "fallback"] {
        let two = Two::copied(&S3);
        let there = two.at(1);
        two.memory.at_an_edge();
        let fault = two.break_r2();
        two.minutes(FAILOVER_PROBES - 1);
        two.memory.advance(50);
        // The location of the probe caches the value of KV from before the change.
        two.memory
            .read_index("failover/serving", LIST_CACHE_SECONDS);
        there.switch(serving).expect(200);
        two.memory.advance(5);
        two.registry.run_repair_step();
        two.minutes(FAILOVER_PROBES);
        let state = there.state();
        assert_eq!(state["serving"], serving);
        assert_ne!(state["by"], "probe");
        two.mend_r2(&fault);
    }
}

#[test]
fn a_probe_does_not_write_an_older_fact_over_an_index_that_it_has_not_seen() {
    let two = Two::copied(&S3);
    let there = two.at(1);
    two.memory.at_an_edge();
    two.memory
        .read_index("failover/serving", LIST_CACHE_SECONDS);
    there.switch("main").expect(200);
    two.memory.advance(5);
    let fault = two
        .memory
        .fail("R2 put failover/serving", 0.., When::Before, Failure::Error);
    there.switch("fallback").expect(200);
    two.memory.advance(5);
    two.registry.run_repair_step();
    fault.lift();
    two.minutes(2);
    assert_eq!(there.state()["serving"], "fallback");
}

#[test]
fn the_probe_does_not_change_to_a_bucket_without_copies() {
    let two = Two::new(&S3);
    let fault = two.break_r2();
    two.minutes(2 * FAILOVER_PROBES);
    assert_eq!(two.state()["serving"], "main");
    let log = two.memory.log().join("\n");
    assert!(log.contains("no comparison of it"), "{log}");
    two.mend_r2(&fault);
    two.copy();
    let fault = two.break_r2();
    two.minutes(FAILOVER_PROBES);
    assert_eq!(two.state()["serving"], "fallback");
    two.mend_r2(&fault);
}

#[test]
fn the_probe_does_not_change_to_a_bucket_that_lacks_more_than_a_tenth() {
    let two = Two::copied(&S3);
    two.memory
        .refuse_copy(&key_of(&ModuleFixture::of("acme", "1.1.0")));
    ModuleFixture::of("acme", "1.1.0").publish(&two.registry);
    two.copy();
    let fault = two.break_r2();
    two.minutes(2 * FAILOVER_PROBES);
    assert_eq!(two.state()["serving"], "main");
    two.mend_r2(&fault);
}

#[test]
fn a_short_failure_changes_nothing() {
    let two = Two::copied(&S3);
    for _ in 0..3 {
        two.memory.set_endpoint_fault(Some(EndpointFault::NoAnswer));
        two.minutes(FAILOVER_PROBES - 1);
        two.memory.set_endpoint_fault(None);
        two.minutes(1);
    }
    assert_eq!(two.state()["serving"], "main");
}

#[test]
fn the_probe_does_not_change_to_a_bucket_that_does_not_answer() {
    let two = Two::copied(&S3);
    two.memory.set_second_down(true);
    two.memory.set_endpoint_fault(Some(EndpointFault::NoAnswer));
    two.minutes(5);
    assert_eq!(two.state()["serving"], "main");
    two.switch("fallback").expect(502);
    two.memory.set_second_down(false);
    two.minutes(1);
    assert_eq!(two.state()["serving"], "fallback");
}

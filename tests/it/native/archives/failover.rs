//! The second bucket: its copies, downloads from it while R2 is down, and the return of the main bucket.

use serde_json::{Value, json};
use terrace_core::api::route::Route;
use terrace_core::limits::{
    COPY_SWEEP_SECONDS, FAILBACK_PROBES, FAILOVER_PROBES, FAILOVER_SECONDS, GARBAGE_SECONDS,
    LIST_CACHE_SECONDS,
};

use crate::native::access::paths;
use crate::support::chain;
use crate::support::documented::document_module;
use crate::support::faults::{Failure, Fault, When};
use crate::support::fixtures::sha256;
use crate::support::memory::Memory;
use crate::support::memory::second_bucket::{COPIES, EndpointFault, FALLBACK};
use crate::support::registry::{Registry, Response, S3, Sent, TOKEN};
use crate::support::tokens::post;
use crate::support::{ModuleFixture, ProviderFixture};

const PATH: &str = "/admin/v1/failover";

/// The seconds until every isolate follows a change: the edge keeps KV's value for 30 of them.
const MINUTE: u64 = 60;

/// A registry with two buckets, whose main one serves its URLs itself or through the Worker.
pub(super) struct Two {
    pub(super) memory: Memory,
    pub(super) registry: Registry,
    pub(super) fixture: ModuleFixture,
}

impl Two {
    pub(super) fn new(vars: &[(&str, &str)]) -> Self {
        let memory = Memory::new();
        let registry = Registry::in_memory(&memory, &[vars, &FALLBACK].concat());
        let fixture = ModuleFixture::of("acme", "1.0.0");
        fixture.publish(&registry);
        Self {
            memory,
            registry,
            fixture,
        }
    }

    /// Returns the same with a copy of everything.
    pub(super) fn copied(vars: &[(&str, &str)]) -> Self {
        let two = Self::new(vars);
        two.copy();
        two
    }

    /// Returns the same, as seen by another isolate at this location.
    pub(super) fn at(&self, location: usize) -> Self {
        let memory = self.memory.at(location);
        Self {
            registry: Registry::in_memory(&memory, &[&S3[..], &FALLBACK].concat()),
            memory,
            fixture: self.fixture.clone(),
        }
    }

    pub(super) fn key(&self) -> String {
        key_of(&self.fixture)
    }

    /// Erases the module with its only version.
    pub(super) fn erase(&self) -> Value {
        let body = json!({ "package": "acme/vpc/aws", "version": "1.0.0", "archives": [self.key()], "reason": "a leaked key" });
        let erased = post(&self.registry, "/admin/v1/erasures", &body);
        erased.expect(200).json()
    }

    /// Lets the scheduled event run for so many minutes.
    pub(super) fn minutes(&self, count: u32) {
        for _ in 0..count {
            self.memory.advance(MINUTE);
            self.registry.run_repair_step();
        }
    }

    /// Lets the copy take its turns until all has been compared.
    pub(super) fn copy(&self) {
        // Archives and blobs are two pages, each of which has its turn within five minutes.
        self.minutes(10);
    }

    fn switch(&self, serving: &str) -> Response {
        self.send(&json!({ "serving": serving, "reason": "R2 is down" }))
    }

    fn send(&self, body: &Value) -> Response {
        let body = body.to_string();
        self.registry.admin("PUT", PATH, Some(body.as_bytes()))
    }

    pub(super) fn state(&self) -> Value {
        self.registry.admin("GET", PATH, None).expect(200).json()
    }

    /// Lets every operation on R2 fail.
    fn break_r2(&self) -> Fault {
        self.memory
            .set_endpoint_fault(Some(EndpointFault::NoAnswer));
        self.memory.fail("R2", 0.., When::Before, Failure::Error)
    }

    fn mend_r2(&self, fault: &Fault) {
        self.memory.set_endpoint_fault(None);
        fault.lift();
    }

    /// Returns the URL of the archive that a client is sent to.
    fn location(&self) -> String {
        let path = format!("{}/1.0.0/download", self.fixture.path());
        let answer = self.registry.get(&path).expect(200);
        answer.json()["location"].as_str().unwrap().to_owned()
    }

    /// Installs the module as a client does.
    fn installs(&self) -> bool {
        let lists = format!("{}/versions", self.fixture.path());
        self.registry.get(&lists).expect(200);
        let location = self.location();
        let url = location.split("&checksum=").next().unwrap();
        let url = url.strip_prefix("https://registry.test").unwrap_or(url);
        let answer = self.registry.get(url);
        answer.status == 200 && answer.body == self.fixture.archive
    }
}

pub(super) fn key_of(fixture: &ModuleFixture) -> String {
    format!("archives/{}.zip", sha256(&fixture.archive))
}

#[test]
fn the_scheduled_event_copies_every_archive_and_records_that() {
    let two = Two::new(&S3);
    ProviderFixture::new("1.0.0").publish(&two.registry);
    assert_eq!(two.memory.copies().len(), 0, "no publish waits for a copy");
    two.copy();
    let objects = two.memory.objects();
    let archives = objects
        .iter()
        .filter(|(key, _)| key.starts_with("archives/"));
    let archives: Vec<_> = archives
        .map(|(key, bytes)| (key.clone(), bytes.clone()))
        .collect();
    assert!(archives.len() >= 4, "{archives:?}");
    assert_eq!(
        two.memory.copies().into_iter().collect::<Vec<_>>(),
        archives
    );
    let copy = &two.state()["copy"];
    assert_eq!(copy["stored"], archives.len());
    assert_eq!(
        (&copy["missing"], &copy["error"]),
        (&json!(0), &Value::Null)
    );
}

#[test]
fn the_copy_states_the_reason_while_the_second_bucket_is_unreachable() {
    let two = Two::copied(&S3);
    ModuleFixture::of("acme", "1.1.0").publish(&two.registry);
    two.memory.set_second_down(true);
    two.copy();
    let error = two.state()["copy"]["error"].as_str().unwrap().to_owned();
    assert!(
        error.starts_with("the second bucket cannot list"),
        "{error}"
    );
    assert!(!error.contains("X-Amz"), "{error}");
    two.memory.set_second_down(false);
    two.copy();
    assert_eq!(two.state()["copy"]["error"], Value::Null);
    assert_eq!(two.memory.copies().len(), 2);
}

#[test]
fn the_state_of_the_copy_in_another_bucket_is_not_stated() {
    let two = Two::copied(&S3);
    assert_eq!(two.state()["copy"]["missing"], 0);
    let mut other = FALLBACK;
    other[1] = ("TERRACE_S3_FALLBACK_BUCKET", "empty");
    for settings in [&other[..], &[]] {
        let registry = Registry::in_memory(&two.memory, &[&S3[..], settings].concat());
        let state = registry.admin("GET", PATH, None).expect(200).json();
        assert_eq!(state["copy"], Value::Null, "{state}");
    }
}

#[test]
fn a_damaged_copy_is_replaced() {
    let two = Two::copied(&S3);
    two.memory.put_copy(&two.key(), b"short");
    two.copy();
    assert_eq!(two.memory.copies()[&two.key()], two.fixture.archive);
}

#[test]
fn an_object_that_cannot_be_copied_stops_neither_the_others_nor_removals() {
    let two = Two::copied(&S3);
    two.memory.set_second_down(true);
    two.erase();
    two.memory.set_second_down(false);
    let kept: Vec<ModuleFixture> = ["1.1.0", "1.2.0", "1.3.0"]
        .map(|version| ModuleFixture::of("acme", version))
        .into();
    for fixture in &kept {
        fixture.publish(&two.registry);
    }
    let mut keys: Vec<String> = kept.iter().map(key_of).collect();
    keys.sort();
    two.memory.refuse_copy(&keys[0]);
    two.copy();
    let copies: Vec<String> = two.memory.copies().into_keys().collect();
    assert_eq!(copies, keys[1..]);
    let copy = two.state()["copy"].clone();
    assert_eq!(copy["missing"], 1);
    let error = copy["error"].as_str().unwrap();
    assert!(
        error.contains(&keys[0]) && error.contains("400 (BadDigest)"),
        "{error}"
    );
}

#[test]
fn objects_that_cannot_be_copied_do_not_keep_the_others_of_their_page_waiting() {
    let two = Two::copied(&S3);
    let all: Vec<ModuleFixture> = (0..30)
        .map(|patch| ModuleFixture::of("acme", &format!("2.0.{patch}")))
        .collect();
    let mut keys: Vec<String> = all.iter().map(key_of).collect();
    keys.sort();
    for key in &keys[..20] {
        two.memory.refuse_copy(key);
    }
    for fixture in &all {
        fixture.publish(&two.registry);
    }
    two.minutes(60);
    for key in &keys[20..] {
        assert!(two.memory.copies().contains_key(key), "{key}");
    }
    assert_eq!(two.state()["copy"]["missing"], 20);
}

#[test]
fn a_second_bucket_that_fails_in_the_same_way_costs_no_writes() {
    let two = Two::copied(&S3);
    ModuleFixture::of("acme", "1.1.0").publish(&two.registry);
    two.memory.set_second_down(true);
    two.copy();
    two.memory.forget_operations();
    two.copy();
    let writes = two.memory.operations();
    let writes = writes
        .iter()
        .filter(|it| it.starts_with("R2 put failover/"));
    assert_eq!(writes.count(), 0);
}

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
fn an_archive_that_cannot_be_copied_is_tried_only_in_the_turns_of_the_copy() {
    let two = Two::copied(&S3);
    let other = ModuleFixture::of("acme", "1.1.0");
    other.publish(&two.registry);
    two.memory.refuse_copy(&key_of(&other));
    two.minutes(20);
    two.memory.forget_operations();
    two.minutes(20);
    let puts = two.memory.operations();
    let puts = puts.iter().filter(|it| it.starts_with("bucket PUT"));
    assert_eq!(puts.count(), 2, "one for each walk of two pages");
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
fn a_damaged_document_of_the_copy_begins_a_new_walk() {
    let two = Two::new(&S3);
    two.memory.put_object("failover/copy", b"{");
    two.copy();
    assert_eq!(two.memory.copies().len(), 1);
    assert_eq!(two.state()["copy"]["missing"], 0);
}

#[test]
fn a_bucket_with_the_documents_of_a_registry_is_no_second_bucket() {
    let two = Two::copied(&S3);
    two.memory.put_copy("audit/000000000001", b"{}");
    let forced = json!({ "serving": "fallback", "reason": "a test", "force": true });
    let refused = two.send(&forced).expect(409).errors();
    assert!(refused.contains("TERRACE_S3_FALLBACK_BUCKET"), "{refused}");
    post(&two.registry, "/admin/v1/replication", &json!({})).expect(409);
    ModuleFixture::of("acme", "1.1.0").publish(&two.registry);
    two.copy();
    let left = two.erase()["left_in_fallback"].to_string();
    assert!(left.contains(&two.key()), "{left}");
    assert_eq!(
        two.memory.copies().len(),
        2,
        "nothing is copied to it, or removed from it"
    );
    let error = two.state()["copy"]["error"].clone();
    assert!(error.as_str().unwrap().contains("audit/"), "{error}");
    let fault = two.break_r2();
    two.minutes(2 * FAILOVER_PROBES);
    assert_eq!(two.state()["serving"], "main");
    two.mend_r2(&fault);
}

#[test]
fn a_state_of_another_second_bucket_has_no_effect_and_can_be_ended_without_any() {
    let two = Two::copied(&S3);
    two.switch("fallback").expect(200);
    let mut other = FALLBACK;
    other[1] = ("TERRACE_S3_FALLBACK_BUCKET", "empty");
    let memory = two.memory.at(1);
    for settings in [&other[..], &[]] {
        let registry = Registry::in_memory(&memory, &[&S3[..], settings].concat());
        let state = registry.admin("GET", PATH, None).expect(200).json();
        assert_eq!(
            (&state["serving"], &state["by"]),
            (&json!("main"), &Value::Null)
        );
        let path = format!("{}/1.0.0/download", two.fixture.path());
        let location = registry.get(&path).expect(200).json()["location"].to_string();
        assert!(!location.contains("copies.test"), "{location}");
        for _ in 0..2 * FAILBACK_PROBES {
            memory.advance(MINUTE);
            registry.run_repair_step();
        }
    }
    assert_eq!(
        two.state()["serving"],
        "fallback",
        "its own settings are back"
    );
    let registry = Registry::in_memory(&memory, &S3);
    let off = json!({ "serving": "main", "reason": "it is gone" }).to_string();
    registry
        .admin("PUT", PATH, Some(off.as_bytes()))
        .expect(200);
    memory.advance(MINUTE);
    assert_eq!(two.state()["serving"], "main");
}

#[test]
fn a_probe_asks_the_endpoint_also_if_the_fact_is_damaged_and_the_next_change_replaces_it() {
    let two = Two::copied(&S3);
    two.memory.put_object("failover/serving", b"{");
    two.memory.set_endpoint_fault(Some(EndpointFault::NoAnswer));
    two.minutes(FAILOVER_PROBES);
    let state = two.state();
    assert_eq!(
        (&state["serving"], &state["recorded"]),
        (&json!("fallback"), &json!(true))
    );
    let fact: Value = serde_json::from_slice(&two.memory.object_bytes("failover/serving")).unwrap();
    assert_eq!(fact["serving"], "fallback");
}

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
    let answer = two.switch("fallback").expect(200).json();
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
    let changes: Vec<(String, String)> = chain::entries(&two.memory)
        .into_iter()
        .filter_map(|entry| entry.change.map(|change| (change.from, change.to)))
        .collect();
    let expected = [
        ("main", "fallback"),
        ("fallback", "fallback"),
        ("fallback", "main"),
    ];
    let expected = expected.map(|(from, to)| (from.to_owned(), to.to_owned()));
    assert_eq!(changes, expected);
}

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
    two.memory.advance(FAILOVER_SECONDS);
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
    two.registry
        .get(&format!("{}/versions", two.fixture.path()))
        .expect(200);
    assert_eq!(two.memory.operations().len(), 1);
}

#[test]
fn a_registry_without_a_second_bucket_reads_no_state_and_cannot_be_switched() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &S3);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.publish(&registry);
    memory.forget_operations();
    registry
        .get(&format!("{}/1.0.0/download", fixture.path()))
        .expect(200);
    assert_eq!(memory.operations().len(), 1);
    let body = json!({ "serving": "fallback", "reason": "a test" }).to_string();
    let refused = registry
        .admin("PUT", PATH, Some(body.as_bytes()))
        .expect(409);
    assert!(refused.errors().contains("TERRACE_S3_FALLBACK_"));
    post(&registry, "/admin/v1/replication", &json!({})).expect(409);
    assert_eq!(
        registry.admin("GET", PATH, None).json()["configured"],
        false
    );
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
fn a_decision_for_the_main_bucket_holds_until_that_bucket_has_answered_again() {
    let two = Two::copied(&S3);
    let fault = two.break_r2();
    two.minutes(FAILOVER_PROBES);
    assert_eq!(two.state()["serving"], "fallback");
    two.switch("main").expect(200);
    two.minutes(4 * FAILOVER_PROBES);
    assert_eq!(two.state()["serving"], "main");
    two.mend_r2(&fault);
    two.minutes(1);
    let fault = two.break_r2();
    two.minutes(FAILOVER_PROBES - 1);
    assert_eq!(two.state()["serving"], "main");
    two.minutes(1);
    assert_eq!(two.state()["serving"], "fallback");
    two.mend_r2(&fault);
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
fn an_administrator_changes_to_a_bucket_without_copies_only_explicitly() {
    let two = Two::new(&S3);
    let refused = two.switch("fallback").expect(409);
    let errors = refused.errors();
    assert!(
        errors.contains("no comparison") && errors.contains("--force"),
        "{errors}"
    );
    assert_eq!(two.state()["serving"], "main");
    two.send(&json!({ "serving": "fallback", "reason": "a test", "force": true }))
        .expect(200);
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

#[test]
fn a_state_that_an_administrator_has_set_ends_by_an_administrator() {
    let two = Two::copied(&S3);
    two.switch("fallback").expect(200);
    two.minutes(2 * FAILBACK_PROBES);
    assert_eq!(two.state()["serving"], "fallback");
}

#[test]
fn a_change_during_an_outage_is_recorded_after_it() {
    let two = Two::copied(&S3);
    let fault = two.break_r2();
    let answer = two.switch("fallback").expect(200).json();
    assert_eq!(
        (&answer["serving"], &answer["recorded"]),
        (&json!("fallback"), &json!(false))
    );
    assert!(!two.memory.keys().contains(&"failover/serving".to_owned()));
    two.mend_r2(&fault);
    two.minutes(1);
    assert_eq!(two.state()["recorded"], true);
    assert!(two.memory.keys().contains(&"failover/serving".to_owned()));
    chain::entries(&two.memory);
    let log = two
        .registry
        .admin("GET", "/admin/v1/audit", None)
        .expect(200)
        .text();
    assert!(log.contains("PUT /admin/v1/failover"), "{log}");
    assert!(log.contains("R2 is down"), "{log}");
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
    let refused = ModuleFixture::of("acme", "1.1.0")
        .put(&two.registry)
        .expect(503);
    // A command that repeats the request must not wait for minutes.
    assert_eq!(refused.header("retry-after"), Some("2"));
    assert!(
        refused.errors().contains("nothing can be changed"),
        "{}",
        refused.errors()
    );
    let body = json!({ "archives": [two.key()], "reason": "a leaked key" });
    post(&two.registry, "/admin/v1/erasures", &body).expect(503);
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
fn an_erased_archive_is_removed_from_both_buckets() {
    let two = Two::copied(&S3);
    let answer = two.erase();
    assert_eq!(answer.get("left_in_fallback"), None);
    assert!(!two.memory.keys().contains(&two.key()));
    assert!(!two.memory.copies().contains_key(&two.key()));
    two.copy();
    assert_eq!(two.memory.copies().len(), 0);
}

#[test]
fn an_erasure_that_does_not_reach_the_second_bucket_states_that_and_the_copy_completes_it() {
    let two = Two::copied(&S3);
    two.memory.set_second_down(true);
    let answer = two.erase();
    let left = answer["left_in_fallback"].as_array().unwrap();
    assert!(left.contains(&json!(two.key())), "{answer}");
    assert!(!two.memory.keys().contains(&two.key()));
    two.memory.set_second_down(false);
    assert!(two.memory.copies().contains_key(&two.key()));
    two.copy();
    assert!(!two.memory.copies().contains_key(&two.key()));
}

#[test]
fn documentation_of_an_erased_version_is_removed_from_both_buckets_also_without_a_tombstone() {
    for is_down in [false, true] {
        let two = Two::new(&S3);
        let documentation = document_module(&two.memory, "acme/vpc/aws", "1.0.0");
        two.copy();
        assert!(two.memory.copies().contains_key(&documentation));
        two.memory.set_second_down(is_down);
        let answer = two.erase();
        let left = answer["left_in_fallback"].to_string();
        assert_eq!(left.contains(&documentation), is_down, "{answer}");
        assert!(!two.memory.keys().contains(&documentation));
        two.memory.set_second_down(false);
        two.memory.advance(COPY_SWEEP_SECONDS);
        two.copy();
        assert_eq!(two.memory.copies().len(), 0);
        let marks = two.memory.keys();
        let marks = marks.iter().filter(|key| key.ends_with(".docs"));
        assert_eq!(marks.count(), 0, "a later run removes its mark");
    }
}

#[test]
fn garbage_is_removed_from_both_buckets_or_from_none() {
    let two = Two::new(&S3);
    let orphan = ModuleFixture::of("acme", "9.0.0");
    orphan.upload(&two.registry);
    let key = key_of(&orphan);
    two.copy();
    assert!(two.memory.copies().contains_key(&key));
    post(
        &two.registry,
        "/admin/v1/garbage",
        &json!({ "mark": [key] }),
    )
    .expect(200);
    let marked_at = two.memory.now_ms() / 1_000;
    two.memory.advance(GARBAGE_SECONDS);
    let body = json!({ "remove": [{ "key": key, "marked_at": marked_at }] });
    two.memory.set_second_down(true);
    post(&two.registry, "/admin/v1/garbage", &body).expect(502);
    assert!(two.memory.keys().contains(&key));
    two.memory.set_second_down(false);
    let marks = two
        .memory
        .object_bytes(&key.replace("archives/", "garbage/"));
    let mark: Value = serde_json::from_slice(&marks).unwrap();
    two.memory.advance(GARBAGE_SECONDS);
    let body = json!({ "remove": [{ "key": key, "marked_at": mark["since"] }] });
    post(&two.registry, "/admin/v1/garbage", &body).expect(200);
    assert!(!two.memory.keys().contains(&key) && !two.memory.copies().contains_key(&key));
}

#[test]
fn a_replication_removes_nothing_and_waits_for_the_main_bucket() {
    let two = Two::copied(&S3);
    two.memory.set_second_down(true);
    two.erase();
    two.memory.set_second_down(false);
    let compare = |dry_run: bool| {
        let body = json!({ "dry_run": dry_run });
        post(&two.registry, "/admin/v1/replication", &body)
    };
    let before = two.memory.objects();
    let erased = |dry_run: bool| compare(dry_run).expect(200).json()["erased"].clone();
    assert_eq!(erased(false), json!([two.key()]));
    assert!(two.memory.objects() == before && two.memory.copies().len() == 1);
    two.switch("fallback").expect(200);
    compare(false).expect(503);
    assert_eq!(erased(true), json!([two.key()]));
    two.switch("main").expect(200);
    two.copy();
    assert_eq!(erased(false), json!([]));
    assert_eq!(two.memory.copies().len(), 0);
}

#[test]
fn a_url_from_before_the_change_is_redirected_unless_its_archive_was_erased() {
    let edge = [&S3[..], &[("TERRACE_DOWNLOADS", "edge")]].concat();
    for vars in [&[], &edge[..]] {
        let two = Two::copied(vars);
        let other = ModuleFixture::of("acme", "1.1.0");
        other.publish(&two.registry);
        two.copy();
        let path = |version: &str| {
            let path = format!("{}/{version}/download", two.fixture.path());
            let answer = two.registry.get(&path).expect(200).json();
            let url = answer["location"].as_str().unwrap();
            let url = url.split("&checksum=").next().unwrap();
            url.strip_prefix("https://registry.test")
                .unwrap()
                .to_owned()
        };
        let (erased, kept) = (path("1.0.0"), path("1.1.0"));
        two.memory.set_second_down(true);
        two.erase();
        two.memory.set_second_down(false);
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
    let listed = two.registry.admin("GET", path, None).expect(200).json();
    let archive = &listed["archives"][0];
    assert!(
        archive["url"]
            .as_str()
            .unwrap()
            .starts_with("https://registry.test/")
    );
    assert!(archive["copy_url"].as_str().unwrap().starts_with(COPIES));
    let listed = two.registry.admin("GET", "/admin/v1/archives", None).json();
    assert_eq!(listed["archives"][0].get("copy_url"), None);
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
            let sent = Sent::new(action.method.as_str(), &path);
            let sent = sent.header("authorization", &format!("Bearer {TOKEN}"));
            let answer = two.registry.send(&sent.body(b"")).expect(503);
            assert!(
                answer.text().contains("nothing can be changed"),
                "{path} {action:?}"
            );
            refused += 1;
        }
    }
    assert!(refused > 20, "{refused}");
    assert!(two.memory.objects() == before, "nothing was stored");
}

#[test]
fn no_answer_and_no_line_of_the_log_contains_a_secret_of_a_bucket() {
    let two = Two::copied(&S3);
    two.memory.set_second_down(true);
    two.memory.set_endpoint_fault(Some(EndpointFault::NoAnswer));
    two.minutes(10);
    two.switch("fallback").expect(502);
    let doctor = two.registry.admin("GET", "/admin/v1/doctor", None);
    let told = format!("{}\n{}", doctor.text(), two.memory.log().join("\n"));
    assert!(told.contains("the second bucket cannot"), "{told}");
    for secret in ["other secret", "X-Amz-Signature", "X-Amz-Credential"] {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
}

#[test]
fn an_object_that_only_the_second_bucket_has_stays_unless_it_was_erased() {
    let two = Two::copied(&S3);
    two.memory.remove_object(&two.key());
    two.copy();
    assert!(
        two.memory.copies().contains_key(&two.key()),
        "the main bucket has lost it"
    );
    let page = post(&two.registry, "/admin/v1/replication", &json!({}))
        .expect(200)
        .json();
    assert_eq!(page["surplus"], json!([two.key()]));
}

#[test]
fn the_steps_of_a_replication_name_every_missing_archive_once() {
    let two = Two::new(&S3);
    for patch in 0..120 {
        ModuleFixture::of("acme", &format!("2.0.{patch}")).publish(&two.registry);
    }
    let (mut after, mut missing, mut stored) = (None, Vec::new(), 0);
    loop {
        let body = after.map_or_else(|| json!({}), |after: Value| json!({ "after": after }));
        let page = post(&two.registry, "/admin/v1/replication", &body)
            .expect(200)
            .json();
        stored += page["stored"].as_u64().unwrap();
        for it in page["missing"].as_array().unwrap() {
            let upload = it["upload"]["url"].as_str().unwrap();
            assert!(upload.starts_with(COPIES), "{upload}");
            assert!(
                it["upload"]["headers"]
                    .get("x-amz-checksum-sha256")
                    .is_some()
            );
            missing.push(it["key"].as_str().unwrap().to_owned());
        }
        match page.get("next") {
            Some(next) => after = Some(next.clone()),
            None => break,
        }
    }
    assert_eq!((stored, missing.len()), (121, 121));
    missing.dedup();
    assert_eq!(missing.len(), 121);
    let body = json!({ "after": "facts/x" });
    post(&two.registry, "/admin/v1/replication", &body).expect(400);
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
        let body = body.to_string();
        two.registry
            .admin("PUT", PATH, Some(body.as_bytes()))
            .expect(status);
    }
    assert_eq!(two.state()["serving"], "main");
}

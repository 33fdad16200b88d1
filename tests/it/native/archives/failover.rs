//! The second bucket: its copies, downloads from it while R2 is down, and the return of the main bucket.

mod decisions;
mod downloads;
mod removals;
mod replication;
mod scheduled_copy;
mod settings;

use serde_json::{Value, json};

use super::{erase, key_of, whole};
use crate::support::ModuleFixture;
use crate::support::faults::{Failure, Fault, When};
use crate::support::memory::Memory;
use crate::support::memory::second_bucket::{EndpointFault, FALLBACK};
use crate::support::registry::{Registry, Response, S3};
use crate::support::tokens::post;

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
        let (memory, registry) = Registry::with_memory(&[vars, &FALLBACK].concat());
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
        erase(&self.registry, &whole(&[&self.key()])).found()
    }

    /// Erases it while the second bucket does not answer.
    pub(super) fn erase_while_down(&self) -> Value {
        self.memory.set_second_down(true);
        let answer = self.erase();
        self.memory.set_second_down(false);
        answer
    }

    pub(super) fn has_copy(&self, key: &str) -> bool {
        self.memory.copies().contains_key(key)
    }

    pub(super) fn copies(&self) -> Vec<String> {
        self.memory.copies().into_keys().collect()
    }

    /// Uploads an archive that becomes no part of a release. Returns its module, and its key.
    pub(super) fn orphan(&self) -> (ModuleFixture, String) {
        let orphan = ModuleFixture::of("acme", "9.0.0");
        orphan.upload(&self.registry);
        let key = key_of(&orphan);
        (orphan, key)
    }

    /// Marks an archive as garbage. Returns the request that removes it an hour later.
    pub(super) fn mark(&self, key: &str) -> Value {
        self.collect(&json!({ "mark": [key] })).expect(200);
        let marked_at = self.memory.now_ms() / 1_000;
        json!({ "remove": [{ "key": key, "marked_at": marked_at }] })
    }

    /// Sends a request about garbage.
    pub(super) fn collect(&self, body: &Value) -> Response {
        post(&self.registry, "/admin/v1/garbage", body)
    }

    /// Compares a page of the two buckets.
    pub(super) fn compare(&self, body: &Value) -> Response {
        post(&self.registry, "/admin/v1/replication", body)
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
        self.registry.put(PATH, body)
    }

    pub(super) fn state(&self) -> Value {
        self.registry.read_as_admin(PATH)
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
        let answer = self.registry.read(&self.fixture.download());
        answer["location"].as_str().unwrap().to_owned()
    }

    /// Installs the module as a client does.
    fn installs(&self) -> bool {
        self.registry.get(&self.fixture.versions()).expect(200);
        let location = self.location();
        let url = location.split("&checksum=").next().unwrap();
        let url = url.strip_prefix("https://registry.test").unwrap_or(url);
        let answer = self.registry.get(url);
        answer.status == 200 && answer.body == self.fixture.archive
    }
}

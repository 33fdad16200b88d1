//! Publishes broken at each of their storage operations, and other faults.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt as _;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use terrace_app::host::Clock as _;
use terrace_core::storage::index_document::IndexDocument;

use crate::support::chain;
use crate::support::faults::{Break, Failure, Operations, Trace, When, is_of_catalog};
use crate::support::fixtures::sha256;
use crate::support::memory::Memory;
use crate::support::registry::{S3, Sent};
use crate::support::released::{Answers, Released, answers};
use crate::support::{ModuleFixture, ProviderFixture, Registry, cases};

type Vars = &'static [(&'static str, &'static str)];

/// The two signers of archive URLs, the Worker and the bucket. The signer is also the one that is asked about
/// archives.
const MODES: [Vars; 2] = [&[], &S3];

/// An earlier release, if any, and the one that is published after it.
type Scene = (Option<Released>, Released);

fn scenes() -> Vec<Scene> {
    let Released::Mirrored(mirrored) = Released::mirrored("1.0.0") else {
        panic!("the release is mirrored");
    };
    let only = |arch| Released::Mirrored(mirrored.clone().only(arch));
    vec![
        (None, Released::provider("1.0.0")),
        (
            Some(Released::provider("1.0.0")),
            Released::provider("1.1.0"),
        ),
        (None, Released::module("1.0.0")),
        (Some(Released::module("1.0.0")), Released::module("1.1.0")),
        (
            Some(Released::mirrored_module("1.0.0")),
            Released::mirrored_module("1.1.0"),
        ),
        (None, Released::mirrored("1.0.0")),
        (
            Some(Released::mirrored("1.0.0")),
            Released::mirrored("1.1.0"),
        ),
        // A version that gains a platform.
        (Some(only("amd64")), only("arm64")),
    ]
}

/// A publish to break, with the state of the registry before and after it.
struct Publish {
    released: Released,
    vars: Vars,
    /// The storage before the publish.
    memory: Memory,
    /// The responses to all reads, before and after the publish.
    old: Answers,
    new: Answers,
    /// The objects after the publish.
    objects: BTreeMap<String, Vec<u8>>,
    /// All indices, and the keys of those that the publish writes. The keys do not include the index of a
    /// manifest from before its version gained a platform.
    indices: BTreeMap<String, IndexDocument>,
    written: BTreeSet<String>,
    trace: Trace,
}

impl Publish {
    fn new((earlier, released): Scene, vars: Vars) -> Self {
        let (memory, registry) = Registry::with_memory(vars);
        released.prepare(&registry);
        if let Some(earlier) = &earlier {
            assert_eq!(earlier.publish(&registry).now_or_never(), Some(201));
        }
        let after = memory.copy();
        let published = Registry::in_memory(&after, vars);
        let status = released.publish(&published).now_or_never();
        assert_eq!(status, Some(201));
        let operations = after.operations();
        published.merge_catalog();
        after.set_time(memory.now());
        let indices = after.documents();
        let mut paths = released.lists();
        paths.extend(released.everything(&published));
        if let Some(earlier) = &earlier {
            paths.extend(earlier.everything(&registry));
        }
        let paths: BTreeSet<String> = paths.into_iter().collect();
        let mut paths: Vec<String> = paths.into_iter().collect();
        let new = answers(&published, &paths);
        // A manifest from before its version gained a platform can be read as long as its index exists.
        after.lose_indices();
        paths.retain(|path| published.get(path).status == new[path].status);
        after.lose_indices();
        assert_eq!(released.publish(&published).now_or_never(), Some(200));
        let written = after.documents().into_keys().collect();
        Self {
            old: answers(&Registry::in_memory(&memory.copy(), vars), &paths),
            new: answers(&published, &paths),
            objects: after.lasting_objects(),
            written,
            indices,
            released,
            vars,
            memory,
            trace: Trace {
                operations,
                status: 201,
                publishes: true,
            },
        }
    }

    /// Returns the publishes of all scenes in both modes.
    fn all() -> Vec<Self> {
        let scenes = scenes().into_iter();
        let in_modes = |scene: Scene| MODES.map(|vars| Self::new(scene.clone(), vars));
        scenes.flat_map(in_modes).collect()
    }

    fn registry(&self, memory: &Memory) -> Registry {
        Registry::in_memory(memory, self.vars)
    }

    /// Publishes on `memory`, with the operation `at` broken. Returns the final status, or `None` if the
    /// caller is killed, and whether the operation was reached.
    fn broken(&self, memory: &Memory, at: usize, how: Break) -> (Option<u16>, bool) {
        let fault = memory.break_at(at, how);
        let status = self.released.publish(&self.registry(memory)).now_or_never();
        (status, fault.lift())
    }

    /// Asserts that every read returns its old or its new response: nothing is published partially, and
    /// nothing that existed is lost.
    fn assert_consistent(&self, memory: &Memory, what: &str) {
        chain::entries(memory);
        memory.set_time(self.memory.now());
        let paths: Vec<String> = self.new.keys().cloned().collect();
        let found = answers(&self.registry(memory), &paths);
        let is_new = |path: &String| found[path] == self.new[path];
        for path in &paths {
            let is_either = found[path] == self.old[path] || is_new(path);
            assert!(is_either, "{what}: {path} answers {:?}", found[path]);
        }
        // A version that gains platforms existed before, and each of its documents changes independently.
        if self.grows() {
            return;
        }
        let lists = self.released.lists();
        let (lists, others): (Vec<_>, Vec<_>) = paths.iter().partition(|it| lists.contains(it));
        let changed = |path: &&&String| self.old[**path] != self.new[**path];
        let others: Vec<bool> = others.iter().filter(changed).map(|it| is_new(it)).collect();
        let is_whole = !others.contains(&false);
        let is_absent = !others.contains(&true);
        assert!(is_absent || is_whole, "{what}: only some reads are new");
        let is_listed = lists.iter().filter(changed).any(|path| is_new(path));
        assert!(
            is_whole || !is_listed,
            "{what}: a list shows an incomplete version"
        );
    }

    fn grows(&self) -> bool {
        self.old[&self.released.downloads()[0]].status == 200
    }

    /// Asserts that a retry completes the publish, and leaves the same state as a publish without a fault.
    fn assert_retry_completes(&self, memory: &Memory, what: &str) {
        memory.set_time(self.memory.now());
        let status = self.released.publish(&self.registry(memory)).now_or_never();
        assert!(matches!(status, Some(200 | 201)), "{what}: {status:?}");
        let is_same = memory.lasting_objects() == self.objects;
        assert!(is_same, "{what}: other objects");
        self.assert_audited(memory, what);
        self.registry(memory).merge_catalog();
        let indices = memory.documents();
        let merged = "merged-catalog/1";
        assert!(indices.contains_key(merged), "{what}: {merged} is missing");
        for (key, document) in &indices {
            assert_eq!(Some(document), self.indices.get(key), "{what}: {key}");
        }
        for key in &self.written {
            assert!(indices.contains_key(key), "{what}: {key} is missing");
        }
        memory.set_time(self.memory.now());
        let paths: Vec<String> = self.new.keys().cloned().collect();
        let found = answers(&self.registry(memory), &paths);
        for path in &paths {
            assert_eq!(found[path], self.new[path], "{what}: {path}");
        }
    }

    /// Asserts that the audit log is valid and contains the publish.
    fn assert_audited(&self, memory: &Memory, what: &str) {
        let entries = chain::entries(memory);
        let request = self.released.request(&self.registry(memory));
        let told = format!("PUT {}", request.target);
        let is_told = entries.iter().any(|it| it.what == told);
        assert!(is_told, "{what}: {entries:?}");
    }

    /// Breaks the operation `at`, and checks the results.
    fn check_broken(&self, at: usize, how: Break) {
        let what = format!("{} ({at}), {how:?}", self.trace.operations[at]);
        let memory = self.memory.copy();
        let (status, is_broken) = self.broken(&memory, at, how);
        assert!(is_broken, "{what} was not reached");
        assert_eq!(status, self.trace.broken(at, how), "{what}");
        // These reads go to a copy, so they repair nothing.
        self.assert_consistent(&memory.copy(), &what);
        self.assert_retry_completes(&memory, &what);
    }
}

#[test]
fn a_publish_broken_at_each_operation_in_each_way_is_completed_by_a_retry() {
    for publish in Publish::all() {
        let operations = &publish.trace.operations;
        for (at, operation) in operations.iter().enumerate() {
            for how in Break::of(operation) {
                publish.check_broken(at, *how);
            }
        }
        // There is no operation after the last one.
        let unbroken = publish.broken(&publish.memory.copy(), operations.len(), Break::Before);
        assert_eq!(unbroken, (Some(201), false));
    }
}

/// Reads have more to do if an index is missing, and do some of it after the response.
#[test]
fn a_read_that_misses_its_index_broken_at_each_operation_is_correct_or_503() {
    for scene in scenes() {
        let publish = Publish::new(scene, MODES[0]);
        let whole = publish.memory.copy();
        publish.broken(&whole, usize::MAX, Break::Before);
        for (path, truth) in &publish.new {
            let missing = |at, how| {
                let memory = whole.copy();
                memory.lose_indices();
                memory.set_time(publish.memory.now());
                let fault = memory.break_at(at, how);
                let sent = Sent::new("GET", path);
                let answer = publish.registry(&memory).answer(&sent).now_or_never();
                (memory, answer, fault.lift())
            };
            let (memory, ..) = missing(usize::MAX, Break::Before);
            let operations = memory.operations();
            assert!(!operations.is_empty());
            for (at, operation) in operations.iter().enumerate() {
                for how in Break::of(operation) {
                    let what = format!("{path}: {operation} ({at}), {how:?}");
                    let (memory, answer, is_broken) = missing(at, *how);
                    assert!(is_broken, "{what} was not reached");
                    if let Some(answer) = answer {
                        let is_true = answer.status == truth.status && answer.text() == truth.body;
                        assert!(is_true || answer.status == 503, "{what}: {answer:?}");
                    }
                    let is_same = memory.lasting_objects() == publish.objects;
                    assert!(is_same, "{what}: other objects");
                    for (key, document) in memory.documents() {
                        assert_eq!(Some(&document), publish.indices.get(&key), "{what}");
                    }
                }
            }
        }
    }
}

/// A retry may be broken again, at the same operation or another, and so may concurrent reads.
#[test]
fn a_publish_broken_several_times_in_a_row_is_completed_by_a_retry() {
    let all = Publish::all();
    let blows = (
        any::<u16>(),
        select(Break::OF_WRITES.to_vec()),
        any::<bool>(),
    );
    let strategy = (0..all.len(), prop::collection::vec(blows, 2..5));
    let mut runner = TestRunner::new(Config {
        cases: cases(40, 300),
        failure_persistence: None,
        ..Config::default()
    });
    let test = |(number, blows): (usize, Vec<(u16, Break, bool)>)| {
        let publish: &Publish = &all[number];
        let memory = publish.memory.copy();
        for (at, how, loses_indices) in &blows {
            let at = usize::from(*at) % publish.trace.operations.len();
            memory.set_time(publish.memory.now());
            publish.broken(&memory, at, *how);
            publish.assert_consistent(&memory.copy(), &format!("{blows:?}"));
            if *loses_indices {
                memory.lose_indices();
                // These reads repair the indices, as far as they get.
                let fault = memory.break_at(at, *how);
                for path in publish.new.keys() {
                    let sent = Sent::new("GET", path);
                    publish.registry(&memory).answer(&sent).now_or_never();
                }
                fault.lift();
                publish.assert_consistent(&memory.copy(), &format!("{blows:?}, read"));
            }
        }
        publish.assert_retry_completes(&memory, &format!("{blows:?}"));
        Ok(())
    };
    runner.run(&strategy, test).unwrap();
}

#[test]
fn a_lost_or_corrupt_index_is_rebuilt_by_the_next_read() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ProviderFixture::of("acme", "widget", "1.0.0");
    fixture.publish(&registry);
    let whole = memory.indices();
    memory.lose_indices();
    let version = "providers/hosted/acme/widget/version/1.0.0";
    memory.put_index(version, "{ not what was written");
    registry.read(&format!("{}/versions", fixture.path()));
    for arch in ["amd64", "arm64"] {
        let path = format!("{}/1.0.0/download/linux/{arch}", fixture.path());
        registry.get(&path).expect(200);
    }
    // No read has needed the catalogue.
    let mut read = whole;
    read.retain(|key, _| !is_of_catalog(&format!("KV put {key}")));
    assert_eq!(memory.indices(), read);
    memory.assert_logged("is corrupt");
}

#[test]
fn a_fact_that_cannot_be_read_is_500_and_stays_unchanged() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.publish(&registry);
    memory.lose_indices();
    let key = "releases/modules/acme/vpc/aws/1.0.0";
    memory.put_object(key, b"{ rot");
    let response = registry.get(&fixture.download()).expect(500);
    assert_eq!(response.header("retry-after"), None);
    fixture.put(&registry).expect(500);
    assert_eq!(memory.object_bytes(key), b"{ rot");
}

#[test]
fn an_upload_damaged_on_its_way_to_storage_is_rejected_and_can_be_repeated() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ProviderFixture::of("acme", "widget", "1.0.0");
    fixture.add_key(&registry);
    fixture.upload(&registry);
    memory.damage_next_upload();
    let told = "the upload was damaged in transit: send the same request again";
    fixture.put(&registry).refuses(500, told);
    memory.assert_logged("was damaged during the upload to storage");
    fixture.put(&registry).expect(201);
}

#[test]
fn a_read_answers_even_when_the_index_cannot_be_written() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.publish(&registry);
    for path in [fixture.versions(), fixture.download()] {
        memory.lose_indices();
        memory.fail(Operations::Writes, 0, When::Before, Failure::Error);
        registry.get(&path).expect(200);
    }
}

#[test]
fn a_reader_does_not_wait_for_a_list_that_is_written_too_often() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.publish(&registry);
    memory.lose_indices();
    memory.fail("KV put", 0..100, When::Before, Failure::Busy);
    let before = memory.now();
    registry.get(&fixture.versions()).expect(200);
    assert_eq!(memory.now(), before);
}

#[test]
fn bytes_that_do_not_match_their_key_are_requested_again() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    let key = format!("archives/{}.zip", sha256(&fixture.archive));
    let other = b"other bytes, as a store without a digest check takes them";
    memory.put_object(&key, other);
    fixture.upload(&registry);
    fixture.put(&registry).expect(201);
}

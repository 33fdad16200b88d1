//! Two concurrent publishers, at the critical moments.

use std::cell::OnceCell;
use std::rc::Rc;

use terrace_app::host::Clock as _;

use crate::support::faults::{Failure, Fault, Operations, When};
use crate::support::fixtures::{Signer, zip_of};
use crate::support::memory::Memory;
use crate::support::released::Released;
use crate::support::schedule::Schedule;
use crate::support::statuses::{set_status, status_of};
use crate::support::versions::TwoVersions;
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry};

/// The start of the operations that list the releases of a module.
const LIST: &str = "R2 list releases/modules/acme/";

/// The start of the operations that look whether a module was changed.
const MARKER: &str = "R2 head changes/modules/acme/";

fn versions(registry: &Registry, fixture: &ModuleFixture) -> Vec<String> {
    let json = registry.read(&fixture.versions());
    let listed = json["modules"][0]["versions"].as_array().unwrap().iter();
    let listed = listed.map(|version| version["version"].as_str().unwrap().to_owned());
    listed.collect()
}

fn assert_both_listed(two: &TwoVersions) {
    assert_eq!(versions(&two.registry, &two.published), ["1.0.0", "1.1.0"]);
}

/// Runs `action` while a reader's list is being rebuilt, after its response: the first listing is that of the
/// response.
fn while_rebuilding(memory: &Memory, action: impl FnOnce() + 'static) -> Fault {
    memory.run(LIST, 1, When::After, action)
}

/// The other publisher commits, lists and writes its list between this one's listing and writing, so this one
/// replaces a newer list with an older one.
#[test]
fn a_version_committed_while_another_is_being_listed_is_not_lost() {
    let (memory, registry) = Registry::with_memory(&[]);
    let [ours, theirs] = ["1.0.0", "1.1.0"].map(|version| ModuleFixture::of("acme", version));
    ours.upload(&registry);
    theirs.upload(&registry);
    let other = Registry::in_memory(&memory, &[]);
    memory.run(LIST, 0, When::After, move || {
        theirs.put(&other).expect(201);
    });
    ours.put(&registry).expect(201);
    assert_eq!(versions(&registry, &ours), ["1.0.0", "1.1.0"]);
}

/// Publishes the second version while a reader rebuilds its list, and then breaks the reader's operation `at` among these.
/// Returns that fault as soon as it exists.
fn publish_and_fail(
    two: &TwoVersions,
    operations: impl Into<Operations> + 'static,
    at: usize,
    when: When,
) -> Rc<OnceCell<Fault>> {
    let added = Rc::new(OnceCell::new());
    let (other, memory, fault) = (two.other(), two.memory.clone(), Rc::clone(&added));
    while_rebuilding(&two.memory, move || {
        other();
        let failing = memory.fail(operations, at, when, Failure::Error);
        fault.set(failing).unwrap();
    });
    added
}

/// A reader's write takes effect, its result is lost, and another client has published meanwhile: the reader
/// has replaced a newer list and must detect it.
#[test]
fn a_reader_whose_write_seems_to_fail_does_not_unlist_a_version_published_meanwhile() {
    let two = TwoVersions::new();
    let fault = publish_and_fail(&two, Operations::Writes, 0, When::After);
    versions(&two.registry, &two.published);
    assert!(fault.get().unwrap().is_reached());
    assert_both_listed(&two);
}

#[test]
fn a_read_succeeds_although_its_list_cannot_be_corrected() {
    let two = TwoVersions::new();
    // The reader's first write succeeds; the write that would correct it fails.
    let fault = publish_and_fail(&two, Operations::Writes, 1, When::Before);
    versions(&two.registry, &two.published);
    assert!(fault.get().unwrap().is_reached());
}

/// The reader replaces a newer list with an older one, and storage fails when it looks whether it has, or when it begins the write
/// that would correct the list.
#[test]
fn a_reader_that_cannot_compare_or_correct_its_list_leaves_none() {
    for at in [0, 1] {
        let two = TwoVersions::new();
        let fault = publish_and_fail(&two, MARKER, at, When::Before);
        versions(&two.registry, &two.published);
        assert!(fault.get().unwrap().is_reached(), "{at}");
        assert_both_listed(&two);
    }
}

/// The version is revoked while a reader writes its indices, and storage fails when the reader looks for changes.
#[test]
fn a_reader_that_cannot_compare_the_indices_of_a_version_leaves_none() {
    let two = TwoVersions::new();
    let (registry, memory) = (Registry::in_memory(&two.memory, &[]), two.memory.clone());
    let failing = Rc::new(OnceCell::new());
    let fault = Rc::clone(&failing);
    let version = "KV put modules/acme/vpc/aws/version/";
    two.memory.before(version, move || {
        let path = status_of("modules/acme/vpc/aws/1.0.0");
        set_status(&registry, &path, "revoked").expect(200);
        let failure = memory.fail(MARKER, 0, When::Before, Failure::Error);
        fault.set(failure).unwrap();
    });
    let read = || two.registry.get(&two.published.download());
    read().expect(200);
    assert!(failing.get().unwrap().is_reached());
    read().expect(410);
}

#[test]
fn a_list_that_can_never_be_written_is_503_within_45_seconds() {
    let (memory, registry) = Registry::with_memory(&[]);
    let module = Released::module("1.0.0");
    module.prepare(&registry);
    module.store_archives(&memory);
    memory.fail("KV put", 0.., When::Before, Failure::Busy);
    let before = memory.now().0;
    // The indices of the version and the lists wait at the same time.
    let mut schedule = Schedule::new(0);
    schedule.stalls = (0, 0);
    let statuses = schedule.run(&memory, vec![Box::pin(module.publish(&registry))]);
    assert_eq!(statuses, [503]);
    assert!(memory.now().0 - before <= 45, "{}", memory.now().0 - before);
}

#[test]
fn a_reader_that_rebuilds_a_list_does_not_overwrite_a_newer_one() {
    let two = TwoVersions::new();
    let fault = while_rebuilding(&two.memory, two.other());
    versions(&two.registry, &two.published);
    assert!(fault.is_reached());
    assert_both_listed(&two);
}

/// The reader lists the releases before another client publishes; its first write replaces a newer list, and
/// its second is rejected, because that list has just been written.
#[test]
fn a_reader_that_writes_only_some_of_the_lists_checks_them_again() {
    let two = TwoVersions::new();
    let (other, busy) = (two.other(), two.memory.clone());
    let fault = while_rebuilding(&two.memory, move || {
        other();
        busy.fail("KV put", 1, When::Before, Failure::Busy);
    });
    versions(&two.registry, &two.published);
    assert!(fault.is_reached());
    assert_both_listed(&two);
}

#[test]
fn two_publishers_of_one_version_with_the_same_bytes_both_succeed() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.upload(&registry);
    let (other, same) = (Registry::in_memory(&memory, &[]), fixture.clone());
    let fault = memory.before(Operations::Commits, move || {
        same.put(&other).expect(201);
    });
    fixture.put(&registry).expect(200);
    assert!(fault.is_reached());
}

#[test]
fn one_of_two_publishers_of_one_version_with_other_bytes_wins() {
    let (memory, registry) = Registry::with_memory(&[]);
    let ours = ModuleFixture::of("acme", "1.0.0");
    let theirs = ours.clone().with_zip(zip_of(&[("main.tf", b"# theirs")]));
    ours.upload(&registry);
    theirs.upload(&registry);
    let (other, late) = (Registry::in_memory(&memory, &[]), theirs.clone());
    memory.before(Operations::Commits, move || {
        late.put(&other).expect(201);
    });
    ours.put(&registry).expect(409);
    theirs.put(&registry).expect(200);
}

#[test]
fn a_write_of_a_busy_list_is_retried_after_a_second() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.upload(&registry);
    memory.fail("KV put", 0..5, When::Before, Failure::Busy);
    fixture.put(&registry).expect(201);
    assert_eq!(versions(&registry, &fixture), ["1.0.0"]);
}

/// Two publishers, each of which adds a platform to a mirrored version that has neither.
struct Growers {
    memory: Memory,
    registry: Registry,
    fixture: MirrorFixture,
}

impl Growers {
    /// Publishes a version with one platform, and uploads the zips of two others.
    fn new(signed: bool) -> Self {
        let (memory, registry) = Registry::with_memory(&[]);
        let mut origin = ProviderFixture::new("1.0.0");
        let executable = ("terraform-provider-widget_v1.0.0", b"386".as_slice());
        origin.add_package("linux", "386", zip_of(&[executable]));
        origin.sign(Signer::usual());
        let mut fixture = MirrorFixture::of(origin);
        fixture.signed = signed;
        fixture.clone().only("386").publish(&registry);
        fixture.clone().only("amd64").upload(&registry);
        fixture.clone().only("arm64").upload(&registry);
        Self {
            memory,
            registry,
            fixture,
        }
    }

    /// Returns the other publisher's request, sent from another isolate.
    fn other(&self, fixture: MirrorFixture) -> impl FnOnce() + 'static {
        let registry = Registry::in_memory(&self.memory, &[]);
        move || {
            fixture.put(&registry).expect(201);
        }
    }
}

/// Asserts that the mirrored version has these platforms, by KV and rebuilt from R2.
#[track_caller]
fn assert_platforms(growers: &Growers, platforms: &[&str]) {
    for _ in 0..2 {
        let json = growers.registry.read(&growers.fixture.packages());
        let archives = json["archives"].as_object().unwrap();
        assert_eq!(archives.keys().collect::<Vec<_>>(), platforms);
        growers.memory.lose_indices();
    }
}

const ALL: [&str; 3] = ["linux_386", "linux_amd64", "linux_arm64"];

#[test]
fn two_platforms_added_concurrently_are_both_listed() {
    for signed in [true, false] {
        let growers = Growers::new(signed);
        let other = growers.other(growers.fixture.clone().only("arm64"));
        growers.memory.before(Operations::Commits, other);
        let ours = growers.fixture.clone().only("amd64");
        ours.put(&growers.registry).expect(201);
        assert_platforms(&growers, &ALL);
    }
}

/// The other publisher commits and writes the index after this one reads the release and before it writes the
/// index, so this one replaces a newer index and must detect it.
#[test]
fn a_platform_that_is_added_while_another_is_being_indexed_is_not_unlisted() {
    let growers = Growers::new(true);
    let theirs = growers.fixture.clone().only("arm64");
    growers.memory.before("KV put", growers.other(theirs));
    let ours = growers.fixture.clone().only("amd64");
    ours.put(&growers.registry).expect(201);
    assert_platforms(&growers, &ALL);
}

/// A publisher of an unsigned platform who loses the race against a signature must be rejected.
#[test]
fn an_unsigned_platform_added_concurrently_with_a_signature_is_409() {
    let growers = Growers::new(false);
    let mut theirs = growers.fixture.clone().only("arm64");
    theirs.signed = true;
    let other = growers.other(theirs);
    growers.memory.before(Operations::Commits, other);
    let ours = growers.fixture.clone().only("amd64").put(&growers.registry);
    ours.refuses(409, "terrace mirror add");
    assert_platforms(&growers, &["linux_386", "linux_arm64"]);
}

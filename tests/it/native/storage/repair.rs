//! Missing, wrong and leftover indices, and their repair.

use serde_json::{Value, json};
use terrace_base::time::UnixTime;
use terrace_core::limits;
use terrace_core::maintenance::repair::REPAIR_SECONDS;
use terrace_core::maintenance::repair::{CursorDocument, PeriodicWalk};

use crate::support::documented::document_module;
use crate::support::everything::{fill, publish_and_push};
use crate::support::faults::{Break, Failure, Operations, When};
use crate::support::fixtures::Signer;
use crate::support::memory::Memory;
use crate::support::registry::Registry;
use crate::support::reindexed::{reindex, reindex_with};
use crate::support::statuses::set_status;
use crate::support::tokens::post;
use crate::support::versions::TwoVersions;
use crate::support::{ModuleFixture, ProviderFixture};

const FEW: [(&str, &str); 1] = [("TERRACE_REPAIR_OPERATIONS", "40")];

/// Runs one step of a reindex.
fn step(registry: &Registry, body: &Value) -> Value {
    post(registry, "/admin/v1/reindex", body).found()
}

fn filled(vars: &[(&str, &str)]) -> (Memory, Registry) {
    let (memory, registry) = Registry::with_memory(vars);
    fill(&registry);
    (memory, registry)
}

#[test]
fn an_empty_namespace_gets_the_same_indices_byte_for_byte() {
    let (memory, registry) = filled(&[]);
    let published = memory.documents();
    let full = || reindex_with(&registry, json!({ "full": true }));
    let told = full();
    for name in &told.rewritten {
        assert!(name.starts_with("oci/links/"), "{name}");
    }
    assert_eq!(told.removed, [""; 0]);
    let whole = memory.documents();
    for (key, document) in &published {
        assert_eq!(whole.get(key), Some(document), "{key}");
    }
    // A blob's index is written by its first read; all other indices existed.
    let added = whole.keys().filter(|key| !published.contains_key(*key));
    for key in added {
        assert!(key.contains(":blob:"), "{key}");
    }
    memory.lose_indices();
    let told = reindex(&registry);
    assert_eq!(memory.documents(), whole);
    assert_eq!(told.failed, [""; 0]);
    assert_eq!(full().rewritten, [""; 0], "every index is correct");
}

#[test]
fn a_step_stays_within_its_budget_of_operations() {
    let (memory, registry) = filled(&FEW);
    memory.lose_indices();
    let mut after = String::new();
    loop {
        memory.forget_operations();
        let answer = step(&registry, &json!({ "after": after }));
        // A step completes the item that it has begun: a version of two platforms has ten indices.
        let count = memory.operations().len();
        assert!(count <= 40 + 20, "{count}: {:?}", memory.operations());
        match answer["next"].as_str() {
            Some(next) => next.clone_into(&mut after),
            None => break,
        }
    }
}

#[test]
fn a_full_reindex_writes_only_the_wrong_indices() {
    let (memory, registry) = filled(&[]);
    reindex(&registry);
    let whole = memory.documents();
    let list = "modules/acme/vpc/aws/versions";
    let version = "providers/hosted/acme/widget/version/1.0.0+b";
    memory.put_index(list, "{}");
    memory.lose_index(version);
    memory.put_index("oci/team/tools:tag:Latest", "{}");
    memory.put_index("revocations", "{}");
    let mut told = reindex_with(&registry, json!({ "full": true }));
    assert_eq!(memory.documents(), whole);
    told.rewritten.sort();
    let expected = [
        "modules/acme/vpc/aws/tags",
        "oci/tags/team/tools:Latest",
        "releases/providers/hosted/acme/widget/1.0.0+b",
        "revocations",
    ];
    assert_eq!(told.rewritten, expected);
}

/// The versions of one package are visited, because its list differs, and those of the other are not.
#[test]
fn only_the_versions_of_a_package_with_another_list_are_visited() {
    let (memory, registry) = filled(&[("TERRACE_REPAIR_OPERATIONS", "800")]);
    reindex(&registry);
    let whole = memory.documents();
    let damaged = "modules/acme/vpc/aws/version/1.0.0";
    let unseen = "providers/hosted/acme/widget/version/1.0.0+b";
    memory.lose_index(damaged);
    memory.lose_index(unseen);
    assert_eq!(reindex(&registry).rewritten, [""; 0]);
    memory.put_index("modules/acme/vpc/aws/versions", "{}");
    memory.forget_operations();
    let told = reindex(&registry);
    let wanted = [
        "releases/modules/acme/vpc/aws/1.0.0",
        "modules/acme/vpc/aws/tags",
    ];
    assert_eq!(told.rewritten, wanted, "the lists come last");
    let read = memory.count("R2 get releases/modules/acme/vpc/aws/");
    assert!(read >= 4, "every version of the module");
    assert_eq!(memory.count("R2 get releases/providers/hosted/"), 0);
    let mut repaired = memory.documents();
    assert_eq!(repaired.get(unseen), None);
    repaired.insert(unseen.to_owned(), whole[unseen].clone());
    assert_eq!(repaired, whole);
    reindex_with(&registry, json!({ "full": true }));
    assert_eq!(memory.documents(), whole);
}

/// The revocation broke off after its fact, and the publish of another version has written the lists since.
#[test]
fn a_stale_index_of_a_revoked_version_is_repaired_although_the_lists_are_current() {
    let revoked = "/admin/v1/providers/acme/widget/1.0.0/status";
    for key in ["version/1.0.0", "tag/1.0.0"] {
        let (memory, registry) = Registry::with_memory(&[]);
        ProviderFixture::of("acme", "widget", "1.0.0").publish(&registry);
        ProviderFixture::of("acme", "widget", "1.1.0").publish(&registry);
        let key = format!("providers/hosted/acme/widget/{key}");
        let stale = memory.index(&key);
        set_status(&registry, revoked, "revoked").expect(200);
        reindex(&registry);
        let whole = memory.documents();
        memory.restore_index(&key, stale);
        assert_ne!(memory.documents(), whole, "{key}");
        let rewritten = reindex(&registry).rewritten;
        assert_eq!(rewritten, ["releases/providers/hosted/acme/widget/1.0.0"]);
        assert_eq!(memory.documents(), whole, "{key}");
    }
}

/// The package takes several pages of a listing, and several steps. The first write of a step fails, so that the
/// last step of the package does not know of it.
#[test]
fn a_failed_version_keeps_the_lists_of_its_package_different_across_steps() {
    let (memory, registry) = Registry::with_memory(&FEW);
    for patch in 0..30 {
        ModuleFixture::of("acme", &format!("1.0.{patch}")).publish(&registry);
    }
    reindex(&registry);
    let whole = memory.documents();
    memory.lose_indices();
    let list = "modules/acme/vpc/aws/versions";
    let fault = memory.fail(Operations::Writes, 0, When::Before, Failure::Error);
    let told = reindex(&registry);
    assert!(fault.lift());
    assert_eq!(told.failed.len(), 1, "{told:?}");
    assert!(told.steps > 3, "{}", told.steps);
    assert_eq!(memory.documents().get(list), None);
    let rewritten = reindex(&registry).rewritten;
    assert_eq!(
        rewritten.len(),
        2,
        "the version, and the lists: {rewritten:?}"
    );
    assert_eq!(memory.documents(), whole);
}

/// A listing returns 1,000 names at most.
#[test]
fn a_package_with_more_releases_than_a_page_is_compared_whole() {
    let (memory, registry) = Registry::with_memory(&FEW);
    for namespace in ["aaa", "zzz"] {
        ModuleFixture::of(namespace, "1.0.0").publish(&registry);
    }
    ModuleFixture::of("acme", "9.0.0").publish(&registry);
    for patch in 0..2_500 {
        let key = format!("releases/modules/acme/vpc/aws/1.0.{patch}");
        memory.put_release(&key, &[("contents", "-")]);
    }
    // A read writes the lists.
    memory.lose_index("modules/acme/vpc/aws/versions");
    memory.lose_index("modules/acme/vpc/aws/tags");
    registry.read("/v1/modules/acme/vpc/aws/versions");
    // Only publishes and repairs write cards.
    reindex(&registry);
    memory.lose_index("modules/zzz/vpc/aws/version/1.0.0");
    memory.put_index("modules/zzz/vpc/aws/versions", "{}");
    let told = reindex(&registry);
    assert_eq!(told.failed, [""; 0]);
    let wanted = [
        "releases/modules/zzz/vpc/aws/1.0.0",
        "modules/zzz/vpc/aws/tags",
    ];
    assert_eq!(told.rewritten, wanted);
}

#[test]
fn an_index_without_a_fact_is_removed() {
    let (memory, registry) = filled(&[]);
    reindex(&registry);
    let whole = memory.documents();
    let digest = format!("sha256:{}", "0".repeat(64));
    let mut stale = [
        "modules/acme/gone/aws/tags",
        "modules/acme/gone/aws/versions",
        "modules/acme/vpc/aws/mirror",
        &format!("oci/team/tools:blob:{digest}"),
        "oci/team/tools:tag:gone",
        "oci/team/gone:tags",
        &format!("providers/hosted/acme/widget/sha256/{}", "0".repeat(64)),
        "providers/hosted/acme/widget/tag/9.0.0",
        "providers/hosted/acme/widget/version/9.0.0",
        "providers/registry.example.com/acme/gadget/version/9.0.0",
        "providers/registry.example.com/acme/gone/mirror",
    ];
    for key in stale {
        memory.put_index(key, "{}");
    }
    memory.put_index("somebody else's", "{}");
    memory.index_page(4);
    let mut removed = reindex(&registry).removed;
    removed.sort();
    stale.sort_unstable();
    assert_eq!(removed, stale);
    let mut left = memory.documents();
    assert!(left.remove("somebody else's").is_some());
    assert_eq!(left, whole);
}

#[test]
fn one_package_can_be_repaired_alone() {
    let (memory, registry) = filled(&[]);
    reindex(&registry);
    let whole = memory.documents();
    memory.lose_indices();
    memory.put_index("providers/hosted/acme/widget/version/9.0.0", "{}");
    let told = reindex_with(&registry, json!({ "package": "acme/widget" }));
    assert_eq!(told.removed, ["providers/hosted/acme/widget/version/9.0.0"]);
    let prefix = "providers/hosted/acme/widget/";
    let wanted = whole.into_iter().filter(|(key, _)| key.starts_with(prefix));
    assert_eq!(memory.documents(), wanted.collect());
    for address in ["acme/vpc/aws", "registry.example.com/acme/gadget"] {
        let told = reindex_with(&registry, json!({ "package": address }));
        assert_eq!(told.failed, [""; 0]);
        assert!(!told.rewritten.is_empty(), "{address}");
    }
    for body in [json!({ "package": "acme" }), json!({ "after": "x" })] {
        post(&registry, "/admin/v1/reindex", &body).expect(400);
    }
}

#[test]
fn a_document_that_cannot_be_read_does_not_stop_a_reindex() {
    let (memory, registry) = filled(&[]);
    reindex(&registry);
    let whole = memory.documents();
    let key = "releases/providers/hosted/acme/widget/1.0.0+b";
    let right = memory.object_bytes(key);
    memory.lose_indices();
    memory.put_object(key, b"{}");
    let told = reindex(&registry);
    assert!(told.failed.contains(&key.to_owned()), "{told:?}");
    memory.put_object(key, &right);
    let told = reindex(&registry);
    assert_eq!(told.failed, [""; 0]);
    assert_eq!(memory.documents(), whole);
}

#[test]
fn a_failed_write_is_reported_and_completed_by_the_next_reindex() {
    // In a single step, so that the write of its result comes last.
    let (memory, registry) = Registry::with_memory(&[("TERRACE_REPAIR_OPERATIONS", "800")]);
    publish_and_push(&registry);
    registry.merge_catalog();
    assert_eq!(reindex(&registry).steps, 1);
    let whole = memory.documents();
    for when in [When::Before, When::After] {
        for at in 0..whole.len() {
            memory.lose_indices();
            let fault = memory.fail(Operations::Writes, at, when, Failure::Error);
            let told = reindex(&registry);
            assert!(fault.lift(), "{at}");
            assert_eq!(told.failed.len(), 1, "{at} {told:?}");
            reindex(&registry);
            assert_eq!(memory.documents(), whole, "{at} {when:?}");
        }
    }
}

fn cursor(memory: &Memory) -> CursorDocument {
    serde_json::from_slice(&memory.object_bytes("repair/cursor")).unwrap()
}

/// Runs the cron until both of its walks have visited everything. Returns the number of runs.
fn run_repair_steps(memory: &Memory, registry: &Registry) -> u32 {
    let (mut facts, mut keys) = (false, false);
    for runs in 1..1_000 {
        let before: CursorDocument = serde_json::from_str(&cursor_text(memory)).unwrap();
        registry.run_repair_step();
        let cursor = cursor(memory);
        assert_eq!(cursor.begun, None, "{cursor:?}");
        match before.turn() {
            PeriodicWalk::Facts => facts |= cursor.next.is_empty(),
            PeriodicWalk::Keys => keys |= cursor.keys.next.is_empty(),
        }
        if facts && keys {
            return runs;
        }
    }
    panic!("the repair does not end");
}

#[test]
fn the_cron_continues_where_it_stopped_and_logs_each_step() {
    let (memory, registry) = filled(&FEW);
    reindex(&registry);
    let whole = memory.documents();
    memory.lose_indices();
    let runs = run_repair_steps(&memory, &registry);
    assert!(runs > 3, "{runs}");
    assert_eq!(memory.documents(), whole);
    let log = memory.log();
    let lines = log.iter().filter(|line| line.starts_with("repair: "));
    assert_eq!(lines.count(), usize::try_from(runs).unwrap(), "{log:?}");
    let end = "complete; the next walk starts again";
    assert!(log.last().unwrap().ends_with(end), "{log:?}");
    let again = memory.indices();
    run_repair_steps(&memory, &registry);
    assert_eq!(memory.indices(), again);
}

#[test]
fn one_of_two_concurrent_repair_steps_does_nothing() {
    let (memory, registry) = filled(&[]);
    let begun = now(&memory).0 - REPAIR_SECONDS + 1;
    let begun = json!({ "next": "", "begun": begun }).to_string();
    memory.put_object("repair/cursor", begun.as_bytes());
    memory.lose_indices();
    let assert_skipped = || {
        let log = memory.log();
        let last = log.last().unwrap();
        assert!(last.contains("another step is running"), "{log:?}");
    };
    registry.run_repair_step();
    assert!(memory.indices().is_empty());
    assert_skipped();
    // Another step claims the turn between the read and the write of the cursor.
    memory.remove_object("repair/cursor");
    let other = Registry::in_memory(&memory, &[]);
    memory.before(Operations::Commits, move || other.run_repair_step());
    registry.run_repair_step();
    assert_skipped();
    assert!(!memory.indices().is_empty());
}

#[test]
fn a_step_that_never_ended_is_skipped_by_the_next() {
    let (memory, registry) = filled(&[]);
    let begun = json!({ "next": "", "begun": now(&memory).0 - REPAIR_SECONDS }).to_string();
    memory.put_object("repair/cursor", begun.as_bytes());
    registry.run_repair_step();
    memory.assert_logged("the last step was interrupted");
    assert_eq!(cursor(&memory).begun, None);
    memory.put_object("repair/cursor", b"what nobody has written");
    registry.run_repair_step();
    registry.run_repair_step();
}

/// A package whose repair never ends, as on a plan that stops the Worker each time.
#[test]
fn interrupted_steps_skip_one_package_and_visit_all_others() {
    let (memory, registry) = Registry::with_memory(&[]);
    let namespaces: Vec<String> = (0..6).map(|n| format!("n{n}")).collect();
    for namespace in &namespaces {
        ModuleFixture::of(namespace, "1.0.0").publish(&registry);
    }
    memory.lose_indices();
    let stuck = "modules/n3/vpc/aws/";
    for _ in 0..60 {
        let before = cursor_text(&memory);
        let written = memory.documents();
        registry.run_repair_step();
        let has_reached = memory.documents().keys().any(|key| key.starts_with(stuck));
        if has_reached {
            // The step ended there, without any effect after that.
            let begun = now(&memory);
            let mut added = memory.documents();
            added.retain(|key, _| !written.contains_key(key));
            added.keys().for_each(|key| memory.lose_index(key));
            let mut cursor: CursorDocument = serde_json::from_str(&before).unwrap();
            cursor.begun = Some(begun);
            memory.put_object("repair/cursor", &serde_json::to_vec(&cursor).unwrap());
        }
        memory.advance(REPAIR_SECONDS);
    }
    for namespace in &namespaces {
        let list = format!("modules/{namespace}/vpc/aws/versions");
        let is_listed = memory.documents().contains_key(&list);
        assert_eq!(is_listed, namespace != "n3", "{namespace}");
    }
    memory.assert_logged("the next 30 visit one package each");
    memory.assert_logged("the next item is skipped");
}

/// After an interruption a step has a budget of nothing, and visits one item all the same.
#[test]
fn interrupted_steps_remove_abandoned_documentation_one_by_one() {
    let (memory, registry) = Registry::with_memory(&[]);
    for version in ["1.0.0", "1.1.0"] {
        document_module(&memory, "acme/vpc/aws", version);
    }
    document_module(&memory, "other/vpc/aws", "1.0.0");
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    memory.put_object("repair/cursor", br#"{"next":"docs/","begun":1}"#);
    // The documents were stored at 1,800,000,000 and are long given up.
    memory.advance(1_800_000_000 + 2 * limits::DOCUMENTATION_ABANDONED_SECONDS);
    for _ in 0..8 {
        registry.run_repair_step();
        memory.advance(REPAIR_SECONDS);
    }
    let left = memory.keys_with("docs/");
    assert_eq!(left, ["docs/modules/acme/vpc/aws/1.0.0"]);
}

/// The listings of a step are limited by its names, which take CPU.
#[test]
fn a_step_over_documentation_lists_a_limited_number_of_names() {
    let (memory, registry) = Registry::with_memory(&[]);
    for number in 0..1_200 {
        let (package, version) = (number / 100, number % 100);
        let address = format!("acme/m{package}/aws");
        let key = format!("modules/{address}/1.0.{version}");
        memory.put_release(&format!("docs/{key}"), &[("archive", &"0".repeat(64))]);
        memory.put_release(&format!("releases/{key}"), &[("contents", "0123456789")]);
    }
    let mut steps = 0;
    memory.put_object("repair/cursor", br#"{"next":"docs/"}"#);
    while cursor_text(&memory).contains("docs/") {
        memory.forget_operations();
        registry.run_repair_step();
        memory.advance(REPAIR_SECONDS);
        let lists = memory.count("R2 list ");
        assert!(lists <= 6, "{:?}", memory.operations());
        steps += 1;
    }
    // 1,200 documents and as many releases, some of them twice.
    assert!((6..=12).contains(&steps), "{steps}");
}

fn now(memory: &Memory) -> UnixTime {
    terrace_app::host::Clock::now(memory)
}

/// Returns the stored position; that of the beginning if there is none.
fn cursor_text(memory: &Memory) -> String {
    match memory.keys().iter().any(|key| key == "repair/cursor") {
        true => String::from_utf8(memory.object_bytes("repair/cursor")).unwrap(),
        false => r#"{"next":""}"#.to_owned(),
    }
}

#[test]
fn a_complete_walk_rests_before_the_next() {
    let (memory, registry) = filled(&[("TERRACE_REPAIR_OPERATIONS", "800")]);
    // The walk over the facts, and the walk over the keys.
    registry.run_repair_step_if_due();
    registry.run_repair_step_if_due();
    let ran = |memory: &Memory| {
        memory.forget_operations();
        registry.run_repair_step_if_due();
        memory.count("R2 put repair/cursor") > 0
    };
    assert!(!ran(&memory));
    let due = cursor(&memory).due.unwrap().0;
    assert!(due >= now(&memory).0 + 3_600, "{due}");
    memory.advance(due - now(&memory).0 - 1);
    assert!(!ran(&memory));
    memory.advance(1);
    assert!(ran(&memory));
}

#[test]
fn a_step_with_an_invalid_position_starts_from_the_beginning() {
    let (memory, registry) = filled(&[]);
    run_repair_steps(&memory, &registry);
    let whole = memory.documents();
    memory.lose_indices();
    memory.put_object("repair/cursor", br#"{"next":"nowhere"}"#);
    run_repair_steps(&memory, &registry);
    memory.assert_logged("the stored position \"nowhere\" is invalid");
    assert!(memory.documents() == whole);
}

#[test]
fn the_periodic_repair_can_be_switched_off() {
    let (memory, _) = filled(&[]);
    let registry = Registry::in_memory(&memory, &[("TERRACE_REPAIR_OPERATIONS", "0")]);
    memory.forget_operations();
    registry.run_repair_step();
    // The scheduled event also looks at the catalogue, and delivers to webhooks.
    assert_eq!(memory.operations().len(), 3, "{:?}", memory.operations());
    assert_eq!(memory.count("R2 get repair/"), 0);
    // A requested reindex still runs.
    memory.lose_indices();
    reindex(&registry);
    assert!(!memory.indices().is_empty());
}

/// A publisher commits between the listing and the writing of the walk.
#[test]
fn a_version_committed_during_a_repair_is_listed() {
    let two = TwoVersions::new();
    // The first listing finds the error; the second is for the new index.
    let list = "R2 list releases/modules/acme/";
    let fault = two.memory.run(list, 1, When::After, two.other());
    two.registry.run_repair_step();
    assert!(fault.is_reached());
    let list = &two.memory.indices()["modules/acme/vpc/aws/versions"];
    assert!(list.contains("1.1.0"), "{list}");
}

/// Returns a provider with all indices, and its next version, which has only its archives stored.
fn one_published_and_one_uploaded() -> (Memory, Registry, ProviderFixture) {
    let (memory, registry) = Registry::with_memory(&[("TERRACE_REPAIR_OPERATIONS", "800")]);
    ProviderFixture::of("acme", "widget", "1.0.0").publish(&registry);
    let second = ProviderFixture::of("acme", "widget", "1.1.0");
    second.upload(&registry);
    reindex(&registry);
    (memory, registry, second)
}

/// A publisher commits a version while the walk regards its index as stale.
#[test]
fn an_index_is_not_removed_if_its_fact_is_written_meanwhile() {
    let (memory, registry, second) = one_published_and_one_uploaded();
    let key = "providers/hosted/acme/widget/version/1.1.0";
    memory.put_index(key, "{}");
    let other = Registry::in_memory(&memory, &[]);
    let late = second.clone();
    // The walk over the packages lists all releases, and finds no error.
    let list = "R2 list releases/providers/hosted/acme/";
    let publish = move || drop(late.put(&other).expect(201));
    let fault = memory.run(list, 0, When::After, publish);
    reindex(&registry);
    assert!(fault.is_reached());
    let documents = memory.indices();
    assert!(documents[key].contains("sha256"), "{}", documents[key]);
}

/// The walk lists the releases for the first of a package's keys, and uses that listing for the others.
#[test]
fn an_index_is_not_removed_if_its_fact_is_written_after_the_listing() {
    let (memory, registry, second) = one_published_and_one_uploaded();
    memory.index_page(2);
    let other = Registry::in_memory(&memory, &[]);
    let again = memory.clone();
    // The first page of keys is that of the walk over indices.
    let fault = memory.run("KV list", 1, When::Before, move || {
        second.put(&other).expect(201);
        again.forget_operations();
    });
    let told = reindex(&registry);
    assert!(fault.is_reached());
    assert_eq!(told.removed, [""; 0]);
    let listings = memory.count("R2 list releases/providers/hosted/acme/widget/");
    assert_eq!(listings, 1, "the releases must be listed again");
}

#[test]
fn a_status_that_failed_before_its_indices_is_completed_by_a_reindex() {
    let version = "/admin/v1/providers/acme/widget/1.0.0+b/status";
    let pushed = "/admin/v1/mirror/registry.opentofu.org/acme/widget/1.2.0/status";
    let key = Signer::usual().key_id();
    let key = format!("/admin/v1/namespaces/acme/keys/{key}");
    for path in [version, pushed, &key] {
        for state in ["revoked", "active"] {
            let (memory, registry) = filled(&[]);
            if state == "active" {
                set_status(&registry, path, "revoked").expect(200);
            }
            reindex(&registry);
            let before = memory.documents();
            // Only the fact is written.
            memory.fail(Operations::Writes, 0, When::After, Failure::Error);
            set_status(&registry, path, state).expect(503);
            assert_eq!(memory.documents(), before, "{path}");
            reindex(&registry);
            let repaired = memory.documents();
            assert_ne!(repaired, before, "{path}");
            set_status(&registry, path, state).expect(200);
            assert_eq!(memory.documents(), repaired, "{path} {state}");
        }
    }
}

/// Another client revokes a version between the reading and the writing of the walk.
#[test]
fn a_version_revoked_during_a_repair_is_not_restored() {
    let (memory, registry) = Registry::with_memory(&[]);
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    memory.lose_indices();
    let other = Registry::in_memory(&memory, &[]);
    memory.before("KV put", move || {
        let path = "/admin/v1/modules/acme/vpc/aws/1.0.0/status";
        set_status(&other, path, "revoked").expect(200);
    });
    registry.run_repair_step();
    let list = &memory.indices()["modules/acme/vpc/aws/versions"];
    assert!(!list.contains("1.0.0"), "{list}");
    let download = "/v1/modules/acme/vpc/aws/1.0.0/download";
    registry.get(download).expect(410);
}

#[test]
fn a_step_stays_within_its_budget_when_a_whole_package_is_removed() {
    let (memory, registry) = Registry::with_memory(&FEW);
    for n in 0..1_500 {
        let key = format!("providers/hosted/acme/widget/version/1.{n}.0");
        memory.put_index(&key, "{}");
    }
    for _ in 0..2 {
        let before = memory.indices().len();
        memory.forget_operations();
        step(&registry, &json!({ "after": "indices  " }));
        let count = memory.operations().len();
        assert!(count <= 60, "{count}");
        assert!(memory.indices().len() < before, "a step makes progress");
    }
    // Every listed name, and every operation, exceeds the budget of a careful step.
    let mut cursor: CursorDocument = serde_json::from_str(r#"{"next":"","due":1}"#).unwrap();
    cursor.careful = 5;
    memory.put_object("repair/cursor", &serde_json::to_vec(&cursor).unwrap());
    let before = memory.indices().len();
    registry.run_repair_step();
    assert!(memory.indices().len() < before, "a step makes progress");
}

#[test]
fn an_object_that_cannot_be_removed_does_not_stop_the_cron() {
    let (memory, registry) = filled(&[]);
    let name = format!("incoming/{}.{}.zip", "0".repeat(64), "1".repeat(64));
    memory.put_object(&name, b"x");
    memory.advance(200_000);
    let told = || memory.log().join("\n");
    for _ in 0..40 {
        let fault = memory.fail("R2 delete incoming/", 0, When::Before, Failure::Error);
        registry.run_repair_step();
        fault.lift();
        if told().contains(&name) {
            break;
        }
    }
    assert!(told().contains(&name), "{}", told());
    assert!(memory.keys().contains(&name));
    let cursor = cursor_text(&memory);
    assert!(!cursor.contains("incoming/"), "{cursor}");
}

/// If any operation of a step fails, later steps make up for it.
#[test]
fn a_walk_that_fails_at_any_operation_ends_with_the_same_indices() {
    let (memory, _) = filled(&[]);
    // The index of revoked tokens depends on the time.
    let lasting = |memory: &Memory| {
        let mut documents = memory.documents();
        documents.remove("revocations");
        documents
    };
    let wanted = lasting(&memory);
    let keys: Vec<String> = memory.indices().into_keys().collect();
    for (at, key) in keys.iter().enumerate() {
        // Damage of single versions shows in no list.
        let is_list = key.ends_with("/versions") || key.ends_with("/mirror");
        if at % 3 == 0 || is_list {
            memory.put_index(key, "no index");
        }
    }
    memory.put_index("modules/acme/nothing/aws/versions", "{}");
    let vars = [("TERRACE_REPAIR_OPERATIONS", "800")];
    let whole = memory.copy();
    let registry = Registry::in_memory(&whole, &vars);
    assert_eq!(run_repair_steps(&whole, &registry), 2);
    let operations = whole.operations().len();
    let mut broken = 0;
    // Only every second operation is broken, in one way each, because all combinations take a minute.
    let ways = [Break::Before, Break::After, Break::Outage];
    for (at, how) in (0..operations).step_by(2).zip(ways.into_iter().cycle()) {
        let memory = memory.copy();
        let registry = Registry::in_memory(&memory, &vars);
        let fault = memory.break_at(at, how);
        registry.run_repair_step();
        registry.run_repair_step();
        broken += usize::from(fault.lift());
        // A step that could not record its end makes the next ones careful.
        for step in 0.. {
            memory.advance(3_600);
            registry.run_repair_step();
            let cursor = cursor(&memory);
            if cursor.careful == 0 && cursor.next.is_empty() && cursor.keys.next.is_empty() {
                break;
            }
            assert!(step < 80, "{at} {how:?}: {:?}", memory.log());
        }
        // The next round repairs the indices that failed.
        run_repair_steps(&memory, &registry);
        let is_repaired = lasting(&memory) == wanted;
        assert!(is_repaired, "{at} {how:?}: {:?}", memory.log());
    }
    println!("a walk: {operations} operations, broken in {broken} ways");
    assert!(broken >= operations / 2);
}

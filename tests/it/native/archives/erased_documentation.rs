//! The documentation of versions whose archives are erased: its text must not outlive theirs.

use serde_json::{Value, json};
use terrace_core::maintenance::audit::AuditEntry;

use super::{REASON, alone, erase, key_of, whole};
use crate::support::chain;
use crate::support::documentation::{Documentation, path_of};
use crate::support::faults::{Failure, Operations, When, is_write};
use crate::support::fixtures::{sha256, tar_gz_of};
use crate::support::memory::Memory;
use crate::support::registry::{Registry, Sent};
use crate::support::reindexed::reindex;
use crate::support::{ModuleFixture, ProviderFixture};

const SECRET: &str = "hunter2isthekey";

fn of_version(version: &str) -> String {
    path_of("modules", "acme/vpc/aws", version)
}

fn secret() -> Documentation {
    Documentation::of_module(SECRET)
}

/// Returns a registry with three versions of a module, each documented with the secret if `documents` contains it. The first
/// two have the same archive, which is returned.
fn published(documents: &[&str]) -> (Memory, Registry, String) {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.publish(&registry);
    let mut twin = ModuleFixture::of("acme", "1.1.0");
    twin.archive.clone_from(&fixture.archive);
    twin.publish(&registry);
    ModuleFixture::of("acme", "2.0.0").publish(&registry);
    for version in documents {
        secret().add(&registry, &of_version(version)).expect(201);
    }
    (memory, registry, key_of(&fixture))
}

/// Returns the names of everything in which the secret can be read.
fn readable(memory: &Memory) -> Vec<String> {
    let objects = memory.objects().into_iter();
    let contains = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(SECRET);
    let objects = objects.filter(|(key, bytes)| *key == secret().key() || contains(bytes));
    let indices = memory.documents().into_iter();
    let indices = indices.filter(|(_, index)| index.text.contains(SECRET));
    let objects = objects.map(|(key, _)| key);
    objects.chain(indices.map(|(key, _)| key)).collect()
}

fn documented(memory: &Memory) -> Vec<String> {
    let prefix = "docs/modules/acme/vpc/aws/";
    let keys = memory.keys_with(prefix).into_iter();
    keys.map(|key| key.replacen(prefix, "", 1)).collect()
}

/// Returns the keys of all documentation: documents and archives.
fn texts(memory: &Memory) -> Vec<String> {
    let mut keys = memory.keys();
    keys.retain(|key| key.ends_with(".docs") || key.starts_with("docs/"));
    keys
}

/// Erases in another isolate, and merges the catalogue. Returns the status.
fn run(memory: &Memory, body: &Value) -> u16 {
    let registry = Registry::in_memory(&memory.elsewhere(), &[]);
    let status = erase(&registry, body).status;
    registry.merge_catalog();
    status
}

/// Breaks each write of an erasure, repeats it as `retry`, and passes the memory to `check`.
fn break_each_write(memory: &Memory, body: &Value, retry: &Value, check: impl Fn(&Memory, &str)) {
    let unbroken = memory.copy();
    unbroken.forget_operations();
    assert_eq!(run(&unbroken, body), 200);
    let operations = unbroken.operations();
    let writes = operations.iter().filter(|it| is_write(it)).count();
    assert!(writes > 5, "{operations:?}");
    for at in 0..writes {
        for when in [When::Before, When::After] {
            let memory = memory.copy();
            let fault = memory.fail(Operations::Writes, at, when, Failure::Error);
            run(&memory, body);
            fault.lift();
            // The catalogue is merged at most once a minute.
            memory.advance(61);
            assert_eq!(run(&memory, retry), 200);
            check(&memory, &format!("{body}: write {at} {when:?}"));
        }
    }
}

#[test]
fn an_erased_archive_takes_the_documentation_of_its_versions_along() {
    let (memory, registry, archive) = published(&["1.0.0", "1.1.0"]);
    assert!(!readable(&memory).is_empty());
    let answer = erase(&registry, &alone(&[&archive])).found();
    assert_eq!(answer["erased"], json!([archive]));
    registry.merge_catalog();
    assert_eq!(readable(&memory), [""; 0]);
    assert_eq!(documented(&memory), [""; 0]);
    let page = registry.get("/modules/acme/vpc/aws/1.0.0").expect(200);
    assert!(!page.text().contains(SECRET));
    let entries = chain::entries(&memory);
    assert_eq!(entries.last().unwrap().erased(), [archive, secret().key()]);
    // The text is not added to these versions again. Another version may have it by right.
    secret().put(&registry, &of_version("2.0.0")).expect(202);
    secret().add(&registry, &of_version("2.0.0")).expect(201);
    secret()
        .put(&registry, &of_version("1.1.0"))
        .refuses(410, REASON);
    assert_eq!(documented(&memory), ["2.0.0"]);
}

#[test]
fn documentation_that_a_version_with_other_archives_has_stays_there() {
    let (memory, registry, archive) = published(&["1.0.0", "1.1.0", "2.0.0"]);
    let body = whole(&[&archive]);
    let answer = erase(&registry, &body).found();
    assert_eq!(answer["kept"], json!([secret().key()]));
    assert_eq!(documented(&memory), ["2.0.0"]);
    let page = registry.get("/modules/acme/vpc/aws/2.0.0").expect(200);
    assert!(page.text().contains(SECRET));
    for version in ["1.0.0", "1.1.0"] {
        let about = memory.index(&format!("modules/acme/vpc/aws/about/{version}"));
        assert!(!about.text.contains(SECRET), "{version}");
    }
    assert_eq!(erase(&registry, &body).found(), answer);
    // With its last version, it goes without a tombstone.
    let last = key_of(&ModuleFixture::of("acme", "2.0.0"));
    erase(&registry, &alone(&[&last])).expect(200);
    registry.merge_catalog();
    assert_eq!(readable(&memory), [""; 0]);
    ModuleFixture::of("acme", "3.0.0").publish(&registry);
    secret().add(&registry, &of_version("3.0.0")).expect(201);
}

#[test]
fn documentation_that_is_named_goes_from_every_version_and_never_returns() {
    let (memory, registry, _) = published(&["1.0.0", "2.0.0"]);
    let key = secret().key();
    erase(&registry, &alone(&[&key])).expect(200);
    registry.merge_catalog();
    assert_eq!(readable(&memory), [""; 0]);
    assert_eq!(documented(&memory), [""; 0]);
    secret().put(&registry, &of_version("2.0.0")).expect(410);
    Documentation::of_module("# VPC")
        .add(&registry, &of_version("1.0.0"))
        .expect(201);
}

#[test]
fn an_erased_package_of_a_provider_takes_the_documentation_of_its_version_along() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ProviderFixture::of("acme", "widget", "1.0.0");
    fixture.publish(&registry);
    let path = path_of("providers", "acme/widget", "1.0.0");
    Documentation::of_provider(&[("widget", SECRET)])
        .add(&registry, &path)
        .expect(201);
    let mut zips = memory.keys().into_iter().rev();
    let zip = zips.find(|key| key.ends_with(".zip")).unwrap();
    erase(&registry, &alone(&[&zip])).expect(200);
    assert_eq!(texts(&memory), [""; 0]);
}

#[test]
fn a_broken_erasure_of_documentation_is_completed_by_a_retry() {
    let docs = secret().key();
    for documents in [&["1.0.0"][..], &["1.0.0", "2.0.0"]] {
        let (memory, _, archive) = published(documents);
        for archives in [&[archive.as_str()][..], &[docs.as_str()]] {
            let body = alone(archives);
            let unbroken = memory.copy();
            assert_eq!(run(&unbroken, &body), 200);
            break_each_write(&memory, &body, &body, |memory, what| {
                assert_eq!(
                    readable(memory),
                    readable(&unbroken),
                    "{what} of {documents:?}"
                );
                assert_eq!(
                    documented(memory),
                    documented(&unbroken),
                    "{what} of {documents:?}"
                );
            });
        }
    }
}

#[test]
fn an_erasure_in_two_steps_leaves_no_documentation_wherever_one_of_them_breaks() {
    for other in [SECRET, "another text"] {
        // 1.1.0 has the same archive. So the first step keeps it, and the second one breaks 1.1.0.
        let (memory, registry, archive) = published(&["1.0.0"]);
        let other = Documentation::of_module(other);
        other.add(&registry, &of_version("1.1.0"));
        let (first, second) = (whole(&[]), whole(&[&archive]));
        let halfway = memory.copy();
        assert_eq!(run(&halfway, &first), 200);
        assert!(halfway.keys().contains(&archive));
        assert!(halfway.keys().contains(&other.key()));
        for (from, broken) in [(&memory, &first), (&halfway, &second)] {
            break_each_write(from, broken, &second, |memory, what| {
                assert_eq!(texts(memory), [""; 0], "{what}");
                assert_eq!(readable(memory), [""; 0], "{what}");
            });
        }
    }
}

#[test]
fn documentation_added_during_the_erasure_of_its_archive_does_not_stay() {
    for delay in 0..80 {
        let (memory, registry, archive) = published(&[]);
        secret().upload(&registry, &of_version("1.0.0"));
        let bearing = |method, path: &str, body: &Value| {
            let sent = Sent::new(method, path).bearing(registry.token());
            sent.body(body.to_string())
        };
        let requests = [
            bearing("POST", "/admin/v1/erasures", &alone(&[&archive])),
            bearing("PUT", &of_version("1.0.0"), &secret().description()),
        ];
        memory.interleave();
        let answers = registry.send_after(&requests, &[delay, 20]);
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses[0], 200, "{delay}");
        // 202: its bytes are gone, and are asked for again.
        assert!(
            matches!(statuses[1], 201 | 202 | 410),
            "{delay}: {statuses:?}"
        );
        assert_eq!(documented(&memory), [""; 0], "{delay}: {statuses:?}");
        let about = memory.index("modules/acme/vpc/aws/about/1.0.0");
        assert!(!about.text.contains(SECRET), "{delay}: {statuses:?}");
    }
}

/// Takes over the tombstones of an erasure, and nothing else of it.
fn copy_tombstones(from: &Memory, to: &Memory) {
    for key in from.keys_with("garbage/") {
        to.put_object(&key, &from.object_bytes(&key));
    }
}

#[test]
fn the_repair_removes_documentation_that_an_erasure_has_left() {
    let docs = secret().key();
    let all = &["1.0.0", "2.0.0"][..];
    for (named, documents) in [(true, all), (false, all), (false, &["1.0.0"])] {
        let (memory, registry, archive) = published(documents);
        let before = memory.copy();
        let archives = if named {
            docs.as_str()
        } else {
            archive.as_str()
        };
        erase(&registry, &alone(&[archives])).expect(200);
        copy_tombstones(&memory, &before);
        let registry = Registry::in_memory(&before, &[]);
        let removed = reindex(&registry).removed;
        let removed: Vec<&str> = removed
            .iter()
            .filter_map(|key| key.strip_prefix("docs/modules/acme/vpc/aws/"))
            .collect();
        let expected = if named {
            &["1.0.0", "2.0.0"][..]
        } else {
            &["1.0.0"]
        };
        assert_eq!(removed, expected);
        let about = before.index("modules/acme/vpc/aws/about/1.0.0");
        assert!(!about.text.contains(SECRET));
        assert_eq!(documented(&before), documented(&memory));
        let has_bytes = |memory: &Memory| memory.keys().contains(&docs);
        assert_eq!(has_bytes(&before), has_bytes(&memory), "{documents:?}");
        assert_eq!(has_bytes(&before), !named && documents == all);
        // The log names the bytes that no request has named, because copies follow it.
        let entries = chain::entries(&before);
        let entries = entries.iter().filter(|entry| entry.by == "repair");
        let by_repair: Vec<String> = entries.flat_map(AuditEntry::erased).collect();
        let expected = match named || documents == all {
            true => Vec::new(),
            false => vec![docs.clone()],
        };
        assert_eq!(by_repair, expected);
    }
}

#[test]
fn documentation_of_a_version_with_an_erased_archive_is_kept_out_of_an_import() {
    let (memory, registry, archive) = published(&["1.0.0", "2.0.0"]);
    let prefix = "/admin/v1/facts?prefix=docs/";
    let copied = registry.read_as_admin(prefix);
    erase(&registry, &alone(&[&archive])).expect(200);
    let body = json!({ "facts": copied["facts"] });
    let restored = registry.put("/admin/v1/facts", &body).found();
    let erased = &restored["erased"][0];
    assert_eq!(erased["key"], "docs/modules/acme/vpc/aws/1.0.0");
    let reason = erased["reason"].as_str().unwrap();
    assert!(reason.contains(REASON), "{reason}");
    assert_eq!(documented(&memory), ["2.0.0"]);
}

#[test]
fn the_repair_goes_on_after_a_damaged_release_with_documentation() {
    let (memory, registry, archive) = published(&["1.0.0"]);
    let damaged = ModuleFixture::of("aaa", "1.0.0");
    damaged.publish(&registry);
    secret()
        .add(&registry, &path_of("modules", &damaged.address, "1.0.0"))
        .expect(201);
    let before = memory.copy();
    erase(&registry, &alone(&[&archive])).expect(200);
    copy_tombstones(&memory, &before);
    before.put_object("releases/modules/aaa/vpc/aws/1.0.0", b"{");
    let repaired = reindex(&Registry::in_memory(&before, &[]));
    let failed = |key: &str| repaired.failed.iter().any(|failed| failed == key);
    assert!(failed("releases/modules/aaa/vpc/aws/1.0.0"), "{repaired:?}");
    let removed = repaired.removed.iter();
    let removed: Vec<&String> = removed.filter(|key| key.starts_with("docs/")).collect();
    assert_eq!(removed, ["docs/modules/acme/vpc/aws/1.0.0"]);
    assert_eq!(documented(&before), [""; 0]);
}

#[test]
fn documentation_of_more_versions_than_one_request_removes_is_removed_by_the_next() {
    let (memory, registry, archive) = published(&["1.0.0"]);
    let bytes = ModuleFixture::of("acme", "1.0.0").archive;
    // 1.1.0 has the same archive, and no documentation.
    let (mut versions, mut operations) = (1, 0);
    for patch in 1..40 {
        let version = format!("1.0.{patch}");
        let fixture = ModuleFixture::of("acme", &version).with_zip(bytes.clone());
        fixture.publish(&registry);
        secret().add(&registry, &of_version(&version)).expect(201);
        versions += 1;
    }
    let mut statuses = Vec::new();
    while statuses.last() != Some(&200) {
        memory.forget_operations();
        statuses.push(erase(&registry, &alone(&[&archive])).status);
        let made = memory.operations();
        operations = operations.max(made.len());
        let is_marker = |it: &&String| it.as_str() == "R2 put changes/modules/acme/vpc/aws";
        let markers = made.iter().filter(is_marker).count();
        assert_eq!(markers, 1, "{made:?}");
        let left = documented(&memory).len();
        assert!(left < versions, "{statuses:?}: {left}");
        versions = left;
    }
    assert_eq!(statuses, [503, 200]);
    assert!(operations < 700, "{operations}");
    registry.merge_catalog();
    assert_eq!(readable(&memory), [""; 0]);
    let entries = chain::entries(&memory);
    let [.., first, last] = entries.as_slice() else {
        panic!("{entries:?}");
    };
    assert_eq!((first.status, last.status), (503, 200));
    assert_eq!(first.erased(), std::slice::from_ref(&archive));
    assert_eq!(last.erased(), [archive, secret().key()]);
}

#[test]
fn the_erasure_of_a_tar_gz_reads_only_releases_that_may_have_it() {
    let (memory, registry) = Registry::with_memory(&[]);
    let packed = |namespace: &str| {
        let archive = tar_gz_of(&[("main.tf", namespace.as_bytes())]);
        let fixture = ModuleFixture::of(namespace, "1.0.0").with_tar_gz(archive);
        fixture.publish(&registry);
        secret()
            .add(&registry, &path_of("modules", &fixture.address, "1.0.0"))
            .expect(201);
        format!("archives/{}.tar.gz", sha256(&fixture.archive))
    };
    let erased = packed("acme");
    packed("beta");
    ModuleFixture::of("damaged", "1.0.0").publish(&registry);
    // It has lost its metadata as well, so only its document could tell.
    memory.put_object("releases/modules/damaged/vpc/aws/1.0.0", b"{");
    memory.forget_operations();
    erase(&registry, &alone(&[&erased])).expect(200);
    let operations = memory.operations();
    let reads = |key: &str| {
        let read = format!("R2 get releases/modules/{key}/vpc/aws/1.0.0");
        operations.contains(&read)
    };
    assert!(reads("acme"), "{operations:?}");
    assert!(!reads("beta"), "{operations:?}");
    let documents = memory.keys_with("docs/");
    assert_eq!(documents, ["docs/modules/beta/vpc/aws/1.0.0"]);
}

#[test]
fn documentation_that_is_refused_after_an_erasure_leaves_no_bytes() {
    let (memory, registry, archive) = published(&[]);
    secret().upload(&registry, &of_version("1.0.0"));
    erase(&registry, &alone(&[&archive])).expect(200);
    secret().put(&registry, &of_version("1.0.0")).expect(410);
    assert_eq!(readable(&memory), [""; 0]);
    assert_eq!(documented(&memory), [""; 0]);
}

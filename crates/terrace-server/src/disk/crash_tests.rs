//! Failures, kills and power cuts at every step of every operation, on a simulated disk.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use terrace_app::host::{Condition, Stored};
use terrace_archive::ArchiveFormat;
use terrace_core::storage::key::{ArchiveKey, ArchiveKind, BytesKey};

use super::layout::{NEW, path_of};
use super::simulated::{Fault, Simulated, root};
use super::streams::Receiving;
use super::tree::Placement;
use super::{Directory, Inner};
use crate::volume::{Volume as _, read_whole};

/// Returns the outcomes of a power cut that are tried at a step: each is a random one, and those of other steps differ.
fn cuts(step: u64) -> std::ops::Range<u64> {
    2 * step..2 * step + 2
}

/// The documents with their metadata, and the bytes, by key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Contents {
    documents: BTreeMap<String, (String, Vec<(String, String)>)>,
    bytes: BTreeMap<String, Vec<u8>>,
}

type Operation = fn(&Inner) -> io::Result<()>;

fn archive(bytes: &[u8]) -> BytesKey {
    ArchiveKey::of(bytes, ArchiveKind::Archive(ArchiveFormat::Zip)).into()
}

fn open(disk: &Simulated) -> io::Result<Directory> {
    let opened = Directory::open_on(Arc::new(disk.clone()), root(), None)?;
    Ok(opened.unwrap())
}

fn put(inner: &Inner, key: &str, text: &str, condition: &Condition) -> io::Result<bool> {
    // Metadata that do not follow from the document.
    let metadata = vec![("of".to_owned(), text.to_owned())];
    let written = inner.put_document(key, text, metadata, condition)?;
    Ok(written.is_some())
}

fn store(inner: &Inner, bytes: &[u8]) -> io::Result<()> {
    let key = archive(bytes);
    let mut receiving = Receiving::begin(&inner.tree, Some(key.digest()))?;
    for piece in bytes.chunks(3) {
        receiving.write(piece)?;
    }
    assert_eq!(inner.store_bytes(key, receiving)?, Stored::Yes);
    Ok(())
}

/// Returns everything that readers see. Lists and reads agree.
fn contents(inner: &Inner) -> Contents {
    let mut contents = Contents::default();
    let (documents, is_truncated) = inner.list_documents(("", None), 1_000).unwrap();
    assert!(!is_truncated);
    for listed in documents {
        let path = path_of(&listed.key).unwrap();
        let (file, _) = inner.tree.open_file(&path).unwrap().unwrap();
        let bytes = read_whole(&*file).unwrap();
        match path.starts_with("facts/") {
            true => {
                let fact = inner.document(&listed.key).unwrap().unwrap();
                assert_eq!((&fact.bytes, fact.etag), (&bytes, listed.record.etag));
                let text = String::from_utf8(bytes).unwrap();
                let entry = (text, listed.record.metadata);
                contents.documents.insert(listed.key, entry);
            }
            false => {
                contents.bytes.insert(listed.key, bytes);
            }
        }
    }
    contents
}

/// Breaks copies of a disk at each step in each way. `act` returns whether its step was reached. Returns how often it was.
fn at_each_step(disk: &Simulated, act: impl Fn(&Simulated, Fault, u64) -> bool) -> usize {
    let mut reached = 0;
    for fault in Fault::ALL {
        for step in 0.. {
            if !act(&disk.copy(), fault, step) {
                break;
            }
            reached += 1;
        }
    }
    reached
}

/// Returns a disk with some documents and bytes, whose last user has closed it.
fn filled() -> Simulated {
    let disk = Simulated::default();
    let directory = open(&disk).unwrap();
    let inner = &directory.0;
    assert!(put(inner, "keys/acme", "old", &Condition::Absent).unwrap());
    assert!(put(inner, "keys/other", "other", &Condition::Any).unwrap());
    store(inner, b"an archive").unwrap();
    directory.close().unwrap();
    drop(directory);
    disk.cut(0);
    disk
}

const OPERATIONS: [(&str, Operation); 8] = [
    ("create a document", |inner| {
        put(inner, "releases/a/b", "new", &Condition::Absent).map(drop)
    }),
    ("replace a document", |inner| {
        put(inner, "keys/acme", "new", &Condition::Any).map(drop)
    }),
    ("replace an unchanged document", |inner| {
        let there = inner.document("keys/acme")?.unwrap();
        put(inner, "keys/acme", "new", &Condition::Unchanged(there.etag)).map(drop)
    }),
    ("remove a document", |inner| {
        inner.remove_document("keys/acme")
    }),
    ("store bytes", |inner| store(inner, b"more bytes")),
    ("store the same bytes", |inner| store(inner, b"an archive")),
    ("remove bytes", |inner| {
        inner.tree.remove(&archive(b"an archive").to_string())
    }),
    ("store a chunk", |inner| {
        let mut receiving = Receiving::begin(&inner.tree, None)?;
        receiving.write(b"chunk")?;
        inner.tree.complete(&receiving.file)?;
        let path = "oci/uploads/7/0-1";
        let placed = inner.tree.place(receiving.file, path, Placement::Replace)?;
        assert!(placed);
        Ok(())
    }),
];

/// Returns the contents after an operation that nothing disturbs.
fn undisturbed(disk: &Simulated, operation: Operation) -> Contents {
    let disk = disk.copy();
    let directory = open(&disk).unwrap();
    operation(&directory.0).unwrap();
    contents(&directory.0)
}

/// Opens a disk after a kill or a cut. Nothing incomplete is left.
fn reopened(disk: &Simulated) -> (Directory, Contents) {
    let directory = open(disk).unwrap();
    assert_eq!(disk.entries(&root().join(NEW)).unwrap(), []);
    let contents = contents(&directory.0);
    (directory, contents)
}

#[test]
fn a_power_cut_at_any_step_loses_nothing_acknowledged_and_shows_nothing_partial() {
    let filled = filled();
    let before = {
        let disk = filled.copy();
        contents(&open(&disk).unwrap().0)
    };
    assert_eq!((before.documents.len(), before.bytes.len()), (2, 1));
    for (name, operation) in OPERATIONS {
        let after = undisturbed(&filled, operation);
        let reached = at_each_step(&filled, |disk, fault, step| {
            let directory = open(disk).unwrap();
            disk.break_at(step, fault);
            let result = operation(&directory.0);
            let is_reached = disk.is_reached();
            let what = format!("{name}, {fault:?} at {step}, {result:?}");
            for seed in cuts(step) {
                let disk = disk.copy();
                disk.cut(seed);
                let (_, now) = reopened(&disk);
                if result.is_ok() {
                    assert_eq!(now, after, "{what}, {seed}");
                } else {
                    assert!(now == before || now == after, "{what}, {seed}: {now:?}");
                }
            }
            is_reached
        });
        assert!(reached >= 2 * Fault::ALL.len(), "{name}: {reached} steps");
    }
}

#[test]
fn what_a_reader_sees_after_a_failure_survives_a_power_cut() {
    let filled = filled();
    for (name, operation) in OPERATIONS {
        let after = undisturbed(&filled, operation);
        at_each_step(&filled, |disk, fault, step| {
            let directory = open(disk).unwrap();
            disk.break_at(step, fault);
            let failed = operation(&directory.0).is_err();
            let is_reached = disk.is_reached();
            let is_killed = matches!(fault, Fault::KilledBefore | Fault::KilledAfter);
            let (directory, seen) = match is_reached && is_killed {
                true => {
                    disk.restart();
                    reopened(disk)
                }
                false => {
                    let seen = contents(&directory.0);
                    (directory, seen)
                }
            };
            let what = format!("{name}, {fault:?} at {step}, failed: {failed}");
            for seed in cuts(step) {
                let cut = disk.copy();
                cut.cut(seed);
                assert_eq!(reopened(&cut).1, seen, "{what}, {seed}");
            }
            disk.mend();
            // The same operation again completes it.
            operation(&directory.0).unwrap_or_else(|error| panic!("{what}: {error}"));
            disk.cut(1);
            assert_eq!(reopened(disk).1, after, "{what}");
            is_reached
        });
    }
}

#[test]
fn a_directory_opens_after_a_failure_at_any_step_of_opening_it() {
    for disk in [Simulated::default(), filled()] {
        let before = {
            let disk = disk.copy();
            contents(&open(&disk).unwrap().0)
        };
        at_each_step(&disk, |disk, fault, step| {
            disk.break_at(step, fault);
            drop(open(disk));
            let is_reached = disk.is_reached();
            for seed in cuts(step) {
                let disk = disk.copy();
                disk.cut(seed);
                assert_eq!(reopened(&disk).1, before, "{fault:?} at {step}, {seed}");
            }
            disk.restart();
            assert_eq!(reopened(disk).1, before, "{fault:?} at {step}");
            is_reached
        });
    }
}

#[test]
fn keys_that_differ_in_case_are_never_one_file() {
    let disk = Simulated::default();
    let directory = open(&disk).unwrap();
    for key in ["statuses/modules/Acme/vpc", "statuses/modules/acme/vpc"] {
        assert!(put(&directory.0, key, key, &Condition::Absent).unwrap());
    }
    assert_eq!(contents(&directory.0).documents.len(), 2);

    let disk = Simulated::folding_case();
    let directory = open(&disk).unwrap();
    let inner = &directory.0;
    let key = "statuses/modules/Acme/vpc";
    assert!(put(inner, key, "kept", &Condition::Absent).unwrap());
    for other in [
        "statuses/modules/acme/vpc",
        "statuses/modules/acme/x",
        "statuses/modules/Acme/VPC",
    ] {
        assert_eq!(inner.document(other).unwrap(), None);
        for condition in [Condition::Absent, Condition::Any] {
            let refused = put(inner, other, "lost", &condition).unwrap_err();
            assert!(
                refused.to_string().contains("upper from lower case"),
                "{refused}"
            );
        }
        inner.remove_document(other).unwrap();
    }
    assert!(put(inner, key, "kept", &Condition::Any).unwrap());
    let documents = contents(inner).documents;
    assert_eq!(documents.into_keys().collect::<Vec<_>>(), [key]);
}

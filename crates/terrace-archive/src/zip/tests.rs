use proptest::prelude::*;

use super::*;
use crate::inspect_zip;
use crate::testing::{DOS, TestEntry, TestZip, entry, zip};
use crate::{EntryKind, Method};

fn names(bytes: &[u8]) -> Vec<String> {
    inspect_zip(bytes)
        .unwrap()
        .into_iter()
        .map(|entry| entry.name)
        .collect()
}

fn refusal(bytes: &[u8]) -> ArchiveError {
    inspect_zip(bytes).unwrap_err()
}

fn only(entry: TestEntry) -> Entry {
    inspect_zip(&zip([entry]).bytes()).unwrap().remove(0)
}

#[test]
fn entries_are_listed_as_in_the_directory() {
    let bytes = zip([
        entry("terraform-provider-x", "#!"),
        entry("LICENSE", "free"),
    ])
    .bytes();
    assert_eq!(
        inspect_zip(&bytes),
        Ok(vec![
            Entry {
                unix_mode: Some(0o100_755),
                ..Entry::file("terraform-provider-x", 2)
            },
            Entry {
                unix_mode: Some(0o100_755),
                ..Entry::file("LICENSE", 4)
            },
        ])
    );
}

/// Returns a zip of one entry, with this change.
fn changed(change: impl Fn(&mut TestZip)) -> Vec<u8> {
    let mut zip = zip([entry("a", "1")]);
    change(&mut zip);
    zip.bytes()
}

fn with_entry(change: impl Fn(&mut TestEntry)) -> Vec<u8> {
    changed(|zip| zip.entries.iter_mut().for_each(&change))
}

/// Returns the extra field with a zip64 size.
fn zip64_size(size: u64) -> Vec<u8> {
    [&[1, 0, 8, 0][..], &size.to_le_bytes()].concat()
}

#[test]
fn zips_that_readers_understand_differently_or_that_exceed_a_limit_are_refused() {
    let inner = zip([entry("seen-by-others", "1")]).bytes();
    let two = |declared| {
        let mut two = zip([entry("a", "1"), entry("b", "2")]);
        two.declared_entries = Some(declared);
        two.bytes()
    };
    let mut second = entry("b", "22");
    second.offset = Some(0);
    let commented = changed(|it| it.comment = b"comment".to_vec());
    for (bytes, error) in [
        (Vec::new(), "ZipNoEndRecord"),
        (b"PK".to_vec(), "ZipNoEndRecord"),
        (b"PK\x05\x06".to_vec(), "ZipNoEndRecord"),
        (vec![0; 22], "ZipNoEndRecord"),
        (vec![b'P'; 70_000], "ZipNoEndRecord"),
        (zip([]).bytes(), "Empty"),
        (changed(|it| it.trailer = vec![0; 3]), "ZipTrailing(3)"),
        (
            commented[..commented.len() - 1].to_vec(),
            "ZipCommentCut { declared: 7, present: 6 }",
        ),
        // Go uses the end record nearest the end. It must also be valid by itself, and here it is not.
        (
            changed(|it| it.comment = inner[inner.len() - END_BYTES..].to_vec()),
            "ZipDirectoryMisplaced",
        ),
        (
            changed(|it| it.comment.clone_from(&inner)),
            "ZipDirectoryMisplaced",
        ),
        // Prepended bytes, whether or not the offsets include them.
        (
            changed(|it| it.prefix = b"#!/bin/sh\n".to_vec()),
            "ZipPrepended(10)",
        ),
        (
            [&b"#!/bin/sh\n"[..], &changed(|_| {})].concat(),
            "ZipDirectoryMisplaced",
        ),
        (
            changed(|it| it.gap = b"gap".to_vec()),
            "ZipDirectoryMisplaced",
        ),
        (changed(|it| it.disk = 1), "ZipSplit"),
        (with_entry(|it| it.disk = 2), "ZipSplit"),
        (
            changed(|it| (it.zip64, it.locator_offset) = (true, Some(0))),
            "Zip64(",
        ),
        (two(1), "ZipDirectoryMalformed("),
        (two(3), "ZipDirectoryMalformed("),
        (
            changed(|it| it.declared_entries = Some(20_001)),
            "TooManyEntries",
        ),
        (
            changed(|it| it.declared_size = Some(limits::DIRECTORY_BYTES as u32 + 1)),
            "ZipDirectoryTooLarge(8388609)",
        ),
        (zip([entry("a", "1"), second]).bytes(), "ZipOverlap("),
        // It reaches into the directory; its end overflows.
        (with_entry(|it| it.compressed = 2), "ZipOverlap(\"a\")"),
        (
            with_entry(|it| {
                (it.compressed, it.extra) = (u32::MAX, zip64_size(u64::MAX));
            }),
            "ZipOverlap(\"a\")",
        ),
        (
            with_entry(|it| it.name = b"caf\xe9.tf".to_vec()),
            "NameNotUtf8(\"caf\u{fffd}.tf\")",
        ),
        (
            with_entry(|it| it.name = vec![b'n'; limits::NAME_BYTES + 1]),
            "NameTooLong(",
        ),
        (
            with_entry(|it| {
                (it.method, it.uncompressed) = (8, u32::MAX);
                it.extra = zip64_size(limits::UNCOMPRESSED_BYTES + 1);
            }),
            "UncompressedTooLarge",
        ),
    ] {
        let refusal = format!("{:?}", refusal(&bytes));
        assert!(refusal.starts_with(error), "{refusal} instead of {error}");
    }
    let longest = with_entry(|it| it.name = vec![b'n'; limits::NAME_BYTES]);
    assert_eq!(names(&longest).len(), 1);
}

#[test]
fn a_small_zip_takes_one_read() {
    let bytes = zip([entry("a", "1")]).bytes();
    for inspect in [ZipInspector::new, ZipInspector::with_contents] {
        let mut inspector = inspect(bytes.len() as u64);
        assert_eq!(
            inspector.next(),
            Step::Read {
                offset: 0,
                len: bytes.len() as u64
            }
        );
        inspector.feed(&bytes).unwrap();
        assert_eq!(inspector.next(), Step::Done);
    }
}

#[test]
fn a_directory_outside_the_tail_takes_exactly_one_more_read() {
    let many =
        zip((0..2_000).map(|number| entry(&format!("modules/of/some/length/{number:05}.tf"), "")));
    let bytes = many.bytes();
    let mut inspector = ZipInspector::new(bytes.len() as u64);
    let tail = bytes.len() - limits::ZIP_TAIL_BYTES as usize;
    assert_eq!(
        inspector.next(),
        Step::Read {
            offset: tail as u64,
            len: limits::ZIP_TAIL_BYTES
        }
    );
    inspector.feed(&bytes[tail..]).unwrap();
    let Step::Read { offset, len } = inspector.next() else {
        panic!("no second read")
    };
    assert_eq!(offset + len, bytes.len() as u64 - END_BYTES as u64);
    inspector
        .feed(&bytes[offset as usize..][..len as usize])
        .unwrap();
    assert_eq!(inspector.finish().unwrap().len(), 2_000);
}

#[test]
fn a_read_of_another_length_fails_permanently() {
    let bytes = zip([entry("a", "1")]).bytes();
    let mut inspector = ZipInspector::new(bytes.len() as u64);
    let error = ArchiveError::WrongRead {
        asked: bytes.len() as u64,
        got: 3,
    };
    assert_eq!(inspector.feed(&bytes[..3]), Err(error.clone()));
    assert_eq!(inspector.next(), Step::Done);
    assert_eq!(inspector.finish(), Err(error));
    let unread = ZipInspector::new(100).finish();
    assert_eq!(unread, Err(ArchiveError::Unfinished));
}

#[test]
fn what_real_writers_add_is_skipped() {
    // Data descriptors and alignment create gaps.
    let mut gap = entry("a", "1descriptor");
    (gap.compressed, gap.uncompressed) = (1, 1);
    let mut large = zip([gap, entry("b", "2")]);
    large.zip64 = true;
    for (bytes, expected) in [
        (large.bytes(), &["a", "b"][..]),
        (
            with_entry(|it| it.extra = vec![0x55, 0x54, 9, 0, 1]),
            &["a"],
        ),
        (changed(|it| it.comment = vec![b'x'; 65_535]), &["a"]),
    ] {
        assert_eq!(names(&bytes), expected);
    }
}

#[test]
fn zip64_records_are_accepted_beside_an_end_record_that_needs_none() {
    let mut both = zip([entry("a", "1")]);
    let (size, offset) = (47, 32);
    (both.zip64, both.declared_entries) = (true, Some(1));
    (both.declared_size, both.declared_offset) = (Some(size), Some(offset));
    assert_eq!(names(&both.bytes()), ["a"]);
    both.declared_size = Some(size - 1);
    assert!(matches!(refusal(&both.bytes()), ArchiveError::Zip64(_)));
}

#[test]
fn zip64_sizes_and_offsets_of_an_entry_are_read() {
    let mut large = entry("a", "12345");
    (large.compressed, large.uncompressed, large.offset) = (u32::MAX, u32::MAX, Some(u32::MAX));
    large.disk = u16::MAX;
    large.extra = [
        &[1, 0, 28, 0][..],
        &5u64.to_le_bytes(),
        &5u64.to_le_bytes(),
        &0u64.to_le_bytes(),
        &[0; 4],
    ]
    .concat();
    let read = only(large.clone());
    assert_eq!((read.compressed, read.uncompressed), (5, 5));

    large.extra.clear();
    assert_eq!(
        refusal(&zip([large]).bytes()),
        ArchiveError::ZipDirectoryMalformed(1)
    );
}

#[test]
fn kinds_are_those_that_go_reports() {
    for (name, made_by, attributes, kind) in [
        ("a", UNIX_3, 0o100_644 << 16, EntryKind::File),
        ("a", UNIX_3, 0o000_644 << 16, EntryKind::File),
        ("a", MACOS, 0o120_777 << 16, EntryKind::Symlink),
        ("a", UNIX_3, 0o040_755 << 16, EntryKind::Directory),
        ("a", UNIX_3, 0o020_644 << 16, EntryKind::Other),
        ("a", UNIX_3, 0o010_644 << 16, EntryKind::Other),
        ("a/", UNIX_3, 0o100_644 << 16, EntryKind::Directory),
        ("a", DOS, 0x20, EntryKind::File),
        ("a", DOS, 0x10, EntryKind::Directory),
        ("a/", DOS, 0, EntryKind::Directory),
        ("a", 5 << 8, 0x10, EntryKind::File),
    ] {
        let mut odd = entry(name, "");
        (odd.made_by, odd.attributes) = (made_by, attributes);
        assert_eq!(only(odd).kind, kind, "{name} {made_by} {attributes:o}");
    }
}

#[test]
fn modes_are_those_that_clients_unpack_with() {
    for (name, made_by, attributes, mode) in [
        ("a", UNIX_3, 0o100_644 << 16, Some(0o100_644)),
        ("a", UNIX_3, 0, Some(0)),
        ("a", MACOS, 0o100_600 << 16, Some(0o100_600)),
        ("a", DOS, 0, None),
        ("a", 11 << 8, 0, None),
        ("a", 14 << 8, 0o100_000 << 16, None),
        // Go does not know these systems, so their files get no permissions at all.
        ("a", 1 << 8, 0o100_644 << 16, Some(0)),
        ("a", 10 << 8, 0, Some(0)),
        // go-getter gives the directories of a zip mode 0755.
        ("a/", UNIX_3, 0o040_000 << 16, None),
        ("a", UNIX_3, 0o040_000 << 16, None),
        ("a/", 1 << 8, 0, None),
    ] {
        let mut odd = entry(name, "");
        (odd.made_by, odd.attributes) = (made_by, attributes);
        assert_eq!(only(odd).unix_mode, mode, "{name} {made_by} {attributes:o}");
    }
}

const UNIX_3: u16 = 3 << 8;
const MACOS: u16 = 19 << 8;

#[test]
fn methods_and_encryption_are_reported() {
    for (method, told) in [
        (0, Method::Stored),
        (8, Method::Deflate),
        (93, Method::Unsupported(93)),
    ] {
        let mut compressed = entry("a", "1");
        compressed.method = method;
        assert_eq!(only(compressed).method, told);
    }
    for (flags, told) in [
        (0, false),
        (1, true),
        (0x40, true),
        (0x2000, true),
        (0x0808, false),
    ] {
        let mut encrypted = entry("a", "1");
        encrypted.flags = flags;
        assert_eq!(only(encrypted).encrypted, told, "{flags:x}");
    }
}

#[test]
fn a_bomb_is_refused_and_a_small_repetitive_archive_is_not() {
    let mut repetitive = entry("zeros", &"z".repeat(10_000));
    (repetitive.method, repetitive.uncompressed) = (8, limits::RATIO_FREE_BYTES as u32);
    assert_eq!(names(&zip([repetitive.clone()]).bytes()), ["zeros"]);
    repetitive.uncompressed += 1;
    assert!(matches!(
        refusal(&zip([repetitive]).bytes()),
        ArchiveError::Bomb { .. }
    ));
}

fn some_zip() -> Vec<u8> {
    let mut zip = zip([entry("a", "1"), entry("dir/", ""), entry("dir/b", "22")]);
    zip.comment = b"a comment".to_vec();
    zip.bytes()
}

fn some_zip64() -> Vec<u8> {
    let mut zip = zip([entry("a", "1"), entry("b", "22")]);
    zip.zip64 = true;
    zip.entries[1].uncompressed = u32::MAX;
    zip.entries[1].extra = [&[1, 0, 8, 0][..], &2u64.to_le_bytes()].concat();
    zip.bytes()
}

proptest! {
    #[test]
    fn no_change_to_a_zip_panics_or_gives_an_empty_list(
        zip64: bool,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let mut bytes = if zip64 { some_zip64() } else { some_zip() };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(entries) = inspect_zip(&bytes) {
            let compressed: u64 = entries.iter().map(|entry| entry.compressed).sum();
            prop_assert!(!entries.is_empty() && compressed < bytes.len() as u64);
        }
    }

    #[test]
    fn every_read_lies_inside_the_archive(size: u64, tail in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut inspector = ZipInspector::new(size);
        while let Step::Read { offset, len } = inspector.next() {
            prop_assert!(len > 0 && offset.checked_add(len).is_some_and(|end| end <= size));
            prop_assert!(len <= limits::DIRECTORY_BYTES);
            let mut bytes = vec![0; len as usize];
            for (target, byte) in bytes.iter_mut().rev().zip(&tail) {
                *target = *byte;
            }
            let _ = inspector.feed(&bytes);
        }
    }
}

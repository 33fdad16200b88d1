use proptest::prelude::*;

use super::*;
use crate::testing::{Fixed, TestTar, crc, gzip, pax};
use crate::{EntryKind, inspect_tar_gz};

fn names(bytes: &[u8]) -> Vec<String> {
    inspect_tar_gz(bytes)
        .unwrap()
        .into_iter()
        .map(|entry| entry.name)
        .collect()
}

fn refusal(bytes: &[u8]) -> ArchiveError {
    inspect_tar_gz(bytes).unwrap_err()
}

fn tar() -> TestTar {
    TestTar::default()
}

fn fed_by(size: usize, bytes: &[u8]) -> Result<Vec<Entry>, ArchiveError> {
    let mut inspector = TarGzInspector::default();
    bytes
        .chunks(size)
        .try_for_each(|chunk| inspector.feed(chunk))?;
    inspector.finish()
}

fn sample() -> Vec<u8> {
    let long = format!("{}\0", "n".repeat(200));
    let extended = [pax("path", "päx"), pax("mtime", "1.5")].concat();
    tar()
        .add("global", b'g', &pax("comment", "0123456789abcdef"))
        .add("dir/", b'5', b"")
        .file("dir/main.tf", "locals {}")
        .add("././@LongLink", b'L', long.as_bytes())
        .file("cut", &"content".repeat(200))
        .add("PaxHeader", b'x', &extended)
        .file("short", "12")
        .link("link", b'2', "dir/main.tf")
        .gz()
}

#[test]
fn entries_are_listed_as_go_reads_them() {
    let entries = inspect_tar_gz(&sample()).unwrap();
    let told: Vec<_> = entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.kind, entry.uncompressed))
        .collect();
    let long = "n".repeat(200);
    assert_eq!(
        told,
        [
            ("dir/", EntryKind::Directory, 0),
            ("dir/main.tf", EntryKind::File, 9),
            (long.as_str(), EntryKind::File, 1_400),
            ("päx", EntryKind::File, 2),
            ("link", EntryKind::Symlink, 0),
        ]
    );
    assert_eq!(entries[4].link_target.as_deref(), Some("dir/main.tf"));
}

/// Returns an archive of one file, with this text at an offset of its header.
fn with_field(at: usize, text: &[u8]) -> Vec<u8> {
    let set = |block: &mut [u8; 512]| block[at..at + text.len()].copy_from_slice(text);
    tar().add_changed("a", b'0', b"", set).gz()
}

#[test]
fn archives_that_go_refuses_or_that_exceed_a_limit_are_refused() {
    let sample = sample();
    let followed = |trailer: &[u8]| [&sample[..], trailer].concat();
    let flipped = |at: usize| {
        let mut bytes = sample.clone();
        bytes[at] ^= 1;
        bytes
    };
    let corrupt = [&sample[..10], &[0xff], &sample[11..]].concat();
    let two = [tar().file("a", "1").ended(), tar().file("b", "2").ended()].concat();
    let mut damaged = tar().file("a", "1").file("b", "2").ended();
    damaged[1024] = b'c';
    let number = |field| format!("TarNumber {{ after: 0, field: \"{field}\" }}");
    let (mode, user, size) = (number("mode"), number("user id"), number("size"));
    let (time, device) = (number("time"), number("device number"));
    let beyond = [0x80, 0, 0, 0, 0x7f, 255, 255, 255, 255, 255, 255, 255];
    let meta = vec![b'n'; limits::TAR_META_BYTES as usize + 1];
    let too_large = format!("TarMetaTooLarge({})", meta.len());
    let long = "n".repeat(limits::NAME_BYTES + 1);
    let zeros = "\0".repeat(limits::RATIO_FREE_BYTES as usize + 1);
    let many = tar().add("a", b'0', b"").0.repeat(limits::ENTRIES + 1);
    let sparse = tar().add("x", b'x', &pax("GNU.sparse.major", "1"));
    let with_end = |end: &[u8], last: u8| {
        let mut bytes = [&tar().file("a", "1").0, end].concat();
        *bytes.last_mut().unwrap() |= last;
        gzip(&bytes)
    };
    let gnu_prefix = |block: &mut [u8; 512]| {
        block[257..265].copy_from_slice(b"ustar  \0");
        block[345..355].copy_from_slice(b"../../etc\0");
    };
    let refused = [
        (followed(b"garbage"), "GzipTrailing"),
        (followed(b"\0"), "GzipTrailing"),
        (followed(b"\x1f\x8c"), "GzipTrailing"),
        (b"PK\x03\x04".to_vec(), "GzipHeader"),
        (b"\x1f\x8b\x07".to_vec(), "GzipHeader"),
        (b"<html>".to_vec(), "GzipHeader"),
        (Vec::new(), "Truncated"),
        (corrupt, "GzipCorrupt"),
        (gzip(&two), "TarTrailing"),
        (tar().gz(), "Empty"),
        (gzip(&damaged), "TarChecksum(1)"),
        (tar().add("a", b'S', b"").gz(), "TarSparse(\"a\")"),
        (sparse.file("a", "1").gz(), "TarSparse(\"a\")"),
        (with_field(100, b"bad!"), &*mode),
        (with_field(108, b"9"), &*user),
        (with_field(124, b"-1"), &*size),
        (with_field(124, b"\x7f"), &*size),
        (with_field(124, &[0xff; 12]), &*size),
        (with_field(136, b"0x1"), &*time),
        (with_field(329, b"abc"), &*device),
        (with_field(124, &beyond), "Truncated"),
        // Before they are buffered.
        (tar().add("m", b'x', &meta).gz(), &*too_large),
        (tar().add("m", b'g', &meta).gz(), &*too_large),
        (tar().add("m", b'L', &meta).gz(), &*too_large),
        (tar().add("m", b'K', &meta).gz(), &*too_large),
        (
            tar().file("a", "1").add("L", b'L', b"b\0").gz(),
            "Truncated",
        ),
        (
            tar().add("x", b'x', b"9 path=ab\n").file("a", "").gz(),
            "TarPax(0)",
        ),
        (
            tar().file("a", "").add("g", b'g', b"nonsense").gz(),
            "TarPax(1)",
        ),
        (
            tar().add("L", b'L', long.as_bytes()).file("a", "").gz(),
            "NameTooLong(",
        ),
        (with_field(0, b"\xe9"), "NameNotUtf8(\"\u{fffd}\")"),
        (gzip(&many), "TooManyEntries"),
        (with_end(&[0; 1024 + 8192], 1), "TarTrailing"),
        (with_end(&[], 0), "Truncated"),
        (with_end(&[0; 1023], 0), "Truncated"),
        (
            tar().add_changed("a", b'0', b"", gnu_prefix).gz(),
            "TarNumber { after: 0, field: \"access or change time\" }",
        ),
        (tar().file("zeros", &zeros).gz(), "Bomb {"),
    ];
    let checksums = sample.len() - 8..sample.len();
    let checksums = checksums.map(|at| (flipped(at), "GzipChecksum"));
    for (bytes, error) in checksums.chain(refused) {
        let refusal = format!("{:?}", refusal(&bytes));
        assert!(refusal.starts_with(error), "{refusal} instead of {error}");
    }
}

#[test]
fn pieces_of_any_size_give_the_same_list() {
    let bytes = sample();
    let whole = inspect_tar_gz(&bytes);
    for size in [1, 2, 3, 7, 100, 511, 512, 513] {
        assert_eq!(fed_by(size, &bytes), whole, "{size}");
    }
}

#[test]
fn every_truncation_is_detected() {
    let bytes = sample();
    for end in 0..bytes.len() {
        let error = refusal(&bytes[..end]);
        assert_eq!(error, ArchiveError::Truncated, "{end} of {}", bytes.len());
    }
}

#[test]
fn names_are_read_as_go_reads_them() {
    let two = tar().file("a", "1").file("b", "2").ended();
    let (first, second) = two.split_at(700);
    let mut padded = tar().file("a", "1").ended();
    padded.resize(10_240, 0);
    let half = [tar().file("a", "1").0, vec![0; 512]].concat();
    let mut signed = tar().add("\u{e9}", b'0', b"").ended();
    let is_sum = |at: &usize| (148..156).contains(at);
    let bytes = signed[..512].iter().enumerate();
    let bytes = bytes.map(|(at, byte)| if is_sum(&at) { b' ' } else { *byte });
    let sum: i32 = bytes.map(|byte| i32::from(byte as i8)).sum();
    signed[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let prefixed = |block: &mut [u8; 512]| block[345..348].copy_from_slice(b"a/b");
    let of_gnu = |block: &mut [u8; 512]| {
        block[257..265].copy_from_slice(b"ustar  \0");
        block[345..357].copy_from_slice(b"00000000001\0");
    };
    let sized = |block: &mut [u8; 512]| block[124..136].copy_from_slice(b"00000001000\0");
    let empty = |block: &mut [u8; 512]| block[124..136].copy_from_slice(b"00000000000\0");
    let pax_path = |path| pax("path", path);
    for (case, bytes, expected) in [
        (
            "several members of gzip",
            [gzip(first), gzip(b""), gzip(second)].concat(),
            "a b",
        ),
        ("zeros after the end marker", gzip(&padded), "a"),
        ("half an end marker", gzip(&half), "a"),
        ("a checksum of signed bytes", gzip(&signed), "\u{e9}"),
        (
            "the prefix of ustar",
            tar().add_changed("main.tf", b'0', b"", prefixed).gz(),
            "a/b/main.tf",
        ),
        (
            "times of GNU in place of the prefix",
            tar().add_changed("main.tf", b'0', b"", of_gnu).gz(),
            "main.tf",
        ),
        (
            "a long name of GNU and a path of pax",
            tar()
                .add("L", b'L', b"long\0")
                .add("x", b'x', &pax_path("pax"))
                .file("short", "1")
                .file("next", "2")
                .gz(),
            "long next",
        ),
        (
            "extension headers before a global one",
            tar()
                .add("x", b'x', &pax_path("forgotten"))
                .add("g", b'g', &pax_path("global"))
                .file("real", "1")
                .gz(),
            "real",
        ),
        (
            "the size of pax",
            tar()
                .add("x", b'x', &pax("size", "600"))
                .add_changed("a", b'0', &[b'c'; 600], empty)
                .file("b", "2")
                .gz(),
            "a b",
        ),
        (
            "directories and links with a size",
            tar()
                .add_changed("dir/", b'5', b"", sized)
                .add_changed("old/", 0, b"", sized)
                .add_changed("hard", b'1', b"", sized)
                .file("a", "1")
                .gz(),
            "dir/ old/ hard a",
        ),
        (
            "a small repetitive archive",
            tar().file("zeros", &"\0".repeat(4_000_000)).gz(),
            "zeros",
        ),
    ] {
        assert_eq!(names(&bytes).join(" "), expected, "{case}");
    }
}

/// Returns `sample` with these bytes in place of the ten bytes of its gzip header.
fn with_gzip_header(header: &[u8]) -> Vec<u8> {
    [header, &sample()[10..]].concat()
}

#[test]
fn the_optional_parts_of_the_gzip_header_are_skipped_and_limited_as_in_go() {
    let mut every = b"\x1f\x8b\x08\x1e\0\0\0\0\0\x03\x02\0abname\0comment\0".to_vec();
    every.extend(&crc(&every).to_le_bytes()[..2]);
    let mut wrong = every.clone();
    *wrong.last_mut().unwrap() ^= 1;
    let empty_extra = b"\x1f\x8b\x08\x04\0\0\0\0\0\x03\0\0".to_vec();
    let named = |length| {
        let name = format!("{}\0", "n".repeat(length));
        [&b"\x1f\x8b\x08\x08\0\0\0\0\0\x03"[..], name.as_bytes()].concat()
    };
    for accepted in [every, empty_extra, named(511)] {
        assert_eq!(names(&with_gzip_header(&accepted)).len(), 5);
    }
    let refused = refusal(&with_gzip_header(&wrong));
    assert_eq!(refused, ArchiveError::GzipHeader);
    inspect_tar_gz(&with_gzip_header(&named(512))).unwrap_err();
}

#[test]
fn gzip_data_that_refer_to_bytes_before_their_start_are_refused() {
    // An inflater that takes the missing bytes for zeros would find the end marker in the second member.
    let (start, end) = (tar().file("a", "1").0, [0; 1024]);
    let mut data = Fixed::new();
    for length in [[258; 3].as_slice(), &[10; 25]].concat() {
        data = data.copy(length, 1);
    }
    let mut member = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec();
    member.extend(data.ended());
    member.extend(crc(&end).to_le_bytes());
    member.extend(1024u32.to_le_bytes());
    assert_eq!(names(&[gzip(&start), gzip(&end)].concat()), ["a"]);
    let refused = refusal(&[gzip(&start), member].concat());
    assert_eq!(refused, ArchiveError::GzipCorrupt);
}

#[test]
fn kinds_depend_on_type_and_mode() {
    for (name, type_flag, mode, kind) in [
        ("a", b'0', "0000644", EntryKind::File),
        ("a", b'0', "0100644", EntryKind::File),
        ("a", b'0', "0040755", EntryKind::Other),
        ("a", 0, "0000644", EntryKind::File),
        ("a/", 0, "0000644", EntryKind::Directory),
        ("a", b'7', "0000644", EntryKind::File),
        ("a", b'1', "0000644", EntryKind::HardLink),
        ("a", b'2', "0120777", EntryKind::Symlink),
        ("a", b'3', "0000644", EntryKind::Other),
        ("a", b'4', "0000644", EntryKind::Other),
        ("a", b'5', "0040755", EntryKind::Directory),
        ("a", b'6', "0000644", EntryKind::Other),
        ("a", b'V', "0000644", EntryKind::Other),
    ] {
        let set = |block: &mut [u8; 512]| {
            block[100..107].copy_from_slice(mode.as_bytes());
            block[157] = b't';
        };
        let entries = inspect_tar_gz(&tar().add_changed(name, type_flag, b"", set).gz()).unwrap();
        assert_eq!(entries[0].kind, kind, "{name} {} {mode}", type_flag as char);
    }
}

#[test]
fn a_large_bomb_is_refused_before_its_end() {
    let mut inspector = TarGzInspector::default();
    let zeros = gzip(&vec![0; 16 * 1024 * 1024]);
    let header = tar()
        .add_changed("zeros", b'0', b"", |block| {
            block[124..136].copy_from_slice(b"77777777777\0")
        })
        .0;
    inspector.feed(&gzip(&header)).unwrap();
    let error = (0..64).find_map(|_| inspector.feed(&zeros).err()).unwrap();
    assert!(matches!(error, ArchiveError::Bomb { .. }), "{error}");
    assert_eq!(inspector.feed(b"").unwrap_err(), error);
    assert_eq!(inspector.finish().unwrap_err(), error);
}

proptest! {
    #[test]
    fn no_change_to_a_tar_panics(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        at_header: bool,
        size in 1usize..2_000,
    ) {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&sample()[..]), &mut bytes).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if at_header {
                mend_checksum(&mut bytes, at);
            }
        }
        let bytes = gzip(&bytes);
        prop_assert_eq!(fed_by(size, &bytes), inspect_tar_gz(&bytes));
    }

}

fn mend_checksum(tar: &mut [u8], at: usize) {
    let block = &mut tar[at / 512 * 512..][..512];
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

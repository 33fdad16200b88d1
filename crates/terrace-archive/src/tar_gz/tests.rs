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
    let mut inspector = TarGzInspector::new();
    bytes
        .chunks(size)
        .try_for_each(|chunk| inspector.feed(chunk))?;
    inspector.finish()
}

fn sample() -> Vec<u8> {
    tar()
        .add(
            "pax_global_header",
            b'g',
            &pax("comment", "0123456789abcdef"),
        )
        .add("dir/", b'5', b"")
        .file("dir/main.tf", "locals {}")
        .add(
            "././@LongLink",
            b'L',
            format!("{}\0", "n".repeat(200)).as_bytes(),
        )
        .file("cut", &"content".repeat(200))
        .add(
            "PaxHeader",
            b'x',
            &[pax("path", "päx"), pax("mtime", "1.5")].concat(),
        )
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
fn several_gzip_members_are_one_archive() {
    let tar = tar().file("a", "1").file("b", "2").ended();
    let (first, second) = tar.split_at(700);
    assert_eq!(
        names(&[gzip(first), gzip(b""), gzip(second)].concat()),
        ["a", "b"]
    );
}

/// Returns `sample` with these bytes in place of the ten bytes of its gzip header.
fn with_gzip_header(header: &[u8]) -> Vec<u8> {
    [header, &sample()[10..]].concat()
}

#[test]
fn every_optional_part_of_the_gzip_header_is_skipped() {
    let mut header = b"\x1f\x8b\x08\x1e\0\0\0\0\0\x03\x02\0ab\0".to_vec();
    header[14] = b'n';
    header.extend(b"ame\0comment\0");
    let mut crc = flate2::Crc::new();
    crc.update(&header);
    header.extend(&crc.sum().to_le_bytes()[..2]);
    assert_eq!(names(&with_gzip_header(&header)).len(), 5);
    *header.last_mut().unwrap() ^= 1;
    assert_eq!(
        refusal(&with_gzip_header(&header)),
        ArchiveError::GzipHeader
    );
}

#[test]
fn an_empty_extra_field_of_the_gzip_header_is_skipped() {
    assert_eq!(
        names(&with_gzip_header(b"\x1f\x8b\x08\x04\0\0\0\0\0\x03\0\0")).len(),
        5
    );
}

#[test]
fn a_name_in_the_gzip_header_is_limited_as_in_go() {
    for (length, fits) in [(511, true), (512, false)] {
        let header = [
            &b"\x1f\x8b\x08\x08\0\0\0\0\0\x03"[..],
            "n".repeat(length).as_bytes(),
            b"\0",
        ]
        .concat();
        assert_eq!(
            inspect_tar_gz(&with_gzip_header(&header)).is_ok(),
            fits,
            "{length}"
        );
    }
}

#[test]
fn gzip_data_that_refer_to_bytes_before_their_start_are_refused() {
    // An inflater that takes the missing bytes for zeros would find the end marker in the second member.
    let (start, end) = (tar().file("a", "1").0, [0; 1024]);
    let mut data = Fixed::new();
    for _ in 0..3 {
        data = data.copy(258, 1);
    }
    for _ in 0..25 {
        data = data.copy(10, 1);
    }
    let mut member = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec();
    member.extend(data.ended());
    member.extend(crc(&end).to_le_bytes());
    member.extend(1024u32.to_le_bytes());
    assert_eq!(names(&[gzip(&start), gzip(&end)].concat()), ["a"]);
    assert_eq!(
        refusal(&[gzip(&start), member].concat()),
        ArchiveError::GzipCorrupt
    );
}

#[test]
fn only_zeros_are_accepted_after_the_end_marker() {
    let mut padded = tar().file("a", "1").ended();
    padded.resize(10_240, 0);
    assert_eq!(names(&gzip(&padded)), ["a"]);
    *padded.last_mut().unwrap() = 1;
    assert_eq!(refusal(&gzip(&padded)), ArchiveError::TarTrailing);
}

#[test]
fn half_an_end_marker_is_enough_for_a_tar() {
    let mut unended = tar().file("a", "1").0;
    assert_eq!(refusal(&gzip(&unended)), ArchiveError::Truncated);
    unended.extend([0; 512]);
    assert_eq!(names(&gzip(&unended)), ["a"]);
    unended.extend([0; 511]);
    assert_eq!(refusal(&gzip(&unended)), ArchiveError::Truncated);
}

#[test]
fn a_signed_checksum_is_accepted() {
    let mut bytes = tar().add_changed("\u{e9}", b'0', b"", |_| {}).ended();
    let sum: i32 = bytes[..512]
        .iter()
        .enumerate()
        .map(|(at, byte)| {
            if (148..156).contains(&at) {
                32
            } else {
                i32::from(*byte as i8)
            }
        })
        .sum();
    bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert_eq!(names(&gzip(&bytes)), ["é"]);
}

#[test]
fn the_prefix_of_a_ustar_name_is_prepended() {
    let bytes = tar()
        .add_changed("main.tf", b'0', b"", |block| {
            block[345..348].copy_from_slice(b"a/b")
        })
        .gz();
    assert_eq!(names(&bytes), ["a/b/main.tf"]);
}

#[test]
fn gnu_times_are_not_read_as_a_prefix() {
    let gnu = |field: &'static [u8]| {
        tar()
            .add_changed("main.tf", b'0', b"", |block| {
                block[257..265].copy_from_slice(b"ustar  \0");
                block[345..345 + field.len()].copy_from_slice(field);
            })
            .gz()
    };
    assert_eq!(names(&gnu(b"00000000001\0")), ["main.tf"]);
    assert!(matches!(
        refusal(&gnu(b"../../etc\0")),
        ArchiveError::TarNumber { after: 0, .. }
    ));
}

#[test]
fn a_gnu_long_name_overrides_a_pax_path() {
    let bytes = tar()
        .add("L", b'L', b"long\0")
        .add("x", b'x', &pax("path", "pax"))
        .file("short", "1")
        .file("next", "2")
        .gz();
    assert_eq!(names(&bytes), ["long", "next"]);
}

#[test]
fn a_global_header_drops_the_extension_headers_before_it() {
    let bytes = tar()
        .add("x", b'x', &pax("path", "forgotten"))
        .add("g", b'g', &pax("path", "global"))
        .file("real", "1")
        .gz();
    assert_eq!(names(&bytes), ["real"]);
}

#[test]
fn a_pax_size_sets_the_length_of_the_content() {
    let bytes = tar()
        .add("x", b'x', &pax("size", "600"))
        .add_changed("a", b'0', &[b'c'; 600], |block| {
            block[124..136].copy_from_slice(b"00000000000\0")
        })
        .file("b", "2")
        .gz();
    assert_eq!(names(&bytes), ["a", "b"]);
}

#[test]
fn a_directory_or_link_has_no_content_whatever_its_size() {
    let sized = |block: &mut [u8; 512]| block[124..136].copy_from_slice(b"00000001000\0");
    let bytes = tar()
        .add_changed("dir/", b'5', b"", sized)
        .add_changed("old/", 0, b"", sized)
        .add_changed("hard", b'1', b"", sized)
        .file("a", "1")
        .gz();
    assert_eq!(names(&bytes), ["dir/", "old/", "hard", "a"]);
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
    let mut inspector = TarGzInspector::new();
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

#[test]
fn a_small_repetitive_archive_is_accepted() {
    assert_eq!(
        names(&tar().file("zeros", &"\0".repeat(4_000_000)).gz()),
        ["zeros"]
    );
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

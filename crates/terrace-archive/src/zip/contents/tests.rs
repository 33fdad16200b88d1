use std::io::{Cursor, Read as _, Write as _};

use ::zip::write::{SimpleFileOptions, ZipWriter};
use ::zip::{CompressionMethod, ZipArchive};
use proptest::prelude::*;

use super::*;
use crate::testing::{Fixed, TestEntry, crc, entry, zip};
use crate::zip::{Step, ZipInspector};
use crate::{inspect_zip, run_zip};

// The offsets of fields in a local header, and in a header of the directory.
const FLAGS: (usize, usize) = (6, 8);
const METHOD: (usize, usize) = (8, 10);
const CRC: (usize, usize) = (14, 16);
const COMPRESSED: (usize, usize) = (18, 20);
const UNCOMPRESSED: (usize, usize) = (22, 24);
const NAME: usize = 30;

const TEXT: &str = "variable \"x\" {}\nvariable \"y\" {}\nvariable \"z\" {}\n";

fn inspect(bytes: &[u8]) -> Result<Vec<Entry>, ArchiveError> {
    run_zip(ZipInspector::with_contents(bytes.len() as u64), bytes)
}

fn inspect_by(bytes: &[u8], read: u64) -> Result<Vec<Entry>, ArchiveError> {
    run_zip(ZipInspector::begin(bytes.len() as u64, Some(read)), bytes)
}

/// Returns the fault of the only faulty entry, read as a whole and byte by byte.
#[track_caller]
fn fault(bytes: &[u8]) -> ContentError {
    assert!(inspect_zip(bytes).is_ok(), "its directory alone is valid");
    let error = inspect(bytes).unwrap_err();
    assert_eq!(inspect_by(bytes, 1), Err(error.clone()));
    let ArchiveError::ZipContent { name, fault } = error else {
        panic!("{error}")
    };
    assert_eq!(name, "main.tf");
    fault
}

fn options(method: CompressionMethod) -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(method)
}

fn written(options: SimpleFileOptions) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("main.tf", options).unwrap();
    zip.write_all(TEXT.as_bytes()).unwrap();
    zip.start_file("b/empty", options).unwrap();
    zip.start_file("b/ü.txt", options).unwrap();
    zip.write_all(&[b'x'; 300]).unwrap();
    zip.finish().unwrap().into_inner()
}

/// Returns a zip as written to a stream, where nothing can be corrected later: with data descriptors.
fn streamed(method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new_stream(Vec::new());
    zip.start_file("main.tf", options(method)).unwrap();
    zip.write_all(TEXT.as_bytes()).unwrap();
    zip.start_file("b/empty", options(method)).unwrap();
    zip.finish().unwrap().into_inner()
}

fn stored() -> Vec<u8> {
    written(options(CompressionMethod::Stored))
}

fn deflated() -> Vec<u8> {
    written(options(CompressionMethod::Deflated))
}

fn every_kind() -> Vec<Vec<u8>> {
    let of = |method| {
        [
            written(options(method)),
            written(options(method).large_file(true)),
            written(options(method).with_alignment(64)),
            streamed(method),
        ]
    };
    [CompressionMethod::Stored, CompressionMethod::Deflated]
        .map(of)
        .concat()
}

fn directory_at(bytes: &[u8]) -> usize {
    let at = bytes.windows(4).position(|four| four == b"PK\x01\x02");
    at.unwrap()
}

/// Returns the offset of the first entry's content.
fn content_at(bytes: &[u8]) -> usize {
    let length = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    NAME + length(26) + length(28)
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn flip(mut bytes: Vec<u8>, at: usize) -> Vec<u8> {
    bytes[at] ^= 0x40;
    bytes
}

/// Adds to a field in the local header and in the directory, so that they agree.
fn add_to_both(mut bytes: Vec<u8>, field: (usize, usize), add: u32) -> Vec<u8> {
    for at in [field.0, directory_at(&bytes) + field.1] {
        let changed = number(&bytes, at).wrapping_add(add);
        bytes[at..at + 4].copy_from_slice(&changed.to_le_bytes());
    }
    bytes
}

fn contents(bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    (0..zip.len())
        .map(|index| {
            let mut content = Vec::new();
            let mut file = zip.by_index(index).map_err(|error| error.to_string())?;
            file.read_to_end(&mut content)
                .map_err(|error| error.to_string())?;
            Ok(content)
        })
        .collect()
}

fn described(descriptor: &[u8]) -> Vec<u8> {
    let mut described = entry("main.tf", TEXT);
    described.flags = 8;
    described.content.extend(descriptor);
    zip([described, entry("z", "z")]).bytes()
}

fn descriptor(signature: &[u8], wide: bool, crc: u32) -> Vec<u8> {
    let mut descriptor = signature.to_vec();
    descriptor.extend(crc.to_le_bytes());
    for size in [TEXT.len() as u64; 2] {
        let size = size.to_le_bytes();
        descriptor.extend(if wide { &size[..] } else { &size[..4] });
    }
    descriptor
}

#[test]
fn zips_of_real_writers_are_accepted_with_reads_of_any_size() {
    for bytes in every_kind() {
        let listed = inspect_zip(&bytes);
        assert!(listed.is_ok());
        for read in 1..=bytes.len() as u64 {
            assert_eq!(inspect_by(&bytes, read), listed, "{read}");
        }
    }
}

#[test]
fn contents_are_read_in_consecutive_reads_of_the_maximum_size() {
    let half = "x".repeat(limits::READ_BYTES as usize * 5 / 4);
    let bytes = zip([entry("a", &half), entry("b", &half)]).bytes();
    let mut inspector = ZipInspector::with_contents(bytes.len() as u64);
    let mut reads = Vec::new();
    while let Step::Read { offset, len } = inspector.next() {
        reads.push((offset, len));
        inspector
            .feed(&bytes[offset as usize..][..len as usize])
            .unwrap();
    }
    let (read, directory) = (limits::READ_BYTES, directory_at(&bytes) as u64);
    assert_eq!(
        reads[1..],
        [(0, read), (read, read), (2 * read, directory - 2 * read)]
    );
    assert_eq!(inspector.finish().unwrap().len(), 2);
}

#[test]
fn an_inspection_that_is_not_done_has_no_entries() {
    let bytes = deflated();
    let mut inspector = ZipInspector::begin(bytes.len() as u64, Some(10));
    inspector.feed(&bytes).unwrap();
    inspector.feed(&bytes[..10]).unwrap();
    assert_eq!(inspector.finish(), Err(ArchiveError::Unfinished));
}

/// Returns a zip with another byte at an offset.
fn with(mut bytes: Vec<u8>, at: usize, byte: u8) -> Vec<u8> {
    bytes[at] = byte;
    bytes
}

#[test]
fn contents_and_local_headers_that_do_not_match_the_directory_are_refused() {
    let (size, unpacked) = (TEXT.len() as u64, crc(TEXT.as_bytes()));
    let checksum = ContentError::Checksum {
        declared: unpacked.wrapping_add(1),
        unpacked,
    };
    let too_short = ContentError::TooShort {
        declared: size + 1,
        unpacked: size,
    };
    let less = 1u32.wrapping_neg();
    let at = content_at(&deflated());
    let mut unset = entry("main.tf", TEXT);
    unset.crc = 0;
    let shorter = stored()[26] - 1;
    for (bytes, error) in [
        (add_to_both(stored(), CRC, 1), checksum),
        (add_to_both(deflated(), CRC, 1), checksum),
        (
            zip([unset]).bytes(),
            ContentError::Checksum {
                declared: 0,
                unpacked,
            },
        ),
        // A block of the type that does not exist.
        (
            with(deflated(), at, deflated()[at] | 0b110),
            ContentError::Corrupt,
        ),
        (add_to_both(deflated(), UNCOMPRESSED, 1), too_short),
        (add_to_both(stored(), UNCOMPRESSED, 1), too_short),
        (
            add_to_both(deflated(), UNCOMPRESSED, less),
            ContentError::TooLong(size - 1),
        ),
        (flip(stored(), 0), ContentError::NoLocalHeader(0)),
        (flip(stored(), NAME), ContentError::LocalName),
        (with(stored(), 26, shorter), ContentError::LocalName),
    ] {
        assert_eq!(fault(&bytes), error);
    }
    let flipped = flip(stored(), content_at(&stored()));
    assert!(matches!(fault(&flipped), ContentError::Checksum { .. }));
    // Extra fields that reach past the entry.
    assert_eq!(
        inspect(&with(with(stored(), 28, 0xff), 29, 0xff)),
        Err(ArchiveError::ZipOverlap("main.tf".to_owned()))
    );
}

#[test]
fn deflated_data_that_refer_to_bytes_before_their_start_are_refused() {
    // An inflater that takes the missing bytes for zeros would find the right size and checksum.
    let zeros = "\0\0\0";
    let content = Fixed::new().copy(3, 1).ended();
    let bytes = zip([TestEntry {
        method: 8,
        compressed: content.len() as u32,
        content,
        ..entry("main.tf", zeros)
    }])
    .bytes();
    assert_eq!(fault(&bytes), ContentError::Corrupt);
}

#[test]
fn every_flipped_deflated_byte_is_refused_or_changes_nothing() {
    let bytes = deflated();
    let compressed = number(&bytes, COMPRESSED.0) as usize;
    for at in 0..compressed {
        let flipped = flip(bytes.clone(), content_at(&bytes) + at);
        if inspect(&flipped).is_ok() {
            assert_eq!(contents(&flipped), contents(&bytes), "{at}");
        }
    }
}

#[test]
fn deflated_data_must_end_with_their_compressed_size() {
    let bytes = deflated();
    let compressed = u64::from(number(&bytes, COMPRESSED.0));
    assert_eq!(
        fault(&add_to_both(bytes, COMPRESSED, 1u32.wrapping_neg())),
        ContentError::CutOff(compressed - 1)
    );
    let content = [&[3, 0][..], b"more"].concat();
    let longer = TestEntry {
        method: 8,
        crc: 0,
        uncompressed: 0,
        compressed: content.len() as u32,
        content,
        ..entry("main.tf", "")
    };
    assert_eq!(fault(&zip([longer]).bytes()), ContentError::EndsEarly(4));
    let mut nothing = entry("main.tf", "");
    nothing.method = 8;
    assert_eq!(fault(&zip([nothing]).bytes()), ContentError::CutOff(0));
}

#[test]
fn a_content_larger_than_a_piece_is_inflated_to_its_last_byte() {
    for size in [32 * 1024 - 1, 32 * 1024, 32 * 1024 + 1, 1_000_000] {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file("main.tf", options(CompressionMethod::Deflated))
            .unwrap();
        zip.write_all(&vec![b'x'; size]).unwrap();
        let bytes = zip.finish().unwrap().into_inner();
        for read in [1, 7, 10_000] {
            assert!(inspect_by(&bytes, read).is_ok(), "{size} {read}");
        }
    }
}

/// Asserts that the field `what` of the only faulty entry's local header differs from the directory.
#[track_caller]
fn assert_differs(bytes: &[u8], what: &str) {
    let fault = fault(bytes);
    let differs = matches!(fault, ContentError::Local { field, .. } if field == what);
    assert!(differs, "{fault}");
}

#[test]
fn a_local_header_with_another_method_size_checksum_or_flag_is_refused() {
    for (field, what) in [
        (METHOD, "method"),
        (CRC, "CRC32"),
        (COMPRESSED, "compressed size"),
        (UNCOMPRESSED, "size"),
    ] {
        for bytes in [stored(), deflated()] {
            assert_differs(&flip(bytes, field.0), what);
        }
    }
    let flagged = |at: usize, flag: u8| {
        let mut bytes = stored();
        bytes[FLAGS.0 + at] ^= flag;
        bytes
    };
    for flag in [1, 8, 0x40] {
        let fault = fault(&flagged(0, flag));
        assert!(matches!(fault, ContentError::LocalFlags { .. }));
    }
    // Others are hints. The encoding of a name matters if it is not ASCII.
    for hinted in [flagged(0, 0b110), flagged(1, 0b1000)] {
        assert!(inspect(&hinted).is_ok());
    }
    let mut bytes = zip([entry("ü", "")]).bytes();
    bytes[FLAGS.0 + 1] ^= 0b1000;
    assert!(inspect(&bytes).is_err());
}

#[test]
fn a_zip64_field_of_a_local_header_is_read_and_compared() {
    let bytes = written(options(CompressionMethod::Deflated).large_file(true));
    assert_eq!(number(&bytes, COMPRESSED.0), u32::MAX);
    let field = content_at(&bytes) - 20;
    assert_eq!(bytes[field..field + 4], [1, 0, 16, 0]);
    for (at, what) in [(4, "size"), (12, "compressed size")] {
        assert_differs(&flip(bytes.clone(), field + at), what);
    }
    let fault = fault(&flip(bytes, field));
    assert!(matches!(fault, ContentError::Local { .. }), "{fault}");
}

#[test]
fn only_a_missing_or_different_data_descriptor_is_refused() {
    let right = crc(TEXT.as_bytes());
    for signature in [&b"PK\x07\x08"[..], b""] {
        for wide in [false, true] {
            let mut bytes = described(&descriptor(signature, wide, right));
            for read in 1..=bytes.len() as u64 {
                assert!(inspect_by(&bytes, read).is_ok(), "{signature:?} {wide}");
            }
            // It replaces these fields.
            bytes[CRC.0..NAME - 4].fill(0);
            assert!(inspect(&bytes).is_ok());
        }
    }
    let whole = descriptor(b"PK\x07\x08", false, right);
    let flipped = (0..whole.len()).map(|at| flip(whole.clone(), at));
    for other in flipped.chain([whole[..15].to_vec(), Vec::new()]) {
        assert_eq!(fault(&described(&other)), ContentError::Descriptor);
    }
    let mut last = entry("main.tf", "");
    last.flags = 8;
    assert_eq!(fault(&zip([last]).bytes()), ContentError::Descriptor);
}

#[test]
fn gaps_and_any_order_of_the_directory_are_accepted() {
    let mut gap = entry("b", TEXT);
    gap.content.extend(b"nobody's");
    let bytes = zip([entry("a", ""), gap, entry("c", TEXT), entry("d", "")]).bytes();
    assert!(inspect_by(&bytes, 3).is_ok());

    let mut swapped = zip([entry("a", TEXT), entry("b", TEXT)]).bytes();
    let directory = directory_at(&swapped);
    let header = (swapped.len() - directory - 22) / 2;
    swapped[directory..directory + 2 * header].rotate_left(header);
    let names = inspect_by(&swapped, 3).unwrap();
    assert_eq!([&names[0].name, &names[1].name], ["b", "a"]);
}

#[test]
fn the_bytes_of_directories_and_entries_that_clients_do_not_unpack_are_skipped() {
    let mut directory = entry("d/", "");
    (directory.compressed, directory.content) = (2, vec![9, 9]);
    let mut encrypted = entry("e", TEXT);
    (encrypted.flags, encrypted.crc) = (1, 0);
    let mut unsupported = entry("u", TEXT);
    (unsupported.method, unsupported.crc) = (12, 0);
    let bytes = zip([directory, encrypted, unsupported, entry("f", TEXT)]).bytes();
    assert_eq!(inspect_by(&bytes, 3).map(|entries| entries.len()), Ok(4));
}

#[test]
fn a_zip_that_unpacks_to_more_than_the_limit_is_only_listed() {
    let mut large = entry("main.tf", &"x".repeat(2 * 1024 * 1024));
    large.method = 8;
    large.uncompressed = limits::ZIP_CONTENTS_BYTES as u32;
    assert!(inspect(&zip([large.clone()]).bytes()).is_err());
    large.uncompressed += 1;
    assert!(inspect(&zip([large]).bytes()).is_ok());
    assert!(!are_checked(limits::ZIP_CONTENTS_BYTES + 1, &[]));
}

proptest! {
    #[test]
    fn one_changed_byte_before_the_directory_is_refused_or_changes_no_content(
        kind in 0..8usize, at in any::<prop::sample::Index>(), value in any::<u8>(), read in 1..200u64,
    ) {
        let whole = every_kind().swap_remove(kind);
        let mut changed = whole.clone();
        let at = at.index(directory_at(&whole));
        changed[at] = value;
        let inspected = inspect(&changed);
        // With two faults, the one found first may depend on the reads.
        prop_assert_eq!(inspect_by(&changed, read).ok(), inspected.clone().ok());
        if inspected.is_ok() {
            prop_assert_eq!(contents(&changed), contents(&whole));
        }
    }

    #[test]
    fn no_change_panics_or_depends_on_the_size_of_reads(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        kind in 0..8usize, read in 1..200u64,
    ) {
        let mut bytes = every_kind().swap_remove(kind);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        prop_assert_eq!(inspect_by(&bytes, read).ok(), inspect(&bytes).ok());
    }
}

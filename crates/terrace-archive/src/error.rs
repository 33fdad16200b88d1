//! Reasons why an archive as a whole cannot be read.

use super::limits;
use super::zip::ContentError;
use terrace_base::untrusted::quoted;

/// A reason why an archive cannot be read, or why some client would read it differently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// The caller fed other bytes than the inspector asked for.
    #[error("{got} bytes were read from the archive instead of {asked}")]
    WrongRead {
        /// The number of bytes asked for.
        asked: u64,
        /// The number of bytes fed.
        got: u64,
    },
    /// The inspection ended early.
    #[error("the archive was not read to its end")]
    Unfinished,
    /// An archive without entries.
    #[error("the archive has no entries")]
    Empty,
    /// More entries than the limit.
    #[error("the archive has more than {max} entries", max = limits::ENTRIES)]
    TooManyEntries,
    /// A name longer than the limit.
    #[error("the name of entry {} is longer than {max} bytes", quoted(.0), max = limits::NAME_BYTES)]
    NameTooLong(String),
    /// A name that is not UTF-8, with the invalid bytes replaced.
    #[error("the name of entry {} is not UTF-8", quoted(.0))]
    NameNotUtf8(String),
    /// More unpacked bytes than the limit.
    #[error("the archive unpacks to more than {max} bytes", max = limits::UNCOMPRESSED_BYTES)]
    UncompressedTooLarge,
    /// A zip bomb: the archive unpacks to far more than its own size.
    #[error(
        "the archive is packed like a zip bomb: {compressed} bytes unpack to {uncompressed}; contents above {free} MiB may be at most {max} times as large as their archive. Large repetitive files (generated JSON, logs, zeros) cause this: leave them out, or shorten them",
        free = limits::RATIO_FREE_BYTES >> 20, max = limits::RATIO
    )]
    Bomb {
        /// The size of the archive in bytes, or the bytes read so far.
        compressed: u64,
        /// The unpacked bytes, in total or so far.
        uncompressed: u64,
    },

    /// A zip without an end record where Go looks for one.
    #[error("not a zip: no end of central directory record in the last {max} bytes", max = limits::ZIP_TAIL_BYTES)]
    ZipNoEndRecord,
    /// A truncated zip comment.
    #[error("the zip's comment is truncated: {declared} bytes are declared, {present} are present")]
    ZipCommentCut {
        /// The number of bytes that the end record declares.
        declared: u64,
        /// The number of bytes after the end record.
        present: u64,
    },
    /// Bytes after the end of the zip.
    #[error("{0} bytes follow the end of the zip")]
    ZipTrailing(u64),
    /// One part of a zip split over several files.
    #[error("the zip is one part of a split archive: pack it as a single file")]
    ZipSplit,
    /// The zip64 records are missing, misplaced or disagree with the end record.
    #[error("the zip64 records do not agree with the end record: {0}")]
    Zip64(&'static str),
    /// A central directory that is not directly before the end record.
    #[error(
        "the zip's central directory is declared at byte {offset} with {size} bytes, but must end at byte {end}: bytes were inserted before or into the zip"
    )]
    ZipDirectoryMisplaced {
        /// The declared offset.
        offset: u64,
        /// The declared size in bytes.
        size: u64,
        /// The offset of the records that follow it.
        end: u64,
    },
    /// A central directory larger than the limit.
    #[error("the zip's central directory has {0} bytes, at most {max} are allowed", max = limits::DIRECTORY_BYTES)]
    ZipDirectoryTooLarge(u64),
    /// A central directory without the declared number of well-formed headers.
    #[error("the zip's central directory is malformed at entry {0} (counted from 1)")]
    ZipDirectoryMalformed(usize),
    /// Two entries share bytes, or one reaches past the part of the zip that entries may use.
    #[error("the content of zip entry {} overlaps the next entry or the central directory", quoted(.0))]
    ZipOverlap(String),
    /// Bytes before the first entry.
    #[error("{0} bytes precede the first entry of the zip")]
    ZipPrepended(u64),
    /// An entry that no client could unpack.
    #[error("zip entry {} is damaged: {fault}; create the zip again", quoted(.name))]
    ZipContent {
        /// The entry's name.
        name: String,
        /// The fault in its content.
        fault: ContentError,
    },

    /// Not a gzip file.
    #[error("not a tar.gz: the gzip header is malformed: pack with tar -czf")]
    GzipHeader,
    /// Corrupt deflate data.
    #[error("the gzip data are corrupt: create the archive again")]
    GzipCorrupt,
    /// The contents do not match the checksum or the length in the gzip trailer.
    #[error("the gzip data do not match their checksum and length: create the archive again")]
    GzipChecksum,
    /// Bytes after the gzip data.
    #[error("bytes that are not gzip follow the gzip data")]
    GzipTrailing,
    /// An archive that ends early.
    #[error("the archive is truncated")]
    Truncated,

    /// A block at the position of a header that is not a header.
    #[error("not a tar, or a damaged one: the header after entry {0} does not match its checksum")]
    TarChecksum(usize),
    /// A header field that is not a number, or that has an impossible value.
    #[error(
        "the {field} of the tar header after entry {after} is not a number that clients accept"
    )]
    TarNumber {
        /// The number of entries before this header.
        after: usize,
        /// The name of the field.
        field: &'static str,
    },
    /// A long name or pax header larger than the limit.
    #[error("a tar extension header has {0} bytes, at most {max} are allowed", max = limits::TAR_META_BYTES)]
    TarMetaTooLarge(u64),
    /// A malformed pax header.
    #[error("the pax header after tar entry {0} is malformed")]
    TarPax(usize),
    /// Names that are together longer than the limit.
    #[error("the names in the tar have more than {max} bytes in total: shorten paths", max = limits::DIRECTORY_BYTES)]
    TarNamesTooLarge,
    /// A sparse file, which tools read in different ways.
    #[error("tar entry {} is a sparse file: pack it without --sparse", quoted(.0))]
    TarSparse(String),
    /// Data after the end marker, which clients never read.
    #[error("data follow the end marker of the tar")]
    TarTrailing,
}

//! Why an archive as a whole cannot be read.

use super::limits;
use super::zip::ContentError;
use terrace_base::untrusted::quoted;

/// Why an archive cannot be read, or would be read by some client as something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// The bytes fed are not those that were asked for.
    #[error("{got} bytes were read of the archive where {asked} were asked for")]
    WrongRead {
        /// Bytes asked for.
        asked: u64,
        /// Bytes fed.
        got: u64,
    },
    /// The inspection was ended before it was done.
    #[error("the archive was not read to its end")]
    Unfinished,
    /// There is nothing in it.
    #[error("the archive has no entries")]
    Empty,
    /// More entries than the limit.
    #[error("the archive has more than {max} entries", max = limits::ENTRIES)]
    TooManyEntries,
    /// A name longer than the limit.
    #[error("the name of entry {} is longer than {max} bytes", quoted(.0), max = limits::NAME_BYTES)]
    NameTooLong(String),
    /// A name that is not UTF-8, with the bad bytes replaced.
    #[error("the name of entry {} is not UTF-8", quoted(.0))]
    NameNotUtf8(String),
    /// More unpacked bytes than the limit.
    #[error("the archive unpacks to more than {max} bytes", max = limits::UNCOMPRESSED_BYTES)]
    UncompressedTooLarge,
    /// It unpacks to far more than its own size.
    #[error(
        "the archive is packed like a zip bomb: {compressed} bytes unpack to {uncompressed}; what unpacks to more than {free} MiB may not be more than {max} times as large as its archive. Large files that repeat themselves (generated JSON, logs, zeros) are what does it: leave them out, or shorten them",
        free = limits::RATIO_FREE_BYTES >> 20, max = limits::RATIO
    )]
    Bomb {
        /// Bytes of the archive.
        compressed: u64,
        /// Bytes it unpacks to, or has unpacked to so far.
        uncompressed: u64,
    },

    /// No end record where Go looks for one.
    #[error("not a zip: no end record in the last {max} bytes", max = limits::ZIP_TAIL_BYTES)]
    ZipNoEndRecord,
    /// The comment of the zip is cut off.
    #[error("the zip's comment is cut off: {declared} bytes are declared, {present} are there")]
    ZipCommentCut {
        /// Bytes the end record declares.
        declared: u64,
        /// Bytes after the end record.
        present: u64,
    },
    /// Bytes after the zip's own end.
    #[error("{0} bytes follow the end of the zip")]
    ZipTrailing(u64),
    /// One part of a zip split over several files.
    #[error("the zip is one part of several")]
    ZipSplit,
    /// The zip64 records are missing, misplaced or disagree with the end record.
    #[error("the zip64 records do not agree with the end record: {0}")]
    Zip64(&'static str),
    /// The central directory is not right before the end record.
    #[error(
        "the zip's directory is declared at byte {offset} with {size} bytes, but must end at byte {end}: something was put before or into the zip"
    )]
    ZipDirectoryMisplaced {
        /// Declared offset.
        offset: u64,
        /// Declared size.
        size: u64,
        /// Where the records that follow it begin.
        end: u64,
    },
    /// A central directory larger than the limit.
    #[error("the zip's directory has {0} bytes, at most {max} are allowed", max = limits::DIRECTORY_BYTES)]
    ZipDirectoryTooLarge(u64),
    /// The central directory does not hold the declared number of well-formed headers.
    #[error("the zip's directory is malformed at entry {0} (counted from 1)")]
    ZipDirectoryMalformed(usize),
    /// Two entries share bytes, or one reaches beyond the entries' part of the zip.
    #[error("the content of zip entry {} overlaps what follows it", quoted(.0))]
    ZipOverlap(String),
    /// Bytes before the first entry.
    #[error("{0} bytes stand before the first entry of the zip")]
    ZipPrepended(u64),
    /// An entry that no client could unpack.
    #[error("zip entry {} is damaged: {fault}; make the zip anew", quoted(.name))]
    ZipContent {
        /// The entry.
        name: String,
        /// What is wrong with it.
        fault: ContentError,
    },

    /// Not gzip.
    #[error("not a tar.gz: the gzip header is malformed")]
    GzipHeader,
    /// The deflated data are not.
    #[error("the gzip data are corrupt")]
    GzipCorrupt,
    /// The contents do not match the checksum or the length that follows them.
    #[error("the gzip data do not match their own checksum and length")]
    GzipChecksum,
    /// Bytes after the gzip data.
    #[error("something that is not gzip follows the gzip data")]
    GzipTrailing,
    /// The archive ends in its middle.
    #[error("the archive is cut off")]
    Truncated,

    /// A block that should be a header is not.
    #[error("not a tar, or a damaged one: the header after entry {0} does not match its checksum")]
    TarChecksum(usize),
    /// A header field that is not a number, or not a possible one.
    #[error(
        "the {field} of the tar header after entry {after} is not a number that clients accept"
    )]
    TarNumber {
        /// How many entries came before.
        after: usize,
        /// Which field.
        field: &'static str,
    },
    /// A long name or pax header larger than the limit.
    #[error("a tar extension header has {0} bytes, at most {max} are allowed", max = limits::TAR_META_BYTES)]
    TarMetaTooLarge(u64),
    /// A malformed pax header.
    #[error("the pax header after tar entry {0} is malformed")]
    TarPax(usize),
    /// All names together are longer than the limit.
    #[error("the names in the tar have more than {max} bytes", max = limits::DIRECTORY_BYTES)]
    TarNamesTooLarge,
    /// A sparse file, which only some tools read the same way.
    #[error("tar entry {} is a sparse file: pack it without --sparse", quoted(.0))]
    TarSparse(String),
    /// Something after the end mark, which clients never see.
    #[error("something follows the end mark of the tar")]
    TarTrailing,
}

//! The limits of what an inspector reads, each with its reason.

/// The first read of a zip: its last 65 KiB, where Go looks for the end record. A comment of the
/// longest length and the records of a zip64 fit in it.
pub const ZIP_TAIL_BYTES: u64 = 65 * 1024;

/// The central directory of a zip. It is held in memory once, and [`ENTRIES`] of 400 bytes each
/// (name, Unix and zip64 fields) are 8 MB. The same bound holds for all the names of a tar.
pub const DIRECTORY_BYTES: u64 = 8 * 1024 * 1024;

/// Entries of one archive. The largest public modules, with all their examples, have some 3,000
/// files; a provider has a handful.
pub const ENTRIES: usize = 20_000;

/// The name of one entry: Linux's `PATH_MAX`.
pub const NAME_BYTES: usize = 4_096;

/// One part of a path, between slashes: Linux's `NAME_MAX`. What is longer cannot be unpacked there.
pub const PART_BYTES: usize = 255;

/// Directories within directories. It keeps the work on one name small; real archives stay below 20.
pub const DEPTH: usize = 64;

/// All contents of one archive once unpacked, as a zip declares or a tar holds. The largest
/// provider is below 1 GiB, and an inflating Worker needs ten seconds or more for 4 GiB.
pub const UNCOMPRESSED_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// How many times its size an archive may unpack to, once that is more than [`RATIO_FREE_BYTES`].
/// Executables and source text reach 3 to 20; very repetitive data 60.
pub const RATIO: u64 = 200;

/// Unpacked bytes that no ratio is asked of: they harm no disk, and generated JSON of tens of
/// megabytes, which repeats itself more than [`RATIO`], is honest.
pub const RATIO_FREE_BYTES: u64 = 64 * 1024 * 1024;

/// A tar's ratio is known at its end only. Until then it may be ahead of [`RATIO`] by this much
/// (a file of zeros may stand before one that does not compress), which also bounds the work.
pub const RATIO_AHEAD_BYTES: u64 = 256 * 1024 * 1024;

/// How many times its size a deflated entry can unpack to: a length of 258 bytes takes two bits or
/// more, which makes 1,032. A zip that declares more than this is lying.
pub const DEFLATE_RATIO: u64 = 1_100;

/// How much of an archive is read at once when all of it is: a few reads for any module, and little
/// of a Worker's 128 MiB.
pub const READ_BYTES: u64 = 4 * 1024 * 1024;

/// The largest zip, and the most that it unpacks to, whose contents are checked. A module is
/// source text, of a few MiB; inflating this much takes a Worker a second or so, of the 30 that a
/// request may take. Both are bounded because bytes that unpack to nothing have to be read too.
pub const ZIP_CONTENTS_BYTES: u64 = 256 * 1024 * 1024;

/// A pax header or a GNU long name. Go allows 1 MiB; real ones are below 1 KiB, or a few KiB where
/// macOS adds its attributes.
pub const TAR_META_BYTES: u64 = 64 * 1024;

/// The name and the comment in a gzip header, as Go limits them.
pub const GZIP_TEXT_BYTES: usize = 512;

/// Reasons told at once. A hostile archive could have thousands.
pub const REASONS: usize = 20;

//! The limits of an inspection, each with its reason.

/// The first read of a zip: its last 65 KiB, where Go looks for the end record. A comment of the maximum
/// length and the records of a zip64 fit in it.
pub const ZIP_TAIL_BYTES: u64 = 65 * 1024;

/// The maximum size of a zip's central directory. It is held in memory once, and [`ENTRIES`] of 400 bytes
/// each (name, Unix and zip64 fields) are 8 MB. The same limit applies to the names of a tar together.
pub const DIRECTORY_BYTES: u64 = 8 * 1024 * 1024;

/// The maximum number of entries in an archive. The largest public modules, with all their examples, have
/// some 3,000 files; a provider has a handful.
pub const ENTRIES: usize = 20_000;

/// The maximum length of an entry's name: Linux's `PATH_MAX`.
pub const NAME_BYTES: usize = 4_096;

/// The maximum length of a path component: Linux's `NAME_MAX`. Longer components cannot be unpacked there.
pub const PART_BYTES: usize = 255;

/// The maximum depth of nested directories. It bounds the work for one name; real archives stay below 20.
pub const DEPTH: usize = 64;

/// The maximum unpacked size of an archive, as a zip declares it or a tar holds it. The largest provider is
/// below 1 GiB, and a Worker needs ten seconds or more to inflate 4 GiB.
pub const UNCOMPRESSED_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// The maximum ratio of the unpacked size to the size of the archive, for unpacked sizes above
/// [`RATIO_FREE_BYTES`]. Executables and source text reach 3 to 20; very repetitive data 60.
pub const RATIO: u64 = 200;

/// The unpacked size up to which no ratio applies. So few bytes harm no disk, and generated JSON of tens of
/// megabytes can honestly compress by more than [`RATIO`].
pub const RATIO_FREE_BYTES: u64 = 64 * 1024 * 1024;

/// The bytes by which a tar may exceed [`RATIO`] before its end, where its ratio becomes known: a file of
/// zeros may precede one that does not compress. It also bounds the work.
pub const RATIO_AHEAD_BYTES: u64 = 256 * 1024 * 1024;

/// The maximum expansion of a deflated entry: a length of 258 bytes takes at least two bits, which makes
/// 1,032. A zip that declares more than this is lying.
pub const DEFLATE_RATIO: u64 = 1_100;

/// The size of one read when all of an archive is read: a few reads for any module, and a small part of a
/// Worker's 128 MiB.
pub const READ_BYTES: u64 = 4 * 1024 * 1024;

/// The maximum size of a zip, and of its unpacked contents, up to which the contents are checked. A module is
/// source text of a few MiB. Inflating this much takes a Worker about a second, of the 30 that a request may
/// take. Both sizes are limited because bytes that unpack to nothing have to be read too.
pub const ZIP_CONTENTS_BYTES: u64 = 256 * 1024 * 1024;

/// The maximum size of a pax header or a GNU long name. Go allows 1 MiB; real ones are below 1 KiB, or a few
/// KiB where macOS adds its attributes.
pub const TAR_META_BYTES: u64 = 64 * 1024;

/// The maximum length of the name and the comment in a gzip header, as in Go.
pub const GZIP_TEXT_BYTES: usize = 512;

/// The maximum number of reported reasons. A hostile archive could have thousands.
pub const REASONS: usize = 20;

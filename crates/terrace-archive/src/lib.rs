//! Inspection of published archives without unpacking them to disk.
//!
//! # In scope
//! Reading the list of entries of a zip (by ranged reads of its end) and of a gzipped tar (by one
//! pass over its bytes), and checking whether a client could install it. On request
//! ([`ZipInspector::with_contents`]), the contents of a zip are unpacked too, as those of a tar always
//! are, to check them against their checksums.
//!
//! # Out of scope
//! IO: [`ZipInspector`] returns the ranges to read, [`TarGzInspector`] takes the bytes that it is given.
//! The contents of the entries are never kept or interpreted.
//!
//! # Two kinds of refusal
//! An inspector ends with an [`ArchiveError`] when the archive as a whole cannot be read, or would
//! be read differently by Go's `archive/zip`, `compress/gzip` and `archive/tar`, which every client uses.
//! Faults of single entries stay in the [`Entry`] list, and [`check_provider_package`] or
//! [`check_module_archive`] reports all of them at once.
//! **A list that neither of them has passed may still name `../../etc/passwd`.**

mod bytes;
mod check;
mod error;
mod gzip;
mod inflate;
pub mod limits;
mod path;
mod program;
mod secrets;
mod tar;
mod tar_gz;
#[cfg(test)]
#[path = "tests/testing.rs"]
mod testing;
mod zip;

use std::fmt;
use std::str::FromStr;

use terrace_base::untrusted::quoted;

pub use check::{
    Heads, InstallError, check_module_archive, check_provider_package, foreign_executable_warning,
    module_archive_warnings, provider_package_warnings, zip_contents_warning,
};
pub use error::ArchiveError;
pub use path::PathError;
pub use program::HEAD_BYTES;
pub use secrets::{SecretFile, secret_file};
pub use tar_gz::TarGzInspector;
pub use zip::{ContentError, Step, ZipInspector};

/// A format of published archives. Providers are always zips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArchiveFormat {
    /// A zip, for providers and modules.
    Zip,
    /// A gzipped tar, for modules only.
    TarGz,
}

/// A text that is not the name of an archive format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not an archive format: use \"zip\" or \"tar.gz\"", quoted(.0))]
pub struct FormatError(pub String);

impl ArchiveFormat {
    /// Returns the name of the format, which is also the extension by which go-getter recognises it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::TarGz => "tar.gz",
        }
    }

    /// Returns the file name extension, without the leading dot.
    pub fn extension(self) -> &'static str {
        self.as_str()
    }

    /// Returns the media type under which archives are stored and served.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Zip => "application/zip",
            Self::TarGz => "application/gzip",
        }
    }

    /// Returns the format that matches a file name's extension, ignoring case; `.tgz` is a `tar.gz`.
    pub fn of_file_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        if name.ends_with(".zip") {
            Some(Self::Zip)
        } else if name.ends_with(".tar.gz") || name.ends_with(".tgz") {
            Some(Self::TarGz)
        } else {
            None
        }
    }
}

impl fmt::Display for ArchiveFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ArchiveFormat {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        match text {
            "zip" => Ok(Self::Zip),
            "tar.gz" => Ok(Self::TarGz),
            _ => Err(FormatError(text.chars().take(80).collect())),
        }
    }
}

/// An entry of an archive, as Go reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The entry's name, exactly as written. It is UTF-8, and otherwise unchecked.
    pub name: String,
    /// The entry's type.
    pub kind: EntryKind,
    /// The Unix permission and file type bits, where clients take them from the archive.
    pub unix_mode: Option<u32>,
    /// The number of bytes in the archive. In a tar this is the uncompressed size.
    pub compressed: u64,
    /// The number of bytes after unpacking, as the archive declares.
    pub uncompressed: u64,
    /// The compression method.
    pub method: Method,
    /// Whether the entry is encrypted.
    pub encrypted: bool,
    /// The target of a link. A zip keeps the target in the entry's content, so there it is unknown.
    pub link_target: Option<String>,
}

impl Entry {
    /// Creates a plain, stored file, like most entries of most lists.
    pub fn file(name: impl Into<String>, size: u64) -> Self {
        Self {
            name: name.into(),
            kind: EntryKind::File,
            unix_mode: Some(0o100_644),
            compressed: size,
            uncompressed: size,
            method: Method::Stored,
            encrypted: false,
            link_target: None,
        }
    }
}

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A second name for an earlier file.
    HardLink,
    /// A device, pipe, socket, or a vendor-specific type.
    Other,
}

/// The compression method of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Stored without compression.
    Stored,
    /// Compressed with deflate.
    Deflate,
    /// A zip method that Go does not support, by its number.
    Unsupported(u16),
}

/// Returns the entries of a zip held in memory.
///
/// # Errors
/// Those of [`ZipInspector`].
pub fn inspect_zip(archive: &[u8]) -> Result<Vec<Entry>, ArchiveError> {
    run_zip(
        ZipInspector::new(u64::try_from(archive.len()).unwrap_or(u64::MAX)),
        archive,
    )
}

fn run_zip(mut inspector: ZipInspector, archive: &[u8]) -> Result<Vec<Entry>, ArchiveError> {
    while let Step::Read { offset, len } = inspector.next() {
        let asked = usize::try_from(offset)
            .ok()
            .zip(usize::try_from(len).ok())
            .and_then(|(offset, len)| archive.get(offset..)?.get(..len));
        inspector.feed(asked.unwrap_or_default())?;
    }
    inspector.finish()
}

/// Returns the entries of a gzipped tar held in memory.
///
/// # Errors
/// Those of [`TarGzInspector`].
pub fn inspect_tar_gz(archive: &[u8]) -> Result<Vec<Entry>, ArchiveError> {
    let mut inspector = TarGzInspector::default();
    inspector.feed(archive)?;
    inspector.finish()
}

terrace_base::text_serde!(ArchiveFormat);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_reads_back_from_its_name_and_no_other_name_is_one() {
        for format in [ArchiveFormat::Zip, ArchiveFormat::TarGz] {
            assert_eq!(format.as_str().parse(), Ok(format));
            let name = format!("x.{}", format.extension());
            assert_eq!(ArchiveFormat::of_file_name(&name), Some(format));
        }
        for text in ["", "ZIP", "tgz", "tar", ".zip"] {
            assert!(text.parse::<ArchiveFormat>().is_err(), "{text:?}");
        }
        for name in ["zip", "x.tar", "x.tar.xz", "x"] {
            assert_eq!(ArchiveFormat::of_file_name(name), None, "{name:?}");
        }
    }
}

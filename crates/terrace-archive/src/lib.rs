//! What is inside a published archive, found without unpacking it.
//!
//! # In scope
//! Reading the list of entries of a zip (by ranged reads of its end) and of a gzipped tar (by one
//! pass over its bytes), and saying whether a client could install it. Where that is wanted
//! ([`ZipInspector::with_contents`]), the contents of a zip are unpacked too, as those of a tar always
//! are, to see that they match their checksums.
//!
//! # Out of scope
//! IO: [`ZipInspector`] says what it wants to read, [`TarGzInspector`] takes what it is given. The
//! contents of the entries are never kept, and what they mean is never looked at.
//!
//! # Two kinds of refusal
//! An inspector ends with an [`ArchiveError`] when the archive as a whole cannot be read, or would
//! be read differently by Go's `archive/zip`, `compress/gzip` and `archive/tar`, which is what every client uses.
//! What is wrong with single entries is left in the [`Entry`] list, and
//! [`check_provider_package`] or [`check_module_archive`] tells all of it at once.
//! **A list that neither of them has passed may still name `../../etc/passwd`.**

mod bytes;
mod check;
mod error;
mod gzip;
mod inflate;
pub mod limits;
mod path;
mod tar;
mod tar_gz;
#[cfg(test)]
mod testing;
mod zip;

use std::fmt;
use std::str::FromStr;

use terrace_base::untrusted::quoted;

pub use check::{
    ArchiveWarning, InstallError, check_module_archive, check_provider_package,
    module_archive_warnings, provider_package_warnings, zip_contents_warning,
};
pub use error::ArchiveError;
pub use path::PathError;
pub use tar_gz::TarGzInspector;
pub use zip::{ContentError, Step, ZipInspector};

/// The archive formats that are published. Providers are always zips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArchiveFormat {
    /// A zip.
    Zip,
    /// A gzipped tar.
    TarGz,
}

/// A text that names no archive format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not an archive format: use \"zip\" or \"tar.gz\"", quoted(.0))]
pub struct FormatError(pub String);

impl ArchiveFormat {
    /// The name of the format, which is also the extension that go-getter knows it by.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::TarGz => "tar.gz",
        }
    }

    /// The file name extension, without the leading dot.
    pub fn extension(self) -> &'static str {
        self.as_str()
    }

    /// The media type it is stored and served with.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Zip => "application/zip",
            Self::TarGz => "application/gzip",
        }
    }

    /// The format that a file name's extension tells, in either case; `.tgz` is a `tar.gz`.
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

/// One entry of an archive, as Go reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name, exactly as written: nothing about it has been checked but that it is UTF-8.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// Unix permission and file type bits, where clients take them from the archive.
    pub unix_mode: Option<u32>,
    /// Bytes it takes in the archive. In a tar this is its uncompressed size.
    pub compressed: u64,
    /// Bytes it takes once unpacked, as the archive declares.
    pub uncompressed: u64,
    /// How it is compressed.
    pub method: Method,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// Where a link leads. A zip keeps that in the entry's content, so there it is unknown.
    pub link_target: Option<String>,
}

impl Entry {
    /// A plain, stored file, as it stands in most lists.
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

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A further name of a file that came before.
    HardLink,
    /// A device, pipe, socket, or something only its maker understands.
    Other,
}

/// How the content of an entry is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// As it is.
    Stored,
    /// Deflated.
    Deflate,
    /// A zip method that Go does not know, by its number.
    Unsupported(u16),
}

/// The entries of a whole archive that is held in memory.
///
/// # Errors
/// As the inspector of that format.
pub fn inspect(format: ArchiveFormat, archive: &[u8]) -> Result<Vec<Entry>, ArchiveError> {
    match format {
        ArchiveFormat::Zip => inspect_zip(archive),
        ArchiveFormat::TarGz => inspect_tar_gz(archive),
    }
}

/// The entries of a zip that is held in memory.
///
/// # Errors
/// As [`ZipInspector`].
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

/// The entries of a gzipped tar that is held in memory.
///
/// # Errors
/// As [`TarGzInspector`].
pub fn inspect_tar_gz(archive: &[u8]) -> Result<Vec<Entry>, ArchiveError> {
    let mut inspector = TarGzInspector::new();
    inspector.feed(archive)?;
    inspector.finish()
}

terrace_base::text_serde!(ArchiveFormat);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_reads_back_from_its_name() {
        for format in [ArchiveFormat::Zip, ArchiveFormat::TarGz] {
            assert_eq!(format.as_str().parse(), Ok(format));
            assert_eq!(
                ArchiveFormat::of_file_name(&format!("x.{}", format.extension())),
                Some(format)
            );
        }
    }

    #[test]
    fn other_names_are_no_format() {
        for text in ["", "ZIP", "tgz", "tar", ".zip"] {
            assert!(text.parse::<ArchiveFormat>().is_err(), "{text:?}");
        }
        for name in ["zip", "x.tar", "x.tar.xz", "x"] {
            assert_eq!(ArchiveFormat::of_file_name(name), None, "{name:?}");
        }
    }
}

//! Keys in R2 that hold bytes.

use std::fmt;
use std::str::FromStr;

use super::{STAGED, UPLOADS};
use crate::model::oci::{Digest, UploadId};
use crate::model::package::Package;
use crate::model::version::Version;
use terrace_archive::ArchiveFormat;
use terrace_base::digest::Sha256;

/// A key in R2 that holds bytes, named by their own digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArchiveKey {
    /// The digest of the bytes.
    pub digest: Sha256,
    /// The kind of content.
    pub kind: ArchiveKind,
}

/// A key in R2 that holds bytes for clients: a published or staged archive, or a pushed blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BytesKey {
    /// A published archive.
    Archive(ArchiveKey),
    /// A staged upload by a caller that may not read everything stored. Such a caller has to upload each
    /// archive that it names, so knowing the digest of another publisher's archive opens nothing.
    Staged(StagedKey),
    /// A pushed blob.
    Blob(Digest),
}

/// A key in R2 that holds a staged upload: an archive that is not published yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StagedKey {
    /// The digest of the key of the release that the upload is staged for.
    release: Sha256,
    /// The key of the archive after the publish.
    pub archive: ArchiveKey,
}

/// A chunk of an upload: the bytes from `offset` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChunkKey {
    /// The upload that the chunk belongs to.
    pub upload: UploadId,
    /// The offset of its first byte in the upload.
    pub offset: u64,
    /// Identifies the request that sent it, so that of two concurrent requests neither overwrites the other's
    /// chunk.
    pub writer: u64,
}

impl ChunkKey {
    /// Returns the part of its key after [`UPLOADS`].
    pub fn name(&self) -> String {
        let Self {
            upload,
            offset,
            writer,
        } = self;
        format!("{upload}/{offset}-{writer:016x}")
    }
}

/// The kind of content-addressed bytes. It decides the extension, by which clients interpret the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArchiveKind {
    /// A provider package or a module.
    Archive(ArchiveFormat),
    /// The text of a SHA256SUMS file.
    Shasums,
    /// A binary detached OpenPGP signature.
    Signature,
    /// The documentation of a version: see [`crate::documentation`].
    Documentation,
}

impl ArchiveKind {
    pub(crate) const ALL: [Self; 5] = [
        Self::Archive(ArchiveFormat::Zip),
        Self::Archive(ArchiveFormat::TarGz),
        Self::Shasums,
        Self::Signature,
        Self::Documentation,
    ];

    /// Returns the extension of the key, after the dot. go-getter unpacks a module by it (clients.md 4.1).
    pub fn extension(self) -> &'static str {
        match self {
            Self::Archive(format) => format.extension(),
            Self::Shasums => "SHA256SUMS",
            Self::Signature => "sig",
            Self::Documentation => "docs",
        }
    }

    /// Returns the content type that the object is stored and served with.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Archive(format) => format.content_type(),
            Self::Shasums => "text/plain; charset=utf-8",
            Self::Signature => "application/pgp-signature",
            // Not `application/gzip`: a proxy might inflate it.
            Self::Documentation => "application/octet-stream",
        }
    }
}

impl ArchiveKey {
    /// Returns the key that `bytes` are stored under.
    pub fn of(bytes: &[u8], kind: ArchiveKind) -> Self {
        Self {
            digest: Sha256::of(bytes),
            kind,
        }
    }

    /// Returns the key of a zip.
    pub fn zip(digest: Sha256) -> Self {
        let kind = ArchiveKind::Archive(ArchiveFormat::Zip);
        Self { digest, kind }
    }

    /// Returns the key of documentation.
    pub fn documentation(digest: Sha256) -> Self {
        let kind = ArchiveKind::Documentation;
        Self { digest, kind }
    }

    /// Returns the key under which the archive is staged for a release.
    pub fn staged_for(self, package: &Package, version: &Version) -> StagedKey {
        let release = format!("releases/{package}/{version}");
        StagedKey {
            release: Sha256::of(release.as_bytes()),
            archive: self,
        }
    }

    /// Returns the last part of the key: `{sha256}.{extension}`.
    pub fn file_name(&self) -> String {
        format!("{}.{}", self.digest, self.kind.extension())
    }
}

impl StagedKey {
    fn file_name(&self) -> String {
        format!("{}.{}", self.release, self.archive.file_name())
    }
}

impl fmt::Display for ArchiveKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "archives/{}.{}", self.digest, self.kind.extension())
    }
}

impl BytesKey {
    /// Returns the last part of a signed path: the digest in hexadecimal and an extension for the kind of
    /// bytes.
    pub fn file_name(&self) -> String {
        match self {
            Self::Archive(archive) => archive.file_name(),
            Self::Staged(staged) => staged.file_name(),
            Self::Blob(digest) => format!("{}{BLOB}", digest.hex()),
        }
    }

    /// Returns the content type that the object is stored and served with.
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::Archive(archive) | Self::Staged(StagedKey { archive, .. }) => {
                archive.kind.content_type()
            }
            Self::Blob(_) => "application/octet-stream",
        }
    }

    /// Returns the digest of the bytes.
    pub fn digest(&self) -> Digest {
        match self {
            Self::Archive(archive) | Self::Staged(StagedKey { archive, .. }) => {
                Digest::Sha256(archive.digest)
            }
            Self::Blob(digest) => *digest,
        }
    }
}

/// Extension of a blob's name, with its dot.
const BLOB: &str = ".blob";

impl From<ArchiveKey> for BytesKey {
    fn from(archive: ArchiveKey) -> Self {
        Self::Archive(archive)
    }
}

impl From<StagedKey> for BytesKey {
    fn from(staged: StagedKey) -> Self {
        Self::Staged(staged)
    }
}

impl fmt::Display for BytesKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(archive) => archive.fmt(f),
            Self::Staged(staged) => write!(f, "{STAGED}{}", staged.file_name()),
            Self::Blob(digest) => write!(f, "oci/blobs/{}/{}", digest.algorithm(), digest.hex()),
        }
    }
}

impl fmt::Display for ChunkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{UPLOADS}{}", self.name())
    }
}

impl FromStr for BytesKey {
    type Err = ArchiveNameError;

    /// Parses the text of [`BytesKey::file_name`], in its canonical form only.
    fn from_str(text: &str) -> Result<Self, ArchiveNameError> {
        if let Some(digits) = text.strip_suffix(BLOB) {
            let digest = Digest::from_hex(digits);
            return digest.map(Self::Blob).ok_or(ArchiveNameError);
        }
        let (first, rest) = text.split_once('.').ok_or(ArchiveNameError)?;
        match rest.parse() {
            Ok(archive) => {
                let release = lower_digest(first)?;
                Ok(Self::Staged(StagedKey { release, archive }))
            }
            Err(_) => text.parse().map(Self::Archive),
        }
    }
}

/// Error: a text that is not `{sha256}.{extension}`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the name of an archive")]
pub struct ArchiveNameError;

fn lower_digest(text: &str) -> Result<Sha256, ArchiveNameError> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(ArchiveNameError);
    }
    text.parse().map_err(|_| ArchiveNameError)
}

impl FromStr for ArchiveKey {
    type Err = ArchiveNameError;

    /// Parses the text of [`ArchiveKey::file_name`], in its canonical form only.
    fn from_str(text: &str) -> Result<Self, ArchiveNameError> {
        let (digest, extension) = text.split_once('.').ok_or(ArchiveNameError)?;
        Ok(Self {
            digest: lower_digest(digest)?,
            kind: ArchiveKind::ALL
                .into_iter()
                .find(|kind| kind.extension() == extension)
                .ok_or(ArchiveNameError)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_names_are_parsed() {
        let module = Package::Module("acme/vpc/aws".parse().unwrap());
        let version = "1.0.0".parse().unwrap();
        let mut keys = vec![
            BytesKey::Blob(Digest::Sha256(Sha256::of(b"x"))),
            BytesKey::Blob(Digest::Sha512(terrace_base::digest::Sha512::of(b"x"))),
        ];
        for kind in ArchiveKind::ALL {
            let archive = ArchiveKey::of(b"x", kind);
            keys.push(BytesKey::Staged(archive.staged_for(&module, &version)));
            keys.push(archive.into());
        }
        for key in keys {
            let name = key.file_name();
            assert_eq!(name.parse(), Ok(key));
            let (digits, rest) = name.split_once('.').unwrap();
            let upper = format!("{}.{rest}", digits.to_ascii_uppercase());
            for text in [
                upper,
                format!(".{rest}"),
                format!("0.{rest}"),
                format!("{name}.exe"),
            ] {
                assert_eq!(text.parse::<BytesKey>(), Err(ArchiveNameError), "{text}");
            }
        }
        for text in ["", "blob", ".sig"] {
            assert!(text.parse::<BytesKey>().is_err(), "{text}");
        }
    }
}

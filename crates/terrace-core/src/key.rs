//! Every key that is ever stored, in one place.
//!
//! ```text
//! R2 (the facts)
//! ├── archives/{sha256}.zip                                     immutable bytes, named by their content
//! ├── archives/{sha256}.tar.gz
//! ├── archives/{sha256}.SHA256SUMS                              the signed text of a provider release
//! ├── archives/{sha256}.sig                                     its binary signature
//! ├── releases/providers/hosted/{namespace}/{type}/{version}    create-only; metadata: protocols, platforms
//! ├── releases/providers/{hostname}/{namespace}/{type}/{version}  grows by compare-and-swap: platforms are added
//! ├── releases/modules/{namespace}/{name}/{system}/{version}    create-only
//! ├── changes/providers/hosted/{namespace}/{type}               rewritten after each commit: see `index`
//! ├── changes/providers/{hostname}/{namespace}/{type}
//! ├── changes/modules/{namespace}/{name}/{system}
//! ├── origins/{hostname}/{namespace}/{type}                     what was seen of a pulled provider, by compare-and-swap
//! ├── leases/…                                                  who fetches from an origin, until when
//! └── keys/{namespace}                                          signing keys, by compare-and-swap
//!
//! KV (the indices; each a pure function of the facts)
//! ├── providers/hosted/{namespace}/{type}/versions              the response itself, streamed
//! ├── providers/hosted/{namespace}/{type}/mirror                the same list as mirrors answer it
//! ├── providers/hosted/{namespace}/{type}/version/{version}     what a package download is made of
//! ├── providers/{hostname}/{namespace}/{type}/mirror
//! ├── providers/{hostname}/{namespace}/{type}/version/{version}
//! ├── modules/{namespace}/{name}/{system}/versions
//! ├── modules/{namespace}/{name}/{system}/version/{version}
//! └── of each of these, as OCI clients ask for it:
//!     ├── …/tags                                                the list of tags, streamed
//!     ├── …/tag/{version}                                       the manifest of a version, streamed
//!     └── …/sha256/{digest}                                     a manifest, streamed; of a zip, that it is there
//! ```
//!
//! `hosted` stands where a mirrored provider has its hostname; a hostname has a dot.

use std::fmt;
use std::str::FromStr;

use crate::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use crate::archive::ArchiveFormat;
use crate::digest::Sha256;
use crate::name::Namespace;
use crate::signed_path::PulledPackage;
use crate::version::Version;

/// The package that versions belong to: a provider or a module.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Package {
    /// A provider this registry hosts.
    Provider(ProviderAddress),
    /// A provider of another registry.
    Mirrored(MirroredAddress),
    /// A module this registry hosts.
    Module(ModuleAddress),
}

/// A key in R2 that holds a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FactKey {
    /// One published version, immutable.
    Release(Package, Version),
    /// What changed last about a package.
    Change(Package),
    /// The signing keys of a namespace.
    SigningKeys(Namespace),
    /// What was last seen of a provider at its origin.
    Origin(MirroredAddress),
    /// Who is fetching something from an origin, so that nobody else does.
    Lease(Lease),
}

/// What is fetched from an origin by one at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Lease {
    /// The list of a provider's versions.
    Versions(MirroredAddress),
    /// What is signed of a version.
    Release(MirroredAddress, Version),
    /// The bytes of a package. Not by their digest: a provider that names another one's would stand in
    /// its way.
    Package(Box<PulledPackage>),
}

/// A key in R2 that holds bytes named by their own digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArchiveKey {
    /// The digest of the bytes.
    pub digest: Sha256,
    /// What the bytes are.
    pub kind: ArchiveKind,
}

/// What content-addressed bytes are. It decides the extension, which clients read meaning from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArchiveKind {
    /// A provider package or a module.
    Archive(ArchiveFormat),
    /// The text of a SHA256SUMS file.
    Shasums,
    /// A binary detached OpenPGP signature.
    Signature,
}

/// A key in KV.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IndexKey {
    /// The answer of a package's `versions` route.
    Versions(Package),
    /// The answer of a provider's `index.json` in the network mirror.
    MirrorVersions(Package),
    /// What the `download` routes of one version are answered from.
    Version(Package, Version),
    /// The tags of a package's OCI repository.
    Tags(Package),
    /// The manifest that a tag of it names.
    Tag(Package, Version),
    /// Something in it that has a digest.
    Content(Package, Sha256),
}

impl Package {
    /// The address as people write it; `Display` is the way it is stored.
    pub fn address(&self) -> String {
        match self {
            Self::Provider(address) => address.to_string(),
            Self::Mirrored(address) => address.to_string(),
            Self::Module(address) => address.to_string(),
        }
    }
}

impl FactKey {
    /// The prefix under which all releases of a package lie, and nothing else.
    pub fn releases_of(package: &Package) -> String {
        format!("releases/{package}/")
    }

    /// The version in a key that starts with [`FactKey::releases_of`].
    pub fn version_in(key: &str) -> Option<Version> {
        key.rsplit('/').next()?.parse().ok()
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Provider(address) => write!(f, "providers/hosted/{address}"),
            Self::Mirrored(address) => write!(f, "providers/{address}"),
            Self::Module(address) => write!(f, "modules/{address}"),
        }
    }
}

impl fmt::Display for FactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release(package, version) => write!(f, "releases/{package}/{version}"),
            Self::Change(package) => write!(f, "changes/{package}"),
            Self::SigningKeys(namespace) => write!(f, "keys/{namespace}"),
            Self::Origin(address) => write!(f, "origins/{address}"),
            Self::Lease(Lease::Versions(address)) => write!(f, "leases/versions/{address}"),
            Self::Lease(Lease::Release(address, version)) => {
                write!(f, "leases/releases/{address}/{version}")
            }
            Self::Lease(Lease::Package(package)) => write!(f, "leases/packages/{package}"),
        }
    }
}

impl fmt::Display for IndexKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Versions(package) => write!(f, "{package}/versions"),
            Self::MirrorVersions(package) => write!(f, "{package}/mirror"),
            Self::Version(package, version) => write!(f, "{package}/version/{version}"),
            Self::Tags(package) => write!(f, "{package}/tags"),
            Self::Tag(package, version) => write!(f, "{package}/tag/{version}"),
            Self::Content(package, digest) => write!(f, "{package}/sha256/{digest}"),
        }
    }
}

impl ArchiveKind {
    const ALL: [Self; 4] = [
        Self::Archive(ArchiveFormat::Zip),
        Self::Archive(ArchiveFormat::TarGz),
        Self::Shasums,
        Self::Signature,
    ];

    /// The end of the key, after a dot. go-getter unpacks a module by it (clients.md 4.1).
    pub fn extension(self) -> &'static str {
        match self {
            Self::Archive(format) => format.extension(),
            Self::Shasums => "SHA256SUMS",
            Self::Signature => "sig",
        }
    }

    /// The content type the object is stored and served with.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Archive(format) => format.content_type(),
            Self::Shasums => "text/plain; charset=utf-8",
            Self::Signature => "application/pgp-signature",
        }
    }
}

impl ArchiveKey {
    /// The key that `bytes` are stored under.
    pub fn of(bytes: &[u8], kind: ArchiveKind) -> Self {
        Self {
            digest: Sha256::of(bytes),
            kind,
        }
    }

    /// The last part of the key: `{sha256}.{extension}`.
    pub fn file_name(&self) -> String {
        format!("{}.{}", self.digest, self.kind.extension())
    }
}

impl fmt::Display for ArchiveKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "archives/{}.{}", self.digest, self.kind.extension())
    }
}

/// A text is not `{sha256}.{extension}`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the name of an archive")]
pub struct ArchiveNameError;

impl FromStr for ArchiveKey {
    type Err = ArchiveNameError;

    /// Reads [`ArchiveKey::file_name`], in its canonical form only.
    fn from_str(text: &str) -> Result<Self, ArchiveNameError> {
        let (digest, extension) = text.split_once('.').ok_or(ArchiveNameError)?;
        if digest.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(ArchiveNameError);
        }
        Ok(Self {
            digest: digest.parse().map_err(|_| ArchiveNameError)?,
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
    use crate::limits;

    /// These texts are what is stored: changing one needs a migration of every bucket.
    #[test]
    fn the_layout_is_pinned() {
        let provider = Package::Provider("acme/widget".parse().unwrap());
        let mirrored = Package::Mirrored("registry.example.com/acme/widget".parse().unwrap());
        let module = Package::Module("acme/vpc/aws".parse().unwrap());
        let version: Version = "1.2.3+b.1".parse().unwrap();
        let archive = ArchiveKey::of(b"", ArchiveKind::Archive(ArchiveFormat::TarGz));
        for (key, text) in [
            (
                FactKey::Release(provider.clone(), version.clone()).to_string(),
                "releases/providers/hosted/acme/widget/1.2.3+b.1",
            ),
            (
                FactKey::Release(module.clone(), version.clone()).to_string(),
                "releases/modules/acme/vpc/aws/1.2.3+b.1",
            ),
            (
                FactKey::Release(mirrored.clone(), version.clone()).to_string(),
                "releases/providers/registry.example.com/acme/widget/1.2.3+b.1",
            ),
            (
                FactKey::Change(mirrored.clone()).to_string(),
                "changes/providers/registry.example.com/acme/widget",
            ),
            (
                IndexKey::MirrorVersions(mirrored.clone()).to_string(),
                "providers/registry.example.com/acme/widget/mirror",
            ),
            (
                IndexKey::MirrorVersions(provider.clone()).to_string(),
                "providers/hosted/acme/widget/mirror",
            ),
            (
                IndexKey::Version(mirrored, version.clone()).to_string(),
                "providers/registry.example.com/acme/widget/version/1.2.3+b.1",
            ),
            (
                FactKey::Change(provider.clone()).to_string(),
                "changes/providers/hosted/acme/widget",
            ),
            (
                FactKey::SigningKeys("acme".parse().unwrap()).to_string(),
                "keys/acme",
            ),
            (
                archive.to_string(),
                "archives/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.tar.gz",
            ),
            (
                IndexKey::Versions(provider.clone()).to_string(),
                "providers/hosted/acme/widget/versions",
            ),
            (
                IndexKey::Version(provider, version.clone()).to_string(),
                "providers/hosted/acme/widget/version/1.2.3+b.1",
            ),
            (
                IndexKey::Versions(module.clone()).to_string(),
                "modules/acme/vpc/aws/versions",
            ),
            (
                IndexKey::Version(module, version).to_string(),
                "modules/acme/vpc/aws/version/1.2.3+b.1",
            ),
        ] {
            assert_eq!(key, text);
        }
    }

    #[test]
    fn the_longest_key_fits_kv() {
        let part = "a".repeat(limits::NAME_BYTES);
        let version = format!("1.0.0-{}", "a".repeat(limits::VERSION_BYTES - 6));
        let module = format!("{part}/{part}/{part}").parse().unwrap();
        let key = IndexKey::Version(Package::Module(module), version.parse().unwrap());
        assert!(key.to_string().len() <= 512);
        let label = "a".repeat(limits::PROVIDER_PART_BYTES);
        let rest = "a".repeat(limits::HOSTNAME_BYTES - 3 * (limits::PROVIDER_PART_BYTES + 1));
        let hostname = format!("{label}.{label}.{label}.{rest}");
        let mirrored = format!("{hostname}/{label}/{label}").parse().unwrap();
        let key = IndexKey::Version(Package::Mirrored(mirrored), version.parse().unwrap());
        assert!(key.to_string().len() <= 512);
    }

    #[test]
    fn an_archive_name_reads_back_and_nothing_else_does() {
        for kind in ArchiveKind::ALL {
            let key = ArchiveKey::of(b"x", kind);
            assert_eq!(key.file_name().parse(), Ok(key));
        }
        let name = ArchiveKey::of(b"x", ArchiveKind::Signature).file_name();
        for text in [
            "",
            ".sig",
            name.trim_start_matches(|c: char| c.is_ascii_hexdigit()),
            &name.to_ascii_uppercase(),
            &name.replace("sig", "exe"),
        ] {
            assert_eq!(
                text.parse::<ArchiveKey>(),
                Err(ArchiveNameError),
                "{text:?}"
            );
        }
    }
}

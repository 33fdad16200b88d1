//! A release: one published version, an immutable fact.
//!
//! Each is stored as one JSON document. The release of a hosted package is created once and never replaced; a
//! mirrored one may gain platforms, while its existing contents never change. An operator can erase a release: a tombstone then
//! takes its place. The formats are pinned by tests: changing one needs a new schema number and a way to read the old one.

mod erased;
mod mirrored;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::model::address::{ModuleAddress, ProviderAddress};
use crate::model::package::Package;
use crate::model::package_hash::PackageHash;
use crate::model::platform::Platform;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::provenance::Provenance;
use crate::model::source::SourceDocument;
use crate::model::subdir::Subdir;
use crate::model::version::Version;
use crate::storage::key::{ArchiveKey, ArchiveKind};
use terrace_archive::ArchiveFormat;
use terrace_base::digest::Sha256;
use terrace_base::json;
use terrace_base::time::UnixTime;
use terrace_openpgp::KeyId;

pub use erased::{ErasedArchive, ErasedRelease};
pub use mirrored::{MirroredContents, MirroredRelease, OfferedPackage, SignedDocument};

/// The schema of the documents written here.
const SCHEMA: u32 = 1;

/// One published version of a provider or a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Release {
    /// A version of a provider hosted here.
    Provider(ProviderRelease),
    /// A version of a provider of another registry.
    Mirrored(MirroredRelease),
    /// A version of a module.
    Module(ModuleRelease),
    /// The tombstone of a version that an operator has erased. An older Worker rejects it as a damaged document.
    Erased(ErasedRelease),
}

/// The fields that every release document begins with.
#[derive(Deserialize)]
struct Head {
    kind: Kind,
    schema: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Provider,
    Mirrored,
    Module,
    Erased,
}

/// A published version of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderRelease {
    schema: u32,
    /// The provider's address.
    pub address: ProviderAddress,
    /// The version of the provider.
    pub version: Version,
    /// The time of the commit.
    pub published_at: UnixTime,
    /// The plugin protocols that it speaks, ascending.
    pub protocols: Vec<ProtocolVersion>,
    /// The digest of the SHA256SUMS text.
    pub shasums: Sha256,
    /// The digest of its binary signature.
    pub signature: Sha256,
    /// The key that made the signature, as it was at the commit.
    pub signing_key: SigningKeyDocument,
    /// The packages, one for each platform, ascending by platform.
    pub packages: Vec<PackageDocument>,
    /// The repository that it was built from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceDocument>,
    /// The job that published it, if it was a job with a verified identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Whether SHA256SUMS lists a manifest that the publisher did not have; absent if not. The protocols are then those
    /// that another registry stated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub manifest_missing: bool,
}

/// The public key that signed a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningKeyDocument {
    /// The key's ID.
    pub key_id: KeyId,
    /// The whole fingerprint, in lower-case hexadecimal digits.
    pub fingerprint: String,
    /// The key in ASCII armour.
    pub ascii_armor: String,
}

/// A platform's zip within a provider release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageDocument {
    /// The platform that it runs on.
    pub platform: Platform,
    /// Its file name in SHA256SUMS.
    pub filename: String,
    /// Its digest, which is also its key and its `zh:` hash.
    pub sha256: Sha256,
    /// Its length in bytes.
    pub size: u64,
    /// The `h1:` hash of its contents, as the publisher computed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub h1: Option<PackageHash>,
    /// The digest of the SHA256SUMS that lists it, among those of a mirrored release. A hosted release has one for all packages,
    /// and names none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shasums: Option<Sha256>,
}

/// Returns a reason for each package whose file name another platform's package has as well: one SHA256SUMS cannot list both.
pub(crate) fn same_file_names(packages: &[PackageDocument]) -> Vec<String> {
    let mut names = BTreeMap::new();
    let twice = packages.iter().filter_map(|it| {
        let PackageDocument {
            platform, filename, ..
        } = it;
        let other = names.insert(filename, platform)?;
        (other != platform)
            .then(|| format!("{other} and {platform} have the same file name {filename}"))
    });
    twice.collect()
}

/// A published version of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleRelease {
    schema: u32,
    /// The module's address.
    pub address: ModuleAddress,
    /// The version of the module.
    pub version: Version,
    /// The time of the commit.
    pub published_at: UnixTime,
    /// The archive of the module.
    pub archive: ModuleArchiveDocument,
    /// The repository that it was built from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceDocument>,
    /// The job that published it, if it was a job with a verified identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// The archive of a module release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleArchiveDocument {
    /// The archive's format.
    pub format: ArchiveFormat,
    /// Its digest, which is also its key.
    pub sha256: Sha256,
    /// Its length in bytes.
    pub size: u64,
    /// The directory of the module within the archive, if not the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subdir: Option<Subdir>,
}

/// The contents of a provider release, without its address, version and signing key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderContents {
    /// The plugin protocols that it speaks.
    pub protocols: Vec<ProtocolVersion>,
    /// The digest of the SHA256SUMS text.
    pub shasums: Sha256,
    /// The digest of the binary signature.
    pub signature: Sha256,
    /// The packages, one for each platform.
    pub packages: Vec<PackageDocument>,
    /// The repository that it was built from. It is not compared: the first publisher's value is kept.
    pub source: Option<SourceDocument>,
    /// The job that publishes it. It is not compared either.
    pub provenance: Option<Provenance>,
    /// Whether the publisher lacks the manifest that SHA256SUMS lists. It is not compared either.
    pub manifest_missing: bool,
}

impl ProviderRelease {
    /// Creates the release as it is committed.
    pub fn new(
        address: ProviderAddress,
        version: Version,
        contents: ProviderContents,
        signing_key: SigningKeyDocument,
        published_at: UnixTime,
    ) -> Self {
        let ProviderContents {
            protocols,
            shasums,
            signature,
            packages,
            source,
            provenance,
            manifest_missing,
        } = contents;
        Self {
            schema: SCHEMA,
            address,
            version,
            published_at,
            protocols,
            shasums,
            signature,
            signing_key,
            packages,
            source,
            provenance,
            manifest_missing,
        }
    }

    /// Lists the differences that make `other` another release; empty if it is the same.
    pub fn differences(&self, other: &ProviderContents) -> Vec<String> {
        let mut found = Vec::new();
        if self.protocols != other.protocols {
            found.push("its protocols differ".to_owned());
        }
        if self.shasums != other.shasums {
            found.push(format!("its SHA256SUMS has the digest {}", self.shasums));
        }
        if self.signature != other.signature {
            found.push(format!("its signature has the digest {}", self.signature));
        }
        // The `h1:` hash follows from the archive, and not every publisher sends it.
        let archive = |package: &PackageDocument| {
            let PackageDocument {
                platform,
                sha256,
                size,
                ..
            } = package;
            format!("{platform} has the sha256 {sha256} and {size} bytes")
        };
        let theirs: Vec<String> = other.packages.iter().map(archive).collect();
        let ours = self.packages.iter().map(archive);
        found.extend(ours.filter(|package| !theirs.contains(package)));
        if self.packages.len() != other.packages.len() {
            found.push(format!("it has {} packages", self.packages.len()));
        }
        found
    }
}

impl ModuleRelease {
    /// Creates the release as it is committed.
    pub fn new(
        address: ModuleAddress,
        version: Version,
        archive: ModuleArchiveDocument,
        published_at: UnixTime,
    ) -> Self {
        Self {
            schema: SCHEMA,
            address,
            version,
            published_at,
            archive,
            source: None,
            provenance: None,
        }
    }

    /// Lists the differences that make `other` another release; empty if it is the same.
    pub fn differences(&self, other: &ModuleArchiveDocument) -> Vec<String> {
        if self.archive == *other {
            return Vec::new();
        }
        vec![format!(
            "its archive is a {} of {} bytes with sha256 {}",
            self.archive.format, self.archive.size, self.archive.sha256
        )]
    }
}

impl PackageDocument {
    /// Returns the package without the SHA256SUMS that lists it, which no client of a mirror requests.
    #[must_use]
    pub(crate) fn unsigned(&self) -> Self {
        Self {
            shasums: None,
            ..self.clone()
        }
    }

    /// The key under which its bytes are stored.
    pub fn archive_key(&self) -> ArchiveKey {
        ArchiveKey {
            digest: self.sha256,
            kind: ArchiveKind::Archive(ArchiveFormat::Zip),
        }
    }
}

impl ModuleArchiveDocument {
    /// The key under which its bytes are stored.
    pub fn archive_key(&self) -> ArchiveKey {
        ArchiveKey {
            digest: self.sha256,
            kind: ArchiveKind::Archive(self.format),
        }
    }
}

impl Release {
    /// The package of which this is a version.
    pub fn package(&self) -> Package {
        match self {
            Self::Provider(release) => Package::Provider(release.address.clone()),
            Self::Mirrored(release) => Package::Mirrored(release.address.clone()),
            Self::Module(release) => Package::Module(release.address.clone()),
            Self::Erased(release) => release.package.clone(),
        }
    }

    /// The version of the package.
    pub fn version(&self) -> &Version {
        match self {
            Self::Provider(release) => &release.version,
            Self::Mirrored(release) => &release.version,
            Self::Module(release) => &release.version,
            Self::Erased(release) => &release.version,
        }
    }

    /// The repository that it was built from, if known; never known for a mirrored release.
    pub fn source(&self) -> Option<&SourceDocument> {
        match self {
            Self::Provider(release) => release.source.as_ref(),
            Self::Mirrored(_) | Self::Erased(_) => None,
            Self::Module(release) => release.source.as_ref(),
        }
    }

    /// The job that published it; for a mirrored release, the job that mirrored its first platform.
    pub fn provenance(&self) -> Option<&Provenance> {
        match self {
            Self::Provider(release) => release.provenance.as_ref(),
            Self::Mirrored(release) => release.provenance.as_ref(),
            Self::Module(release) => release.provenance.as_ref(),
            Self::Erased(_) => None,
        }
    }

    /// The time of the commit; for a mirrored release, that of its first platform.
    pub fn published_at(&self) -> UnixTime {
        match self {
            Self::Provider(release) => release.published_at,
            Self::Mirrored(release) => release.published_at,
            Self::Module(release) => release.published_at,
            Self::Erased(release) => release.published_at,
        }
    }

    /// Returns the tombstone, if the release was erased.
    pub fn erased(&self) -> Option<&ErasedRelease> {
        match self {
            Self::Erased(tombstone) => Some(tombstone),
            Self::Provider(_) | Self::Mirrored(_) | Self::Module(_) => None,
        }
    }

    /// Returns whether the stored release may have gained contents since it was read.
    pub fn may_grow(&self) -> bool {
        matches!(self, Self::Mirrored(_))
    }

    /// Returns the JSON document to store.
    pub fn to_document(&self) -> String {
        json::to_string(self)
    }

    /// Parses a stored document, under the same rules as a publish.
    ///
    /// # Errors
    /// The reason why it is not a release, or that it has a schema that this version does not know.
    pub fn from_document(text: &[u8]) -> Result<Self, String> {
        // Two passes, because the code that serde generates for a tagged enum is 15 KB of wasm.
        let Head { kind, schema } = parsed(text)?;
        if schema != SCHEMA {
            return Err(format!(
                "the release document has schema {schema}, but this version of Terrace reads only schema {SCHEMA}"
            ));
        }
        Ok(match kind {
            Kind::Provider => Self::Provider(parsed(text)?),
            Kind::Mirrored => Self::Mirrored(parsed(text)?),
            Kind::Module => Self::Module(parsed(text)?),
            Kind::Erased => Self::Erased(parsed(text)?),
        })
    }
}

fn parsed<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| format!("not a release document: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::admin::MirroredBody;
    use crate::limits;
    use crate::model::provenance::tests::{COMMIT, provenance};
    use crate::pinned::assert_pinned;

    const DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn pinned_provider() -> String {
        format!(
            r#"{{"kind":"provider","schema":1,"address":"acme/widget","version":"1.2.3","published_at":1800000000,"protocols":["5.0","6.0"],"shasums":"{DIGEST}","signature":"{DIGEST}","signing_key":{{"key_id":"51852D87348FFC4C","fingerprint":"91a6e7f85d05c65630bef18951852d87348ffc4c","ascii_armor":"-----BEGIN"}},"packages":[{{"platform":"linux_amd64","filename":"terraform-provider-widget_1.2.3_linux_amd64.zip","sha256":"{DIGEST}","size":22,"h1":"h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}}]}}"#
        )
    }

    #[test]
    fn two_packages_of_a_mirrored_release_have_two_file_names() {
        let release = mirrored();
        let mut package = release.packages[0].clone();
        package.platform = "windows_amd64".parse().unwrap();
        package.sha256 = Sha256::of(b"windows");
        let contents = |package: &PackageDocument| MirroredContents {
            protocols: Vec::new(),
            signed: Vec::new(),
            packages: vec![package.clone()],
        };
        assert_eq!(
            release.with(&contents(&package)).unwrap_err(),
            [
                "linux_amd64 and windows_amd64 have the same file name terraform-provider-widget_1.2.3_linux_amd64.zip"
            ]
        );
        package.filename = "other.zip".to_owned();
        let two = release.with(&contents(&package)).unwrap();
        assert_eq!(two.packages.len(), 2);
    }

    #[test]
    fn a_mirrored_release_with_huge_keys_does_not_grow() {
        let mut release = mirrored();
        let key = &mut release.signed[0].signing_key.ascii_armor;
        *key = "k".repeat(limits::SIGNING_KEYS_BYTES + 1);
        let offer = release.offered[0].clone();
        let refused = release.with_stored(&offer, 22).unwrap_err();
        assert!(refused.contains("signing keys"), "{refused}");
    }

    #[test]
    fn a_mirrored_release_without_packages_is_not_signed() {
        let mut release = mirrored();
        assert!(MirroredBody::from(&release).signed);
        release.packages.clear();
        assert!(!MirroredBody::from(&release).signed);
    }

    fn mirrored() -> MirroredRelease {
        match Release::from_document(pinned_mirrored().as_bytes()) {
            Ok(Release::Mirrored(release)) => release,
            other => panic!("{other:?}"),
        }
    }

    fn pinned_mirrored() -> String {
        format!(
            r#"{{"kind":"mirrored","schema":1,"address":"registry.example.com/acme/widget","version":"1.2.3","published_at":1800000000,"protocols":["5.0"],"signed":[{{"shasums":"{DIGEST}","signature":"{DIGEST}","signing_key":{{"key_id":"51852D87348FFC4C","fingerprint":"91a6e7f85d05c65630bef18951852d87348ffc4c","ascii_armor":"-----BEGIN"}}}}],"packages":[{{"platform":"linux_amd64","filename":"terraform-provider-widget_1.2.3_linux_amd64.zip","sha256":"{DIGEST}","size":22,"shasums":"{DIGEST}"}}],"offered":[{{"platform":"linux_arm64","filename":"widget-arm64.zip","sha256":"{DIGEST}","shasums":"{DIGEST}"}}]}}"#
        )
    }

    fn pinned_module() -> String {
        format!(
            r#"{{"kind":"module","schema":1,"address":"acme/vpc/aws","version":"1.2.3","published_at":1800000000,"archive":{{"format":"tar.gz","sha256":"{DIGEST}","size":22,"subdir":"src"}}}}"#
        )
    }

    fn pinned_mirrored_module() -> String {
        let module =
            with_source(&pinned_module()).replace("acme/vpc", "registry.example.com/acme/vpc");
        let place = format!(r#""claimed":true,"directory":"modules/vpc","tree":"{DIGEST}""#);
        module.replace(r#""claimed":true"#, &place)
    }

    fn pinned_tombstone() -> String {
        format!(
            r#"{{"kind":"erased","schema":1,"package":"modules/acme/vpc/aws","version":"1.2.3","published_at":1800000000,"erased_at":1800000001,"reason":"a leaked key","archives":["archives/{DIGEST}.zip","archives/{DIGEST}.docs"],"contents":["{DIGEST}"]}}"#
        )
    }

    #[test]
    fn a_tombstone_keeps_nothing_of_its_publisher() {
        let verified = with_provenance(&with_verified_source(&pinned_provider()));
        let release = Release::from_document(verified.as_bytes()).unwrap();
        let reason = "a leaked key".parse().unwrap();
        let tombstone = ErasedRelease::new(&release, Vec::new(), Vec::new(), (UnixTime(9), reason));
        let document = Release::Erased(tombstone).to_document();
        for text in [
            "filename",
            "armor",
            "BEGIN",
            "source",
            "provenance",
            "github",
        ] {
            assert!(!document.contains(text), "{text}: {document}");
        }
    }

    #[test]
    fn a_tombstone_of_anything_but_a_version_is_rejected() {
        let pinned = pinned_tombstone();
        for (from, to) in [
            ("modules/acme/vpc/aws", "acme/vpc/aws"),
            ("modules/acme/vpc/aws", "modules/acme/vpc"),
            ("archives/", "archive/"),
            (".zip", ".exe"),
            ("a leaked key", ""),
            ("erased", "removed"),
        ] {
            let text = pinned.replacen(from, to, 1);
            assert!(Release::from_document(text.as_bytes()).is_err(), "{text}");
        }
    }

    /// Adds the field that is absent if the source is unknown.
    fn with_source(document: &str) -> String {
        let source = r#""source":{"url":"https://github.com/acme/widget","claimed":true}"#;
        let fields = document.strip_suffix('}').unwrap();
        format!("{fields},{source}}}")
    }

    /// Adds the fields of a release that a job published.
    fn with_provenance(document: &str) -> String {
        let provenance = provenance().to_text().unwrap();
        let fields = document.strip_suffix('}').unwrap();
        format!(r#"{fields},"provenance":{}}}"#, provenance.as_str())
    }

    /// Adds the field of a release without its manifest.
    fn without_manifest(document: &str) -> String {
        let fields = document.strip_suffix('}').unwrap();
        format!(r#"{fields},"manifest_missing":true}}"#)
    }

    /// Adds a verified source with a commit.
    fn with_verified_source(document: &str) -> String {
        let claimed = r#""claimed":true"#;
        let verified = format!(r#""claimed":false,"commit":"{COMMIT}""#);
        with_source(document).replace(claimed, &verified)
    }

    /// The stored documents: changing a byte of the format needs a migration.
    #[test]
    fn the_stored_formats_are_pinned() {
        for pinned in [
            pinned_provider(),
            with_source(&pinned_provider()),
            with_provenance(&with_verified_source(&pinned_provider())),
            without_manifest(&pinned_provider()),
            pinned_mirrored(),
            with_provenance(&pinned_mirrored()),
            pinned_module(),
            with_source(&pinned_module()),
            pinned_mirrored_module(),
            with_provenance(&with_verified_source(&pinned_module())),
            pinned_tombstone(),
        ] {
            let release = Release::from_document(pinned.as_bytes()).unwrap();
            assert_pinned(&release.to_document(), &pinned);
        }
    }

    #[test]
    fn a_document_of_another_schema_or_shape_is_rejected() {
        let newer = pinned_module().replace("\"schema\":1", "\"schema\":2");
        let error = Release::from_document(newer.as_bytes()).unwrap_err();
        assert!(error.contains("has schema 2"), "{error}");
        for text in [
            "",
            "{}",
            "[]",
            &pinned_module().replace("acme/vpc/aws", "acme/vpc"),
        ] {
            let error = Release::from_document(text.as_bytes()).unwrap_err();
            assert!(
                error.starts_with("not a release document"),
                "{text}: {error}"
            );
        }
    }
}

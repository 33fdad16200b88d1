//! Parses stored keys, only in their canonical spelling, so that each key has exactly one text.

use super::{
    ARCHIVES, ArchiveKey, BLOBS, BytesKey, CARDS, FORMAT, FactKey, GARBAGE, IndexKey, PushedFact,
    PushedIndex, STAGED, UPLOADS, WEBHOOKS,
};
use crate::model::oci::{Digest, RepositoryName, Tag};
use crate::model::owner::Owner;
use crate::model::package::Package;

/// Prefixes below which nothing belongs in a copy of the registry: bytes, which are copied separately, temporary
/// documents, and functions of other facts.
pub const NOT_EXPORTED: [&str; 14] = [
    ARCHIVES,
    "audit-head",
    CARDS,
    "changes/",
    // The state of this deployment.
    "failover/",
    GARBAGE,
    STAGED,
    "leases/",
    BLOBS,
    "oci/changes/",
    UPLOADS,
    "repair/",
    // Configuration: its URLs may be secrets.
    WEBHOOKS,
    "written/",
];

impl FactKey {
    /// Parses the key of an exported fact, or of a garbage mark; `None` for a key of another shape, and for the
    /// other keys below [`NOT_EXPORTED`].
    pub fn parse(text: &str) -> Option<Self> {
        let key = Self::read(text)?;
        (key.to_string() == text).then_some(key)
    }

    fn read(text: &str) -> Option<Self> {
        if text == FORMAT {
            return Some(Self::Format);
        }
        let (kind, rest) = text.split_once('/')?;
        let of_version = || {
            let (package, version) = rest.rsplit_once('/')?;
            Some((Package::parse_key(package)?, version.parse().ok()?))
        };
        match kind {
            "releases" => of_version().map(|(package, version)| Self::Release(package, version)),
            "docs" => of_version().map(|(package, version)| Self::Documentation(package, version)),
            "oci" => read_pushed(rest).map(Self::Pushed),
            "statuses" => Package::parse_key(rest).map(Self::Status),
            "audit" => rest.parse().ok().map(Self::Audit),
            "tokens" => rest.parse().ok().map(Self::Token),
            "revocations" => rest.parse().ok().map(Self::Revocation),
            "rules" => rest.parse().ok().map(Self::Rule),
            "garbage" => {
                let bytes = rest.parse().ok();
                let has_mark = |bytes: &BytesKey| !matches!(bytes, BytesKey::Staged(_));
                bytes.filter(has_mark).map(Self::Garbage)
            }
            "origins" => rest.parse().ok().map(Self::Origin),
            "keys" => rest.parse().ok().map(Self::SigningKeys),
            _ => None,
        }
    }

    /// Parses the key of a release in its form for people: `ADDRESS@VERSION`.
    pub fn parse_release(text: &str) -> Option<Self> {
        let (address, version) = text.rsplit_once('@')?;
        let package = Package::parse_address(address)?;
        Some(Self::Release(package, version.parse().ok()?))
    }

    /// Returns whether the registry never removes it, so that its absence is a loss: a removed rule leaves a tombstone. A client
    /// can delete its pushed content; tokens and documents about an origin are recreated if lost.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Release(..)
            | Self::SigningKeys(_)
            | Self::Status(_)
            | Self::Audit(_)
            | Self::Revocation(_)
            | Self::Rule(_)
            | Self::Format => true,
            Self::Token(_)
            | Self::Origin(_)
            | Self::Pushed(_)
            | Self::Change(_)
            | Self::Written(_)
            | Self::Lease(_)
            | Self::AuditHead
            | Self::RevocationChange
            | Self::RuleChange
            | Self::RepairCursor
            | Self::Failover
            | Self::FallbackCopy
            | Self::Webhooks
            | Self::WebhookState(_)
            | Self::Garbage(_)
            | Self::Documentation(..)
            | Self::Card(_)
            | Self::OwnerChange(_)
            | Self::CatalogChange => false,
        }
    }

    /// Returns whether it is written once and never changes.
    pub fn is_immutable(&self) -> bool {
        match self {
            // A mirrored provider's release gains platforms.
            Self::Release(package, _) => !matches!(package, Package::Mirrored(_)),
            Self::Audit(_) => true,
            _ => false,
        }
    }
}

fn read_pushed(text: &str) -> Option<PushedFact> {
    let (kind, rest) = text.split_once('/')?;
    // A repository's name contains no colon.
    let (repository, name) = rest.split_once(':')?;
    let repository = RepositoryName::parse(repository).ok()?;
    let digest = |text: &str| Digest::parse(text).ok();
    match kind {
        "links" => Some(PushedFact::Link(repository, digest(name)?)),
        "manifests" => Some(PushedFact::Manifest(repository, digest(name)?)),
        "tags" => Some(PushedFact::Tag(repository, Tag::parse(name)?)),
        "referrers" => {
            // Two digests, each of which contains a colon.
            let (algorithm, rest) = name.split_once(':')?;
            let (digits, second) = rest.split_once(':')?;
            let first = digest(&format!("{algorithm}:{digits}"))?;
            Some(PushedFact::Referrer(repository, first, digest(second)?))
        }
        _ => None,
    }
}

impl IndexKey {
    /// Parses the key of an index; `None` for a key of another shape.
    pub fn parse(text: &str) -> Option<Self> {
        let key = Self::read(text)?;
        (key.to_string() == text).then_some(key)
    }

    fn read(text: &str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix("oci/") {
            return read_pushed_index(rest).map(Self::Pushed);
        }
        if text == Self::Revocations.to_string() {
            return Some(Self::Revocations);
        }
        if text == Self::Rules.to_string() {
            return Some(Self::Rules);
        }
        let (first, whole) = text.split_once('/')?;
        match first {
            "failover" => {
                return match whole {
                    "serving" => Some(Self::Failover),
                    "copy" => Some(Self::FailoverCopy),
                    _ => None,
                };
            }
            "catalog" => return Owner::parse_key(whole).map(Self::Catalog),
            "symbols" => return Owner::parse_key(whole).map(Self::Symbols),
            "merged-catalog" => return whole.parse().ok().map(Self::MergedCatalog),
            _ => {}
        }
        let (rest, last) = text.rsplit_once('/')?;
        if let Some(package) = Package::parse_key(rest) {
            return match last {
                "versions" => Some(Self::Versions(package)),
                "mirror" => Some(Self::MirrorVersions(package)),
                "tags" => Some(Self::Tags(package)),
                "overview" => Some(Self::Overview(package)),
                _ => None,
            };
        }
        let (package, kind) = rest.rsplit_once('/')?;
        let package = Package::parse_key(package)?;
        match kind {
            "version" => Some(Self::Version(package, last.parse().ok()?)),
            "tag" => Some(Self::Tag(package, last.parse().ok()?)),
            "about" => Some(Self::About(package, last.parse().ok()?)),
            "sha256" => Some(Self::Content(package, last.parse().ok()?)),
            _ => None,
        }
    }

    /// The package that the index is about, if it is about one.
    pub fn package(&self) -> Option<&Package> {
        match self {
            Self::Versions(package)
            | Self::MirrorVersions(package)
            | Self::Tags(package)
            | Self::Version(package, _)
            | Self::Tag(package, _)
            | Self::Content(package, _)
            | Self::Overview(package)
            | Self::About(package, _) => Some(package),
            Self::Pushed(_)
            | Self::Revocations
            | Self::Rules
            | Self::Failover
            | Self::FailoverCopy
            | Self::Catalog(_)
            | Self::Symbols(_)
            | Self::MergedCatalog(_) => None,
        }
    }
}

fn read_pushed_index(text: &str) -> Option<PushedIndex> {
    let (repository, name) = text.split_once(':')?;
    let repository = RepositoryName::parse(repository).ok()?;
    let (kind, name) = name.split_once(':').unwrap_or((name, ""));
    let digest = || Digest::parse(name).ok();
    match kind {
        "tags" => Some(PushedIndex::Tags(repository)),
        "tag" => Some(PushedIndex::Tag(repository, Tag::parse(name)?)),
        "manifest" => Some(PushedIndex::Manifest(repository, digest()?)),
        "blob" => Some(PushedIndex::Blob(repository, digest()?)),
        _ => None,
    }
}

impl BytesKey {
    /// Parses a whole key, as `Display` writes it.
    pub fn parse_key(text: &str) -> Option<Self> {
        let key = match text.strip_prefix(ARCHIVES) {
            Some(name) => Self::Archive(name.parse::<ArchiveKey>().ok()?),
            None => {
                let digest = text.strip_prefix(BLOBS)?.replacen('/', ":", 1);
                Self::Blob(Digest::parse(&digest).ok()?)
            }
        };
        (key.to_string() == text).then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::oci::UploadId;
    use crate::storage::key::{ArchiveKind, Lease};
    use terrace_archive::ArchiveFormat;
    use terrace_base::digest::Sha256;
    use terrace_base::time::UnixTime;

    fn packages() -> [Package; 4] {
        [
            Package::Provider("acme/widget".parse().unwrap()),
            Package::Mirrored("registry.example.com/acme/widget".parse().unwrap()),
            Package::Module("Acme/vpc_2/aws".parse().unwrap()),
            Package::Module("registry.example.com/Acme/vpc_2/aws".parse().unwrap()),
        ]
    }

    fn archive() -> ArchiveKey {
        ArchiveKey::of(b"", ArchiveKind::Archive(ArchiveFormat::TarGz))
    }

    /// One key of each kind.
    fn facts() -> Vec<FactKey> {
        let mirrored: crate::model::address::MirroredAddress =
            "registry.example.com/acme/widget".parse().unwrap();
        let repository = RepositoryName::parse("team/app").unwrap();
        let digest = Digest::Sha256(Sha256::of(b""));
        let id = "0123456789abcdef".parse().unwrap();
        let mut keys: Vec<FactKey> = packages()
            .into_iter()
            .flat_map(|package| {
                [
                    FactKey::Release(package.clone(), "1.2.3-RC.1+b.1".parse().unwrap()),
                    FactKey::Status(package.clone()),
                    FactKey::Change(package),
                ]
            })
            .collect();
        let pushed = [
            PushedFact::Link(repository.clone(), digest),
            PushedFact::Manifest(repository.clone(), digest),
            PushedFact::Tag(repository.clone(), Tag::parse("Latest_1").unwrap()),
            PushedFact::Referrer(repository.clone(), digest, digest),
            PushedFact::Change(repository),
            PushedFact::Upload(UploadId::new(UnixTime(0), [0; 16])),
        ];
        keys.extend(pushed.map(FactKey::Pushed));
        keys.extend([
            FactKey::SigningKeys("acme".parse().unwrap()),
            FactKey::Origin(mirrored.clone()),
            FactKey::Lease(Lease::Versions(mirrored)),
            FactKey::Audit(7),
            FactKey::AuditHead,
            FactKey::Token(id),
            FactKey::Revocation(id),
            FactKey::RevocationChange,
            FactKey::Rule("0123456789abcdef".parse().unwrap()),
            FactKey::RuleChange,
            FactKey::RepairCursor,
            FactKey::Failover,
            FactKey::FallbackCopy,
            FactKey::Written(IndexKey::Revocations),
            FactKey::Garbage(archive().into()),
            FactKey::Garbage(BytesKey::Blob(digest)),
        ]);
        keys
    }

    fn is_exported(key: &FactKey) -> bool {
        let text = key.to_string();
        !NOT_EXPORTED.iter().any(|prefix| text.starts_with(prefix))
    }

    #[test]
    fn only_exported_keys_and_garbage_marks_are_parsed() {
        for key in facts() {
            let is_parsed = is_exported(&key) || matches!(key, FactKey::Garbage(_));
            let parsed = FactKey::parse(&key.to_string());
            assert_eq!(parsed, is_parsed.then_some(key));
        }
    }

    #[test]
    fn every_index_key_is_parsed() {
        let repository = RepositoryName::parse("team/app").unwrap();
        let digest = Digest::Sha256(Sha256::of(b""));
        let mut keys = vec![
            IndexKey::Revocations,
            IndexKey::Rules,
            IndexKey::Failover,
            IndexKey::FailoverCopy,
        ];
        for package in packages() {
            let version = || "1.2.3-RC.1+b.1".parse().unwrap();
            keys.extend([
                IndexKey::Versions(package.clone()),
                IndexKey::MirrorVersions(package.clone()),
                IndexKey::Tags(package.clone()),
                IndexKey::Version(package.clone(), version()),
                IndexKey::Tag(package.clone(), version()),
                IndexKey::Content(package, Sha256::of(b"")),
            ]);
        }
        let pushed = [
            PushedIndex::Tags(repository.clone()),
            PushedIndex::Tag(repository.clone(), Tag::parse("Latest_1").unwrap()),
            PushedIndex::Manifest(repository.clone(), digest),
            PushedIndex::Blob(repository, digest),
        ];
        keys.extend(pushed.map(IndexKey::Pushed));
        for key in keys {
            assert_eq!(IndexKey::parse(&key.to_string()), Some(key));
        }
    }

    #[test]
    fn keys_of_bytes_are_parsed() {
        for key in [
            BytesKey::Archive(archive()),
            BytesKey::Blob(Digest::Sha256(Sha256::of(b""))),
        ] {
            assert_eq!(BytesKey::parse_key(&key.to_string()), Some(key));
        }
    }

    #[test]
    fn the_shape_of_an_address_determines_the_kind_of_package() {
        for package in packages() {
            assert_eq!(Package::parse_address(&package.address()), Some(package));
        }
        assert_eq!(Package::parse_address("acme"), None);
    }

    #[test]
    fn a_release_is_named_by_its_address_and_version() {
        let key = |text| FactKey::parse_release(text).map(|key| key.to_string());
        assert_eq!(
            key("acme/widget@1.0.0-rc.1+b").as_deref(),
            Some("releases/providers/hosted/acme/widget/1.0.0-rc.1+b")
        );
        assert_eq!(
            key("acme/vpc/aws@1.0.0").as_deref(),
            Some("releases/modules/acme/vpc/aws/1.0.0")
        );
        for text in [
            "acme/widget",
            "acme/widget@",
            "acme@1.0.0",
            "acme/widget@one",
            "@1.0.0",
        ] {
            assert_eq!(key(text), None, "{text}");
        }
    }

    #[test]
    fn a_document_that_is_never_removed_is_exported() {
        for key in facts() {
            assert!(!key.is_permanent() || is_exported(&key), "{key}");
            assert!(!key.is_immutable() || key.is_permanent(), "{key}");
        }
    }

    #[test]
    fn other_spellings_of_keys_are_rejected() {
        let digest = Digest::Sha256(Sha256::of(b"")).to_string();
        for text in [
            "",
            "releases/",
            "releases/providers/hosted/ACME/widget/1.0.0",
            "releases/providers/hosted/acme/widget/v1.0.0",
            "releases/providers/hosted/acme/widget",
            "releases/modules/acme/vpc/aws/1.0",
            "keys/ACME",
            "keys/a/b",
            "tokens/0123",
            "audit/7",
            "statuses/widget",
            "oci/links/app",
            "oci/tags/app:",
            "oci/else/app:latest",
            &format!("oci/referrers/app:{digest}"),
            &format!("oci/manifests/app:{}", digest.to_uppercase()),
        ] {
            assert_eq!(FactKey::parse(text), None, "{text}");
        }
        for text in [
            "",
            "versions",
            "providers/hosted/acme/widget",
            "providers/hosted/acme/widget/else",
            "providers/hosted/acme/widget/version/1",
            "oci/app:tag",
            "oci/app:else:latest",
            "oci/app:tags:latest",
        ] {
            assert_eq!(IndexKey::parse(text), None, "{text}");
        }
        for text in ["archives/x.zip", "oci/blobs/sha256", "oci/blobs/md5/00"] {
            assert_eq!(BytesKey::parse_key(text), None, "{text}");
        }
    }
}

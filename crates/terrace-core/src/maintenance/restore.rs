//! Documents of a copy that are imported into a registry: whether this registry could have written each under
//! its key, and the content that must be stored before it.
//!
//! A document is stored byte for byte, so that a copy of a registry is the same registry: a release keeps the
//! time of its publish and the key that signed it. The checks of an archive at its publish are not repeated;
//! the check that it exists with its digest is.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::admin::SigningKeysDocument;
use crate::auth::access::{RevocationDocument, TokenDocument};
use crate::auth::oidc::RuleDocument;
use crate::index::digests;
use crate::maintenance::garbage::{GarbageDocument, GarbageState};
use crate::model::oci::Digest;
use crate::model::status::{
    KeyState, KeyStatus, Reason, ReleaseState, ReleaseStatus, StatusDocument,
};
use crate::oci::pushed::{LinkDocument, PushedManifest, TagDocument, referrer_metadata};
use crate::publish::release_metadata;
use crate::storage::documentation::{DocumentationArchive, DocumentationDocument};
use crate::storage::format::FormatDocument;
use crate::storage::key::{ArchiveKey, ArchiveKind, BytesKey, FactKey, PushedFact};
use crate::storage::release::{ErasedRelease, PackageDocument, Release};
use crate::upstream::pull::OriginDocument;
use terrace_archive::ArchiveFormat;
use terrace_base::digest::Sha256;
use terrace_base::json;
use terrace_base::time::UnixTime;
use terrace_openpgp::parse_signing_keys;

/// The reason why the audit log of one registry is never imported into another: each describes the changes of
/// its own registry. Entries from outside could be forged, and their numbers are taken by the entries about
/// the import itself.
const LOG: &str = "an audit log is kept with a copy and never restored: it describes the changes of another registry";

/// A document that may be stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// The metadata of its object.
    pub metadata: Vec<(&'static str, String)>,
    /// The bytes that must be stored before it, with their length if it is known.
    pub bytes: Vec<StoredReference>,
    /// A document that must be stored before it.
    pub fact: Option<FactKey>,
    /// The change marker to rewrite after it.
    pub change: Option<FactKey>,
}

/// Bytes that a document refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredReference {
    /// The key of the bytes.
    pub key: BytesKey,
    /// Their length, if the document contains it.
    pub size: Option<u64>,
}

impl Release {
    /// Returns the tombstone of this release and its documentation.
    pub fn tombstone(
        &self,
        documentation: impl IntoIterator<Item = ArchiveKey>,
        (erased_at, reason): (UnixTime, Reason),
    ) -> ErasedRelease {
        let archives = self.stored().into_iter().filter_map(|it| match it.key {
            BytesKey::Archive(archive) => Some(archive),
            BytesKey::Staged(_) | BytesKey::Blob(_) => None,
        });
        let archives = archives.chain(documentation).collect();
        ErasedRelease::new(self, archives, digests(self), (erased_at, reason))
    }

    /// Returns all bytes that the release consists of.
    pub fn stored(&self) -> Vec<StoredReference> {
        let signed = |shasums: Sha256, signature: Sha256| {
            [
                reference(shasums, ArchiveKind::Shasums, None),
                reference(signature, ArchiveKind::Signature, None),
            ]
        };
        let package = |package: &PackageDocument| {
            let kind = ArchiveKind::Archive(ArchiveFormat::Zip);
            reference(package.sha256, kind, Some(package.size))
        };
        match self {
            Self::Provider(release) => {
                let packages = release.packages.iter().map(package);
                packages
                    .chain(signed(release.shasums, release.signature))
                    .collect()
            }
            Self::Mirrored(release) => {
                let packages = release.packages.iter().map(package);
                let documents = release.signed.iter();
                let documents = documents.flat_map(|it| signed(it.shasums, it.signature));
                packages.chain(documents).collect()
            }
            Self::Module(release) => vec![StoredReference {
                key: release.archive.archive_key().into(),
                size: Some(release.archive.size),
            }],
            // Whether its archives are erased is up to their own tombstones.
            Self::Erased(_) => Vec::new(),
        }
    }
}

fn reference(digest: Sha256, kind: ArchiveKind, size: Option<u64>) -> StoredReference {
    StoredReference {
        key: ArchiveKey { digest, kind }.into(),
        size,
    }
}

impl Restored {
    /// Parses a document.
    ///
    /// # Errors
    /// The reason why no registry of this version has written it under this key.
    pub fn parse(key: &FactKey, document: &str) -> Result<Self, String> {
        match key {
            FactKey::Release(package, version) => {
                let release = Release::from_document(document.as_bytes())?;
                if release.package() != *package || release.version() != version {
                    let (package, version) = (release.package(), release.version());
                    return Err(format!("it describes {} {version}", package.address()));
                }
                same(document, release.to_document())?;
                Ok(Self {
                    metadata: release_metadata(&release),
                    bytes: release.stored(),
                    fact: None,
                    change: Some(FactKey::Change(package.clone())),
                })
            }
            FactKey::Documentation(package, _) => {
                let documentation = DocumentationDocument::from_document(document.as_bytes())?;
                same(document, documentation.to_document())?;
                let archive = &documentation.archive;
                DocumentationArchive::check_lengths(archive.size, archive.head_length)?;
                Ok(Self {
                    metadata: documentation.metadata(),
                    bytes: vec![StoredReference {
                        key: archive.archive_key().into(),
                        size: Some(archive.size),
                    }],
                    fact: None,
                    change: Some(FactKey::Change(package.clone())),
                })
            }
            FactKey::SigningKeys(_) => {
                let keys: SigningKeysDocument = read(document)?;
                for key in keys.keys.iter().chain(&keys.removed) {
                    parse_signing_keys(&key.ascii_armor)
                        .map_err(|error| format!("key {}: {error}", key.key_id))?;
                }
                Ok(Self::default())
            }
            FactKey::Status(package) => {
                read::<StatusDocument>(document)?;
                Ok(Self {
                    change: Some(FactKey::Change(package.clone())),
                    ..Self::default()
                })
            }
            FactKey::Audit(_) => Err(LOG.to_owned()),
            FactKey::Origin(_) => OriginDocument::from_document(document.as_bytes())
                .map(|_| Self::default())
                .map_err(text_of),
            FactKey::Token(_) => read::<TokenDocument>(document).map(|_| Self::default()),
            FactKey::Revocation(_) => {
                let revocation: RevocationDocument = read(document)?;
                Ok(Self {
                    metadata: revocation.to_metadata(),
                    change: Some(FactKey::RevocationChange),
                    ..Self::default()
                })
            }
            FactKey::Rule(_) => {
                let rule: RuleDocument = read(document)?;
                rule.parse().map_err(text_of)?;
                Ok(Self {
                    metadata: rule.to_metadata(),
                    change: Some(FactKey::RuleChange),
                    ..Self::default()
                })
            }
            FactKey::Garbage(_) => {
                let mark: GarbageDocument = read(document)?;
                match (mark.state, &mark.reason) {
                    (GarbageState::Erased, Some(_)) => Ok(Self::default()),
                    _ => Err("marks of archives that may be removed are not part of a copy, only tombstones are: remove it".to_owned()),
                }
            }
            FactKey::Format => read::<FormatDocument>(document).map(|_| Self::default()),
            FactKey::Pushed(fact) => Self::parse_pushed(fact, document),
            _ => Err("documents of this kind are not part of a copy: remove it".to_owned()),
        }
    }

    fn parse_pushed(fact: &PushedFact, document: &str) -> Result<Self, String> {
        match fact {
            PushedFact::Link(_, digest) => {
                let link: LinkDocument = read(document)?;
                let key = BytesKey::Blob(*digest);
                let size = Some(link.size);
                Ok(Self {
                    bytes: vec![StoredReference { key, size }],
                    ..Self::default()
                })
            }
            PushedFact::Manifest(_, digest) => {
                let found = digest.of_same_kind(document.as_bytes());
                if found != *digest {
                    return Err(format!(
                        "its digest is {found}, which differs from the one in its key"
                    ));
                }
                PushedManifest::parse(document.as_bytes())
                    .map(|_| Self::default())
                    .map_err(|error| error.message().to_owned())
            }
            PushedFact::Tag(repository, _) => {
                let tag: TagDocument = read(document)?;
                let manifest = PushedFact::Manifest(repository.clone(), tag.digest);
                let change = PushedFact::Change(repository.clone());
                Ok(Self {
                    metadata: tag.to_metadata(),
                    bytes: Vec::new(),
                    // A tombstone refers to no manifest.
                    fact: (!tag.is_tombstone).then_some(FactKey::Pushed(manifest)),
                    change: Some(FactKey::Pushed(change)),
                })
            }
            PushedFact::Referrer(repository, _, digest) => {
                let manifest = PushedFact::Manifest(repository.clone(), *digest);
                Ok(Self {
                    fact: Some(FactKey::Pushed(manifest)),
                    ..Self::default()
                })
            }
            PushedFact::Change(_) | PushedFact::Upload(_) => {
                Err("documents of this kind are not part of a copy: remove it".to_owned())
            }
        }
    }
}

/// Merges the revocations of a copy into a stored document that differs: a version or key that is revoked in either is
/// revoked, and everything that is blocked in either is blocked, because otherwise an import could make content
/// installable again that was found to be dangerous. `None` if there is nothing to add.
pub fn with_revocations(key: &FactKey, there: &[u8], copy: &str) -> Option<String> {
    match key {
        FactKey::Status(_) => {
            let mut statuses: StatusDocument = serde_json::from_slice(there).ok()?;
            let copied: StatusDocument = read(copy).ok()?;
            let is_revoked = |it: &ReleaseStatus| it.state == ReleaseState::Revoked;
            let before = statuses.clone();
            for (version, status) in copied.versions {
                let known = statuses.versions.get(&version);
                if is_revoked(&status) && !known.is_some_and(is_revoked) {
                    statuses.versions.insert(version, status);
                }
            }
            for (version, block) in copied.blocked_versions {
                statuses.blocked_versions.entry(version).or_insert(block);
            }
            statuses.blocked = statuses.blocked.or(copied.blocked);
            let text = json::to_string(&statuses);
            (statuses != before).then_some(text)
        }
        FactKey::SigningKeys(_) => {
            let mut keys: SigningKeysDocument = serde_json::from_slice(there).ok()?;
            let copied: SigningKeysDocument = read(copy).ok()?;
            let is_revoked = |it: &KeyStatus| it.state == KeyState::Revoked;
            let mut is_changed = false;
            for (id, status) in copied.statuses {
                if is_revoked(&status) && !keys.statuses.get(&id).is_some_and(is_revoked) {
                    keys.statuses.insert(id, status);
                    is_changed = true;
                }
            }
            let text = json::to_string(&keys);
            is_changed.then_some(text)
        }
        FactKey::Rule(_) => {
            let rule: RuleDocument = serde_json::from_slice(there).ok()?;
            let copied: RuleDocument = read(copy).ok()?;
            let removed = rule.is_active().then_some(copied.removed).flatten()?;
            let removed = RuleDocument {
                removed: Some(removed),
                ..rule
            };
            Some(json::to_string(&removed))
        }
        _ => None,
    }
}

/// Checks that a document about a referrer follows from its manifest, and returns the metadata of its object.
///
/// # Errors
/// The reason why it does not.
pub fn check_referrer(
    document: &str,
    subject: Digest,
    manifest: &[u8],
    digest: Digest,
) -> Result<Vec<(&'static str, String)>, String> {
    let parsed = PushedManifest::parse(manifest).map_err(|error| error.message().to_owned())?;
    if parsed.subject() != Some(subject) {
        return Err(format!(
            "the manifest {digest} has a different subject than this referrer entry"
        ));
    }
    let referrer = parsed.referrer(manifest, digest);
    same(
        document,
        referrer.map_err(|error| error.message().to_owned())?,
    )?;
    Ok(referrer_metadata(&parsed))
}

/// Parses a document. It must be written exactly as this version writes it, so that it contains nothing that
/// would be lost, or read differently by another version.
fn read<T: DeserializeOwned + Serialize>(document: &str) -> Result<T, String> {
    let read: T = serde_json::from_slice(document.as_bytes()).map_err(text_of)?;
    same(document, json::to_string(&read))?;
    Ok(read)
}

fn same(document: &str, written: String) -> Result<(), String> {
    if document == written {
        return Ok(());
    }
    Err("its encoding differs from that of this version of Terrace".to_owned())
}

fn text_of(error: impl ToString) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn module() -> String {
        format!(
            r#"{{"kind":"module","schema":1,"address":"acme/vpc/aws","version":"1.2.3","published_at":1800000000,"archive":{{"format":"tar.gz","sha256":"{DIGEST}","size":22,"subdir":"src"}}}}"#
        )
    }

    fn parse(key: &str, document: &str) -> Result<Restored, String> {
        Restored::parse(&FactKey::parse(key).unwrap(), document)
    }

    #[test]
    fn a_release_lists_the_bytes_that_must_be_stored_before_it() {
        let restored = parse("releases/modules/acme/vpc/aws/1.2.3", &module()).unwrap();
        let [needed] = restored.bytes.as_slice() else {
            panic!("{restored:?}");
        };
        assert_eq!(needed.key.to_string(), format!("archives/{DIGEST}.tar.gz"));
        assert_eq!(needed.size, Some(22));
        assert_eq!(
            restored.change.unwrap().to_string(),
            "changes/modules/acme/vpc/aws"
        );
    }

    #[test]
    fn a_document_that_no_registry_has_written_is_rejected() {
        let document = module();
        let key = "releases/modules/acme/vpc/aws/1.2.3";
        for (key, document) in [
            ("releases/modules/acme/vpc/aws/1.2.4", document.clone()),
            ("releases/modules/acme/net/aws/1.2.3", document.clone()),
            (key, document.replace(':', ": ")),
            (key, document.replace("\"schema\":1", "\"schema\":9")),
            (key, "{}".to_owned()),
            ("keys/acme", "{\"keys\":[],\"more\":1}".to_owned()),
            (
                &format!("oci/manifests/team/app:sha256:{DIGEST}"),
                "{}".to_owned(),
            ),
            (
                &format!("oci/links/team/app:sha256:{DIGEST}"),
                "7".to_owned(),
            ),
            (&format!("garbage/{DIGEST}.zip"), "{}".to_owned()),
        ] {
            assert!(parse(key, &document).is_err(), "{key} {document}");
        }
    }

    #[test]
    fn documentation_refers_to_its_archive() {
        let document = format!(
            r#"{{"schema":1,"sequence":1,"sha256":"{DIGEST}","size":100,"head_length":40,"history":[]}}"#
        );
        let key = "docs/modules/acme/vpc/aws/1.2.3";
        let restored = parse(key, &document).unwrap();
        assert_eq!(restored.metadata, [("archive", DIGEST.to_owned())]);
        let [needed] = restored.bytes.as_slice() else {
            panic!("{restored:?}");
        };
        assert_eq!(needed.key.to_string(), format!("archives/{DIGEST}.docs"));
        assert_eq!(needed.size, Some(100));
        let change = restored.change.unwrap().to_string();
        assert_eq!(change, "changes/modules/acme/vpc/aws");
        for document in [
            document.replace(':', ": "),
            document.replace("\"schema\":1", "\"schema\":9"),
            document.replace(":40", ":101"),
        ] {
            assert!(parse(key, &document).is_err(), "{document}");
        }
    }

    #[test]
    fn of_the_marks_only_tombstones_are_accepted() {
        let key = format!("garbage/{DIGEST}.zip");
        let erased = r#"{"state":"erased","since":1,"reason":"a leaked key"}"#;
        assert_eq!(parse(&key, erased), Ok(Restored::default()));
        for mark in [
            r#"{"state":"marked","since":1}"#,
            r#"{"state":"erased","since":1}"#,
            r#"{"state":"kept","since":1,"reason":"a leaked key"}"#,
        ] {
            assert!(parse(&key, mark).is_err(), "{mark}");
        }
    }

    #[test]
    fn a_tombstone_needs_no_archive() {
        let reason = "a leaked key".parse().unwrap();
        let release = Release::from_document(module().as_bytes()).unwrap();
        let tombstone = release.tombstone([], (UnixTime(9), reason));
        assert_eq!(tombstone.archives.len(), 1);
        let document = Release::Erased(tombstone).to_document();
        let restored = parse("releases/modules/acme/vpc/aws/1.2.3", &document).unwrap();
        assert_eq!(restored.bytes, []);
        assert!(restored.metadata.contains(&("erased", "true".to_owned())));
    }

    #[test]
    fn tokens_and_revocations_are_accepted_unchanged() {
        let token = r#"{"name":"ci","scopes":"read","created":1,"by":"root"}"#;
        parse("tokens/0123456789abcdef", token).unwrap();
        let restored = parse("revocations/0123456789abcdef", r#"{"from":1}"#).unwrap();
        assert_eq!(restored.metadata, [("from", "1".to_owned())]);
        assert_eq!(restored.change, Some(FactKey::RevocationChange));
    }
}

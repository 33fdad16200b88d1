//! All keys that are ever stored, in one place.
//!
//! ```text
//! R2 (the facts)
//! ├── archives/{sha256}.zip                                     immutable bytes, named by their content
//! ├── archives/{sha256}.tar.gz
//! ├── archives/{sha256}.SHA256SUMS                              the signed text of a provider release
//! ├── archives/{sha256}.sig                                     its binary signature
//! ├── archives/{sha256}.docs                                    the documentation of a version
//! ├── incoming/{sha256 of the release}.{sha256}.{extension}     a staged upload: an archive from a caller that may not read everything stored
//! ├── releases/providers/hosted/{namespace}/{type}/{version}    create-only; metadata: protocols, platforms
//! ├── releases/providers/{hostname}/{namespace}/{type}/{version}  grows by compare-and-swap, as platforms are added
//! ├── releases/modules/{namespace}/{name}/{system}/{version}    create-only
//! ├── releases/modules/{hostname}/{namespace}/{name}/{system}/{version}  the same for a mirrored module, which has a hostname in each of its keys
//! ├── changes/providers/hosted/{namespace}/{type}               16 random bytes in hexadecimal, rewritten after each commit: see `index`
//! ├── changes/providers/{hostname}/{namespace}/{type}
//! ├── changes/modules/{namespace}/{name}/{system}
//! ├── written/{index}                                          the change up to which an index was written, if many publishers wait; always for the merged catalogue
//! ├── origins/{hostname}/{namespace}/{type}                     the versions and keys seen at a pulled provider's origin, by compare-and-swap
//! ├── leases/…                                                  leases on fetches from an origin and on the rebuild of the merged catalogue, with their expiry
//! ├── failover/serving                                         the bucket that serves downloads, by compare-and-swap; only if it ever changed
//! ├── failover/copy                                            the progress of the copy in the second bucket, by compare-and-swap
//! ├── format                                                   the oldest version of Terrace that may write, by compare-and-swap
//! ├── statuses/providers/hosted/{namespace}/{type}              statuses: deprecated, withdrawn or revoked, by compare-and-swap
//! ├── statuses/providers/{hostname}/{namespace}/{type}
//! ├── statuses/modules/{namespace}/{name}/{system}
//! ├── audit/{number}                                            who changed what, append-only; each holds the digest of the previous one
//! ├── audit-head                                                approximately the newest entry
//! ├── tokens/{id}                                               the description of an API token, never the token
//! ├── revocations/{id}                                          a revoked token; metadata: the time from which it is revoked
//! ├── changes/revocations                                     rewritten after each revocation and each erasure
//! ├── rules/{id}                                               a rule for CI jobs or for sign-in, or its tombstone, by compare-and-swap; metadata: the rule
//! ├── changes/rules
//! ├── keys/{namespace}                                          signing keys, by compare-and-swap
//! ├── repair/cursor                                             the position of the periodic repair, by compare-and-swap
//! ├── docs/providers/hosted/{namespace}/{type}/{version}        the documentation of a version, by compare-and-swap; metadata: its archive
//! ├── docs/providers/{hostname}/{namespace}/{type}/{version}
//! ├── docs/modules/{namespace}/{name}/{system}/{version}
//! ├── cards/{owner}/{package}                                   a package's line in the catalogue, a function of other facts; metadata: the line
//! ├── changes/catalog/{owner}                                   rewritten after each change to a card of the owner
//! ├── changes/merged-catalog                                    rewritten after each change to any card
//! ├── webhooks/list                                            all webhooks, by compare-and-swap; their URLs may be secrets
//! ├── webhooks/{id}                                             the progress of a webhook's deliveries, by compare-and-swap
//! ├── garbage/{sha256}.{extension}                              marks an archive for removal, or says that it was erased, by compare-and-swap; metadata: the state
//! ├── garbage/{digits}.blob                                     the same for a blob; erased for every digest that was, whatever had it
//! └── oci/                                                      pushed content; a repository's name cannot contain `:`
//!     ├── blobs/{algorithm}/{digits}                            immutable bytes, shared by all repositories
//!     ├── links/{repository}:{digest}                           links a blob to a repository, with the blob's length
//!     ├── manifests/{repository}:{digest}                       a manifest, byte for byte
//!     ├── tags/{repository}:{tag}                               the digest of a manifest, or a tombstone
//!     ├── referrers/{repository}:{subject}:{digest}             the descriptor of a manifest with this subject
//!     ├── changes/{repository}                                  rewritten after each change to a tag, and each removal
//!     └── uploads/{id}                                          an upload, by compare-and-swap
//!         └── {offset}-{writer}                                 a chunk of it, written once
//!
//! KV (the indices; each a pure function of the facts)
//! ├── providers/hosted/{namespace}/{type}/versions              the response itself, streamed
//! ├── providers/hosted/{namespace}/{type}/mirror                the same list in the network mirror protocol
//! ├── providers/hosted/{namespace}/{type}/version/{version}     the data for package downloads
//! ├── providers/{hostname}/{namespace}/{type}/mirror
//! ├── providers/{hostname}/{namespace}/{type}/version/{version}
//! ├── modules/{namespace}/{name}/{system}/versions
//! ├── modules/{namespace}/{name}/{system}/version/{version}
//! ├── for each of these packages and versions, for people:
//! │   ├── …/overview                                            the versions, with their dates and statuses
//! │   └── …/about/{version}                                     everything about one version, with its documentation
//! ├── for each of them, the indices of its OCI repository:
//! │   ├── …/tags                                                the list of tags, streamed
//! │   ├── …/tag/{version}                                       the manifest of a version, streamed
//! │   └── …/sha256/{digest}                                     a manifest, streamed; for a zip, that it exists
//! ├── oci/{repository}:tags                                     the same indices for pushed content
//! ├── oci/{repository}:tag:{tag}
//! ├── oci/{repository}:manifest:{digest}
//! ├── oci/{repository}:blob:{digest}
//! ├── catalog/{owner}                                           the packages of an owner
//! ├── symbols/{owner}                                           the resources and functions of an owner's providers
//! ├── merged-catalog/{number}                                   the packages and symbols of all owners, in parts
//! ├── failover/serving                                          the bucket that serves downloads; newer than its fact while R2 takes no writes
//! ├── failover/copy                                             the result of the last complete comparison of the two buckets
//! ├── rules                                                     the active rules of rules/
//! └── revocations                                               all revoked tokens, and the erased digests
//! ```
//!
//! `hosted` takes the place of a mirrored provider's hostname. A mirrored module has its hostname before the namespace, and no
//! OCI repository. A hostname contains a dot, a namespace does not.

mod bytes;
mod parse;

use std::fmt;

use crate::model::address::MirroredAddress;
use crate::model::name::Namespace;
use crate::model::oci::{Digest, RepositoryName, Tag, UploadId};
use crate::model::owner::Owner;
use crate::model::package::{Package, PulledPackage};
use crate::model::rule_id::RuleId;
use crate::model::token_id::TokenId;
use crate::model::version::Version;
use crate::model::webhook_id::WebhookId;
use terrace_base::digest::Sha256;

pub use bytes::{ArchiveKey, ArchiveKind, ArchiveNameError, BytesKey, ChunkKey, StagedKey};
pub use parse::NOT_EXPORTED;

/// A key in R2 that holds a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FactKey {
    /// A published version. Only an erasure replaces it, and a mirrored provider's release gains platforms.
    Release(Package, Version),
    /// The change marker of a package, rewritten after each commit.
    Change(Package),
    /// The change of its package up to which an index was written, for publishers that wait to write the same
    /// index.
    Written(IndexKey),
    /// The signing keys of a namespace.
    SigningKeys(Namespace),
    /// The state of a provider as last seen at its origin.
    Origin(MirroredAddress),
    /// The lease of a fetch from an origin or of a rebuild, so that only one request makes it at a time.
    Lease(Lease),
    /// The statuses of a package and its versions, set after their publish.
    Status(Package),
    /// An entry of the audit log, by its number.
    Audit(u64),
    /// A hint at the newest entry of the audit log.
    AuditHead,
    /// The description of an API token.
    Token(TokenId),
    /// The revocation of a token.
    Revocation(TokenId),
    /// The change marker of revocations and erasures.
    RevocationChange,
    /// A rule for CI jobs or for sign-in.
    Rule(RuleId),
    /// The change marker of rules.
    RuleChange,
    /// The oldest version of Terrace that may write.
    Format,
    /// The position of the periodic repair.
    RepairCursor,
    /// The bucket that serves downloads.
    Failover,
    /// The progress of the copy in the second bucket.
    FallbackCopy,
    /// All webhooks.
    Webhooks,
    /// The progress of a webhook's deliveries.
    WebhookState(WebhookId),
    /// The mark of an unreferenced archive or blob that may be removed, or its tombstone. Staged uploads have none.
    Garbage(BytesKey),
    /// The documentation of a version. It may be stored before the release, and changes.
    Documentation(Package, Version),
    /// The entry of a package in the catalogue: a function of its releases, its status and its documentation.
    Card(Package),
    /// The change marker of an owner's cards.
    OwnerChange(Owner),
    /// The change marker of all cards.
    CatalogChange,
    /// A document about a repository that clients push to.
    Pushed(PushedFact),
}

/// A key in R2 that holds a document about pushed content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PushedFact {
    /// The link that gives a repository a blob.
    Link(RepositoryName, Digest),
    /// A manifest, byte for byte.
    Manifest(RepositoryName, Digest),
    /// The manifest that a tag names.
    Tag(RepositoryName, Tag),
    /// The manifest with the second digest, as a referrer of the manifest with the first.
    Referrer(RepositoryName, Digest, Digest),
    /// The change marker of a repository: of its tags, and of removals.
    Change(RepositoryName),
    /// An incomplete upload.
    Upload(UploadId),
}

/// Work that only one request does at a time: a fetch from an origin, or the rebuild of the merged catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Lease {
    /// The list of versions of a provider.
    Versions(MirroredAddress),
    /// The signed documents of a version.
    Release(MirroredAddress, Version),
    /// The catalogue of all owners.
    Catalog,
    /// The bytes of a package. Identified by the package and not by its digest: otherwise a provider that
    /// lists another provider's digest could block that provider's fetches.
    Package(Box<PulledPackage>),
}

/// A key in KV.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IndexKey {
    /// The response of a package's `versions` route.
    Versions(Package),
    /// The response of a provider's `index.json` in the network mirror.
    MirrorVersions(Package),
    /// The data for the `download` routes of one version.
    Version(Package, Version),
    /// The list of tags of a package's OCI repository.
    Tags(Package),
    /// The manifest that a version's tag names in that repository.
    Tag(Package, Version),
    /// A manifest or a zip of that repository, by digest.
    Content(Package, Sha256),
    /// An index of a repository that clients push to.
    Pushed(PushedIndex),
    /// The list of all revoked tokens and erased digests.
    Revocations,
    /// The list of all active rules.
    Rules,
    /// The bucket that serves downloads.
    Failover,
    /// The result of the last complete comparison of the second bucket with the main one.
    FailoverCopy,
    /// The versions of a package, with their dates and statuses.
    Overview(Package),
    /// Everything about one version, with its documentation.
    About(Package, Version),
    /// The packages of an owner.
    Catalog(Owner),
    /// The symbols of the providers of an owner.
    Symbols(Owner),
    /// A part of the catalogue of all owners, with their symbols; the first has the number 1.
    MergedCatalog(u8),
}

/// A key in KV about pushed content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PushedIndex {
    /// The list of tags of a repository.
    Tags(RepositoryName),
    /// The manifest that a tag names.
    Tag(RepositoryName, Tag),
    /// A manifest.
    Manifest(RepositoryName, Digest),
    /// The existence of a blob.
    Blob(RepositoryName, Digest),
}

impl IndexKey {
    /// Returns a key of the same kind under which nothing is stored. A caller that may not learn whether a
    /// package exists is answered in the same time as if it did not.
    pub fn hidden(&self) -> Self {
        match self.clone() {
            Self::Versions(package) => Self::Versions(package.hidden()),
            Self::MirrorVersions(package) => Self::MirrorVersions(package.hidden()),
            Self::Version(package, version) => Self::Version(package.hidden(), version),
            Self::Tags(package) => Self::Tags(package.hidden()),
            Self::Tag(package, version) => Self::Tag(package.hidden(), version),
            Self::Content(package, digest) => Self::Content(package.hidden(), digest),
            Self::Pushed(index) => Self::Pushed(index.hidden()),
            Self::Revocations => Self::Revocations,
            Self::Rules => Self::Rules,
            Self::Failover => Self::Failover,
            Self::FailoverCopy => Self::FailoverCopy,
            Self::Overview(package) => Self::Overview(package.hidden()),
            Self::About(package, version) => Self::About(package.hidden(), version),
            Self::Catalog(_) => Self::Catalog(Owner::hidden()),
            Self::Symbols(_) => Self::Symbols(Owner::hidden()),
            Self::MergedCatalog(part) => Self::MergedCatalog(part),
        }
    }
}

impl PushedIndex {
    fn hidden(self) -> Self {
        let nowhere = RepositoryName::hidden();
        match self {
            Self::Tags(_) => Self::Tags(nowhere),
            Self::Tag(_, tag) => Self::Tag(nowhere, tag),
            Self::Manifest(_, digest) => Self::Manifest(nowhere, digest),
            Self::Blob(_, digest) => Self::Blob(nowhere, digest),
        }
    }
}

impl FactKey {
    /// Returns the prefix of the keys of all releases of a package, and of no other key.
    pub fn releases_of(package: &Package) -> String {
        format!("releases/{package}/")
    }

    /// Returns the prefix of the keys of all releases of a namespace's hosted providers, and of no other key.
    pub fn releases_in(namespace: &Namespace) -> String {
        format!("releases/providers/hosted/{namespace}/")
    }

    /// Returns the prefix of the keys of the documentation of all versions of a package, and of no other key.
    pub fn documentation_of(package: &Package) -> String {
        format!("{DOCUMENTATION}{package}/")
    }

    /// Returns the prefix of the keys of all cards of an owner, and of no other key.
    pub fn cards_of(owner: &Owner) -> String {
        format!("{CARDS}{owner}/")
    }

    /// Parses the package in a key of a card, from the part after [`CARDS`]; `None` for any other text.
    pub fn card_in(name: &str) -> Option<Package> {
        // The key of a package begins with the name of its kind, and an owner has one or two parts.
        let mut ends = name.match_indices('/').take(2);
        ends.find_map(|(end, _)| {
            let (owner, package) = name.split_at(end);
            let package = Package::parse_key(package.strip_prefix('/')?)?;
            (Owner::of(&package).to_string() == owner).then_some(package)
        })
    }

    /// Parses the version in a key that starts with [`FactKey::releases_of`].
    pub fn version_in(key: &str) -> Option<Version> {
        key.rsplit('/').next()?.parse().ok()
    }
}

/// Prefix of the keys of all documents about webhooks, and of no other key.
pub const WEBHOOKS: &str = "webhooks/";

/// Prefix of the keys of all staged uploads, and of no other key. Its text is the older name of staged uploads.
pub const STAGED: &str = "incoming/";

/// Prefix of the keys of all entries of the audit log, and of no other key.
pub const AUDIT: &str = "audit/";

/// Prefix of the keys of all tokens, and of no other key.
pub const TOKENS: &str = "tokens/";

/// Prefix of the keys of all revocations, and of no other key.
pub const REVOCATIONS: &str = "revocations/";

/// Prefix of the keys of all rules, and of no other key.
pub const RULES: &str = "rules/";

/// Prefix of the keys of all published archives, and of no other key.
pub const ARCHIVES: &str = "archives/";

/// Prefix of the keys of all pushed blobs, and of no other key.
pub const BLOBS: &str = "oci/blobs/";

/// Key of the oldest version that may write.
pub const FORMAT: &str = "format";

/// Prefix of the keys of all releases, and of no other key.
pub const RELEASES: &str = "releases/";

/// Prefix of the keys of all documents about documentation, and of no other key.
pub const DOCUMENTATION: &str = "docs/";

/// Prefix of the keys of all cards, and of no other key.
pub const CARDS: &str = "cards/";

/// Prefix of the keys of all documents about pulled providers, and of no other key.
pub const ORIGINS: &str = "origins/";

/// Prefix of the keys of all pushed manifests, and of no other key.
pub const MANIFESTS: &str = "oci/manifests/";

/// Prefix of the keys of all marks of unreferenced archives and blobs, and of no other key.
pub const GARBAGE: &str = "garbage/";

/// Prefix of the keys of all uploads, and of no other key. An upload's id begins with its time, so the oldest
/// come first.
pub const UPLOADS: &str = "oci/uploads/";

impl PushedFact {
    /// Returns the prefix of the keys of all tags of a repository, and of no other key.
    pub fn tags_of(repository: &RepositoryName) -> String {
        format!("oci/tags/{repository}:")
    }

    /// Returns the prefix of the keys of all referrers of a manifest, and of no other key.
    pub fn referrers_of(repository: &RepositoryName, subject: &Digest) -> String {
        format!("oci/referrers/{repository}:{subject}:")
    }
}

impl PushedIndex {
    /// Returns the fact from which this index follows: when it changes, the index changes.
    pub fn fact(&self) -> FactKey {
        FactKey::Pushed(match self.clone() {
            Self::Tags(repository) => PushedFact::Change(repository),
            Self::Tag(repository, tag) => PushedFact::Tag(repository, tag),
            Self::Manifest(repository, digest) => PushedFact::Manifest(repository, digest),
            Self::Blob(repository, digest) => PushedFact::Link(repository, digest),
        })
    }

    /// Returns the repository that the index is about.
    pub fn repository(&self) -> &RepositoryName {
        match self {
            Self::Tags(repository)
            | Self::Tag(repository, _)
            | Self::Manifest(repository, _)
            | Self::Blob(repository, _) => repository,
        }
    }
}

impl fmt::Display for FactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release(package, version) => write!(f, "releases/{package}/{version}"),
            Self::Change(package) => write!(f, "changes/{package}"),
            Self::Written(index) => write!(f, "written/{index}"),
            Self::SigningKeys(namespace) => write!(f, "keys/{namespace}"),
            Self::Origin(address) => write!(f, "{ORIGINS}{address}"),
            Self::Lease(Lease::Versions(address)) => write!(f, "leases/versions/{address}"),
            Self::Lease(Lease::Release(address, version)) => {
                write!(f, "leases/releases/{address}/{version}")
            }
            Self::Lease(Lease::Catalog) => f.write_str("leases/catalog"),
            Self::Lease(Lease::Package(package)) => write!(f, "leases/packages/{package}"),
            Self::Status(package) => write!(f, "statuses/{package}"),
            Self::Audit(number) => write!(f, "{AUDIT}{number:012}"),
            Self::AuditHead => f.write_str("audit-head"),
            Self::Token(id) => write!(f, "{TOKENS}{id}"),
            Self::Revocation(id) => write!(f, "{REVOCATIONS}{id}"),
            Self::RevocationChange => f.write_str("changes/revocations"),
            Self::Rule(id) => write!(f, "{RULES}{id}"),
            Self::RuleChange => f.write_str("changes/rules"),
            Self::Format => f.write_str(FORMAT),
            Self::RepairCursor => f.write_str("repair/cursor"),
            Self::Failover => f.write_str("failover/serving"),
            Self::FallbackCopy => f.write_str("failover/copy"),
            Self::Webhooks => write!(f, "{WEBHOOKS}list"),
            Self::WebhookState(id) => write!(f, "{WEBHOOKS}{id}"),
            Self::Garbage(bytes) => write!(f, "{GARBAGE}{}", bytes.file_name()),
            Self::Documentation(package, version) => {
                write!(f, "{}{version}", Self::documentation_of(package))
            }
            Self::Card(package) => {
                write!(f, "{}{package}", Self::cards_of(&Owner::of(package)))
            }
            Self::OwnerChange(owner) => write!(f, "changes/catalog/{owner}"),
            Self::CatalogChange => f.write_str("changes/merged-catalog"),
            Self::Pushed(fact) => fact.fmt(f),
        }
    }
}

impl fmt::Display for PushedFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(repository, digest) => write!(f, "oci/links/{repository}:{digest}"),
            Self::Manifest(repository, digest) => {
                write!(f, "{MANIFESTS}{repository}:{digest}")
            }
            Self::Tag(repository, tag) => write!(f, "{}{tag}", Self::tags_of(repository)),
            Self::Referrer(repository, subject, digest) => {
                write!(f, "{}{digest}", Self::referrers_of(repository, subject))
            }
            Self::Change(repository) => write!(f, "oci/changes/{repository}"),
            Self::Upload(id) => write!(f, "{UPLOADS}{id}"),
        }
    }
}

impl fmt::Display for PushedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tags(repository) => write!(f, "oci/{repository}:tags"),
            Self::Tag(repository, tag) => write!(f, "oci/{repository}:tag:{tag}"),
            Self::Manifest(repository, digest) => write!(f, "oci/{repository}:manifest:{digest}"),
            Self::Blob(repository, digest) => write!(f, "oci/{repository}:blob:{digest}"),
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
            Self::Revocations => f.write_str("revocations"),
            Self::Rules => f.write_str("rules"),
            Self::Failover => f.write_str("failover/serving"),
            Self::FailoverCopy => f.write_str("failover/copy"),
            Self::Pushed(index) => index.fmt(f),
            Self::Overview(package) => write!(f, "{package}/overview"),
            Self::About(package, version) => write!(f, "{package}/about/{version}"),
            Self::Catalog(owner) => write!(f, "catalog/{owner}"),
            Self::Symbols(owner) => write!(f, "symbols/{owner}"),
            Self::MergedCatalog(part) => write!(f, "merged-catalog/{part}"),
        }
    }
}

#[cfg(test)]
mod tests;

//! The indices: the values in KV, each a pure function of the facts.
//!
//! # Why the newest version list wins
//! After its commit, a publisher rewrites the package's *change marker* in R2. Before it lists the releases, it
//! reads the marker's revision, and after it has written the list to KV, again. If they differ, another
//! publisher has committed in the meantime, and it lists and writes again. So if a publisher commits after
//! another one has listed, there are two cases: the other one sees the new revision, or the publisher lists
//! after the other one has written. Therefore the last list written contains every committed release, and the check costs one
//! small read instead of a second listing of all versions.
//!
//! A package has up to four lists: one for each protocol that lists its versions, and the overview. They are built from one
//! listing and written before the check, so the argument holds for all of them.
//!
//! A publisher that had to wait for its turn to write the lists records in R2 the revision of the change marker
//! at which it wrote. A publisher that is still waiting, and finds the current revision in that record, knows
//! that its release is listed: the revision is not older than its own commit, and the releases were listed
//! after it.
//!
//! The argument rests on two assumptions: KV keeps the order of two writes if the first was acknowledged before
//! the second was sent, and a writer lives until its check. If the check fails, the writer removes the index that it has
//! written, so that the next read is answered from the facts. A writer that dies between its write and its check
//! may leave an outdated list; the next publish of the package, or a retry of the same one, rewrites it, and so does the repair.

pub mod about;
pub mod calls;
pub mod card;
pub mod catalog;
mod catalog_line;
mod description;
mod expected;
mod listed;
pub mod overview;
mod published_digests;
pub mod words;

use serde::Serialize;

use crate::model::oci::Digest;
use crate::model::package::Package;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::source_url::SourceUrl;
use crate::model::status::{Refusal, ReleaseStatus, StatusDocument};
use crate::model::version::Version;
use crate::oci::{self, Artifact, Content};
use crate::storage::index_document::ContentMetadata;
use crate::storage::index_document::IndexDocument;
use crate::storage::key::IndexKey;
use crate::storage::release::{
    ErasedRelease, ModuleArchiveDocument, OfferedPackage, PackageDocument, ProviderRelease,
    Release, SigningKeyDocument,
};
use terrace_base::digest::Sha256;
use terrace_base::json;
use terrace_base::sort;

use overview::Overview;

pub use expected::ExpectedIndices;
pub use listed::{ERASED, ListedRelease};
pub use published_digests::PublishedDigests;
pub(crate) use published_digests::{ARCHIVE, SHASUMS};

#[derive(Serialize)]
struct ProviderVersions {
    versions: Vec<ProviderVersion>,
    /// Warnings that both clients print on every init (clients.md 2.1.2).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct ProviderVersion {
    version: Version,
    protocols: Vec<ProtocolVersion>,
    platforms: Vec<PlatformObject>,
}

#[derive(Serialize)]
struct PlatformObject {
    os: String,
    arch: String,
}

#[derive(Serialize)]
struct ModuleVersions {
    modules: [ModuleVersionList; 1],
}

#[derive(Serialize)]
struct ModuleVersionList {
    versions: Vec<ModuleVersion>,
    /// The repository of the newest version that has one; Renovate looks for release notes there (clients.md 3.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceUrl>,
}

#[derive(Serialize)]
struct ModuleVersion {
    version: Version,
}

/// Returns every version list of a package, ascending by version and without revoked or blocked versions; empty if it
/// has no versions at all.
pub fn lists(
    package: &Package,
    releases: Vec<ListedRelease>,
    statuses: &StatusDocument,
) -> Vec<(IndexKey, IndexDocument)> {
    if releases.is_empty() {
        return Vec::new();
    }
    lists_of(package, releases, statuses)
}

fn lists_of(
    package: &Package,
    mut releases: Vec<ListedRelease>,
    statuses: &StatusDocument,
) -> Vec<(IndexKey, IndexDocument)> {
    releases.retain(|it| !it.is_erased && statuses.refusal(&it.version).is_none());
    // The order of versions is total, so a stable sort, twice as large in wasm, has the same result.
    releases.sort_unstable_by(|a, b| a.version.cmp(&b.version));
    let versions = || IndexKey::Versions(package.clone());
    let mirror = || IndexKey::MirrorVersions(package.clone());
    let tags = package.has_repository().then(|| {
        let tags = tags(package, &releases);
        (IndexKey::Tags(package.clone()), tags)
    });
    let mut lists = match package {
        Package::Provider(_) => {
            let mirrored = mirror_versions(&releases);
            let registry = json::to_string(&ProviderVersions {
                versions: releases.into_iter().map(provider_version).collect(),
                warnings: statuses.warnings(&package.address()),
            });
            vec![
                (versions(), IndexDocument::new(registry)),
                (mirror(), mirrored),
            ]
        }
        Package::Mirrored(_) => vec![(mirror(), mirror_versions(&releases))],
        Package::Module(_) => {
            let source = releases
                .iter()
                .rev()
                .find_map(|release| Some(release.source.as_ref()?.url.clone()));
            let modules = releases
                .into_iter()
                .map(|release| ModuleVersion {
                    version: release.version,
                })
                .collect();
            let text = json::to_string(&ModuleVersions {
                modules: [ModuleVersionList {
                    versions: modules,
                    source,
                }],
            });
            vec![(versions(), IndexDocument::new(text))]
        }
    };
    lists.extend(tags);
    lists
}

/// Returns the indices of each revoked or blocked version of a package that follow from a listing: the tombstones of the
/// version and of its tag.
pub fn revoked_versions(
    package: &Package,
    releases: &[ListedRelease],
    statuses: &StatusDocument,
) -> Vec<(IndexKey, IndexDocument)> {
    let mut indices = Vec::new();
    for release in releases {
        let Some(refusal) = statuses.refusal(&release.version) else {
            continue;
        };
        let tombstone = IndexDocument::tombstone(refusal);
        let (package, version) = (package.clone(), release.version.clone());
        if !release.contents.is_empty() {
            let key = IndexKey::Tag(package.clone(), version.clone());
            indices.push((key, tombstone.clone()));
        }
        indices.push((IndexKey::Version(package, version), tombstone));
    }
    indices
}

/// Returns the lists of a mirrored package without visible versions, to replace its earlier lists.
pub fn empty_versions(package: &Package) -> Vec<(IndexKey, IndexDocument)> {
    lists_of(package, Vec::new(), &StatusDocument::default())
}

/// Returns the lists of a mirrored package that the operator blocks as a whole.
pub fn blocked_lists(package: &Package, block: &ReleaseStatus) -> Vec<(IndexKey, IndexDocument)> {
    let mut lists = empty_versions(package);
    let overview = Overview {
        status: Some(block.clone()),
        ..Overview::default()
    };
    lists.push(overview.index(package));
    let refusal = Refusal::blocked(block);
    let refused = |(key, list): (IndexKey, IndexDocument)| (key, list.refused(refusal));
    lists.into_iter().map(refused).collect()
}

/// Returns the list of tags: the versions that are artifacts.
fn tags(package: &Package, releases: &[ListedRelease]) -> IndexDocument {
    let artifacts = releases.iter().filter(|listed| !listed.contents.is_empty());
    let versions: Vec<&Version> = artifacts.map(|listed| &listed.version).collect();
    let text = oci::tags(&oci::repository_of(package), &versions);
    IndexDocument::new(text)
}

/// Returns every index of one version. `others` are releases of the same package that may share some of its
/// contents; the indices of a revoked version depend on them.
pub fn of_version(
    release: &Release,
    others: &[Release],
    statuses: &StatusDocument,
) -> Vec<(IndexKey, IndexDocument)> {
    let mut documents = as_published(release);
    let Some(refusal) = statuses.refusal(release.version()) else {
        return documents;
    };
    let mut sharing = vec![(Some(refusal), release.version(), documents.clone())];
    for other in others {
        let refusal = statuses.refusal(other.version());
        sharing.push((refusal, other.version(), contents(other)));
    }
    // The same digest has the same index, regardless of the version that writes it: that of the lowest
    // version that can be installed, or, without one, the tombstone with the lowest version's reason.
    sort::sort_by(&mut sharing, |one, other| {
        (one.0.is_some(), one.1).cmp(&(other.0.is_some(), other.1))
    });
    for (key, document) in &mut documents {
        let first = sharing.iter().find_map(|(refusal, _, all)| {
            Some((*refusal, &all.iter().find(|(it, _)| it == key)?.1))
        });
        *document = match first {
            Some((None, shared)) => shared.clone(),
            Some((Some(refusal), _)) => IndexDocument::tombstone(refusal),
            None => IndexDocument::tombstone(refusal),
        };
    }
    documents
}

/// Returns every index of one version that can be installed; tombstones for one that was erased.
fn as_published(release: &Release) -> Vec<(IndexKey, IndexDocument)> {
    if let Release::Erased(tombstone) = release {
        return of_erased(tombstone);
    }
    let key = IndexKey::Version(release.package(), release.version().clone());
    let mut documents = vec![(key, version(release))];
    documents.extend(contents(release));
    documents
}

/// Returns the indices of an erased version: tombstones, with the keys that its indices had.
fn of_erased(tombstone: &ErasedRelease) -> Vec<(IndexKey, IndexDocument)> {
    let package = || tombstone.package.clone();
    let version = || tombstone.version.clone();
    let mut keys = vec![IndexKey::Version(package(), version())];
    if !tombstone.contents.is_empty() {
        keys.push(IndexKey::Tag(package(), version()));
    }
    let contents = tombstone.contents.iter();
    keys.extend(contents.map(|digest| IndexKey::Content(package(), *digest)));
    let reason = tombstone.reason.of_erasure();
    let document = IndexDocument::tombstone(Refusal::revoked(&reason));
    let keys = keys.into_iter();
    keys.map(|key| (key, document.clone())).collect()
}

/// Returns the digests of all content that OCI clients may request of one version; of an erased one, could request.
pub fn digests(release: &Release) -> Vec<Sha256> {
    if let Release::Erased(tombstone) = release {
        return tombstone.contents.clone();
    }
    let artifact = oci::artifact(release);
    let contents = artifact.map(|artifact| artifact.contents);
    let contents = contents.unwrap_or_default();
    contents.iter().map(Content::digest).collect()
}

/// Returns the content that OCI clients may request of one version: its manifests, and the existence of its
/// zips.
fn contents(release: &Release) -> Vec<(IndexKey, IndexDocument)> {
    if let Release::Erased(tombstone) = release {
        return of_erased(tombstone);
    }
    let (package, version) = (release.package(), release.version());
    let Some(Artifact { tagged, contents }) = oci::artifact(release) else {
        return Vec::new();
    };
    let mut documents = Vec::new();
    for content in contents {
        let digest = content.digest();
        let document = content_document(content, version.clone());
        if digest == tagged {
            let key = IndexKey::Tag(package.clone(), version.clone());
            documents.push((key, document.clone()));
        }
        documents.push((IndexKey::Content(package.clone(), digest), document));
    }
    documents
}

fn content_document(content: Content, version: Version) -> IndexDocument {
    let digest = Digest::Sha256(content.digest());
    let (media_type, size, text) = match content {
        Content::Manifest(media_type, text) => (Some(media_type), text.len() as u64, text),
        // KV requires a value.
        Content::Zip(_, size) => (None, size, "zip".to_owned()),
    };
    IndexDocument::of_content(
        ContentMetadata {
            media_type: media_type.map(|media_type| media_type.as_str().to_owned()),
            digest,
            size,
            version: Some(version),
        },
        text,
    )
}

/// `{"versions":{"1.0.0":{}}}` (clients.md 5.3). No character of a version needs an escape.
fn mirror_versions(releases: &[ListedRelease]) -> IndexDocument {
    let versions: Vec<String> = releases
        .iter()
        .map(|release| format!("\"{}\":{{}}", release.version))
        .collect();
    IndexDocument::new(format!("{{\"versions\":{{{}}}}}", versions.join(",")))
}

fn provider_version(release: ListedRelease) -> ProviderVersion {
    ProviderVersion {
        version: release.version,
        protocols: release.protocols,
        platforms: release
            .platforms
            .iter()
            .map(|platform| PlatformObject {
                os: platform.os().to_owned(),
                arch: platform.arch().to_owned(),
            })
            .collect(),
    }
}

/// The data for package downloads of one provider version.
#[derive(Debug, Serialize)]
pub struct ProviderVersionIndex {
    /// The plugin protocols.
    pub protocols: Vec<ProtocolVersion>,
    /// The digest of the SHA256SUMS text.
    pub shasums: Sha256,
    /// The digest of its signature.
    pub signature: Sha256,
    /// The key that made the signature.
    pub signing_key: SigningKeyDocument,
    /// The packages, one for each platform.
    pub packages: Vec<PackageDocument>,
    /// The repository that it was built from, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceUrl>,
}

/// The part of every provider's version index that a mirror needs, whether the provider is hosted here or
/// mirrored.
#[derive(Debug, Serialize)]
pub struct PackagesIndex {
    /// The packages, one for each platform.
    pub packages: Vec<PackageDocument>,
    /// The further packages that the origin offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offered: Vec<OfferedPackage>,
}

/// Returns the index for downloads of one version.
pub fn version(release: &Release) -> IndexDocument {
    let text = match release {
        Release::Provider(release) => json::to_string(&provider_index(release)),
        Release::Mirrored(release) => json::to_string(&PackagesIndex {
            packages: indexed(&release.packages),
            offered: release
                .offered
                .iter()
                .map(OfferedPackage::unsigned)
                .collect(),
        }),
        Release::Module(release) => {
            let archive: &ModuleArchiveDocument = &release.archive;
            json::to_string(archive)
        }
        Release::Erased(tombstone) => {
            return IndexDocument::tombstone(Refusal::revoked(&tombstone.reason.of_erasure()));
        }
    };
    IndexDocument::new(text)
}

fn provider_index(release: &ProviderRelease) -> ProviderVersionIndex {
    ProviderVersionIndex {
        protocols: release.protocols.clone(),
        shasums: release.shasums,
        signature: release.signature,
        signing_key: release.signing_key.clone(),
        packages: indexed(&release.packages),
        source: release.source.as_ref().map(|source| source.url.clone()),
    }
}

fn indexed(packages: &[PackageDocument]) -> Vec<PackageDocument> {
    packages.iter().map(PackageDocument::unsigned).collect()
}

#[cfg(test)]
mod tests;

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
//! the second was sent, and a writer lives until its check. A writer that dies between its write and its check
//! may leave an outdated list; the next publish of the package, or a retry of the same one, rewrites it.

pub mod about;
pub mod card;
pub mod catalog;
mod described;
mod description;
mod expected;
pub mod overview;

use serde::Serialize;

use crate::model::address::MirroredAddress;
use crate::model::oci::Digest;
use crate::model::package::Package;
use crate::model::package_hash::PackageHash;
use crate::model::platform::Platform;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::source::{SourceDocument, SourceUrl};
use crate::model::status::{Refusal, ReleaseStatus, StatusDocument};
use crate::model::version::Version;
use crate::oci::{self, Artifact, Content, GeneratedRepository};
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
use terrace_base::time::UnixTime;
use terrace_openpgp::KeyId;

use overview::Overview;

pub use described::DescribedVersion;
pub(crate) use described::{ARCHIVE, SHASUMS};
pub use expected::ExpectedIndices;

/// The entry of one release in a version list. It is also in the release object's metadata, so that a listing
/// of releases is enough to build the version list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRelease {
    /// The version of the release.
    pub version: Version,
    /// The plugin protocols of a provider; empty for a module.
    pub protocols: Vec<ProtocolVersion>,
    /// The platforms of a provider; empty for a module.
    pub platforms: Vec<Platform>,
    /// The prefixes of the digests of all contents of its artifact; empty if it is not an artifact.
    pub contents: Vec<String>,
    /// The id of the key that signed a hosted provider, if the object's metadata contains it.
    pub signing_key: Option<KeyId>,
    /// The repository that it was built from, if known.
    pub source: Option<SourceDocument>,
    /// The time of its publication; `None` if there is no release yet, only an offer of its origin.
    pub published: Option<PublicationTime>,
    /// Whether it was erased.
    pub is_erased: bool,
}

/// The time when a release was published, as a listing shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicationTime {
    /// The time of the commit.
    Exact(UnixTime),
    /// The time when the release object was stored. It is later than the commit if the object was imported, or
    /// if a mirrored release gained contents. Only objects of older versions have no better time.
    Stored(UnixTime),
}

/// The metadata name of the protocols, separated by commas.
const PROTOCOLS: &str = "protocols";
/// The metadata name of the platforms, separated by commas.
const PLATFORMS: &str = "platforms";
/// The metadata name of the id of the signing key.
const SIGNING_KEY: &str = "key";
/// The metadata name of the repository's URL.
const SOURCE: &str = "source";
/// The metadata name of the commit in that repository.
const COMMIT: &str = "commit";
/// The metadata name that states that the repository and the commit are verified. Its value is `true`.
const VERIFIED: &str = "verified";
/// The metadata name of the time of publication, in seconds since 1970.
const PUBLISHED: &str = "published";
/// The metadata name of the prefixes of digests, separated by commas.
const CONTENTS: &str = "contents";
/// The value of that metadata for an empty list, and of other metadata of an erased provider.
const NO_CONTENTS: &str = "-";
/// The metadata name that states that the release was erased. Its value is `true`.
pub const ERASED: &str = "erased";
/// Length of a digest prefix, in characters. 64 platforms have 129 digests; their prefixes take 1.4 KB of the
/// 8 KB that R2 allows for custom metadata. Two digests with the same prefix cost one more read.
const CONTENT_CHARS: usize = 10;

impl ListedRelease {
    /// Creates the entry of `release`.
    pub fn of(release: &Release) -> Self {
        let (protocols, platforms) = match release {
            Release::Provider(it) => (it.protocols.clone(), platforms(&it.packages)),
            Release::Mirrored(it) => (it.protocols.clone(), platforms(&it.packages)),
            Release::Module(_) | Release::Erased(_) => (Vec::new(), Vec::new()),
        };
        let contents = digests(release);
        Self {
            version: release.version().clone(),
            protocols,
            platforms,
            contents: contents.into_iter().map(beginning).collect(),
            signing_key: match release {
                Release::Provider(it) => Some(it.signing_key.key_id),
                Release::Mirrored(_) | Release::Module(_) | Release::Erased(_) => None,
            },
            source: release.source().cloned(),
            published: Some(PublicationTime::Exact(release.published_at())),
            is_erased: release.erased().is_some(),
        }
    }

    /// Returns whether its artifact may contain content with this digest.
    pub fn may_contain(&self, digest: Sha256) -> bool {
        self.contents.contains(&beginning(digest))
    }

    /// Returns the metadata of the release object: exactly the data that the listings of its package need.
    pub fn to_metadata(&self, package: &Package) -> Vec<(&'static str, String)> {
        let contents = match self.contents.as_slice() {
            [] => NO_CONTENTS.to_owned(),
            contents => contents.join(","),
        };
        let mut metadata = vec![(CONTENTS, contents)];
        if let Package::Provider(_) = package {
            let (protocols, platforms) = match self.is_erased {
                true => (NO_CONTENTS.to_owned(), NO_CONTENTS.to_owned()),
                false => (joined(&self.protocols), joined(&self.platforms)),
            };
            metadata.push((PROTOCOLS, protocols));
            metadata.push((PLATFORMS, platforms));
        }
        metadata.extend(self.is_erased.then(|| (ERASED, "true".to_owned())));
        metadata.extend(
            self.signing_key
                .iter()
                .map(|id| (SIGNING_KEY, id.to_string())),
        );
        if let Some(source) = &self.source {
            metadata.push((SOURCE, source.url.to_string()));
            metadata.extend(source.commit.iter().map(|id| (COMMIT, id.to_string())));
            metadata.extend((!source.claimed).then(|| (VERIFIED, "true".to_owned())));
        }
        if let Some(PublicationTime::Exact(time)) = self.published {
            metadata.push((PUBLISHED, time.0.to_string()));
        }
        metadata
    }

    /// Parses the metadata of a release object that was stored at this time; `None` if data are missing that a
    /// list of this package's versions needs.
    pub fn from_metadata<'a>(
        package: &Package,
        version: Version,
        stored_at: UnixTime,
        metadata: impl Fn(&str) -> Option<&'a str>,
    ) -> Option<Self> {
        let is_erased = metadata(ERASED) == Some("true");
        let (protocols, platforms) = match package {
            Package::Module(_) | Package::Mirrored(_) => (Vec::new(), Vec::new()),
            Package::Provider(_) if is_erased => (Vec::new(), Vec::new()),
            Package::Provider(_) => (split(metadata(PROTOCOLS)?)?, split(metadata(PLATFORMS)?)?),
        };
        let contents = match metadata(CONTENTS)? {
            NO_CONTENTS => Vec::new(),
            contents => contents.split(',').map(str::to_owned).collect(),
        };
        Some(Self {
            version,
            protocols,
            platforms,
            contents,
            signing_key: metadata(SIGNING_KEY).and_then(|id| id.parse().ok()),
            source: source_in(&metadata),
            published: Some(published_in(&metadata, stored_at)),
            is_erased,
        })
    }
}

impl PublicationTime {
    /// Returns the time, exact or not.
    pub fn time(self) -> UnixTime {
        match self {
            Self::Exact(time) | Self::Stored(time) => time,
        }
    }

    /// Returns whether this is the time of the commit.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Exact(_))
    }
}

fn source_in<'a>(metadata: &impl Fn(&str) -> Option<&'a str>) -> Option<SourceDocument> {
    Some(SourceDocument {
        url: metadata(SOURCE)?.parse().ok()?,
        claimed: metadata(VERIFIED).is_none(),
        commit: metadata(COMMIT).and_then(|id| id.parse().ok()),
    })
}

fn published_in<'a>(
    metadata: &impl Fn(&str) -> Option<&'a str>,
    stored_at: UnixTime,
) -> PublicationTime {
    let exact = metadata(PUBLISHED).and_then(|seconds| seconds.parse().ok());
    exact.map_or(PublicationTime::Stored(stored_at), |seconds| {
        PublicationTime::Exact(UnixTime(seconds))
    })
}

fn beginning(digest: Sha256) -> String {
    digest.to_string().chars().take(CONTENT_CHARS).collect()
}

fn platforms(packages: &[PackageDocument]) -> Vec<Platform> {
    packages
        .iter()
        .map(|package| package.platform.clone())
        .collect()
}

fn joined<T: ToString>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    texts.join(",")
}

fn split<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    text.split(',').map(|item| item.parse().ok()).collect()
}

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
    mut releases: Vec<ListedRelease>,
    statuses: &StatusDocument,
) -> Vec<(IndexKey, IndexDocument)> {
    if releases.is_empty() {
        return Vec::new();
    }
    releases.retain(|it| !it.is_erased && statuses.refusal(&it.version).is_none());
    // The order of versions is total, so a stable sort, twice as large in wasm, has the same result.
    releases.sort_unstable_by(|a, b| a.version.cmp(&b.version));
    let versions = || IndexKey::Versions(package.clone());
    let mirror = || IndexKey::MirrorVersions(package.clone());
    let tags = (IndexKey::Tags(package.clone()), tags(package, &releases));
    match package {
        Package::Provider(_) => {
            let mirrored = mirror_versions(&releases);
            let registry = json::to_string(&ProviderVersions {
                versions: releases.into_iter().map(provider_version).collect(),
                warnings: statuses.warnings(&package.address()),
            });
            vec![
                (versions(), IndexDocument::new(registry)),
                (mirror(), mirrored),
                tags,
            ]
        }
        Package::Mirrored(_) => vec![(mirror(), mirror_versions(&releases)), tags],
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
            vec![(versions(), IndexDocument::new(text)), tags]
        }
    }
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

/// Returns the lists of a mirrored provider without visible versions, to replace its earlier lists.
pub fn empty_versions(address: &MirroredAddress) -> Vec<(IndexKey, IndexDocument)> {
    let package = Package::Mirrored(address.clone());
    let tags = tags(&package, &[]);
    vec![
        (
            IndexKey::MirrorVersions(package.clone()),
            mirror_versions(&[]),
        ),
        (IndexKey::Tags(package), tags),
    ]
}

/// Returns the lists of a mirrored provider that the operator blocks as a whole.
pub fn blocked_lists(
    address: &MirroredAddress,
    block: &ReleaseStatus,
) -> Vec<(IndexKey, IndexDocument)> {
    let mut lists = empty_versions(address);
    lists.push(Overview::default().index(&Package::Mirrored(address.clone())));
    let refusal = Refusal::blocked(block);
    let refused = |(key, list): (IndexKey, IndexDocument)| (key, list.refused(refusal));
    lists.into_iter().map(refused).collect()
}

/// Returns the list of tags: the versions that are artifacts.
fn tags(package: &Package, releases: &[ListedRelease]) -> IndexDocument {
    let artifacts = releases.iter().filter(|listed| !listed.contents.is_empty());
    let versions: Vec<&Version> = artifacts.map(|listed| &listed.version).collect();
    let text = oci::tags(&GeneratedRepository::of(package), &versions);
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
    pub packages: Vec<IndexedPackage>,
    /// The repository that it was built from, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceUrl>,
}

/// A platform's zip in an index.
#[derive(Debug, Serialize)]
pub struct IndexedPackage {
    /// The platform that it runs on.
    pub platform: Platform,
    /// Its file name in SHA256SUMS.
    pub filename: String,
    /// The digest of the zip.
    pub sha256: Sha256,
    /// Its length in bytes.
    pub size: u64,
    /// The `h1:` hash of its contents, if its publisher sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub h1: Option<PackageHash>,
}

/// The part of every provider's version index that a mirror needs, whether the provider is hosted here or
/// mirrored.
#[derive(Debug, Serialize)]
pub struct PackagesIndex {
    /// The packages, one for each platform.
    pub packages: Vec<IndexedPackage>,
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
            offered: release.offered.clone(),
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

fn indexed(packages: &[PackageDocument]) -> Vec<IndexedPackage> {
    packages
        .iter()
        .map(|package| IndexedPackage {
            platform: package.platform.clone(),
            filename: package.filename.clone(),
            sha256: package.sha256,
            size: package.size,
            h1: package.h1,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::provenance::tests::{COMMIT as JOB_COMMIT, provenance};
    use crate::pinned::assert_pinned;
    use proptest::prelude::*;

    fn listed(version: &str, protocols: &str, platforms: &str) -> ListedRelease {
        ListedRelease {
            signing_key: None,
            source: None,
            published: Some(PublicationTime::Exact(UnixTime(1_800_000_000))),
            is_erased: false,
            version: version.parse().unwrap(),
            protocols: split(protocols).unwrap_or_default(),
            platforms: split(platforms).unwrap_or_default(),
            contents: vec!["0123456789".to_owned()],
        }
    }

    fn verified() -> SourceDocument {
        let job = provenance();
        SourceDocument::claimed(job.url.clone().unwrap(), None).verified_by(&job)
    }

    fn provider() -> Package {
        Package::Provider("acme/widget".parse().unwrap())
    }

    #[test]
    fn a_provider_list_follows_the_protocol_in_ascending_order_2_1_1_2_1_3() {
        let releases = vec![
            listed("1.10.0", "5.0,6.0", "linux_amd64,darwin_arm64"),
            listed("1.2.0", "5.0", "linux_amd64"),
        ];
        let lists = lists(&provider(), releases, &StatusDocument::default());
        assert_eq!(
            lists[0].1.text,
            r#"{"versions":[{"version":"1.2.0","protocols":["5.0"],"platforms":[{"os":"linux","arch":"amd64"}]},{"version":"1.10.0","protocols":["5.0","6.0"],"platforms":[{"os":"linux","arch":"amd64"},{"os":"darwin","arch":"arm64"}]}]}"#
        );
        assert_eq!(lists[1].1.text, r#"{"versions":{"1.2.0":{},"1.10.0":{}}}"#);
    }

    #[test]
    fn a_mirrored_provider_has_only_the_lists_of_the_mirror_and_of_tags_5_3_6_3() {
        let package = Package::Mirrored("registry.example.com/acme/widget".parse().unwrap());
        let lists = lists(
            &package,
            vec![listed("1.0.0+b", "", "")],
            &StatusDocument::default(),
        );
        assert_eq!(lists.len(), 2);
        assert_eq!(lists[0].0, IndexKey::MirrorVersions(package.clone()));
        assert_eq!(lists[0].1.text, r#"{"versions":{"1.0.0+b":{}}}"#);
        let name = GeneratedRepository::of(&package);
        assert_eq!(lists[1].0, IndexKey::Tags(package));
        let text = format!(r#"{{"name":"{name}","tags":["1.0.0_b"]}}"#);
        assert_eq!(lists[1].1.text, text);
    }

    #[test]
    fn a_module_list_follows_the_protocol_3_1() {
        let package = Package::Module("acme/vpc/aws".parse().unwrap());
        let releases = vec![listed("1.0.0", "", ""), listed("0.9.0", "", "")];
        let lists = lists(&package, releases, &StatusDocument::default());
        assert_eq!(
            lists[0].1.text,
            r#"{"modules":[{"versions":[{"version":"0.9.0"},{"version":"1.0.0"}]}]}"#
        );
    }

    #[test]
    fn a_module_list_names_the_repository_of_the_newest_version_that_has_one_10_2() {
        let package = Package::Module("acme/vpc/aws".parse().unwrap());
        let from = |version, source: &str| ListedRelease {
            source: source
                .parse()
                .ok()
                .map(|url| SourceDocument::claimed(url, None)),
            ..listed(version, "", "")
        };
        let releases = vec![
            from("1.1.0", "https://example.com/new"),
            from("1.0.0", "https://example.com/old"),
            from("1.2.0", ""),
        ];
        let lists = lists(&package, releases, &StatusDocument::default());
        assert_eq!(
            lists[0].1.text,
            r#"{"modules":[{"versions":[{"version":"1.0.0"},{"version":"1.1.0"},{"version":"1.2.0"}],"source":"https://example.com/new"}]}"#
        );
    }

    #[test]
    fn a_package_without_releases_has_no_list_2_1_6() {
        assert_eq!(
            lists(&provider(), Vec::new(), &StatusDocument::default()),
            []
        );
    }

    #[test]
    fn the_metadata_of_a_hosted_provider_is_pinned() {
        let mut release = listed("1.0.0", "5.0,6.0", "linux_amd64,darwin_arm64");
        release.contents = vec!["e3b0c44298".to_owned()];
        release.signing_key = Some("1DCFB46346EDC30F".parse().unwrap());
        let metadata = release.to_metadata(&provider()).into_iter();
        let metadata: Vec<String> = metadata.map(|(k, v)| format!("{k}={v}")).collect();
        assert_pinned(
            &metadata.join("; "),
            "contents=e3b0c44298; protocols=5.0,6.0; platforms=linux_amd64,darwin_arm64; \
             key=1DCFB46346EDC30F; published=1800000000",
        );
        release.source = Some(verified());
        let metadata = release.to_metadata(&provider()).into_iter();
        let metadata: Vec<String> = metadata.map(|(k, v)| format!("{k}={v}")).collect();
        assert_pinned(
            &metadata[4..].join("; "),
            &format!(
                "source=https://github.com/acme/widget; commit={JOB_COMMIT}; verified=true; published=1800000000"
            ),
        );
    }

    #[test]
    fn a_release_without_a_time_in_its_metadata_has_that_of_its_object() {
        let package = Package::Module("acme/vpc/aws".parse().unwrap());
        let of_object = |metadata: &[(&str, &'static str)]| {
            let value = |name: &str| {
                let found = metadata.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| *value)
            };
            let version = "1.0.0".parse().unwrap();
            ListedRelease::from_metadata(&package, version, UnixTime(7), value).unwrap()
        };
        let older = of_object(&[(CONTENTS, "-"), (SOURCE, "https://example.com/vpc")]);
        assert_eq!(older.published, Some(PublicationTime::Stored(UnixTime(7))));
        assert!(older.source.unwrap().claimed);
        let damaged = of_object(&[(CONTENTS, "-"), (PUBLISHED, "soon")]);
        assert_eq!(
            damaged.published,
            Some(PublicationTime::Stored(UnixTime(7)))
        );
        let newer = of_object(&[(CONTENTS, "-"), (PUBLISHED, "5")]);
        assert_eq!(newer.published, Some(PublicationTime::Exact(UnixTime(5))));
    }

    #[test]
    fn the_tombstone_of_an_index_is_pinned() {
        let tombstone = IndexDocument::tombstone(Refusal::revoked(&"it deletes".parse().unwrap()));
        assert_pinned(&tombstone.text, "gone");
        assert_pinned(
            &json::to_string(&tombstone.metadata),
            r#"{"etag":"\"283bb9deef02e6843abfb538efa1eca7\"","gone":"it deletes"}"#,
        );
    }

    #[test]
    fn metadata_of_another_form_is_rejected() {
        let version: Version = "1.0.0".parse().unwrap();
        let read = |protocols: &'static str, platforms: &'static str| {
            ListedRelease::from_metadata(&provider(), version.clone(), UnixTime(0), |name| {
                Some(if name == PROTOCOLS {
                    protocols
                } else {
                    platforms
                })
            })
        };
        assert!(read("5.0", "linux_amd64").is_some());
        assert!(read("five", "linux_amd64").is_none());
        assert!(read("5.0", "linux").is_none());
        assert!(
            ListedRelease::from_metadata(&provider(), version.clone(), UnixTime(0), |_| None)
                .is_none()
        );
    }

    proptest! {
        #[test]
        fn the_order_of_listed_releases_does_not_matter(
            mut numbers in proptest::collection::vec((0u8..4, 0u8..4, 0u8..20), 1..20), seed in any::<u64>()
        ) {
            numbers.sort_unstable();
            numbers.dedup();
            let of = |numbers: &[(u8, u8, u8)]| {
                let releases = numbers.iter().map(|(a, b, c)| listed(&format!("{a}.{b}.{c}"), "5.0", "linux_amd64")).collect();
                lists(&provider(), releases, &StatusDocument::default())
            };
            let sorted = of(&numbers);
            let middle = usize::try_from(seed % numbers.len() as u64).unwrap();
            numbers.rotate_left(middle);
            numbers.reverse();
            prop_assert_eq!(of(&numbers), sorted);
        }

        #[test]
        fn metadata_is_parsed_as_written(
            protocols in proptest::collection::vec("[56]\\.[0-9]", 1..3),
            platforms in proptest::collection::vec("[a-z]{2,8}_[a-z0-9]{2,8}", 1..5),
            is_verified in proptest::option::of(any::<bool>()),
        ) {
            let mut release = listed("1.0.0", &protocols.join(","), &platforms.join(","));
            release.source = is_verified.map(|is_verified| SourceDocument {
                claimed: !is_verified,
                ..verified()
            });
            let metadata = release.to_metadata(&provider());
            let read = ListedRelease::from_metadata(&provider(), release.version.clone(), UnixTime(0), |name| {
                metadata.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
            });
            prop_assert_eq!(read, Some(release));
        }
    }
}

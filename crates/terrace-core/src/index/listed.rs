//! The entry of a release in the version lists of its package, and the metadata that holds it.

use super::digests;
use crate::model::package::Package;
use crate::model::platform::Platform;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::relative_path::RelativePath;
use crate::model::source::SourceDocument;
use crate::model::version::Version;
use crate::storage::key::{ArchiveKey, ArchiveKind};
use crate::storage::release::{PackageDocument, Release};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_openpgp::KeyId;

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
    /// The prefix of the digest of a module's archive that is no artifact: a tar.gz, or that of a mirrored module.
    pub tarball: Option<String>,
    /// The id of the key that signed a hosted provider, if the object's metadata contains it.
    pub signing_key: Option<KeyId>,
    /// The repository that it was built from, if known.
    pub source: Option<SourceDocument>,
    /// The time of its publication, or of its object if a copy has lost it; `None` for a mere offer of its origin.
    pub published: Option<UnixTime>,
    /// Whether it was erased.
    pub is_erased: bool,
}

/// The metadata name of the protocols, separated by commas.
pub(super) const PROTOCOLS: &str = "protocols";
/// The metadata name of the platforms, separated by commas.
const PLATFORMS: &str = "platforms";
/// The metadata name of the id of the signing key.
const SIGNING_KEY: &str = "key";
/// The metadata name of the repository's URL.
pub(super) const SOURCE: &str = "source";
/// The metadata name of the commit in that repository.
const COMMIT: &str = "commit";
/// The metadata name of the directory of a module in that repository, as segments of a URL.
const DIRECTORY: &str = "directory";
/// The metadata name of the digest of a mirrored module's files.
const TREE: &str = "tree";
/// The metadata name that states that the repository and the commit are verified. Its value is `true`.
const VERIFIED: &str = "verified";
/// The metadata name of the time of publication, in seconds since 1970.
pub(super) const PUBLISHED: &str = "published";
/// The metadata name of the prefixes of digests, separated by commas.
pub(super) const CONTENTS: &str = "contents";
/// The value of that metadata for an empty list, and of other metadata of an erased provider.
const NO_CONTENTS: &str = "-";
/// The metadata name of the prefix of the digest of an archive that is no artifact.
const TARBALL: &str = "tarball";
/// The metadata name that states that the release was erased. Its value is `true`.
pub const ERASED: &str = "erased";
/// Length of a digest prefix, in characters. 64 platforms have 129 digests; their prefixes take 1.4 KB of the
/// 8 KB that R2 allows for custom metadata. Two digests with the same prefix cost one more read.
const CONTENT_CHARS: usize = 10;

impl ListedRelease {
    /// Creates the entry of a version of which nothing else is known.
    pub fn new(version: Version) -> Self {
        Self {
            version,
            protocols: Vec::new(),
            platforms: Vec::new(),
            contents: Vec::new(),
            tarball: None,
            signing_key: None,
            source: None,
            published: None,
            is_erased: false,
        }
    }

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
            contents: contents.iter().copied().map(beginning).collect(),
            tarball: match release {
                Release::Module(it) if contents.is_empty() => Some(beginning(it.archive.sha256)),
                _ => None,
            },
            signing_key: match release {
                Release::Provider(it) => Some(it.signing_key.key_id),
                Release::Mirrored(_) | Release::Module(_) | Release::Erased(_) => None,
            },
            source: release.source().cloned(),
            published: Some(release.published_at()),
            is_erased: release.erased().is_some(),
        }
    }

    /// Returns whether its artifact may contain content with this digest.
    pub fn may_contain(&self, digest: Sha256) -> bool {
        self.contents.contains(&beginning(digest))
    }

    /// Returns whether the release may consist of this package or module, among other archives; its document decides.
    pub fn may_consist_of(&self, archive: &ArchiveKey) -> bool {
        match archive.kind {
            ArchiveKind::Archive(_) => {
                self.may_contain(archive.digest) || self.may_have_tarball(archive.digest)
            }
            ArchiveKind::Shasums | ArchiveKind::Signature | ArchiveKind::Documentation => false,
        }
    }

    /// Returns whether it may be a module with an archive of this digest that is no artifact.
    pub fn may_have_tarball(&self, digest: Sha256) -> bool {
        self.tarball.as_ref() == Some(&beginning(digest))
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
        metadata.extend(self.tarball.iter().map(|it| (TARBALL, it.clone())));
        metadata.extend(self.is_erased.then(|| (ERASED, "true".to_owned())));
        metadata.extend(
            self.signing_key
                .iter()
                .map(|id| (SIGNING_KEY, id.to_string())),
        );
        if let Some(source) = &self.source {
            metadata.push((SOURCE, source.url.to_string()));
            metadata.extend(source.commit.iter().map(|id| (COMMIT, id.to_string())));
            let directory = source.directory.iter();
            metadata.extend(directory.map(|it| (DIRECTORY, it.in_url())));
            metadata.extend(source.tree.iter().map(|it| (TREE, it.to_string())));
            metadata.extend((!source.claimed).then(|| (VERIFIED, "true".to_owned())));
        }
        if let Some(time) = self.published {
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
            tarball: metadata(TARBALL).map(str::to_owned),
            signing_key: metadata(SIGNING_KEY).and_then(|id| id.parse().ok()),
            source: source_in(&metadata),
            published: Some(match metadata(PUBLISHED).map(str::parse) {
                Some(Ok(seconds)) => UnixTime(seconds),
                _ => stored_at,
            }),
            is_erased,
        })
    }
}

fn source_in<'a>(metadata: &impl Fn(&str) -> Option<&'a str>) -> Option<SourceDocument> {
    Some(SourceDocument {
        url: metadata(SOURCE)?.parse().ok()?,
        claimed: metadata(VERIFIED).is_none(),
        commit: metadata(COMMIT).and_then(|id| id.parse().ok()),
        directory: metadata(DIRECTORY).and_then(|path| RelativePath::from_url(&[path])),
        tree: metadata(TREE).and_then(|digest| digest.parse().ok()),
    })
}

pub(super) fn beginning(digest: Sha256) -> String {
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

pub(super) fn split<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    text.split(',').map(|item| item.parse().ok()).collect()
}

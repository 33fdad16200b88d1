//! Which indices the releases of a package make.

use std::collections::{HashMap, HashSet};

use super::{ListedRelease, beginning};
use crate::key::{IndexKey, Package};
use crate::version::Version;

/// The indices that the releases of a package make, to be looked up by their keys: there are dozens for each
/// release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MadeIndices {
    /// Whether each version is an artifact for OCI clients.
    versions: HashMap<Version, bool>,
    /// The beginnings of the digests of everything that those have.
    contents: HashSet<String>,
}

impl MadeIndices {
    /// Of all its releases.
    pub fn of(releases: Vec<ListedRelease>) -> Self {
        let mut made = Self::default();
        for release in releases {
            let is_artifact = !release.contents.is_empty();
            made.versions.insert(release.version, is_artifact);
            made.contents.extend(release.contents);
        }
        made
    }

    /// Whether there is no release.
    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// Whether one of its releases makes this index. Of what has a digest it may be that none does.
    pub fn includes(&self, key: &IndexKey) -> bool {
        match key {
            IndexKey::Versions(Package::Mirrored(_))
            | IndexKey::MirrorVersions(Package::Module(_)) => false,
            IndexKey::Versions(_) | IndexKey::MirrorVersions(_) | IndexKey::Tags(_) => {
                !self.is_empty()
            }
            IndexKey::Version(_, version) => self.versions.contains_key(version),
            IndexKey::Tag(_, version) => self.versions.get(version).is_some_and(|it| *it),
            IndexKey::Content(_, digest) => self.contents.contains(&beginning(*digest)),
            IndexKey::Pushed(_) | IndexKey::Revocations => true,
        }
    }
}

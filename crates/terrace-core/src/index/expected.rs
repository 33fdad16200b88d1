//! The indices that follow from the releases of a package.

use std::collections::{HashMap, HashSet};

use super::ListedRelease;
use super::listed::beginning;
use crate::model::package::Package;
use crate::model::version::Version;
use crate::storage::key::IndexKey;

/// The indices that follow from the releases of a package, for lookups by key: there are dozens for each
/// release.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedIndices {
    /// Whether each version is an artifact for OCI clients.
    versions: HashMap<Version, bool>,
    /// The prefixes of the digests of all contents of these artifacts.
    contents: HashSet<String>,
}

impl ExpectedIndices {
    /// Collects the indices of all releases of a package.
    pub fn of(releases: Vec<ListedRelease>) -> Self {
        let mut made = Self::default();
        for release in releases {
            let is_artifact = !release.contents.is_empty();
            made.versions.insert(release.version, is_artifact);
            made.contents.extend(release.contents);
        }
        made
    }

    /// Returns whether there are no releases.
    pub fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// Returns whether one of the releases has this index. For a digest there may be false positives, since only
    /// prefixes are compared.
    pub fn includes(&self, key: &IndexKey) -> bool {
        match key {
            IndexKey::Versions(Package::Mirrored(_))
            | IndexKey::MirrorVersions(Package::Module(_)) => false,
            IndexKey::Tags(package) if !package.has_repository() => false,
            IndexKey::Versions(_)
            | IndexKey::MirrorVersions(_)
            | IndexKey::Tags(_)
            | IndexKey::Overview(_) => !self.is_empty(),
            IndexKey::Version(_, version) | IndexKey::About(_, version) => {
                self.versions.contains_key(version)
            }
            IndexKey::Tag(_, version) => self.versions.get(version).is_some_and(|it| *it),
            IndexKey::Content(_, digest) => self.contents.contains(&beginning(*digest)),
            IndexKey::Pushed(_)
            | IndexKey::Revocations
            | IndexKey::Rules
            | IndexKey::Failover
            | IndexKey::FailoverCopy
            | IndexKey::Catalog(_)
            | IndexKey::Symbols(_)
            | IndexKey::MergedCatalog(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_base::digest::Sha256;

    const MADE: Sha256 = Sha256::from_bytes([7; 32]);

    fn release(version: &str, contents: &[Sha256]) -> ListedRelease {
        ListedRelease {
            contents: contents.iter().map(|it| beginning(*it)).collect(),
            ..ListedRelease::new(version.parse().unwrap())
        }
    }

    #[test]
    fn an_index_is_included_if_a_release_has_it() {
        let provider = Package::Provider("acme/widget".parse().unwrap());
        let mirrored = Package::Mirrored("registry.example.com/acme/widget".parse().unwrap());
        let module = Package::Module("acme/vpc/aws".parse().unwrap());
        let other_module = Package::Module("registry.example.com/acme/vpc/aws".parse().unwrap());
        let all = [release("1.0.0", &[MADE]), release("2.0.0", &[])];
        let made = ExpectedIndices::of(all.into());
        let (artifact, other, missing) = ("1.0.0", "2.0.0", "3.0.0");
        let version = |text: &str| text.parse::<Version>().unwrap();
        for (key, is_made) in [
            (IndexKey::Versions(provider.clone()), true),
            (IndexKey::Versions(mirrored.clone()), false),
            (IndexKey::MirrorVersions(mirrored.clone()), true),
            (IndexKey::MirrorVersions(module.clone()), false),
            (IndexKey::Tags(module.clone()), true),
            (IndexKey::Tags(other_module.clone()), false),
            (IndexKey::Versions(other_module), true),
            (IndexKey::Version(module.clone(), version(artifact)), true),
            (IndexKey::Version(module.clone(), version(other)), true),
            (IndexKey::Version(module.clone(), version(missing)), false),
            (IndexKey::Tag(module.clone(), version(artifact)), true),
            (IndexKey::Tag(module.clone(), version(other)), false),
            (IndexKey::Tag(module.clone(), version(missing)), false),
            (IndexKey::Content(module.clone(), MADE), true),
            (IndexKey::Content(module, Sha256::of(b"other")), false),
        ] {
            assert_eq!(made.includes(&key), is_made, "{key}");
            let is_made_of_none = ExpectedIndices::default().includes(&key);
            assert!(!is_made_of_none, "{key}");
        }
    }
}

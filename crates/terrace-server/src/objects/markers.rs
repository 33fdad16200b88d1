//! The changes of other processes, which are found by the change markers.
//!
//! Each process has its own indices. A process that commits a change rewrites a change marker after it
//! ([`terrace_core::index`]), so a list of all markers with their ETags shows every change. A process looks at that list
//! regularly, and removes the indices that follow from a marker with another ETag than the last time. The next read of such an
//! index misses it, and is answered from the facts.
//!
//! # Why no older index stays
//! A writer of an index reads the marker before the facts, and again after it has written the index. If another process
//! commits in between, then either this writer finds another marker and writes again, or the marker was rewritten after the
//! writer's second look: the next look at the list finds it, and removes the index. If its second look fails, the writer
//! removes the index itself.
//!
//! # The process's own changes
//! Its own marker must not remove the indices that it has just written. So it replaces a marker under the condition that it is
//! still the one that was seen last, and then knows the new one. If the condition does not hold, another process has changed
//! the marker: it is replaced all the same, and forgotten, so that the next look removes the indices.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use terrace_core::storage::key::{FactKey, PushedFact};

/// The prefixes of the keys of all change markers.
pub(super) const MARKERS: [&str; 2] = ["changes/", "oci/changes/"];

/// The markers that were seen last: the ETag of each, by key.
#[derive(Debug, Default)]
pub(super) struct Markers(Mutex<HashMap<String, String>>);

impl Markers {
    /// Returns the ETag that a marker had when it was seen last.
    pub(super) fn seen(&self, key: &str) -> Option<String> {
        self.lock().get(key).cloned()
    }

    /// Remembers a marker. All indices that follow from it are as new as it, or missing.
    pub(super) fn remember(&self, key: String, etag: String) {
        self.lock().insert(key, etag);
    }

    /// Forgets a marker, so that the next look removes its indices.
    pub(super) fn forget(&self, key: &str) {
        self.lock().remove(key);
    }

    /// Returns the listed markers that were not seen, or have changed since.
    pub(super) fn changed(&self, listed: Vec<(String, String)>) -> Vec<(String, String)> {
        let seen = self.lock();
        let is_new = |(key, etag): &(String, String)| seen.get(key) != Some(etag);
        listed.into_iter().filter(is_new).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether a fact is a change marker.
pub(super) fn is_marker(key: &FactKey) -> bool {
    matches!(
        key,
        FactKey::Change(_)
            | FactKey::OwnerChange(_)
            | FactKey::CatalogChange
            | FactKey::RevocationChange
            | FactKey::RuleChange
            | FactKey::Pushed(PushedFact::Change(_))
    )
}

/// Returns the beginnings of the keys of all indices that follow from a marker. Those of the merged catalogue are missing:
/// it is compared with its marker, and rebuilt, by the application.
pub(super) fn indices_of(marker: &str) -> Vec<String> {
    let [of_facts, of_repositories] = MARKERS;
    if let Some(repository) = marker.strip_prefix(of_repositories) {
        return vec![format!("oci/{repository}:")];
    }
    let Some(name) = marker.strip_prefix(of_facts) else {
        return Vec::new();
    };
    if let Some(owner) = name.strip_prefix("catalog/") {
        return vec![format!("catalog/{owner}"), format!("symbols/{owner}")];
    }
    match name {
        "merged-catalog" => Vec::new(),
        "revocations" | "rules" => vec![name.to_owned()],
        package => vec![format!("{package}/")],
    }
}

#[cfg(test)]
mod tests {
    use terrace_core::model::oci::{Digest, RepositoryName, Tag};
    use terrace_core::model::owner::Owner;
    use terrace_core::model::package::Package;
    use terrace_core::storage::key::{IndexKey, PushedIndex};

    use super::*;

    fn leads_to(marker: &FactKey, index: &IndexKey) -> bool {
        assert!(is_marker(marker), "{marker}");
        let marker = marker.to_string();
        assert!(MARKERS.iter().any(|prefix| marker.starts_with(prefix)));
        let index = index.to_string();
        indices_of(&marker)
            .iter()
            .any(|prefix| index.starts_with(prefix.as_str()))
    }

    #[test]
    fn a_marker_leads_to_every_index_that_follows_from_it() {
        for key in [
            "modules/acme/vpc/aws",
            "providers/hosted/acme/widget",
            "providers/registry.example.com/acme/widget",
        ] {
            let package = Package::parse_key(key).unwrap();
            let version = || "1.2.0".parse().unwrap();
            let digest = terrace_base::digest::Sha256::of(b"");
            let marker = FactKey::Change(package.clone());
            for index in [
                IndexKey::Versions(package.clone()),
                IndexKey::MirrorVersions(package.clone()),
                IndexKey::Version(package.clone(), version()),
                IndexKey::Tags(package.clone()),
                IndexKey::Tag(package.clone(), version()),
                IndexKey::Content(package.clone(), digest),
                IndexKey::Overview(package.clone()),
                IndexKey::About(package.clone(), version()),
            ] {
                assert!(leads_to(&marker, &index), "{marker} {index}");
            }
            let owner = Owner::of(&package);
            let marker = FactKey::OwnerChange(owner.clone());
            assert!(leads_to(&marker, &IndexKey::Catalog(owner.clone())));
            assert!(leads_to(&marker, &IndexKey::Symbols(owner)));
        }
        assert!(leads_to(&FactKey::RevocationChange, &IndexKey::Revocations));
        assert!(leads_to(&FactKey::RuleChange, &IndexKey::Rules));
        let merged = IndexKey::MergedCatalog(1);
        assert!(!leads_to(&FactKey::CatalogChange, &merged));
        let repository = RepositoryName::parse("acme/app").unwrap();
        let marker = FactKey::Pushed(PushedFact::Change(repository.clone()));
        let digest = Digest::Sha256(terrace_base::digest::Sha256::of(b""));
        let tag = Tag::parse("latest").unwrap();
        for index in [
            PushedIndex::Tags(repository.clone()),
            PushedIndex::Tag(repository.clone(), tag),
            PushedIndex::Manifest(repository.clone(), digest),
            PushedIndex::Blob(repository.clone(), digest),
        ] {
            assert!(leads_to(&marker, &IndexKey::Pushed(index)));
        }
        let other = FactKey::Pushed(PushedFact::Change(
            RepositoryName::parse("acme/app2").unwrap(),
        ));
        assert!(!leads_to(
            &other,
            &IndexKey::Pushed(PushedIndex::Tags(repository))
        ));
    }
}

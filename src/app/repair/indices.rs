//! From indices to facts: one that follows from none is removed.

use terrace_core::index::ListedRelease;
use terrace_core::key::{IndexKey, Package, PushedIndex};
use terrace_core::limits;
use terrace_core::repair::{Position, Section};

use super::{AT_LEAST, AT_LEAST_FOR_LISTS, Going, Step};
use crate::app::{App, Failure};
use crate::store::{Facts as _, Indices as _, Platform, StoreError};

/// How many keys of a package are looked at together: all of them may have to be removed.
const MOST_AT_ONCE: usize = 20;

impl<P: Platform> App<'_, P> {
    /// Looks at the keys of all indices, a package or a single key at a time.
    pub(super) async fn repair_indices(&self, step: &mut Step) -> Result<Going, Failure> {
        let prefix = match &step.only {
            Some(package) => format!("{package}/"),
            None => String::new(),
        };
        loop {
            if !step.affords(AT_LEAST) {
                return Ok(Going::Pausing);
            }
            step.spend(1);
            let cursor = step.position.page.clone();
            let indices = self.platform.indices();
            let page = match indices.list_keys(&prefix, cursor).await {
                // The cursor may be of a namespace that is not there any more: what is behind is known.
                Err(error) if step.position.page.is_some() => {
                    self.platform.log(&format!("repair: {error}"));
                    step.position.page = None;
                    step.spend(1);
                    indices.list_keys(&prefix, None).await?
                }
                page => page?,
            };
            let behind = step.position.behind.clone();
            let keys = page.keys.into_iter().filter(|key| *key > behind);
            if self.repair_keys(step, keys.collect()).await == Going::Pausing {
                return Ok(Going::Pausing);
            }
            match page.cursor {
                Some(cursor) => step.position.page = Some(cursor),
                None => return Ok(Going::On),
            }
        }
    }

    async fn repair_keys(&self, step: &mut Step, names: Vec<String>) -> Going {
        let mut names = names.into_iter().peekable();
        while let Some(name) = names.next() {
            if step.names() >= limits::REPAIRED_NAMES {
                return Going::Pausing;
            }
            let Some(key) = IndexKey::parse(&name) else {
                self.platform
                    .log(&format!("repair: {name:?} is no index: passed over"));
                step.position.behind = name;
                continue;
            };
            let group = key.package().map(|package| format!("{package}/"));
            let costs = match &group {
                Some(_) => AT_LEAST_FOR_LISTS,
                None => AT_LEAST,
            };
            if !step.affords(costs) {
                return Going::Pausing;
            }
            let mut last = name;
            let mut keys = vec![key];
            if let Some(group) = group {
                // All that is there of a package is told by one listing.
                while keys.len() < MOST_AT_ONCE
                    && let Some(name) = names.next_if(|name| name.starts_with(&group))
                {
                    keys.extend(IndexKey::parse(&name));
                    last = name;
                }
            }
            self.repair_group(step, keys).await;
            step.position = Position {
                section: Section::Indices,
                behind: last,
                page: step.position.page.take(),
            };
        }
        Going::On
    }

    async fn repair_group(&self, step: &mut Step, keys: Vec<IndexKey>) {
        let package = keys.first().and_then(IndexKey::package).cloned();
        let count = u32::try_from(keys.len()).unwrap_or_default();
        let removed = match (&package, keys.as_slice()) {
            (Some(package), keys) => self.remove_stale(step, package, keys).await,
            (None, [IndexKey::Pushed(index)]) => self.remove_stale_pushed(step, index).await,
            (None, _) => Ok(Vec::new()),
        };
        step.report.looked_at += count;
        match removed {
            Ok(removed) => step.report.removed.extend(removed),
            Err(failure) => {
                let name = keys.first().map(ToString::to_string).unwrap_or_default();
                self.platform.log(&format!("repair: {name} failed:"));
                self.problem(failure);
                step.report.failed.push(name);
            }
        }
    }

    /// Removes those indices of a package that follow from none of its releases.
    ///
    /// Whoever commits one meanwhile has changed the marker before the second look, and gets its indices
    /// again; or has looked at KV after that, and writes them itself.
    async fn remove_stale(
        &self,
        step: &mut Step,
        package: &Package,
        keys: &[IndexKey],
    ) -> Result<Vec<String>, Failure> {
        let before = self.change(package).await?;
        let releases = self.list_releases(package).await?;
        step.spend(2 + releases.len() / 1_000);
        let mut stale: Vec<&IndexKey> = keys
            .iter()
            .filter(|key| !is_made_of(key, &releases))
            .collect();
        // The lists of a pulled provider may say that there is nothing.
        if releases.is_empty() && matches!(package, Package::Mirrored(_)) {
            let lists = self.versions(package).await?;
            step.spend(2);
            stale.retain(|key| !lists.iter().any(|(list, _)| list == *key));
        }
        for key in &stale {
            step.spend(1);
            self.remove_index(key).await?;
        }
        if !stale.is_empty() && self.change(package).await? != before {
            for key in &stale {
                self.mend(key).await?;
            }
        }
        Ok(stale.into_iter().map(ToString::to_string).collect())
    }

    async fn remove_stale_pushed(
        &self,
        step: &mut Step,
        index: &PushedIndex,
    ) -> Result<Vec<String>, Failure> {
        step.spend(1);
        let is_there = match index {
            // Their facts outlive them: the marker the last tag, and a tag what it named.
            PushedIndex::Tags(_) | PushedIndex::Tag(..) => {
                step.spend(2);
                self.pushed_index(index).await?.is_some()
            }
            _ => self
                .platform
                .facts()
                .revision(&index.fact())
                .await?
                .is_some(),
        };
        if is_there {
            return Ok(Vec::new());
        }
        step.spend(4);
        self.index_pushed(index).await?;
        Ok(vec![index.to_string()])
    }

    async fn remove_index(&self, key: &IndexKey) -> Result<(), Failure> {
        match self.platform.indices().delete(key).await {
            // Somebody else has just written it; the next walk comes by.
            Err(StoreError::Busy(_)) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether some of these releases make such an index.
fn is_made_of(key: &IndexKey, releases: &[ListedRelease]) -> bool {
    let is_artifact = |release: &ListedRelease| !release.contents.is_empty();
    match key {
        IndexKey::Versions(Package::Mirrored(_)) | IndexKey::MirrorVersions(Package::Module(_)) => {
            false
        }
        IndexKey::Versions(_) | IndexKey::MirrorVersions(_) | IndexKey::Tags(_) => {
            !releases.is_empty()
        }
        IndexKey::Version(_, version) => releases.iter().any(|it| it.version == *version),
        IndexKey::Tag(_, version) => releases
            .iter()
            .any(|it| it.version == *version && is_artifact(it)),
        IndexKey::Content(_, digest) => releases.iter().any(|it| it.may_contain(*digest)),
        IndexKey::Pushed(_) | IndexKey::Revocations => true,
    }
}

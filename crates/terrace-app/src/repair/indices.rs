//! Walks over the indices, and removes those that follow from no fact.

use terrace_core::index::ExpectedIndices;
use terrace_core::maintenance::repair::{Position, Section};
use terrace_core::model::package::Package;
use terrace_core::storage::key::{FactKey, IndexKey, PushedIndex};

use crate::documents::releases;
use crate::failure::Failure;
use crate::host::{Facts as _, Host, Indices as _, StoreError};
use crate::index::expected_indices;
use crate::oci::{pushed_contents, pushed_index_refresh};
use crate::read::index_backfill;
use crate::repair::step::{
    MIN_OPERATIONS, MIN_OPERATIONS_FOR_LISTS, PackageIndices, RepairStep, StepFlow,
};

/// How many indices of a package are removed before the package is examined again: each takes two operations.
const MAX_REMOVED_INDICES: usize = 10;

impl<P: Host> RepairStep<'_, '_, P> {
    /// Checks the keys of all indices, a package or a single key at a time.
    pub(super) async fn repair_indices(&mut self) -> Result<StepFlow, Failure> {
        let only = self.only.as_ref();
        let prefix = only.map_or_else(String::new, |package| format!("{package}/"));
        loop {
            if !self.would_afford(MIN_OPERATIONS) {
                return Ok(StepFlow::Pause);
            }
            let indices = self.ctx.host.indices();
            let page = match indices.list_keys(&prefix, self.position.page.clone()).await {
                // The cursor may belong to a namespace that no longer exists; the position to continue after is
                // known.
                Err(error) if self.position.page.is_some() => {
                    self.ctx.host.log(&format!("repair: {error}"));
                    self.position.page = None;
                    indices.list_keys(&prefix, None).await?
                }
                page => page?,
            };
            self.cost.kv_lists = self.cost.kv_lists.saturating_add(1);
            let listed = page.keys.len();
            let after = self.position.after.clone();
            let keys = page.keys.into_iter().filter(|key| *key > after);
            if self.repair_keys(keys.collect()).await == StepFlow::Pause {
                return Ok(StepFlow::Pause);
            }
            self.spend_names(listed);
            match page.cursor {
                Some(cursor) => self.position.page = Some(cursor),
                None => return Ok(StepFlow::Continue),
            }
        }
    }

    async fn repair_keys(&mut self, names: Vec<String>) -> StepFlow {
        let mut names = names.into_iter().peekable();
        while let Some(name) = names.next() {
            let Some(key) = self.index_key(&name) else {
                self.position.after = name;
                continue;
            };
            let going = match key.package().cloned() {
                Some(package) => {
                    // One listing of a package's releases covers all its keys.
                    let group = format!("{package}/");
                    let mut keys = vec![(name, key)];
                    while let Some(name) = names.next_if(|name| name.starts_with(&group)) {
                        keys.extend(self.index_key(&name).map(|key| (name, key)));
                    }
                    self.repair_group(&package, &keys).await
                }
                None => self.repair_alone(name, &key).await,
            };
            if going == StepFlow::Pause {
                return StepFlow::Pause;
            }
        }
        StepFlow::Continue
    }

    /// Returns the position after the keys of the package, or the key, that comes next.
    pub(super) async fn past_keys(self) -> Result<Position, Failure> {
        let position = self.position;
        let indices = self.ctx.host.indices();
        let page = indices.list_keys("", position.page.clone()).await?;
        let mut keys = page.keys.into_iter().filter(|key| *key > position.after);
        let Some(first) = keys.next() else {
            return Ok(match page.cursor {
                Some(cursor) => Position {
                    page: Some(cursor),
                    ..position
                },
                None => Position::start(Section::Indices),
            });
        };
        let package = IndexKey::parse(&first).and_then(|key| key.package().cloned());
        let same = package.map(|package| format!("{package}/"));
        let last = same.and_then(|group| keys.take_while(|key| key.starts_with(&group)).last());
        let after = last.unwrap_or(first);
        Ok(Position { after, ..position })
    }

    /// Parses the name of a listed index.
    fn index_key(&self, name: &str) -> Option<IndexKey> {
        let key = IndexKey::parse(name);
        if key.is_none() {
            let line = format!("repair: {name:?} is not an index: skipped");
            self.ctx.host.log(&line);
        }
        key
    }

    /// Checks keys of one package, and again each time the maximum number has been removed.
    async fn repair_group(
        &mut self,
        package: &Package,
        mut keys: &[(String, IndexKey)],
    ) -> StepFlow {
        while let Some((first, _)) = keys.first() {
            if !self.affords(MIN_OPERATIONS_FOR_LISTS) {
                return StepFlow::Pause;
            }
            let examined = self.remove_stale(package, keys).await;
            let count = examined.unwrap_or_else(|failure| {
                self.note_failed(first.clone(), failure);
                keys.len().min(MAX_REMOVED_INDICES)
            });
            self.report.looked_at += u32::try_from(count).unwrap_or_default();
            let (done, rest) = keys.split_at(count);
            if let Some((last, _)) = done.last() {
                self.position.after.clone_from(last);
            }
            keys = rest;
        }
        StepFlow::Continue
    }

    /// Checks a key that belongs to no package.
    async fn repair_alone(&mut self, name: String, key: &IndexKey) -> StepFlow {
        if !self.affords(MIN_OPERATIONS) {
            return StepFlow::Pause;
        }
        let removed = match key {
            IndexKey::Pushed(index) => self.remove_stale_pushed(index).await,
            IndexKey::Catalog(_) | IndexKey::Symbols(_) | IndexKey::MergedCatalog(_) => {
                self.remove_stale_catalog(key).await
            }
            _ => Ok(false),
        };
        self.note_removed(name.clone(), removed);
        self.position.after = name;
        StepFlow::Continue
    }

    /// Removes at most [`MAX_REMOVED_INDICES`] indices of a package that follow from none of its releases. Returns how many of
    /// the keys were examined.
    ///
    /// A concurrent publish of such a release either has changed the marker before the second check, and gets its indices
    /// again; or it reads KV after that, and writes them itself.
    async fn remove_stale(
        &mut self,
        package: &Package,
        keys: &[(String, IndexKey)],
    ) -> Result<usize, Failure> {
        let made = self.made(package).await?;
        let mut stale: Vec<(usize, &IndexKey)> = keys
            .iter()
            .map(|(_, key)| key)
            .enumerate()
            .filter(|(_, key)| !made.indices.includes(key))
            .collect();
        // The lists of a pulled provider may state that there is nothing.
        if made.indices.is_empty() && matches!(package, Package::Mirrored(_)) {
            let lists = expected_indices::version_lists(self.ctx, package).await?;
            stale.retain(|(_, key)| !lists.iter().any(|(list, _)| list == *key));
        }
        // The keys after the removed ones are examined again.
        let next = stale.get(MAX_REMOVED_INDICES).map(|(at, _)| *at);
        stale.truncate(MAX_REMOVED_INDICES);
        let (mut removed, mut lost) = (Vec::new(), Vec::new());
        for (_, key) in &stale {
            if let Some(release) = self.lost_release(key).await? {
                lost.push(release);
                continue;
            }
            self.count_writes(1);
            match self.ctx.host.indices().delete(key).await {
                // Another request has just written it; the next walk examines it again.
                Err(StoreError::Busy(_)) | Ok(()) => removed.push(key.to_string()),
                Err(error) => return Err(error.into()),
            }
        }
        if !stale.is_empty() && releases::change_revision(self.ctx, package).await? != made.change {
            for (_, key) in &stale {
                index_backfill::backfill(self.ctx, key).await?;
            }
        } else {
            for release in &lost {
                self.ctx.host.log(&format!(
                    "repair: the release {release} is LOST: KV has its index, and R2 has no release; restore it from \
                     a copy (terrace admin import), or publish the same bytes again"
                ));
            }
            self.report.lost.extend(lost);
        }
        self.report.removed.extend(removed);
        self.package_indices = Some(made);
        Ok(next.unwrap_or(keys.len()))
    }

    /// Returns the release that an index remains of, as `ADDRESS@VERSION`, if it is lost and the operator has not
    /// accepted that. Its index is kept: it proves that the version was published, and with which bytes, so that
    /// no others take its place.
    async fn lost_release(&mut self, key: &IndexKey) -> Result<Option<String>, Failure> {
        let IndexKey::Version(package, version) = key else {
            return Ok(None);
        };
        let release = FactKey::Release(package.clone(), version.clone());
        if self.accepted.contains(&release) {
            return Ok(None);
        }
        self.count_reads(1);
        let published = releases::published_digests(self.ctx, package, version).await?;
        Ok(published.map(|_| format!("{}@{version}", package.address())))
    }

    /// Returns the indices that follow from the releases of a package. They are listed once in a step, as long as
    /// the marker does not change.
    async fn made(&mut self, package: &Package) -> Result<PackageIndices, Failure> {
        let change = releases::change_revision(self.ctx, package).await?;
        let known = self.package_indices.take();
        let known = known.filter(|made| made.package == *package && made.change == change);
        if let Some(made) = known {
            return Ok(made);
        }
        let releases = releases::list(self.ctx, package).await?;
        self.spend_names(releases.len());
        Ok(PackageIndices {
            package: package.clone(),
            change,
            indices: ExpectedIndices::of(releases),
        })
    }

    async fn remove_stale_pushed(&mut self, index: &PushedIndex) -> Result<bool, Failure> {
        let is_there = match index {
            // Their facts outlive them: the marker outlives the last tag, and a tag outlives its manifest.
            PushedIndex::Tags(_) | PushedIndex::Tag(..) => {
                pushed_contents::index(self.ctx, index).await?.is_some()
            }
            _ => {
                let facts = self.ctx.host.facts();
                facts.revision(&index.fact()).await?.is_some()
            }
        };
        if is_there {
            return Ok(false);
        }
        self.count_writes(1);
        pushed_index_refresh::refresh(self.ctx, index).await?;
        Ok(true)
    }
}

//! Reads: one index, and the facts only when there is none.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use terrace_base::digest::Sha256;
use terrace_base::sort;
use terrace_core::http::reply::{Body, Reply};
use terrace_core::http::request_line::IndexState;
use terrace_core::index::{self, ListedRelease};
use terrace_core::limits;
use terrace_core::model::package::Package;
use terrace_core::model::status::{KeyStatement, Standings};
use terrace_core::model::version::Version;
use terrace_core::publish::StoredRelease;
use terrace_core::read::{Answered, FinishError, Found, IndexForm, Lookup};
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey};
use terrace_core::storage::release::Release;

use super::follow::Shared;
use super::{App, Boxed, Failure, Task};
use crate::store::{Clock as _, Fact, Facts as _, Indices as _, Platform, Revision, StoreError};

/// Indices, each with the key it is written to.
pub(super) type Indexed = Vec<(IndexKey, IndexDocument)>;

/// What the indices of a package's versions say besides their releases.
#[derive(Debug)]
pub(super) struct Said {
    /// The statements about versions, and about the keys that have signed those in `listed`.
    standings: Standings,
    statements: BTreeMap<String, KeyStatement>,
    /// Every release, lowest version first; none where no version can be revoked.
    pub(super) listed: Rc<[ListedRelease]>,
}

/// The releases of a package, as of a state of its marker. While that does not change, they need not be listed again:
/// whoever commits another changes it before writing the indices of that.
#[derive(Debug)]
pub(super) struct Listed {
    package: Package,
    change: Option<Revision>,
    releases: Rc<[ListedRelease]>,
}

impl Said {
    /// Adds what follows for a release from the key that has signed it.
    fn judge(&self, release: &Release, standings: &mut Standings) {
        if let Release::Provider(it) = release {
            let key_id = &it.signing_key.key_id;
            if let Some(said) = self.statements.get(key_id) {
                standings.judge(&it.version, key_id, said);
            }
        }
    }

    /// The versions besides this one that may have something with this digest, those that can be installed first.
    fn may_contain(&self, digest: Sha256, besides: &Version) -> impl Iterator<Item = &Version> {
        let of_state = move |is_revoked: bool| {
            let listed = self.listed.iter();
            let listed = listed.filter(move |it| it.may_contain(digest) && it.version != *besides);
            let versions = listed.map(|it| &it.version);
            versions.filter(move |it| self.standings.revoked(it).is_some() == is_revoked)
        };
        of_state(false).chain(of_state(true))
    }
}

pub(super) fn versions_of(
    package: &Package,
    releases: Vec<ListedRelease>,
    standings: &Standings,
) -> Result<Indexed, Failure> {
    let lists = index::versions(package, releases, standings);
    lists.map_err(|error| Failure::Corrupt(error.to_string()))
}

fn find(key: &IndexKey, indices: Indexed) -> Option<IndexDocument> {
    let found = indices.into_iter().find(|(known, _)| known == key);
    found.map(|(_, document)| document)
}

impl<P: Platform> App<'_, P> {
    pub(super) async fn read(&self, lookup: &Lookup, origin: &str) -> Reply<P::Stream> {
        if let Some(reply) = lookup.blocked(&self.config.pull, None) {
            return reply;
        }
        let found = self
            .platform
            .indices()
            .get(&lookup.key, lookup.form, lookup.cache_seconds)
            .await;
        let tally = self.platform.tally();
        let mut is_replaced = false;
        match found {
            Ok(Some(found)) => {
                let now = self.platform.clock().now();
                match lookup.answer(found, self.config, origin, now) {
                    Answered::Fresh(reply) => {
                        tally.saw_index(IndexState::Hit);
                        return reply;
                    }
                    Answered::Stale(reply, address) => {
                        tally.saw_index(IndexState::Hit);
                        self.later(Task::Refresh(address));
                        return reply;
                    }
                    Answered::Unfit => {
                        tally.saw_index(IndexState::Unfit);
                        is_replaced = true;
                    }
                    Answered::Corrupt => {
                        tally.saw_index(IndexState::Corrupt);
                        let told = format!("index {} is corrupt", lookup.key);
                        self.platform.log(&told);
                    }
                }
            }
            Ok(None) => tally.saw_index(IndexState::Miss),
            // R2 can answer when KV cannot.
            Err(error) => {
                tally.saw_index(IndexState::Miss);
                self.platform.log(&format!("storage: {error}"));
            }
        }
        match self.read_facts(lookup, origin, is_replaced).await {
            Ok(reply) => reply,
            Err(failure) => lookup.problem(&self.problem(failure)),
        }
    }

    fn finish(
        &self,
        lookup: &Lookup,
        found: Found<P::Stream>,
        origin: &str,
    ) -> Result<Reply<P::Stream>, FinishError> {
        let urls = self.config.archive_urls.as_ref();
        let now = self.platform.clock().now();
        lookup.finish(found, urls, origin, &self.config.pull, now)
    }

    /// The slow way: KV has nothing, or what `is_replaced`, and R2 decides whether there is nothing.
    async fn read_facts(
        &self,
        lookup: &Lookup,
        origin: &str,
        is_replaced: bool,
    ) -> Result<Reply<P::Stream>, Failure> {
        let document = match &lookup.key {
            IndexKey::Versions(package)
            | IndexKey::MirrorVersions(package)
            | IndexKey::Tags(package) => {
                let at_origin = self.look_at_origin(package).await;
                let lists = self.versions(package).await?;
                let wanted = lists.into_iter().find(|(key, _)| *key == lookup.key);
                match (wanted, at_origin) {
                    (None, Err(failure)) => return Err(failure),
                    (Some((_, document)), Err(failure)) => {
                        // Nothing is stored, and nothing known.
                        if document
                            .metadata
                            .pull
                            .as_ref()
                            .is_some_and(|pull| pull.is_empty)
                        {
                            return Err(failure);
                        }
                        self.problem(failure);
                        return self.answer(lookup, document, origin);
                    }
                    // Not worth to be written: it is too old already.
                    (Some((_, document)), Ok(false)) => {
                        return self.answer(lookup, document, origin);
                    }
                    (wanted, Ok(_)) => wanted.map(|(_, document)| document),
                }
            }
            IndexKey::Version(package, version) | IndexKey::Tag(package, version) => {
                let release = match self.release(package, version).await? {
                    Some(release) => Some(release),
                    None => self.release_at_origin(package, version).await?,
                };
                match release {
                    Some(release) => find(&lookup.key, self.indices_of(&release).await?),
                    None => None,
                }
            }
            IndexKey::Content(package, digest) => self.content(package, *digest).await?,
            IndexKey::Pushed(index) => self.pushed_index(index).await?,
            // No route leads here.
            IndexKey::Revocations => None,
        };
        let Some(document) = document else {
            return Ok(lookup.not_found());
        };
        let pull = document.metadata.pull.as_ref();
        if is_replaced || pull.is_none_or(|pull| !pull.is_empty) {
            self.later(Task::Mend(lookup.key.clone()));
        }
        self.answer(lookup, document, origin)
    }

    fn answer(
        &self,
        lookup: &Lookup,
        document: IndexDocument,
        origin: &str,
    ) -> Result<Reply<P::Stream>, Failure> {
        let IndexDocument { text, metadata } = document;
        let found = Found {
            metadata,
            body: Body::Text(text),
        };
        match self.finish(lookup, found, origin) {
            Ok(reply) => Ok(reply),
            Err(FinishError::Problem(problem)) => Err(problem.into()),
            Err(FinishError::Corrupt) => Err(Failure::Corrupt(lookup.key.to_string())),
        }
    }

    /// Writes an index that a reader has missed, after its answer. That it cannot be written is no
    /// harm: the next read will try again.
    pub(super) async fn mend(&self, key: &IndexKey) -> Result<(), Failure> {
        match key {
            IndexKey::Versions(package)
            | IndexKey::MirrorVersions(package)
            | IndexKey::Tags(package) => self.mend_versions(package).await,
            IndexKey::Version(package, version) | IndexKey::Tag(package, version) => {
                match self.release(package, version).await? {
                    Some(release) => self.mend_version(key, &release).await,
                    None => Ok(()),
                }
            }
            IndexKey::Content(package, digest) => {
                match self.release_with(package, *digest).await? {
                    Some(release) => self.mend_version(key, &release).await,
                    None => Ok(()),
                }
            }
            IndexKey::Pushed(index) => self.index_pushed(index).await,
            IndexKey::Revocations => self.index_revocations().await,
        }
    }

    async fn mend_version(&self, key: &IndexKey, release: &Release) -> Result<(), Failure> {
        // The edge may remember for long that there was none: asked for with a shorter time, it
        // looks again, and there may be nothing to write.
        let seconds = limits::LIST_CACHE_SECONDS;
        let found = self.platform.indices().get(key, IndexForm::Stream, seconds);
        let wanted = find(key, self.indices_of(release).await?).map(|wanted| wanted.metadata);
        if matches!(found.await, Ok(Some(found)) if Some(&found.metadata) == wanted.as_ref()) {
            return Ok(());
        }
        self.index_version(release).await
    }

    /// Writes the lists once, and again only if that may have replaced newer ones.
    async fn mend_versions(&self, package: &Package) -> Result<(), Failure> {
        let before = self.change(package).await?;
        let shared = Shared::new(IndexKey::Tags(package.clone()));
        match self
            .write_shared(&self.versions(package).await?, &shared)
            .await
        {
            // Somebody else has just written them.
            Err(StoreError::Busy(_)) if !shared.has_written() => return Ok(()),
            Ok(()) | Err(StoreError::Busy(_)) => {}
            // It may have taken effect.
            Err(error) => self.platform.log(&format!("storage: {error}")),
        }
        if self.change(package).await? == before {
            return Ok(());
        }
        self.index_versions(package).await
    }

    /// The release of a version, if it was published.
    pub(super) async fn release(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Option<Release>, Failure> {
        let stored = self.stored(package, version).await?;
        Ok(stored.map(|stored| stored.release))
    }

    /// Something with a digest in a package's repository.
    pub(super) async fn content(
        &self,
        package: &Package,
        digest: Sha256,
    ) -> Result<Option<IndexDocument>, Failure> {
        let Some(release) = self.release_with(package, digest).await? else {
            return Ok(None);
        };
        let key = IndexKey::Content(package.clone(), digest);
        Ok(find(&key, self.indices_of(&release).await?))
    }

    /// Returns the index of the first of these digests that only revoked versions of a package have.
    pub(super) async fn revoked_content(
        &self,
        package: &Package,
        digests: impl IntoIterator<Item = Sha256>,
    ) -> Result<Option<IndexDocument>, Failure> {
        let said = self.said_of(package).await?;
        for digest in digests {
            let Some(release) = self.release_among(&said.listed, package, digest).await? else {
                continue;
            };
            let key = IndexKey::Content(package.clone(), digest);
            let document = find(&key, self.indices_by(&said, &release).await?);
            if document
                .as_ref()
                .is_some_and(|it| it.metadata.gone.is_some())
            {
                return Ok(document);
            }
        }
        Ok(None)
    }

    /// The release whose artifact has something with this digest.
    async fn release_with(
        &self,
        package: &Package,
        digest: Sha256,
    ) -> Result<Option<Release>, Failure> {
        let listed = self.list_releases(package).await?;
        self.release_among(&listed, package, digest).await
    }

    /// Finds the same among those of its package that are listed.
    async fn release_among(
        &self,
        listed: &[ListedRelease],
        package: &Package,
        digest: Sha256,
    ) -> Result<Option<Release>, Failure> {
        for listed in listed.iter().filter(|it| it.may_contain(digest)) {
            let Some(release) = self.release(package, &listed.version).await? else {
                continue;
            };
            // Another may begin alike.
            let digests = index::digests(&release);
            let digests = digests.map_err(|error| Failure::Corrupt(error.to_string()))?;
            if digests.contains(&digest) {
                return Ok(Some(release));
            }
        }
        Ok(None)
    }

    /// The release of a version as it is stored, if it was published.
    pub(super) async fn stored(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Option<StoredRelease>, Failure> {
        let key = FactKey::Release(package.clone(), version.clone());
        let Some(Fact { bytes, etag }) = self.platform.facts().get(&key).await? else {
            return Ok(None);
        };
        let release = Release::from_document(&bytes)
            .map_err(|error| Failure::Corrupt(format!("{key}: {error}")))?;
        Ok(Some(StoredRelease { release, etag }))
    }

    /// Writes the version lists, and again as long as somebody commits meanwhile. Why this ends with
    /// the newest lists is told in [`terrace_core::index`].
    ///
    /// # Errors
    /// When a list may not be the newest one: the same request again will see to it.
    pub(super) async fn index_versions(&self, package: &Package) -> Result<(), Failure> {
        let shared = Shared::new(IndexKey::Tags(package.clone()));
        let write = || -> Boxed<'_> {
            Box::pin(async {
                let lists = self.versions(package).await?;
                Ok(self.write_shared(&lists, &shared).await?)
            })
        };
        self.catch_up(package, &shared, &write).await
    }

    /// Writes the indices of a version: the release may grow, and more may be said of it.
    ///
    /// # Errors
    /// As [`App::index_versions`].
    pub(super) async fn index_version(&self, release: &Release) -> Result<(), Failure> {
        let (package, version) = (release.package(), release.version());
        let shared = Shared::new(IndexKey::Version(package.clone(), version.clone()));
        let written: RefCell<Option<Indexed>> = RefCell::default();
        let write = || -> Boxed<'_> {
            Box::pin(async {
                let grown = match release.may_grow() {
                    true => self.release(&package, version).await?,
                    false => None,
                };
                let indices = self.indices_of(grown.as_ref().unwrap_or(release)).await?;
                // Others change the package without changing what is said of this version.
                if written.borrow().as_ref() == Some(&indices) {
                    return Ok(());
                }
                written.take();
                self.write_shared(&indices, &shared).await?;
                written.replace(Some(indices));
                Ok(())
            })
        };
        self.catch_up(&package, &shared, &write).await
    }

    /// Returns every index of one version.
    pub(super) async fn indices_of(&self, release: &Release) -> Result<Indexed, Failure> {
        let said = self.said_of(&release.package()).await?;
        self.indices_by(&said, release).await
    }

    /// Returns the same by statements that were read before.
    pub(super) async fn indices_by(
        &self,
        said: &Said,
        release: &Release,
    ) -> Result<Indexed, Failure> {
        let mut standings = said.standings.clone();
        said.judge(release, &mut standings);
        let mut others = Vec::new();
        if standings.revoked(release.version()).is_some() {
            others = self.sharing(said, release).await?;
            for other in &others {
                said.judge(other, &mut standings);
            }
        }
        let indices = index::of_version(release, &others, &standings);
        indices.map_err(|error| Failure::Corrupt(error.to_string()))
    }

    /// Finds another release for each content of a revoked one that others have, too: the lowest that can be
    /// installed, if there is one.
    async fn sharing(&self, said: &Said, release: &Release) -> Result<Vec<Release>, Failure> {
        let corrupt = |error: serde_json::Error| Failure::Corrupt(error.to_string());
        let package = release.package();
        let mut found: Vec<(Release, Vec<Sha256>)> = Vec::new();
        for digest in index::digests(release).map_err(corrupt)? {
            for version in said.may_contain(digest, release.version()) {
                let at = found.iter().position(|(it, _)| it.version() == version);
                if at.is_none()
                    && let Some(other) = self.release(&package, version).await?
                {
                    let digests = index::digests(&other).map_err(corrupt)?;
                    found.push((other, digests));
                }
                // Another digest may begin alike.
                let read = found.iter().find(|(it, _)| it.version() == version);
                if read.is_some_and(|(_, digests)| digests.contains(&digest)) {
                    break;
                }
            }
        }
        Ok(found.into_iter().map(|(other, _)| other).collect())
    }

    /// Reads what is said of a package and of the keys that have signed it, and where a version may be revoked by that,
    /// its releases.
    pub(super) async fn said_of(&self, package: &Package) -> Result<Said, Failure> {
        let mut standings = self.standings(package).await?;
        let statements = self.judging_statements(package).await?;
        let mut listed = Rc::default();
        if standings.revokes_any() || !statements.is_empty() {
            listed = self.releases_of(package).await?;
            self.judge_by(&statements, package, &listed, &mut standings)
                .await?;
        }
        Ok(Said {
            standings,
            statements,
            listed,
        })
    }

    /// Lists the releases of a package, lowest version first, unless this request has done so since the last change.
    async fn releases_of(&self, package: &Package) -> Result<Rc<[ListedRelease]>, Failure> {
        let change = self.change(package).await?;
        if let Some(known) = self.listed.borrow().as_ref()
            && known.package == *package
            && known.change == change
        {
            return Ok(Rc::clone(&known.releases));
        }
        let mut releases = self.list_releases(package).await?;
        sort::sort_by(&mut releases, |one, other| one.version.cmp(&other.version));
        let releases: Rc<[ListedRelease]> = releases.into();
        self.listed.replace(Some(Listed {
            package: package.clone(),
            change,
            releases: Rc::clone(&releases),
        }));
        Ok(releases)
    }

    async fn catch_up<'w>(
        &self,
        package: &Package,
        shared: &Shared,
        write: &dyn Fn() -> Boxed<'w>,
    ) -> Result<(), Failure> {
        let change = FactKey::Change(package.clone());
        match self.follow_for_all(&change, Some(shared), write).await? {
            true => Ok(()),
            false => Err(Failure::Outrun(package.clone())),
        }
    }

    pub(super) async fn change(&self, package: &Package) -> Result<Option<Revision>, StoreError> {
        let key = FactKey::Change(package.clone());
        self.platform.facts().revision(&key).await
    }

    pub(super) async fn versions(&self, package: &Package) -> Result<Indexed, Failure> {
        let releases = self.list_releases(package).await?;
        match package {
            Package::Mirrored(address) => self.mirrored_versions(address, releases).await,
            Package::Provider(_) | Package::Module(_) if releases.is_empty() => Ok(Vec::new()),
            Package::Provider(_) | Package::Module(_) => {
                let mut standings = self.standings(package).await?;
                self.judge(package, &releases, &mut standings).await?;
                versions_of(package, releases, &standings)
            }
        }
    }

    /// What version lists say about each release. Where a copy of the bucket has lost an object's
    /// metadata, its document tells.
    pub(super) async fn list_releases(
        &self,
        package: &Package,
    ) -> Result<Vec<ListedRelease>, Failure> {
        let mut releases = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.platform.facts().releases(package, cursor).await?;
            for (version, listed) in page.releases {
                match listed {
                    Some(listed) => releases.push(listed),
                    None => {
                        let release = self.release(package, &version).await?;
                        let listed = release.as_ref().map(ListedRelease::of).transpose();
                        releases.extend(listed.map_err(|e| Failure::Corrupt(e.to_string()))?);
                    }
                }
            }
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(releases);
            }
        }
    }
}

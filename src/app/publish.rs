//! Publishing: look at what is stored, let the core plan, take the steps.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use serde::de::DeserializeOwned;
use terrace_archive::limits::READ_BYTES;
use terrace_archive::{ArchiveFormat, Entry, Step as ZipStep, TarGzInspector};
use terrace_core::api::admin::MirroredBody;
use terrace_core::api::admin::{
    MirrorBody, ModuleBody, ProviderBody, PublishAnswer, Published as PublishedBody,
};
use terrace_core::auth::access::Caller;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{Body, CachePolicy, Reply};
use terrace_core::index::DescribedVersion;
use terrace_core::limits;
use terrace_core::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use terrace_core::model::oci::Digest;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::publish::{
    ArchiveState, ExpectedArchive, MirrorPublication, ModulePublication, Plan, ProviderPublication,
    Publication, Seen, Step, StoredRelease, release_metadata, too_large,
};
use terrace_core::read::IndexForm;
use terrace_core::storage::key::{BytesKey, FactKey, IndexKey};
use terrace_core::storage::release::Release;

use super::garbage::{Look, being_removed};
use super::incoming::incoming;
use super::{App, Failure};
use crate::store::{
    Archives as _, Clock as _, Condition, Facts as _, Indices as _, Payload, Platform, StoreError,
    Stored,
};

/// Archives that are looked at together: as many as the platform lets wait for an answer
/// (<https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections>).
const ARCHIVES_AT_ONCE: usize = 6;

/// How a list of steps ended.
pub(super) enum Executed {
    /// All were taken.
    All,
    /// Another publisher wrote the release first.
    WrittenByAnother,
}

/// How a publish ended.
pub(super) enum Published {
    /// Everything is stored.
    Whole {
        /// Whether it was not before.
        creates: bool,
        /// What the publisher should know.
        warnings: Vec<String>,
    },
    /// These archives are missing.
    Lacks(Vec<ExpectedArchive>),
}

impl Executed {
    pub(super) fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }
}

impl<P: Platform> App<'_, P> {
    pub(super) async fn publish_provider(
        &self,
        caller: &Caller,
        (address, version): (ProviderAddress, Version),
        body: &[u8],
        origin: &str,
    ) -> Result<Reply<P::Stream>, Failure> {
        let body: ProviderBody = parse_json(body)?;
        let publication =
            ProviderPublication::parse(address, version, &body).map_err(Problem::Invalid)?;
        self.publish(caller, &Publication::Provider(publication), origin)
            .await
    }

    pub(super) async fn publish_mirrored(
        &self,
        caller: &Caller,
        (address, version): (MirroredAddress, Version),
        body: &[u8],
        origin: &str,
    ) -> Result<Reply<P::Stream>, Failure> {
        if OwnHosts::new(origin, &self.config.hostnames).include(&address.hostname) {
            let MirroredAddress { hostname, provider } = address;
            return Err(Problem::BadRequest(format!(
                "{hostname} is this registry itself: publish {provider} here, and its mirror has it"
            ))
            .into());
        }
        let body: MirrorBody = parse_json(body)?;
        let now = self.platform.clock().now();
        let publication =
            MirrorPublication::parse(address, version, &body, now).map_err(Problem::Invalid)?;
        let key = publication.signing_key().cloned();
        let address = publication.address.clone();
        let reply = self
            .publish(caller, &Publication::Mirror(publication), origin)
            .await?;
        if let Some(key) = key.filter(|_| reply.status != 202) {
            self.vouch(&address, &key).await?;
        }
        Ok(reply)
    }

    /// What is mirrored of a version, so that nobody sends it again.
    pub(super) async fn describe_mirrored(
        &self,
        address: MirroredAddress,
        version: Version,
    ) -> Result<Reply<P::Stream>, Failure> {
        let missing = Problem::NotFound(format!("{address} {version} is not mirrored"));
        let package = Package::Mirrored(address);
        let stored = self.stored(&package, &version).await?;
        match stored.map(|stored| stored.release) {
            Some(Release::Mirrored(release)) => {
                let text = serde_json::to_string(&MirroredBody::from(&release)).map_err(corrupt)?;
                Ok(Reply::json(200, CachePolicy::NoStore, text))
            }
            _ => Err(missing.into()),
        }
    }

    pub(super) async fn publish_module(
        &self,
        caller: &Caller,
        (address, version): (ModuleAddress, Version),
        body: &[u8],
        origin: &str,
    ) -> Result<Reply<P::Stream>, Failure> {
        let body: ModuleBody = parse_json(body)?;
        let publication =
            ModulePublication::parse(address, version, &body).map_err(Problem::Invalid)?;
        self.publish(caller, &Publication::Module(publication), origin)
            .await
    }

    async fn publish(
        &self,
        caller: &Caller,
        publication: &Publication,
        origin: &str,
    ) -> Result<Reply<P::Stream>, Failure> {
        let must_bring = self.must_bring(caller);
        match self.try_publish(publication, must_bring).await? {
            Published::Whole { creates, warnings } => {
                if must_bring {
                    self.forget_brought(publication);
                }
                Ok(published(publication, creates, warnings))
            }
            Published::Lacks(missing) => {
                let object = |archive: &ExpectedArchive| match must_bring {
                    true => incoming(publication, archive).into(),
                    false => archive.key.into(),
                };
                self.ask_for(&missing, &object, origin)
            }
        }
    }

    /// Publishes what is stored; where somebody `must_bring` archives, what was brought for this release.
    pub(super) async fn try_publish(
        &self,
        publication: &Publication,
        must_bring: bool,
    ) -> Result<Published, Failure> {
        loop {
            let look = self.begin_look().await?;
            let seen = self.look(publication, must_bring, &look).await?;
            match publication.plan(seen, self.platform.clock().now()) {
                Plan::Conflict(reasons) => return Err(Problem::Conflict(reasons).into()),
                Plan::Invalid(reasons) => return Err(Problem::Invalid(reasons).into()),
                Plan::Upload(missing) => return Ok(Published::Lacks(missing)),
                Plan::Execute {
                    steps,
                    creates,
                    warnings,
                } => match self.execute(steps, &look).await? {
                    Executed::All => return Ok(Published::Whole { creates, warnings }),
                    // A release is never removed and never loses anything, so this ends.
                    Executed::WrittenByAnother => {}
                },
            }
        }
    }

    /// Everything the plan depends on. A release that exists already decides alone.
    async fn look(
        &self,
        publication: &Publication,
        must_bring: bool,
        look: &Look,
    ) -> Result<Seen, Failure> {
        let package = publication.package();
        let version = publication.version();
        let mut existing = self.stored(&package, version).await?;
        let mut described = None;
        if existing.is_none() {
            described = self.still_described(&package, version).await;
        }
        let differs = |it: &DescribedVersion| publication.repeats(it).is_err();
        let is_lost = described.as_ref().is_some_and(differs);
        if is_lost {
            // Unless another publisher has committed it between the two reads.
            existing = self.stored(&package, version).await?;
        }
        let settles = |stored: &StoredRelease| publication.is_settled_by(&stored.release);
        if existing.as_ref().map_or(is_lost, settles) {
            return Ok(Seen {
                existing,
                described,
                keys: Vec::new(),
                statements: BTreeMap::new(),
                archives: Vec::new(),
            });
        }
        let (keys, statements) = match publication {
            Publication::Provider(provider) => {
                self.signing_keys(&provider.address.namespace).await?
            }
            Publication::Mirror(_) | Publication::Module(_) => Default::default(),
        };
        let archives = match must_bring {
            true => self.brought(publication, look).await?,
            false => self.archive_states(&publication.archives(), look).await?,
        };
        Ok(Seen {
            existing,
            described,
            keys,
            statements,
            archives,
        })
    }

    /// The same as [`App::described`] for a publish, which does without where KV cannot be asked.
    async fn still_described(
        &self,
        package: &Package,
        version: &Version,
    ) -> Option<DescribedVersion> {
        match self.described_if_listed(package, version).await {
            Ok(described) => described,
            Err(failure) => {
                self.problem(failure);
                None
            }
        }
    }

    /// The same as [`App::described`], for a version whose index may not be there: KV would remember for a while that it
    /// found nothing, in front of the readers of what is about to be written. A listing is not remembered.
    async fn described_if_listed(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Option<DescribedVersion>, Failure> {
        let name = IndexKey::Version(package.clone(), version.clone()).to_string();
        // Names that go on behind it, such as those of prereleases, come later.
        let page = self.platform.indices().list_keys(&name, None).await?;
        match page.keys.contains(&name) {
            true => self.described(package, version).await,
            false => Ok(None),
        }
    }

    /// The version as its index describes it, for one whose release is not there. KV may tell nothing, or something
    /// older, but never of a release that was not committed.
    pub(super) async fn described(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Option<DescribedVersion>, Failure> {
        let key = IndexKey::Version(package.clone(), version.clone());
        let indices = self.platform.indices();
        let found = indices.get(&key, IndexForm::Text, limits::LIST_CACHE_SECONDS);
        Ok(found.await?.and_then(|found| match found.body {
            Body::Text(text) => DescribedVersion::parse(&found.metadata, &text),
            _ => None,
        }))
    }

    async fn archive_states(
        &self,
        expected: &[ExpectedArchive],
        look: &Look,
    ) -> Result<Vec<ArchiveState>, Failure> {
        let mut states = Vec::new();
        for some in expected.chunks(ARCHIVES_AT_ONCE) {
            let looked = some.iter().map(|it| self.archive_state(it, look));
            states.extend(try_join_all(looked).await?);
        }
        Ok(states)
    }

    /// What is really stored for an archive. One that is being removed counts as missing.
    pub(super) async fn archive_state(
        &self,
        expected: &ExpectedArchive,
        look: &Look,
    ) -> Result<ArchiveState, Failure> {
        if !self.claim(expected.key, look).await? {
            return Ok(ArchiveState::Missing);
        }
        let Some(size) = self.stored_size(expected.key.into()).await? else {
            return Ok(ArchiveState::Missing);
        };
        let (reasons, warnings) = match self.entries(expected, size).await? {
            Ok(entries) => (expected.refusals(&entries), expected.remarks(&entries)),
            Err(reason) => (vec![format!("{}: {reason}", expected.filename)], Vec::new()),
        };
        Ok(ArchiveState::Stored {
            size,
            reasons,
            warnings,
        })
    }

    /// How many bytes are really stored under a key; `None` when there are none. Bytes that are not what
    /// their key says are removed, so that the right ones can take their place.
    pub(super) async fn stored_size(&self, key: BytesKey) -> Result<Option<u64>, Failure> {
        let archives = self.platform.archives();
        let Some(head) = archives.head(key).await? else {
            return Ok(None);
        };
        let digest = match head.sha256 {
            Some(digest) if matches!(key.digest(), Digest::Sha256(_)) => {
                Some(Digest::Sha256(digest))
            }
            _ => archives.digest(key).await?,
        };
        if digest == Some(key.digest()) {
            return Ok(Some(head.size));
        }
        self.platform
            .log(&format!("{key} holds other bytes: discarded"));
        // Unless somebody has sent the right ones while these were being hashed.
        let now = archives.head(key).await?;
        if now.is_some_and(|now| now.revision == head.revision) {
            archives.discard(key).await?;
        }
        Ok(None)
    }

    /// The entries of an archive, by ranged reads; the inner error is the archive's own fault.
    async fn entries(
        &self,
        expected: &ExpectedArchive,
        size: u64,
    ) -> Result<Result<Vec<Entry>, String>, StoreError> {
        let archives = self.platform.archives();
        let key = expected.key;
        match expected.format() {
            ArchiveFormat::Zip => {
                let mut zip = expected.zip_inspector(size);
                while let ZipStep::Read { offset, len } = zip.next() {
                    let bytes = archives.read(key, offset, len).await?;
                    if let Err(error) = zip.feed(&bytes) {
                        return Ok(Err(error.to_string()));
                    }
                }
                Ok(zip.finish().map_err(|error| error.to_string()))
            }
            ArchiveFormat::TarGz => {
                let mut tar = TarGzInspector::new();
                let mut offset = 0;
                while offset < size {
                    let length = READ_BYTES.min(size - offset);
                    let bytes = archives.read(key, offset, length).await?;
                    if let Err(error) = tar.feed(&bytes) {
                        return Ok(Err(error.to_string()));
                    }
                    offset += length;
                }
                Ok(tar.finish().map_err(|error| error.to_string()))
            }
        }
    }

    fn ask_for(
        &self,
        missing: &[ExpectedArchive],
        object: &dyn Fn(&ExpectedArchive) -> BytesKey,
        origin: &str,
    ) -> Result<Reply<P::Stream>, Failure> {
        let Some(urls) = &self.config.archive_urls else {
            let message = "no secret is set that could sign upload URLs".to_owned();
            return Err(Problem::Misconfigured(message).into());
        };
        let too_large = too_large(missing, urls);
        if !too_large.is_empty() {
            return Err(Problem::Invalid(too_large).into());
        }
        let missing = missing
            .iter()
            .map(|archive| {
                let (name, key) = (archive.filename.clone(), object(archive));
                self.missing_bytes(name, key, archive.size, urls, origin)
            })
            .collect();
        Ok(answer(202, &PublishAnswer::Incomplete { missing }))
    }

    pub(super) async fn execute(&self, steps: Vec<Step>, look: &Look) -> Result<Executed, Failure> {
        for step in steps {
            let executed = self
                .patiently(async || self.take(&step, look).await)
                .await?;
            if let Executed::WrittenByAnother = executed {
                return Ok(executed);
            }
        }
        Ok(Executed::All)
    }

    async fn take(&self, step: &Step, look: &Look) -> Result<Executed, Failure> {
        let facts = self.platform.facts();
        match step {
            Step::StoreArchive(key, bytes) => {
                if !self.claim(*key, look).await? {
                    return Err(being_removed(*key).into());
                }
                let archives = self.platform.archives();
                let payload = Payload::Bytes(bytes.clone());
                match archives.store((*key).into(), payload).await {
                    Ok(Stored::Yes) => {}
                    Ok(Stored::DigestMismatch) => {
                        return Err(Failure::Corrupt(format!("{key} on its way to storage")));
                    }
                    Err(StoreError::Busy(operation)) => {
                        // By somebody who stores the same.
                        let head = archives.head((*key).into()).await?;
                        if head.and_then(|head| head.sha256) != Some(key.digest) {
                            return Err(StoreError::Busy(operation).into());
                        }
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Step::CreateRelease(release) => {
                self.check_age(look)?;
                let key = FactKey::Release(release.package(), release.version().clone());
                let document = release.to_document().map_err(corrupt)?;
                let metadata = release_metadata(release).map_err(corrupt)?;
                let written = facts
                    .put(&key, &document, &metadata, Condition::Absent)
                    .await?;
                if written.is_none() {
                    return Ok(Executed::WrittenByAnother);
                }
            }
            Step::GrowRelease(release, etag) => {
                self.check_age(look)?;
                let key = FactKey::Release(release.package(), release.version().clone());
                let document = release.to_document().map_err(corrupt)?;
                let metadata = release_metadata(release).map_err(corrupt)?;
                let unchanged = Condition::Unchanged(etag.clone());
                let written = facts.put(&key, &document, &metadata, unchanged).await?;
                if written.is_none() {
                    return Ok(Executed::WrittenByAnother);
                }
            }
            Step::MarkChanged(package) => self.mark(&FactKey::Change(package.clone())).await?,
            Step::IndexVersion(release) => self.index_version(release).await?,
            Step::IndexVersions(package) => self.index_versions(package).await?,
        }
        Ok(Executed::All)
    }
}

fn corrupt(error: impl ToString) -> Failure {
    Failure::Corrupt(error.to_string())
}

fn parse_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| {
        Problem::BadRequest(format!("the body is not the JSON wanted here: {error}"))
    })
}

fn published<S>(publication: &Publication, creates: bool, warnings: Vec<String>) -> Reply<S> {
    let published = PublishedBody {
        address: publication.address(),
        version: publication.version().to_string(),
        warnings,
    };
    if creates {
        answer(201, &PublishAnswer::Created(published))
    } else {
        answer(200, &PublishAnswer::Unchanged(published))
    }
}

fn answer<S>(status: u16, answer: &PublishAnswer) -> Reply<S> {
    let text = serde_json::to_string(answer).unwrap_or_default();
    Reply::json(status, CachePolicy::NoStore, text)
}

//! Copies of a registry, on their way in: first bytes, then the documents that refer to them, each byte for
//! byte and only where there is none. Indices are made by a walk when everything is there.

use std::collections::BTreeMap;

use terrace_base::sort;
use terrace_core::api::admin::{
    FactBody, MissingArchive, RefusedFact, RestoreAnswer, RestoreBody, UploadBody, UploadRequest,
    UploadsAnswer, UploadsBody,
};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::limits;
use terrace_core::maintenance::restore::{
    Restored, StoredReference, check_referrer, with_revocations,
};
use terrace_core::storage::archive_url::ArchiveUrls;
use terrace_core::storage::key::{BytesKey, FactKey, IndexKey, PushedFact};

use super::garbage::Look;
use super::tokens::{json, parse};
use super::{App, Failure, Task, operations};
use crate::store::{Clock as _, Condition, Facts as _, Platform};

/// The metadata of an object.
type Metadata = Vec<(&'static str, String)>;

/// What became of a document.
enum Outcome {
    Created,
    Unchanged,
    Conflict,
    Refused(String),
}

impl<P: Platform> App<'_, P> {
    /// Tells how to send those bytes of a copy that are not stored.
    pub(super) async fn ask_for_copies(
        &self,
        body: &[u8],
        origin: &str,
    ) -> Result<Reply<P::Stream>, Failure> {
        let UploadsBody { archives } = parse(body)?;
        operations::check_count(archives.len(), limits::UPLOADS_AT_ONCE)?;
        let Some(urls) = &self.config.archive_urls else {
            return Err(operations::no_signer().into());
        };
        let (most, why) = urls.upload_limit();
        let look = self.begin_look().await?;
        let mut answer = UploadsAnswer::default();
        for UploadBody { key: text, size } in archives {
            let key = BytesKey::parse_key(&text).ok_or_else(|| {
                Problem::BadRequest(format!(
                    "{text:?} is the key of no bytes: it must be archives/<sha256>.<extension> or \
                         oci/blobs/<algorithm>/<digits>"
                ))
            })?;
            if self.is_stored(key, Some(size), &look).await? {
                continue;
            }
            if size > most {
                let told = format!("{text} has {size} bytes, at most {most} can be sent: {why}");
                return Err(Problem::Invalid(vec![told]).into());
            }
            answer
                .missing
                .push(self.missing_bytes(text, key, size, urls, origin));
        }
        json(200, &answer)
    }

    /// How to send bytes that are not stored, under the name that they are asked for by.
    pub(super) fn missing_bytes(
        &self,
        filename: String,
        key: BytesKey,
        size: u64,
        urls: &ArchiveUrls,
        origin: &str,
    ) -> MissingArchive {
        let now = self.platform.clock().now();
        let upload = urls.upload(origin, key, size, now);
        let headers = upload.headers.into_iter();
        MissingArchive {
            filename,
            sha256: key.digest().hex(),
            size,
            upload: UploadRequest {
                method: "PUT".to_owned(),
                url: upload.url,
                headers: sort::map(headers.map(|(name, value)| (name.to_owned(), value))),
            },
        }
    }

    async fn is_stored(
        &self,
        key: BytesKey,
        size: Option<u64>,
        look: &Look,
    ) -> Result<bool, Failure> {
        if let BytesKey::Archive(archive) = key
            && !self.claim(archive, look).await?
        {
            return Ok(false);
        }
        let stored = self.stored_size(key).await?;
        Ok(stored.is_some_and(|stored| size.is_none_or(|size| size == stored)))
    }

    /// `PUT /admin/v1/facts`
    pub(super) async fn restore(&self, body: &[u8]) -> Result<Reply<P::Stream>, Failure> {
        let RestoreBody { facts } = parse(body)?;
        operations::check_count(facts.len(), limits::RESTORED_AT_ONCE)?;
        let look = self.begin_look().await?;
        let mut answer = RestoreAnswer::default();
        let mut changed = BTreeMap::new();
        for FactBody { key, document } in facts {
            match self
                .restore_one(&key, &document, &look, &mut changed)
                .await?
            {
                Outcome::Created => answer.created.push(key),
                Outcome::Unchanged => answer.unchanged.push(key),
                Outcome::Conflict => answer.conflicts.push(key),
                Outcome::Refused(reason) => answer.refused.push(RefusedFact { key, reason }),
            }
        }
        // Whoever has listed before these commits looks at the marker after it has written, and lists again.
        for key in changed.into_values() {
            // Who is revoked counts at once.
            if matches!(key, FactKey::RevocationChange) {
                self.later(Task::Mend(IndexKey::Revocations));
            }
            self.mark(&key).await?;
        }
        json(200, &answer)
    }

    async fn restore_one(
        &self,
        text: &str,
        document: &str,
        look: &Look,
        changed: &mut BTreeMap<String, FactKey>,
    ) -> Result<Outcome, Failure> {
        let Some(key) = FactKey::parse(text) else {
            let reason = "this version of the registry knows no such key";
            return Ok(Outcome::Refused(reason.to_owned()));
        };
        let restored = match Restored::parse(&key, document) {
            Ok(restored) => restored,
            Err(reason) => return Ok(Outcome::Refused(reason)),
        };
        let Restored {
            mut metadata,
            bytes,
            fact,
            change,
        } = restored;
        let note_change = || {
            let change = change.map(|it| (it.to_string(), it));
            changed.extend(change);
        };
        if let Some(there) = self.compare(&key, document).await? {
            // Whoever has created it may have been stopped before the marker.
            note_change();
            return Ok(there);
        }
        match self.lacking(&key, document, (&bytes, fact), look).await? {
            Ok(more) => metadata.extend(more),
            Err(reason) => return Ok(Outcome::Refused(reason)),
        }
        self.check_age(look)?;
        let absent = Condition::Absent;
        let written = self.put_document(&key, document, &metadata, absent).await?;
        note_change();
        match written {
            Some(_) => Ok(Outcome::Created),
            // Somebody else was faster.
            None => Ok(self
                .compare(&key, document)
                .await?
                .unwrap_or(Outcome::Conflict)),
        }
    }

    /// Compares a document with the one that is there, which stays as it is but for what is revoked.
    async fn compare(&self, key: &FactKey, document: &str) -> Result<Option<Outcome>, Failure> {
        loop {
            let Some(there) = self.platform.facts().get(key).await? else {
                return Ok(None);
            };
            if there.bytes == document.as_bytes() {
                return Ok(Some(Outcome::Unchanged));
            }
            let Some(merged) = with_revocations(key, &there.bytes, document) else {
                return Ok(Some(Outcome::Conflict));
            };
            let unchanged = Condition::Unchanged(there.etag);
            let written = self.put_document(key, &merged, &[], unchanged);
            if written.await?.is_some() {
                return Ok(Some(Outcome::Conflict));
            }
        }
    }

    /// What must be there before a document and is not; or what else its object tells.
    async fn lacking(
        &self,
        key: &FactKey,
        document: &str,
        (bytes, needed): (&[StoredReference], Option<FactKey>),
        look: &Look,
    ) -> Result<Result<Metadata, String>, Failure> {
        for needed in bytes {
            if !self.is_stored(needed.key, needed.size, look).await? {
                return Ok(Err(format!("{} is not stored", needed.key)));
            }
        }
        let Some(needed) = needed else {
            return Ok(Ok(Metadata::new()));
        };
        let Some(fact) = self.platform.facts().get(&needed).await? else {
            return Ok(Err(format!("{needed} is not there")));
        };
        Ok(match key {
            FactKey::Pushed(PushedFact::Referrer(_, subject, digest)) => {
                check_referrer(document, *subject, &fact.bytes, *digest)
            }
            _ => Ok(Metadata::new()),
        })
    }
}

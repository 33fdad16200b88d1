//! Facts in an object store.

use std::borrow::Cow;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::{
    Attribute, Attributes, Error, GetOptions, ObjectMeta, ObjectStoreExt as _, PutMode, PutOptions,
    PutPayload, UpdateVersion,
};
use terrace_app::host::{Condition, Fact, FactPage, Facts, ListedFact, Revision, StoreError};
use terrace_base::time::UnixTime;
use terrace_core::storage::key::{FactKey, Lease, PushedFact};

use super::markers::is_marker;
use super::{Inner, ObjectStorage, failure, found, number_of, path_of};
use crate::blocking::blocking;
use crate::index::documents::{Record, metadata_of};
use crate::limits::{METADATA_BYTES, METADATA_REQUESTS};

/// Separates the ETag of an object from its version, in stores that have versions: Google's conditions name only those.
const VERSION: char = ' ';

/// Returns the ETag for conditions.
fn etag(etag: Option<&str>, version: Option<&str>) -> String {
    let etag = etag.unwrap_or_default();
    match version {
        Some(version) => format!("{etag}{VERSION}{version}"),
        None => etag.to_owned(),
    }
}

fn version_of(etag: &str) -> UpdateVersion {
    let (etag, version) = match etag.split_once(VERSION) {
        Some((etag, version)) => (etag, Some(version.to_owned())),
        None => (etag, None),
    };
    UpdateVersion {
        e_tag: (!etag.is_empty()).then(|| etag.to_owned()),
        version,
    }
}

pub(super) fn etag_of(meta: &ObjectMeta) -> String {
    etag(meta.e_tag.as_deref(), meta.version.as_deref())
}

/// Returns the time at which an object was stored.
pub(super) fn stored_at(meta: &ObjectMeta) -> UnixTime {
    UnixTime(u64::try_from(meta.last_modified.timestamp()).unwrap_or_default())
}

/// The beginning of a header's value that a store has encoded, because it is not ASCII (RFC 2047).
const ENCODED: &str = "=?";

/// Returns the part of an ETag that lists contain.
pub(super) fn listed_part(etag: &str) -> &str {
    etag.split_once(VERSION).map_or(etag, |(etag, _)| etag)
}

/// Returns the metadata as attributes. A header can contain only ASCII, and begins and ends with no space; and stores limit the
/// length of all together. Other metadata are left out, and computed from the document when it is listed.
fn attributes(metadata: &[(&str, String)]) -> Attributes {
    let is_header = |text: &str| {
        text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
            && text.trim() == text
            && !text.starts_with(ENCODED)
    };
    let bytes = |(name, value): &(&str, String)| name.len() + value.len();
    let mut attributes = Attributes::new();
    attributes.insert(Attribute::ContentType, "application/json".into());
    if metadata.iter().all(|(_, value)| is_header(value))
        && metadata.iter().map(bytes).sum::<usize>() <= METADATA_BYTES
    {
        for (name, value) in metadata {
            let name = Attribute::Metadata(Cow::Owned((*name).to_owned()));
            attributes.insert(name, value.clone().into());
        }
    }
    attributes
}

/// Returns the metadata in attributes; none if one of them was encoded.
fn metadata_in(attributes: &Attributes) -> Vec<(String, String)> {
    let metadata: Vec<_> = attributes
        .iter()
        .filter_map(|(name, value)| match name {
            Attribute::Metadata(name) => Some((name.to_string(), value.to_string())),
            _ => None,
        })
        .collect();
    match metadata.iter().any(|(_, value)| value.starts_with(ENCODED)) {
        true => Vec::new(),
        false => metadata,
    }
}

/// Returns whether a document describes the indices of one process, or the work on them: each process has its own.
fn is_of_process(key: &FactKey) -> bool {
    matches!(
        key,
        FactKey::Written(_) | FactKey::Lease(Lease::Catalog) | FactKey::RepairCursor
    )
}

impl Inner {
    async fn document(&self, key: &FactKey) -> Result<Option<Fact>, Error> {
        let Some(object) = found(self.store.get(&path_of(key)?).await)? else {
            return Ok(None);
        };
        let etag = etag_of(&object.meta);
        let bytes = object.bytes().await?.to_vec();
        Ok(Some(Fact { bytes, etag }))
    }

    /// Writes a document; `None` if the condition does not hold.
    async fn put_document(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, Error> {
        let mode = match condition {
            Condition::Any if is_marker(key) => return self.put_marker(key, document).await,
            Condition::Any => PutMode::Overwrite,
            Condition::Absent => PutMode::Create,
            Condition::Unchanged(etag) => PutMode::Update(version_of(&etag)),
        };
        let Some(etag) = self.put(key, document, metadata, mode).await? else {
            return Ok(None);
        };
        if !metadata.is_empty() {
            let metadata = metadata.iter();
            let metadata = metadata.map(|(name, value)| ((*name).to_owned(), value.clone()));
            let record = Record {
                size: u64::try_from(document.len()).unwrap_or(u64::MAX),
                etag: etag.clone(),
                metadata: metadata.collect(),
            };
            self.learn(vec![(key.to_string(), record)]).await;
        }
        Ok(Some(Revision(etag)))
    }

    /// Replaces a change marker. If no other process has changed it since it was seen last, the new one counts as seen.
    async fn put_marker(&self, key: &FactKey, marker: &str) -> Result<Option<Revision>, Error> {
        let name = key.to_string();
        let mode = match self.markers.seen(&name) {
            Some(etag) => PutMode::Update(version_of(&etag)),
            None => PutMode::Create,
        };
        if let Some(etag) = self.put(key, marker, &[], mode).await? {
            self.markers.remember(name, etag.clone());
            return Ok(Some(Revision(etag)));
        }
        self.markers.forget(&name);
        let etag = self.put(key, marker, &[], PutMode::Overwrite).await?;
        Ok(etag.map(Revision))
    }

    /// Writes an object, and returns its ETag; `None` if the condition of the mode does not hold.
    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        mode: PutMode,
    ) -> Result<Option<String>, Error> {
        let is_conditional = !matches!(mode, PutMode::Overwrite);
        let store = match mode {
            PutMode::Overwrite => &self.store,
            PutMode::Create | PutMode::Update(_) => &self.once,
        };
        let options = PutOptions {
            mode,
            attributes: attributes(metadata),
            ..PutOptions::default()
        };
        let payload = PutPayload::from(document.as_bytes().to_vec());
        match store.put_opts(&path_of(key)?, payload, options).await {
            Ok(put) => Ok(Some(etag(put.e_tag.as_deref(), put.version.as_deref()))),
            // A missing object is not an unchanged one.
            Err(
                Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotFound { .. },
            ) if is_conditional => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Remembers metadata. If that fails, the objects are asked for them when they are listed.
    async fn learn(&self, records: Vec<(String, Record)>) {
        let known = self.records.clone();
        let records = records.into_iter();
        let records = records.map(|(key, record)| (key, number_of(&record.etag), record));
        let records: Vec<_> = records.collect();
        let _ = blocking(move || known.learn(&records, true)).await;
    }

    /// Lists up to `limit` objects with keys that begin with `prefix`, after the one named `after`. Returns whether there are
    /// more.
    pub(super) async fn list_objects(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<ObjectMeta>, bool), Error> {
        // A store lists whole segments of paths.
        let directory = prefix.rfind('/').and_then(|end| prefix.get(..end));
        let Ok(directory) = directory.map(path_of).transpose() else {
            // Nothing is stored under a key that is no path.
            return Ok((Vec::new(), false));
        };
        let start = match after {
            Some(after) => Some(format!("{prefix}{after}")),
            None => before(prefix).map(str::to_owned),
        };
        let mut objects = match start.as_deref().and_then(|start| path_of(start).ok()) {
            Some(start) => self.store.list_with_offset(directory.as_ref(), &start),
            None => self.store.list(directory.as_ref()),
        };
        let mut page = Vec::new();
        while let Some(object) = objects.next().await {
            let object = object?;
            let key = object.location.as_ref();
            if !key.starts_with(prefix) {
                match key < prefix {
                    true => continue,
                    false => break,
                }
            }
            // The start may be no path, and its path has no slash at its end: then the list begins before it.
            if after.is_some() && start.as_deref().is_some_and(|start| key <= start) {
                continue;
            }
            if page.len() == limit {
                return Ok((page, true));
            }
            page.push(object);
        }
        Ok((page, false))
    }

    /// Returns a page of a list with the metadata of each document.
    async fn list_documents(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<(ObjectMeta, Record)>, bool), Error> {
        let (objects, is_truncated) = self.list_objects(prefix, after, limit).await?;
        let named: Vec<_> = objects
            .iter()
            .map(|it| (it.location.to_string(), number_of(&etag_of(it)), it.size))
            .collect();
        let records = self.records.clone();
        let find = move || {
            let named = named.iter();
            records.find(named.map(|(key, number, size)| (key.as_str(), *number, *size)))
        };
        let known = blocking(find).await.unwrap_or_default();
        let known = known.into_iter().chain(std::iter::repeat(None));
        let asked = stream::iter(objects.into_iter().zip(known)).map(async |(object, record)| {
            let etag = object.e_tag.clone().unwrap_or_default();
            let record = record.filter(|record| listed_part(&record.etag) == etag);
            let (record, is_new) = match record {
                Some(record) => (Some(record), false),
                None => (self.record_of(&object).await?, true),
            };
            Ok::<_, Error>(record.map(|record| (object, record, is_new)))
        });
        let asked: Vec<_> = asked.buffered(METADATA_REQUESTS).try_collect().await?;
        let (mut documents, mut learnt) = (Vec::new(), Vec::new());
        for (object, record, is_new) in asked.into_iter().flatten() {
            if is_new {
                learnt.push((object.location.to_string(), record.clone()));
            }
            documents.push((object, record));
        }
        if !learnt.is_empty() {
            self.learn(learnt).await;
        }
        Ok((documents, is_truncated))
    }

    /// Asks for the metadata of an object; `None` if it was removed meanwhile. Other programs that copy objects may leave them
    /// out: then they are computed from the document, as an import does.
    async fn record_of(&self, object: &ObjectMeta) -> Result<Option<Record>, Error> {
        let options = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        let head = self.store.get_opts(&object.location, options).await;
        let Some(head) = found(head)? else {
            return Ok(None);
        };
        let mut record = Record {
            size: head.meta.size,
            etag: etag_of(&head.meta),
            metadata: metadata_in(&head.attributes),
        };
        if record.metadata.is_empty() && may_have_metadata(object.location.as_ref()) {
            let Some(object) = found(self.store.get(&object.location).await)? else {
                return Ok(None);
            };
            record.etag = etag_of(&object.meta);
            record.size = object.meta.size;
            let key = object.meta.location.to_string();
            record.metadata = metadata_of(&key, &object.bytes().await?);
        }
        Ok(Some(record))
    }
}

/// Returns a text before all keys with a prefix, if the directory may have many objects before these. One of them may be the
/// prefix itself.
fn before(prefix: &str) -> Option<&str> {
    let (last, character) = prefix.char_indices().next_back()?;
    (character != '/').then(|| prefix.get(..last)).flatten()
}

/// Returns whether documents with such a key have metadata that an import computes from them.
fn may_have_metadata(key: &str) -> bool {
    FactKey::parse(key).is_some_and(|key| {
        matches!(
            key,
            FactKey::Release(..)
                | FactKey::Documentation(..)
                | FactKey::Revocation(_)
                | FactKey::Rule(_)
                | FactKey::Pushed(PushedFact::Tag(..) | PushedFact::Referrer(..))
        )
    })
}

impl Facts for ObjectStorage {
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError> {
        if is_of_process(key) {
            return Facts::get(&self.0.own, key).await;
        }
        let read = self.0.document(key).await;
        read.map_err(|error| failure("get", key, &error))
    }

    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError> {
        if is_of_process(key) {
            return self.0.own.revision(key).await;
        }
        let head = async { found(self.0.store.head(&path_of(key)?).await) };
        let head = head.await.map_err(|error| failure("head", key, &error))?;
        Ok(head.map(|meta| Revision(etag_of(&meta))))
    }

    async fn put(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, StoreError> {
        if is_of_process(key) {
            return Facts::put(&self.0.own, key, document, metadata, condition).await;
        }
        let put = self.0.put_document(key, document, metadata, condition);
        put.await.map_err(|error| failure("put", key, &error))
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<FactPage, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let listed = self.0.list_documents(prefix, after, limit).await;
        let (documents, is_truncated) = listed.map_err(|error| failure("list", prefix, &error))?;
        let facts = documents.into_iter().filter_map(|(meta, record)| {
            Some(ListedFact {
                name: meta.location.as_ref().strip_prefix(prefix)?.to_owned(),
                metadata: record.metadata,
                stored_at: stored_at(&meta),
                etag: record.etag,
            })
        });
        Ok(FactPage {
            facts: facts.collect(),
            is_truncated,
        })
    }

    async fn delete(&self, key: &FactKey) -> Result<(), StoreError> {
        if is_of_process(key) {
            return Facts::delete(&self.0.own, key).await;
        }
        let removed = async { found(self.0.store.delete(&path_of(key)?).await) };
        let removed = removed.await.map(drop);
        removed.map_err(|error| failure("delete", key, &error))
    }
}

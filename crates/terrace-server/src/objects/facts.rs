//! Facts in an object store.

use std::borrow::Cow;

use futures_util::StreamExt as _;
use object_store::{
    Attribute, Attributes, Error, GetOptions, ObjectMeta, ObjectStoreExt as _, PutMode, PutOptions,
    PutPayload, UpdateVersion,
};
use terrace_app::host::{
    Condition, Fact, FactPage, Facts, ListedFact, ReleasePage, Revision, StoreError,
};
use terrace_base::time::UnixTime;
use terrace_core::index::ListedRelease;
use terrace_core::model::package::Package;
use terrace_core::storage::key::FactKey;

use super::{Inner, ObjectStorage, failure, found, number_of, path_of};
use crate::index::documents::Record;

/// The maximum number of releases in a page.
const RELEASES_PER_PAGE: usize = 1_000;

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

fn etag_of(meta: &ObjectMeta) -> String {
    etag(meta.e_tag.as_deref(), meta.version.as_deref())
}

/// Returns the time at which an object was stored.
pub(super) fn stored_at(meta: &ObjectMeta) -> UnixTime {
    UnixTime(u64::try_from(meta.last_modified.timestamp()).unwrap_or_default())
}

/// Returns the metadata as attributes. A header can contain only ASCII: other metadata are left out, and readers that do not
/// find them read the document.
fn attributes(metadata: &[(&str, String)]) -> Attributes {
    let is_header = |text: &str| text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let mut attributes = Attributes::new();
    attributes.insert(Attribute::ContentType, "application/json".into());
    if metadata.iter().all(|(_, value)| is_header(value)) {
        for (name, value) in metadata {
            let name = Attribute::Metadata(Cow::Owned((*name).to_owned()));
            attributes.insert(name, value.clone().into());
        }
    }
    attributes
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

    async fn put_document(
        &self,
        key: &FactKey,
        document: &str,
        metadata: &[(&str, String)],
        condition: Condition,
    ) -> Result<Option<Revision>, Error> {
        let options = PutOptions {
            mode: match condition {
                Condition::Absent => PutMode::Create,
                Condition::Any => PutMode::Overwrite,
                Condition::Unchanged(etag) => PutMode::Update(version_of(&etag)),
            },
            attributes: attributes(metadata),
            ..PutOptions::default()
        };
        let payload = PutPayload::from(document.as_bytes().to_vec());
        match self.store.put_opts(&path_of(key)?, payload, options).await {
            Ok(put) => {
                let etag = etag(put.e_tag.as_deref(), put.version.as_deref());
                let record = Record {
                    size: u64::try_from(document.len()).unwrap_or(u64::MAX),
                    etag: etag.clone(),
                    metadata: metadata
                        .iter()
                        .map(|(name, value)| ((*name).to_owned(), value.clone()))
                        .collect(),
                };
                self.learn(key.to_string(), record);
                Ok(Some(Revision(etag)))
            }
            // A missing object is not an unchanged one.
            Err(
                Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotFound { .. },
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Remembers metadata. If that fails, the object is asked for them when it is listed.
    fn learn(&self, key: String, record: Record) {
        let number = number_of(&record.etag);
        let _ = self.records.learn(&[(key, number, record)]);
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
        let directory = directory.map(path_of).transpose()?;
        let start = after.map(|after| format!("{prefix}{after}"));
        let mut objects = match &start {
            Some(start) => {
                let start = path_of(start)?;
                self.store.list_with_offset(directory.as_ref(), &start)
            }
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
        let etags: Vec<String> = objects.iter().map(etag_of).collect();
        let named = objects.iter().zip(&etags);
        let named = named.map(|(it, etag)| (it.location.as_ref(), number_of(etag), it.size));
        let known = self.records.find(named).unwrap_or_default();
        let mut known = known.into_iter();
        let mut documents = Vec::new();
        for (object, etag) in objects.into_iter().zip(etags) {
            let record = known.next().flatten();
            let record = match record.filter(|record| record.etag == etag) {
                Some(record) => Some(record),
                None => self.record_of(&object).await?,
            };
            documents.extend(record.map(|record| (object, record)));
        }
        Ok((documents, is_truncated))
    }

    /// Asks for the metadata of an object; `None` if it was removed meanwhile.
    async fn record_of(&self, object: &ObjectMeta) -> Result<Option<Record>, Error> {
        let options = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        let head = self.store.get_opts(&object.location, options).await;
        let Some(head) = found(head)? else {
            return Ok(None);
        };
        let metadata = head
            .attributes
            .iter()
            .filter_map(|(name, value)| match name {
                Attribute::Metadata(name) => Some((name.to_string(), value.to_string())),
                _ => None,
            });
        let record = Record {
            size: head.meta.size,
            etag: etag_of(&head.meta),
            metadata: metadata.collect(),
        };
        self.learn(object.location.to_string(), record.clone());
        Ok(Some(record))
    }
}

impl Facts for ObjectStorage {
    async fn get(&self, key: &FactKey) -> Result<Option<Fact>, StoreError> {
        let read = self.0.document(key).await;
        read.map_err(|error| failure("get", key, &error))
    }

    async fn revision(&self, key: &FactKey) -> Result<Option<Revision>, StoreError> {
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
        let put = self.0.put_document(key, document, metadata, condition);
        put.await.map_err(|error| failure("put", key, &error))
    }

    async fn releases(
        &self,
        package: &Package,
        cursor: Option<String>,
    ) -> Result<ReleasePage, StoreError> {
        let prefix = FactKey::releases_of(package);
        let listed = self
            .0
            .list_documents(&prefix, cursor.as_deref(), RELEASES_PER_PAGE);
        let listed = listed.await;
        let (documents, is_truncated) = listed.map_err(|error| failure("list", &prefix, &error))?;
        let last = documents.last();
        let last = last.and_then(|(meta, _)| meta.location.as_ref().strip_prefix(&prefix));
        let cursor = last.filter(|_| is_truncated).map(str::to_owned);
        let releases = documents.iter().filter_map(|(meta, record)| {
            let version = FactKey::version_in(meta.location.as_ref())?;
            let time = stored_at(meta);
            let value = |name: &str| record.value(name);
            let entry = ListedRelease::from_metadata(package, version.clone(), time, value);
            Some((version, entry))
        });
        Ok(ReleasePage {
            releases: releases.collect(),
            cursor,
        })
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
        let removed = async { found(self.0.store.delete(&path_of(key)?).await) };
        let removed = removed.await.map(drop);
        removed.map_err(|error| failure("delete", key, &error))
    }
}

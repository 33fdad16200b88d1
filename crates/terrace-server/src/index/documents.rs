//! The metadata of documents, for stores that list objects without any.
//!
//! Each record is about one file: it is found by the key and the time of the file, of which each has its own. It is written
//! before its document, and the record of the document before that stays until then. So whichever of them a power cut leaves
//! has its metadata. A document without a record, as in a copy that was carried here, is read.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use terrace_core::maintenance::restore::Restored;
use terrace_core::storage::key::FactKey;

use super::database::{DOCUMENTS, Database, Durable, failed};

/// A record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The length of the document.
    pub(crate) size: u64,
    /// Its ETag.
    pub(crate) etag: String,
    /// The metadata that it was written with.
    pub(crate) metadata: Vec<(String, String)>,
}

/// The metadata of all documents.
#[derive(Debug, Clone)]
pub(crate) struct DocumentRecords(Arc<Database>);

impl DocumentRecords {
    pub(crate) fn new(database: Arc<Database>) -> Self {
        Self(database)
    }

    /// Writes the record of the file with this time, durably. Keeps that of the file that is there now, and no other.
    pub(crate) fn keep(
        &self,
        key: &str,
        there: Option<u64>,
        (time, record): (u64, &Record),
    ) -> io::Result<()> {
        let text = serde_json::to_string(record).map_err(io::Error::other)?;
        self.0.write(Durable::Now, |transaction| {
            let mut documents = transaction.open_table(DOCUMENTS).map_err(failed)?;
            let all = (key, 0)..=(key, u64::MAX);
            documents
                .retain_in(all, |(_, time), _| Some(time) == there)
                .map_err(failed)?;
            documents
                .insert((key, time), text.as_str())
                .map_err(failed)?;
            Ok(())
        })
    }

    /// Removes the records of a document that was removed.
    pub(crate) fn forget(&self, key: &str) -> io::Result<()> {
        let all = (key, 0)..=(key, u64::MAX);
        let has_records = self.0.read(|transaction| {
            let documents = transaction.open_table(DOCUMENTS).map_err(failed)?;
            let mut records = documents.range(all.clone()).map_err(failed)?;
            Ok(records.next().is_some())
        })?;
        if !has_records {
            return Ok(());
        }
        self.0.write(Durable::Later, |transaction| {
            let mut documents = transaction.open_table(DOCUMENTS).map_err(failed)?;
            documents.retain_in(all, |_, _| false).map_err(failed)
        })
    }

    /// Returns the records of files, in the same order. A file is named by its key, time and length.
    pub(crate) fn find<'k>(
        &self,
        files: impl IntoIterator<Item = (&'k str, u64, u64)>,
    ) -> io::Result<Vec<Option<Record>>> {
        self.0.read(|transaction| {
            let documents = transaction.open_table(DOCUMENTS).map_err(failed)?;
            let mut found = Vec::new();
            for (key, time, size) in files {
                let text = documents.get((key, time)).map_err(failed)?;
                let record = text.and_then(|it| serde_json::from_str::<Record>(it.value()).ok());
                found.push(record.filter(|record| record.size == size));
            }
            Ok(found)
        })
    }

    /// Writes records of documents that are stored, in place of all others about the same keys if those are `obsolete`. They
    /// may be lost: then the documents are asked for them again.
    pub(crate) fn learn(
        &self,
        records: &[(String, u64, Record)],
        obsolete: bool,
    ) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        self.0.write(Durable::Later, |transaction| {
            let mut documents = transaction.open_table(DOCUMENTS).map_err(failed)?;
            for (key, number, record) in records {
                let text = serde_json::to_string(record).map_err(io::Error::other)?;
                let all = (key.as_str(), 0)..=(key.as_str(), u64::MAX);
                documents.retain_in(all, |_, _| !obsolete).map_err(failed)?;
                documents
                    .insert((key.as_str(), *number), text.as_str())
                    .map_err(failed)?;
            }
            Ok(())
        })
    }
}

/// Returns the metadata that an import would store with a document.
pub(crate) fn metadata_of(key: &str, bytes: &[u8]) -> Vec<(String, String)> {
    let restored = FactKey::parse(key)
        .zip(std::str::from_utf8(bytes).ok())
        .and_then(|(key, text)| Restored::parse(&key, text).ok());
    let metadata = restored.map(|restored| restored.metadata);
    let metadata = metadata.unwrap_or_default().into_iter();
    metadata
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

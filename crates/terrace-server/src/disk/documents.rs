//! Documents: reads, conditional writes and lists, on the calling thread.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use terrace_app::host::{Condition, Fact, Revision};
use terrace_base::digest::Sha256;
use terrace_core::storage::copy::directory_of;

use super::Inner;
use super::layout::{is_of_bytes, path_of};
use super::tree::Placement;
use super::walk::{self, Found};
use crate::index::documents::{Record, metadata_of};
use crate::volume::{Stat, read_whole};

/// The number of locks that the keys share.
const LOCKS: usize = 256;

/// Locks of keys. Different keys may share one.
#[derive(Debug)]
pub(super) struct KeyLocks {
    hasher: RandomState,
    locks: Vec<Mutex<()>>,
}

/// A document in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedDocument {
    pub(super) key: String,
    pub(super) stat: Stat,
    pub(super) record: Record,
}

impl Default for KeyLocks {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            locks: std::iter::repeat_with(Mutex::default).take(LOCKS).collect(),
        }
    }
}

impl KeyLocks {
    fn lock(&self, key: &str) -> Option<MutexGuard<'_, ()>> {
        let number = usize::try_from(self.hasher.hash_one(key) % 256).ok()?;
        let lock = self.locks.get(number)?;
        Some(lock.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Inner {
    pub(super) fn document(&self, key: &str) -> io::Result<Option<Fact>> {
        let read = self.read_document(key)?;
        Ok(read.map(|(bytes, _)| Fact {
            etag: etag(&bytes),
            bytes,
        }))
    }

    /// Returns the revision of a document: its time, which no other has, and its digest, in case the file system is too coarse
    /// to tell times apart.
    pub(super) fn revision(&self, key: &str) -> io::Result<Option<Revision>> {
        let read = self.read_document(key)?;
        Ok(read.map(|(bytes, stat)| revision(stat, &etag(&bytes))))
    }

    /// Writes a document; `None` if the condition does not hold.
    pub(super) fn put_document(
        &self,
        key: &str,
        document: &str,
        metadata: Vec<(String, String)>,
        condition: &Condition,
    ) -> io::Result<Option<Revision>> {
        let path = path_of(key)?;
        let _locked = self.locks.lock(key);
        let there = self.read_document(key)?;
        let holds = match condition {
            Condition::Any => true,
            Condition::Absent => there.is_none(),
            Condition::Unchanged(expected) => there
                .as_ref()
                .is_some_and(|(bytes, _)| etag(bytes) == *expected),
        };
        if !holds {
            return Ok(None);
        }
        let mut temporary = self.tree.begin()?;
        temporary.write(document.as_bytes())?;
        let stat = self.tree.complete(&temporary)?;
        let etag = etag(document.as_bytes());
        let revision = revision(stat, &etag);
        if !metadata.is_empty() {
            let record = Record {
                size: stat.size,
                etag,
                metadata,
            };
            let there = there.map(|(_, stat)| stat.modified);
            self.records.keep(key, there, (stat.modified, &record))?;
        }
        let placement = match condition {
            Condition::Absent => Placement::Create,
            Condition::Any | Condition::Unchanged(_) => Placement::Replace,
        };
        let is_placed = self.tree.place(temporary, &path, placement)?;
        Ok(is_placed.then_some(revision))
    }

    pub(super) fn remove_document(&self, key: &str) -> io::Result<()> {
        let path = path_of(key)?;
        let _locked = self.locks.lock(key);
        self.tree.remove(&path)?;
        self.records.forget(key)
    }

    /// Lists up to `limit` documents with keys that begin with `prefix`, after the one named `after`. Returns whether there
    /// are more.
    pub(super) fn list_documents(
        &self,
        (prefix, after): (&str, Option<&str>),
        limit: u32,
    ) -> io::Result<(Vec<ListedDocument>, bool)> {
        let (found, is_truncated) = self.list_files((prefix, after), limit)?;
        let files = found.iter();
        let files = files.map(|it| (it.key.as_str(), it.stat.modified, it.stat.size));
        let records = self.records.find(files)?;
        let (mut documents, mut learnt) = (Vec::new(), Vec::new());
        for (found, record) in found.into_iter().zip(records) {
            let record = match record {
                Some(record) => record,
                None if is_of_bytes(&found.key) => Record {
                    size: found.stat.size,
                    etag: format!("{:x}-{:x}", found.stat.modified, found.stat.size),
                    metadata: Vec::new(),
                },
                None => {
                    let Some((stat, record)) = self.record_of(&found)? else {
                        continue;
                    };
                    learnt.push((found.key.clone(), stat.modified, record.clone()));
                    record
                }
            };
            documents.push(ListedDocument {
                key: found.key,
                stat: found.stat,
                record,
            });
        }
        // A newer document may have its record already, and take its place later.
        self.records.learn(&learnt, false)?;
        Ok((documents, is_truncated))
    }

    /// Lists up to `limit` files of documents and bytes.
    pub(super) fn list_files(
        &self,
        range: (&str, Option<&str>),
        limit: u32,
    ) -> io::Result<(Vec<Found>, bool)> {
        let page = walk::page(self.tree.volume(), self.tree.root(), range, limit)?;
        let (prefix, _) = range;
        self.tree.settle_below(&[&directory_of(prefix), prefix])?;
        Ok(page)
    }

    /// Computes the record of a document; `None` if it was removed meanwhile.
    fn record_of(&self, found: &Found) -> io::Result<Option<(Stat, Record)>> {
        let Some((bytes, stat)) = self.read_document(&found.key)? else {
            return Ok(None);
        };
        let record = Record {
            size: stat.size,
            etag: etag(&bytes),
            metadata: metadata_of(&found.key, &bytes),
        };
        Ok(Some((stat, record)))
    }

    fn read_document(&self, key: &str) -> io::Result<Option<(Vec<u8>, Stat)>> {
        match self.tree.open_file(&path_of(key)?)? {
            Some((file, stat)) => Ok(Some((read_whole(&*file)?, stat))),
            None => Ok(None),
        }
    }
}

fn etag(bytes: &[u8]) -> String {
    Sha256::of(bytes).to_string()
}

fn revision(stat: Stat, etag: &str) -> Revision {
    Revision(format!("{:x}-{etag}", stat.modified))
}

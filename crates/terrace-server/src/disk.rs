//! A directory as the storage of a registry, in the layout of `terrace admin export`: a copy is served as it is.
//!
//! # Order of operations
//! An operation that writes returns when its effect survives a power cut. Files are complete or absent (`tree`); the
//! contents of `archives/` and `oci/blobs/` always match their names, because a file takes its place only with the right
//! digest.
//!
//! # One process
//! A lock keeps other processes out, so the conditions of writes are checked under locks of this process, one for each key.
//! New documents are linked into place even so: another program that puts files into the directory is not overwritten.
//!
//! # Metadata
//! The layout has no place for the metadata of documents. They are kept beside it, by the key and the time of the file
//! (`crate::index::documents`). A document without a record, as in a copy, is read when it is listed; if its kind is one
//! that an import accepts, its metadata are computed as an import does, and otherwise they are empty, and the application
//! reads the document itself.

mod archives;
#[cfg(test)]
mod contract_tests;
#[cfg(test)]
mod crash_tests;
mod documents;
mod facts;
pub(crate) mod layout;
pub(crate) mod lock;
#[cfg(test)]
mod process_tests;
#[cfg(test)]
#[path = "disk/tests/simulated.rs"]
mod simulated;
mod streams;
mod tree;
mod uploads;
mod walk;
#[cfg(test)]
mod walk_tests;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use serde::Deserialize;
use terrace_app::host::StoreError;
use terrace_base::digest::Sha256;
use terrace_core::storage::key::{FactKey, IndexKey, Lease};

use crate::blocking::blocking;
use crate::hashing::Verified;
use crate::index::StoredIndices;
use crate::index::database::{Database, Found};
use crate::index::documents::DocumentRecords;
use crate::stores::{Bucket, OpenError};
use crate::volume::{Local, Stat, Volume, read_whole};
use documents::KeyLocks;
use lock::Lock;
use tree::Tree;

/// A directory that this process uses alone. Clones share it, also between threads; it is released when the last of them is
/// dropped.
#[derive(Debug, Clone)]
pub struct Directory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tree: Tree,
    records: DocumentRecords,
    database: Arc<Database>,
    locks: KeyLocks,
    verified: Verified<Stat>,
    /// Released after everything else.
    _lock: Option<Lock>,
}

/// The part of `export.json` that matters here.
#[derive(Debug, Deserialize)]
struct Summary {
    #[serde(default)]
    sha256sums: Option<String>,
}

impl Bucket for Directory {}

impl Directory {
    /// Opens a directory, and creates it if it does not exist. This may block the thread for a moment.
    ///
    /// # Errors
    /// If another process uses it, if an export into it did not finish, or if its file system refuses.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let failed = |error| OpenError::local(path, error);
        fs::create_dir_all(path.join(layout::OWN)).map_err(failed)?;
        let root = fs::canonicalize(path).map_err(failed)?;
        match Lock::take(&root.join(layout::LOCK)).map_err(failed)? {
            Ok(lock) => Self::open_on(Arc::new(Local), root, Some(lock)).map_err(failed)?,
            Err(holder) => Err(OpenError::Unsuitable(format!(
                "{} is in use by {holder}: stop it first, or choose another directory",
                root.display()
            ))),
        }
    }

    /// Opens the directory of a file system that contains it, and that this process uses alone.
    fn open_on(
        volume: Arc<dyn Volume>,
        root: PathBuf,
        lock: Option<Lock>,
    ) -> io::Result<Result<Self, OpenError>> {
        let Ok(origin) = origin(&*volume, &root)? else {
            return Ok(Err(OpenError::Failed(format!(
                "{} contains an export that did not finish: run `terrace admin export` into it again first",
                root.display()
            ))));
        };
        let tree = Tree::open(Arc::clone(&volume), root.clone())?;
        let indices = root.join(layout::INDICES);
        let (database, found) = Database::open(&volume, &indices, &origin)?;
        if found != Found::Closed {
            // The files that are visible now may not be durable: the process that wrote them was ended before it knew.
            volume.sync_everything(&root)?;
        }
        let database = Arc::new(database);
        let inner = Inner {
            tree,
            records: DocumentRecords::new(Arc::clone(&database)),
            database,
            locks: KeyLocks::default(),
            verified: Verified::default(),
            _lock: lock,
        };
        if found != Found::Closed {
            inner.forget_catalog()?;
        }
        Ok(Ok(Self(Arc::new(inner))))
    }

    /// Runs an operation on a thread that may block. An error names the operation and the key.
    async fn run<T: Send + 'static>(
        &self,
        name: &str,
        key: impl Display,
        operation: impl FnOnce(&Inner) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let inner = Arc::clone(&self.0);
        let done = blocking(move || operation(&inner)).await;
        done.map_err(|error| failure(name, key, &error))
    }

    /// Returns the indices that are kept with the directory.
    pub fn indices(&self) -> StoredIndices {
        StoredIndices::new(Arc::clone(&self.0.database))
    }

    /// Prepares the end of the process, when all requests and tasks are done. Without it nothing is lost but the indices,
    /// which the next process rebuilds.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn close(&self) -> io::Result<()> {
        self.0.database.close()
    }
}

impl Inner {
    /// Removes the documents about the catalogue of all owners, because its index is lost. Then the first search builds
    /// it, and does not wait for the end of a lease.
    fn forget_catalog(&self) -> io::Result<()> {
        for document in [
            FactKey::Written(IndexKey::MergedCatalog(1)),
            FactKey::Lease(Lease::Catalog),
        ] {
            self.remove_document(&document.to_string())?;
        }
        Ok(())
    }
}

/// Returns the name of the copy that the directory contains, so that indices of an older one are not used; empty if it
/// contains none. The inner error means that the copy is incomplete.
fn origin(volume: &dyn Volume, root: &Path) -> io::Result<Result<String, ()>> {
    let read = |path: &str| match volume.open(&root.join(path)) {
        Ok(file) => read_whole(&*file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    // Its files are being moved into place.
    if read("new/export.json")?.is_some() {
        return Ok(Err(()));
    }
    let Some(summary) = read("export.json")? else {
        return Ok(Ok(String::new()));
    };
    let is_complete = serde_json::from_slice::<Summary>(&summary)
        .is_ok_and(|summary| summary.sha256sums.is_some());
    match is_complete {
        true => Ok(Ok(Sha256::of(&summary).to_string())),
        false => Ok(Err(())),
    }
}

fn failure(operation: &str, key: impl Display, error: &io::Error) -> StoreError {
    StoreError::Failed {
        operation: format!("{operation} {key}"),
        cause: error.to_string(),
    }
}

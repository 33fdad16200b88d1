//! An object store as the storage of a registry: S3 and compatible stores, Google Cloud Storage, Azure Blob Storage.
//!
//! Keys, documents and their metadata are those of the Worker's bucket, so that either serves what the other has written. Lists
//! of object stores contain no metadata. They are remembered in a local file by the key and the ETag of the object, and only an
//! object that was changed since is asked for them.
//!
//! The indices are those of one process: it starts with none, and does not see that another process has changed a fact until
//! its own repair compares them.

mod archives;
mod facts;
mod probe;
#[cfg(test)]
mod tests;
mod uploads;

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;

use object_store::path::Path as ObjectPath;
use object_store::{Error, ObjectStore};
use terrace_app::host::StoreError;
use terrace_base::digest::Sha256;

use crate::disk::volume::{Local, Volume, now};
use crate::hashing::Verified;
use crate::index::StoredIndices;
use crate::index::database::Database;
use crate::index::documents::DocumentRecords;

/// An object store, which other processes may use as well. Clones share it, also between threads.
#[derive(Debug, Clone)]
pub struct ObjectStorage(Arc<Inner>);

/// The reason why an object store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It lacks a condition of writes, without which concurrent publishes would lose versions.
    #[error(
        "{store} cannot be used: {lacks}. Choose a store that checks the conditions of writes (If-None-Match and If-Match), \
         or a directory"
    )]
    Unconditional {
        /// The store.
        store: String,
        /// The missing operation.
        lacks: &'static str,
    },
    /// An operation of it failed.
    #[error("{store}: {error}")]
    Store {
        /// The store.
        store: String,
        /// The reason.
        error: Error,
    },
    /// The local file cannot be used.
    #[error("{place}: {error}")]
    Local {
        /// The file.
        place: String,
        /// The reason.
        error: io::Error,
    },
}

#[derive(Debug)]
struct Inner {
    store: Arc<dyn ObjectStore>,
    records: DocumentRecords,
    database: Arc<Database>,
    verified: Verified<String>,
}

impl ObjectStorage {
    /// Opens an object store, and tries the operations that it must have. Indices and metadata are kept in the file at `local`,
    /// which this process uses alone.
    ///
    /// # Errors
    /// If the store does not have these operations, cannot be reached, or the file cannot be used.
    pub async fn open(store: Arc<dyn ObjectStore>, local: &Path) -> Result<Self, OpenError> {
        probe::probe(&*store).await?;
        let volume: Arc<dyn Volume> = Arc::new(Local);
        // Other processes may have changed the facts since this one was closed, so its indices are not kept.
        let origin = format!("{store} at {}", now());
        let opened = Database::open(&volume, local, &origin);
        let (database, _) = opened.map_err(|error| OpenError::Local {
            place: local.display().to_string(),
            error,
        })?;
        let database = Arc::new(database);
        Ok(Self(Arc::new(Inner {
            store,
            records: DocumentRecords::new(Arc::clone(&database)),
            database,
            verified: Verified::default(),
        })))
    }

    /// Returns the indices that this process keeps.
    pub fn indices(&self) -> StoredIndices {
        StoredIndices::new(Arc::clone(&self.0.database))
    }

    /// Prepares the end of the process, when all requests and tasks are done.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn close(&self) -> io::Result<()> {
        self.0.database.close()
    }
}

/// Returns the path of a key, which no store may spell otherwise.
fn path_of(key: impl Display) -> Result<ObjectPath, Error> {
    Ok(ObjectPath::parse(key.to_string())?)
}

/// Returns `None` for an object that does not exist.
fn found<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a number by which the record of an object with this ETag is found.
fn number_of(etag: &str) -> u64 {
    let digest = Sha256::of(etag.as_bytes());
    let first = digest.as_bytes().first_chunk::<8>();
    first.map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

fn failure(operation: &str, key: impl Display, error: &Error) -> StoreError {
    StoreError::Failed {
        operation: format!("{operation} {key}"),
        cause: error.to_string(),
    }
}

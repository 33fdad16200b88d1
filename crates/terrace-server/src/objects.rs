//! An object store as the storage of a registry: S3 and compatible stores, Google Cloud Storage, Azure Blob Storage.
//!
//! Keys, documents and their metadata are those of the Worker's bucket, so that either serves the objects that the other
//! has written. Lists of object stores contain no metadata. They are remembered in a local file by the key and the ETag
//! of the object, and only an object that was changed since is asked for them.
//!
//! Each process has indices of its own. It starts with none, and finds the changes of other processes by their change markers
//! (`markers`). The documents that describe indices, and the work on them, are therefore those of the process as well.

mod archives;
mod connection;
mod facts;
#[cfg(test)]
mod fault_tests;
mod markers;
mod probe;
mod s3;
mod store_url;
#[cfg(test)]
mod tests;
mod uploads;

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::path::Path as ObjectPath;
use object_store::{Error, ObjectStore};
use tempfile::TempDir;
use terrace_app::host::StoreError;
use terrace_base::digest::Sha256;
use terrace_core::storage::copy::FACTS;

use crate::disk::layout;
use crate::disk::lock::Lock;
use crate::hashing::Verified;
use crate::index::StoredIndices;
use crate::index::database::Database;
use crate::index::documents::DocumentRecords;
use crate::memory::Memory;
use crate::stores::{Bucket, OpenError};
use crate::volume::{Local, Volume, now};
use connection::IoThreads;
use facts::{etag_of, listed_part};
use markers::{MARKERS, Markers, indices_of};

pub use connection::Connection;

/// The name of the local file in a temporary directory.
const FILE: &str = "indices.redb";

/// An object store, which other processes may use as well. Clones share it, also between threads.
#[derive(Debug, Clone)]
pub struct ObjectStorage(Arc<Inner>);

/// The place of the local file of a process: its indices, and the metadata of objects.
#[derive(Debug, Clone, Copy)]
pub enum LocalPlace<'a> {
    /// A directory that this process uses alone. The metadata survive a restart.
    Directory(&'a Path),
    /// A temporary directory, which is removed at the end.
    Temporary,
}

#[derive(Debug)]
struct Inner {
    store: Arc<dyn ObjectStore>,
    /// The same store; it sends each request once.
    once: Arc<dyn ObjectStore>,
    records: DocumentRecords,
    database: Arc<Database>,
    /// The documents that describe the indices of this process.
    own: Memory,
    markers: Markers,
    verified: Verified<String>,
    _local: LocalDirectory,
    _io: Option<IoThreads>,
}

/// The directory of the local file, which this process uses alone.
#[derive(Debug)]
enum LocalDirectory {
    Locked { _lock: Lock },
    Temporary { _directory: TempDir },
}

impl ObjectStorage {
    /// Opens an object store, and tries the operations that it must have. This blocks the thread, and must not be called by
    /// an asynchronous task.
    ///
    /// # Errors
    /// If the store does not have these operations, cannot be reached, or the local place cannot be used.
    pub fn connect(connection: Connection, local: LocalPlace<'_>) -> Result<Self, OpenError> {
        let handle = connection.io.as_ref().and_then(IoThreads::handle).cloned();
        match handle {
            Some(handle) => handle.block_on(Self::open(connection, local)),
            None => Err(unusable(&connection.name, "its client has no threads")),
        }
    }

    /// Does the same as [`Self::connect`] for an asynchronous task.
    pub(crate) async fn open(
        connection: Connection,
        local: LocalPlace<'_>,
    ) -> Result<Self, OpenError> {
        let Connection {
            store,
            once,
            name,
            io,
            ..
        } = connection;
        let (directory, file) = local.take()?;
        probe::probe(&*once, &name).await?;
        let volume: Arc<dyn Volume> = Arc::new(Local);
        // Other processes may have changed the facts since this one was closed, so its indices are not kept.
        let origin = format!("{name} at {}", now());
        let opened = Database::open(&volume, &file, &origin);
        let (database, _) = opened.map_err(|error| OpenError::local(&file, error))?;
        let database = Arc::new(database);
        Ok(Self(Arc::new(Inner {
            store,
            once,
            records: DocumentRecords::new(Arc::clone(&database)),
            database,
            own: Memory::new(),
            markers: Markers::default(),
            verified: Verified::default(),
            _local: directory,
            _io: io,
        })))
    }

    /// Returns the indices that this process keeps.
    pub fn indices(&self) -> StoredIndices {
        StoredIndices::new(Arc::clone(&self.0.database))
    }

    async fn look_below(&self, prefix: &str) -> Result<(), StoreError> {
        let listed = self.0.list_objects(prefix, None, usize::MAX).await;
        let (listed, _) = listed.map_err(|error| failure("list", prefix, &error))?;
        let etags = listed
            .iter()
            .map(|it| (it.location.to_string(), etag_of(it)));
        let changed = self.0.markers.changed(etags.collect());
        let stale = changed
            .iter()
            .flat_map(|(key, _)| indices_of(key))
            .collect();
        let removed = self.indices().remove_below(stale).await;
        removed.map_err(|error| StoreError::Failed {
            operation: format!("remove the indices that follow from {prefix}"),
            cause: error.to_string(),
        })?;
        // Not before their indices are removed.
        for (key, etag) in changed {
            self.0.markers.remember(key, etag);
        }
        Ok(())
    }

    /// Prepares the end of the process, when all requests and tasks are done.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn close(&self) -> io::Result<()> {
        self.0.database.close()
    }
}

impl Bucket for ObjectStorage {
    fn is_shared(&self) -> bool {
        true
    }

    /// Takes one request for each thousand packages, owners and repositories. A failure, of which the first is returned, does
    /// not prevent the other looks.
    async fn look(&self) -> Result<(), StoreError> {
        let mut looked = Ok(());
        for prefix in MARKERS {
            looked = looked.and(self.look_below(prefix).await);
        }
        looked
    }
}

impl LocalPlace<'_> {
    /// Takes the directory for this process. Returns it with the path of the file.
    fn take(self) -> Result<(LocalDirectory, PathBuf), OpenError> {
        match self {
            Self::Temporary => {
                let directory = tempfile::Builder::new().prefix("terrace-").tempdir();
                let directory =
                    directory.map_err(|error| OpenError::local(&std::env::temp_dir(), error))?;
                let file = directory.path().join(FILE);
                Ok((
                    LocalDirectory::Temporary {
                        _directory: directory,
                    },
                    file,
                ))
            }
            Self::Directory(place) => {
                if place.join(FACTS).exists() {
                    return Err(OpenError::Unsuitable(format!(
                        "{} contains a registry: with --store, choose another directory for the indices, or serve this one \
                         without --store",
                        place.display()
                    )));
                }
                let failed = |error| OpenError::local(place, error);
                fs::create_dir_all(place.join(layout::OWN)).map_err(failed)?;
                match Lock::take(&place.join(layout::LOCK)).map_err(failed)? {
                    Ok(lock) => {
                        let file = place.join(layout::INDICES);
                        Ok((LocalDirectory::Locked { _lock: lock }, file))
                    }
                    Err(holder) => Err(OpenError::Unsuitable(format!(
                        "{} is in use by {holder}: choose another directory, each process needs its own",
                        place.display()
                    ))),
                }
            }
        }
    }
}

/// Returns the error about a store that does not answer as it must.
fn unusable(store: &str, error: &str) -> OpenError {
    OpenError::Unsuitable(format!(
        "{store} cannot be used: {error}; check the URL, and the variables of the environment with its credentials and endpoint"
    ))
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
    let digest = Sha256::of(listed_part(etag).as_bytes());
    let first = digest.as_bytes().first_chunk::<8>();
    first.map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Parts of the errors of stores that ask for fewer requests. Google permits one write of an object per second.
const TOO_MANY: [&str; 2] = ["status code: 429", "SlowDown"];

/// Returns the text of an error with its last cause, such as the reason why there is no connection.
fn described(error: &Error) -> String {
    let text = error.to_string();
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    match causes.last().map(ToString::to_string) {
        Some(cause) if !text.contains(&cause) => format!("{text}: {cause}"),
        _ => text,
    }
}

fn failure(operation: &str, key: impl Display, error: &Error) -> StoreError {
    let operation = format!("{operation} {key}");
    let cause = described(error);
    match TOO_MANY.iter().any(|part| cause.contains(part)) {
        true => StoreError::Busy(operation),
        false => StoreError::Failed { operation, cause },
    }
}

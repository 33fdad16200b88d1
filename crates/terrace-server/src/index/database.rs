//! The file of the indices and of the metadata of documents.
//!
//! Everything in it follows from the facts, so a file that is missing, damaged or of another format is replaced by an empty
//! one. Metadata of documents are written durably, before their document. Indices are not: after a power cut, or the end of
//! the process without [`Database::close`], older ones could return, so all of them are removed then.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::{fmt, io};

use redb::{
    Builder, Durability, ReadTransaction, ReadableDatabase as _, StorageBackend, TableDefinition,
    WriteTransaction,
};

use crate::volume::{Volume, VolumeFile, read_range};

/// The contents of the key [`FORMAT`]. Another one makes an older file worthless.
const THIS_FORMAT: &str = "terrace indices 1";

/// The indices: by key, their metadata as JSON and their text.
pub(super) const INDICES: TableDefinition<'_, &str, (&str, &str)> = TableDefinition::new("indices");

/// The metadata of documents: by key and time of the file, as JSON.
pub(super) const DOCUMENTS: TableDefinition<'_, (&str, u64), &str> =
    TableDefinition::new("documents");

/// The state of the file itself.
const STATE: TableDefinition<'_, &str, &str> = TableDefinition::new("state");

/// Keys of [`STATE`]: the format, whether the file was closed, and the facts that the indices follow from.
const FORMAT: &str = "format";
const CLOSED: &str = "closed";
const ORIGIN: &str = "origin";

/// The maximum bytes of the file in memory.
const CACHE_BYTES: usize = 16 * 1024 * 1024;

/// How many commits are collected before one is made durable: until then they hold on to the pages that they replaced.
const COLLECTED_COMMITS: u32 = 512;

/// The file, open. It is closed when it is dropped, but then its indices are lost.
pub(crate) struct Database {
    volume: Arc<dyn Volume>,
    path: PathBuf,
    /// `None` after a failure, until the file is opened again: the state in memory may differ from the file then.
    database: RwLock<Option<redb::Database>>,
    collected: AtomicU32,
    is_closed: AtomicBool,
}

/// Whether a commit has survived a power cut when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durable {
    Now,
    Later,
}

/// The state in which a file was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// It is new, or could not be used.
    Empty,
    /// Its last user closed it, so its indices were kept.
    Closed,
    /// Its last user did not close it, or the facts were replaced since: it contains no indices any more.
    Unclosed,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

/// An error of the database.
pub(crate) fn failed(error: impl Into<redb::Error>) -> io::Error {
    match error.into() {
        redb::Error::Io(error) => error,
        error => io::Error::other(error),
    }
}

/// Returns whether a file cannot be used, however often it is opened.
fn is_unusable(error: &redb::Error) -> bool {
    match error {
        redb::Error::Corrupted(_)
        | redb::Error::UpgradeRequired(_)
        | redb::Error::RepairAborted
        | redb::Error::TableTypeMismatch { .. } => true,
        redb::Error::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
        ),
        _ => false,
    }
}

impl Database {
    /// Opens the file, or creates it. The indices are kept if they follow from these facts: `origin` names them.
    pub(crate) fn open(
        volume: &Arc<dyn Volume>,
        path: &Path,
        origin: &str,
    ) -> io::Result<(Self, Found)> {
        let (database, found) = match open_existing(volume, path)? {
            Some(database) => {
                let is_closed = state(&database, CLOSED)?.is_some()
                    && state(&database, ORIGIN)?.as_deref() == Some(origin);
                let found = match is_closed {
                    true => Found::Closed,
                    false => Found::Unclosed,
                };
                (database, found)
            }
            None => {
                match volume.remove(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
                let database = open_file(volume, path).map_err(failed)?;
                if let Some(parent) = path.parent() {
                    volume.sync_directory(parent)?;
                }
                (database, Found::Empty)
            }
        };
        begin(&database, found, Some(origin))?;
        let database = Self {
            volume: Arc::clone(volume),
            path: path.to_owned(),
            database: RwLock::new(Some(database)),
            collected: AtomicU32::new(0),
            is_closed: AtomicBool::new(false),
        };
        Ok((database, found))
    }

    /// Makes everything durable, and records that the indices are complete. Every later use fails.
    pub(crate) fn close(&self) -> io::Result<()> {
        self.write(Durable::Now, |transaction| {
            let mut state = transaction.open_table(STATE).map_err(failed)?;
            state.insert(CLOSED, "").map_err(failed)?;
            Ok(())
        })?;
        self.is_closed.store(true, Ordering::Release);
        self.lock().take();
        Ok(())
    }

    /// Reads the file.
    pub(super) fn read<T>(
        &self,
        look: impl FnOnce(&ReadTransaction) -> io::Result<T>,
    ) -> io::Result<T> {
        self.with(|database| look(&database.begin_read().map_err(failed)?))
    }

    /// Changes the file by one transaction. If it fails, it may have taken effect.
    pub(super) fn write<T>(
        &self,
        durable: Durable,
        change: impl FnOnce(&WriteTransaction) -> io::Result<T>,
    ) -> io::Result<T> {
        let is_due = self.collected.fetch_add(1, Ordering::Relaxed) >= COLLECTED_COMMITS;
        let is_durable = durable == Durable::Now || is_due;
        let changed = self.with(|database| write(database, is_durable, change))?;
        if is_durable {
            self.collected.store(0, Ordering::Relaxed);
        }
        Ok(changed)
    }

    /// Uses the file. After a failure it is opened again, the next time that it is used.
    fn with<T>(&self, operate: impl FnOnce(&redb::Database) -> io::Result<T>) -> io::Result<T> {
        let result = loop {
            let database = self.database.read();
            if let Some(database) = &*database.unwrap_or_else(PoisonError::into_inner) {
                break operate(database);
            }
            if self.is_closed.load(Ordering::Acquire) {
                return Err(io::Error::other("the directory is closed"));
            }
            let mut database = self.lock();
            if database.is_none() {
                *database = Some(self.reopen()?);
            }
        };
        if result.is_err() {
            // Waits for all who use it.
            self.lock().take();
        }
        result
    }

    fn reopen(&self) -> io::Result<redb::Database> {
        let Some(database) = open_existing(&self.volume, &self.path)? else {
            return Err(io::Error::other(format!(
                "{} is damaged: restart the server, which replaces it",
                self.path.display()
            )));
        };
        begin(&database, Found::Unclosed, None)?;
        Ok(database)
    }

    fn lock(&self) -> RwLockWriteGuard<'_, Option<redb::Database>> {
        let database = self.database.write();
        database.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a file of this format; `None` if there is none.
fn open_existing(volume: &Arc<dyn Volume>, path: &Path) -> io::Result<Option<redb::Database>> {
    match volume.stat(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        stat => stat?,
    };
    let database = match open_file(volume, path) {
        Err(error) if is_unusable(&error) => return Ok(None),
        database => database.map_err(failed)?,
    };
    let format = state(&database, FORMAT)?;
    Ok((format.as_deref() == Some(THIS_FORMAT)).then_some(database))
}

fn open_file(volume: &Arc<dyn Volume>, path: &Path) -> Result<redb::Database, redb::Error> {
    let file = Backend(volume.open_or_create(path)?);
    let mut builder = Builder::new();
    let builder = builder.set_cache_size(CACHE_BYTES);
    Ok(builder.create_with_backend(file)?)
}

fn state(database: &redb::Database, key: &str) -> io::Result<Option<String>> {
    let transaction = database.begin_read().map_err(failed)?;
    let state = match transaction.open_table(STATE) {
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
        state => state.map_err(failed)?,
    };
    let value = state.get(key).map_err(failed)?;
    Ok(value.map(|value| value.value().to_owned()))
}

/// Prepares a file for use.
fn begin(database: &redb::Database, found: Found, origin: Option<&str>) -> io::Result<()> {
    write(database, true, |transaction| {
        if found != Found::Closed {
            transaction.delete_table(INDICES).map_err(failed)?;
        }
        transaction.open_table(INDICES).map_err(failed)?;
        transaction.open_table(DOCUMENTS).map_err(failed)?;
        let mut state = transaction.open_table(STATE).map_err(failed)?;
        state.insert(FORMAT, THIS_FORMAT).map_err(failed)?;
        if let Some(origin) = origin {
            state.insert(ORIGIN, origin).map_err(failed)?;
        }
        state.remove(CLOSED).map_err(failed)?;
        Ok(())
    })
}

fn write<T>(
    database: &redb::Database,
    is_durable: bool,
    change: impl FnOnce(&WriteTransaction) -> io::Result<T>,
) -> io::Result<T> {
    let mut transaction = database.begin_write().map_err(failed)?;
    let durability = match is_durable {
        true => Durability::Immediate,
        false => Durability::None,
    };
    transaction.set_durability(durability).map_err(failed)?;
    let changed = change(&transaction)?;
    transaction.commit().map_err(failed)?;
    Ok(changed)
}

/// A file of the database.
#[derive(Debug)]
struct Backend(Box<dyn VolumeFile>);

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.stat()?.size)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = read_range(&*self.0, offset, out.len())?;
        match bytes.len() == out.len() {
            true => {
                out.copy_from_slice(&bytes);
                Ok(())
            }
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_length(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }
}

//! Files that are complete or absent, whatever happens while they are written.
//!
//! A file is written under a temporary name and synced, then linked or renamed into place, and then its directory is synced:
//! only then is it acknowledged. A reader may see it before that. So the tree remembers each path that is not durable yet,
//! and syncs it before a reader learns of it.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::layout::NEW;
use crate::volume::{Stat, Volume, VolumeFile, now};

/// The maximum number of directories that are remembered as durable.
const DIRECTORIES: usize = 20_000;

/// The resolution of the time of a file, in nanoseconds: that of the coarsest usual file system.
const TICK: u64 = 1_000;

/// The files below a directory.
#[derive(Debug)]
pub(super) struct Tree {
    volume: Arc<dyn Volume>,
    root: PathBuf,
    /// The number of the next temporary file.
    number: AtomicU64,
    /// The time of the file that was written last, in nanoseconds since 1970.
    stamp: AtomicU64,
    /// Directories that are durable themselves.
    durable: Mutex<HashSet<PathBuf>>,
    /// Paths that may be visible and not durable, each with the number of the attempt to change it.
    unsettled: Mutex<HashMap<PathBuf, u64>>,
    /// Held for writing while a directory is removed, so that no file is put into it meanwhile.
    removal: RwLock<()>,
    /// Whether names that differ only in case name the same file, as is usual on macOS and Windows.
    folds_case: bool,
}

/// How a complete file takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// Only if there is no file.
    Create,
    /// In any case.
    Replace,
}

/// A file that is not complete, and is removed unless it takes its place.
#[derive(Debug)]
pub(super) struct Temporary {
    volume: Arc<dyn Volume>,
    path: PathBuf,
    file: Box<dyn VolumeFile>,
    length: u64,
    is_moved: bool,
}

impl Tree {
    /// Opens the files below `root`, and removes the remains of those that another process left incomplete.
    pub(super) fn open(volume: Arc<dyn Volume>, root: PathBuf) -> io::Result<Self> {
        let mut tree = Self {
            volume,
            root,
            number: AtomicU64::new(0),
            stamp: AtomicU64::new(0),
            durable: Mutex::default(),
            unsettled: Mutex::default(),
            removal: RwLock::default(),
            folds_case: false,
        };
        let new = tree.root.join(NEW);
        tree.ensure_directory(&new)?;
        for entry in tree.volume.entries(&new)? {
            tree.volume.remove(&new.join(entry.name))?;
        }
        let probe = Temporary::create(&tree.volume, new.join("probe"))?;
        tree.folds_case = tree.volume.stat(&new.join("PROBE")).is_ok();
        drop(probe);
        Ok(tree)
    }

    pub(super) fn volume(&self) -> &dyn Volume {
        &*self.volume
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Opens a file, which is durable when this returns; `None` if it does not exist.
    pub(super) fn open_file(&self, path: &str) -> io::Result<Option<(Box<dyn VolumeFile>, Stat)>> {
        if self.other_spelling(path)?.is_some() {
            return Ok(None);
        }
        let path = self.root.join(path);
        let opened = match self.volume.open(&path) {
            Ok(file) => {
                let stat = file.stat();
                stat.map(|stat| Some((file, stat)))
            }
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        };
        // After the look: a file that takes its place in between was not seen.
        self.settle(&path)?;
        match opened {
            Err(error) if is_missing(&error) => Ok(None),
            opened => opened,
        }
    }

    /// Returns the properties of a file, which is durable when this returns; `None` if it does not exist.
    pub(super) fn stat(&self, path: &str) -> io::Result<Option<Stat>> {
        if self.other_spelling(path)?.is_some() {
            return Ok(None);
        }
        let path = self.root.join(path);
        let stat = self.volume.stat(&path);
        self.settle(&path)?;
        match stat {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Begins a file.
    pub(super) fn begin(&self) -> io::Result<Temporary> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        Temporary::create(&self.volume, self.root.join(NEW).join(number.to_string()))
    }

    /// Makes the contents of a file durable, with a time that no other file has.
    pub(super) fn complete(&self, temporary: &Temporary) -> io::Result<Stat> {
        temporary.file.set_modified(self.next_stamp())?;
        temporary.file.sync()?;
        temporary.file.stat()
    }

    /// Puts a complete file into its place. Returns `false` if there is one already, and it must not be replaced.
    pub(super) fn place(
        &self,
        mut temporary: Temporary,
        path: &str,
        placement: Placement,
    ) -> io::Result<bool> {
        if let Some(other) = self.other_spelling(path)? {
            return Err(io::Error::other(format!(
                "this file system does not distinguish upper from lower case, and already has {other}: use a directory on \
                 another file system"
            )));
        }
        let path = self.root.join(path);
        let removal = self.removal.read();
        let _removal = removal.unwrap_or_else(PoisonError::into_inner);
        self.ensure_directory(parent(&path)?)?;
        let attempt = self.unsettle(&path);
        match placement {
            Placement::Replace => {
                self.volume.rename(&temporary.path, &path)?;
                temporary.is_moved = true;
            }
            Placement::Create => match self.volume.link(&temporary.path, &path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.settle(&path)?;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            },
        }
        self.volume.sync_directory(parent(&path)?)?;
        self.settled(&path, attempt);
        Ok(true)
    }

    /// Removes a file. Succeeds if it does not exist.
    pub(super) fn remove(&self, path: &str) -> io::Result<()> {
        if self.other_spelling(path)?.is_some() {
            return Ok(());
        }
        let path = self.root.join(path);
        let attempt = self.unsettle(&path);
        match self.volume.remove(&path) {
            Ok(()) => {
                self.volume.sync_directory(parent(&path)?)?;
                self.settled(&path, attempt);
                Ok(())
            }
            // Another attempt may have removed it, and not survive a power cut.
            Err(error) if is_missing(&error) => self.settle(&path),
            Err(error) => Err(error),
        }
    }

    /// Removes a directory if it is empty. It returns after a power cut, perhaps, and is harmless.
    pub(super) fn remove_directory(&self, path: &str) {
        let path = self.root.join(path);
        let removal = self.removal.write();
        let _removal = removal.unwrap_or_else(PoisonError::into_inner);
        self.lock_durable().remove(&path);
        // Usually it is not empty.
        let _ = self.volume.remove_directory(&path);
    }

    /// Returns the path of a file or directory that the file system takes for a part of this one, although its name differs
    /// in case.
    fn other_spelling(&self, path: &str) -> io::Result<Option<String>> {
        if !self.folds_case {
            return Ok(None);
        }
        let mut directory = self.root.clone();
        for wanted in path.split('/') {
            let entries = match self.volume.entries(&directory) {
                Err(error) if is_missing(&error) => return Ok(None),
                entries => entries?,
            };
            let mut names = entries.into_iter().map(|entry| entry.name);
            // Among the names that a key can have, the file system folds only ASCII.
            let folded = names.find(|name| name.eq_ignore_ascii_case(wanted));
            match folded {
                None => return Ok(None),
                Some(name) if name != wanted => {
                    return Ok(Some(directory.join(name).display().to_string()));
                }
                Some(name) => directory.push(name),
            }
        }
        Ok(None)
    }

    /// Creates a directory that is durable when this returns.
    fn ensure_directory(&self, path: &Path) -> io::Result<()> {
        let mut missing = Vec::new();
        let mut durable = self.lock_durable();
        let mut next = path;
        while next != self.root && !durable.contains(next) {
            missing.push(next);
            next = parent(next)?;
        }
        for path in missing.into_iter().rev() {
            match self.volume.create_directory(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                // An existing one may have been created by a process that ended before it synced it.
                _ => self.volume.sync_directory(parent(path)?)?,
            }
            if durable.len() >= DIRECTORIES {
                durable.clear();
            }
            durable.insert(path.to_owned());
        }
        Ok(())
    }

    /// Makes a path durable if it is not known to be.
    fn settle(&self, path: &Path) -> io::Result<()> {
        let attempt = self.lock_unsettled().get(path).copied();
        if let Some(attempt) = attempt {
            match self.volume.sync_directory(parent(path)?) {
                // Then there is no file either.
                Err(error) if !is_missing(&error) => return Err(error),
                _ => self.settled(path, attempt),
            }
        }
        Ok(())
    }

    /// Makes everything durable that a list of these directories has shown.
    pub(super) fn settle_below(&self, directories: &[&str]) -> io::Result<()> {
        let is_below = |path: &PathBuf| {
            let path = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
            path.is_some_and(|path| directories.iter().any(|it| path.starts_with(it)))
        };
        let unsettled = self.lock_unsettled().keys().cloned().collect::<Vec<_>>();
        let mut below = unsettled.iter().filter(|path| is_below(path));
        below.try_for_each(|path| self.settle(path))
    }

    fn unsettle(&self, path: &Path) -> u64 {
        let attempt = self.number.fetch_add(1, Ordering::Relaxed);
        self.lock_unsettled().insert(path.to_owned(), attempt);
        attempt
    }

    fn settled(&self, path: &Path, attempt: u64) {
        let mut unsettled = self.lock_unsettled();
        if unsettled.get(path) == Some(&attempt) {
            unsettled.remove(path);
        }
    }

    /// Returns the time in nanoseconds since 1970, and never the same twice.
    fn next_stamp(&self) -> u64 {
        let now = now() / TICK * TICK;
        let next = |last: u64| Some(now.max(last + TICK));
        let last = self
            .stamp
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        last.map_or(now, |last| now.max(last + TICK))
    }

    fn lock_durable(&self) -> MutexGuard<'_, HashSet<PathBuf>> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_unsettled(&self) -> MutexGuard<'_, HashMap<PathBuf, u64>> {
        let unsettled = self.unsettled.lock();
        unsettled.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Temporary {
    fn create(volume: &Arc<dyn Volume>, path: PathBuf) -> io::Result<Self> {
        Ok(Self {
            file: volume.create(&path)?,
            volume: Arc::clone(volume),
            path,
            length: 0,
            is_moved: false,
        })
    }

    /// Appends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(self.length, bytes)?;
        self.length += u64::try_from(bytes.len()).map_err(io::Error::other)?;
        Ok(())
    }

    /// Returns the number of bytes written.
    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_moved {
            // What stays is removed when the directory is opened again.
            let _ = self.volume.remove(&self.path);
        }
    }
}

/// Returns whether there is no such file. The name of a file that is taken for a directory is none either.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn parent(path: &Path) -> io::Result<&Path> {
    path.parent()
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}

//! The operations of a file system that the store needs. Tests put a simulated disk in its place, which can lose power.

use std::fmt::Debug;
use std::fs::{self, File, FileTimes, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file system. Its effects survive a power cut only after the matching `sync`.
pub(crate) trait Volume: Debug + Send + Sync + 'static {
    /// Creates a file, which must not exist.
    fn create(&self, path: &Path) -> io::Result<Box<dyn VolumeFile>>;
    /// Opens a file for reads.
    fn open(&self, path: &Path) -> io::Result<Box<dyn VolumeFile>>;
    /// Opens a file for reads and writes by this process alone. Creates it if it does not exist.
    fn open_or_create(&self, path: &Path) -> io::Result<Box<dyn VolumeFile>>;
    /// Returns the properties of a file.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// Returns the entries of a directory, in any order, without those with names that are not Unicode.
    fn entries(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>>;
    /// Creates a directory. Fails if it exists.
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Gives a file a second name. Fails if there is a file with that name.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file another name, and replaces the file that had it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
    /// Makes the entries of a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// Makes everything durable that was written before, by whichever process.
    fn sync_everything(&self, root: &Path) -> io::Result<()>;
}

/// An open file.
pub(crate) trait VolumeFile: Debug + Send + Sync {
    /// Returns its properties.
    fn stat(&self) -> io::Result<Stat>;
    /// Reads into a buffer, and returns the number of bytes; 0 at the end of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes all bytes.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Truncates or extends it.
    fn set_length(&self, length: u64) -> io::Result<()>;
    /// Sets its time, in nanoseconds since 1970.
    fn set_modified(&self, nanoseconds: u64) -> io::Result<()>;
    /// Makes its contents, length and time durable.
    fn sync(&self) -> io::Result<()>;
}

/// The properties of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Its length in bytes.
    pub(crate) size: u64,
    /// The time of its last change, in nanoseconds since 1970. The store gives each file its own.
    pub(crate) modified: u64,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DirectoryEntry {
    pub(crate) name: String,
    pub(crate) is_directory: bool,
}

/// The file system of this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Local;

/// Returns the bytes of a file from `offset` on: `length`, or fewer at its end.
pub(crate) fn read_range(file: &dyn VolumeFile, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(offset + u64::try_from(filled).unwrap_or(u64::MAX), rest)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Returns the whole contents of a file.
pub(crate) fn read_whole(file: &dyn VolumeFile) -> io::Result<Vec<u8>> {
    let size = usize::try_from(file.stat()?.size).map_err(io::Error::other)?;
    let bytes = read_range(file, 0, size)?;
    match bytes.len() == size {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

impl Volume for Local {
    fn create(&self, path: &Path) -> io::Result<Box<dyn VolumeFile>> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(path)?;
        Ok(Box::new(file))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn VolumeFile>> {
        Ok(Box::new(File::open(path)?))
    }

    fn open_or_create(&self, path: &Path) -> io::Result<Box<dyn VolumeFile>> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path)?;
        // The lock of a directory is a file that may be removed.
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                io::Error::other("another process uses it: stop that first")
            }
            TryLockError::Error(error) => error,
        })?;
        Ok(Box::new(file))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        stat(&fs::metadata(path)?)
    }

    fn entries(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let kind = entry.file_type()?;
            let is_directory = match kind.is_symlink() {
                true => fs::metadata(entry.path()).is_ok_and(|it| it.is_dir()),
                false => kind.is_dir(),
            };
            entries.push(DirectoryEntry { name, is_directory });
        }
        Ok(entries)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    #[cfg(unix)]
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    /// Windows has no such operation: its file systems log changes to directories in order.
    #[cfg(not(unix))]
    fn sync_directory(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn sync_everything(&self, root: &Path) -> io::Result<()> {
        Ok(rustix::fs::syncfs(File::open(root)?)?)
    }

    #[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
    fn sync_everything(&self, _root: &Path) -> io::Result<()> {
        rustix::fs::sync();
        Ok(())
    }

    #[cfg(not(unix))]
    fn sync_everything(&self, _root: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl VolumeFile for File {
    fn stat(&self) -> io::Result<Stat> {
        stat(&self.metadata()?)
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    #[cfg(unix)]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self, bytes, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buffer, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = std::os::windows::fs::FileExt::seek_write(self, bytes, offset)?;
            offset += u64::try_from(written).map_err(io::Error::other)?;
            bytes = bytes.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn set_modified(&self, nanoseconds: u64) -> io::Result<()> {
        let time = UNIX_EPOCH + Duration::from_nanos(nanoseconds);
        self.set_times(FileTimes::new().set_modified(time))
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }
}

fn stat(metadata: &fs::Metadata) -> io::Result<Stat> {
    if !metadata.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "not a regular file",
        ));
    }
    Ok(Stat {
        size: metadata.len(),
        modified: nanoseconds(metadata.modified()?),
    })
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the time in nanoseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate is a platform, and asks the system for the time"
)]
pub(crate) fn now() -> u64 {
    nanoseconds(SystemTime::now())
}

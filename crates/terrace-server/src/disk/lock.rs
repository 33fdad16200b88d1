//! The lock that keeps other processes out of a directory.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

/// The maximum bytes that are read of the description of the holder.
const HOLDER_BYTES: u64 = 100;

/// A lock. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock. The inner error describes the process that has it.
    pub(crate) fn take(path: &Path) -> io::Result<Result<Self, String>> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0)?;
                write!(file, "{}", std::process::id())?;
                Ok(Ok(Self { _file: file }))
            }
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // It cannot be read on every system while it is locked.
                let _ = file.take(HOLDER_BYTES).read_to_string(&mut text);
                let id = text.trim().parse::<u32>();
                Ok(Err(match id {
                    Ok(id) => format!("the process {id}"),
                    Err(_) => "another process".to_owned(),
                }))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

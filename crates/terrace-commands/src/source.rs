//! The local files that commands read: a dist directory of GoReleaser, a repository, the files with documentation, and the
//! configuration of a deployment.

pub(crate) mod collection;
pub(crate) mod dist;
pub(crate) mod documentation;
pub(crate) mod git;
pub(crate) mod local_paths;
pub(crate) mod pattern;
pub(crate) mod repository;
pub(crate) mod syntax;
pub(crate) mod wrangler;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads a regular file of at most `most` bytes. An error names the file.
pub(crate) fn bounded_text(path: &Path, most: u64) -> Result<String, String> {
    let refused = |reason: String| format!("{}: {reason}", path.display());
    let failed = |error: io::Error| refused(error.to_string());
    // Opening a pipe would wait for its writer.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(refused("it is not a regular file".to_owned()));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    let read = file.take(most + 1).read_to_string(&mut text);
    match read.map_err(failed)? {
        length if length as u64 > most => Err(refused(format!("it is larger than {most} bytes"))),
        _ => Ok(text),
    }
}

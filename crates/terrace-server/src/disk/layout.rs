//! The paths of all keys: the layout of `terrace admin export`.
//!
//! ```text
//! facts/{key}.json                        a document: see terrace_core::storage::copy
//! archives/{sha256}.{extension}           bytes, under their keys
//! oci/blobs/{algorithm}/{digits}
//! incoming/…                              staged uploads, which no copy has
//! oci/uploads/{id}/{offset}-{writer}      chunks, which no copy has
//! .terrace/lock                           locked by the process that uses the directory, whose id it contains
//! .terrace/indices.redb                   the indices, and the metadata of documents
//! .terrace/new/…                          files that are not complete yet
//! export.json, SHA256SUMS                 of a copy: only `terrace admin export` writes them
//! ```

use std::io;

use terrace_core::storage::copy::path_of_fact;
use terrace_core::storage::key::{ARCHIVES, BLOBS, STAGED, UPLOADS};

/// The directory of the store's own files.
pub(crate) const OWN: &str = ".terrace";

/// The lock.
pub(crate) const LOCK: &str = ".terrace/lock";

/// The indices.
pub(crate) const INDICES: &str = ".terrace/indices.redb";

/// The directory of incomplete files: in the same file system as all others, so that a complete one can be linked, and
/// outside the directories that lists read.
pub(super) const NEW: &str = ".terrace/new";

/// The directories of bytes, which have their paths as keys. Each ends with a slash.
pub(super) const BYTES: [&str; 4] = [ARCHIVES, STAGED, BLOBS, UPLOADS];

/// The maximum bytes of a key, as of an object store.
const KEY_BYTES: usize = 1_024;

/// Returns whether a key is one of bytes. The document of an upload is next to the directory of its chunks.
pub(super) fn is_of_bytes(key: &str) -> bool {
    match key.strip_prefix(UPLOADS) {
        Some(name) => name.contains('/'),
        None => BYTES.iter().any(|directory| key.starts_with(directory)),
    }
}

/// Returns the path of a key, relative to the root.
///
/// # Errors
/// If the key is not one that the registry forms. It would lead out of the directory, or be another key's path.
pub(super) fn path_of(key: &str) -> io::Result<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-/".contains(&byte);
    let path = match is_of_bytes(key) {
        true if key.bytes().all(is_plain) => Some(key.to_owned()),
        true => None,
        false => Some(path_of_fact(key)),
    };
    let is_segment = |segment: &str| !matches!(segment, "" | "." | "..");
    let is_safe = |path: &String| {
        key.len() <= KEY_BYTES
            && key.split('/').all(|segment| !segment.is_empty())
            && path.split('/').all(is_segment)
    };
    path.filter(is_safe).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{key:?} cannot be the path of a file"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_the_registry_is_the_path_of_an_export() {
        for (key, path) in [
            (
                "releases/modules/Acme/vpc/aws/1.0.0",
                "facts/releases/modules/Acme/vpc/aws/1.0.0.json",
            ),
            ("format", "facts/format.json"),
            // A document's last segment gets an extension.
            ("..", "facts/...json"),
            ("oci/uploads/00", "facts/oci/uploads/00.json"),
            ("oci/uploads/00/5-ff", "oci/uploads/00/5-ff"),
            ("archives/00.zip", "archives/00.zip"),
            ("oci/blobs/sha256/00", "oci/blobs/sha256/00"),
        ] {
            assert_eq!(path_of(key).unwrap(), path);
        }
    }

    #[test]
    fn a_key_that_leads_elsewhere_has_no_path() {
        for key in [
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a//b",
            "a/./b",
            "archives/../../x",
            "archives/",
            "archives/a:b",
            "oci/uploads/x/../../y",
            &"a".repeat(KEY_BYTES + 1),
        ] {
            assert!(path_of(key).is_err(), "{key}");
        }
    }
}

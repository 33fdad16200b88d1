//! Downloads of stored bytes, which are checked against the digest in their key.

use std::io::{self, Read, Write};

use sha2::Digest as _;
use terrace_base::digest::{Sha256, Sha512};
use terrace_core::model::oci::Digest;
use ureq::Agent;

use super::stored::digest_of;
use crate::error::Failure;
use crate::http;
use crate::upstream::{AttemptError, DownloadError, download};

/// Writes the bytes with this key and size to `file`, and reports the length of each piece to `progress`. Returns their SHA-256.
/// A transient error may pass with a fresh URL.
pub(super) fn fetch(
    agent: &Agent,
    (key, size): (&str, u64),
    url: &str,
    file: &mut impl Write,
    progress: impl Fn(usize),
) -> Result<Sha256, AttemptError> {
    let digest = digest_of(key).ok_or_else(|| {
        let message = format!("the registry names {key}, which is not the key of an archive");
        AttemptError::permanent(Failure::Unexpected(message))
    })?;
    let unavailable = |reason: String| Failure::Unavailable(format!("{key}: {reason}"));
    // The error may quote the URL, which is a secret.
    let response = agent.get(url).call().map_err(|error| AttemptError {
        is_transient: http::is_transient_error(&error),
        ..AttemptError::permanent(unavailable(http::describe(&error)))
    })?;
    let status = response.status().as_u16();
    let reason = || format!("{key}: the storage responded with status {status}");
    match status {
        200 => {}
        // The URL may have expired during other downloads, and the bytes may have been removed.
        403 => return Err(AttemptError::transient(Failure::NotAllowed(reason()))),
        404 => {
            return Err(AttemptError::transient(Failure::refused(format!(
                "{}, although the registry has it: unless it was removed just now, TERRACE_S3_BUCKET or TERRACE_S3_ENDPOINT \
                 names another bucket than the one that is bound as FACTS",
                reason()
            ))));
        }
        _ if http::is_transient_status(status) => {
            return Err(AttemptError::transient(Failure::Unavailable(reason())));
        }
        _ => return Err(AttemptError::permanent(Failure::Unexpected(reason()))),
    }
    let damaged = || {
        AttemptError::refused(format!(
            "{key} has other contents: it is damaged in the registry"
        ))
    };
    let reader = response.into_body().into_reader();
    let (arrived, found) =
        copy(reader, size, file, digest, progress).map_err(|error| match error {
            DownloadError::Local(error) => {
                AttemptError::permanent(Failure::Local(format!("{key}: {error}")))
            }
            DownloadError::Remote(error) => AttemptError::transient(unavailable(error.to_string())),
            DownloadError::TooLong => damaged(),
        })?;
    if arrived < size {
        let reason = format!("the download ended after {arrived} of {size} bytes");
        return Err(AttemptError::transient(unavailable(reason)));
    }
    found.ok_or_else(damaged)
}

/// Returns the SHA-256 of a file, if the file has the digest in its key.
pub(super) fn checked(file: impl Read, key: &str) -> Option<Sha256> {
    let copied = copy(file, u64::MAX, &mut io::sink(), digest_of(key)?, |_| {});
    copied.ok()?.1
}

/// Copies bytes. Returns their number, and their SHA-256 if they have this digest.
fn copy(
    reader: impl Read,
    most: u64,
    file: &mut impl Write,
    digest: Digest,
    progress: impl Fn(usize),
) -> Result<(u64, Option<Sha256>), DownloadError> {
    let mut sha512 = match digest {
        Digest::Sha256(_) => None,
        Digest::Sha512(_) => Some(sha2::Sha512::new()),
    };
    let (sha256, size) = download(reader, most, file, |chunk| {
        if let Some(sha512) = &mut sha512 {
            sha512.update(chunk);
        }
        progress(chunk.len());
    })?;
    let found = match sha512 {
        None => Digest::Sha256(sha256),
        Some(sha512) => Digest::Sha512(Sha512::from_bytes(sha512.finalize().into())),
    };
    Ok((size, (found == digest).then_some(sha256)))
}

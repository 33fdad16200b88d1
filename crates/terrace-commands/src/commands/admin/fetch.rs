//! Downloads of stored bytes, which are checked against the digest in their key.

use std::io::{self, Read, Write};

use sha2::Digest as _;
use terrace_base::digest::{Sha256, Sha512};
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::BytesKey;
use ureq::Agent;

use crate::archive::each_chunk;
use crate::error::Failure;
use crate::http;

/// The reason why a download failed.
pub(super) enum FetchError {
    /// The URL is answered 404.
    Absent,
    /// A retry with a fresh URL may succeed.
    Passing(Failure),
    /// A retry does not help.
    Refused(Failure),
    /// This machine cannot store the bytes.
    Local(io::Error),
}

/// Writes the bytes with this key and size to `file`, and reports each piece to `progress`. Returns their SHA-256.
pub(super) fn fetch(
    agent: &Agent,
    (key, size): (&str, u64),
    url: &str,
    file: &mut impl Write,
    progress: impl Fn(usize),
) -> Result<Sha256, FetchError> {
    let digest = digest_of(key).map_err(FetchError::Refused)?;
    let unavailable =
        |reason: String| FetchError::Passing(Failure::Unavailable(format!("{key}: {reason}")));
    // The error may quote the URL, which is a secret.
    let response = agent.get(url).call().map_err(|error| {
        let failure = unavailable(http::describe(&error));
        match failure {
            FetchError::Passing(failure) if !http::is_transient_error(&error) => {
                FetchError::Refused(failure)
            }
            failure => failure,
        }
    })?;
    let status = response.status().as_u16();
    let reason = || format!("{key}: the storage responded with status {status}");
    match status {
        200 => {}
        404 => return Err(FetchError::Absent),
        // The URL may have expired during other downloads.
        403 => return Err(FetchError::Passing(Failure::NotAllowed(reason()))),
        _ if http::is_transient_status(status) => {
            return Err(FetchError::Passing(Failure::Unavailable(reason())));
        }
        _ => return Err(FetchError::Refused(Failure::Unexpected(reason()))),
    }
    let mut hashers = Hashers::of(digest);
    let mut unwritten = None;
    let mut reader = response.into_body().into_reader().take(size + 1);
    let read = each_chunk(&mut reader, |chunk| {
        hashers.update(chunk);
        progress(chunk.len());
        if let Err(error) = file.write_all(chunk) {
            unwritten.get_or_insert(error);
        }
    });
    if let Some(error) = unwritten {
        return Err(FetchError::Local(error));
    }
    let arrived = read.map_err(|error| unavailable(error.to_string()))?;
    if arrived < size {
        let reason = format!("the download ended after {arrived} of {size} bytes");
        return Err(unavailable(reason));
    }
    let (sha256, found) = hashers.finish();
    if found != digest {
        return Err(FetchError::Refused(Failure::refused(format!(
            "{key} has other contents, with the digest {found}: it is damaged in the registry"
        ))));
    }
    Ok(sha256)
}

/// Returns the SHA-256 of a file, if the file has the digest in its key.
pub(super) fn checked(file: &mut impl Read, key: &str) -> Option<Sha256> {
    let digest = digest_of(key).ok()?;
    let mut hashers = Hashers::of(digest);
    each_chunk(file, |chunk| hashers.update(chunk)).ok()?;
    let (sha256, found) = hashers.finish();
    (found == digest).then_some(sha256)
}

fn digest_of(key: &str) -> Result<Digest, Failure> {
    let bytes = BytesKey::parse_key(key).map(|key| key.digest());
    let message = || format!("the registry names {key}, which is not the key of an archive");
    bytes.ok_or_else(|| Failure::Unexpected(message()))
}

/// The digest in the key of an archive, and the SHA-256.
struct Hashers {
    sha256: sha2::Sha256,
    sha512: Option<sha2::Sha512>,
}

impl Hashers {
    fn of(digest: Digest) -> Self {
        Self {
            sha256: sha2::Sha256::new(),
            sha512: match digest {
                Digest::Sha256(_) => None,
                Digest::Sha512(_) => Some(sha2::Sha512::new()),
            },
        }
    }

    fn update(&mut self, chunk: &[u8]) {
        self.sha256.update(chunk);
        if let Some(sha512) = &mut self.sha512 {
            sha512.update(chunk);
        }
    }

    fn finish(self) -> (Sha256, Digest) {
        let sha256 = Sha256::from_bytes(self.sha256.finalize().into());
        let digest = match self.sha512 {
            None => Digest::Sha256(sha256),
            Some(sha512) => Digest::Sha512(Sha512::from_bytes(sha512.finalize().into())),
        };
        (sha256, digest)
    }
}

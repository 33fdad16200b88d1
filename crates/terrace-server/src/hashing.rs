//! Digests of bytes that arrive, and members that are inflated.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{Mutex, PoisonError};

use flate2::bufread::GzDecoder;
use sha2::Digest as _;
use terrace_app::host::Inflated;
use terrace_base::digest::{Sha256, Sha512};
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::BytesKey;

/// The maximum number of objects that are remembered as verified.
const VERIFIED_OBJECTS: usize = 10_000;

/// Objects that this process has verified against their keys, each with the identifier of its last write.
#[derive(Debug)]
pub(crate) struct Verified<W>(Mutex<HashMap<BytesKey, W>>);

impl<W> Default for Verified<W> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<W: PartialEq> Verified<W> {
    pub(crate) fn insert(&self, key: BytesKey, write: W) {
        let mut objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if objects.len() >= VERIFIED_OBJECTS {
            objects.clear();
        }
        objects.insert(key, write);
    }

    pub(crate) fn contains(&self, key: BytesKey, write: &W) -> bool {
        let objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        objects.get(&key) == Some(write)
    }
}

/// Computes a digest by the algorithm of another.
#[derive(Debug)]
pub(crate) enum Hasher {
    Sha256(sha2::Sha256),
    Sha512(sha2::Sha512),
}

impl Hasher {
    pub(crate) fn like(digest: Digest) -> Self {
        match digest {
            Digest::Sha256(_) => Self::Sha256(sha2::Sha256::new()),
            Digest::Sha512(_) => Self::Sha512(sha2::Sha512::new()),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Digest {
        match self {
            Self::Sha256(hasher) => Digest::Sha256(Sha256::from_bytes(hasher.finalize().into())),
            Self::Sha512(hasher) => Digest::Sha512(Sha512::from_bytes(hasher.finalize().into())),
        }
    }
}

/// Inflates exactly one gzip member. No more than one byte above the limit is ever inflated.
pub(crate) fn inflated(member: &[u8], limit: u32) -> Inflated {
    let mut decoder = GzDecoder::new(member);
    let mut contents = Vec::new();
    let most = u64::from(limit) + 1;
    let read = (&mut decoder).take(most).read_to_end(&mut contents);
    if u64::try_from(contents.len()).is_ok_and(|length| length >= most) {
        return Inflated::TooLong;
    }
    match read {
        Ok(_) if decoder.into_inner().is_empty() => Inflated::Contents(contents),
        _ => Inflated::Damaged,
    }
}

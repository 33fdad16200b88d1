//! Checks that a version is signed by one of the keys that are pinned for its provider.

use super::{OriginError, OriginPackage};
use crate::storage::release::SigningKeyDocument;

/// Accepts any key as long as none is pinned, and otherwise only a key with a pinned fingerprint.
///
/// Key IDs are not compared: two keys can be made to have the same ID.
///
/// # Errors
/// If it has another fingerprint: the error names both.
pub fn check_pin(
    pinned: &[SigningKeyDocument],
    key: &SigningKeyDocument,
) -> Result<(), OriginError> {
    let is_it =
        |known: &SigningKeyDocument| known.fingerprint.eq_ignore_ascii_case(&key.fingerprint);
    if pinned.is_empty() || pinned.iter().any(is_it) {
        return Ok(());
    }
    Err(OriginError::Unusable(format!(
        "the version is signed by key {}, and the pinned signing keys of this provider are {}: if its publisher has changed \
         keys, pin the new one first",
        key.fingerprint,
        fingerprints(pinned)
    )))
}

impl OriginPackage {
    /// Checks the key of a whole package. A package without a signature is accepted only as long as no key is
    /// pinned.
    ///
    /// # Errors
    /// If it has another key, or no signature any more.
    pub fn check_pin(&self, pinned: &[SigningKeyDocument]) -> Result<(), OriginError> {
        match &self.signed {
            Some(signed) => check_pin(pinned, &signed.key),
            None if pinned.is_empty() => Ok(()),
            None => Err(OriginError::Unusable(format!(
                "the version is not signed, and the pinned signing keys of this provider are {}",
                fingerprints(pinned)
            ))),
        }
    }
}

fn fingerprints(keys: &[SigningKeyDocument]) -> String {
    let texts: Vec<&str> = keys.iter().map(|key| key.fingerprint.as_str()).collect();
    texts.join(", ")
}

//! Checks that a version is signed by one of the keys that are pinned for its provider.

use super::{OriginError, OriginPackage};
use crate::storage::release::SigningKeyDocument;

/// Accepts any key as long as none is pinned, and otherwise only a key with a pinned fingerprint.
///
/// Key IDs are not compared: two keys can be made to have the same ID.
///
/// # Errors
/// [`OriginError::OtherKey`] with both fingerprints.
pub fn check_pin(
    pinned: &[SigningKeyDocument],
    key: &SigningKeyDocument,
) -> Result<(), OriginError> {
    let is_it =
        |known: &SigningKeyDocument| known.fingerprint.eq_ignore_ascii_case(&key.fingerprint);
    if pinned.is_empty() || pinned.iter().any(is_it) {
        return Ok(());
    }
    Err(OriginError::OtherKey {
        fingerprint: key.fingerprint.clone(),
        pinned: fingerprints(pinned),
    })
}

impl OriginPackage {
    /// Checks the key of a whole package. A package without a signature is accepted only as long as no key is
    /// pinned.
    ///
    /// # Errors
    /// [`OriginError::OtherKey`] or [`OriginError::NoLongerSigned`].
    pub fn check_pin(&self, pinned: &[SigningKeyDocument]) -> Result<(), OriginError> {
        match &self.signed {
            Some(signed) => check_pin(pinned, &signed.key),
            None if pinned.is_empty() => Ok(()),
            None => Err(OriginError::NoLongerSigned {
                pinned: fingerprints(pinned),
            }),
        }
    }
}

fn fingerprints(keys: &[SigningKeyDocument]) -> String {
    let texts: Vec<&str> = keys.iter().map(|key| key.fingerprint.as_str()).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(fingerprint: &str) -> SigningKeyDocument {
        SigningKeyDocument {
            key_id: "51852D87348FFC4C".parse().unwrap(),
            fingerprint: fingerprint.to_owned(),
            ascii_armor: String::new(),
        }
    }

    #[test]
    fn the_first_key_is_accepted_and_then_only_pinned_keys() {
        assert_eq!(check_pin(&[], &key("aa")), Ok(()));
        let pinned = [key("aa"), key("bb")];
        assert_eq!(check_pin(&pinned, &key("bb")), Ok(()));
        assert_eq!(check_pin(&pinned, &key("AA")), Ok(()));
        let error = check_pin(&pinned, &key("cc")).unwrap_err().to_string();
        for fingerprint in ["key cc", "aa, bb"] {
            assert!(error.contains(fingerprint), "{error}");
        }
    }
}

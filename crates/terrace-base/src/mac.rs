//! HMAC-SHA-256 (RFC 2104), the MAC of tokens, paths and presigned URLs.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};

/// A MAC key that has been hashed once, when it was created, and not again for each message. `Debug` does not
/// print it.
#[derive(Clone)]
pub struct MacKey(Hmac<sha2::Sha256>);

impl MacKey {
    /// Creates a MAC key from bytes of any length.
    #[expect(clippy::expect_used, reason = "HMAC accepts keys of any length")]
    pub fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC accepts keys of any length"))
    }

    /// Returns the MAC of `message`.
    pub fn sign(&self, message: &[u8]) -> [u8; 32] {
        self.fed(message).finalize().into_bytes().into()
    }

    /// Returns whether `mac` is the MAC of `message`. The time taken does not reveal how many bytes match.
    pub fn has_signed(&self, message: &[u8], mac: &[u8]) -> bool {
        self.fed(message).verify_slice(mac).is_ok()
    }

    fn fed(&self, message: &[u8]) -> Hmac<sha2::Sha256> {
        let mut mac = self.0.clone();
        mac.update(message);
        mac
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(…)")
    }
}

/// Returns the MAC of one message. `key` may have any length.
pub fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    MacKey::new(key).sign(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Sha256;

    /// Test case 2 of RFC 4231.
    #[test]
    fn the_mac_matches_the_published_test_vector() {
        let key = MacKey::new(b"Jefe");
        let message = b"what do ya want for nothing?";
        let mac = key.sign(message);
        assert_eq!(
            Sha256::from_bytes(mac).to_string(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert!(key.has_signed(message, &mac));
        assert!(!key.has_signed(b"what", &mac));
        assert!(!key.has_signed(message, &mac[..16]));
        assert_eq!(format!("{key:?}"), "MacKey(…)");
    }
}

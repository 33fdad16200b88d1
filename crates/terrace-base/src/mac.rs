//! HMAC-SHA-256 (RFC 2104), which tokens, paths and presigned URLs are signed with.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};

/// A key that is ready for its messages: what hashing the key costs is paid once. `Debug` does not show it.
#[derive(Clone)]
pub struct MacKey(Hmac<sha2::Sha256>);

impl MacKey {
    /// A key may have any length.
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    pub fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("any length of key"))
    }

    /// What this key makes of a message.
    pub fn sign(&self, message: &[u8]) -> [u8; 32] {
        self.fed(message).finalize().into_bytes().into()
    }

    /// Whether this key has made that of a message. How long it takes does not tell how much is right.
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

/// What a key of any length makes of a message, once.
pub fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    MacKey::new(key).sign(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Sha256;

    /// Test case 2 of RFC 4231.
    #[test]
    fn the_mac_is_the_one_that_is_published() {
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

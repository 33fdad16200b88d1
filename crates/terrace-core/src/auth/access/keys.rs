//! MAC keys that are derived from the admin tokens.

use terrace_base::mac::{MacKey, hmac};
use terrace_base::secret::Secret;

/// The keys for one purpose. The previous one only verifies. `Debug` does not print them.
#[derive(Debug, Clone)]
pub(super) struct DerivedKeys {
    pub(super) newest: MacKey,
    pub(super) previous: Option<MacKey>,
}

impl DerivedKeys {
    /// Derives keys from these admin tokens that no other label gives.
    pub(super) fn new(label: &str, newest: &Secret, previous: Option<&Secret>) -> Self {
        let derived =
            |secret: &Secret| MacKey::new(&hmac(secret.expose().as_bytes(), label.as_bytes()));
        Self {
            newest: derived(newest),
            previous: previous.map(derived),
        }
    }

    /// Returns the keys, the newest first.
    pub(super) fn all(&self) -> impl Iterator<Item = &MacKey> {
        [Some(&self.newest), self.previous.as_ref()]
            .into_iter()
            .flatten()
    }

    /// Returns the key by which this is the MAC of a message.
    pub(super) fn signer_of(&self, message: &str, mac: &[u8]) -> Option<&MacKey> {
        self.all()
            .find(|key| key.has_signed(message.as_bytes(), mac))
    }
}

//! OpenPGP keys and detached signatures, under the clients' own rules.
//!
//! Terraform and OpenTofu check a provider's SHA256SUMS with `openpgp.CheckDetachedSignature` of
//! [go-crypto], its first API with the default configuration. Every client must accept the keys and
//! signatures that this crate accepts, so it follows that library's source (versions 1.1.3 and 1.4.1,
//! which agree in all of this) and not gpg, which is more lenient. The comment of a function that
//! mirrors one of Go's names it.
//!
//! - **Reading a key** ([`parse_signing_keys`]): every self-signature must verify; a signing
//!   subkey must be cross-signed; a packet that Go skips is skipped, and one that Go fails on is
//!   refused.
//! - **Signers**: only a key with an explicit key flags subpacket that has the sign flag may sign.
//! - **Reading a signature** ([`detached_signature`]): binary, each one with an issuer.
//! - **Checking it** ([`verify_detached`]): the order of the checks is Go's, because clients accept
//!   an expired key, and then never run the checks after that one.
//!
//! It is stricter than Go in a few ways, which refuse only input that no real tool creates, or that
//! would crash a client: bytes after the end of a packet's content, partial lengths, deep nesting, an
//! empty exportable-certification subpacket, two revoked user IDs of which one has no
//! self-signature, several equal primary user IDs of which one is unacceptable (Go takes a random
//! one). And it does not check SHA-3, Ed448, and ECDSA on P-521, Brainpool or secp256k1 curves, to
//! keep the Worker small.
//!
//! [go-crypto]: https://github.com/ProtonMail/go-crypto

mod armor;
mod bytes;
mod certificate;
mod clients;
mod detached;
mod error;
pub mod limits;
mod merge;
mod packet;
mod public_key;
mod signature;
mod signing_key;
#[cfg(test)]
mod tests;
mod verify;

use std::fmt;
use std::str::FromStr;

pub use clients::too_old_for_signature;
pub use detached::{Verified, detached_signature, verify_detached};
pub use error::{KeyName, OpenPgpError};
pub use signing_key::{SigningKey, key_text, parse_signing_keys};

/// The ID of a key: the last 64 bits of its fingerprint (the first in version 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(u64);

impl fmt::Display for KeyId {
    /// Writes 16 upper-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", self.0)
    }
}

impl FromStr for KeyId {
    type Err = OpenPgpError;

    /// Reads 16 hexadecimal digits, upper or lower case.
    fn from_str(text: &str) -> Result<Self, OpenPgpError> {
        let digit = |byte: u8| char::from(byte).to_digit(16).map(u64::from);
        let mut bytes = text.bytes();
        let id = bytes.try_fold(0, |id: u64, byte| Some(id << 4 | digit(byte)?));
        id.filter(|_| text.len() == 16)
            .map(Self)
            .ok_or_else(|| OpenPgpError::KeyId(text.chars().take(40).collect()))
    }
}

terrace_base::text_serde!(KeyId);

//! OpenPGP keys and detached signatures under the clients' own rules.
//!
//! Terraform and OpenTofu check a provider's SHA256SUMS with `openpgp.CheckDetachedSignature` of
//! [go-crypto], its first API with the default configuration. What is accepted here must be
//! accepted there, by every client, so this module follows that library's source (versions 1.1.3
//! and 1.4.1, which agree in all of this) and not gpg, which is more lenient. Where a function
//! mirrors one of Go's, its comment names it.
//!
//! - **Reading a key** ([`parse_signing_keys`]): every self-signature must verify; a signing
//!   subkey must be cross-signed; a packet that Go passes over is passed over, and one that it
//!   stumbles on is refused.
//! - **Who may sign**: only a key with an explicit key flags subpacket that has the sign flag.
//! - **Reading a signature** ([`detached_signature`]): binary, every one with an issuer.
//! - **Checking it** ([`verify_detached`]): the order of the checks is Go's, because clients
//!   forgive an expired key, and what is checked after it is then never seen.
//!
//! It is stricter than Go in a few ways, which only refuse what no real tool makes, or what would
//! crash a client: bytes after the end of a packet's content, partial lengths, deep nesting, an
//! empty exportable-certification subpacket, two revoked user IDs of which one has no
//! self-signature, several equally good primary user IDs of which one will not do (Go takes a
//! random one). And it does not
//! check SHA-3, Ed448, and ECDSA on P-521, Brainpool or secp256k1 curves, to keep the Worker small.
//!
//! [go-crypto]: https://github.com/ProtonMail/go-crypto

mod armor;
mod bytes;
mod certificate;
mod clients;
mod detached;
mod error;
pub mod limits;
mod packet;
mod public_key;
mod signature;
mod signing_key;
#[cfg(test)]
mod tests;
mod verify;

use std::fmt;
use std::str::FromStr;

pub use clients::TooOld;
pub use detached::{Verified, detached_signature, verify_detached};
pub use error::{KeyName, OpenPgpError};
pub use signing_key::{SigningKey, parse_signing_keys};

/// The ID of a key: the last 64 bits of its fingerprint (the first in version 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(u64);

impl fmt::Display for KeyId {
    /// 16 upper-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", self.0)
    }
}

impl FromStr for KeyId {
    type Err = OpenPgpError;

    /// Reads 16 hexadecimal digits of either case.
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

//! The algorithms of JSON Web Signatures in use (RFC 7518, section 3.1; RFC 8037, section 3.1), and the
//! verification of their signatures.

use super::jwk::Material;

use terrace_signature::{Curve, Hash};

/// An algorithm allowed for tokens, by its name as an `alg`. No others are: neither `none`, nor those with a shared secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// Ed25519 (RFC 8037). Ed448 has the same name and is not supported.
    EdDSA,
    /// ECDSA on P-256 with SHA-256.
    ES256,
    /// ECDSA on P-384 with SHA-384.
    ES384,
    /// RSA PKCS #1 v1.5 with SHA-256.
    RS256,
    /// RSA PKCS #1 v1.5 with SHA-384.
    RS384,
    /// RSA PKCS #1 v1.5 with SHA-512.
    RS512,
}

impl Algorithm {
    /// Parses an `alg`, which is case-sensitive (RFC 7515, section 4.1.1).
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "EdDSA" => Self::EdDSA,
            "ES256" => Self::ES256,
            "ES384" => Self::ES384,
            "RS256" => Self::RS256,
            "RS384" => Self::RS384,
            "RS512" => Self::RS512,
            _ => return None,
        })
    }

    fn rsa_hash(self) -> Option<Hash> {
        match self {
            Self::RS256 => Some(Hash::Sha256),
            Self::RS384 => Some(Hash::Sha384),
            Self::RS512 => Some(Hash::Sha512),
            Self::EdDSA | Self::ES256 | Self::ES384 => None,
        }
    }

    /// Returns whether such keys make signatures of this algorithm.
    pub(super) fn fits(self, material: &Material) -> bool {
        match material {
            Material::Ec(Curve::P256, _) => self == Self::ES256,
            Material::Ec(Curve::P384, _) => self == Self::ES384,
            Material::Ed25519(_) => self == Self::EdDSA,
            Material::Rsa { .. } => self.rsa_hash().is_some(),
        }
    }

    /// Returns whether the key made this signature over the message, with this algorithm.
    pub(super) fn verify(self, material: &Material, message: &[u8], signature: &[u8]) -> bool {
        match material {
            Material::Ec(curve, point) => {
                self.fits(material) && verify_ecdsa(*curve, point, message, signature)
            }
            Material::Ed25519(key) => {
                let signature = signature.try_into();
                self.fits(material)
                    && signature.is_ok_and(|raw| terrace_signature::ed25519(key, message, raw))
            }
            Material::Rsa { n, e } => {
                // The signature is as long as the modulus, which has no leading zeros (RFC 8017, section
                // 8.2.2).
                let has_length = signature.len() == n.len();
                self.rsa_hash().is_some_and(|hash| {
                    has_length
                        && terrace_signature::rsa(n, e, hash, &hash.digest(&[message]), signature)
                })
            }
        }
    }
}

/// The signature is the two numbers in sequence, each as long as the curve's (RFC 7518, section 3.4).
fn verify_ecdsa(curve: Curve, point: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let (length, hash) = match curve {
        Curve::P256 => (32, Hash::Sha256),
        Curve::P384 => (48, Hash::Sha384),
    };
    let halves = signature.split_at_checked(length);
    halves.is_some_and(|(r, s)| {
        s.len() == length && terrace_signature::ecdsa(curve, point, &hash.digest(&[message]), r, s)
    })
}

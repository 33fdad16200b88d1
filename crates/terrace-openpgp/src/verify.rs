//! Verifies that a key made a signature over some data (`PublicKey.VerifySignature`).

use super::public_key::{Material, PublicKey, algorithm};
use super::signature::{Signature, Values};

use terrace_signature::Hash;

/// A reason why a signature is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VerificationError {
    /// The signature has another algorithm than the key.
    Algorithm { key: u8, signature: u8 },
    /// The numbers do not match.
    Wrong,
    /// Clients can verify the signature, but this crate cannot.
    Unverifiable(&'static str),
}

/// Checks `signature`, made by `key` over the concatenation of `parts`.
pub(super) fn verify(
    key: &PublicKey,
    signature: &Signature,
    parts: &[&[u8]],
) -> Result<(), VerificationError> {
    let hash = signature.hash;
    let hash = hash.ok_or(VerificationError::Unverifiable("SHA-3"))?;
    let digest = digest(signature, hash, parts);
    // Clients do not check the tag of version 4 signatures.
    if signature.version == 6 && !digest.starts_with(&signature.hash_tag) {
        return Err(VerificationError::Wrong);
    }
    if key.algorithm != signature.algorithm {
        return Err(VerificationError::Algorithm {
            key: key.algorithm,
            signature: signature.algorithm,
        });
    }
    if fits(key, signature, hash, &digest)? {
        Ok(())
    } else {
        Err(VerificationError::Wrong)
    }
}

fn fits(
    key: &PublicKey,
    signature: &Signature,
    hash: Hash,
    digest: &[u8],
) -> Result<bool, VerificationError> {
    use terrace_signature::{dsa, ecdsa, ed25519, ed25519_signature, rsa};
    Ok(match (&key.material, &signature.values) {
        (Material::Unverifiable(name), _) => return Err(VerificationError::Unverifiable(name)),
        (Material::Rsa { n, e }, Values::One(s)) => rsa(n, e, hash, digest, s),
        (Material::Dsa { p, q, g, y }, Values::Two(r, s)) => dsa([p, q, g, y], digest, [r, s]),
        (Material::Ecdsa { curve, point }, Values::Two(r, s)) => ecdsa(*curve, point, digest, r, s),
        (Material::Ed25519(point), Values::One(raw)) if key.algorithm == algorithm::ED25519 => {
            <&[u8; 64]>::try_from(raw.as_slice()).is_ok_and(|raw| ed25519(point, digest, raw))
        }
        (Material::Ed25519(point), Values::Two(r, s)) => {
            ed25519_signature(r, s).is_some_and(|raw| ed25519(point, digest, &raw))
        }
        _ => false,
    })
}

/// Returns the digest of the signed data.
fn digest(signature: &Signature, hash: Hash, parts: &[&[u8]]) -> Vec<u8> {
    let (salt, suffix) = (signature.salt.as_slice(), signature.hash_suffix.as_slice());
    hash.digest(&[&[salt], parts, &[suffix]].concat())
}

//! Verification of signatures by their numbers, for OpenPGP and JSON Web Signatures alike. The callers decide which
//! digest is compared with which signature; this crate only decides whether they match a key.
//!
//! All inputs are public, so nothing needs to run in constant time. Without secret keys, RSA and DSA are two
//! formulas over big integers. The crates of these names would add secret keys, random numbers and DER, and
//! `dsa` takes four times as long.

mod hash;
#[cfg(test)]
#[path = "tests/wycheproof.rs"]
mod wycheproof;

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use p256::ecdsa::signature::hazmat::PrehashVerifier;

pub use hash::Hash;

/// The curves on which ECDSA signatures are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    /// NIST P-256.
    P256,
    /// NIST P-384.
    P384,
}

/// Returns the number without leading zero octets, which have no meaning.
pub fn trim(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

/// Returns the number in exactly `N` octets, if it fits.
fn pad<const N: usize>(number: &[u8]) -> Option<[u8; N]> {
    let number = trim(number);
    let mut padded = [0; N];
    let start = N.checked_sub(number.len())?;
    padded.get_mut(start..)?.copy_from_slice(number);
    Some(padded)
}

/// Returns the length of the number, in bits.
pub fn bits(number: &[u8]) -> u32 {
    let number = trim(number);
    let zeros = number.first().map_or(0, |byte| byte.leading_zeros());
    u32::try_from(number.len() * 8).map_or(u32::MAX, |bits| bits - zeros)
}

/// Verifies a PKCS #1 v1.5 signature (RFC 8017, section 8.2.2), with Go's requirements for the key
/// (`checkPublicKey`).
///
/// The expected message is built and compared as a whole, so there is no padding to parse.
pub fn rsa(n: &[u8], e: &[u8], hash: Hash, digest: &[u8], s: &[u8]) -> bool {
    rsa_message(n, e, s)
        .is_some_and(|message| expected_rsa_message(hash, digest, message.len()) == Some(message))
}

/// Returns `s^e mod n`, as long as the modulus.
fn rsa_message(n: &[u8], e: &[u8], s: &[u8]) -> Option<Vec<u8>> {
    let precision = bits(n).next_multiple_of(8);
    let length = usize::try_from(precision / 8).ok()?;
    // A signature may lack leading zeros, but must not be longer than the modulus.
    if s.len() > length {
        return None;
    }
    let (modulus, exponent) = (number(n, precision)?, number(e, 32)?);
    let base = number(s, precision)?;
    if bits(e) < 2 || e.last()? & 1 == 0 || base >= modulus {
        return None;
    }
    let modulus = Odd::new(modulus).into_option()?;
    let parameters = BoxedMontyParams::new_vartime(modulus);
    let message = BoxedMontyForm::new(base, &parameters)
        .pow(&exponent)
        .retrieve();
    let message = message.to_be_bytes();
    let start = message.len().checked_sub(length)?;
    message.get(start..).map(<[u8]>::to_vec)
}

/// Returns `00 01 ff … ff 00`, then the digest after the DER prefix of its hash function.
fn expected_rsa_message(hash: Hash, digest: &[u8], length: usize) -> Option<Vec<u8>> {
    let prefix = hash.digest_info_prefix();
    // At least the required eight octets, if the modulus has 128 octets or more.
    let padding = length.checked_sub(prefix.len() + digest.len() + 3)?;
    Some(
        [
            &[0, 1],
            vec![0xff; padding].as_slice(),
            &[0],
            prefix,
            digest,
        ]
        .concat(),
    )
}

/// Returns whether these are allowed sizes for DSA (FIPS 186-4, section 4.2).
pub fn is_dsa_size(p: &[u8], q: &[u8]) -> bool {
    matches!(
        (bits(p), bits(q)),
        (1024, 160) | (2048, 224 | 256) | (3072, 256)
    )
}

/// Verifies a DSA signature (FIPS 186-4, section 4.7).
pub fn dsa(key: [&[u8]; 4], digest: &[u8], signature: [&[u8]; 2]) -> bool {
    dsa_fits(key, digest, signature) == Some(true)
}

fn dsa_fits([p, q, g, y]: [&[u8]; 4], digest: &[u8], [r, s]: [&[u8]; 2]) -> Option<bool> {
    let (size, order) = (bits(p), bits(q));
    let modulus = Odd::new(number(p, size)?).into_option()?;
    let subgroup = Odd::new(number(q, order)?).into_option()?;
    let [g, y] = [number(g, size)?, number(y, size)?];
    let [r, s] = [number(r, order)?, number(s, order)?];
    let zero = BoxedUint::zero_with_precision(order);
    let in_subgroup = |number: &BoxedUint| *number > zero && *number < *subgroup;
    if g >= *modulus || y >= *modulus || !in_subgroup(&r) || !in_subgroup(&s) {
        return None;
    }
    let length = usize::try_from(order / 8).ok()?;
    let z = number(digest.get(..length).unwrap_or(digest), order)?;
    let z = z.rem_vartime(subgroup.as_nz_ref());
    let w = s.invert_odd_mod_vartime(&subgroup).into_option()?;

    let exponents = BoxedMontyParams::new_vartime(subgroup.clone());
    let w = BoxedMontyForm::new(w, &exponents);
    let u1 = (BoxedMontyForm::new(z, &exponents) * &w).retrieve();
    let u2 = (BoxedMontyForm::new(r.clone(), &exponents) * &w).retrieve();

    let powers = BoxedMontyParams::new_vartime(modulus);
    let power = |base, exponent| BoxedMontyForm::new(base, &powers).pow(exponent);
    let v = (power(g, &u1) * power(y, &u2)).retrieve();
    Some(v.rem_vartime(subgroup.as_nz_ref()) == r)
}

/// Returns the number with a precision of `size` bits, if it fits.
fn number(number: &[u8], size: u32) -> Option<BoxedUint> {
    BoxedUint::from_be_slice(trim(number), size).ok()
}

/// Returns whether Go's `elliptic.Unmarshal` accepts `point`: uncompressed and on the curve.
pub fn is_on_curve(curve: Curve, point: &[u8]) -> bool {
    point.first() == Some(&4)
        && match curve {
            Curve::P256 => p256::ecdsa::VerifyingKey::from_sec1_bytes(point).is_ok(),
            Curve::P384 => p384::ecdsa::VerifyingKey::from_sec1_bytes(point).is_ok(),
        }
}

/// Verifies an ECDSA signature (FIPS 186-5, section 6.4.2).
pub fn ecdsa(curve: Curve, point: &[u8], digest: &[u8], r: &[u8], s: &[u8]) -> bool {
    match curve {
        Curve::P256 => ecdsa_p256(point, digest, r, s),
        Curve::P384 => ecdsa_p384(point, digest, r, s),
    }
    .is_some()
}

fn ecdsa_p256(point: &[u8], digest: &[u8], r: &[u8], s: &[u8]) -> Option<()> {
    let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(point).ok()?;
    let (r, s) = (pad::<32>(r)?, pad::<32>(s)?);
    let signature = p256::ecdsa::Signature::from_scalars(r, s).ok()?;
    key.verify_prehash(digest, &signature).ok()
}

fn ecdsa_p384(point: &[u8], digest: &[u8], r: &[u8], s: &[u8]) -> Option<()> {
    let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(point).ok()?;
    let (r, s) = (pad::<48>(r)?, pad::<48>(s)?);
    let signature = p384::ecdsa::Signature::from_scalars(r, s).ok()?;
    key.verify_prehash(digest, &signature).ok()
}

/// Verifies an Ed25519 signature (RFC 8032). Weak keys, which would match anything, are rejected. The message
/// of an OpenPGP signature is a digest.
pub fn ed25519(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let signature = ed25519_dalek::Signature::from_bytes(signature);
    ed25519_dalek::VerifyingKey::from_bytes(key)
        .is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
}

/// Returns an EdDSA signature from two MPIs, which lack their leading zeros (`UnmarshalSignature` in
/// `internal/ecc/ed25519.go`).
pub fn ed25519_signature(r: &[u8], s: &[u8]) -> Option<[u8; 64]> {
    if r.len() > 32 || s.len() > 32 {
        return None;
    }
    let mut signature = [0; 64];
    let (first, second) = signature.split_at_mut(32);
    first.copy_from_slice(&pad::<32>(r)?);
    second.copy_from_slice(&pad::<32>(s)?);
    Some(signature)
}

//! Public keys and subkeys (RFC 9580, section 5.5.2), read as go-crypto's `packet/public_key.go`
//! reads them.

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::bytes::Bytes;
use super::limits;
use super::packet::PacketError;

use terrace_signature::Curve;

/// A primary key or a subkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PublicKey {
    pub(super) version: u8,
    /// The time of creation, in seconds since 1970.
    pub(super) created: u32,
    pub(super) algorithm: u8,
    pub(super) material: Material,
    pub(super) fingerprint: Vec<u8>,
    pub(super) key_id: u64,
    body: Vec<u8>,
}

/// The values that verify a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Material {
    Dsa {
        p: Vec<u8>,
        q: Vec<u8>,
        g: Vec<u8>,
        y: Vec<u8>,
    },
    Ecdsa {
        curve: Curve,
        point: Vec<u8>,
    },
    Ed25519([u8; 32]),
    /// A key that can only encrypt.
    Encryption,
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A key that clients can verify signatures with, but this crate cannot.
    Unverifiable(&'static str),
}

/// Algorithm numbers (RFC 9580, section 9.1).
pub(super) mod algorithm {
    pub(crate) const RSA: u8 = 1;
    pub(crate) const RSA_ENCRYPT: u8 = 2;
    pub(crate) const RSA_SIGN: u8 = 3;
    pub(crate) const ELGAMAL: u8 = 16;
    pub(crate) const DSA: u8 = 17;
    pub(crate) const ECDH: u8 = 18;
    pub(crate) const ECDSA: u8 = 19;
    pub(crate) const EDDSA_LEGACY: u8 = 22;
    pub(crate) const X25519: u8 = 25;
    pub(crate) const X448: u8 = 26;
    pub(crate) const ED25519: u8 = 27;
    pub(crate) const ED448: u8 = 28;

    /// Returns whether keys of this algorithm can sign (`PublicKeyAlgorithm.CanSign`).
    pub(crate) fn can_sign(algorithm: u8) -> bool {
        matches!(
            algorithm,
            RSA | RSA_SIGN | DSA | ECDSA | EDDSA_LEGACY | ED25519 | ED448
        )
    }

    /// Returns the common name of the algorithm.
    pub(crate) fn name(algorithm: u8) -> String {
        let name = match algorithm {
            RSA | RSA_ENCRYPT | RSA_SIGN => "RSA",
            ELGAMAL => "Elgamal",
            DSA => "DSA",
            ECDH => "ECDH",
            ECDSA => "ECDSA",
            EDDSA_LEGACY => "EdDSA",
            X25519 => "X25519",
            X448 => "X448",
            ED25519 => "Ed25519",
            ED448 => "Ed448",
            other => return format!("number {other}"),
        };
        name.to_owned()
    }
}

/// The object identifiers of the curves that clients support (`internal/ecc/curve_info.go`).
mod oid {
    pub(super) const P256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];
    pub(super) const P384: &[u8] = &[0x2B, 0x81, 0x04, 0x00, 0x22];
    pub(super) const P521: &[u8] = &[0x2B, 0x81, 0x04, 0x00, 0x23];
    pub(super) const SECP256K1: &[u8] = &[0x2B, 0x81, 0x04, 0x00, 0x0A];
    pub(super) const BRAINPOOL_P256: &[u8] =
        &[0x2B, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x07];
    pub(super) const BRAINPOOL_P384: &[u8] =
        &[0x2B, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x0B];
    pub(super) const BRAINPOOL_P512: &[u8] =
        &[0x2B, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x0D];
    pub(super) const CURVE25519: &[u8] =
        &[0x2B, 0x06, 0x01, 0x04, 0x01, 0x97, 0x55, 0x01, 0x05, 0x01];
    pub(super) const X448: &[u8] = &[0x2B, 0x65, 0x6F];
    pub(super) const ED25519: &[u8] = &[0x2B, 0x06, 0x01, 0x04, 0x01, 0xDA, 0x47, 0x0F, 0x01];
    pub(super) const ED448: &[u8] = &[0x2B, 0x65, 0x71];

    pub(super) const KNOWN: [&[u8]; 11] = [
        P256,
        P384,
        P521,
        SECP256K1,
        BRAINPOOL_P256,
        BRAINPOOL_P384,
        BRAINPOOL_P512,
        CURVE25519,
        X448,
        ED25519,
        ED448,
    ];
}

impl PublicKey {
    pub(super) fn parse(body: &[u8]) -> Result<Self, PacketError> {
        let mut bytes = Bytes::new(body);
        let (version, created, algorithm) = header(&mut bytes).ok_or_else(PacketError::cut_off)?;
        // go-crypto reads version 5 only when built with `-tags v5`, which no client is.
        if version != 4 && version != 6 {
            return Err(PacketError::Skipped(format!(
                "public key version {version} is not supported"
            )));
        }
        let declared = match version {
            6 => Some(bytes.u32().ok_or_else(PacketError::cut_off)?),
            _ => None,
        };
        let length = bytes.len();
        let material = material(version, algorithm, &mut bytes)?;
        if !bytes.is_empty() {
            return Err(PacketError::malformed(
                "bytes follow a public key within its packet",
            ));
        }
        // Go recomputes this length when it hashes the key.
        if declared.is_some_and(|declared| usize::try_from(declared) != Ok(length)) {
            return Err(PacketError::malformed("a public key has the wrong length"));
        }
        let (fingerprint, key_id) = fingerprint(version, body);
        Ok(Self {
            version,
            created,
            algorithm,
            material,
            fingerprint,
            key_id,
            body: body.to_vec(),
        })
    }

    /// Returns the bytes of the key that enter the hash of a signature over it (RFC 9580, section 5.2.4).
    pub(super) fn hashed(&self) -> Vec<u8> {
        hashed(self.version, &self.body)
    }
}

fn header(bytes: &mut Bytes<'_>) -> Option<(u8, u32, u8)> {
    Some((bytes.u8()?, bytes.u32()?, bytes.u8()?))
}

fn hashed(version: u8, body: &[u8]) -> Vec<u8> {
    // A packet cannot be longer than the input, which is limited, so saturation never happens.
    let mut hashed = if version == 6 {
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        [&[0x9B], length.to_be_bytes().as_slice()].concat()
    } else {
        let length = u16::try_from(body.len()).unwrap_or(u16::MAX);
        [&[0x99], length.to_be_bytes().as_slice()].concat()
    };
    hashed.extend_from_slice(body);
    hashed
}

/// Returns the fingerprint and the key ID, which is a part of it (RFC 9580, section 5.5.4).
fn fingerprint(version: u8, body: &[u8]) -> (Vec<u8>, u64) {
    let hashed = hashed(version, body);
    if version == 6 {
        let digest = Sha256::digest(&hashed);
        let key_id = Bytes::new(&digest).u64().unwrap_or_default();
        (digest.to_vec(), key_id)
    } else {
        let digest = Sha1::digest(&hashed);
        let mut bytes = Bytes::new(&digest);
        let key_id = bytes.take(12).and_then(|_| bytes.u64()).unwrap_or_default();
        (digest.to_vec(), key_id)
    }
}

fn material(version: u8, algorithm: u8, bytes: &mut Bytes<'_>) -> Result<Material, PacketError> {
    match algorithm {
        algorithm::RSA | algorithm::RSA_SIGN => rsa(bytes),
        algorithm::RSA_ENCRYPT => rsa(bytes).map(|_| Material::Encryption),
        algorithm::DSA => dsa(bytes).ok_or_else(PacketError::cut_off),
        algorithm::ELGAMAL => encryption(mpis::<3>(bytes).is_some()),
        algorithm::ECDSA => ecdsa(bytes),
        algorithm::ECDH => ecdh(version, bytes),
        algorithm::EDDSA_LEGACY => eddsa_legacy(version, bytes),
        algorithm::X25519 => encryption(bytes.take(32).is_some()),
        algorithm::X448 => encryption(bytes.take(56).is_some()),
        algorithm::ED25519 => bytes
            .array()
            .map(Material::Ed25519)
            .ok_or_else(PacketError::cut_off),
        algorithm::ED448 => bytes
            .take(57)
            .map(|_| Material::Unverifiable("Ed448"))
            .ok_or_else(PacketError::cut_off),
        other => Err(PacketError::Skipped(format!(
            "public key algorithm {other} is not supported by clients"
        ))),
    }
}

fn encryption(complete: bool) -> Result<Material, PacketError> {
    complete
        .then_some(Material::Encryption)
        .ok_or_else(PacketError::cut_off)
}

fn mpis<'a, const N: usize>(bytes: &mut Bytes<'a>) -> Option<[&'a [u8]; N]> {
    let mut values = [[].as_slice(); N];
    for value in &mut values {
        *value = bytes.mpi()?;
    }
    Some(values)
}

fn rsa(bytes: &mut Bytes<'_>) -> Result<Material, PacketError> {
    let [n, e] = mpis(bytes).ok_or_else(PacketError::cut_off)?;
    if e.len() > 3 {
        return Err(PacketError::Skipped(
            "clients do not support RSA exponents of more than 24 bits".to_owned(),
        ));
    }
    if !(limits::RSA_MIN_BITS..=limits::RSA_MAX_BITS).contains(&terrace_signature::bits(n)) {
        return Ok(Material::Unverifiable("RSA with an unsupported key size"));
    }
    Ok(Material::Rsa {
        n: n.to_vec(),
        e: e.to_vec(),
    })
}

fn dsa(bytes: &mut Bytes<'_>) -> Option<Material> {
    let [p, q, g, y] = mpis(bytes)?.map(<[u8]>::to_vec);
    if !terrace_signature::is_dsa_size(&p, &q) {
        return Some(Material::Unverifiable("DSA with an unsupported key size"));
    }
    Some(Material::Dsa { p, q, g, y })
}

fn curve_oid<'a>(bytes: &mut Bytes<'a>) -> Result<&'a [u8], PacketError> {
    let length = bytes.u8().ok_or_else(PacketError::cut_off)?;
    if length == 0 || length == 0xff {
        return Err(PacketError::Skipped(
            "the length of a curve identifier (OID) is reserved".to_owned(),
        ));
    }
    bytes
        .take(usize::from(length))
        .ok_or_else(PacketError::cut_off)
}

/// Returns whether the body of an elliptic-curve key names one of the oldest curves: P-256, P-384 and P-521.
pub(super) fn has_nist_curve(body: &[u8]) -> bool {
    let mut bytes = Bytes::new(body);
    let oid = header(&mut bytes).and_then(|_| curve_oid(&mut bytes).ok());
    oid.is_some_and(|oid| [oid::P256, oid::P384, oid::P521].contains(&oid))
}

fn unknown_curve() -> PacketError {
    PacketError::Skipped("clients do not support the curve, or not with this algorithm".to_owned())
}

fn ecdsa(bytes: &mut Bytes<'_>) -> Result<Material, PacketError> {
    let oid = curve_oid(bytes)?;
    if !oid::KNOWN.contains(&oid) {
        return Err(unknown_curve());
    }
    let point = bytes.mpi().ok_or_else(PacketError::cut_off)?;
    let curve = match oid {
        oid::P256 => Curve::P256,
        oid::P384 => Curve::P384,
        oid::P521 => return Ok(Material::Unverifiable("ECDSA on P-521")),
        oid::SECP256K1 => return Ok(Material::Unverifiable("ECDSA on secp256k1")),
        oid::BRAINPOOL_P256 | oid::BRAINPOOL_P384 | oid::BRAINPOOL_P512 => {
            return Ok(Material::Unverifiable("ECDSA on a Brainpool curve"));
        }
        _ => return Err(unknown_curve()),
    };
    if !terrace_signature::is_on_curve(curve, point) {
        return Err(PacketError::malformed(
            "the point of an ECDSA key is not on its curve",
        ));
    }
    Ok(Material::Ecdsa {
        curve,
        point: point.to_vec(),
    })
}

fn ecdh(version: u8, bytes: &mut Bytes<'_>) -> Result<Material, PacketError> {
    let oid = curve_oid(bytes)?;
    let point_length = match oid {
        oid::CURVE25519 | oid::ED25519 if version == 6 => {
            return Err(PacketError::malformed(
                "a version 6 key uses a legacy OID of Curve25519",
            ));
        }
        oid::CURVE25519 => Some(33),
        oid::X448 => Some(57),
        known if oid::KNOWN.contains(&known) => None,
        _ => return Err(unknown_curve()),
    };
    let point = bytes.mpi().ok_or_else(PacketError::cut_off)?;
    let parameters = curve_oid(bytes)?;
    if matches!(oid, oid::ED25519 | oid::ED448) {
        return Err(unknown_curve());
    }
    // The key derivation parameters: a reserved octet, the hash (RFC 9580, section 9.5) and the cipher
    // (section 9.3).
    match parameters {
        [1, 8..=12 | 14, 2 | 3 | 7..=9, ..] => {}
        _ => {
            return Err(PacketError::Skipped(
                "clients do not support these ECDH parameters".to_owned(),
            ));
        }
    }
    if point_length.is_some_and(|length| length != point.len()) {
        return Err(PacketError::malformed(
            "the point of an ECDH key has the wrong length",
        ));
    }
    Ok(Material::Encryption)
}

fn eddsa_legacy(version: u8, bytes: &mut Bytes<'_>) -> Result<Material, PacketError> {
    if version == 6 {
        return Err(PacketError::malformed(
            "a version 6 key uses the legacy EdDSA algorithm (22)",
        ));
    }
    let oid = curve_oid(bytes)?;
    if !matches!(oid, oid::ED25519 | oid::ED448) {
        return Err(unknown_curve());
    }
    let point = bytes.mpi().ok_or_else(PacketError::cut_off)?;
    let native = match point.split_first() {
        None => return Err(PacketError::malformed("an EdDSA key is empty")),
        Some((0x40, native)) => native,
        Some(_) => {
            return Err(PacketError::Skipped(
                "clients do not support this EdDSA point form".to_owned(),
            ));
        }
    };
    let wrong_length = || PacketError::malformed("an EdDSA key has the wrong length");
    if oid == oid::ED25519 {
        let native = native.try_into().map_err(|_| wrong_length())?;
        Ok(Material::Ed25519(native))
    } else if native.len() == 57 {
        Ok(Material::Unverifiable("Ed448"))
    } else {
        Err(wrong_length())
    }
}

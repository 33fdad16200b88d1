//! A public key of an issuer: a JSON Web Key (RFC 7517, section 4; RFC 7518, section 6; RFC 8037, section 2).

use serde_json::{Map, Value};

use super::jws::Algorithm;
use super::{limits, token};

use terrace_signature::Curve;

/// A key that verifies signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Jwk {
    id: Option<String>,
    /// The only algorithm that the key is used for, if it declares one.
    algorithm: Option<String>,
    pub(super) material: Material,
}

/// The numbers of a key, by the kind of its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Material {
    /// A point in its uncompressed form (SEC 1, section 2.3.3).
    Ec(Curve, Vec<u8>),
    Ed25519([u8; 32]),
    /// A modulus and an exponent, without leading zeros.
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

impl Jwk {
    /// Reads a key. `None` for a key that is not meant for signatures, and for one that cannot be used: both
    /// are skipped (RFC 7517, section 5).
    pub(super) fn parse(key: &Value) -> Option<Self> {
        let members = key.as_object()?;
        if !is_for_signatures(members) {
            return None;
        }
        Some(Self {
            id: optional_text(members, "kid")?,
            algorithm: optional_text(members, "alg")?,
            material: Material::parse(members)?,
        })
    }

    /// Returns whether a token with this algorithm and key ID may have been signed with this key.
    pub(super) fn fits(&self, algorithm: Algorithm, id: Option<&str>) -> bool {
        let is_meant = id.is_none() || self.id.as_deref() == id;
        let mut declared = self.algorithm.iter();
        is_meant
            && declared.all(|name| Algorithm::parse(name) == Some(algorithm))
            && algorithm.fits(&self.material)
    }
}

impl Material {
    fn parse(members: &Map<String, Value>) -> Option<Self> {
        let curve = || text(members, "crv");
        match text(members, "kty")? {
            "EC" => match curve()? {
                "P-256" => ec(members, Curve::P256, 32),
                "P-384" => ec(members, Curve::P384, 48),
                _ => None,
            },
            "OKP" if curve()? == "Ed25519" => {
                let key = number(members, "x")?.try_into().ok()?;
                Some(Self::Ed25519(key))
            }
            "RSA" => rsa(members),
            _ => None,
        }
    }
}

/// Reads a point with coordinates of exactly that many bytes (RFC 7518, section 6.2.1).
fn ec(members: &Map<String, Value>, curve: Curve, length: usize) -> Option<Material> {
    let (x, y) = (number(members, "x")?, number(members, "y")?);
    let point = [[4].as_slice(), &x, &y].concat();
    let is_point =
        x.len() == length && y.len() == length && terrace_signature::is_on_curve(curve, &point);
    is_point.then_some(Material::Ec(curve, point))
}

/// Reads a modulus of a size in use, and an exponent that `terrace_signature::rsa` accepts.
fn rsa(members: &Map<String, Value>) -> Option<Material> {
    let (n, e) = (number(members, "n")?, number(members, "e")?);
    let n = terrace_signature::trim(&n).to_vec();
    let size = limits::RSA_MIN_BITS..=limits::RSA_MAX_BITS;
    let is_odd = |number: &[u8]| number.last().is_some_and(|last| last & 1 == 1);
    let is_usable = size.contains(&terrace_signature::bits(&n))
        && is_odd(&n)
        && (2..=32).contains(&terrace_signature::bits(&e))
        && is_odd(&e);
    is_usable.then_some(Material::Rsa { n, e })
}

/// Checks the intended use (RFC 7517, sections 4.2 and 4.3).
fn is_for_signatures(members: &Map<String, Value>) -> bool {
    let is_used = members.get("use").is_none_or(|usage| usage == "sig");
    let may_verify = members.get("key_ops").is_none_or(|operations| {
        let operations = operations.as_array();
        operations.is_some_and(|all| all.iter().any(|operation| operation == "verify"))
    });
    is_used && may_verify
}

fn number(members: &Map<String, Value>, name: &str) -> Option<Vec<u8>> {
    token::decode(text(members, name)?)
}

fn text<'m>(members: &'m Map<String, Value>, name: &str) -> Option<&'m str> {
    members.get(name)?.as_str()
}

/// Returns `None` if the member is present but not a string.
fn optional_text(members: &Map<String, Value>, name: &str) -> Option<Option<String>> {
    match members.get(name) {
        None => Some(None),
        Some(value) => value.as_str().map(|text| Some(text.to_owned())),
    }
}

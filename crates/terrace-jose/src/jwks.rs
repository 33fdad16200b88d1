//! The public keys of an issuer: a JSON Web Key Set (RFC 7517, section 5).

use serde_json::Value;

use super::jwk::Jwk;
use super::jws::Algorithm;
use super::{IssuerUrl, Quoted, TokenError, json, limits};

/// The keys with which one issuer signs, together with that issuer: they never verify a token of another
/// issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerKeys {
    issuer: IssuerUrl,
    keys: Vec<Jwk>,
}

/// A reason why an issuer's keys cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// A document longer than the limit.
    #[error("the keys are {0} bytes long, but at most {max} are read", max = limits::KEYS_BYTES)]
    TooLong(usize),
    /// More keys than the limit.
    #[error("there are {0} keys, but at most {max} are read", max = limits::KEYS)]
    TooMany(usize),
    /// A document that is not JSON, or that has a duplicate member.
    #[error("the keys are not valid JSON: {0}")]
    Json(String),
    /// A document without a list of keys.
    #[error("there is no list named \"keys\"")]
    NoList,
    /// A document without a key that can verify tokens.
    #[error("none of the {0} keys can verify signatures")]
    NoneUsable(usize),
}

impl IssuerKeys {
    /// Reads the keys fetched from this issuer's `jwks_uri`. Keys that cannot be used are skipped.
    ///
    /// # Errors
    /// If no key can be used, or the document exceeds a limit.
    pub fn parse(issuer: &IssuerUrl, body: &[u8]) -> Result<Self, KeysError> {
        if body.len() > limits::KEYS_BYTES {
            return Err(KeysError::TooLong(body.len()));
        }
        let document = json::parse(body).map_err(KeysError::Json)?;
        let listed = document.get("keys").and_then(Value::as_array);
        let listed = listed.ok_or(KeysError::NoList)?;
        if listed.len() > limits::KEYS {
            return Err(KeysError::TooMany(listed.len()));
        }
        let keys: Vec<Jwk> = listed.iter().filter_map(Jwk::parse).collect();
        if keys.is_empty() {
            return Err(KeysError::NoneUsable(listed.len()));
        }
        let issuer = issuer.clone();
        Ok(Self { issuer, keys })
    }

    /// Returns the issuer that owns the keys.
    pub fn issuer(&self) -> &IssuerUrl {
        &self.issuer
    }

    /// Returns the only key that a token with this header can have been signed with.
    pub(super) fn choose(
        &self,
        algorithm: Algorithm,
        id: Option<&str>,
    ) -> Result<&Jwk, TokenError> {
        let mut fitting = self.keys.iter().filter(|key| key.fits(algorithm, id));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Ok(key),
            (Some(_), Some(_)) => Err(TokenError::AmbiguousKey {
                algorithm,
                key_id: id.map(Quoted::text),
            }),
            (None, _) => Err(TokenError::UnknownKey {
                algorithm,
                key_id: id.map(Quoted::text),
            }),
        }
    }
}

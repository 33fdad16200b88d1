//! The public keys of an issuer: a JSON Web Key Set (RFC 7517, section 5).

use serde_json::Value;

use super::jwk::Jwk;
use super::jws::Algorithm;
use super::{IssuerUrl, Quoted, TokenError, json, limits};

/// The keys with which one issuer signs, and whose they are: no token of another issuer is ever
/// verified with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerKeys {
    issuer: IssuerUrl,
    keys: Vec<Jwk>,
}

/// Why what an issuer gives as its keys is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// It is longer than the limit.
    #[error("the keys are {0} bytes long, at most {max} are read", max = limits::KEYS_BYTES)]
    TooLong(usize),
    /// There are more keys than the limit.
    #[error("there are {0} keys, at most {max} are read", max = limits::KEYS)]
    TooMany(usize),
    /// It is no JSON, or a member is there twice.
    #[error("the keys are no JSON that is read: {0}")]
    Json(String),
    /// It has no list of keys.
    #[error("there is no list named \"keys\"")]
    NoList,
    /// No key is one that tokens can be checked with.
    #[error("none of the {0} keys is one to check signatures with")]
    NoneUsable(usize),
}

impl IssuerKeys {
    /// Reads the keys that this issuer gives at its `jwks_uri`. Those that cannot be used are passed
    /// over.
    ///
    /// # Errors
    /// When there is none to use, or more than is ever read.
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

    /// Whose they are.
    pub fn issuer(&self) -> &IssuerUrl {
        &self.issuer
    }

    /// The one key that a token with this header can have been signed with.
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

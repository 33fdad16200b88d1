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

impl IssuerKeys {
    /// Reads the keys fetched from this issuer's `jwks_uri`. Keys that cannot be used are skipped.
    ///
    /// # Errors
    /// If no key can be used, or the document exceeds a limit.
    pub fn parse(issuer: &IssuerUrl, body: &[u8]) -> Result<Self, String> {
        let (bytes, max) = (body.len(), limits::KEYS_BYTES);
        if bytes > max {
            return Err(format!(
                "the keys are {bytes} bytes long, but at most {max} are read"
            ));
        }
        let document = json::parse(body);
        let document = document.map_err(|why| format!("the keys are not valid JSON: {why}"))?;
        let listed = document.get("keys").and_then(Value::as_array);
        let listed = listed.ok_or("there is no list named \"keys\"")?;
        let (count, max) = (listed.len(), limits::KEYS);
        if count > max {
            return Err(format!(
                "there are {count} keys, but at most {max} are read"
            ));
        }
        let keys: Vec<Jwk> = listed.iter().filter_map(Jwk::parse).collect();
        if keys.is_empty() {
            return Err(format!("none of the {count} keys can verify signatures"));
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
            (fitting, _) => {
                let count = fitting.map_or("no key", |_| "several keys");
                let id = id.map(|id| format!("the ID {}", Quoted::text(id)));
                let id = id.as_deref().unwrap_or("no ID");
                Err(TokenError::Key(format!(
                    "the issuer has {count} for {algorithm:?} with {id}"
                )))
            }
        }
    }
}

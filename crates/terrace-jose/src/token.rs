//! A token as it comes: a JSON Web Signature in its compact form (RFC 7515, section 7.1), whose
//! payload is a set of claims (RFC 7519).

use std::fmt;

use serde_json::{Map, Value};

use super::jws::Algorithm;
use super::{Claims, Expected, IssuerKeys, Quoted, TokenError, base64url, json, limits};

/// A token that was read and not verified. All that it is good for is to know whose keys to look for,
/// and to be verified with them.
pub struct UnverifiedToken<'t> {
    algorithm: Algorithm,
    key_id: Option<String>,
    claims: Map<String, Value>,
    signing_input: &'t str,
    signature: Vec<u8>,
}

impl<'t> UnverifiedToken<'t> {
    /// Reads a token.
    ///
    /// # Errors
    /// When it is none, or is signed in a way that is not allowed.
    pub fn parse(text: &'t str) -> Result<Self, TokenError> {
        if text.len() > limits::TOKEN_BYTES {
            return Err(TokenError::TooLong(text.len()));
        }
        let (signing_input, header, payload, signature) = parts(text).ok_or(
            TokenError::Malformed("it is not three parts with dots between"),
        )?;
        let header = object(header).ok_or(TokenError::Malformed(
            "its header is no JSON object with distinct members in base64url",
        ))?;
        let (algorithm, key_id) = read_header(&header)?;
        let claims = object(payload).ok_or(TokenError::Malformed(
            "its claims are no JSON object with distinct members in base64url",
        ))?;
        let signature = base64url::decode(signature)
            .ok_or(TokenError::Malformed("its signature is not in base64url"))?;
        Ok(Self {
            algorithm,
            key_id,
            claims,
            signing_input,
            signature,
        })
    }

    /// Who it says has issued it. Nothing says that this is true.
    pub fn claimed_issuer(&self) -> &str {
        let issuer = self.claims.get("iss").and_then(Value::as_str);
        issuer.unwrap_or_default()
    }

    /// Its claims, if the owner of these keys has issued it, for us, and it is good now.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn verify(&self, keys: &IssuerKeys, expected: &Expected<'_>) -> Result<Claims, TokenError> {
        if self.claimed_issuer() != keys.issuer().as_str() {
            let found = Quoted::value(self.claims.get("iss"));
            return Err(TokenError::Issuer(found));
        }
        let key = keys.choose(self.algorithm, self.key_id.as_deref())?;
        let message = self.signing_input.as_bytes();
        if !self
            .algorithm
            .verify(&key.material, message, &self.signature)
        {
            return Err(TokenError::Signature);
        }
        Claims::accept(keys.issuer(), &self.claims, expected)
    }
}

impl fmt::Debug for UnverifiedToken<'_> {
    /// Without what would open something.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnverifiedToken(..)")
    }
}

/// What is signed, and its two parts and the signature.
fn parts(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (signing_input, signature) = text.rsplit_once('.')?;
    let (header, payload) = signing_input.split_once('.')?;
    (!payload.contains('.')).then_some((signing_input, header, payload, signature))
}

fn object(part: &str) -> Option<Map<String, Value>> {
    json::parse_object(&base64url::decode(part)?)
}

/// The algorithm and the key's ID. Keys, certificates and URLs of such in a header (`jwk`, `x5c`,
/// `jku`, `x5u`) are never looked at: the issuer's keys are those that it publishes.
fn read_header(header: &Map<String, Value>) -> Result<(Algorithm, Option<String>), TokenError> {
    let named = header.get("alg").and_then(Value::as_str);
    let algorithm = named
        .and_then(Algorithm::parse)
        .ok_or_else(|| TokenError::Algorithm(Quoted::value(header.get("alg"))))?;
    if header.contains_key("crit") {
        return Err(TokenError::Critical);
    }
    match header.get("typ") {
        None => {}
        Some(Value::String(kind)) if is_token_type(kind) => {}
        kind => return Err(TokenError::Type(Quoted::value(kind))),
    }
    match header.get("kid") {
        None => Ok((algorithm, None)),
        Some(Value::String(id)) => Ok((algorithm, Some(id.clone()))),
        Some(_) => Err(TokenError::Malformed("its key ID is no text")),
    }
}

/// A media type without its `application/`, in either case (RFC 7519, section 5.1; RFC 9068, section
/// 2.1).
fn is_token_type(kind: &str) -> bool {
    kind.eq_ignore_ascii_case("JWT") || kind.eq_ignore_ascii_case("at+jwt")
}

//! A received token: a JSON Web Signature in its compact form (RFC 7515, section 7.1), with a set of claims
//! as payload (RFC 7519).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use terrace_base::time::UnixTime;

use super::jws::Algorithm;
use super::{Claims, IssuerKeys, Quoted, TokenError, json, limits};

/// A parsed but unverified token. It serves only to select the issuer's keys and to be verified with them.
pub struct UnverifiedToken<'t> {
    algorithm: Algorithm,
    key_id: Option<String>,
    claims: Map<String, Value>,
    signing_input: &'t str,
    signature: Vec<u8>,
}

impl<'t> UnverifiedToken<'t> {
    /// Parses a token.
    ///
    /// # Errors
    /// If the text is not a token, or is signed in a way that is not allowed.
    pub fn parse(text: &'t str) -> Result<Self, TokenError> {
        if text.len() > limits::TOKEN_BYTES {
            let (bytes, max) = (text.len(), limits::TOKEN_BYTES);
            return Err(TokenError::Token(format!(
                "it is {bytes} bytes long, but at most {max} are read"
            )));
        }
        let wrong = |what: &str| TokenError::Token(what.to_owned());
        let (signing_input, header, payload, signature) =
            parts(text).ok_or_else(|| wrong("it does not have three parts separated by dots"))?;
        let header = object(header).ok_or_else(|| {
            wrong("its header is not a JSON object with distinct members in base64url")
        })?;
        let (algorithm, key_id) = read_header(&header)?;
        let claims = object(payload).ok_or_else(|| {
            wrong("its claims are not a JSON object with distinct members in base64url")
        })?;
        let signature =
            decode(signature).ok_or_else(|| wrong("its signature is not in base64url"))?;
        Ok(Self {
            algorithm,
            key_id,
            claims,
            signing_input,
            signature,
        })
    }

    /// Returns the issuer that the token names, without any proof.
    pub fn claimed_issuer(&self) -> &str {
        let issuer = self.claims.get("iss").and_then(Value::as_str);
        issuer.unwrap_or_default()
    }

    /// Returns the claims, if the owner of these keys issued the token for one of these audiences, and it is valid now.
    ///
    /// # Errors
    /// The first fault of the token.
    pub fn verify(
        &self,
        keys: &IssuerKeys,
        audiences: &[&str],
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        if self.claimed_issuer() != keys.issuer().as_str() {
            let found = Quoted::value(self.claims.get("iss"));
            return Err(TokenError::issuer(&found));
        }
        let key = keys.choose(self.algorithm, self.key_id.as_deref())?;
        let message = self.signing_input.as_bytes();
        if !self
            .algorithm
            .verify(&key.material, message, &self.signature)
        {
            return Err(TokenError::Key("its signature is invalid".to_owned()));
        }
        Claims::accept(keys.issuer(), &self.claims, audiences, now)
    }

    /// Returns the provider's claims about a person, if this token answers the sign-in with this nonce, which the registry sent
    /// in its request (OpenID Connect Core, section 3.1.3.7). `client_id` is that of the registry at the provider, and the
    /// token's audience.
    ///
    /// # Errors
    /// The first fault of the token.
    pub fn verify_sign_in(
        &self,
        keys: &IssuerKeys,
        client_id: &str,
        nonce: &str,
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        let claims = self.verify(keys, &[client_id], now)?;
        claims.check_authorized_party(client_id)?;
        match !nonce.is_empty() && claims.text("nonce") == Some(nonce) {
            true => Ok(claims),
            false => Err(TokenError::Token(
                "its nonce does not match this sign-in".to_owned(),
            )),
        }
    }
}

impl fmt::Debug for UnverifiedToken<'_> {
    /// Omits the parts that could be used as a credential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnverifiedToken(..)")
    }
}

/// Returns the bytes if a text is their canonical base64url: without padding, white space or stray bits (RFC 7515, section 2).
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Returns the signed text, its two parts, and the signature.
fn parts(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (signing_input, signature) = text.rsplit_once('.')?;
    let (header, payload) = signing_input.split_once('.')?;
    (!payload.contains('.')).then_some((signing_input, header, payload, signature))
}

fn object(part: &str) -> Option<Map<String, Value>> {
    json::parse_object(&decode(part)?)
}

/// Returns the algorithm and the key's ID. Keys, certificates and their URLs in a header (`jwk`, `x5c`,
/// `jku`, `x5u`) are ignored: only keys that the issuer publishes count.
fn read_header(header: &Map<String, Value>) -> Result<(Algorithm, Option<String>), TokenError> {
    let named = header.get("alg").and_then(Value::as_str);
    let algorithm = named.and_then(Algorithm::parse).ok_or_else(|| {
        let found = Quoted::value(header.get("alg"));
        TokenError::Token(format!("its algorithm is {found}, which is not allowed"))
    })?;
    // It requires its reader to support an extension (RFC 7515, section 4.1.11).
    if header.contains_key("crit") {
        let why = r#"its header has "crit", but extensions are not supported"#;
        return Err(TokenError::Token(why.to_owned()));
    }
    match header.get("typ") {
        None => {}
        Some(Value::String(kind)) if is_token_type(kind) => {}
        kind => {
            let found = Quoted::value(kind);
            return Err(TokenError::Token(format!("its type is {found}, not JWT")));
        }
    }
    match header.get("kid") {
        None => Ok((algorithm, None)),
        Some(Value::String(id)) => Ok((algorithm, Some(id.clone()))),
        Some(_) => Err(TokenError::Token("its key ID is not a string".to_owned())),
    }
}

/// Accepts a media type without its `application/`, ignoring case (RFC 7519, section 5.1; RFC 9068, section
/// 2.1).
fn is_token_type(kind: &str) -> bool {
    kind.eq_ignore_ascii_case("JWT") || kind.eq_ignore_ascii_case("at+jwt")
}

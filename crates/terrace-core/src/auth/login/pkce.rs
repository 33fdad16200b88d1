//! Proof Key for Code Exchange (RFC 7636): a program redeems a code only with a secret of which it sent the hash before.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::Digest as _;
use subtle::ConstantTimeEq as _;
use terrace_base::percent::is_unreserved;

/// The hash of a secret that the client reveals last (RFC 7636, section 4.2, `S256`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge(String);

/// The secret of a [`Challenge`] (RFC 7636, section 4.1).
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier(String);

impl Challenge {
    /// Returns whether `verifier` is the secret of this challenge.
    pub fn is_of(&self, verifier: &Verifier) -> bool {
        let challenge = verifier.challenge();
        self.0.as_bytes().ct_eq(challenge.0.as_bytes()).into()
    }

    /// Returns the challenge as it is sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Verifier {
    /// Returns the challenge for this verifier, which is sent in advance.
    pub fn challenge(&self) -> Challenge {
        Challenge(URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(self.0.as_bytes())))
    }

    /// Returns the secret, to be sent to its recipient only.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Challenge {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let hash = URL_SAFE_NO_PAD.decode(text).ok();
        let is_hash = hash.is_some_and(|hash| hash.len() == 32);
        is_hash
            .then(|| Self(text.to_owned()))
            .ok_or("must be a SHA-256 in 43 characters of base64url")
    }
}

impl FromStr for Verifier {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let is_verifier = (43..=128).contains(&text.len()) && text.bytes().all(is_unreserved);
        is_verifier
            .then(|| Self(text.to_owned()))
            .ok_or("must be 43 to 128 letters, digits, -, ., _ and ~")
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

    #[test]
    fn only_the_verifier_itself_matches_its_challenge() {
        let challenge: Challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            .parse()
            .unwrap();
        assert!(challenge.is_of(&VERIFIER.parse().unwrap()));
        let other = VERIFIER.replace('d', "e");
        assert!(!challenge.is_of(&other.parse().unwrap()));
        assert!(!challenge.is_of(&challenge.as_str().parse().unwrap()));
        for text in ["", "short", &"x".repeat(129), &format!("{VERIFIER}+")] {
            assert!(text.parse::<Verifier>().is_err(), "{text}");
        }
        for text in [
            "",
            "w-cM",
            &format!("{challenge}A"),
            &challenge.as_str().replace("-cM", "-cN"),
        ] {
            assert!(text.parse::<Challenge>().is_err(), "{text}");
        }
        assert_eq!(
            format!("{:?}", Verifier("secret".to_owned())),
            "Verifier(…)"
        );
    }
}

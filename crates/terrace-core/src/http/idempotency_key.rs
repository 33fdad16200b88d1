//! The idempotency key of a request that creates something: a text that a client chooses and sends with each attempt, so
//! that a request can be repeated when its answer was lost
//! (<https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header>).

use std::fmt;
use std::str::FromStr;

use crate::limits;
use terrace_base::digest::Sha256;

/// The name of the header.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// An idempotency key, from which the ID of the created resource follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

/// The error for a text that is not an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the header Idempotency-Key must have from {min} to {max} letters, digits, dashes and underscores",
    min = limits::IDEMPOTENCY_KEY_CHARS.start(),
    max = limits::IDEMPOTENCY_KEY_CHARS.end()
)]
pub struct IdempotencyKeyError;

impl FromStr for IdempotencyKey {
    type Err = IdempotencyKeyError;

    fn from_str(text: &str) -> Result<Self, IdempotencyKeyError> {
        // Some clients send it as a quoted string, as the draft requires.
        let bare = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let key = bare.unwrap_or(text);
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        match limits::IDEMPOTENCY_KEY_CHARS.contains(&key.len()) && key.bytes().all(is_allowed) {
            true => Ok(Self(key.to_owned())),
            false => Err(IdempotencyKeyError),
        }
    }
}

impl IdempotencyKey {
    /// Returns the bytes of the ID that a request creates: the same for each attempt, and others for another caller. They do
    /// not depend on the body, so that a request with another body finds the object that the first one created.
    pub fn id(&self, caller: &str) -> [u8; 16] {
        // The key contains no line break, so no two pairs have the same text.
        let digest = Sha256::of(format!("{self}\n{caller}").as_bytes());
        let mut id = [0; 16];
        for (byte, of_digest) in id.iter_mut().zip(digest.as_bytes()) {
            *byte = *of_digest;
        }
        id
    }

    /// Returns the message to a client that sends the key with another body than before, when it created `made`.
    pub fn reused(&self, made: &str) -> String {
        format!(
            "the Idempotency-Key {self} was sent before with another body, and created {made}: send a new key with each new \
             request, and the same one only to repeat a request"
        )
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> IdempotencyKey {
        text.parse().unwrap()
    }

    #[test]
    fn a_key_has_letters_and_digits_within_its_limits() {
        for text in [
            "0123456789abcdef",
            "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"",
        ] {
            assert!(text.parse::<IdempotencyKey>().is_ok(), "{text}");
        }
        let long = "a".repeat(65);
        for text in [
            "",
            "0123456789abcde",
            &long,
            "0123456789abcde\n",
            "\"0123456789abcdef",
        ] {
            assert_eq!(
                text.parse::<IdempotencyKey>(),
                Err(IdempotencyKeyError),
                "{text}"
            );
        }
    }

    #[test]
    fn an_id_is_that_of_one_caller_and_one_key() {
        let id = key("0123456789abcdef").id("root");
        assert_eq!(key("\"0123456789abcdef\"").id("root"), id);
        for other in [
            key("0123456789abcdee").id("root"),
            key("0123456789abcdef").id("token 0123456789abcdef (ci)"),
        ] {
            assert_ne!(other, id);
        }
    }
}

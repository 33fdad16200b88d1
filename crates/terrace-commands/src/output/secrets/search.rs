//! Finding secrets in a text, and replacing them.

use std::borrow::Cow;

use terrace_core::auth::access;

use super::{HIDDEN_TOKEN, LEAST_BYTES};

/// The bytes of a known secret that are searched for, because a message may quote only its beginning.
const PART_BYTES: usize = 16;

/// A part of a text that is a secret, and its replacement.
pub(super) struct Hit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) by: &'static str,
}

/// Replaces everything that a search finds. The search starts again after each hit.
pub(super) fn replaced<'t>(
    text: Cow<'t, str>,
    search: impl Fn(&str) -> Option<Hit>,
) -> Cow<'t, str> {
    let mut hidden = String::new();
    let mut rest = &*text;
    while let Some(hit) = search(rest)
        && let (Some(before), Some(after)) = (rest.get(..hit.start), rest.get(hit.end..))
    {
        hidden.push_str(before);
        hidden.push_str(hit.by);
        rest = after;
    }
    if rest.len() == text.len() {
        return text;
    }
    hidden.push_str(rest);
    Cow::Owned(hidden)
}

/// Finds a known secret, or its beginning.
pub(super) fn known(text: &str, secret: &str) -> Option<Hit> {
    let part = secret.get(..PART_BYTES).unwrap_or(secret);
    let start = text.find(part)?;
    let found = text.get(start..).unwrap_or_default().bytes();
    let length = found
        .zip(secret.bytes())
        .take_while(|(one, other)| one == other);
    Some(Hit {
        start,
        end: start + length.count(),
        by: HIDDEN_TOKEN,
    })
}

/// Finds a guessed secret as a whole.
pub(super) fn guessed(text: &str, secret: &str) -> Option<Hit> {
    let start = text.find(secret)?;
    Some(Hit {
        start,
        end: start + secret.len(),
        by: HIDDEN_TOKEN,
    })
}

/// Finds a token of a registry: `terrace_{id}.{claims}.{mac}.{checksum}`.
pub(super) fn api_token(text: &str) -> Option<Hit> {
    let of_id = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    token(text, access::TOKEN_PREFIX, |rest| {
        run(rest, of_id) >= LEAST_BYTES
    })
}

/// Finds a JSON Web Token: `{header}.{claims}.{signature}`, where the header is a JSON object in base64url.
pub(super) fn json_web_token(text: &str) -> Option<Hit> {
    token(text, "eyJ", |rest| {
        let header = run(rest, |byte| of_token(byte) && byte != b'.');
        let claims = rest.get(header..).and_then(|rest| rest.strip_prefix('.'));
        claims.is_some_and(|claims| run(claims, of_token) >= LEAST_BYTES)
    })
}

/// Finds a token that starts with `prefix` and that `is_token` accepts.
fn token(text: &str, prefix: &str, is_token: impl Fn(&str) -> bool) -> Option<Hit> {
    let places = text.match_indices(prefix);
    let mut tokens = places.filter_map(|(start, prefix)| {
        let rest = text.get(start + prefix.len()..)?;
        is_token(rest).then(|| Hit {
            start,
            end: start + prefix.len() + run(rest, of_token),
            by: HIDDEN_TOKEN,
        })
    });
    tokens.next()
}

fn of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// Returns the number of leading bytes that `is_one` accepts.
fn run(text: &str, is_one: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|byte| is_one(*byte)).count()
}

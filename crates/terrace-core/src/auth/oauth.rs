//! The responses of the OAuth endpoints (RFC 6749, sections 5.1 and 5.2; RFC 8693, section 2.2).

use serde::Serialize;
use serde_json::json;

use crate::http::reply::{CachePolicy, Reply};

/// A response with a token. Clients keep the token and drop the rest (clients.md 7.7).
#[derive(Serialize)]
pub(super) struct GrantedToken<'a> {
    pub(super) access_token: &'a str,
    /// The type of a token that was exchanged for another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) issued_token_type: Option<&'a str>,
    pub(super) token_type: &'a str,
    pub(super) expires_in: u64,
    /// The granted scopes, if the client may have requested others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scope: Option<String>,
}

impl GrantedToken<'_> {
    /// Returns the response, with the only media type that OpenTofu accepts (clients.md 14.1).
    pub(super) fn reply<S>(&self) -> Reply<S> {
        Reply::json(
            200,
            CachePolicy::NoStore,
            terrace_base::json::to_string(self),
        )
    }
}

/// Returns the response with an error. Characters that a description may not contain are replaced.
pub(super) fn refusal<S>(status: u16, error: &str, description: &str) -> Reply<S> {
    let allowed = |c: char| match c {
        '"' => '\'',
        ' '..='~' if c != '\\' => c,
        _ => '?',
    };
    let description: String = description.chars().map(allowed).collect();
    let body = json!({ "error": error, "error_description": description });
    Reply::json(status, CachePolicy::NoStore, body.to_string())
}

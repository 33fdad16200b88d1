//! The error responses of the OAuth endpoints (RFC 6749, section 5.2; RFC 8693, section 2.2.2).

use serde::Serialize;

use crate::http::reply::{CachePolicy, Reply};
use terrace_base::json;

#[derive(Serialize)]
struct Body<'a> {
    error: &'a str,
    error_description: String,
}

/// Returns the response. Characters that a description may not contain are replaced.
pub(super) fn refusal<S>(status: u16, error: &str, description: &str) -> Reply<S> {
    let allowed = |c: char| match c {
        '"' => '\'',
        ' '..='~' if c != '\\' => c,
        _ => '?',
    };
    let body = Body {
        error,
        error_description: description.chars().map(allowed).collect(),
    };
    Reply::json(status, CachePolicy::NoStore, json::to_string(&body))
}

//! Errors of a token exchange, in OAuth's format (RFC 6749, section 5.2; RFC 8693, section 2.2.2).

use serde::Serialize;

use super::TRUSTED_PUBLISHERS;
use crate::auth::exchange::EXCHANGE_BYTES;
use crate::http::reply::{CachePolicy, Reply};
use terrace_base::json;

/// The reason why a job gets no token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeError {
    /// The request has another grant type.
    GrantType,
    /// The request is malformed.
    Malformed(String),
    /// The registry trusts no jobs.
    Off,
    /// A requested scope is invalid or not granted.
    Scope(String),
    /// The token is requested for another registry.
    Target,
    /// The body exceeds the limit.
    TooLarge,
    /// Too many untrusted jobs came from the same address.
    TooMany,
    /// The keys of the token's issuer are unavailable.
    Unavailable,
    /// The job's token is rejected. Only the log states the reason.
    Untrusted,
}

#[derive(Serialize)]
struct Body<'a> {
    error: &'a str,
    error_description: String,
}

impl ExchangeError {
    fn status(&self) -> u16 {
        match self {
            Self::Off => 404,
            Self::TooLarge => 413,
            Self::TooMany => 429,
            Self::Unavailable => 503,
            Self::GrantType
            | Self::Malformed(_)
            | Self::Scope(_)
            | Self::Target
            | Self::Untrusted => 400,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::GrantType => "unsupported_grant_type",
            Self::Scope(_) => "invalid_scope",
            Self::Target => "invalid_target",
            Self::TooMany | Self::Unavailable => "temporarily_unavailable",
            // RFC 8693 also covers a subject token that is "unacceptable based on policy".
            Self::Malformed(_) | Self::Off | Self::TooLarge | Self::Untrusted => "invalid_request",
        }
    }

    fn description(&self) -> String {
        match self {
            Self::GrantType => format!("grant_type must be {}", super::GRANT_TYPE),
            Self::Malformed(message) | Self::Scope(message) => message.clone(),
            Self::Off => format!(
                "trusted publishing is disabled: {TRUSTED_PUBLISHERS} is not set, and no rule is stored; set it, run `terrace trust add`, or publish with a token"
            ),
            Self::Target => {
                "audience and resource must be the origin of this registry, under which the request reached it"
                    .to_owned()
            }
            Self::TooLarge => {
                let limit = EXCHANGE_BYTES;
                format!("the body may be at most {limit} bytes long")
            }
            Self::TooMany => {
                "too many requests of untrusted jobs came from this address: wait a minute".to_owned()
            }
            Self::Unavailable => {
                "the issuer of this token does not respond: send the same request again in a few seconds".to_owned()
            }
            Self::Untrusted => {
                "no trusted-publishing rule matches this job, or its token is invalid: the registry's log states the reason, and `terrace trust list` lists the stored rules"
                    .to_owned()
            }
        }
    }

    /// Returns the response.
    pub fn reply<S>(&self) -> Reply<S> {
        let body = Body {
            error: self.code(),
            error_description: described(&self.description()),
        };
        let text = json::to_string(&body);
        let reply = Reply::json(self.status(), CachePolicy::NoStore, text);
        match self {
            Self::TooMany => reply.with("retry-after", "60"),
            Self::Unavailable => reply.with("retry-after", "5"),
            _ => reply,
        }
    }
}

/// Replaces the characters that an error description may not contain.
fn described(text: &str) -> String {
    let allowed = |c: char| match c {
        '"' => '\'',
        ' '..='~' if c != '\\' => c,
        _ => '?',
    };
    text.chars().map(allowed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_reported_in_the_format_of_oauth() {
        let scope = "a\u{202e}\"\\\n".parse::<crate::auth::access::Scope>();
        let scope = ExchangeError::Scope(scope.unwrap_err().to_string());
        for (error, status, code) in [
            (ExchangeError::GrantType, 400, "unsupported_grant_type"),
            (ExchangeError::Off, 404, "invalid_request"),
            (scope, 400, "invalid_scope"),
            (ExchangeError::Target, 400, "invalid_target"),
            (ExchangeError::TooMany, 429, "temporarily_unavailable"),
            (ExchangeError::Unavailable, 503, "temporarily_unavailable"),
            (ExchangeError::Untrusted, 400, "invalid_request"),
        ] {
            let reply: Reply<()> = error.reply();
            assert_eq!(reply.status, status);
            assert_eq!(reply.header("cache-control"), Some("no-store"));
            let crate::http::reply::Body::Text(text) = reply.body else {
                panic!("it has a body")
            };
            let body: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(body["error"], code);
            let description = body["error_description"].as_str().unwrap();
            let is_allowed = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
            assert!(description.chars().all(is_allowed), "{description}");
        }
    }
}

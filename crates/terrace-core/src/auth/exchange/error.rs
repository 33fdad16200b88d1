//! Errors of a token exchange, in OAuth's format (RFC 6749, section 5.2; RFC 8693, section 2.2.2).

use super::TRUSTED_PUBLISHERS;
use crate::auth::exchange::EXCHANGE_BYTES;
use crate::auth::oauth;
use crate::auth::parameter::ParameterError;
use crate::http::reply::Reply;

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

impl From<ParameterError> for ExchangeError {
    fn from(fault: ParameterError) -> Self {
        Self::Malformed(fault.to_string())
    }
}

impl ExchangeError {
    /// Returns the response.
    pub fn reply<S>(&self) -> Reply<S> {
        // RFC 8693 also covers a subject token that is "unacceptable based on policy".
        const INVALID: &str = "invalid_request";
        const LATER: &str = "temporarily_unavailable";
        let too_large = format!("the body may be at most {EXCHANGE_BYTES} bytes long");
        let grant_type = format!("grant_type must be {}", super::GRANT_TYPE);
        let off = format!(
            "trusted publishing is disabled: {TRUSTED_PUBLISHERS} is not set, and no rule is stored; set it, run `terrace trust add`, or publish with a token"
        );
        let (status, code, description) = match self {
            Self::GrantType => (400, "unsupported_grant_type", &*grant_type),
            Self::Malformed(message) => (400, INVALID, &**message),
            Self::Scope(message) => (400, "invalid_scope", &**message),
            Self::Off => (404, INVALID, &*off),
            Self::Target => (
                400,
                "invalid_target",
                "audience and resource must be the origin of this registry, under which the request reached it",
            ),
            Self::TooLarge => (413, INVALID, &*too_large),
            Self::TooMany => (
                429,
                LATER,
                "too many requests of untrusted jobs came from this address: wait a minute",
            ),
            Self::Unavailable => (
                503,
                LATER,
                "the issuer of this token does not respond: send the same request again in a few seconds",
            ),
            Self::Untrusted => (
                400,
                INVALID,
                "no trusted-publishing rule matches this job, or its token is invalid: the registry's log states the reason, and `terrace trust list` lists the stored rules",
            ),
        };
        let reply = oauth::refusal(status, code, description);
        match self {
            Self::TooMany => reply.with("retry-after", "60"),
            Self::Unavailable => reply.with("retry-after", "5"),
            _ => reply,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_reported_in_the_format_of_oauth() {
        let scope = "a\u{202e}\"\\\n".parse::<crate::auth::access::Scope>();
        let scope = ExchangeError::Scope(scope.unwrap_err());
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

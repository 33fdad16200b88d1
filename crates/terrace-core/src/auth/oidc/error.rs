//! The reasons why a token grants nothing.

use terrace_jose::TokenError;

use crate::auth::access::ScopeError;

/// The reason why a token grants nothing. It is for the log only, not for the sender of the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The token is not valid, or no rule has its issuer.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The token's lifetime exceeds the limit for jobs.
    #[error("its lifetime is {seconds} seconds, at most {limit} are allowed")]
    LivesTooLong {
        /// The seconds between its issue and its expiry.
        seconds: u64,
        /// The maximum lifetime in seconds.
        limit: u64,
    },
    /// The matching rules grant too many scopes together.
    #[error(transparent)]
    Scopes(ScopeError),
    /// There are no rules for sign-in.
    #[error("there is no rule for sign-in: set TERRACE_LOGIN_RULES, or run `terrace role add`")]
    NoRoles,
    /// The token is genuine, but no rule matches it. The text describes the rule that comes closest.
    #[error("no rule matches it: {0}")]
    NoRule(String),
}

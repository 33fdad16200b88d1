//! Every way in which a token opens nothing.

use terrace_jose::{Quoted, TokenError};

use crate::auth::access::ScopeError;

/// The reason why nothing is granted for a token, for the log. Whoever has presented the token is not told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The token is not to be believed, or its issuer is not one of the rules'.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The token is valid for longer than a token of a job needs to be.
    #[error("it lives for {seconds} seconds, at most {most} are allowed")]
    LivesTooLong {
        /// The seconds from its first moment to its last.
        seconds: u64,
        /// The limit.
        most: u64,
    },
    /// The rules that are for the token grant too much together.
    #[error(transparent)]
    Scopes(ScopeError),
    /// The token is genuine, and no rule is for it. This is what the rule that comes nearest asks for.
    #[error(
        "no rule is for it: in the nearest, rule {rule}, {claim} is {wanted}, and here {found}"
    )]
    NoRule {
        /// The place of that rule, from 1.
        rule: usize,
        /// The first claim that differs.
        claim: Quoted,
        /// What the rule asks for.
        wanted: Quoted,
        /// What the token says.
        found: Quoted,
    },
}

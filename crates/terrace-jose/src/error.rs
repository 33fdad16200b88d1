//! Reasons why a token is refused.

use terrace_base::time::UnixTime;

use super::Quoted;

/// A reason why a token is refused, for the log. It contains neither the token nor its signature. The parts
/// of a token that it contains are single claims, shortened and escaped. It does not identify the client that
/// presented the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The verdict could change with the issuer's current keys: it may have published one after its keys were read, renamed a
    /// key, or given an ID to a key that had none.
    #[error("{0}")]
    Key(String),
    /// No key makes the token acceptable.
    #[error("{0}")]
    Token(String),
}

impl TokenError {
    /// The error for a token of an issuer other than the expected one, or of one that is not trusted.
    pub fn issuer(found: &Quoted) -> Self {
        Self::Token(format!("its issuer is {found}, which is not trusted"))
    }

    /// The error for a token after its time of expiry.
    pub fn expired(expires: UnixTime, now: UnixTime) -> Self {
        Self::Token(format!("it expired at {expires}, and the time is {now}"))
    }
}

//! Reasons why a token is refused.

use super::jws::Algorithm;
use super::{Quoted, limits};
use terrace_base::time::UnixTime;

/// A reason why a token is refused, for the log. It contains neither the token nor its signature. The parts
/// of a token that it contains are single claims, shortened and escaped. It does not identify the client that
/// presented the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The token's algorithm and key ID match two keys.
    #[error("the issuer has several keys for {algorithm} with {}", key_name(.key_id.as_ref()))]
    AmbiguousKey {
        /// The token's algorithm.
        algorithm: Algorithm,
        /// The key ID in its header.
        key_id: Option<Quoted>,
    },
    /// A token signed with an algorithm that is not allowed, or not at all.
    #[error("its algorithm is {0}, which is not allowed")]
    Algorithm(Quoted),
    /// A token for another audience.
    #[error("its audience is {found}, not {wanted}")]
    Audience {
        /// The first audience of the token.
        found: Quoted,
        /// The first accepted audience.
        wanted: Quoted,
    },
    /// A token for this client that was issued to another party (OpenID Connect Core, section 3.1.3.7, items
    /// 4 and 5).
    #[error("it was issued to {0}, not to this registry")]
    AuthorizedParty(Quoted),
    /// A required claim is missing or malformed.
    #[error("its claim {name} is {found}, not {wanted}")]
    Claim {
        /// The name of the claim.
        name: &'static str,
        /// Its value.
        found: Quoted,
        /// The required form of the value.
        wanted: &'static str,
    },
    /// A header that requires its reader to support an extension (RFC 7515, section 4.1.11).
    #[error("its header has \"crit\", but extensions are not supported")]
    Critical,
    /// A token after its time of expiry.
    #[error("it expired at {expires}, and the time is {now}")]
    Expired {
        /// The time of expiry.
        expires: UnixTime,
        /// The current time.
        now: UnixTime,
    },
    /// A token with a time of issue in the future.
    #[error("it was issued at {issued}, and the time is {now}")]
    IssuedInFuture {
        /// The time of issue.
        issued: UnixTime,
        /// The current time.
        now: UnixTime,
    },
    /// A token of an issuer other than the expected one, or of one that is not trusted.
    #[error("its issuer is {0}, which is not trusted")]
    Issuer(Quoted),
    /// A text that is not a signed token in the compact form.
    #[error("{0}")]
    Malformed(&'static str),
    /// A token without a subject.
    #[error("its claim sub is missing, empty or not a string")]
    NoSubject,
    /// A token that answers another sign-in request.
    #[error("its nonce does not match this sign-in")]
    Nonce,
    /// A token before the start of its validity.
    #[error("it is not valid before {start}, and the time is {now}")]
    NotYet {
        /// The start of its validity.
        start: UnixTime,
        /// The current time.
        now: UnixTime,
    },
    /// A signature that the key did not make.
    #[error("its signature is invalid")]
    Signature,
    /// A token longer than the limit.
    #[error("it is {0} bytes long, but at most {max} are read", max = limits::TOKEN_BYTES)]
    TooLong(usize),
    /// A header with a type other than that of such tokens.
    #[error("its type is {0}, not JWT")]
    Type(Quoted),
    /// The issuer has no key with this ID, or none for this algorithm. It may have published one after its
    /// keys were read.
    #[error("the issuer has no key for {algorithm} with {}", key_name(.key_id.as_ref()))]
    UnknownKey {
        /// The token's algorithm.
        algorithm: Algorithm,
        /// The key ID in its header.
        key_id: Option<Quoted>,
    },
}

impl TokenError {
    /// Returns whether the verdict could change with the issuer's current keys.
    pub fn is_cured_by_newer_keys(&self) -> bool {
        // An issuer may also rename a key, or give an ID to a key that had none.
        matches!(
            self,
            Self::UnknownKey { .. } | Self::AmbiguousKey { .. } | Self::Signature
        )
    }
}

fn key_name(id: Option<&Quoted>) -> String {
    id.map_or_else(|| "no ID".to_owned(), |id| format!("the ID {id}"))
}

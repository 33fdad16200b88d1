//! Every way in which a token is refused.

use super::jws::Algorithm;
use super::{Quoted, limits};
use terrace_base::time::UnixTime;

/// Why a token is refused, for the log. Neither the token nor its signature is in it, and what it
/// shows of a token is a claim, short and escaped. Who has presented the token is not told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It has the kind of signature that is asked for, and two keys could have made it.
    #[error("the issuer has several keys for {algorithm} with {}", key_name(.key_id.as_ref()))]
    AmbiguousKey {
        /// Its algorithm.
        algorithm: Algorithm,
        /// The key that it names.
        key_id: Option<Quoted>,
    },
    /// It is signed in a way that is not allowed, or not at all.
    #[error("its algorithm is {0}, which is not allowed")]
    Algorithm(Quoted),
    /// It is not for us.
    #[error("its audience is {found}, not {wanted}")]
    Audience {
        /// The first that it is for.
        found: Quoted,
        /// The first that it should be for.
        wanted: Quoted,
    },
    /// It was issued to another party than the one that it is for (OpenID Connect Core, section
    /// 3.1.3.7, items 4 and 5).
    #[error("it was issued to {0}, not to us")]
    AuthorizedParty(Quoted),
    /// A claim that each token has is not there, or not what it must be.
    #[error("its claim {name} is {found}, not {wanted}")]
    Claim {
        /// Which.
        name: &'static str,
        /// What it is.
        found: Quoted,
        /// What it must be.
        wanted: &'static str,
    },
    /// It demands that its reader understand an extension (RFC 7515, section 4.1.11).
    #[error("its header has \"crit\": extensions are not known")]
    Critical,
    /// Its time is over.
    #[error("it expired at {expires}, and it is {now}")]
    Expired {
        /// When.
        expires: UnixTime,
        /// The time.
        now: UnixTime,
    },
    /// It says that it was issued later than now.
    #[error("it was issued at {issued}, and it is {now}")]
    IssuedInFuture {
        /// When.
        issued: UnixTime,
        /// The time.
        now: UnixTime,
    },
    /// Its issuer is not the one that is asked for, or not one that anybody trusts.
    #[error("its issuer is {0}, which is not trusted")]
    Issuer(Quoted),
    /// It is no signed token in the compact form.
    #[error("{0}")]
    Malformed(&'static str),
    /// It names nobody.
    #[error("its claim sub names nobody")]
    NoSubject,
    /// It does not answer the request that it is presented for.
    #[error("its nonce is not that of this sign-in")]
    Nonce,
    /// It is not good yet.
    #[error("it is not good before {start}, and it is {now}")]
    NotYet {
        /// From when.
        start: UnixTime,
        /// The time.
        now: UnixTime,
    },
    /// The key did not make this signature.
    #[error("its signature is wrong")]
    Signature,
    /// It is longer than the limit.
    #[error("it is {0} bytes long, at most {max} are read", max = limits::TOKEN_BYTES)]
    TooLong(usize),
    /// It says that it is something else than a token of this kind.
    #[error("its type is {0}, not JWT")]
    Type(Quoted),
    /// The issuer has no such key, or not for this algorithm. It may have got one since its keys
    /// were read.
    #[error("the issuer has no key for {algorithm} with {}", key_name(.key_id.as_ref()))]
    UnknownKey {
        /// Its algorithm.
        algorithm: Algorithm,
        /// The key that it names.
        key_id: Option<Quoted>,
    },
}

impl TokenError {
    /// Whether it could be otherwise with the keys that the issuer has now.
    pub fn is_cured_by_newer_keys(&self) -> bool {
        // An issuer may also give a key that it had another name, or one that had none.
        matches!(
            self,
            Self::UnknownKey { .. } | Self::AmbiguousKey { .. } | Self::Signature
        )
    }
}

fn key_name(id: Option<&Quoted>) -> String {
    id.map_or_else(|| "no ID".to_owned(), |id| format!("the ID {id}"))
}

//! The states of tokens, by the clock of this machine.

use std::time::Duration;

use terrace_base::time::UnixTime;
use terrace_core::api::admin::TokenAnswer;
use terrace_core::auth::access::IssuedUnder;

use crate::clock;

/// The state of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is accepted.
    Valid,
    /// It is accepted until it is revoked, because another token replaces it.
    Rotating,
    /// It has expired.
    Expired,
    /// It is revoked.
    Revoked,
    /// It was issued under an admin token that the registry no longer has.
    Invalid,
}

impl State {
    /// Returns the state of a token at a time.
    pub(super) fn of(token: &TokenAnswer, now: UnixTime) -> Self {
        let now = now.to_string();
        let is_past = |time: &Option<String>| time.as_ref().is_some_and(|time| *time <= now);
        if is_past(&token.revoked) {
            Self::Revoked
        } else if is_past(&token.expires) {
            Self::Expired
        } else if token.issued_under == Some(IssuedUnder::Earlier) {
            Self::Invalid
        } else if token.revoked.is_some() {
            Self::Rotating
        } else {
            Self::Valid
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Rotating => "rotating",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Invalid => "invalid",
        }
    }

    /// Returns whether the registry accepts the token.
    pub(super) fn is_accepted(self) -> bool {
        matches!(self, Self::Valid | Self::Rotating)
    }
}

/// Returns the time when a token ends or has ended, if it does. Times in RFC 3339 are in the order of their texts.
pub(super) fn end(token: &TokenAnswer) -> Option<&str> {
    let ends = [token.revoked.as_deref(), token.expires.as_deref()];
    ends.into_iter().flatten().min()
}

/// Returns whether a token that is accepted ends within a duration.
pub(super) fn ends_within(token: &TokenAnswer, duration: Duration, now: UnixTime) -> bool {
    let last = UnixTime(now.0.saturating_add(duration.as_secs())).to_string();
    State::of(token, now).is_accepted() && end(token).is_some_and(|end| *end <= *last)
}

/// Returns whether a time (RFC 3339) is in the future.
pub(super) fn is_later(time: &str) -> bool {
    *time > *clock::now().to_string()
}

/// Describes a new token in a line.
pub(super) fn described(token: &TokenAnswer) -> String {
    let until = match &token.expires {
        Some(expires) => format!("expires {expires}"),
        None => "does not expire".to_owned(),
    };
    let (id, name, scopes) = (&token.id, &token.name, token.scopes.join(" "));
    format!("{id}  {scopes}  {until}  {name}  by {}", token.created_by)
}

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
    let TokenAnswer {
        id,
        name,
        scopes,
        expires,
        created_by,
        ..
    } = token;
    let until = match expires {
        Some(expires) => format!("expires {expires}"),
        None => "does not expire".to_owned(),
    };
    format!(
        "{id}  {}  {until}  {name}  by {created_by}",
        scopes.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn token(expires: Option<u64>, revoked: Option<u64>) -> TokenAnswer {
        let time = |time: Option<u64>| time.map(|time| UnixTime(time).to_string());
        TokenAnswer {
            id: "0123456789abcdef".to_owned(),
            name: "Ann@acme.example".to_owned(),
            scopes: vec!["read".to_owned()],
            created: UnixTime(1_700_000_000).to_string(),
            created_by: "login as https://idp.example 17".to_owned(),
            expires: time(expires),
            revoked: time(revoked),
            successor: None,
            issued_under: None,
            resource: None,
            token: None,
            replaced: None,
        }
    }

    #[test]
    fn the_state_of_a_token_follows_from_its_times() {
        let (before, after) = (Some(NOW.0 - 1), Some(NOW.0 + 1));
        for (expires, revoked, state) in [
            (None, None, State::Valid),
            (after, None, State::Valid),
            (Some(NOW.0), None, State::Expired),
            (before, None, State::Expired),
            (after, before, State::Revoked),
            (before, before, State::Revoked),
            (after, after, State::Rotating),
            (before, after, State::Expired),
        ] {
            assert_eq!(State::of(&token(expires, revoked), NOW), state);
        }
    }

    #[test]
    fn a_token_of_an_earlier_admin_token_is_invalid() {
        for (issued_under, state) in [
            (IssuedUnder::Current, State::Valid),
            (IssuedUnder::Previous, State::Valid),
            (IssuedUnder::Earlier, State::Invalid),
        ] {
            let token = TokenAnswer {
                issued_under: Some(issued_under),
                ..token(None, None)
            };
            assert_eq!(State::of(&token, NOW), state);
        }
    }

    #[test]
    fn only_an_accepted_token_ends_within_a_duration() {
        let day = Duration::from_secs(24 * 3600);
        for (expires, revoked, ends) in [
            (None, None, false),
            (Some(NOW.0 + 24 * 3600), None, true),
            (Some(NOW.0 + 24 * 3600 + 1), None, false),
            (Some(NOW.0 + 48 * 3600), Some(NOW.0 + 60), true),
            (Some(NOW.0 - 1), None, false),
            (None, Some(NOW.0 - 1), false),
        ] {
            assert_eq!(ends_within(&token(expires, revoked), day, NOW), ends);
        }
    }
}

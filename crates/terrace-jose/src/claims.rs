//! The claims of a verified token (RFC 7519, section 4.1; OpenID Connect Core, section 2).

use serde_json::{Map, Value};

use super::{IssuerUrl, Quoted, TokenError, limits};
use terrace_base::time::UnixTime;

/// The claims of a token that is genuine, has an accepted audience, and is valid now. Verifying a token is
/// the only way to obtain them.
#[derive(Debug, Clone, PartialEq)]
pub struct Claims {
    issuer: IssuerUrl,
    subject: String,
    audiences: Vec<String>,
    issued: UnixTime,
    expires: UnixTime,
    members: Map<String, Value>,
}

impl Claims {
    /// Checks and returns the claims of a token that this issuer has signed.
    pub(super) fn accept(
        issuer: &IssuerUrl,
        members: &Map<String, Value>,
        accepted: &[&str],
        now: UnixTime,
    ) -> Result<Self, TokenError> {
        let audiences = audiences(members)?;
        check_audience(&audiences, accepted)?;
        let (issued, expires) = check_times(members, now)?;
        Ok(Self {
            issuer: issuer.clone(),
            subject: subject(members)?,
            audiences,
            issued,
            expires,
            members: members.clone(),
        })
    }

    /// Returns the issuer of the token.
    pub fn issuer(&self) -> &IssuerUrl {
        &self.issuer
    }

    /// Returns the subject, `sub`, which is unique within the issuer.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns whether the token is for this audience.
    pub fn is_for(&self, audience: &str) -> bool {
        self.audiences.iter().any(|all| all == audience)
    }

    /// Returns the time of issue.
    pub fn issued(&self) -> UnixTime {
        self.issued
    }

    /// Returns the time of expiry. Credentials derived from the token should expire then too.
    pub fn expires(&self) -> UnixTime {
        self.expires
    }

    /// Returns all claims.
    pub fn members(&self) -> &Map<String, Value> {
        &self.members
    }

    /// Returns the value of a claim.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.members.get(name)
    }

    /// Returns the value of a claim that is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    /// Refuses tokens issued to another client (OpenID Connect Core, section 3.1.3.7, items 3 to 5).
    pub(super) fn check_authorized_party(&self, client_id: &str) -> Result<(), TokenError> {
        let is_ours = match self.get("azp") {
            // A token with several audiences must have it.
            None => self.audiences.len() == 1,
            Some(party) => party == client_id,
        };
        is_ours.then_some(()).ok_or_else(|| {
            let party = Quoted::value(self.get("azp"));
            TokenError::Token(format!("it was issued to {party}, not to this registry"))
        })
    }
}

/// Reads a string or a list of strings (RFC 7519, section 4.1.3).
fn audiences(members: &Map<String, Value>) -> Result<Vec<String>, TokenError> {
    let texts = match members.get("aud") {
        Some(Value::String(one)) => Some(vec![one.clone()]),
        Some(Value::Array(list)) => list
            .iter()
            .map(|one| one.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    };
    texts.ok_or_else(|| wrong(members, "aud", "a string or a list of strings"))
}

fn check_audience(audiences: &[String], wanted: &[&str]) -> Result<(), TokenError> {
    let is_wanted = |audience: &String| wanted.contains(&audience.as_str());
    if audiences.iter().any(is_wanted) {
        return Ok(());
    }
    let found = audiences.first().map(|first| Value::from(first.as_str()));
    let found = Quoted::value(found.as_ref());
    let wanted = Quoted::text(wanted.first().copied().unwrap_or_default());
    Err(TokenError::Token(format!(
        "its audience is {found}, not {wanted}"
    )))
}

/// Returns the times of issue and expiry, if the token is valid now.
fn check_times(
    members: &Map<String, Value>,
    now: UnixTime,
) -> Result<(UnixTime, UnixTime), TokenError> {
    let latest_start = now.0.saturating_add(limits::LEEWAY_SECONDS);
    let expires = required_date(members, "exp")?;
    let issued = required_date(members, "iat")?;
    let start = date(members, "nbf")?.unwrap_or(issued);
    if now.0 >= expires.0.saturating_add(limits::LEEWAY_SECONDS) {
        return Err(TokenError::expired(expires, now));
    }
    if issued.0 > latest_start {
        let why = format!("it was issued at {issued}, and the time is {now}");
        return Err(TokenError::Token(why));
    }
    if start.0 > latest_start {
        let why = format!("it is not valid before {start}, and the time is {now}");
        return Err(TokenError::Token(why));
    }
    Ok((issued, expires))
}

fn required_date(members: &Map<String, Value>, name: &str) -> Result<UnixTime, TokenError> {
    date(members, name)?.ok_or_else(|| wrong(members, name, A_TIME))
}

const A_TIME: &str = "a whole number of seconds since 1970";

/// The end of the year 9999. Later dates are taken for mistakes, such as milliseconds.
const LAST_DATE: u64 = 253_402_300_799;

/// Reads a `NumericDate` (RFC 7519, section 2) of whole seconds. Some issuers write them as `1.0` or `1e9`.
fn date(members: &Map<String, Value>, name: &str) -> Result<Option<UnixTime>, TokenError> {
    let Some(value) = members.get(name) else {
        return Ok(None);
    };
    let seconds = value.as_u64().or_else(|| value.as_f64().and_then(whole));
    seconds
        .filter(|seconds| *seconds <= LAST_DATE)
        .map(|seconds| Some(UnixTime(seconds)))
        .ok_or_else(|| wrong(members, name, A_TIME))
}

fn whole(number: f64) -> Option<u64> {
    let last = LAST_DATE as f64;
    ((0.0..=last).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

fn subject(members: &Map<String, Value>) -> Result<String, TokenError> {
    let subject = members.get("sub").and_then(Value::as_str);
    let named = subject.filter(|subject| !subject.trim_ascii().is_empty());
    named.map(str::to_owned).ok_or_else(|| {
        TokenError::Token("its claim sub is missing, empty or not a string".to_owned())
    })
}

fn wrong(members: &Map<String, Value>, name: &str, wanted: &str) -> TokenError {
    let found = Quoted::value(members.get(name));
    TokenError::Token(format!("its claim {name} is {found}, not {wanted}"))
}

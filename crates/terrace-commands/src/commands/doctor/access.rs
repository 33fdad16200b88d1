//! Group A: who may do what.

use serde_json::Value;
use terrace_base::time::UnixTime;
use url::Url;

use super::outcome::{Outcome, days as days_in_words};
use super::target::{ABSENT, Target};
use crate::http::Ask;

/// The days before the expiry of a token from which on it is a warning.
const EXPIRY_DAYS: u64 = 7;

const DAY_SECONDS: u64 = 86_400;

/// A1
pub(super) fn refuses_writes(target: &Target) -> Outcome {
    target.refuses_writes()
}

/// A2
pub(super) fn hides(target: &Target) -> Outcome {
    let sample = match target.provider() {
        Ok(sample) => sample,
        Err(gap) => return gap.outcome("A2"),
    };
    if !target.has_token() {
        return Outcome::skip(&target.tokenless);
    }
    let url = &sample.url;
    let other = url.replace(&sample.address.to_string(), &format!("{ABSENT}/{ABSENT}"));
    let (hidden, missing) = match (
        target.probe.send(&Ask::get(url)),
        target.probe.send(&Ask::get(other)),
    ) {
        (Ok(hidden), Ok(missing)) => (hidden, missing),
        (Err(error), _) | (_, Err(error)) => return Outcome::skip(error),
    };
    if hidden.status == 200 {
        return Outcome::skip("the tried provider is public");
    }
    let headers = Target::different_headers(&hidden, &missing);
    let text = |body: &[u8]| {
        let text = String::from_utf8_lossy(body).into_owned();
        let named = text.replace(&sample.address.to_string(), "");
        named.replace(&format!("{ABSENT}/{ABSENT}"), "")
    };
    let is_same = hidden.status == missing.status && text(&hidden.body) == text(&missing.body);
    match (is_same, headers.as_slice()) {
        (true, []) => Outcome::pass(format!("{} for both", hidden.status)),
        (false, _) => Outcome::fail(
            format!(
                "{} for a private provider, and {} for none",
                hidden.status, missing.status
            ),
            "anyone can find out which private packages exist",
            "remove rules of a proxy that treat some paths differently",
        ),
        (true, headers) => Outcome::fail(
            format!("different headers: {}", headers.join(", ")),
            "anyone can find out which private packages exist",
            "remove rules of a proxy that treat some paths differently",
        ),
    }
}

/// A3
pub(super) fn offers_sign_in(target: &Target) -> Outcome {
    let discovery = match target.discovery() {
        Ok(discovery) => discovery,
        Err(gap) => return gap.outcome("A3"),
    };
    let Some(login) = discovery.document.get("login.v1") else {
        return Outcome::skip("no sign-in is offered");
    };
    match fault_of_login(login, &discovery.seen.url) {
        Ok(observed) => Outcome::pass(observed),
        Err(reason) => Outcome::fail(
            reason,
            "`terraform login` fails, or sends a code where it should not",
            "correct login.v1 in the discovery document, and list the redirect URL at the sign-in provider",
        ),
    }
}

fn fault_of_login(login: &Value, base: &str) -> Result<String, String> {
    let base = Url::parse(base).map_err(|error| error.to_string())?;
    let text = |name: &str| login.get(name).and_then(Value::as_str);
    for name in ["authz", "token"] {
        let url = text(name).ok_or_else(|| format!("login.v1 has no {name}"))?;
        let url = base.join(url).map_err(|_| format!("{name} is not a URL"))?;
        if base.scheme() == "https" && url.scheme() != "https" {
            return Err(format!("{name} is not https"));
        }
    }
    if text("client").is_none_or(str::is_empty) {
        return Err("login.v1 has no client".to_owned());
    }
    let grants = login.get("grant_types").and_then(Value::as_array);
    let has_code = grants.is_none_or(|it| it.iter().any(|grant| grant == "authz_code"));
    if !has_code {
        return Err("grant_types has no authz_code".to_owned());
    }
    let Some(ports) = login.get("ports") else {
        return Ok("any port".to_owned());
    };
    let numbers: Option<Vec<u64>> = ports
        .as_array()
        .and_then(|it| it.iter().map(Value::as_u64).collect());
    match numbers.as_deref() {
        Some([first, last]) if *first >= 1024 && first <= last && *last <= 65535 => {
            Ok(format!("ports {first} to {last}"))
        }
        _ => Err("ports is not a pair of numbers from 1024 to 65535".to_owned()),
    }
}

/// A4
pub(super) fn describes_token(target: &Target) -> Outcome {
    let token = match target.presented_token() {
        Ok(token) => token,
        Err(gap) => return gap.outcome("A4"),
    };
    let scopes = token.scopes.join(", ");
    let left = token.expires.as_deref().and_then(UnixTime::parse_utc);
    match left.map(|end| end.since(target.now) / DAY_SECONDS) {
        Some(days @ 0..EXPIRY_DAYS) => Outcome::warn(
            format!("{}: expires in {}", token.name, days_in_words(days)),
            "jobs that use it fail from then on",
            "`terrace token rotate`, or create another one",
        ),
        Some(days) => Outcome::pass(format!(
            "{}: {scopes}, {} left",
            token.name,
            days_in_words(days)
        )),
        None => Outcome::pass(format!("{}: {scopes}", token.name)),
    }
}

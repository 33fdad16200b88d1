//! Group A: who may do what.

use serde::de::IgnoredAny;
use serde_json::Value;
use terrace_base::time::UnixTime;
use ureq::http::Method;
use url::Url;

use super::outcome::{Outcome, days as days_in_words};
use super::target::{ABSENT, Target};
use crate::http::{Ask, Seen};

/// The days before the expiry of a token from which on it is a warning.
const EXPIRY_DAYS: u64 = 7;

const DAY_SECONDS: u64 = 86_400;

/// A token that no registry has issued.
const WRONG: &str = "Bearer terrace-doctor-wrong";

/// A1
pub(super) fn refuses_writes(target: &Target) -> Outcome {
    if let Some(skipped) = target.skipped_elsewhere() {
        return skipped;
    }
    // A description that no registry accepts, so that nothing is changed even if everyone may write.
    let publish = || Ask {
        body: Some("{}"),
        ..target
            .get(&format!("/admin/v1/providers/{ABSENT}/{ABSENT}/0.0.0"))
            .method(Method::PUT)
            .with("content-type", "application/json")
    };
    let requests = [
        ("a publish without a token", publish()),
        (
            "a publish with a wrong token",
            publish().with("authorization", WRONG),
        ),
        (
            "the audit log without a token",
            target.get("/admin/v1/audit"),
        ),
        (
            "the audit log with a wrong token",
            target.get("/admin/v1/audit").with("authorization", WRONG),
        ),
    ];
    let mut statuses = Vec::new();
    for (what, ask) in requests {
        match target.probe.send(&ask) {
            Ok(seen) if matches!(seen.status, 401 | 403 | 404 | 405) => statuses.push(seen.status),
            // A failure says nothing about who may write.
            Ok(seen) if seen.status >= 500 => {
                return match target.outage(&seen) {
                    Some(skipped) if !skipped.is_problem() => skipped,
                    _ => Outcome::skip(format!("{what}: status {}", seen.status)),
                };
            }
            Ok(seen) if !is_json(&seen) => return page(what, &seen),
            Ok(seen) => {
                return Outcome::fail(
                    format!("{what}: status {}", seen.status),
                    "something in front of the registry adds a token, or the registry accepts anyone",
                    "remove that, revoke the token (`terrace token revoke`), and read the log of `terrace admin audit`",
                );
            }
            Err(error) => return Outcome::skip(format!("{what}: {error}")),
        }
    }
    statuses.dedup();
    let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
    Outcome::pass(statuses.join(", "))
}

/// Returns whether the body of a response is JSON, as in all responses of the admin API.
pub(super) fn is_json(seen: &Seen) -> bool {
    serde_json::from_slice::<IgnoredAny>(&seen.body).is_ok()
}

/// Judges a response to a request of the admin API that does not come from the registry.
pub(super) fn page(what: &str, seen: &Seen) -> Outcome {
    let kind = match seen.media_type() {
        html if html.contains("html") => "a web page",
        _ => "a response that is not JSON",
    };
    Outcome::fail(
        format!("{what}: status {} with {kind}", seen.status),
        "a page is in front of /admin: a sign-in page, a captive portal or another program answers in place of the registry",
        "let /admin/ pass to the registry, which checks tokens itself, and exempt it from sign-in pages",
    )
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

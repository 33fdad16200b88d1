//! Group A: who may do what.

use serde_json::Value;
use terrace_base::time::UnixTime;
use url::Url;

use super::finding::{Finding, Judged};
use super::target::Target;
use crate::output::plural;

/// The days before the expiry of a token from which on it is a warning.
const EXPIRY_DAYS: u64 = 7;

const DAY_SECONDS: u64 = 86_400;

/// A1
pub(super) fn refuses_writes(target: &Target) -> Judged {
    target.refuses_writes().cloned()
}

/// A3
pub(super) fn offers_sign_in(target: &Target) -> Judged {
    let discovery = target.discovery()?;
    let login = discovery.document.get("login.v1");
    let login = login.ok_or_else(|| Finding::skip("no sign-in is offered"))?;
    fault_of_login(login, &discovery.seen.url).map_err(Finding::fail)
}

fn fault_of_login(login: &Value, base: &str) -> Result<String, String> {
    let base = Url::parse(base).map_err(|error| error.to_string())?;
    let text = |name: &str| login.get(name).and_then(Value::as_str);
    for name in ["authz", "token"] {
        let url = text(name).and_then(|url| base.join(url).ok());
        let url = url.ok_or_else(|| format!("login.v1 has no {name}"))?;
        if base.scheme() == "https" && url.scheme() != "https" {
            return Err(format!("{name} is not https"));
        }
    }
    if text("client").is_none_or(str::is_empty) {
        return Err("login.v1 has no client".to_owned());
    }
    let grants = login.get("grant_types").and_then(Value::as_array);
    if !grants.is_none_or(|it| it.iter().any(|grant| grant == "authz_code")) {
        return Err("grant_types has no authz_code".to_owned());
    }
    let Some(ports) = login.get("ports") else {
        return Ok("any port".to_owned());
    };
    match serde_json::from_value::<[u64; 2]>(ports.clone()) {
        Ok([first, last]) if first >= 1024 && first <= last && last <= 65535 => {
            Ok(format!("ports {first} to {last}"))
        }
        _ => Err("ports is not a pair of numbers from 1024 to 65535".to_owned()),
    }
}

/// A4
pub(super) fn describes_token(target: &Target) -> Judged {
    let token = target.presented()?;
    let (name, scopes) = (&token.name, token.scopes.join(", "));
    let end = token.expires.as_deref().and_then(UnixTime::parse_utc);
    match end.map(|end| end.since(target.now) / DAY_SECONDS) {
        Some(days @ 0..EXPIRY_DAYS) => {
            let left = plural(days + 1, "day");
            let finding = Finding::warn(format!("{name}: less than {left} left"));
            Err(finding.because(
                "jobs that use it fail from then on",
                "`terrace token rotate`, or create another one",
            ))
        }
        Some(days) => Ok(format!("{name}: {scopes}, {} left", plural(days, "day"))),
        None => Ok(format!("{name}: {scopes}")),
    }
}

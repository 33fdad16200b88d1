//! Groups T, S, C and W: the connection to the registry, discovery, the clocks, and what stands in front of it.

use terrace_base::time::UnixTime;
use url::Url;

use super::downloads::archives;
use super::finding::{Finding, Judged};
use super::target::{DISCOVERY, Target};
use crate::clock;
use crate::http::Seen;

/// The difference of two clocks that is no problem, in seconds. URLs are valid for minutes, and Google and S3 allow 15 of them.
const MOST_SECONDS: u64 = 60;

/// The user agents of clients.
const AGENTS: [&str; 6] = [
    "Terraform/1.13.4 (+https://www.terraform.io)",
    "OpenTofu/1.12.0 (+https://www.opentofu.org)",
    "Go-http-client/2.0",
    "Go-http-client/1.1",
    "curl/8.5.0",
    "python-requests/2.32.3",
];

/// T1
pub(super) fn reaches(target: &Target) -> Judged {
    match target.reached() {
        Ok(seen) if seen.status == 429 => {
            let finding = Finding::warn("status 429 for the first request");
            Err(finding.because(
                "a rate limit of the registry, a proxy or a firewall",
                "wait a minute and run the command again, or choose fewer checks with --only",
            ))
        }
        Ok(seen) => Ok(format!("status {}", seen.status)),
        Err(error) => Err(Finding::fail(error)),
    }
}

/// S1
pub(super) fn discovers(target: &Target) -> Judged {
    let discovery = target.discovery()?;
    let last = Url::parse(&discovery.seen.url).ok();
    let last = last.as_ref().and_then(Url::host_str);
    if last != target.base().url().host_str() {
        return Err(Finding::warn(format!(
            "redirected to {}, to which clients do not send the token of this host",
            last.unwrap_or_default()
        )));
    }
    let names: Vec<&str> = discovery.services().map(|(name, _)| name).collect();
    Ok(names.join(", "))
}

/// C1
pub(super) fn registry_clock(target: &Target) -> Judged {
    agrees(&target.probe.send(&target.get(DISCOVERY))?)
}

/// C2
pub(super) fn storage_clock(target: &Target) -> Judged {
    let archives = archives(target)?;
    match archives.iter().find(|archive| !target.has(&archive.url)) {
        Some(archive) => agrees(&archive.head(target)?),
        None => Err(Finding::skip("archives come from the registry itself")),
    }
}

/// Compares the clock of a server with that of this machine. Signed URLs, tokens and certificates depend on them.
fn agrees(seen: &Seen) -> Judged {
    let theirs = seen.header("date").and_then(http_date);
    let theirs = theirs.ok_or_else(|| Finding::skip("the response has no Date"))?;
    let ours = clock::now();
    let difference = theirs.0.abs_diff(ours.0);
    let word = if theirs > ours { "ahead" } else { "behind" };
    match difference <= MOST_SECONDS {
        true => Ok(format!("{difference} s")),
        false => Err(Finding::fail(format!(
            "the server's clock is {difference} s {word} of this machine's"
        ))),
    }
}

/// Parses a date as servers send it (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<UnixTime> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let words: Vec<&str> = text.split(' ').collect();
    let [_, day, month, year, time, "GMT"] = words[..] else {
        return None;
    };
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    UnixTime::parse_utc(&format!("{year}-{month:02}-{day}T{time}Z"))
}

/// W1
pub(super) fn treats_agents_alike(target: &Target) -> Judged {
    let expected = target.probe.send(&target.get(DISCOVERY))?;
    if is_challenge(&expected) {
        return Err(Finding::fail("a challenge for this command"));
    }
    for agent in AGENTS {
        let name = agent.split(['/', ' ']).next().unwrap_or_default();
        let ask = target.get(DISCOVERY).with("user-agent", agent);
        let seen = target.probe.send(&ask).map_err(Finding::unanswered)?;
        if seen.status != expected.status || is_challenge(&seen) {
            let status = seen.status;
            return Err(Finding::fail(format!("status {status} for {name}")));
        }
    }
    Ok(format!("{} user agents", AGENTS.len()))
}

/// Returns whether a response is the challenge of a firewall.
fn is_challenge(seen: &Seen) -> bool {
    seen.header("cf-mitigated").is_some()
}

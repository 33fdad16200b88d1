//! Groups T, S, C and W: the connection to the registry, discovery, the clocks, and what stands in front of it.

use terrace_base::time::UnixTime;
use url::Url;

use super::downloads::archives;
use super::finding::{Finding, Judged};
use super::target::{DISCOVERY, NO_REDIRECT, Target};
use crate::clock;
use crate::http::{ProbeError, Seen};

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

const FIREWALL: &str = "exempt the hostname from Browser Integrity Check, bot protection and managed challenges (a WAF rule that skips them)";

/// T1
pub(super) fn reaches(target: &Target) -> Judged {
    let curl = format!("`curl -v {}/healthz`", target.base());
    match target.reached() {
        Ok(seen) if seen.status == 429 => Err(Finding::warn(
            "status 429 for the first request",
            "a rate limit of the registry, of a proxy or of a firewall: other checks are skipped",
            "wait a minute and run the command again, or choose fewer checks with --only",
        )),
        Ok(seen) => Ok(format!("status {}", seen.status)),
        Err(ProbeError::Unreachable(text)) if text.contains("certificate") => Err(distrusted(text)),
        Err(error @ ProbeError::Foreign(protocol, _)) => Err(Finding::fail(
            error,
            format!(
                "it answers, but not with {protocol}: the scheme or the port of the URL is wrong, or another program listens there"
            ),
            format!("correct the scheme or the port of the URL, then {curl}"),
        )),
        Err(error) => Err(Finding::fail(
            error,
            "the name does not resolve, nothing listens there, a firewall drops the connection, or the server stalls",
            format!("check the URL, the network and the proxy settings (HTTPS_PROXY), then {curl}"),
        )),
    }
}

/// Explains why a certificate is not trusted, by the error of the TLS library.
fn distrusted(error: &str) -> Finding {
    let has = |part: &str| error.contains(part);
    let (cause, fix) = if has("certificate expired") || has("certificate not valid yet") {
        (
            "the certificate has expired or is not valid yet, or the clock of this machine is wrong",
            "renew the certificate",
        )
    } else if has("not valid for name") {
        (
            "the certificate is for other names",
            "issue one for this hostname; on Cloudflare, add the hostname as a custom domain",
        )
    } else if has("CaUsedAsEndEntity") {
        (
            "the certificate of the server is that of an authority (CA:TRUE)",
            "reissue it with basicConstraints=CA:FALSE",
        )
    } else {
        (
            "the chain is incomplete, or this machine does not know the authority: a private one, or a program that intercepts TLS",
            "configure the server with the full chain (fullchain.pem); for a private authority, set SSL_CERT_FILE to its \
             certificate, for terraform, tofu and this command",
        )
    };
    Finding::fail(error, cause, fix)
}

/// S1
pub(super) fn discovers(target: &Target) -> Judged {
    let discovery = target.discovery()?;
    let last = Url::parse(&discovery.seen.url).ok();
    let last = last.as_ref().and_then(Url::host_str);
    if last != target.base().url().host_str() {
        return Err(Finding::warn(
            format!("redirected to {}", last.unwrap_or_default()),
            "clients follow, but never send this host's token to the other one, and some tools do not follow",
            NO_REDIRECT,
        ));
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
    if difference <= MOST_SECONDS {
        return Ok(format!("{difference} s"));
    }
    Err(Finding::fail(
        format!("the server's clock is {difference} s {word} of this machine's"),
        "one of the clocks is wrong, so that URLs and tokens are expired early or not valid yet",
        "synchronise the clock of this machine, or that of the server, with NTP",
    ))
}

/// Parses a date as servers send it (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<UnixTime> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (_, text) = text.split_once(", ")?;
    let mut words = text.strip_suffix(" GMT")?.split(' ');
    let (day, month, year) = (words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let time = words.next()?;
    UnixTime::parse_utc(&format!("{year}-{month:02}-{day}T{time}Z"))
}

/// W1
pub(super) fn treats_agents_alike(target: &Target) -> Judged {
    let expected = target.probe.send(&target.get(DISCOVERY))?;
    if is_challenge(&expected) {
        return Err(blocked("this command", &expected));
    }
    for agent in AGENTS {
        let name = agent.split(['/', ' ']).next().unwrap_or_default();
        let ask = target.get(DISCOVERY).with("user-agent", agent);
        let seen = target.probe.send(&ask).map_err(|error| match error {
            ProbeError::Limited(_) => error.into(),
            error => Finding::fail(
                format!("{name}: {error}"),
                "a firewall drops the connections of this client",
                FIREWALL,
            ),
        })?;
        if seen.status != expected.status || is_challenge(&seen) {
            return Err(blocked(name, &seen));
        }
    }
    Ok(format!("{} user agents", AGENTS.len()))
}

/// Returns whether a response is the challenge or the refusal of a firewall.
fn is_challenge(seen: &Seen) -> bool {
    seen.header("cf-mitigated").is_some() || code(seen).is_some()
}

/// Returns the refusal that a firewall states.
fn code(seen: &Seen) -> Option<String> {
    let start = String::from_utf8_lossy(&seen.body);
    let start = start.trim_start();
    let code = start.chars().take(16).collect();
    start.starts_with("error code: 10").then_some(code)
}

fn blocked(who: &str, seen: &Seen) -> Finding {
    let mitigated = seen
        .header("cf-mitigated")
        .map(|it| format!("cf-mitigated {it}"));
    let what = mitigated.or_else(|| code(seen)).map(|it| format!(", {it}"));
    Finding::fail(
        format!(
            "status {} for {who}{}",
            seen.status,
            what.unwrap_or_default()
        ),
        "a firewall decides by the user agent, or shows a challenge that only browsers can pass",
        FIREWALL,
    )
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::time::Duration;

    use rustls::pki_types::{ServerName, UnixTime as Time};
    use rustls::{CertificateError, Error, OtherError};

    use super::*;

    #[test]
    fn the_cause_of_a_certificate_that_is_not_trusted_is_that_of_the_tls_library() {
        let [time, end] = [20, 10].map(|it| Time::since_unix_epoch(Duration::from_secs(it)));
        let other = OtherError(Arc::new(io::Error::other("CaUsedAsEndEntity")));
        for (error, cause) in [
            (
                CertificateError::ExpiredContext {
                    time,
                    not_after: end,
                },
                "expired",
            ),
            (
                CertificateError::NotValidYetContext {
                    time: end,
                    not_before: time,
                },
                "not valid yet",
            ),
            (
                CertificateError::NotValidForNameContext {
                    expected: ServerName::try_from("r.example.com").unwrap(),
                    presented: Vec::new(),
                },
                "other names",
            ),
            (CertificateError::Other(other), "CA:TRUE"),
            (CertificateError::UnknownIssuer, "the chain is incomplete"),
        ] {
            let error = io::Error::other(Error::InvalidCertificate(error));
            let error = ProbeError::from(ureq::Error::Io(error)).to_string();
            assert!(error.contains("certificate"), "{error}");
            let finding = distrusted(&error);
            assert!(finding.cause.contains(cause), "{finding:?}");
        }
    }

    #[test]
    fn the_date_of_a_response_is_read() {
        let date = http_date("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date, UnixTime::parse_utc("1994-11-06T08:49:37Z"));
        for text in [
            "",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "06 Nov 1994",
            "Sun, 06 Foo 1994 08:49:37 GMT",
        ] {
            assert_eq!(http_date(text), None, "{text}");
        }
    }
}

//! Group T: the connection to the registry.

use std::net::ToSocketAddrs as _;

use super::outcome::{Outcome, days as days_in_words};
use super::target::Target;
use crate::http::{
    Ask, Certificate, Presented, ProbeError, Seen, is_loopback, is_trusted, presented,
};
use crate::output::plural;

/// The days before the end of a certificate from which on it is a warning: those that renew themselves do so earlier.
const RENEWAL_DAYS: u64 = 14;

const DAY_SECONDS: u64 = 86_400;

/// T1
pub(super) fn reaches(target: &Target) -> Outcome {
    let (host, port) = (target.url_host(), target.base().port());
    match target.reached() {
        Ok(_) if is_limited(target) => Outcome::warn(
            "status 429 for the first request",
            "a rate limit of the registry, of a proxy or of a firewall: other checks are skipped",
            "wait a minute and run the command again, or choose fewer checks with --only",
        ),
        Ok(seen) => {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            let addresses = (bare, port).to_socket_addrs().map(Iterator::count);
            let addresses = match addresses {
                Ok(1) => "1 address, ".to_owned(),
                Ok(count) => format!("{count} addresses, "),
                Err(_) => String::new(),
            };
            Outcome::pass(format!("{addresses}status {}", seen.status))
        }
        // T2 explains it.
        Err(error) if is_of_certificate(error) => Outcome::skip_after("T2"),
        Err(error @ ProbeError::Foreign(protocol, _)) => Outcome::fail(
            error,
            format!(
                "it answers, but not with {protocol}: the scheme or the port of the URL is wrong, or another program \
                 listens there"
            ),
            format!(
                "correct the scheme or the port of the URL, then `curl -v {}/healthz`",
                target.url()
            ),
        ),
        Err(error) => Outcome::fail(
            error,
            "the name does not resolve, nothing listens there, a firewall drops the connection, or the server stalls",
            format!(
                "check the URL, the network and the proxy settings (L8), then `curl -v {}/healthz`",
                target.url()
            ),
        ),
    }
}

/// Returns whether the registry limits the rate of requests from the first one on.
pub(super) fn is_limited(target: &Target) -> bool {
    matches!(target.reached(), Ok(seen) if seen.status == 429)
}

fn is_of_certificate(error: &ProbeError) -> bool {
    matches!(error, ProbeError::Unreachable(text) if text.contains("certificate"))
}

/// Returns the handshake with the server, or why there is none to look at.
fn handshake(target: &Target) -> Result<Presented, Outcome> {
    if !target.base().is_https() {
        return Err(Outcome::skip("the URL is not https"));
    }
    presented(target.url_host(), target.base().port(), target.timeout)
        .map_err(|reason| Outcome::skip(format!("no direct TLS connection: {reason}")))
}

/// T2
pub(super) fn trusts(target: &Target) -> Outcome {
    if !target.base().is_https() {
        return Outcome::skip("the URL is not https");
    }
    let error = match target.reached() {
        Ok(_) => {
            let version = handshake(target).map(|it| it.version);
            return Outcome::pass(version.unwrap_or("through a proxy"));
        }
        Err(error) if is_of_certificate(error) => error,
        Err(_) => return Outcome::skip_after("T1"),
    };
    let Ok(shown) = handshake(target) else {
        return Outcome::fail(error, "the certificate is not valid", "renew it");
    };
    let chain = shown.chain.as_slice();
    let Some(own) = chain.first() else {
        return Outcome::fail(error, "the server sends no certificate", "configure one");
    };
    let text = error.to_string();
    if target.now > own.not_after || target.now < own.not_before {
        return Outcome::fail(
            format!("valid from {} to {}", own.not_before, own.not_after),
            "the certificate has expired or is not valid yet, or the clock of this machine is wrong",
            "renew the certificate",
        );
    }
    if text.contains("not valid for name") || text.contains("NotValidForName") {
        return Outcome::fail(
            text,
            format!(
                "the certificate is for other names than {}",
                target.url_host()
            ),
            "issue one for this hostname; on Cloudflare, add the hostname as a custom domain",
        );
    }
    if text.contains("CaUsedAsEndEntity") {
        return authority(own);
    }
    let is_whole = chain.last().is_some_and(|last| last.is_self_signed());
    let is_ordered = chain.windows(2).all(|pair| match pair {
        [one, next] => one.is_signed_by(next),
        _ => true,
    });
    if !own.is_self_signed() && (chain.len() == 1 || !is_ordered) {
        return Outcome::fail(
            format!(
                "{} sent, and not that of the authority that signed it",
                plural(chain.len(), "certificate")
            ),
            "the chain is incomplete: browsers fetch the missing certificate, Go programs do not, and report that the \
             registry does not support the service",
            "configure the server with the full chain (fullchain.pem), or set SSL_CERT_FILE where the authority is private",
        );
    }
    Outcome::fail(
        text,
        match is_whole {
            true => {
                "the certificate was signed by a private authority, or by a program that intercepts TLS"
            }
            false => "this machine does not know the authority that signed it",
        },
        "set SSL_CERT_FILE to the certificate of the authority, for terraform, tofu and this command",
    )
}

/// Judges a certificate of a server that is that of an authority.
fn authority(own: &Certificate) -> Outcome {
    let (cause, fix) = match is_trusted(own) {
        true => (
            "terraform and tofu accept it, this command does not: an authority must not be a server",
            "reissue it with basicConstraints=CA:FALSE",
        ),
        false => (
            "this machine does not know the certificate, and an authority must not be a server",
            "reissue it with basicConstraints=CA:FALSE, and set SSL_CERT_FILE to it, or to the authority that signs it",
        ),
    };
    let observed = "the certificate of the server is that of an authority (CA:TRUE)";
    Outcome::fail(observed, cause, fix)
}

/// T3
pub(super) fn lasts(target: &Target) -> Outcome {
    let shown = match handshake(target) {
        Ok(shown) => shown,
        Err(outcome) => return outcome,
    };
    let first = shown
        .chain
        .iter()
        .map(|certificate| certificate.not_after)
        .min();
    let Some(end) = first else {
        return Outcome::skip_after("T2");
    };
    if end < target.now {
        return Outcome::skip_after("T2");
    }
    let days = end.since(target.now) / DAY_SECONDS;
    let text = format!("{} left", days_in_words(days));
    match days {
        0..RENEWAL_DAYS => Outcome::warn(
            format!("it ends {end}, in {}", days_in_words(days)),
            "certificates are renewed earlier than this, so the renewal has probably failed",
            "renew the certificate, and look at the log of its renewal",
        ),
        _ => Outcome::pass(text),
    }
}

/// T4
pub(super) fn encrypts(target: &Target) -> Outcome {
    match target.base().is_https() {
        true => Outcome::pass(""),
        false if is_loopback(target.base().url()) => Outcome::skip("plain HTTP on this machine"),
        false => Outcome::fail(
            "the URL is plain http",
            "terraform and tofu request discovery over TLS only, and others can read tokens in transit",
            "serve the registry over https, and give that URL",
        ),
    }
}

/// T5
pub(super) fn redirects(target: &Target) -> Outcome {
    if !target.base().is_https() || target.base().port() != 443 {
        return Outcome::skip("not https on port 443");
    }
    let secure = match target.reached() {
        Ok(seen) => Some(seen),
        Err(error) if is_of_certificate(error) => None,
        // A host that does not answer says nothing about port 80.
        Err(_) => return Outcome::skip_after("T1"),
    };
    let plain = format!("http://{}/", target.url_host());
    let is_strict = secure.map(|seen| seen.header("strict-transport-security").is_some());
    judge_plain(target.probe.look(&Ask::get(plain)), is_strict)
}

/// Judges the response at port 80. `is_strict` states whether browsers avoid that port once they have seen the
/// registry, if it is known.
fn judge_plain(answer: Result<Seen, ProbeError>, is_strict: Option<bool>) -> Outcome {
    let hsts = match is_strict {
        Some(true) => ", with HSTS",
        Some(false) => ", without HSTS",
        None => "",
    };
    match answer {
        Err(error @ ProbeError::Limited(_)) => Outcome::skip(error),
        Err(_) => Outcome::pass(format!("port 80 does not answer{hsts}")),
        Ok(seen) if seen.redirect().is_some_and(|to| to.starts_with("https://")) => {
            Outcome::pass(format!("port 80 redirects{hsts}"))
        }
        Ok(seen) if seen.status >= 400 => {
            Outcome::pass(format!("port 80 answers {}{hsts}", seen.status))
        }
        Ok(seen) => Outcome::warn(
            format!(
                "http://… answers {} and does not redirect to https{hsts}",
                seen.status
            ),
            "a token that is sent there by mistake can be read in transit",
            "redirect it: on Cloudflare, turn on Always Use HTTPS for the zone",
        ),
    }
}

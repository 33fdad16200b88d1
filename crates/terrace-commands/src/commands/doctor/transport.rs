//! Group T: the connection to the registry.

use std::net::ToSocketAddrs as _;

use super::outcome::Outcome;
use super::target::Target;
use crate::http::ProbeError;

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
fn is_limited(target: &Target) -> bool {
    matches!(target.reached(), Ok(seen) if seen.status == 429)
}

fn is_of_certificate(error: &ProbeError) -> bool {
    matches!(error, ProbeError::Unreachable(text) if text.contains("certificate"))
}

/// T2
pub(super) fn trusts(target: &Target) -> Outcome {
    if !target.base().is_https() {
        return Outcome::skip("the URL is not https");
    }
    match target.reached() {
        Ok(_) => Outcome::pass(""),
        Err(error) if is_of_certificate(error) => distrusted(&error.to_string()),
        Err(_) => Outcome::skip_after("T1"),
    }
}

/// Explains why a certificate is not trusted, by the error of the TLS library.
fn distrusted(error: &str) -> Outcome {
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
    Outcome::fail(error, cause, fix)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::time::Duration;

    use rustls::pki_types::{ServerName, UnixTime};
    use rustls::{CertificateError, Error, OtherError};

    use super::*;

    #[test]
    fn the_cause_of_a_certificate_that_is_not_trusted_is_that_of_the_tls_library() {
        let [time, end] = [20, 10].map(|it| UnixTime::since_unix_epoch(Duration::from_secs(it)));
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
            let error = ProbeError::from(ureq::Error::Io(error));
            assert!(is_of_certificate(&error), "{error}");
            let outcome = distrusted(&error.to_string());
            assert!(outcome.cause.contains(cause), "{outcome:?}");
        }
    }
}

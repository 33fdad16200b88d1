//! Group D: archives, downloaded as clients do it: without a token, from the URL that the registry names.
//!
//! These URLs are secrets as long as they are valid, so no finding contains more of them than the host.

use terrace_base::digest::Sha256;
use terrace_core::storage::failover::ServingBucket;
use terrace_core::storage::fallback;
use ureq::http::Method;
use url::Url;

use super::finding::{Finding, Judged};
use super::target::{Target, absolute};
use crate::http::{Ask, ProbeError, Seen, describe, header, is_loopback};
use crate::output::bytes;
use crate::upstream::{DownloadError, download};

/// The largest archive that is downloaded without --deep, in bytes: most providers are smaller.
const SHALLOW_BYTES: u64 = 64 * 1024 * 1024;

/// The time for an archive, as a multiple of the time for a request.
const ARCHIVE_TIMES: u32 = 6;

/// An archive that the registry offers.
pub(super) struct Offered {
    what: &'static str,
    pub(super) url: String,
    sha256: Option<Sha256>,
}

impl Offered {
    /// Returns the scheme, the host and the port of the URL.
    fn origin(&self) -> String {
        let url = Url::parse(&self.url).ok();
        url.map(|url| url.origin().ascii_serialization())
            .unwrap_or_default()
    }

    pub(super) fn head(&self, target: &Target) -> Result<Seen, ProbeError> {
        let ask = Ask::get(&self.url).method(Method::HEAD);
        target.probe.follow(&ask)
    }

    /// Returns the response to a GET request, of which only the first bytes are read.
    fn start(&self, target: &Target) -> Result<Seen, ProbeError> {
        target.probe.follow(&Ask::get(&self.url).most(1024))
    }

    /// Returns the response to a GET request that succeeds.
    fn started(&self, target: &Target) -> Judged<Seen> {
        match self.start(target) {
            Ok(seen) if seen.status == 200 => Ok(seen),
            Err(error @ ProbeError::Limited) => Err(error.into()),
            Ok(_) | Err(_) => Err(Finding::skip("D1 failed")),
        }
    }
}

/// Returns the archives of the packages that are tried.
pub(super) fn archives(target: &Target) -> Judged<Vec<Offered>> {
    let package = target.package().map(|sample| Offered {
        what: "provider",
        url: sample.zip.clone(),
        sha256: Some(sample.package.sha256),
    });
    let module = target.module_location().map(|(location, ..)| Offered {
        what: "module",
        url: absolute(&location.fetch),
        sha256: location.sha256,
    });
    match (package, module) {
        (Err(finding), Err(_)) => Err(finding),
        (package, module) => Ok(package.into_iter().chain(module).collect()),
    }
}

/// Makes a check of every archive. Returns the first problem, or all observations.
fn each(target: &Target, check: impl Fn(&Offered) -> Judged) -> Judged {
    let mut observed = Vec::new();
    let mut is_skipped = true;
    for offered in archives(target)? {
        match check(&offered) {
            Err(finding) if finding.is_problem() => return Err(finding),
            Err(finding) => observed.push(finding.observed),
            Ok(text) => {
                is_skipped = false;
                observed.push(text);
            }
        }
    }
    observed.dedup();
    let observed = observed.join("; ");
    match is_skipped {
        true => Err(Finding::skip(observed)),
        false => Ok(observed),
    }
}

/// D1
pub(super) fn opens(target: &Target) -> Judged {
    each(target, |offered| {
        let place = format!("{} from {}", offered.what, offered.origin());
        if is_misled(&target.base().origin(), &offered.url) {
            return Err(Finding::fail(format!(
                "{place}: the registry does not know the URL at which clients reach it"
            )));
        }
        let observed = match offered.start(target) {
            Ok(seen) if seen.status == 200 => return Ok(place),
            Err(error @ ProbeError::Limited) => return Err(error.into()),
            Err(error) => format!("{place}: {error}"),
            Ok(seen) => {
                if target.has(&offered.url) {
                    target.check_outage(&seen)?;
                }
                let text = String::from_utf8_lossy(&seen.body);
                let code = fallback::error_code(&text).map(|code| format!(" ({code})"));
                format!(
                    "{place}: status {}{}",
                    seen.status,
                    code.unwrap_or_default()
                )
            }
        };
        let finding = Finding::fail(observed);
        Err(match serves_second_bucket(target, &offered.url) {
            true => finding.because(
                "the second bucket serves downloads, and fails, has no copy of the archive, or refuses the URLs of the registry",
                "if the main bucket answers, run `terrace admin failover off --reason …`, and then `terrace admin replicate`; correct \
                 the TERRACE_S3_FALLBACK_… settings, or the rights of the key pair",
            ),
            false => finding,
        })
    })
}

/// Returns whether an archive's URL shows that the registry does not know its own: plain HTTP of a registry with TLS, or this machine
/// for one that is elsewhere.
fn is_misled(registry: &str, archive: &str) -> bool {
    let is_local = |url: &str| {
        let url = Url::parse(url).ok();
        url.is_some_and(|url| is_loopback(&url))
    };
    let is_downgraded = registry.starts_with("https://") && archive.starts_with("http://");
    is_downgraded || is_local(archive) && !is_local(registry)
}

/// Returns whether an archive comes from the second bucket, because that serves downloads at the moment.
fn serves_second_bucket(target: &Target, url: &str) -> bool {
    let state = target.second_bucket();
    let serves = state.is_some_and(|state| state.serving == ServingBucket::Fallback);
    serves && !target.has(url)
}

/// D2
pub(super) fn answers_head(target: &Target) -> Judged {
    each(target, |offered| {
        let what = offered.what;
        let start = offered.started(target)?;
        let seen = offered.head(target).map_err(Finding::unanswered)?;
        if seen.status != 200 {
            return Ok(format!("{what}: refused with {}", seen.status));
        }
        match [&seen, &start].map(|it| it.header("content-length")) {
            [None, _] => Ok(format!("{what}: no length")),
            [Some(length), Some(expected)] if length != expected => Err(Finding::fail(format!(
                "{what}: HEAD says {length} bytes, and GET {expected}"
            ))),
            [Some(_), _] => Ok(format!("{what}: the same length")),
        }
    })
}

/// D3
pub(super) fn keeps_bytes(target: &Target) -> Judged {
    each(target, |offered| {
        let what = offered.what;
        let promised = offered.sha256;
        let promised =
            promised.ok_or_else(|| Finding::skip(format!("{what}: no digest is promised")))?;
        let (sha256, size) = whole(target, offered)?;
        match sha256 == promised {
            true => Ok(format!("{what}: {}", bytes(size))),
            false => Err(Finding::fail(format!(
                "{what}: sha256 {sha256} instead of {promised}"
            ))),
        }
    })
}

/// Downloads a whole archive. Returns its digest and its size.
fn whole(target: &Target, offered: &Offered) -> Judged<(Sha256, u64)> {
    let what = offered.what;
    let seen = offered.started(target)?;
    let most = match target.is_deep {
        true => terrace_core::limits::ARCHIVE_BYTES,
        false => SHALLOW_BYTES,
    };
    let timeout = target.timeout.saturating_mul(ARCHIVE_TIMES);
    let response = target.probe.open(&Ask::get(&seen.url), timeout);
    let response = response.map_err(|error| Finding::skip(format!("{what}: {error}")))?;
    let length = header(response.headers(), "content-length").and_then(|it| it.parse().ok());
    let large =
        |size: &str| Finding::skip(format!("{what}: {size} are downloaded with --deep only"));
    if let Some(length) = length.filter(|length| *length > most) {
        return Err(large(&bytes(length)));
    }
    let body = response.into_body().into_reader();
    download(body, most, &mut std::io::sink(), |_| {}).map_err(|error| match error {
        DownloadError::TooLong => large(&format!("more than {}", bytes(most))),
        DownloadError::Local(error) => Finding::skip(format!("a temporary file: {error}")),
        DownloadError::Remote(error) => Finding::fail(format!(
            "{what}: {}, or it took more than {} s",
            describe(&ureq::Error::from(error)),
            timeout.as_secs()
        ))
        .because(
            "the download broke off, or took too long",
            "give a longer --timeout; otherwise look for a proxy that limits the size or the time of responses",
        ),
    })
}

#[cfg(test)]
#[test]
fn an_archive_at_a_plain_or_local_url_shows_a_proxy_that_is_not_understood() {
    let registry = "https://registry.example.com";
    for (registry, archive, expected) in [
        (registry, "http://registry.example.com/a", true),
        (registry, "https://127.0.0.1:8841/a", true),
        (
            registry,
            "https://account.r2.cloudflarestorage.com/a",
            false,
        ),
        ("http://127.0.0.1:8787", "http://localhost:9000/a", false),
    ] {
        assert_eq!(is_misled(registry, archive), expected, "{archive}");
    }
}

//! Group D: archives, downloaded as clients do it: without a token, from the URL that the registry names.
//!
//! These URLs are secrets as long as they are valid, so no outcome contains more of them than the host.

use std::io::Read as _;

use terrace_archive::ArchiveFormat;
use terrace_base::digest::Sha256;
use terrace_core::http::guard::is_loopback;
use terrace_core::storage::failover::ServingBucket;
use terrace_core::storage::fallback;
use ureq::http::Method;
use url::Url;

use super::outcome::Outcome;
use super::target::{Target, absolute};
use crate::archive::{Archive, Source};
use crate::http::{Ask, ProbeError, Seen, describe, header};
use crate::output::bytes;
use crate::upstream::{DownloadError, download};

/// The largest archive that is downloaded without --deep, in bytes: most providers are smaller.
const SHALLOW_BYTES: u64 = 64 * 1024 * 1024;

/// The time for an archive, as a multiple of the time for a request.
const ARCHIVE_TIMES: u32 = 6;

/// An archive that the registry offers.
pub(super) struct Offered {
    what: &'static str,
    url: String,
    sha256: Option<Sha256>,
    format: Option<ArchiveFormat>,
}

impl Offered {
    fn host(&self) -> String {
        let url = Url::parse(&self.url).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        host.to_owned()
    }

    fn origin(&self) -> String {
        let url = Url::parse(&self.url).ok();
        url.map_or(String::new(), |url| url.origin().ascii_serialization())
    }

    /// Returns whether the registry's own host serves the archive.
    pub(super) fn is_own(&self, target: &Target) -> bool {
        is_of_registry(target, &self.url)
    }

    pub(super) fn head(&self, target: &Target) -> Result<Seen, ProbeError> {
        let ask = Ask::get(&self.url).method(Method::HEAD);
        Ok(target.probe.follow(&ask)?.0)
    }

    /// Returns the response to a GET request, of which only the first bytes are read.
    fn start(&self, target: &Target) -> Result<Seen, ProbeError> {
        let ask = Ask::get(&self.url).most(1024);
        Ok(target.probe.follow(&ask)?.0)
    }

    /// Returns the response to a GET request that succeeds.
    ///
    /// # Errors
    /// The outcome of a check that needs it.
    fn started(&self, target: &Target) -> Result<Seen, Outcome> {
        match self.start(target) {
            Ok(seen) if seen.status == 200 => Ok(seen),
            Err(error @ ProbeError::Limited(_)) => Err(Outcome::skip(error)),
            Ok(_) | Err(_) => Err(Outcome::skip_after("D1")),
        }
    }
}

/// Returns the archives of the packages that are tried.
///
/// # Errors
/// The outcome of a check that needs one.
pub(super) fn archives(target: &Target) -> Result<Vec<Offered>, Outcome> {
    let mut archives = Vec::new();
    let package = target.package();
    if let Ok(sample) = package {
        archives.push(Offered {
            what: "provider",
            url: sample.zip.clone(),
            sha256: Some(sample.package.sha256),
            format: Some(ArchiveFormat::Zip),
        });
    }
    if let Ok((location, ..)) = target.module_location() {
        archives.push(Offered {
            what: "module",
            url: absolute(&location.fetch),
            sha256: location.sha256,
            format: location.format,
        });
    }
    match (archives.is_empty(), package) {
        (false, _) => Ok(archives),
        (true, Err(gap)) => Err(gap.outcome("D")),
        (true, Ok(_)) => Err(Outcome::skip("there is no archive to try")),
    }
}

/// Makes a check of every archive. Returns the first problem, or all observations.
fn each(target: &Target, check: impl Fn(&Offered) -> Outcome) -> Outcome {
    let archives = match archives(target) {
        Ok(archives) => archives,
        Err(outcome) => return outcome,
    };
    let outcomes: Vec<Outcome> = archives.iter().map(check).collect();
    let worst = outcomes.iter().map(|outcome| outcome.status).max();
    if let Some(problem) = outcomes
        .iter()
        .find(|it| it.is_problem() && Some(it.status) == worst)
    {
        return problem.clone();
    }
    let mut observed: Vec<&str> = outcomes.iter().map(|it| it.observed.as_str()).collect();
    observed.dedup();
    match outcomes
        .iter()
        .all(|it| it.status == super::outcome::Status::Skip)
    {
        true => Outcome::skip(observed.join("; ")),
        false => Outcome::pass(observed.join("; ")),
    }
}

/// D1
pub(super) fn opens(target: &Target) -> Outcome {
    each(target, |offered| match offered.start(target) {
        _ if is_misled(target.base().origin().as_str(), &offered.url) => Outcome::fail(
            format!("{} from {}", offered.what, offered.origin()),
            "the registry does not know the URL at which clients reach it: the proxy in front of it does not pass it on, or is not \
             trusted",
            "start terrace serve with --trust-proxy, and let every proxy in front of it pass Host unchanged and set X-Forwarded-Proto",
        ),
        Ok(seen) if seen.status == 200 => {
            Outcome::pass(format!("{} from {}", offered.what, offered.host()))
        }
        Ok(seen) => refused(target, offered, &seen),
        Err(error @ ProbeError::Limited(_)) => Outcome::skip(error),
        Err(error) if serves_second_bucket(target, &offered.url) => Outcome::fail(
            format!("{} from {}: {error}", offered.what, offered.host()),
            "the second bucket serves downloads, and does not answer",
            SERVE_MAIN,
        ),
        Err(error) => Outcome::fail(
            format!("{} from {}: {error}", offered.what, offered.host()),
            "this machine cannot reach the host that archives come from; a firewall may allow the registry only",
            "allow that host as well, or unset the S3 settings so that archives pass through the registry",
        ),
    })
}

/// Returns whether an archive's URL shows that the registry does not know its own: plain HTTP of a registry with TLS, or this machine
/// for one that is elsewhere.
fn is_misled(registry: &str, archive: &str) -> bool {
    let is_local = |url: &str| {
        let url = Url::parse(url).ok();
        url.is_some_and(|url| url.host_str().is_some_and(is_loopback))
    };
    let is_downgraded = registry.starts_with("https://") && archive.starts_with("http://");
    is_downgraded || is_local(archive) && !is_local(registry)
}

/// The action against a second bucket that cannot serve downloads.
const SERVE_MAIN: &str = "if the main bucket answers, run `terrace admin failover off --reason …`";

/// Returns whether an archive comes from the second bucket, because that serves downloads at the moment.
fn serves_second_bucket(target: &Target, url: &str) -> bool {
    let state = target.second_bucket();
    let serves = state.is_some_and(|state| state.serving == ServingBucket::Fallback);
    serves && !is_of_registry(target, url)
}

/// Returns whether a URL leads to the registry itself.
fn is_of_registry(target: &Target, url: &str) -> bool {
    let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
    origin.is_ok_and(|origin| origin == target.base().origin())
}

/// Explains why the second bucket refuses a download.
fn refused_by_second_bucket(observed: &str, status: u16, text: &str) -> Outcome {
    let code = fallback::error_code(text).unwrap_or_default();
    let observed = match code {
        "" => observed.to_owned(),
        code => format!("{observed} ({code})"),
    };
    let fix;
    let (cause, fix) = if status >= 500 {
        ("the second bucket serves downloads, and fails", SERVE_MAIN)
    } else if code == "NoSuchKey" {
        fix = format!("{SERVE_MAIN}; then `terrace admin replicate` makes the missing copies");
        (
            "the second bucket serves downloads, and has no copy of this archive",
            fix.as_str(),
        )
    } else {
        fix = format!(
            "{SERVE_MAIN}, and correct the TERRACE_S3_FALLBACK_… settings, or the rights of the key pair"
        );
        (
            "the second bucket serves downloads, and refuses the URLs of the registry",
            fix.as_str(),
        )
    };
    Outcome::fail(observed, cause, fix)
}

/// Explains why a storage refuses a download, by its error.
fn refused(target: &Target, offered: &Offered, seen: &Seen) -> Outcome {
    if let Some(outcome) = target.outage(seen).filter(|_| offered.is_own(target)) {
        return outcome;
    }
    let text = String::from_utf8_lossy(&seen.body);
    let has = |code: &str| text.contains(&format!("<Code>{code}</Code>"));
    let observed = format!(
        "{} from {}: status {}",
        offered.what,
        offered.host(),
        seen.status
    );
    let is_expired =
        has("RequestTimeTooSkewed") || has("ExpiredRequest") || text.contains("expired");
    if !is_expired && serves_second_bucket(target, &seen.url) {
        return refused_by_second_bucket(&observed, seen.status, &text);
    }
    let (code, cause, fix) = if has("SignatureDoesNotMatch") {
        (
            "SignatureDoesNotMatch",
            "the secret access key is wrong, or a proxy changes the URL or the Host header",
            "set TERRACE_S3_SECRET_ACCESS_KEY again, and let requests to that host pass unchanged",
        )
    } else if has("InvalidAccessKeyId") {
        (
            "InvalidAccessKeyId",
            "the access key does not exist at this endpoint",
            "set TERRACE_S3_ACCESS_KEY_ID again, from the API token for R2",
        )
    } else if has("AccessDenied") {
        (
            "AccessDenied",
            "the key pair may not read this bucket, or the endpoint belongs to another account",
            "create an API token with Object Read & Write for the bucket, and check TERRACE_S3_ENDPOINT",
        )
    } else if has("NoSuchBucket") {
        (
            "NoSuchBucket",
            "the S3 settings name a bucket that does not exist",
            "set TERRACE_S3_BUCKET to the name of the bucket that is bound as FACTS",
        )
    } else if has("NoSuchKey") {
        (
            "NoSuchKey",
            "the S3 settings name another bucket than the registry reads, or the archive was removed",
            "set TERRACE_S3_BUCKET to the name of the bucket that is bound as FACTS; otherwise restore the archive",
        )
    } else if is_expired {
        (
            "expired",
            "the clock of the registry differs from that of its storage, or a cache keeps old URLs",
            "look at C1 and C2",
        )
    } else if seen.status >= 500 {
        (
            "",
            "an outage: the storage of the archives, or a proxy in front of it, fails",
            "look at the log and the status page of the storage; then run the command again",
        )
    } else {
        (
            "",
            "the download needs credentials that clients do not send, or something in between changes the request",
            "let the URLs of archives work without a token, and look at L7 and W1",
        )
    };
    let observed = if code.is_empty() {
        observed
    } else {
        format!("{observed} ({code})")
    };
    Outcome::fail(observed, cause, fix)
}

/// D2
pub(super) fn answers_head(target: &Target) -> Outcome {
    each(target, |offered| {
        let start = match offered.started(target) {
            Ok(seen) => seen,
            Err(outcome) => return outcome,
        };
        let true_length = start.header("content-length").map(str::to_owned);
        match offered.head(target) {
            Ok(seen) if seen.status != 200 => {
                Outcome::pass(format!("{}: refused with {}", offered.what, seen.status))
            }
            Ok(seen) => match (seen.header("content-length"), true_length.as_deref()) {
                (None, _) => Outcome::pass(format!("{}: no length", offered.what)),
                (Some(length), Some(expected)) if length != expected => Outcome::fail(
                    format!(
                        "{}: HEAD says {length} bytes, and GET {expected}",
                        offered.what
                    ),
                    "Terraform 1.11 and go-getter ask with HEAD first, and skip the download for a length of 0",
                    "answer HEAD with the true length, or with another status than 200",
                ),
                (Some(_), _) => Outcome::pass(format!("{}: the same length", offered.what)),
            },
            Err(error @ ProbeError::Limited(_)) => Outcome::skip(error),
            Err(error) => Outcome::fail(
                format!("{}: {error}", offered.what),
                "the server breaks off a HEAD request, which clients send before a download",
                "answer HEAD, even with an error",
            ),
        }
    })
}

/// D3
pub(super) fn keeps_bytes(target: &Target) -> Outcome {
    each(target, |offered| {
        let archive = match whole(target, offered) {
            Ok(archive) => archive,
            Err(outcome) => return outcome,
        };
        match offered.sha256 {
            Some(sha256) if sha256 != archive.sha256 => Outcome::fail(
                format!(
                    "{}: sha256 {} instead of {sha256}",
                    offered.what, archive.sha256
                ),
                "something changes archives on their way, such as a virus scanner or a caching proxy, or the stored \
                 object is damaged; clients report that the checksum does not match",
                "exempt the host of the archives from inspection; if it is the object, restore it from a copy",
            ),
            Some(_) => Outcome::pass(format!("{}: {}", offered.what, bytes(archive.size))),
            None => Outcome::skip(format!("{}: no digest is promised", offered.what)),
        }
    })
}

/// D4
pub(super) fn unpacks(target: &Target) -> Outcome {
    each(target, |offered| {
        let archive = match whole(target, offered) {
            Ok(archive) => archive,
            Err(outcome) => return outcome,
        };
        let entries = match (offered.what, target.package()) {
            ("provider", Ok(sample)) => {
                let inspected = match target.provider() {
                    Ok(provider) => archive.inspect_provider(
                        &provider.address.provider_type,
                        &sample.package.platform,
                    ),
                    Err(gap) => return gap.outcome("D4"),
                };
                match inspected.reasons.as_slice() {
                    [] => Ok(format!("{}: intact", offered.what)),
                    reasons => Err(reasons.join("; ")),
                }
            }
            _ => match offered.format {
                Some(format) => archive
                    .list(format)
                    .map(|entries| format!("{}: {} files", offered.what, entries.len())),
                None => Ok(format!("{}: of an unnamed format", offered.what)),
            },
        };
        match entries {
            Ok(observed) => Outcome::pass(observed),
            Err(_) if offered.sha256.is_some_and(|it| it != archive.sha256) => {
                Outcome::skip_after("D3")
            }
            Err(reason) => Outcome::fail(
                reason,
                "clients download the archive and then refuse it",
                "pack it again, and publish it as the next version",
            ),
        }
    })
}

/// Downloads a whole archive to a temporary file.
fn whole(target: &Target, offered: &Offered) -> Result<Archive, Outcome> {
    let seen = offered.started(target)?;
    let most = match target.is_deep {
        true => terrace_core::limits::ARCHIVE_BYTES,
        false => SHALLOW_BYTES,
    };
    let ask = Ask::get(&seen.url);
    let timeout = target.timeout.saturating_mul(ARCHIVE_TIMES);
    let response = target.probe.open(&ask, timeout);
    let response = response.map_err(|error| Outcome::skip(format!("{}: {error}", offered.what)))?;
    let length = header(response.headers(), "content-length").and_then(|it| it.parse::<u64>().ok());
    let large = |size: &str| {
        Outcome::skip(format!(
            "{}: {size} are downloaded with --deep only",
            offered.what
        ))
    };
    if let Some(length) = length.filter(|length| *length > most) {
        return Err(large(&bytes(length)));
    }
    let body = response.into_body().into_reader();
    let name = format!("the {}", offered.what);
    match download(body.take(most.saturating_add(1)), most, |_| {}) {
        Ok(found) => Ok(Archive {
            filename: name,
            size: found.size,
            sha256: found.sha256,
            source: Source::Temporary(found.file),
        }),
        Err(DownloadError::TooLong) => Err(large(&format!("more than {}", bytes(most)))),
        Err(DownloadError::Local(error)) => {
            Err(Outcome::skip(format!("a temporary file: {error}")))
        }
        Err(DownloadError::Remote(error)) => Err(Outcome::fail(
            format!("{}: {}", offered.what, describe(&ureq::Error::from(error))),
            format!(
                "the download broke off, or took more than {} s",
                timeout.as_secs()
            ),
            "give a longer --timeout; otherwise look for a proxy that limits the size or the time of responses",
        )),
    }
}

#[cfg(test)]
#[test]
fn an_archive_at_a_plain_or_local_url_shows_a_proxy_that_is_not_understood() {
    let registry = "https://registry.example.com";
    for archive in [
        "http://registry.example.com/a",
        "http://localhost/a",
        "https://127.0.0.1:8841/a",
    ] {
        assert!(is_misled(registry, archive), "{archive}");
    }
    for (registry, archive) in [
        (registry, "https://account.r2.cloudflarestorage.com/a"),
        ("http://127.0.0.1:8787", "http://localhost:9000/a"),
        (
            "http://registry.corp.example",
            "http://minio.corp.example/a",
        ),
    ] {
        assert!(!is_misled(registry, archive), "{archive}");
    }
}

//! Group D: archives, downloaded as clients do it: without a token, from the URL that the registry names.
//!
//! These URLs are secrets as long as they are valid, so no finding contains more of them than the host.

use terrace_base::digest::Sha256;
use terrace_core::http::guard::is_loopback;
use terrace_core::storage::failover::ServingBucket;
use terrace_core::storage::fallback;
use ureq::http::Method;
use url::Url;

use super::finding::{Finding, Judged};
use super::target::{Target, absolute};
use crate::http::{Ask, ProbeError, Seen, describe, header};
use crate::output::bytes;
use crate::upstream::{DownloadError, download};

/// The largest archive that is downloaded without --deep, in bytes: most providers are smaller.
const SHALLOW_BYTES: u64 = 64 * 1024 * 1024;

/// The time for an archive, as a multiple of the time for a request.
const ARCHIVE_TIMES: u32 = 6;

/// The action against a second bucket that cannot serve downloads.
const SERVE_MAIN: &str = "if the main bucket answers, run `terrace admin failover off --reason …`";

/// The refusals of a storage: the error code, the cause, and the action.
const REFUSALS: [(&str, &str, &str); 5] = [
    (
        "SignatureDoesNotMatch",
        "the secret access key is wrong, or a proxy changes the URL or the Host header",
        "set TERRACE_S3_SECRET_ACCESS_KEY again, and let requests to that host pass unchanged",
    ),
    (
        "InvalidAccessKeyId",
        "the access key does not exist at this endpoint",
        "set TERRACE_S3_ACCESS_KEY_ID again, from the API token for R2",
    ),
    (
        "AccessDenied",
        "the key pair may not read this bucket, or the endpoint belongs to another account",
        "create an API token with Object Read & Write for the bucket, and check TERRACE_S3_ENDPOINT",
    ),
    (
        "NoSuchBucket",
        "the S3 settings name a bucket that does not exist",
        "set TERRACE_S3_BUCKET to the name of the bucket that is bound as FACTS",
    ),
    (
        "NoSuchKey",
        "the S3 settings name another bucket than the registry reads, or the archive was removed",
        "set TERRACE_S3_BUCKET to the name of the bucket that is bound as FACTS; otherwise restore the archive",
    ),
];

/// An archive that the registry offers.
pub(super) struct Offered {
    what: &'static str,
    pub(super) url: String,
    sha256: Option<Sha256>,
}

impl Offered {
    fn host(&self) -> String {
        let url = Url::parse(&self.url).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        host.to_owned()
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
    fn started(&self, target: &Target) -> Judged<Seen> {
        match self.start(target) {
            Ok(seen) if seen.status == 200 => Ok(seen),
            Err(error @ ProbeError::Limited(_)) => Err(error.into()),
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

/// Makes a check of every archive. Returns the first of the worst problems, or all observations.
fn each(target: &Target, check: impl Fn(&Offered) -> Judged) -> Judged {
    let judged: Vec<Judged> = archives(target)?.iter().map(check).collect();
    let findings = judged.iter().filter_map(|it| it.as_ref().err());
    let worst = findings.clone().map(|it| it.status).max();
    let mut worst = findings.filter(|it| Some(it.status) == worst);
    if let Some(problem) = worst.find(|it| it.is_problem()) {
        return Err(problem.clone());
    }
    let is_skipped = judged.iter().all(Result::is_err);
    let mut observed: Vec<String> = judged
        .into_iter()
        .map(|it| it.unwrap_or_else(|finding| finding.observed))
        .collect();
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
        let (what, host) = (offered.what, offered.host());
        let start = offered.start(target);
        if is_misled(&target.base().origin(), &offered.url) {
            let url = Url::parse(&offered.url).ok();
            let origin = url.map(|url| url.origin().ascii_serialization());
            return Err(Finding::fail(
                format!("{what} from {}", origin.unwrap_or_default()),
                "the registry does not know the URL at which clients reach it: the proxy in front of it does not pass it on, or is not \
                 trusted",
                "start terrace serve with --trust-proxy, and let every proxy in front of it pass Host unchanged and set X-Forwarded-Proto",
            ));
        }
        let error = match start {
            Ok(seen) if seen.status == 200 => return Ok(format!("{what} from {host}")),
            Ok(seen) => return Err(refused(target, offered, &seen)),
            Err(error @ ProbeError::Limited(_)) => return Err(error.into()),
            Err(error) => format!("{what} from {host}: {error}"),
        };
        Err(match serves_second_bucket(target, &offered.url) {
            true => Finding::fail(
                error,
                "the second bucket serves downloads, and does not answer",
                SERVE_MAIN,
            ),
            false => Finding::fail(
                error,
                "this machine cannot reach the host that archives come from; a firewall may allow the registry only",
                "allow that host as well, or unset the S3 settings so that archives pass through the registry",
            ),
        })
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

/// Returns whether an archive comes from the second bucket, because that serves downloads at the moment.
fn serves_second_bucket(target: &Target, url: &str) -> bool {
    let state = target.second_bucket();
    let serves = state.is_some_and(|state| state.serving == ServingBucket::Fallback);
    serves && !target.has(url)
}

/// Explains why a storage refuses a download, by its error.
fn refused(target: &Target, offered: &Offered, seen: &Seen) -> Finding {
    if target.has(&offered.url)
        && let Err(outage) = target.check_outage(seen)
    {
        return outage;
    }
    let text = String::from_utf8_lossy(&seen.body);
    let stated = fallback::error_code(&text).unwrap_or_default();
    let is_expired =
        matches!(stated, "RequestTimeTooSkewed" | "ExpiredRequest") || text.contains("expired");
    let known = REFUSALS.iter().find(|(code, ..)| *code == stated);
    let fix;
    let (cause, action) = if !is_expired && serves_second_bucket(target, &seen.url) {
        let (cause, more) = match stated {
            _ if seen.status >= 500 => ("fails", ""),
            "NoSuchKey" => (
                "has no copy of this archive",
                "; then `terrace admin replicate` makes the missing copies",
            ),
            _ => (
                "refuses the URLs of the registry",
                ", and correct the TERRACE_S3_FALLBACK_… settings, or the rights of the key pair",
            ),
        };
        fix = format!("{SERVE_MAIN}{more}");
        (
            format!("the second bucket serves downloads, and {cause}"),
            fix.as_str(),
        )
    } else if let Some((_, cause, fix)) = known {
        ((*cause).to_owned(), *fix)
    } else {
        let (cause, fix) = match seen.status {
            _ if is_expired => (
                "the clock of the registry differs from that of its storage, or a cache keeps old URLs",
                "look at C1 and C2",
            ),
            500.. => (
                "an outage: the storage of the archives, or a proxy in front of it, fails",
                "look at the log and the status page of the storage; then run the command again",
            ),
            _ => (
                "the download needs credentials that clients do not send, or something in between changes the request",
                "let the URLs of archives work without a token, and look at L7 and W1",
            ),
        };
        (cause.to_owned(), fix)
    };
    let code = if stated.is_empty() {
        String::new()
    } else {
        format!(" ({stated})")
    };
    let (what, host) = (offered.what, offered.host());
    let observed = format!("{what} from {host}: status {}{code}", seen.status);
    Finding::fail(observed, cause, action)
}

/// D2
pub(super) fn answers_head(target: &Target) -> Judged {
    each(target, |offered| {
        let what = offered.what;
        let start = offered.started(target)?;
        let seen = offered.head(target).map_err(|error| {
            let cause =
                "the server breaks off a HEAD request, which clients send before a download";
            Finding::unanswered(&error, cause, "answer HEAD, even with an error")
        })?;
        if seen.status != 200 {
            return Ok(format!("{what}: refused with {}", seen.status));
        }
        let length = |seen: &Seen| seen.header("content-length").map(str::to_owned);
        match (length(&seen), length(&start)) {
            (None, _) => Ok(format!("{what}: no length")),
            (Some(length), Some(expected)) if length != expected => Err(Finding::fail(
                format!("{what}: HEAD says {length} bytes, and GET {expected}"),
                "Terraform 1.11 and go-getter ask with HEAD first, and skip the download for a length of 0",
                "answer HEAD with the true length, or with another status than 200",
            )),
            (Some(_), _) => Ok(format!("{what}: the same length")),
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
            false => Err(Finding::fail(
                format!("{what}: sha256 {sha256} instead of {promised}"),
                "something changes archives on their way, such as a virus scanner or a caching proxy, or the stored \
                 object is damaged; clients report that the checksum does not match",
                "exempt the host of the archives from inspection; if it is the object, restore it from a copy",
            )),
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
        DownloadError::Remote(error) => Finding::fail(
            format!("{what}: {}", describe(&ureq::Error::from(error))),
            format!("the download broke off, or took more than {} s", timeout.as_secs()),
            "give a longer --timeout; otherwise look for a proxy that limits the size or the time of responses",
        ),
    })
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

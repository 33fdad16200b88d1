//! The access of the caller: the token, as the registry describes it, and requests that need one, without it.

use serde::de::IgnoredAny;
use terrace_core::api::admin::PresentedToken;
use ureq::http::Method;

use super::{ABSENT, LIST_BYTES, Target};
use crate::commands::doctor::finding::{Finding, Judged, Status};
use crate::http::{Ask, Seen};

/// A token that no registry has issued.
const WRONG: &str = "Bearer terrace-doctor-wrong";

/// Returns whether the registry refuses to publish and to show its audit log without a token.
fn refuses_writes(target: &Target) -> Judged {
    target.check_terrace()?;
    // A description that no registry accepts, so that nothing is changed even if everyone may write.
    let publish = || Ask {
        body: Some("{}"),
        ..target
            .get(&format!("/admin/v1/providers/{ABSENT}/{ABSENT}/0.0.0"))
            .method(Method::PUT)
            .with("content-type", "application/json")
    };
    let audit = || target.get("/admin/v1/audit");
    let mut statuses = Vec::new();
    for (what, ask) in [
        ("a publish without a token", publish()),
        (
            "a publish with a wrong token",
            publish().with("authorization", WRONG),
        ),
        ("the audit log without a token", audit()),
        (
            "the audit log with a wrong token",
            audit().with("authorization", WRONG),
        ),
    ] {
        let seen = target.probe.send(&ask);
        let seen = seen.map_err(|error| Finding::skip(format!("{what}: {error}")))?;
        match seen.status {
            status @ (401 | 403 | 404 | 405) => statuses.push(status.to_string()),
            // A failure says nothing about who may write.
            status @ 500.. => {
                let outage = target
                    .check_outage(&seen)
                    .err()
                    .filter(|it| !it.is_problem());
                let skipped = || Finding::skip(format!("{what}: status {status}"));
                return Err(outage.unwrap_or_else(skipped));
            }
            _ if !is_json(&seen) => return Err(page(what, &seen)),
            status => {
                return Err(Finding::fail(
                    format!("{what}: status {status}"),
                    "something in front of the registry adds a token, or the registry accepts anyone",
                    "remove that, revoke the token (`terrace token revoke`), and read the log of `terrace admin audit`",
                ));
            }
        }
    }
    statuses.dedup();
    Ok(statuses.join(", "))
}

/// Returns whether the body of a response is JSON, as in all responses of the admin API.
fn is_json(seen: &Seen) -> bool {
    serde_json::from_slice::<IgnoredAny>(&seen.body).is_ok()
}

/// Judges a response to a request of the admin API that does not come from the registry.
fn page(what: &str, seen: &Seen) -> Finding {
    let kind = match seen.media_type() {
        html if html.contains("html") => "a web page",
        _ => "a response that is not JSON",
    };
    Finding::fail(
        format!("{what}: status {} with {kind}", seen.status),
        "a page is in front of /admin: a sign-in page, a captive portal or another program answers in place of the registry",
        "let /admin/ pass to the registry, which checks tokens itself, and exempt it from sign-in pages",
    )
}

/// The answer of a registry about a token.
pub(crate) struct Presented {
    token: Judged<PresentedToken>,
    /// Whether the registry refuses reads that present the token.
    is_refused: bool,
}

impl Presented {
    /// Returns the registry's description of the token. A4 reports why there is none.
    pub(crate) fn token(&self) -> Judged<&PresentedToken> {
        self.token.as_ref().map_err(Clone::clone)
    }

    pub(crate) fn ask(target: &Target) -> Self {
        let (asked, status) = ask(target);
        Self {
            token: asked.map_err(|finding| finding.reported_by("A4")),
            is_refused: status == 401 && refuses_reads(target),
        }
    }
}

/// Returns the registry's description of the token, with the status of the response; 0 without one.
fn ask(target: &Target) -> (Judged<PresentedToken>, u16) {
    let ask = || -> Judged<Seen> {
        target.check_terrace()?;
        if !target.has_token() {
            return Err(Finding::skip(&target.tokenless));
        }
        let seen = target.probe.send(&target.get_as_caller("/api/v1/token"))?;
        target.check_outage(&seen)?;
        Ok(seen)
    };
    let seen = match ask() {
        Ok(seen) => seen,
        Err(finding) => return (Err(finding), 0),
    };
    let token = serde_json::from_slice(&seen.body)
        .ok()
        .filter(|_| seen.status == 200);
    (token.ok_or_else(|| fault(seen.status)), seen.status)
}

/// Returns whether the registry refuses a read of a protocol because of its token. Where everything is public, it
/// ignores the token instead. An unknown answer counts as a refusal, so that one fault is not reported by many checks.
fn refuses_reads(target: &Target) -> bool {
    let fetch = target.discovery().ok().and_then(|discovery| {
        let of_provider = || Some((discovery.providers.as_ref()?, format!("{ABSENT}/{ABSENT}")));
        let of_module = || {
            Some((
                discovery.modules.as_ref()?,
                format!("{ABSENT}/{ABSENT}/aws"),
            ))
        };
        let (service, address) = of_provider().or_else(of_module)?;
        Some(service.fetch(&format!("{address}/versions"), LIST_BYTES, "version list"))
    });
    let read = fetch.and_then(|fetch| target.fetch(&fetch).ok());
    read.is_none_or(|(fetched, _)| fetched.status == 401)
}

fn fault(status: u16) -> Finding {
    let (cause, fix) = match status {
        200 => (
            "the registry has another version than this command, or a proxy answers",
            "use the same version of both, and let /api/v1/token pass",
        ),
        _ => (
            "the token is mistyped, expired, revoked, or of another registry",
            "create another one with `terrace token create`, or sign in again",
        ),
    };
    Finding::fail(format!("status {status} for the token"), cause, fix)
}

impl Target {
    /// A1
    pub(crate) fn refuses_writes(&self) -> Judged {
        refuses_writes(self)
    }

    /// Checks that reads with the token are not refused, which A4 reports.
    pub(crate) fn check_token(&self) -> Judged<()> {
        match self.presented() {
            Presented {
                token: Err(finding),
                is_refused: true,
            } => Err(finding.clone()),
            _ => Ok(()),
        }
    }

    /// Checks that a successful response of the admin API comes from the registry. A1 reports a page that answers requests
    /// without the token as well.
    pub(crate) fn check_page(&self, what: &str, seen: &Seen) -> Judged<()> {
        if !matches!(seen.status, 200..400) || is_json(seen) {
            return Ok(());
        }
        match refuses_writes(self) {
            Err(writes) if writes.status == Status::Fail => Err(writes.reported_by("A1")),
            _ => Err(page(what, seen)),
        }
    }
}

//! Requests that need a token, without one.

use serde::de::IgnoredAny;
use ureq::http::Method;

use super::{ABSENT, Target};
use crate::commands::doctor::outcome::Outcome;
use crate::http::{Ask, Seen};

/// A token that no registry has issued.
const WRONG: &str = "Bearer terrace-doctor-wrong";

impl Target {
    /// Returns whether the registry refuses to publish and to show its audit log without a token.
    pub(in crate::commands::doctor) fn refuses_writes(&self) -> Outcome {
        if let Some(skipped) = self.skipped_elsewhere() {
            return skipped;
        }
        // A description that no registry accepts, so that nothing is changed even if everyone may write.
        let publish = || Ask {
            body: Some("{}"),
            ..self
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
            ("the audit log without a token", self.get("/admin/v1/audit")),
            (
                "the audit log with a wrong token",
                self.get("/admin/v1/audit").with("authorization", WRONG),
            ),
        ];
        let mut statuses = Vec::new();
        for (what, ask) in requests {
            match self.probe.send(&ask) {
                Ok(seen) if matches!(seen.status, 401 | 403 | 404 | 405) => {
                    statuses.push(seen.status)
                }
                // A failure says nothing about who may write.
                Ok(seen) if seen.status >= 500 => {
                    return match self.outage(&seen) {
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

//! The token of the caller, as the registry describes it.

use terrace_core::api::admin::PresentedToken;

use super::{ABSENT, Gap, Target};
use crate::commands::doctor::outcome::Outcome;

/// The most bytes of the list of a package that does not exist.
const LIST_BYTES: u64 = 64 * 1024;

/// The answer of a registry about a token.
pub(super) enum Presented {
    Valid(PresentedToken),
    /// The registry does not accept the token, and refuses reads that present it.
    Refused(Gap),
    /// There is no token, no answer about it, or the registry ignores tokens in reads.
    Unknown(Gap),
}

impl Target {
    /// Returns the registry's description of the token. A4 reports why there is none.
    pub(in crate::commands::doctor) fn presented_token(&self) -> Result<&PresentedToken, &Gap> {
        match self.presented() {
            Presented::Valid(token) => Ok(token),
            Presented::Refused(gap) | Presented::Unknown(gap) => Err(gap),
        }
    }

    /// Returns why a check that reads with the token cannot be made: the registry refuses such reads, which A4 reports.
    pub(in crate::commands::doctor) fn refused_token(&self) -> Option<&Gap> {
        match self.presented() {
            Presented::Refused(gap) => Some(gap),
            Presented::Valid(_) | Presented::Unknown(_) => None,
        }
    }

    fn presented(&self) -> &Presented {
        self.presented.get_or_init(|| self.present())
    }

    fn present(&self) -> Presented {
        let gap = |outcome| Gap::new("A4", outcome);
        if let Some(skipped) = self.skipped_elsewhere() {
            return Presented::Unknown(gap(skipped));
        }
        if !self.has_token() {
            return Presented::Unknown(gap(Outcome::skip(&self.tokenless)));
        }
        let seen = match self.probe.send(&self.get_as_caller("/api/v1/token")) {
            Ok(seen) => seen,
            Err(error) => return Presented::Unknown(gap(Outcome::skip(error))),
        };
        if let Some(outcome) = self.outage(&seen) {
            return Presented::Unknown(gap(outcome));
        }
        let token: Option<PresentedToken> = serde_json::from_slice(&seen.body).ok();
        match (seen.status, token) {
            (200, Some(token)) => Presented::Valid(token),
            (401, _) if self.refuses_reads() => Presented::Refused(gap(fault(401))),
            (status, _) => Presented::Unknown(gap(fault(status))),
        }
    }

    /// Returns whether the registry refuses a read of a protocol because of its token. Where everything is public, it
    /// ignores the token instead. An unknown answer counts as a refusal, so that one fault is not reported by many checks.
    fn refuses_reads(&self) -> bool {
        let fetch = self.discovery().ok().and_then(|discovery| {
            let of_provider =
                || Some((discovery.providers.as_ref()?, format!("{ABSENT}/{ABSENT}")));
            let of_module = || {
                Some((
                    discovery.modules.as_ref()?,
                    format!("{ABSENT}/{ABSENT}/aws"),
                ))
            };
            let (service, address) = of_provider().or_else(of_module)?;
            Some(service.fetch(&format!("{address}/versions"), LIST_BYTES, "version list"))
        });
        let read = fetch.and_then(|fetch| self.fetch(&fetch).ok());
        read.is_none_or(|(fetched, _)| fetched.status == 401)
    }
}

fn fault(status: u16) -> Outcome {
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
    Outcome::fail(format!("status {status} for the token"), cause, fix)
}

//! The token of the caller, as the registry describes it.

use terrace_core::api::admin::PresentedToken;

use super::{Gap, Target};
use crate::commands::doctor::outcome::Outcome;

/// The answer of a registry about a token.
pub(super) enum Presented {
    Valid(PresentedToken),
    /// The registry does not accept the token.
    Refused(Gap),
    /// There is no token, or no answer about it.
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

    /// Returns why a check that reads with the token cannot be made: the registry refuses the token, and with it every
    /// request, which A4 reports.
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
        let token: Option<PresentedToken> = serde_json::from_slice(&seen.body).ok();
        let fault = gap(Outcome::fail(
            format!("status {} for the token", seen.status),
            "the token is mistyped, expired, revoked, or of another registry",
            "create another one with `terrace token create`, or sign in again",
        ));
        match (seen.status, token) {
            (200, Some(token)) => Presented::Valid(token),
            (401, _) => Presented::Refused(fault),
            _ => Presented::Unknown(fault),
        }
    }
}

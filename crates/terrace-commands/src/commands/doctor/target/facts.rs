//! The facts that a registry states about itself, to administrators.

use terrace_core::api::admin::{DoctorAnswer, FailoverAnswer};

use super::writes::{is_json, page};
use super::{Gap, Known, Target};
use crate::commands::doctor::outcome::{Outcome, Status};

/// The facts that the registry states about itself.
pub(in crate::commands::doctor) type Facts = DoctorAnswer;

impl Target {
    /// Returns the facts that the registry states about itself. R1 reports why there are none.
    pub(in crate::commands::doctor) fn own_facts(&self) -> Result<&Facts, &Gap> {
        self.facts.get_or_init(|| self.find_facts()).as_ref()
    }

    /// Returns the state of the second bucket, if the registry has one and states it. It does so while R2 does not answer, when it states
    /// nothing else.
    pub(in crate::commands::doctor) fn second_bucket(&self) -> Option<&FailoverAnswer> {
        match self.own_facts() {
            Ok(facts) => facts.failover.as_ref(),
            Err(_) => {
                let asked = self.second_bucket.get_or_init(|| self.ask_second_bucket());
                asked.as_ref()
            }
        }
    }

    fn ask_second_bucket(&self) -> Option<FailoverAnswer> {
        if !self.has_token() || self.skipped_elsewhere().is_some() {
            return None;
        }
        let seen = self.probe.send(&self.get_as_caller("/admin/v1/failover"));
        let seen = seen.ok().filter(|seen| seen.status == 200)?;
        let state: FailoverAnswer = serde_json::from_slice(&seen.body).ok()?;
        Some(state).filter(|state| state.configured)
    }

    fn find_facts(&self) -> Known<Facts> {
        let gap = |outcome| Gap::new("R1", outcome);
        if let Some(skipped) = self.skipped_elsewhere() {
            return Err(gap(skipped));
        }
        if !self.has_token() {
            return Err(gap(Outcome::skip(format!(
                "{}: set TERRACE_TOKEN to that of an administrator",
                self.tokenless
            ))));
        }
        let seen = self.probe.send(&self.get_as_caller("/admin/v1/doctor"));
        let seen = seen.map_err(|error| {
            let cause = "the registry answers clients, and not this request";
            gap(Outcome::unanswered(
                &error,
                cause,
                "look at the registry's log for /admin/v1/doctor",
            ))
        })?;
        if let Some(outcome) = self.outage(&seen) {
            return Err(gap(outcome));
        }
        if matches!(seen.status, 200..400) && !is_json(&seen) {
            // A1 reports a page that answers requests without the token as well.
            let writes = self.refuses_writes();
            return Err(match writes.status {
                Status::Fail => Gap::new("A1", writes),
                _ => gap(page("the request for facts", &seen)),
            });
        }
        match seen.status {
            200 => serde_json::from_slice(&seen.body).map_err(|error| {
                let cause =
                    "the registry has another version than this command, or a proxy answers";
                gap(Outcome::fail(error, cause, "use the same version of both"))
            }),
            401 => Err(match self.presented_token() {
                Err(unknown) => unknown.clone(),
                Ok(_) => gap(Outcome::skip("the token is not valid")),
            }),
            403 => Err(gap(Outcome::skip(
                "the token is not that of an administrator",
            ))),
            404 => Err(gap(Outcome::skip(
                "the registry is too old, or has no admin token",
            ))),
            status => Err(gap(Outcome::fail(
                format!("status {status}"),
                "the registry answers clients, and not this request",
                "look at the registry's log for /admin/v1/doctor",
            ))),
        }
    }
}

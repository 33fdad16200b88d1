//! Failures of work on the second bucket, for the log and for the operator.

use crate::context::Context;
use crate::failure::Failure;
use crate::host::Host;

/// Logs a failure of some work.
pub(crate) fn log<P: Host>(ctx: &Context<'_, P>, work: &str, failure: Failure) {
    match &failure {
        Failure::Origin(_) | Failure::Problem(_) => {
            ctx.host.log(&format!("{work}: {}", reason(&failure)));
        }
        _ => drop(ctx.report(failure)),
    }
}

/// Returns the reason of a failure, as far as an operator may see it without the log.
pub(crate) fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Origin(reason) => reason.clone(),
        Failure::Problem(problem) => problem.messages().join("; "),
        _ => "the log has the reason".to_owned(),
    }
}

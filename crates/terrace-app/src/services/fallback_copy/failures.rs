//! Failures of the copy, for the log and for the operator.

use crate::context::Context;
use crate::failure::Failure;
use crate::host::Host;

/// Logs a failure of the copy.
pub(crate) fn log<P: Host>(ctx: &Context<'_, P>, failure: Failure) {
    match failure {
        Failure::Origin(reason) => ctx.host.log(&format!("copy: {reason}")),
        failure => drop(ctx.report(failure)),
    }
}

/// Returns the reason of a failure, as far as an operator may see it without the log.
pub(crate) fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Origin(reason) => reason.clone(),
        _ => "the log has the reason".to_owned(),
    }
}

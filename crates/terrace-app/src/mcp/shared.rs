//! Parts of all answers: the version that they describe, and their failures.

use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::mcp::McpError;
use terrace_core::mcp::reply::Answered;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::Host;
use crate::outcome::Call;
use crate::pages::details;

/// Returns the requested version, or the newest one that can be installed.
pub(super) async fn exact<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: &Package,
    version: Option<Version>,
) -> Result<Version, Failure> {
    if let Some(version) = version {
        return Ok(version);
    }
    let found = details(ctx, call, package.clone()).await?;
    found.value.latest.ok_or_else(|| {
        let address = package.address();
        Problem::NotFound(format!(
            "{address} has no version that can be installed: list_versions lists all, with the reason of each"
        ))
        .into()
    })
}

/// Returns the answer to the call of a tool that failed. The assistant reads the error and can correct its call, unless it is
/// the registry that failed.
pub(super) fn tool_failure<P: Host>(
    ctx: &Context<'_, P>,
    to: &Answered,
    failure: Failure,
) -> Reply<P::Stream> {
    match ctx.report(failure) {
        problem if problem.status() >= 500 => to.error(McpError::Problem(problem)),
        problem => to.tool_error(&message(&problem)),
    }
}

/// Returns the answer to the request for a resource that failed.
pub(super) fn resource_failure<P: Host>(
    ctx: &Context<'_, P>,
    to: &Answered,
    uri: String,
    failure: Failure,
) -> Reply<P::Stream> {
    to.error(match ctx.report(failure) {
        problem if problem.status() >= 500 || problem.status() == 429 => McpError::Problem(problem),
        problem => McpError::NoResource(uri, message(&problem), to.revision),
    })
}

/// Returns the message for an assistant.
fn message(problem: &Problem) -> String {
    let reasons = problem.messages().join("; ");
    match problem {
        Problem::Unauthorized(_) => {
            format!("{reasons}: the tool how_to_authenticate explains how this client gets one")
        }
        _ => reasons,
    }
}

//! Describes and changes the status of releases and packages.

pub(crate) mod blocks;

use terrace_core::api::admin::StatusBody;
use terrace_core::http::problem::Problem;
use terrace_core::maintenance::audit::StatusChange;
use terrace_core::model::package::Package;
use terrace_core::model::status::{
    ACTIVE, BLOCKED, Reason, ReleaseState, ReleaseStatus, UNBLOCKED,
};
use terrace_core::model::version::Version;
use terrace_core::storage::key::FactKey;
use terrace_core::storage::release::Release;

use crate::access::status;
use crate::context::Context;
use crate::documents::releases;
use crate::host::{Clock as _, Host};
use crate::index::{index_refresh, index_writer};
use crate::json;
use crate::oci::pushed_index_refresh;
use crate::outcome::{AuditDetails, Call, Handled, Outcome};

pub(crate) async fn describe<P: Host>(
    ctx: &Context<'_, P>,
    package: Package,
) -> Handled<P::Stream> {
    Ok(json::reply(200, &status::document(ctx, &package).await?)?.into())
}

/// Changes the status of a package, or of one of its versions. The fact is written first; the same request
/// then refreshes the indices derived from it.
pub(crate) async fn change<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    package: Package,
    version: Option<Version>,
) -> Handled<P::Stream> {
    let StatusBody { state, reason } = json::parse(&call.body)?;
    let invalid = |error: &dyn ToString| Problem::Invalid(vec![error.to_string()]);
    let reason: Reason = reason.parse().map_err(|error| invalid(&error))?;
    if let block @ (BLOCKED | UNBLOCKED) = state.as_str() {
        let requested = (package, version, block == BLOCKED, reason);
        return blocks::change(ctx, call, requested).await;
    }
    let state: Option<ReleaseState> = match state.as_str() {
        ACTIVE => None,
        state => Some(state.parse().map_err(|error| invalid(&error))?),
    };
    if version.is_none() && state.is_some_and(|state| state != ReleaseState::Deprecated) {
        let message = "a package can be deprecated, but not withdrawn or revoked: change the status of its versions instead";
        return Err(invalid(&message).into());
    }
    let release = match &version {
        None => {
            if !releases::has_any(ctx, &package).await? {
                let message = format!("{} does not exist", package.address());
                return Err(Problem::NotFound(message).into());
            }
            None
        }
        Some(version) => match releases::find(ctx, &package, version).await? {
            Some(Release::Erased(tombstone)) => {
                return Err(Problem::Gone(tombstone.message()).into());
            }
            Some(release) => Some(release),
            None => {
                let message = format!("{} has no version {version}", package.address());
                return Err(Problem::NotFound(message).into());
            }
        },
    };
    let status = state.map(|state| ReleaseStatus {
        state,
        reason: reason.clone(),
        at: ctx.host.clock().now(),
        by: call.caller.name(),
    });
    let change = (version.as_ref(), status);
    let (statuses, before) = status::set_status(ctx, &call.caller, &package, change).await?;
    let change = FactKey::Change(package.clone());
    index_writer::rewrite_change_marker(ctx, &change).await?;
    if let Some(release) = &release {
        index_refresh::refresh_version(ctx, release).await?;
    }
    index_refresh::publish_lists(ctx, &package).await?;
    if let (Package::Mirrored(address), Some(version)) = (&package, &version) {
        pushed_index_refresh::refresh_versions(ctx, address, version).await?;
    }
    let change = StatusChange::of_states([before, state], &reason);
    let reply = json::reply(200, &statuses)?;
    Ok(Outcome::new(reply, AuditDetails::Status(change)))
}

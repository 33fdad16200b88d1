//! Blocks mirrored packages and versions of them, stored or not, and lifts blocks.

use terrace_core::http::problem::Problem;
use terrace_core::maintenance::audit::StatusChange;
use terrace_core::model::package::Package;
use terrace_core::model::status::{Reason, ReleaseState, ReleaseStatus};
use terrace_core::model::version::Version;
use terrace_core::storage::key::FactKey;

use crate::access::status;
use crate::context::Context;
use crate::documents::releases;
use crate::host::{Clock as _, Host};
use crate::index::{index_refresh, index_writer};
use crate::oci::pushed_index_refresh;
use crate::outcome::{AuditDetails, Call, Handled, Outcome};
use crate::{json, publish};

/// Blocks a package or a version for a reason, or lifts the block. The fact is written first: from then on nothing is
/// fetched for it. The same request then writes the indices of the version, and the lists.
///
/// A package may have more versions than one request can write. Their indices follow by the steps of a repair: the repair
/// compares the index of each blocked version. If a block is lifted, the lists are left to the repair as well, because it
/// visits the versions only if the lists differ.
pub(crate) async fn change<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    (package, version, blocks, reason): (Package, Option<Version>, bool, Reason),
) -> Handled<P::Stream> {
    if package.origin().is_none() {
        let message = "only a mirrored package can be blocked: revoke the versions of this registry's own packages (terrace release revoke)";
        return Err(Problem::Invalid(vec![message.to_owned()]).into());
    }
    publish::check_is_foreign(ctx, &call.origin, &package)?;
    if !call.caller.is_admin() {
        let message = "blocking a mirrored package or lifting the block requires the scope admin";
        return Err(Problem::Forbidden(message.to_owned()).into());
    }
    let block = blocks.then(|| ReleaseStatus {
        state: ReleaseState::Blocked,
        reason: reason.clone(),
        at: ctx.host.clock().now(),
        by: call.caller.name(),
    });
    let (statuses, is_blocked) =
        status::set_block(ctx, &package, (version.as_ref(), block)).await?;
    let marker = FactKey::Change(package.clone());
    index_writer::rewrite_change_marker(ctx, &marker).await?;
    // A pull that commits a release after this look reads the block when it writes the indices.
    let release = match &version {
        Some(version) => releases::find(ctx, &package, version).await?,
        None => None,
    };
    if let Some(release) = &release {
        index_refresh::refresh_version(ctx, release).await?;
    }
    let is_left_to_repair =
        !blocks && version.is_none() && releases::has_any(ctx, &package).await?;
    if !is_left_to_repair {
        index_refresh::publish_lists(ctx, &package).await?;
    }
    if let (Package::Mirrored(address), Some(version)) = (&package, &version) {
        pushed_index_refresh::refresh_versions(ctx, address, version).await?;
    }
    let change = StatusChange::of_block(is_blocked, &reason);
    let reply = json::reply(200, &statuses)?;
    Ok(Outcome::new(reply, AuditDetails::Status(change)))
}

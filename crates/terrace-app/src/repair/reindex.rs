//! A repair step requested by an operator.

use terrace_core::api::admin::ReindexBody;
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::maintenance::repair::{Position, Section};
use terrace_core::storage::key::FactKey;

use crate::body::check_count;
use crate::context::Context;
use crate::host::Host;
use crate::index::index_writer;
use crate::outcome::{Call, Handled};
use crate::repair::step::{REPAIRED_NAMES, RepairStep};
use crate::{body, json};

/// `POST /admin/v1/reindex`
pub(crate) async fn reindex<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    let ReindexBody {
        after,
        package,
        accept_loss,
        full,
    } = json::parse(&call.body)?;
    let only = package.as_deref().map(body::package).transpose()?;
    let position = match (&after, &only) {
        (Some(after), _) => after
            .parse()
            .map_err(|error| Problem::BadRequest(format!("after is {after:?}: {error}")))?,
        (None, Some(package)) => Position::inside(package),
        (None, None) => Position::start(Section::Releases),
    };
    let operations = match ctx.config.repair_operations {
        0 => limits::REPAIR_OPERATIONS,
        operations => operations,
    };
    check_count(accept_loss.len(), REPAIRED_NAMES)?;
    let accepted = accept_loss.iter().map(|text| {
        FactKey::parse_release(text).ok_or_else(|| {
            Problem::BadRequest(format!(
                "accept_loss has {text:?}: it must be ADDRESS@VERSION, such as acme/widget@1.0.0"
            ))
        })
    });
    let accepted = accepted.collect::<Result<Vec<FactKey>, Problem>>()?;
    let mut step = RepairStep::new(ctx, position, operations);
    step.only = only;
    step.accepted = accepted;
    step.is_full = full;
    if let (None, Some(package)) = (&after, &step.only)
        && package.origin().is_some()
    {
        // A rule about it may be new: a request that is writing its indices by older rules then writes them again.
        index_writer::rewrite_change_marker(ctx, &FactKey::Change(package.clone())).await?;
    }
    step.walk().await?;
    Ok(json::reply(200, &step.report)?.into())
}

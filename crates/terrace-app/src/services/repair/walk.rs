//! A walk over the facts that compares each index with what the facts say, and a walk over the
//! indices that looks for the fact of each. Both in steps that storage has time for.

use terrace_core::maintenance::repair::{Position, Section};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::Host;
use crate::services::repair::step::{Going, Step};
use crate::services::repair::{facts, indices, staging};

/// Goes on until there is nothing left to look at, or to do it with.
pub(crate) async fn walk<P: Host>(ctx: &Context<'_, P>, step: &mut Step) -> Result<(), Failure> {
    loop {
        let going = match step.position.section {
            Section::Revocations => facts::repair_revocations(ctx, step).await?,
            Section::Incoming => staging::sweep(ctx, step).await?,
            Section::Indices => indices::repair_indices(ctx, step).await?,
            _ => facts::repair_facts(ctx, step).await?,
        };
        if going == Going::Pausing {
            step.report.next = Some(step.position.to_string());
            return Ok(());
        }
        let mut next = step.position.section.next();
        // A package has its releases, and indices.
        if step.only.is_some() && next.is_some() {
            next = Some(Section::Indices);
        }
        match next {
            Some(next) => step.position = Position::start(next),
            None => return Ok(()),
        }
    }
}

//! A walk over the packages and the other facts that compares indices with their facts, and a walk over the
//! indices that looks for the fact of each. Both run in steps that fit the limit of storage operations.

use terrace_core::maintenance::repair::{Position, Section};
use terrace_core::storage::key::IndexKey;

use crate::access::rules;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::Host;
use crate::repair::step::{RepairStep, Scope, StepFlow};
use crate::repair::{
    abandoned_documentation, abandoned_uploads, catalog_walk, fact_walk, index_walk, package_walk,
};

/// Continues until everything has been examined, or the budget is used up.
pub(crate) async fn walk<P: Host>(
    ctx: &Context<'_, P>,
    step: &mut RepairStep,
) -> Result<(), Failure> {
    step.spend(1);
    rules::read_facts(ctx).await?;
    loop {
        let going = match step.position.section {
            Section::Revocations => {
                fact_walk::repair_list(ctx, step, IndexKey::Revocations).await?
            }
            Section::Rules => fact_walk::repair_list(ctx, step, IndexKey::Rules).await?,
            Section::Catalogs => catalog_walk::repair_catalogs(ctx, step).await?,
            Section::MergedCatalog => catalog_walk::repair_merged(ctx, step).await?,
            Section::StagedUploads => abandoned_uploads::sweep(ctx, step).await?,
            Section::Documentation => abandoned_documentation::sweep(ctx, step).await?,
            Section::Indices => index_walk::repair_indices(ctx, step).await?,
            Section::Releases => package_walk::repair_packages(ctx, step).await?,
            _ => fact_walk::repair_facts(ctx, step).await?,
        };
        if going == StepFlow::Pause {
            step.report.next = Some(step.position.to_string());
            return Ok(());
        }
        let mut next = step.position.section.next();
        if step.scope == Scope::Facts {
            next = next.filter(|section| *section != Section::Indices);
        }
        // A package has only its releases and its indices.
        if step.only.is_some() && next.is_some() {
            next = Some(Section::Indices);
        }
        match next {
            Some(next) => step.position = Position::start(next),
            None => return Ok(()),
        }
    }
}

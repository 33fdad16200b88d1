//! `terrace admin reindex`.

use std::cell::Cell;

use serde_json::json;
use terrace_core::api::admin::{ReindexAnswer, ReindexBody};
use terrace_core::api::endpoint::REINDEX;

use crate::args::PackageSpec;
use crate::commands::admin::loss::AcceptedLoss;
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::{Call, Client};

/// The indices to compare.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extent<'a> {
    /// The only package to examine, if there is one.
    pub(crate) package: Option<&'a str>,
    /// Whether the indices of every version are compared, and not only those of packages with lists that
    /// differ.
    pub(crate) is_full: bool,
}

/// Rebuilds indices from the facts: of all packages, or of one.
pub(super) fn reindex(
    extent: Extent<'_>,
    accepted: &[AcceptedLoss],
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let spec = extent.package.map(package).transpose()?;
    if accepted.contains(&AcceptedLoss::AuditLog) {
        return Err(Failure::Usage(
            "--accept-loss audit-log is for verify, export and gc: reindex reads releases only, and accepts \
             ADDRESS@VERSION"
                .to_owned(),
        ));
    }
    let client = session.connect()?;
    let package = match spec {
        Some(spec) => Some(spec.at(&client.host())?.package.address()),
        None => None,
    };
    let extent = Extent {
        package: package.as_deref(),
        ..extent
    };
    let done = walk(&client, extent, accepted, output)?;
    let ReindexAnswer {
        looked_at,
        rewritten,
        removed,
        failed,
        lost,
        ..
    } = &done;
    if !failed.is_empty() {
        let message = |key: &String| {
            format!("{key}: reindexing failed; the registry's log contains the reason")
        };
        return Err(Failure::Unexpected(
            failed.iter().map(message).collect::<Vec<_>>().join("; "),
        ));
    }
    if !lost.is_empty() {
        return Err(Failure::Refused(lost.iter().map(describe_lost).collect()));
    }
    if let (Some(package), 0) = (extent.package, *looked_at) {
        let url = client.url();
        return Err(Failure::Missing(format!(
            "nothing is published as {package} at {url}, and it has no index"
        )));
    }
    let text = format!(
        "checked {looked_at}, rebuilt {}, removed {}",
        rewritten.len(),
        removed.len()
    );
    let report = json!({ "status": "ok", "looked_at": looked_at, "rewritten": rewritten, "removed": removed });
    output.result(&[text], &report);
    Ok(())
}

/// Describes a lost release, with advice.
pub(super) fn describe_lost(release: &String) -> String {
    format!(
        "{release} was published, but its release document is missing: restore it from a copy (terrace admin \
         import), publish the same bytes again, or accept the loss (terrace admin reindex --accept-loss {release})"
    )
}

/// Reindexes step by step, and prints each changed index.
pub(crate) fn walk(
    client: &Client<'_>,
    extent: Extent<'_>,
    accepted: &[AcceptedLoss],
    output: &Output,
) -> Result<ReindexAnswer, Failure> {
    let checked = Cell::new(0);
    steps(client, extent, accepted, |step| {
        for key in &step.rewritten {
            output.progress(&format!("rebuilt the index for {key}"));
        }
        for key in &step.removed {
            output.progress(&format!("removed {key}"));
        }
        checked.set(checked.get() + step.looked_at);
        if step.next.is_some() {
            output.progress(&format!("checked {}", checked.get()));
        }
    })
}

/// Reindexes step by step, until the registry reports the last step. `report` gets each step.
pub(crate) fn steps(
    client: &Client<'_>,
    extent: Extent<'_>,
    accepted: &[AcceptedLoss],
    report: impl Fn(&ReindexAnswer),
) -> Result<ReindexAnswer, Failure> {
    let mut done = ReindexAnswer::default();
    let mut body = ReindexBody {
        after: None,
        package: extent.package.map(str::to_owned),
        full: extent.is_full,
        accept_loss: accepted
            .iter()
            .filter_map(|loss| loss.release().map(str::to_owned))
            .collect(),
    };
    loop {
        let step: ReindexAnswer = client.call(Call::post(&REINDEX).json(&body)?)?;
        done.looked_at += step.looked_at;
        report(&step);
        done.rewritten.extend(step.rewritten);
        done.removed.extend(step.removed);
        done.failed.extend(step.failed);
        done.lost.extend(step.lost);
        match step.next {
            Some(next) if body.after.as_ref() != Some(&next) => {
                body.after = Some(next);
            }
            Some(next) => {
                let message =
                    format!("the registry does not get past {next}; its log contains the reason");
                return Err(Failure::Unexpected(message));
            }
            None => return Ok(done),
        }
    }
}

/// Parses the address of a package, which the hostname of the registry may precede.
fn package(text: &str) -> Result<PackageSpec, Failure> {
    let spec = text
        .parse::<PackageSpec>()
        .ok()
        .filter(|spec| !spec.is_version());
    spec.ok_or_else(|| {
        Failure::Usage(format!(
            "{text:?} is not an address: write namespace/type, hostname/namespace/type or namespace/name/system"
        ))
    })
}

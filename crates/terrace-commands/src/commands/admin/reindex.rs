//! `terrace admin reindex`.

use serde_json::json;
use terrace_core::api::admin::{ReindexAnswer, ReindexBody};
use terrace_core::api::endpoint::REINDEX;

use super::loss::AcceptedLoss;
use crate::args::PackageSpec;
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::{Call, Client};

/// Rebuilds indices from the facts: of all packages, or of one.
pub(super) fn reindex(
    package: Option<&PackageSpec>,
    full: bool,
    accepted: &[AcceptedLoss],
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    if let Some(spec) = package.filter(|spec| spec.is_version()) {
        return Err(Failure::Usage(format!(
            "{spec} is a version, and the indices of a package are rebuilt together: leave out what follows the @"
        )));
    }
    let releases = accepted.iter().map(AcceptedLoss::release);
    let accept_loss: Option<Vec<String>> = releases.map(|it| it.map(str::to_owned)).collect();
    let accept_loss = accept_loss.ok_or_else(|| {
        let message = "--accept-loss audit-log is for verify, export and gc: reindex reads releases only, and accepts ADDRESS@VERSION";
        Failure::Usage(message.to_owned())
    })?;
    let client = session.connect()?;
    let package = match package {
        Some(spec) => Some(spec.at(&client.host())?.package.address()),
        None => None,
    };
    let body = ReindexBody {
        after: None,
        package: package.clone(),
        full,
        accept_loss,
    };
    let done = walk(&client, body, output)?;
    if !done.failed.is_empty() {
        let failed = done.failed.join(", ");
        return Err(Failure::Unexpected(format!(
            "these indices were not rebuilt: {failed}; the registry's log contains the reason"
        )));
    }
    if !done.lost.is_empty() {
        let lost = done.lost.iter().map(describe_lost);
        return Err(Failure::Refused(lost.collect()));
    }
    if let (Some(package), 0) = (package, done.looked_at) {
        let url = client.url();
        return Err(Failure::Missing(format!(
            "nothing is published as {package} at {url}, and it has no index"
        )));
    }
    let (looked_at, rewritten, removed) = (done.looked_at, done.rewritten, done.removed);
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

/// Reindexes step by step, until the registry reports the last step, and prints each changed index.
pub(crate) fn walk(
    client: &Client<'_>,
    mut body: ReindexBody,
    output: &Output,
) -> Result<ReindexAnswer, Failure> {
    let mut done = ReindexAnswer::default();
    loop {
        let step: ReindexAnswer = client.call(Call::post(&REINDEX).json(&body)?)?;
        for key in &step.rewritten {
            output.progress(&format!("rebuilt the index for {key}"));
        }
        for key in &step.removed {
            output.progress(&format!("removed {key}"));
        }
        done.looked_at += step.looked_at;
        done.rewritten.extend(step.rewritten);
        done.removed.extend(step.removed);
        done.failed.extend(step.failed);
        done.lost.extend(step.lost);
        match step.next {
            Some(next) if body.after.as_ref() != Some(&next) => {
                output.progress(&format!("checked {}", done.looked_at));
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

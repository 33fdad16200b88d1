//! `terrace admin erase`.
//!
//! The command looks at everything that refers to an archive, which no single request has time for, and the registry does as
//! it is told.

mod plan;

use terrace_core::api::admin::{ErasureAnswer, ErasureBody};
use terrace_core::limits;

use crate::args::{EraseArguments, RegistryArguments};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::{Output, plural};
use crate::registry::client::Client;

use plan::{Plan, Subject};

/// The consequences that hold for every erasure.
const CONSEQUENCES: &str = "an erasure cannot be undone; names and digests stay in the audit log. Copies of the registry are \
                            not changed until the next export to them";

/// Erases versions and archives, or lists everything that an erasure would change.
pub(crate) fn erase(
    arguments: &EraseArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let reason = &arguments.reason;
    if !reason.is_short() {
        let limit = limits::ERASURE_REASON_BYTES;
        let message = format!("--reason: the reason of an erasure must have at most {limit} bytes");
        return Err(Failure::Usage(message));
    }
    let client = connect(registry, output)?;
    let subject = match &arguments.address {
        Some(spec) => Subject::Versions(spec),
        None => Subject::Archives(&arguments.archives),
    };
    let plan = Plan::of(&client, &subject, arguments.everywhere, output)?;
    if !arguments.yes {
        preview(&plan, output);
        return Ok(());
    }
    let answers = carry_out(&client, &plan, &reason.to_string(), output)?;
    report(&plan, &answers, output);
    Ok(())
}

/// Shows what would be erased, and what would stay.
fn preview(plan: &Plan, output: &Output) {
    let mut lines: Vec<String> = plan
        .releases
        .iter()
        .map(|it| format!("{} would be erased", it.name))
        .collect();
    lines.extend(
        plan.erased
            .iter()
            .map(|key| format!("{key} would be erased")),
    );
    lines.extend(plan.notes());
    lines.push(format!(
        "{CONSEQUENCES}. Run the command with --yes to erase this"
    ));
    output.result(&lines, &plan.report("dry_run", None));
}

/// Sends a request for each version, and then for the other archives. Each may be repeated, so an interrupted erasure is
/// continued by the same command.
fn carry_out(
    client: &Client<'_>,
    plan: &Plan,
    reason: &str,
    output: &Output,
) -> Result<Vec<ErasureAnswer>, Failure> {
    let mut answers = Vec::new();
    let mut left = plan.erased.clone();
    for release in &plan.releases {
        let archives = release
            .archives
            .iter()
            .filter(|key| plan.erased.contains(*key));
        let body = ErasureBody {
            package: Some(release.address.clone()),
            version: Some(release.version.clone()),
            reason: reason.to_owned(),
            archives: archives.cloned().collect(),
            contents: Vec::new(),
        };
        left.retain(|key| !body.archives.contains(key));
        answers.push(client.erase(&body)?);
        output.progress(&format!("erased {}", release.name));
    }
    let left: Vec<String> = left.into_iter().collect();
    for archives in left.chunks(limits::ERASED_AT_ONCE) {
        answers.push(client.erase(&ErasureBody {
            reason: reason.to_owned(),
            archives: archives.to_vec(),
            ..ErasureBody::default()
        })?);
    }
    Ok(answers)
}

fn report(plan: &Plan, answers: &[ErasureAnswer], output: &Output) {
    let what = match (plan.releases.len(), plan.erased.len()) {
        (0, archives) => plural(archives, "archive"),
        (releases, archives) => format!(
            "{} and {}",
            plural(releases, "version"),
            plural(archives, "archive")
        ),
    };
    let mut text = format!("erased {what}");
    let uploads_end = answers.iter().filter_map(|answer| answer.uploads_end).max();
    if let Some(end) = uploads_end {
        text.push_str(&format!(
            "; URLs that were signed before may upload an erased archive again until {end}, and the repair removes it then"
        ));
    }
    let mut lines = vec![text];
    lines.extend(plan.notes());
    let uploads_end = uploads_end.map(|end| end.to_string());
    output.result(&lines, &plan.report("ok", uploads_end));
}

//! `terrace release`: the status of releases after their publish.

use terrace_core::api::admin::StandingBody;
use terrace_core::model::status::{Standings, Statement};

use super::connection::connect;
use crate::args::{RegistryArguments, ReleaseCommand, Saying, Subject};
use crate::error::Failure;
use crate::output::Output;

/// Executes the command.
pub(crate) fn run(
    command: &ReleaseCommand,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    match command {
        ReleaseCommand::Show { address } => show(address, registry, output),
        ReleaseCommand::Deprecate(saying) => say(saying, "deprecated", registry, output),
        ReleaseCommand::Withdraw(saying) => {
            check_version(&saying.address)?;
            say(saying, "withdrawn", registry, output)
        }
        ReleaseCommand::Revoke(saying) => {
            check_version(&saying.address)?;
            say(saying, "revoked", registry, output)
        }
        ReleaseCommand::Restore(saying) => say(saying, "active", registry, output),
    }
}

fn check_version(subject: &Subject) -> Result<(), Failure> {
    if subject.is_version() {
        return Ok(());
    }
    let message = format!("{subject}: name a version, as in {subject}@1.2.0");
    Err(Failure::Usage(message))
}

/// Sets the status of a release or a package.
fn say(
    saying: &Saying,
    state: &str,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let Saying {
        address: subject,
        reason,
    } = saying;
    let body = StandingBody {
        state: state.to_owned(),
        reason: reason.to_string(),
    };
    let client = connect(registry, output)?;
    let standings = client.say(&subject.package, subject.version.as_ref(), &body)?;
    let text = match state {
        "active" => format!("{subject} is what it was"),
        "revoked" => format!("{subject} is revoked, within five minutes everywhere: {reason}"),
        state => format!("{subject} is {state}, within a minute everywhere: {reason}"),
    };
    output.result(&[text], &report(subject, &standings));
    Ok(())
}

/// Shows the statuses of a package and of its versions.
fn show(subject: &Subject, registry: &RegistryArguments, output: &Output) -> Result<(), Failure> {
    let standings = connect(registry, output)?.standings(&subject.package)?;
    let address = subject.package.address();
    let line = |what: &str, statement: &Statement| {
        let Statement {
            state, reason, by, ..
        } = statement;
        format!("{what} is {state}: {reason} (said by {by})")
    };
    let package = standings.package.iter();
    let package = package.map(|statement| line(&address, statement));
    let versions = standings.versions.iter();
    let versions =
        versions.map(|(version, statement)| line(&format!("{address}@{version}"), statement));
    let mut lines: Vec<String> = package.chain(versions).collect();
    if lines.is_empty() {
        lines.push(format!("nothing is said of {address}"));
    }
    output.result(&lines, &report(subject, &standings));
    Ok(())
}

fn report(subject: &Subject, standings: &Standings) -> serde_json::Value {
    serde_json::json!({ "status": "ok", "address": subject.package.address(), "standings": standings })
}

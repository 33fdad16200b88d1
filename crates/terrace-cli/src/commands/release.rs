//! `terrace release`: the status of releases after their publish.

use terrace_core::api::admin::StatusBody;
use terrace_core::model::package::Package;
use terrace_core::model::status::{ReleaseStatus, StatusDocument};

use super::connection::connect;
use crate::args::{PackageSpec, RegistryArguments, ReleaseCommand, StatusArguments};
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
        ReleaseCommand::Deprecate(arguments) => {
            set_status(arguments, "deprecated", registry, output)
        }
        ReleaseCommand::Withdraw(arguments) => {
            check_version(&arguments.address)?;
            set_status(arguments, "withdrawn", registry, output)
        }
        ReleaseCommand::Revoke(arguments) => {
            check_version(&arguments.address)?;
            set_status(arguments, "revoked", registry, output)
        }
        ReleaseCommand::Restore(arguments) => set_status(arguments, "active", registry, output),
    }
}

fn check_version(spec: &PackageSpec) -> Result<(), Failure> {
    if spec.is_version() {
        return Ok(());
    }
    let message = format!("{spec}: specify a version, as in {spec}@1.2.0");
    Err(Failure::Usage(message))
}

/// Sets the status of a release or a package.
fn set_status(
    arguments: &StatusArguments,
    state: &str,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let StatusArguments {
        address: spec,
        reason,
    } = arguments;
    let body = StatusBody {
        state: state.to_owned(),
        reason: reason.to_string(),
    };
    let client = connect(registry, output)?;
    let standings = client.set_status(&spec.package, spec.version.as_ref(), &body);
    let standings = standings.map_err(|failure| match failure {
        Failure::Missing(message) => Failure::Missing(with_hint(message, &spec.package)),
        other => other,
    })?;
    let text = match state {
        "active" => format!("{spec} is active again"),
        "revoked" => format!("{spec} is revoked (everywhere within five minutes): {reason}"),
        state => format!("{spec} is {state} (everywhere within a minute): {reason}"),
    };
    output.result(&[text], &report(spec, &standings));
    Ok(())
}

/// Shows the statuses of a package and of its versions.
fn show(spec: &PackageSpec, registry: &RegistryArguments, output: &Output) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let standings = client.statuses(&spec.package)?;
    let address = spec.package.address();
    let has_status = standings.package.is_some() || !standings.versions.is_empty();
    if !has_status && !client.is_published(&spec.package)? {
        let url = client.url();
        let message =
            format!("nothing is published as {address} at {url}, or the token may not read it");
        return Err(Failure::Missing(with_hint(message, &spec.package)));
    }
    let line = |what: &str, statement: &ReleaseStatus| {
        let ReleaseStatus {
            state, reason, by, ..
        } = statement;
        format!("{what} is {state}: {reason} (set by {by})")
    };
    let package = standings.package.iter();
    let package = package.map(|statement| line(&address, statement));
    let versions = standings.versions.iter();
    let versions =
        versions.map(|(version, statement)| line(&format!("{address}@{version}"), statement));
    let mut lines: Vec<String> = package.chain(versions).collect();
    if lines.is_empty() {
        lines.push(format!("{address} and its versions have no status"));
    }
    output.result(&lines, &report(spec, &standings));
    Ok(())
}

/// Adds a hint to the message that a package does not exist: an address of two parts may lack the third of a module's.
pub(super) fn with_hint(message: String, package: &Package) -> String {
    let Package::Provider(address) = package else {
        return message;
    };
    format!(
        "{message}. {address} has two parts, and so is a provider; the address of a module has three, such as \
         {address}/aws"
    )
}

fn report(spec: &PackageSpec, standings: &StatusDocument) -> serde_json::Value {
    serde_json::json!({ "status": "ok", "address": spec.package.address(), "standings": standings })
}

//! `terrace release`: the status of releases after their publish.

mod show;

use clap::{Args, Subcommand};
use terrace_core::api::admin::StatusBody;
use terrace_core::model::package::Package;
use terrace_core::model::status::{Reason, StatusDocument};

use super::connection::connect;
use super::list::warn_of_callers;
use crate::args::{PackageSpec, RegistryArguments};
use crate::error::Failure;
use crate::output::{Output, with_times};
use crate::registry::client::Client;

#[derive(Debug, Subcommand)]
pub(crate) enum ReleaseCommand {
    /// Warn the users of a package or a version, because something else is better
    ///
    /// It stays available. For a provider, both clients print the reason on every init; for a module
    /// they print nothing.
    #[command(
        after_help = "Example: terrace release deprecate acme/widget --reason 'use acme/gadget instead'\nToken scope: publish:<namespace>, admin:<namespace> or admin"
    )]
    Deprecate(StatusArguments),
    /// Warn the users of a version that should not have been published
    ///
    /// The version stays available, because lock files that contain it would break otherwise. The reason, which
    /// both clients print for a provider, should name the version to use instead.
    #[command(
        after_help = "Example: terrace release withdraw acme/widget@1.2.0 --reason 'deletes tags: use 1.2.1'\nToken scope: publish:<namespace>, admin:<namespace> or admin"
    )]
    Withdraw(StatusArguments),
    /// Block a version, so that it can no longer be installed
    ///
    /// The version disappears from all lists, and requests for it get status 410 with the reason. This includes
    /// users who have it in a lock file.
    #[command(
        after_help = "Example: terrace release revoke acme/widget@1.2.0 --reason 'contains a credential'\nToken scope: admin:<namespace> or admin"
    )]
    Revoke(StatusArguments),
    /// Undo a deprecation, withdrawal or revocation
    ///
    /// Undoing a revocation requires the scope admin:<namespace> or admin.
    #[command(
        after_help = "Example: terrace release restore acme/widget@1.2.0 --reason 'deprecated by mistake'\nToken scope: publish:<namespace>, admin:<namespace> or admin; for a revocation, admin:<namespace> or admin"
    )]
    Restore(StatusArguments),
    /// Show the versions of a package with the status that clients see, or one of them
    ///
    /// A version is also revoked if the key that signed it is.
    #[command(
        after_help = "Example: terrace release show acme/widget\nToken scope: publish:<namespace>, admin:<namespace> or admin"
    )]
    Show {
        /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
        /// after <hostname>/ if it is mirrored; followed by @<version> for one version
        address: PackageSpec,
    },
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
    /// after <hostname>/ if it is mirrored; followed by @<version> for one version
    pub(crate) address: PackageSpec,
    /// The reason: one line, which users read
    #[arg(long)]
    pub(crate) reason: Reason,
}

/// The start of the reason for which a version is revoked together with its signing key.
const BY_KEY: &str = "its signing key ";

/// Executes the command.
pub(crate) fn run(
    command: &ReleaseCommand,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    match command {
        ReleaseCommand::Show { address } => show::run(address, registry, output),
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
    let StatusArguments { address, reason } = arguments;
    let body = StatusBody {
        state: state.to_owned(),
        reason: reason.to_string(),
    };
    let client = connect(registry, output)?;
    let spec = &address.at(&client.host())?;
    if matches!(state, "deprecated" | "revoked") {
        warn_of_callers(&client, &spec.package, output);
    }
    let statuses = client.set_status(&spec.package, spec.version.as_ref(), &body);
    let statuses = statuses.map_err(|failure| match failure {
        Failure::Missing(message) => Failure::Missing(with_hint(message, &spec.package)),
        other => other,
    })?;
    let text = match state {
        "active" => restored(spec, &client, output),
        "revoked" => format!("{spec} is revoked (everywhere within five minutes): {reason}"),
        state => format!("{spec} is {state} (everywhere within a minute): {reason}"),
    };
    output.result(&[text], &report(spec, &statuses));
    Ok(())
}

/// Returns the state of a version or package after its own status was removed: that of its signing key may remain.
fn restored(spec: &PackageSpec, client: &Client<'_>, output: &Output) -> String {
    let version = spec.version.as_ref();
    let reason = version.and_then(|version| client.revocation(&spec.package, version));
    // For a few minutes the registry may still show the status that was removed.
    match reason.filter(|reason| reason.starts_with(BY_KEY)) {
        Some(reason) => format!(
            "{spec} has no status of its own any more, but still cannot be installed, because {reason}; {} restores the \
             key",
            key_restoration(&spec.package, &reason, output)
        ),
        None => format!("{spec} is active again"),
    }
}

/// Returns the command that restores the key for which a version is revoked. Its reason names the key.
fn key_restoration(package: &Package, reason: &str, output: &Output) -> String {
    let key = reason
        .strip_prefix(BY_KEY)
        .and_then(|it| it.split(' ').next());
    let key = key.unwrap_or("KEY_ID");
    let namespace = match package {
        Package::Provider(address) => address.namespace.as_str(),
        Package::Module(_) | Package::Mirrored(_) => "NAMESPACE",
    };
    output.command(format_args!(
        "key restore {namespace} {key} --reason REASON"
    ))
}

/// Adds a hint to the message that a package does not exist: an address of two parts may lack the third of a module's, and
/// one with a hostname may be of the registry itself, which has several.
pub(super) fn with_hint(message: String, package: &Package) -> String {
    match package {
        Package::Provider(address) => format!(
            "{message}. {address} has two parts, and so is a provider; the address of a module has three, such as \
             {address}/aws"
        ),
        Package::Mirrored(address) => format!(
            "{message}. {address} is a provider of another registry; if {} is this one, leave it out",
            address.hostname
        ),
        Package::Module(_) => message,
    }
}

fn report(spec: &PackageSpec, statuses: &StatusDocument) -> serde_json::Value {
    serde_json::json!({ "status": "ok", "address": spec.package.address(), "statuses": with_times(statuses) })
}

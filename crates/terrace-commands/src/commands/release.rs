//! `terrace release`: the status of releases after their publish.

mod show;

use clap::{Args, Subcommand};
use serde_json::json;
use terrace_core::api::admin::StatusBody;
use terrace_core::model::package::Package;
use terrace_core::model::status::Reason;

use super::connection::Session;
use super::list::warn_of_callers;
use crate::args::PackageSpec;
use crate::error::Failure;
use crate::output::with_times;

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

/// Executes the command.
pub(crate) fn run(command: &ReleaseCommand, session: Session<'_>) -> Result<(), Failure> {
    let (arguments, state) = match command {
        ReleaseCommand::Show { address } => return show::run(address, session),
        ReleaseCommand::Deprecate(arguments) => (arguments, "deprecated"),
        ReleaseCommand::Withdraw(arguments) => (arguments, "withdrawn"),
        ReleaseCommand::Revoke(arguments) => (arguments, "revoked"),
        ReleaseCommand::Restore(arguments) => (arguments, "active"),
    };
    let StatusArguments { address, reason } = arguments;
    if matches!(state, "withdrawn" | "revoked") && !address.is_version() {
        let message = format!("{address}: specify a version, as in {address}@1.2.0");
        return Err(Failure::Usage(message));
    }
    let output = session.output;
    let body = StatusBody {
        state: state.to_owned(),
        reason: reason.to_string(),
    };
    let client = session.connect()?;
    let spec = &address.at(&client.host())?;
    if matches!(state, "deprecated" | "revoked") {
        warn_of_callers(&client, &spec.package, output);
    }
    let statuses = client.set_status(&spec.package, spec.version.as_ref(), &body);
    let statuses = statuses.map_err(|failure| with_hint(failure, &spec.package))?;
    let text = match state {
        // Its signing key may still be revoked.
        "active" => format!("{spec} has no status of its own any more"),
        "revoked" => format!("{spec} is revoked (everywhere within five minutes): {reason}"),
        state => format!("{spec} is {state} (everywhere within a minute): {reason}"),
    };
    let address = spec.package.address();
    let report = json!({ "status": "ok", "address": address, "statuses": with_times(&statuses) });
    output.result(&[text], &report);
    Ok(())
}

/// Adds a hint to the message that a package does not exist: an address of two parts may lack the third of a module's, and
/// one with a hostname may be of the registry itself, which has several.
pub(super) fn with_hint(failure: Failure, package: &Package) -> Failure {
    let Failure::Missing(message) = failure else {
        return failure;
    };
    Failure::Missing(match package {
        Package::Provider(address) => format!(
            "{message}. {address} has two parts, and so is a provider; the address of a module has three, such as \
             {address}/aws"
        ),
        Package::Mirrored(address) => format!(
            "{message}. {address} is a provider of another registry; if {} is this one, leave it out",
            address.hostname
        ),
        Package::Module(_) => message,
    })
}

//! `terrace mirror block` and `terrace mirror unblock`.

use clap::Args;
use serde_json::json;
use terrace_core::api::admin::StatusBody;
use terrace_core::model::name::PUBLIC_HOSTS;
use terrace_core::model::package::Package;
use terrace_core::model::status::{Reason, StatusDocument};

use super::propagation::{rewrite_versions, settle};
use super::{BlockSubject, list, mirrored, part};
use crate::args::PackageSpec;
use crate::commands::admin::erase::MODULE_IS_MISSING;
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::{Output, with_times};
use crate::registry::client::Client;

#[derive(Debug, Args)]
pub(crate) struct BlockArguments {
    /// The provider, as hostname/namespace/type, or the module, as hostname/namespace/name/system, followed by @<version> for
    /// one version; or hostname/namespace or hostname for all its packages. Without a version, later ones are blocked as well
    #[arg(value_name = "HOSTNAME[/NAMESPACE[/TYPE[@VERSION]]]")]
    pub(crate) subject: BlockSubject,

    /// The reason: one line, which users read
    #[arg(long)]
    pub(crate) reason: Reason,
}

#[derive(Debug, Args)]
pub(crate) struct UnblockArguments {
    /// The provider, as hostname/namespace/type, or the module, as hostname/namespace/name/system, followed by @<version> for
    /// one version; or the hostname/namespace or hostname that was blocked
    #[arg(value_name = "HOSTNAME[/NAMESPACE[/TYPE[@VERSION]]]")]
    pub(crate) subject: BlockSubject,
}

/// The reason of a request that lifts a block; nothing stores it.
const NO_REASON: &str = "unblocked";

/// Blocks a package or a version of it.
pub(super) fn block(arguments: &BlockArguments, session: Session<'_>) -> Result<(), Failure> {
    let BlockArguments { subject, reason } = arguments;
    let (client, output) = (session.connect()?, session.output);
    let spec = match subject {
        BlockSubject::Part(part) => return part::block(&client, part, reason, output),
        BlockSubject::Package(spec) => mirrored(spec, &client)?,
    };
    let statuses = send(&client, &spec, "blocked", &reason.to_string())?;
    if !spec.is_version() {
        rewrite_versions(&client, &spec.package.address(), output)?;
    }
    let mut text = format!("{spec} is blocked (everywhere within a minute): {reason}");
    if !list::is_stored(&client, &spec).unwrap_or(true) {
        text.push_str(&format!(
            ". It is not stored here: if it should be, compare its address with `{}`",
            output.command("mirror list")
        ));
    }
    match &spec.package {
        Package::Mirrored(it) if it.hostname.is_public() => {
            let mut others = PUBLIC_HOSTS.into_iter();
            let other = others.find(|host| *host != it.hostname.as_str());
            let other = other.unwrap_or_default();
            text.push_str(&format!(
                ". The provider of the same name at {other} is another one, and not blocked by this"
            ));
        }
        Package::Module(_) => text.push_str(&format!(". {MODULE_IS_MISSING}")),
        Package::Mirrored(_) | Package::Provider(_) => {}
    }
    report(&spec, text, &statuses, output);
    Ok(())
}

/// Lifts the block of a package or of a version of it.
pub(super) fn unblock(arguments: &UnblockArguments, session: Session<'_>) -> Result<(), Failure> {
    let (client, output) = (session.connect()?, session.output);
    let spec = match &arguments.subject {
        BlockSubject::Part(part) => return part::unblock(&client, part, output),
        BlockSubject::Package(spec) => mirrored(spec, &client)?,
    };
    let before = client.statuses(&spec.package)?;
    let block = match &spec.version {
        Some(version) => before.blocked_versions.get(&version.to_string()),
        None => before.blocked.as_ref(),
    };
    if let (Some(block), false) = (block, spec.is_version()) {
        settle(block.at, output);
    }
    // Even without a block, an earlier attempt may have been interrupted.
    let statuses = send(&client, &spec, "unblocked", NO_REASON)?;
    if !spec.is_version() {
        rewrite_versions(&client, &spec.package.address(), output)?;
    }
    let mut text = match block {
        Some(_) => format!("{spec} is no longer blocked (everywhere within a minute)"),
        None => format!("{spec} was not blocked"),
    };
    match (&spec.version, &statuses.blocked) {
        (Some(_), Some(block)) => text.push_str(&format!(
            ", but {} is blocked with all its versions: {}",
            spec.package.address(),
            block.reason
        )),
        (None, _) if !statuses.blocked_versions.is_empty() => {
            let versions = statuses.blocked_versions.keys();
            let versions: Vec<&str> = versions.map(String::as_str).collect();
            text.push_str(&format!(
                "; these versions are still blocked: {}",
                versions.join(", ")
            ));
        }
        _ => {}
    }
    if statuses.blocked.is_none() {
        let parts = list::blocked_parts(&client, output)?;
        text.push_str(&part::still_blocked(&parts, |it| it.owns(&spec.package)));
    }
    report(&spec, text, &statuses, output);
    Ok(())
}

fn send(
    client: &Client<'_>,
    spec: &PackageSpec,
    state: &str,
    reason: &str,
) -> Result<StatusDocument, Failure> {
    let body = StatusBody {
        state: state.to_owned(),
        reason: reason.to_owned(),
    };
    client.set_status(&spec.package, spec.version.as_ref(), &body)
}

fn report(spec: &PackageSpec, text: String, statuses: &StatusDocument, output: &Output) {
    let report = json!({
        "status": "ok",
        "address": spec.package.address(),
        "version": spec.version,
        "statuses": with_times(statuses),
    });
    output.result(&[text], &report);
}

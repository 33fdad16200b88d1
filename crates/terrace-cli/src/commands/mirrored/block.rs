//! `terrace mirror block` and `terrace mirror unblock`.

use std::time::Duration;

use serde_json::json;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::StatusBody;
use terrace_core::model::package::Package;
use terrace_core::model::status::StatusDocument;

use super::{list, mirrored, part};
use crate::args::{BlockArguments, BlockSubject, PackageSpec, RegistryArguments, UnblockArguments};
use crate::clock;
use crate::commands::admin::reindex;
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::{Output, with_times};
use crate::registry::client::Client;

/// How long a location may still read what an index contained before a block, in seconds: KV's own time, and that of the
/// edge. Until then, a repair cannot see that the index was written.
const SETTLING_SECONDS: u64 = 60;

/// The reason of a request that lifts a block; nothing stores it.
const NO_REASON: &str = "unblocked";

/// Blocks a provider or a version of it.
pub(super) fn block(
    arguments: &BlockArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let BlockArguments { subject, reason } = arguments;
    let client = connect(registry, output)?;
    let spec = match subject {
        BlockSubject::Part(part) => return part::block(&client, part, reason, output),
        BlockSubject::Package(spec) => mirrored(spec, &client)?,
    };
    let statuses = send(&client, &spec, "blocked", &reason.to_string())?;
    if !spec.is_version() {
        rewrite_versions(&client, &spec.package.address(), output)?;
    }
    let text = format!("{spec} is blocked (everywhere within a minute): {reason}");
    report(&spec, text, &statuses, output);
    Ok(())
}

/// Lifts the block of a provider or of a version of it.
pub(super) fn unblock(
    arguments: &UnblockArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect(registry, output)?;
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
    if let (Package::Mirrored(address), None) = (&spec.package, &statuses.blocked) {
        let parts = list::blocked_parts(&client, output)?;
        text.push_str(&part::still_blocked(&parts, |it| it.includes(address)));
    }
    report(&spec, text, &statuses, output);
    Ok(())
}

/// Waits until a block has reached every location.
pub(super) fn settle(blocked_at: UnixTime, output: &Output) {
    let age = clock::now().since(blocked_at);
    let seconds = SETTLING_SECONDS.saturating_sub(age);
    if seconds > 0 {
        output.progress(&format!(
            "the block is recent: waiting {seconds} s, until it has reached every location"
        ));
        std::thread::sleep(Duration::from_secs(seconds));
    }
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

/// Writes the indices of all stored versions, in steps. If this is interrupted, the periodic repair continues.
pub(super) fn rewrite_versions(
    client: &Client<'_>,
    address: &str,
    output: &Output,
) -> Result<(), Failure> {
    let extent = reindex::Extent {
        package: Some(address),
        is_full: false,
    };
    output.progress(&format!("updating the stored versions of {address}"));
    let done = reindex::steps(client, extent, &[], |_| {})?;
    if done.failed.is_empty() {
        return Ok(());
    }
    let failed = done.failed.join(", ");
    Err(Failure::Unexpected(format!(
        "the change is stored, but these indices were not written: {failed}; run the command again, or leave it to the periodic \
         repair. The registry's log contains the reason"
    )))
}

fn report(spec: &PackageSpec, text: String, statuses: &StatusDocument, output: &Output) {
    let report = json!({
        "status": "ok",
        "address": spec.package.address(),
        "version": spec.version,
        "standings": with_times(statuses),
    });
    output.result(&[text], &report);
}

//! `terrace release show`.

use serde_json::{Value, json};
use terrace_core::api::details::{PackageDetails, StatusView, VersionSummary};
use terrace_core::model::status::{ReleaseState, ReleaseStatus, StatusDocument};

use super::with_hint;
use crate::args::{PackageSpec, RegistryArguments};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, shown, with_times};

/// Shows the versions of a package with the status that clients see, and who set it.
pub(super) fn run(
    spec: &PackageSpec,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let spec = spec.at(&client.host())?;
    let set = client.statuses(&spec.package)?;
    let details = client.package(&spec.package);
    let mut details = details
        .map_err(|failure| match failure {
            Failure::Missing(message) => Failure::Missing(with_hint(message, &spec.package)),
            failure => failure,
        })?
        .value;
    if let Some(version) = &spec.version {
        details.versions.retain(|line| line.version == *version);
        if details.versions.is_empty() {
            let (address, url) = (spec.package.address(), client.url());
            let message = format!("{address} has no version {version} at {url}");
            return Err(Failure::Missing(message));
        }
    }
    for pending in pending(&set, &details) {
        output.warning(&pending);
    }
    output.report(
        screen(&spec, &set, &details),
        &document(&spec, &set, &details),
    );
    Ok(())
}

fn screen(spec: &PackageSpec, set: &StatusDocument, details: &PackageDetails) -> Screen {
    let mut screen = Screen::new();
    screen.title(&spec.package.address());
    let package = set.package.as_ref();
    let status = package.map(|it| {
        format!(
            "{}: {} (set by {} at {})",
            it.state, it.reason, it.by, it.at
        )
    });
    screen.fields(&[("package", shown(status))]);
    let mut table = Table::new([
        Column::whole("VERSION"),
        Column::status("STATUS"),
        Column::left_out(1, "SINCE"),
        Column::left_out(2, "SET BY"),
        Column::wrapped("REASON"),
    ]);
    for line in &details.versions {
        let status = line.status.as_ref();
        table.row([
            line.version.to_string(),
            state(line),
            shown(status.map(|status| &status.at)),
            shown(setter(set, line)),
            shown(status.map(|status| &status.reason)),
        ]);
    }
    screen.table(&table);
    screen
}

fn document(spec: &PackageSpec, set: &StatusDocument, details: &PackageDetails) -> Value {
    let version = |line: &VersionSummary| {
        let status = line.status.as_ref();
        json!({
            "version": line.version,
            "state": state(line),
            "reason": status.map(|status| &status.reason),
            "at": status.map(|status| &status.at),
            "by": setter(set, line),
        })
    };
    json!({
        "status": "ok",
        "address": spec.package.address(),
        "versions": details.versions.iter().map(version).collect::<Vec<_>>(),
        "statuses": with_times(set),
    })
}

fn state(line: &VersionSummary) -> String {
    let status = line.status.as_ref();
    status.map_or_else(|| "active".to_owned(), |status| status.state.to_string())
}

/// Returns the caller who set the status of a version; `None` if it follows from that of its signing key.
fn setter<'s>(set: &'s StatusDocument, line: &VersionSummary) -> Option<&'s str> {
    let status = set.versions.get(&line.version.to_string())?;
    is_same(status, line.status.as_ref()?).then_some(status.by.as_str())
}

fn is_same(set: &ReleaseStatus, seen: &StatusView) -> bool {
    set.state == seen.state && set.reason == seen.reason
}

/// Returns a line for each version with a status that clients do not see yet. A version with a revoked signing key is
/// revoked, whatever its own status is.
fn pending(set: &StatusDocument, details: &PackageDetails) -> Vec<String> {
    let lines = details.versions.iter().filter_map(|line| {
        let status = set.versions.get(&line.version.to_string())?;
        let seen = line.status.as_ref();
        let is_seen =
            seen.is_some_and(|seen| seen.state >= ReleaseState::Revoked || is_same(status, seen));
        let state = status.state;
        (!is_seen).then(|| {
            format!(
                "{} was set to {state}, which clients see within five minutes",
                line.version
            )
        })
    });
    lines.collect()
}

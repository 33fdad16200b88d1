//! `terrace release show`.

use serde_json::{Value, json};
use terrace_core::model::package::Package;
use terrace_core::model::status::{ReleaseStatus, StatusDocument};
use terrace_core::model::version::Version;

use super::with_hint;
use crate::args::{PackageSpec, RegistryArguments};
use crate::commands::admin::stored::without_archive;
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, shown, with_times};
use crate::registry::catalog::{PackageDetails, Status, VersionLine};

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
        details.versions.retain(|line| is_of(line, version));
        if details.versions.is_empty() {
            let (address, url) = (spec.package.address(), client.url());
            let message = format!("{address} has no version {version} at {url}");
            return Err(Failure::Missing(message));
        }
    }
    let erased = without_archive(&client, &spec.package, output)?;
    let is_erased = |line: &VersionLine| erased.iter().any(|version| is_of(line, version));
    for line in details.versions.iter().filter(|line| is_erased(line)) {
        output.warning(&unavailable(&spec.package, line, output));
    }
    for pending in pending(&set, &details) {
        output.warning(&pending);
    }
    output.report(
        screen(&spec, &set, &details),
        &document(&spec, &set, &details, is_erased),
    );
    Ok(())
}

/// Returns the message about a version when its archive was erased with another version.
fn unavailable(package: &Package, line: &VersionLine, output: &Output) -> String {
    let version = format!("{}@{}", package.address(), line.version);
    let command = output.command(format_args!("admin erase {version} --reason REASON"));
    format!(
        "{version} cannot be installed, whatever its status is: its archive was erased. To erase the version as well, run \
         `{command}`"
    )
}

fn is_of(line: &VersionLine, version: &Version) -> bool {
    line.version.parse().is_ok_and(|it: Version| it == *version)
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
            line.version.clone(),
            state(line).to_owned(),
            shown(status.and_then(|status| status.at.as_ref())),
            shown(setter(set, line)),
            shown(status.and_then(|status| status.reason.as_ref())),
        ]);
    }
    screen.table(&table);
    screen
}

fn document(
    spec: &PackageSpec,
    set: &StatusDocument,
    details: &PackageDetails,
    is_erased: impl Fn(&VersionLine) -> bool,
) -> Value {
    let version = |line: &VersionLine| {
        let status = line.status.as_ref();
        json!({
            "version": line.version,
            "state": state(line),
            "reason": status.and_then(|status| status.reason.as_ref()),
            "at": status.and_then(|status| status.at.as_ref()),
            "by": setter(set, line),
            "archive_erased": is_erased(line),
        })
    };
    json!({
        "status": "ok",
        "address": spec.package.address(),
        "versions": details.versions.iter().map(version).collect::<Vec<_>>(),
        "statuses": with_times(set),
    })
}

fn state(line: &VersionLine) -> &str {
    line.status
        .as_ref()
        .map_or("active", |status| &status.state)
}

/// Returns the caller who set the status of a version; `None` if it follows from that of its signing key.
fn setter<'s>(set: &'s StatusDocument, line: &VersionLine) -> Option<&'s str> {
    let status = set.versions.get(&line.version)?;
    is_same(status, line.status.as_ref()?).then_some(status.by.as_str())
}

fn is_same(set: &ReleaseStatus, seen: &Status) -> bool {
    set.state.to_string() == seen.state && seen.reason.as_deref() == Some(&set.reason.to_string())
}

/// Returns a line for each version with a status that clients do not see yet. A version with a revoked signing key is
/// revoked, whatever its own status is.
fn pending(set: &StatusDocument, details: &PackageDetails) -> Vec<String> {
    let lines = details.versions.iter().filter_map(|line| {
        let status = set.versions.get(&line.version)?;
        let seen = line.status.as_ref();
        let is_seen = seen.is_some_and(|seen| {
            matches!(seen.state.as_str(), "revoked" | "blocked") || is_same(status, seen)
        });
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

//! `terrace release show`.

use serde_json::json;
use terrace_core::api::details::VersionSummary;
use terrace_core::model::status::StatusDocument;

use super::with_hint;
use crate::args::PackageSpec;
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::{Column, Screen, Table, shown, with_times};

/// Shows the versions of a package with the status that clients see, and who set it.
pub(super) fn run(spec: &PackageSpec, session: Session<'_>) -> Result<(), Failure> {
    let client = session.connect()?;
    let spec = spec.at(&client.host())?;
    let set = client.statuses(&spec.package)?;
    let details = client.package(&spec.package);
    let details = details.map_err(|failure| with_hint(failure, &spec.package));
    let mut details = details?.value;
    if let Some(version) = &spec.version {
        details.versions.retain(|line| line.version == *version);
        if details.versions.is_empty() {
            let (address, url) = (spec.package.address(), client.url());
            let message = format!("{address} has no version {version} at {url}");
            return Err(Failure::Missing(message));
        }
    }
    let mut screen = Screen::new();
    screen.title(&spec.package.address());
    let package = set.package.as_ref();
    let package = package.map(|it| {
        format!(
            "{}: {} (set by {} at {})",
            it.state, it.reason, it.by, it.at
        )
    });
    screen.fields(&[("package", shown(package))]);
    let mut versions = Vec::new();
    let rows = details.versions.iter().map(|line| {
        let status = line.status.as_ref();
        let at = status.map(|status| &status.at);
        let reason = status.map(|status| &status.reason);
        let (state, by) = (state(line), setter(&set, line));
        versions.push(json!({
            "version": line.version, "state": state, "reason": reason, "at": at, "by": by,
        }));
        let version = line.version.to_string();
        [version, state, shown(at), shown(by), shown(reason)]
    });
    screen.table(&Table::of(
        [
            Column::whole("VERSION"),
            Column::status("STATUS"),
            Column::left_out(1, "SINCE"),
            Column::left_out(2, "SET BY"),
            Column::wrapped("REASON"),
        ],
        rows,
    ));
    let document = json!({
        "status": "ok",
        "address": spec.package.address(),
        "versions": versions,
        "statuses": with_times(&set),
    });
    session.output.report(screen, &document);
    Ok(())
}

fn state(line: &VersionSummary) -> String {
    let status = line.status.as_ref();
    status.map_or_else(|| "active".to_owned(), |status| status.state.to_string())
}

/// Returns the caller who set the status of a version; `None` if it follows from that of its signing key, or is not seen yet.
fn setter<'s>(set: &'s StatusDocument, line: &VersionSummary) -> Option<&'s str> {
    let status = set.versions.get(&line.version.to_string())?;
    let seen = line.status.as_ref()?;
    let is_same = status.state == seen.state && status.reason == seen.reason;
    is_same.then_some(status.by.as_str())
}

//! The results of all versions, printed at the end.

use serde_json::{Value, json};

use super::planned::PlannedVersion;
use crate::commands::report::{Outcome, Report, VersionReport};
use crate::error::Failure;
use crate::output::{Column, Output, Table};
use crate::source::collection::reach::PackagePlace;

/// Returns the result for a version that was not tried yet.
pub(super) fn untried(
    address: String,
    version: Option<String>,
    planned: &PlannedVersion,
) -> VersionReport {
    let path = &planned.module.directory;
    let details = match &planned.tag {
        Some(tag) => json!({ "path": path, "tag": tag.name, "commit": tag.commit }),
        None => json!({ "path": path }),
    };
    VersionReport {
        address,
        version,
        outcome: Outcome::NotTried,
        details,
    }
}

/// Returns the result for a version, or a module without any, that cannot be published.
pub(super) fn refused(
    address: String,
    version: Option<String>,
    planned: &PlannedVersion,
    reason: String,
) -> VersionReport {
    VersionReport {
        outcome: Outcome::Failed(Failure::refused(reason)),
        ..untried(address, version, planned)
    }
}

pub(super) fn version_of(planned: &PlannedVersion) -> Option<String> {
    Some(planned.version.to_string())
}

/// Adds the package of a version.
pub(super) fn add_package(details: &mut Value, place: &PackagePlace) {
    let Some(details) = details.as_object_mut() else {
        return;
    };
    details.insert("package".to_owned(), json!(place.directory));
    if !place.subdir.is_empty() {
        let directories = place.extent.directories().collect();
        details.insert("subdir".to_owned(), json!(place.subdir));
        details.insert("directories".to_owned(), directories);
    }
}

/// Prints the report, as a success or as a failure.
pub(super) fn tell(
    mut versions: Vec<VersionReport>,
    mut report: Report,
    output: &Output,
) -> Result<(), Failure> {
    // The failures come last: only the end of a long table is still visible.
    versions.sort_by_key(|version| version.failure().is_some());
    let mut table = Table::new([
        Column::whole("MODULE"),
        Column::whole("VERSION"),
        Column::status("STATUS"),
        Column::left_out(2, "TAG"),
        Column::left_out(1, "DIRECTORY"),
    ]);
    for version in versions {
        let detail = |name: &str| {
            let detail = version.details.get(name).and_then(Value::as_str);
            detail.unwrap_or_default()
        };
        let directory = match (detail("package"), detail("subdir")) {
            (_, "") => detail("path").to_owned(),
            ("", subdir) => format!(".//{subdir}"),
            (package, subdir) => format!("{package}//{subdir}"),
        };
        table.row([
            version.address.clone(),
            version.version.clone().unwrap_or_default(),
            version.shown_status().to_owned(),
            detail("tag").to_owned(),
            directory,
        ]);
        report.push(version);
    }
    report.tell_as(Some(&table), output)
}

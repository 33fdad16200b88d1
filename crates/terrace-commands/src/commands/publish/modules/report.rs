//! The results of all versions, printed at the end.

use serde_json::{Value, json};

use crate::commands::report::{Outcome, Report, VersionReport};
use crate::error::Failure;
use crate::output::{Column, Output, Table, bytes};
use crate::source::collection::reach::PackagePlace;
use crate::source::git::Tag;

/// The result for one version, or for a module that has none.
pub(super) struct Row {
    pub(super) report: VersionReport,
    tag: Option<String>,
    commit: Option<String>,
    directory: String,
    /// The package, once it is known.
    pub(super) package: Option<PackagePlace>,
    /// The number of files in the archive, and its size, once it is packed.
    pub(super) archive: Option<(usize, u64)>,
}

impl Row {
    /// Returns the row of a version that was not tried yet.
    pub(super) fn new(
        address: String,
        version: Option<String>,
        directory: &str,
        tag: Option<&Tag>,
    ) -> Self {
        Self {
            report: VersionReport {
                address,
                version,
                outcome: Outcome::NotTried,
                details: Value::Null,
            },
            tag: tag.map(|tag| tag.name.clone()),
            commit: tag.map(|tag| tag.commit.clone()),
            directory: directory.to_owned(),
            package: None,
            archive: None,
        }
    }

    /// Returns the row of a module or version that cannot be published.
    pub(super) fn of_problem(
        (address, version): (String, Option<String>),
        directory: &str,
        reason: String,
    ) -> Self {
        let mut row = Self::new(address, version, directory, None);
        row.report.outcome = Outcome::Failed(Failure::refused(reason));
        row
    }

    /// Returns the location in the package, such as `modules//vpc` if the package is more than the module.
    fn location(&self) -> String {
        let top = |directory: &str| match directory {
            "" => ".".to_owned(),
            directory => directory.to_owned(),
        };
        match &self.package {
            Some(place) if !place.subdir.is_empty() => {
                format!("{}//{}", top(&place.directory), place.subdir)
            }
            _ => top(&self.directory),
        }
    }

    fn cells(&self) -> [String; 7] {
        let done = self.archive;
        let done = done.filter(|_| matches!(self.report.outcome, Outcome::Done(_)));
        [
            self.report.address.clone(),
            self.report.version.clone().unwrap_or_default(),
            self.report.shown_status().to_owned(),
            self.tag.clone().unwrap_or_default(),
            self.location(),
            done.map_or_else(String::new, |(files, _)| files.to_string()),
            done.map_or_else(String::new, |(_, size)| bytes(size)),
        ]
    }

    /// Returns the details for programs.
    fn details(&self) -> Value {
        let package = self.package.as_ref();
        let subdir = package.filter(|place| !place.subdir.is_empty());
        let details = [
            ("path", Some(json!(self.directory))),
            ("tag", self.tag.as_ref().map(|it| json!(it))),
            ("commit", self.commit.as_ref().map(|it| json!(it))),
            ("package", package.map(|place| json!(place.directory))),
            ("subdir", subdir.map(|place| json!(place.subdir))),
            (
                "directories",
                subdir.map(|place| place.extent.directories().collect()),
            ),
        ];
        let details = details.into_iter();
        details
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }
}

/// Prints the report, as a success or as a failure.
pub(super) fn tell(rows: Vec<Row>, mut report: Report, output: &Output) -> Result<(), Failure> {
    let mut table = Table::new([
        Column::whole("MODULE"),
        Column::whole("VERSION"),
        Column::status("STATUS"),
        Column::left_out(4, "TAG"),
        Column::left_out(2, "DIRECTORY"),
        Column::left_out(1, "FILES"),
        Column::left_out(3, "SIZE"),
    ]);
    // The failures come last: only the end of a long table is still visible.
    let (failed, others): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.report.failure().is_some());
    for row in others.into_iter().chain(failed) {
        table.row(row.cells());
    }
    for mut row in rows {
        row.report.details = row.details();
        report.push(row.report);
    }
    report.tell_as(Some(&table), output)
}

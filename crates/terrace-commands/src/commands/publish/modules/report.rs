//! The results of all versions, printed at the end.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use terrace_core::model::address::ModuleAddress;

use super::planned::{PlannedVersion, Problem};
use crate::error::{Failure, Several};
use crate::output::{Column, Output, Screen, Table, bytes, were};
use crate::source::collection::reach::PackagePlace;

/// The results of a run.
pub(super) struct Report {
    /// The registry; `None` in a dry run without one.
    pub(super) url: Option<String>,
    pub(super) is_dry_run: bool,
    pub(super) place: String,
    pub(super) ignored_tags: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// The result for one version, or for a module that has none.
pub(super) struct Row {
    name: String,
    version: Option<String>,
    tag: Option<String>,
    commit: Option<String>,
    directory: String,
    /// The package, once it is known.
    pub(super) package: Option<PackagePlace>,
    pub(super) outcome: Outcome,
}

/// The outcome for one version.
pub(super) enum Outcome {
    Done(Done),
    Failed(Failure),
    /// Not tried, because other versions failed in a way that would affect this one as well.
    NotTried,
    /// Skipped, because the registry erased it: its tag may stay, and nothing can be done about it.
    Skipped(String),
}

/// A success.
pub(super) struct Done {
    /// `created`, `unchanged` or `dry_run`.
    pub(super) status: &'static str,
    pub(super) files: usize,
    pub(super) size: u64,
    pub(super) sha256: Option<String>,
}

impl Outcome {
    /// Returns the outcome of a try.
    pub(super) fn of(tried: Result<Done, Failure>) -> Self {
        match tried {
            Ok(done) => Self::Done(done),
            Err(Failure::Erased(reasons)) => Self::Skipped(reasons.join("; ")),
            Err(failure) => Self::Failed(failure),
        }
    }
}

impl Row {
    /// Returns the row of a version that was not tried yet.
    pub(super) fn new(address: &ModuleAddress, version: &PlannedVersion) -> Self {
        Self {
            name: address.to_string(),
            version: Some(version.version.to_string()),
            tag: version.tag.as_ref().map(|tag| tag.name.clone()),
            commit: version.tag.as_ref().map(|tag| tag.commit.clone()),
            directory: version.directory.clone(),
            package: None,
            outcome: Outcome::NotTried,
        }
    }

    /// Returns the row of a module or version that cannot be published.
    pub(super) fn of_problem(problem: &Problem) -> Self {
        Self {
            name: problem.name.clone(),
            version: problem.version.as_ref().map(ToString::to_string),
            tag: None,
            commit: None,
            directory: problem.directory.clone(),
            package: None,
            outcome: Outcome::Failed(Failure::refused(problem.reason.clone())),
        }
    }

    /// Returns the line for people.
    pub(super) fn line(&self) -> String {
        let line = format!("{:<11}  {}", self.shown_status(), self.title());
        match &self.outcome {
            Outcome::Skipped(reason) => format!("{line}: {reason}"),
            _ => line,
        }
    }

    fn title(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.name),
            None => self.name.clone(),
        }
    }

    fn status(&self) -> &'static str {
        match &self.outcome {
            Outcome::Done(done) => done.status,
            Outcome::Failed(failure) => failure.status(),
            Outcome::NotTried => "not_tried",
            Outcome::Skipped(_) => "skipped",
        }
    }

    /// Returns the status for people.
    fn shown_status(&self) -> &'static str {
        match self.status() {
            "dry_run" => "checked",
            "not_allowed" => "not allowed",
            "not_tried" => "not tried",
            status => status,
        }
    }

    /// Returns the word under which the outcome is counted.
    fn tally(&self) -> &'static str {
        match self.failure() {
            Some(_) => "failed",
            None => self.shown_status(),
        }
    }

    fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Failed(failure) => Some(failure),
            Outcome::Done(_) | Outcome::NotTried | Outcome::Skipped(_) => None,
        }
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
        let done = match &self.outcome {
            Outcome::Done(done) => Some(done),
            _ => None,
        };
        [
            self.name.clone(),
            self.version.clone().unwrap_or_default(),
            self.shown_status().to_owned(),
            self.tag.clone().unwrap_or_default(),
            self.location(),
            done.map_or_else(String::new, |done| done.files.to_string()),
            done.map_or_else(String::new, |done| bytes(done.size)),
        ]
    }

    fn document(&self) -> Value {
        let mut document = json!({
            "address": self.name,
            "status": self.status(),
            "path": self.directory,
        });
        let mut set = |name: &str, value: Option<Value>| {
            if let (Some(members), Some(value)) = (document.as_object_mut(), value) {
                members.insert(name.to_owned(), value);
            }
        };
        set("version", self.version.as_ref().map(|it| json!(it)));
        set("tag", self.tag.as_ref().map(|it| json!(it)));
        set("commit", self.commit.as_ref().map(|it| json!(it)));
        if let Some(place) = &self.package {
            set("package", Some(json!(place.directory)));
            let subdir = Some(&place.subdir).filter(|it| !it.is_empty());
            set("subdir", subdir.map(|it| json!(it)));
            let directories: Vec<&str> = place.extent.directories().collect();
            set("directories", subdir.map(|_| json!(directories)));
        }
        match &self.outcome {
            Outcome::Done(done) => set(
                "archive",
                Some(json!({ "sha256": done.sha256, "size": done.size, "files": done.files })),
            ),
            Outcome::Failed(failure) => set("errors", Some(json!(failure.reasons()))),
            Outcome::Skipped(reason) => set("reason", Some(json!(reason))),
            Outcome::NotTried => {}
        }
        document
    }
}

impl Report {
    /// Prints the report, as a success or as a failure.
    pub(super) fn tell(self, output: &Output) -> Result<(), Failure> {
        let mut document = self.document();
        let failures = self.rows.iter().filter_map(Row::failure);
        let Some(worst) = failures.max_by_key(|failure| Reverse(failure.urgency())) else {
            let status = if self.is_dry_run { "dry_run" } else { "ok" };
            document.insert("status".to_owned(), json!(status));
            output.report(self.shown_on(Screen::new()), &document);
            return Ok(());
        };
        Err(Failure::Several(Box::new(Several {
            worst: worst.clone(),
            reasons: self.reasons(),
            lines: self.shown_on(Screen::plain()).into_lines(),
            document,
        })))
    }

    fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        for row in &self.rows {
            let found = row.failure().map(Failure::reasons).unwrap_or_default();
            reasons.extend(
                found
                    .iter()
                    .map(|reason| format!("{}: {reason}", row.title())),
            );
        }
        let is_untried = |row: &&Row| matches!(row.outcome, Outcome::NotTried);
        let untried = self.rows.iter().filter(is_untried).count();
        if untried > 0 {
            reasons.push(format!(
                "{} not tried: run the command again",
                were(untried)
            ));
        }
        reasons
    }

    fn shown_on(&self, mut screen: Screen) -> Screen {
        let mut table = Table::new([
            Column::whole("MODULE"),
            Column::whole("VERSION"),
            Column::status("STATUS"),
            Column::left_out(4, "TAG"),
            Column::left_out(2, "DIRECTORY"),
            Column::left_out(1, "FILES"),
            Column::left_out(3, "SIZE"),
        ]);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        // The failures come last: only the end of a long table is still visible.
        let (failed, others): (Vec<&Row>, Vec<&Row>) =
            self.rows.iter().partition(|row| row.failure().is_some());
        for row in others.into_iter().chain(failed) {
            table.row(row.cells());
            *counts.entry(row.tally()).or_insert(0) += 1;
        }
        let counts: Vec<String> = counts
            .iter()
            .map(|(what, n)| format!("{n} {what}"))
            .collect();
        let place = match &self.url {
            Some(url) if !self.is_dry_run => format!("at {url}"),
            _ => "in a dry run: nothing was sent".to_owned(),
        };
        screen.table(&table);
        screen.text(&format!("{} {place}", counts.join(", ")));
        screen
    }

    fn document(&self) -> Map<String, Value> {
        let modules: Vec<Value> = self.rows.iter().map(Row::document).collect();
        let document = json!({
            "kind": "modules",
            "url": self.url,
            "source": self.place,
            "versions": modules,
            "ignored_tags": self.ignored_tags,
        });
        match document {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }
}

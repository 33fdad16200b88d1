//! The results of all versions, printed at the end.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::{Failure, Several};
use crate::output::{Output, Screen, Table};

/// The results of a run.
pub(crate) struct Report {
    /// The word for the results of the command, for programs.
    kind: &'static str,
    /// The registry; `None` in a dry run without one.
    url: Option<String>,
    dry_run: bool,
    versions: Vec<VersionReport>,
    /// The errors that do not belong to a version.
    pub(crate) unread: Vec<String>,
    /// The files and directories that are skipped.
    pub(crate) skipped: Vec<Skipped>,
    /// Further members of the document for programs: an object.
    pub(crate) details: Value,
}

/// A file or directory that is skipped.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Skipped {
    pub(crate) path: String,
    pub(crate) reason: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

/// The result for one version, or for a package as a whole.
pub(crate) struct VersionReport {
    pub(crate) address: String,
    pub(crate) version: Option<String>,
    pub(crate) outcome: Outcome,
    /// The details for programs, whatever the outcome is: an object.
    pub(crate) details: Value,
}

/// The outcome for one version.
pub(crate) enum Outcome {
    Done(Done),
    Failed(Failure),
    /// Not tried, because other versions failed in a way that would affect this one as well.
    NotTried,
    /// Skipped, with the reason.
    Skipped(String),
}

impl Outcome {
    /// Returns the outcome of a try. An erased version is skipped: what names it may stay, and nothing can be done about it.
    pub(crate) fn of(tried: Result<Done, Failure>) -> Self {
        match tried {
            Ok(done) => Self::Done(done),
            Err(Failure::Erased(reasons)) => Self::Skipped(reasons.join("; ")),
            Err(failure) => Self::Failed(failure),
        }
    }

    /// Returns the failure of those who need a version that has another outcome than a success.
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            Self::Skipped(reason) => Failure::refused(reason),
            Self::Done(_) | Self::NotTried => Failure::refused("it was not tried"),
        }
    }
}

/// A success.
pub(crate) struct Done {
    /// `created`, `unchanged` or `dry_run`.
    pub(crate) status: &'static str,
    /// The text after the address and the version, for people.
    pub(crate) text: String,
    /// The lines below the text.
    pub(crate) lines: Vec<String>,
    /// The details for programs: an object.
    pub(crate) details: Value,
}

impl Done {
    /// Returns a success of which people see only the status, the address and the version.
    pub(crate) fn plain(status: &'static str, details: Value) -> Self {
        Self {
            status,
            text: String::new(),
            lines: Vec::new(),
            details,
        }
    }
}

impl Report {
    pub(crate) fn new(kind: &'static str, url: Option<String>, dry_run: bool) -> Self {
        Self {
            kind,
            url,
            dry_run,
            versions: Vec::new(),
            unread: Vec::new(),
            skipped: Vec::new(),
            details: json!({}),
        }
    }

    /// Adds a result without further details, and prints it at once.
    pub(crate) fn note(
        &mut self,
        address: String,
        version: Option<String>,
        outcome: Outcome,
        output: &Output,
    ) {
        let version = VersionReport {
            address,
            version,
            outcome,
            details: Value::Null,
        };
        version.announce(output);
        self.push(version);
    }

    /// Adds a result that is printed already.
    pub(crate) fn push(&mut self, version: VersionReport) {
        self.versions.push(version);
    }

    /// Prints the report, as a success or as a failure.
    pub(crate) fn tell(self, output: &Output) -> Result<(), Failure> {
        self.tell_as(None, output)
    }

    /// Prints the report with a table in place of a line for each version.
    pub(crate) fn tell_as(self, table: Option<&Table>, output: &Output) -> Result<(), Failure> {
        let mut document = self.document();
        let screen = |mut screen: Screen, table: &Table| {
            screen.table(table);
            screen.text(&self.summary());
            screen
        };
        let lines = match table {
            Some(table) => screen(Screen::plain(), table).into_lines(),
            None => self.lines(),
        };
        if let Some(failure) = self.failure_with(lines.clone(), document.clone()) {
            return Err(failure);
        }
        let status = if self.dry_run { "dry_run" } else { "ok" };
        document.insert("status".to_owned(), json!(status));
        match table {
            Some(table) => output.report(screen(Screen::new(), table), &document),
            None => output.result(&lines, &document),
        }
        Ok(())
    }

    /// Returns the failure that other results of the command end with, if anything failed.
    pub(crate) fn failure_with(
        &self,
        lines: Vec<String>,
        document: Map<String, Value>,
    ) -> Option<Failure> {
        let of_versions = self.versions.iter().filter_map(VersionReport::failure);
        let of_files = Failure::Refused(self.unread.clone());
        let of_files = (!self.unread.is_empty()).then_some(&of_files);
        let all = of_versions.chain(of_files);
        let worst = all.max_by_key(|failure| Reverse(failure.urgency()))?;
        Some(Failure::Several(Box::new(Several {
            worst: worst.clone(),
            reasons: self.reasons(),
            lines,
            document,
        })))
    }

    fn reasons(&self) -> Vec<String> {
        let mut reasons = self.unread.clone();
        for version in &self.versions {
            let name = |reason| format!("{}: {reason}", version.name());
            let found = version.failure().map(Failure::reasons);
            reasons.extend(found.into_iter().flatten().map(name));
        }
        let is_untried = |version: &&VersionReport| matches!(version.outcome, Outcome::NotTried);
        match self.versions.iter().filter(is_untried).count() {
            0 => {}
            more => reasons.push(format!("{more} more were not tried: run the command again")),
        }
        reasons
    }

    fn lines(&self) -> Vec<String> {
        let versions = self.versions.iter().flat_map(VersionReport::lines);
        let mut lines: Vec<String> = versions.collect();
        for skipped in &self.skipped {
            lines.push(format!("{:<11}  {skipped}", "skipped"));
        }
        for reason in &self.unread {
            lines.push(format!("{:<11}  {reason}", "refused"));
        }
        lines.push(self.summary());
        lines
    }

    /// Returns the number of each outcome, and the registry.
    fn summary(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let versions = self.versions.iter().map(VersionReport::tally);
        let skipped = self.skipped.iter().map(|_| "skipped");
        let failed = self.unread.iter().map(|_| "failed");
        for what in versions.chain(skipped).chain(failed) {
            *counts.entry(what).or_insert(0) += 1;
        }
        let counts = counts.iter().map(|(what, n)| format!("{n} {what}"));
        let counts = match counts.collect::<Vec<_>>() {
            counts if counts.is_empty() => "nothing".to_owned(),
            counts => counts.join(", "),
        };
        match &self.url {
            Some(url) if !self.dry_run => format!("{counts} at {url}"),
            _ => format!("{counts} in a dry run: nothing was sent"),
        }
    }

    fn document(&self) -> Map<String, Value> {
        let versions: Vec<Value> = self.versions.iter().map(VersionReport::document).collect();
        let mut document = object(json!({
            "kind": self.kind,
            "url": self.url,
            "versions": versions,
        }));
        document.extend(object(self.details.clone()));
        document
    }
}

impl VersionReport {
    fn name(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.address),
            None => self.address.clone(),
        }
    }

    /// Prints the result while others are worked on.
    pub(crate) fn announce(&self, output: &Output) {
        self.lines().iter().for_each(|line| output.progress(line));
    }

    /// Returns the lines for people.
    fn lines(&self) -> Vec<String> {
        let line = format!("{:<11}  {}", self.shown_status(), self.name());
        match &self.outcome {
            Outcome::Done(done) => {
                let below = done.lines.iter().cloned();
                std::iter::once(line + &done.text).chain(below).collect()
            }
            Outcome::Skipped(reason) => vec![format!("{line}: {reason}")],
            Outcome::Failed(_) | Outcome::NotTried => vec![line],
        }
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Failed(failure) => Some(failure),
            Outcome::Done(_) | Outcome::NotTried | Outcome::Skipped(_) => None,
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
    pub(crate) fn shown_status(&self) -> &'static str {
        match self.status() {
            "dry_run" => "checked",
            "not_allowed" => "not allowed",
            "not_tried" => "not tried",
            status => status,
        }
    }

    /// Returns the word under which the outcome is counted, for people.
    fn tally(&self) -> &'static str {
        match &self.outcome {
            Outcome::Failed(_) => "failed",
            _ => self.shown_status(),
        }
    }

    fn document(&self) -> Value {
        let mut document = object(json!({ "address": self.address, "status": self.status() }));
        if let Some(version) = &self.version {
            document.insert("version".to_owned(), json!(version));
        }
        document.extend(object(self.details.clone()));
        document.extend(object(match &self.outcome {
            Outcome::Done(done) => done.details.clone(),
            Outcome::Failed(failure) => json!({ "errors": failure.reasons() }),
            Outcome::NotTried => json!({}),
            Outcome::Skipped(reason) => json!({ "reason": reason }),
        }));
        Value::Object(document)
    }
}

/// Returns the members of an object.
pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

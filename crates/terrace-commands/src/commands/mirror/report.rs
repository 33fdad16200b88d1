//! The results of all versions, printed at the end.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::directory::Skipped;
use crate::commands::circuit_breaker::CircuitBreaker;
use crate::error::{Failure, Several};
use crate::output::Output;

/// The results of a run.
pub(crate) struct Report {
    /// The word for the results of the command, for programs.
    pub(crate) kind: &'static str,
    /// The registry; `None` in a dry run without one.
    pub(crate) url: Option<String>,
    pub(crate) dry_run: bool,
    pub(crate) versions: Vec<VersionReport>,
    /// The results for the directory, of a push.
    pub(crate) directory: Option<DirectoryReport>,
    /// The errors in files that could not be used.
    pub(crate) unread: Vec<String>,
}

/// The results for a mirror directory that do not belong to a version.
pub(crate) struct DirectoryReport {
    pub(crate) path: String,
    pub(crate) skipped: Vec<Skipped>,
    /// The errors that do not belong to a version.
    pub(crate) reasons: Vec<String>,
}

/// The result for one version, or for a provider as a whole.
pub(crate) struct VersionReport {
    pub(crate) address: String,
    pub(crate) version: Option<String>,
    pub(crate) outcome: Outcome,
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
    /// Records an outcome that depends on the registry.
    pub(crate) fn record(&self, breaker: &mut CircuitBreaker) {
        match self {
            Self::Done(_) => breaker.succeed(),
            Self::Failed(failure) => breaker.fail(failure),
            Self::NotTried | Self::Skipped(_) => {}
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

impl Report {
    /// Adds a result, and prints it at once.
    pub(crate) fn add(&mut self, version: VersionReport, output: &Output) {
        version
            .lines()
            .iter()
            .for_each(|line| output.progress(line));
        self.versions.push(version);
    }

    /// Prints the report, as a success or as a failure.
    pub(crate) fn tell(self, output: &Output) -> Result<(), Failure> {
        let (lines, mut document) = (self.lines(), self.document());
        let Some(failure) = self.failure_with(lines.clone(), document.clone()) else {
            let status = if self.dry_run { "dry_run" } else { "ok" };
            document.insert("status".to_owned(), json!(status));
            output.result(&lines, &document);
            return Ok(());
        };
        Err(failure)
    }

    /// Returns the failure that other results of the command end with, if anything failed.
    pub(crate) fn failure_with(
        &self,
        lines: Vec<String>,
        document: Map<String, Value>,
    ) -> Option<Failure> {
        Some(Failure::Several(Box::new(Several {
            worst: self.worst()?,
            reasons: self.all_reasons(),
            lines,
            document,
        })))
    }

    fn worst(&self) -> Option<Failure> {
        let of_versions = self.versions.iter().filter_map(VersionReport::failure);
        let of_directory = Failure::Refused(self.directory_reasons().to_vec());
        let of_directory = (!self.directory_reasons().is_empty()).then_some(&of_directory);
        let of_files = Failure::Refused(self.unread.clone());
        let of_files = (!self.unread.is_empty()).then_some(&of_files);
        let all = of_versions.chain(of_directory).chain(of_files);
        all.max_by_key(|failure| Reverse(failure.urgency()))
            .cloned()
    }

    fn directory_reasons(&self) -> &[String] {
        self.directory
            .as_ref()
            .map_or(&[], |directory| &directory.reasons)
    }

    fn all_reasons(&self) -> Vec<String> {
        let mut reasons = self.directory_reasons().to_vec();
        reasons.extend_from_slice(&self.unread);
        for version in &self.versions {
            let name = |reason| format!("{}: {reason}", version.name());
            let found = version.failure().map(Failure::reasons);
            reasons.extend(found.into_iter().flatten().map(name));
        }
        let is_untried = |version: &&VersionReport| matches!(version.outcome, Outcome::NotTried);
        let untried = self.versions.iter().filter(is_untried).count();
        if untried > 0 {
            let more = match untried {
                1 => "1 more was".to_owned(),
                untried => format!("{untried} more were"),
            };
            reasons.push(format!("{more} not tried: run the command again"));
        }
        reasons
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut counts = BTreeMap::new();
        for version in &self.versions {
            lines.extend(version.lines());
            *counts.entry(version.tally()).or_insert(0) += 1;
        }
        for skipped in self.directory.iter().flat_map(|found| &found.skipped) {
            lines.push(format!("{:<11}  {skipped}", "skipped"));
            *counts.entry("skipped").or_insert(0) += 1;
        }
        for reason in &self.unread {
            lines.push(format!("{:<11}  {reason}", "refused"));
            *counts.entry("failed").or_insert(0) += 1;
        }
        let counts: Vec<String> = counts
            .iter()
            .map(|(what, n)| format!("{n} {what}"))
            .collect();
        let place = match &self.url {
            Some(url) if !self.dry_run => format!("at {url}"),
            _ => "in a dry run: nothing was sent".to_owned(),
        };
        let counts = match counts.as_slice() {
            [] => "nothing".to_owned(),
            counts => counts.join(", "),
        };
        lines.push(format!("{counts} {place}"));
        lines
    }

    fn document(&self) -> Map<String, Value> {
        let versions: Vec<Value> = self.versions.iter().map(VersionReport::document).collect();
        let mut document = object(json!({
            "kind": self.kind,
            "url": self.url,
            "versions": versions,
        }));
        if let Some(DirectoryReport { path, skipped, .. }) = &self.directory {
            document.extend(object(json!({ "directory": path, "skipped": skipped })));
        }
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

    /// Returns the lines for people.
    fn lines(&self) -> Vec<String> {
        let line = format!("{:<11}  {}", self.status(), self.name());
        match &self.outcome {
            Outcome::Done(done) => {
                let below = done.lines.iter().cloned();
                std::iter::once(line + &done.text).chain(below).collect()
            }
            Outcome::Skipped(reason) => vec![format!("{line}: {reason}")],
            Outcome::Failed(_) | Outcome::NotTried => vec![line],
        }
    }

    fn failure(&self) -> Option<&Failure> {
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

    /// Returns the word under which the outcome is counted, for people.
    fn tally(&self) -> &'static str {
        match &self.outcome {
            Outcome::Failed(_) => "failed",
            _ => match self.status() {
                "dry_run" => "checked",
                "not_tried" => "not tried",
                status => status,
            },
        }
    }

    fn document(&self) -> Value {
        let mut document = object(json!({ "address": self.address, "status": self.status() }));
        if let Some(version) = &self.version {
            document.insert("version".to_owned(), json!(version));
        }
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

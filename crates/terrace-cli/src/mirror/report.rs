//! What became of every version, told at the end.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::directory::{ListedVersion, Skipped};
use crate::error::{Failure, Several};
use crate::output::Output;
use crate::publish::{Kind, Offer, Receipt};

/// Everything that happened.
pub(crate) struct Report {
    pub(crate) directory: String,
    /// The registry; a dry run needs none.
    pub(crate) url: Option<String>,
    pub(crate) dry_run: bool,
    pub(crate) versions: Vec<VersionReport>,
    pub(crate) skipped: Vec<Skipped>,
    /// What is wrong and belongs to no version.
    pub(crate) reasons: Vec<String>,
}

/// What became of one version.
pub(crate) struct VersionReport {
    address: String,
    version: String,
    pub(crate) outcome: Outcome,
}

/// How it ended.
pub(crate) enum Outcome {
    /// Nothing is wrong with it, and in a dry run that is all.
    Checked(Offer),
    Failed(Failure),
    /// Others failed in a way that this one would have failed in, too.
    NotTried,
    Published(Offer, Receipt),
}

impl Report {
    /// Prints it, as a success or as a failure.
    pub(crate) fn tell(self, output: &Output) -> Result<(), Failure> {
        let (text, mut document) = (self.text(), self.document());
        let Some(worst) = self.worst() else {
            let status = if self.dry_run { "dry_run" } else { "ok" };
            document.insert("status".to_owned(), json!(status));
            output.result(&text, &document);
            return Ok(());
        };
        Err(Failure::Several(Box::new(Several {
            worst,
            reasons: self.all_reasons(),
            text,
            document,
        })))
    }

    fn worst(&self) -> Option<Failure> {
        let of_versions = self.versions.iter().filter_map(VersionReport::failure);
        let of_directory = Failure::Refused(self.reasons.clone());
        let of_directory = (!self.reasons.is_empty()).then_some(&of_directory);
        let all = of_versions.chain(of_directory);
        all.max_by_key(|failure| failure.urgency()).cloned()
    }

    fn all_reasons(&self) -> Vec<String> {
        let mut reasons = self.reasons.clone();
        for version in &self.versions {
            let name = |reason| format!("{} {}: {reason}", version.address, version.version);
            let found = version.failure().map(Failure::reasons);
            reasons.extend(found.into_iter().flatten().map(name));
        }
        let is_untried = |version: &&VersionReport| matches!(version.outcome, Outcome::NotTried);
        let untried = self.versions.iter().filter(is_untried).count();
        if untried > 0 {
            reasons.push(format!(
                "{untried} more versions were not tried: run the command again"
            ));
        }
        reasons
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut counts = BTreeMap::new();
        for version in &self.versions {
            text.push_str(&version.line());
            if let Outcome::Checked(offer) = &version.outcome {
                text.push_str(&offer.archive_lines());
            }
            text.push('\n');
            *counts.entry(version.tally()).or_insert(0) += 1;
        }
        for skipped in &self.skipped {
            text.push_str(&format!("{:<11}  {skipped}\n", "skipped"));
            *counts.entry("skipped").or_insert(0) += 1;
        }
        let counts: Vec<String> = counts
            .iter()
            .map(|(what, n)| format!("{n} {what}"))
            .collect();
        let place = match &self.url {
            Some(url) if !self.dry_run => format!("at {url}"),
            _ => "in a dry run: nothing was sent".to_owned(),
        };
        text.push_str(&format!("{} {place}", counts.join(", ")));
        text
    }

    fn document(&self) -> Map<String, Value> {
        let versions: Vec<Value> = self.versions.iter().map(VersionReport::document).collect();
        let members = [
            ("kind", json!(Kind::MirroredProvider.as_str())),
            ("directory", json!(self.directory)),
            ("url", json!(self.url)),
            ("versions", json!(versions)),
            ("skipped", json!(self.skipped)),
        ];
        let named = members.map(|(name, value)| (name.to_owned(), value));
        named.into_iter().collect()
    }
}

impl VersionReport {
    pub(crate) fn new(listed: &ListedVersion, outcome: Outcome) -> Self {
        Self {
            address: listed.address.to_string(),
            version: listed.version.to_string(),
            outcome,
        }
    }

    /// Its line for people.
    pub(crate) fn line(&self) -> String {
        let (status, address, version) = (self.status(), &self.address, &self.version);
        format!("{status:<11}  {address} {version}")
    }

    fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Failed(failure) => Some(failure),
            Outcome::Checked(_) | Outcome::NotTried | Outcome::Published(..) => None,
        }
    }

    fn status(&self) -> &'static str {
        match &self.outcome {
            Outcome::Checked(_) => "dry_run",
            Outcome::Failed(failure) => failure.status(),
            Outcome::NotTried => "not_tried",
            Outcome::Published(_, receipt) => receipt.status,
        }
    }

    /// What it is counted as, for people.
    fn tally(&self) -> &'static str {
        match &self.outcome {
            Outcome::Checked(_) => "checked",
            Outcome::Failed(_) => "failed",
            Outcome::NotTried => "not tried",
            Outcome::Published(_, receipt) => receipt.status,
        }
    }

    fn document(&self) -> Value {
        let mut document = json!({
            "address": self.address,
            "version": self.version,
            "status": self.status(),
        });
        let more = match &self.outcome {
            Outcome::Checked(offer) => json!({
                "archives": offer.listed_archives(),
                "request": offer.request(),
            }),
            Outcome::Failed(failure) => json!({ "errors": failure.reasons() }),
            Outcome::NotTried => json!({}),
            Outcome::Published(offer, receipt) => json!({
                "archives": offer.listed_archives(),
                "uploaded": receipt.uploaded,
            }),
        };
        if let (Value::Object(members), Value::Object(more)) = (&mut document, more) {
            members.extend(more);
        }
        document
    }
}

//! What became of everything that was to be mirrored.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::{Failure, Several};
use crate::output::Output;
use crate::publish::Kind;

/// Of one version, or of a provider as a whole.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// `created`, `unchanged`, `dry_run`, `skipped`, or what kind of failure it is.
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    platforms: Vec<String>,
    /// Those of them that the registry had already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stored: Vec<String>,
    /// The zips that were sent now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uploaded: Vec<String>,
    /// The fingerprint of the key that signed it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<String>,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<String>,
}

/// Everything so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    lines: Vec<Line>,
    failures: Vec<Failure>,
}

impl Line {
    pub(crate) fn done(
        address: String,
        version: String,
        status: &'static str,
        platforms: Vec<String>,
    ) -> Self {
        Self {
            address,
            version: Some(version),
            status,
            platforms,
            stored: Vec::new(),
            uploaded: Vec::new(),
            signed_by: None,
            reason: None,
            errors: Vec::new(),
        }
    }

    pub(crate) fn skipped(address: String, version: Option<String>, reason: String) -> Self {
        Self {
            reason: Some(reason),
            ..Self::failed(address, version)
        }
        .with_status("skipped")
    }

    /// The reasons are added by [`Report::failed`].
    pub(crate) fn failed(address: String, version: Option<String>) -> Self {
        Self {
            address,
            version,
            status: "not_tried",
            platforms: Vec::new(),
            stored: Vec::new(),
            uploaded: Vec::new(),
            signed_by: None,
            reason: None,
            errors: Vec::new(),
        }
    }

    #[must_use]
    pub(crate) fn having(mut self, stored: Vec<String>) -> Self {
        self.stored = stored;
        self
    }

    #[must_use]
    pub(crate) fn uploading(mut self, filenames: Vec<String>) -> Self {
        self.uploaded = filenames;
        self
    }

    #[must_use]
    pub(crate) fn signed_by(mut self, fingerprint: Option<String>) -> Self {
        self.signed_by = fingerprint;
        self
    }

    fn with_status(mut self, status: &'static str) -> Self {
        self.status = status;
        self
    }

    /// For people.
    fn text(&self) -> String {
        let mut text = format!("{:<11}  {}", self.status, self.address);
        if let Some(version) = &self.version {
            text.push_str(&format!(" {version}"));
        }
        if let Some(fingerprint) = &self.signed_by {
            text.push_str(&format!(", signed by {fingerprint}"));
        }
        if !self.platforms.is_empty() {
            text.push_str(&format!(": {}", self.platforms.join(", ")));
        }
        if !self.stored.is_empty() && self.status != "unchanged" {
            text.push_str(&format!(" (there already: {})", self.stored.join(", ")));
        }
        if let Some(reason) = &self.reason {
            text.push_str(&format!(": {reason}"));
        }
        text
    }
}

impl Report {
    pub(crate) fn add(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Keeps a failure for the end.
    pub(crate) fn failed(&mut self, mut line: Line, failure: Failure) {
        line.status = failure.status();
        line.errors = failure.reasons();
        self.lines.push(line);
        self.failures.push(failure);
    }

    /// Prints everything, as a success or as a failure.
    pub(crate) fn finish(self, url: Option<String>, output: &Output) -> Result<(), Failure> {
        let text: Vec<String> = self.lines.iter().map(Line::text).collect();
        let text = text.join("\n");
        let members = [
            ("kind", json!(Kind::MirroredProvider.as_str())),
            ("url", json!(url)),
            ("versions", json!(self.lines)),
        ];
        let named = members.map(|(name, value)| (name.to_owned(), value));
        let mut document: Map<String, Value> = named.into_iter().collect();
        let worst = self.failures.iter().max_by_key(|failure| failure.urgency());
        let Some(worst) = worst.cloned() else {
            document.insert("status".to_owned(), json!("ok"));
            output.result(&text, &document);
            return Ok(());
        };
        Err(Failure::Several(Box::new(Several {
            worst,
            reasons: self.failures.iter().flat_map(Failure::reasons).collect(),
            text,
            document,
        })))
    }
}

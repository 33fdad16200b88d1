//! The documentation of a release. It is sent before the release, so that the registry writes every index once. If the registry
//! lacks its bytes, the description of the release is sent before them: the documentation of a release that the registry refuses,
//! such as one with an erased archive, is not stored.
//!
//! Until the release is published, other publishers of the same version may replace the documentation. It is therefore
//! compared with that of the registry after the release, and removed if the release is rejected.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};
use terrace_core::api::admin::PublishAnswer;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use crate::commands::documentation::Extracted;
use crate::error::{Exit, Failure, Several};
use crate::output::Output;
use crate::registry::client::{Client, Condition};
use crate::registry::documentation::{DocumentationReceipt, DocumentationRequest};
use crate::registry::publish::{DocumentationLine, PublishRequest, Receipt};

/// The documentation of a release.
#[derive(Debug, Args)]
pub(crate) struct DocumentationArguments {
    /// The directory to extract the documentation from. By default that of a module comes from the files that are
    /// published, and that of a provider from *_docs.zip beside the zips, or from ../docs or ../website/docs
    #[arg(long, value_name = "DIR", conflicts_with = "no_docs")]
    pub(crate) docs: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) choice: DocumentationChoice,
}

/// Whether a release is documented.
#[derive(Debug, Args)]
pub(crate) struct DocumentationChoice {
    /// Publish without documentation
    #[arg(long)]
    pub(crate) no_docs: bool,
    /// Fail if there is no documentation, or if it cannot be stored; without this option, that is a warning
    #[arg(long, conflicts_with = "no_docs")]
    pub(crate) require_docs: bool,
}

/// The documentation of a release that is about to be published, if there is any. Only if it is required does a
/// failure of it fail the publish.
#[derive(Default)]
pub(super) struct ReleaseDocumentation {
    is_required: bool,
    ready: Option<Ready>,
}

/// Documentation that can be sent.
struct Ready {
    request: DocumentationRequest,
    line: String,
    counts: Map<String, Value>,
}

/// The result of sending documentation; `None` if there is none.
type Sent = Option<Result<DocumentationReceipt, Failure>>;

impl ReleaseDocumentation {
    /// Extracts the documentation, unless the arguments omit it. `extract` returns `Ok(None)` if there is none.
    ///
    /// # Errors
    /// The documentation is required, and cannot be extracted.
    pub(super) fn extract(
        arguments: &DocumentationArguments,
        subject: (Package, Version),
        output: &Output,
        extract: impl FnOnce() -> Result<Option<Extracted>, Failure>,
    ) -> Result<Self, Failure> {
        let choice = &arguments.choice;
        let extracted = match choice.no_docs {
            true => Ok(None),
            false => extract(),
        };
        match &extracted {
            Ok(Some(found)) => found.warn(output),
            Ok(None) if !choice.no_docs => {
                output.progress("no documentation was found; terrace docs add adds it later");
            }
            _ => {}
        }
        Self::of(extracted, choice.require_docs, subject, |failure| {
            warn(failure, output);
        })
    }

    /// Returns the result of a dry run.
    pub(super) fn dry_run(&self) -> Option<DocumentationLine> {
        self.ready.as_ref().map(|ready| ready.result(None))
    }

    /// Returns documentation that may be missing.
    ///
    /// # Errors
    /// It is required, and missing, or the registry would reject it. Otherwise the failure is passed to `note`.
    pub(super) fn of(
        extracted: Result<Option<Extracted>, Failure>,
        is_required: bool,
        (package, version): (Package, Version),
        note: impl FnOnce(&Failure),
    ) -> Result<Self, Failure> {
        let ready = extracted.and_then(|found| match found {
            Some(found) => Ready::new(&found, package, version).map(Some),
            None if is_required => Err(Failure::refused(
                "no documentation was found, and --require-docs is given",
            )),
            None => Ok(None),
        });
        let ready = match ready {
            Err(failure) if is_required => return Err(failure),
            Err(failure) => {
                note(&failure);
                None
            }
            Ok(ready) => ready,
        };
        Ok(Self { is_required, ready })
    }

    /// Publishes the documentation and the release, and prints the result. `before_uploads` is a last check before
    /// the archives of the release are sent.
    pub(super) fn publish(
        &self,
        release: &PublishRequest,
        client: &Client<'_>,
        output: &Output,
        before_uploads: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (receipt, sent) = self.send_both(release, client, output, before_uploads)?;
        for warning in &receipt.warnings {
            output.warning(warning);
        }
        let failure = sent.as_ref().and_then(|sent| sent.as_ref().err());
        if let Some(failure) = failure.filter(|_| !self.is_required) {
            warn(failure, output);
        }
        let line = self.ready.as_ref().map(|ready| ready.result(sent.as_ref()));
        let (lines, report) = release.result(receipt, line, client.url());
        let Some(failure) = failure.filter(|_| self.is_required) else {
            output.result(&lines, &report);
            return Ok(());
        };
        let document = serde_json::to_value(&report).unwrap_or_default();
        Err(Failure::Several(Box::new(Several {
            worst: failure.clone(),
            reasons: failure.reasons(),
            lines,
            document: document.as_object().cloned().unwrap_or_default(),
        })))
    }

    /// Publishes the documentation and the release as one of many. A failure of the documentation is one of the warnings,
    /// unless it is required.
    ///
    /// # Errors
    /// The release is not published, or lacks required documentation.
    pub(super) fn publish_quietly(
        &self,
        release: &PublishRequest,
        client: &Client<'_>,
        output: &Output,
    ) -> Result<Receipt, Failure> {
        let (mut receipt, sent) = self.send_both(release, client, output, || Ok(()))?;
        match sent {
            Some(Err(failure)) if self.is_required => return Err(failure),
            Some(Err(failure)) => receipt.warnings.push(without(&failure)),
            _ => {}
        }
        Ok(receipt)
    }

    fn send_both(
        &self,
        release: &PublishRequest,
        client: &Client<'_>,
        output: &Output,
        before_uploads: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(Receipt, Sent), Failure> {
        let mut begun = None;
        let sent = self.ready.as_ref().map(|Ready { request, .. }| {
            request.send_after(Condition::Unpublished, client, output, || {
                let answer = release.begin(client);
                let condition = match &answer {
                    Ok(answer) if is_committed(answer) => Ok(Condition::Always),
                    Ok(_) => Ok(Condition::Unpublished),
                    Err(refusal) => Err(refusal.clone()),
                };
                begun = Some(answer);
                condition
            })
        });
        let begun = begun.transpose()?;
        match &sent {
            // The version is published, perhaps with these bytes. That shows next.
            Some(Err(Failure::Conflict(_))) => {}
            Some(Err(failure)) if self.is_required && !begun.as_ref().is_some_and(is_committed) => {
                return Err(failure.clone());
            }
            _ => {}
        }
        let receipt = release.send_begun(begun, client, output, before_uploads);
        let receipt = receipt.inspect_err(|failure| {
            // The same request would fail again, so it will not be repeated.
            let is_final = matches!(
                failure.exit(),
                Exit::Rejected | Exit::Conflict | Exit::NotAllowed
            );
            if matches!(sent, Some(Ok(_))) && is_final {
                self.withdraw(client, output);
            }
        })?;
        let sent = self.send_again_if_replaced(sent, client, output);
        Ok((receipt, sent))
    }

    /// Sends the documentation once more, now that the version is published with these bytes, if the registry has rejected
    /// it before or has that of another publisher. The registry is asked first, because it would write the indices again
    /// for a request that changes nothing.
    fn send_again_if_replaced(&self, sent: Sent, client: &Client<'_>, output: &Output) -> Sent {
        let is_missing = match (&sent, &self.ready) {
            (Some(Ok(_)), Some(ready)) => !ready.request.is_stored(client).unwrap_or(false),
            (Some(Err(Failure::Conflict(_))), _) => true,
            _ => false,
        };
        match is_missing {
            true => {
                let ready = self.ready.as_ref()?;
                Some(ready.request.send(Condition::Always, client, output))
            }
            false => sent,
        }
    }

    /// Removes the documentation of a rejected release: otherwise it would appear on the release of another publisher.
    fn withdraw(&self, client: &Client<'_>, output: &Output) {
        let ready = self.ready.as_ref();
        if let Some(Err(failure)) = ready.map(|ready| ready.request.withdraw(client)) {
            output.warning(&format!(
                "the documentation of the rejected version was not removed: the registry keeps it for a day, or shows it on the \
                 version of another publisher until terrace docs add replaces it: {}",
                failure.reasons().join("; ")
            ));
        }
    }
}

/// Returns whether the registry has published the release at the first description.
fn is_committed(begun: &PublishAnswer) -> bool {
    matches!(
        begun,
        PublishAnswer::Created(_) | PublishAnswer::Unchanged(_)
    )
}

impl Ready {
    fn new(extracted: &Extracted, package: Package, version: Version) -> Result<Self, Failure> {
        Ok(Self {
            request: extracted.request(package, version, (None, None))?,
            line: extracted.line(),
            counts: extracted.document(),
        })
    }

    /// Returns the result; `None` is that of a dry run.
    fn result(&self, sent: Option<&Result<DocumentationReceipt, Failure>>) -> DocumentationLine {
        let mut document = self.counts.clone();
        let status = match sent {
            Some(Ok(receipt)) => receipt.status,
            Some(Err(_)) => "failed",
            None => "dry_run",
        };
        document.insert("status".to_owned(), json!(status));
        DocumentationLine {
            text: match sent {
                Some(Err(_)) => "documentation: none".to_owned(),
                _ => self.line.clone(),
            },
            document: Value::Object(document),
        }
    }
}

fn warn(failure: &Failure, output: &Output) {
    output.warning(&without(failure));
}

fn without(failure: &Failure) -> String {
    let reasons = failure.reasons().join("; ");
    format!("without documentation: {reasons}")
}

//! Adds documentation to a version: sends its description, then its archive if the registry lacks it, and repeats.

use terrace_core::api::admin::{DocumentationAnswer, DocumentationBody};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::publish::DocumentationPublication;

use crate::archive::Archive;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::{Client, Condition};
use crate::registry::rounds::Uploads;

/// Documentation to add to a version, which may be published later.
pub(crate) struct DocumentationRequest {
    pub(crate) package: Package,
    pub(crate) version: Version,
    /// The archive, in the form of `terrace_core::documentation`.
    pub(crate) archive: Archive,
    /// The length of its first member in bytes.
    pub(crate) head_length: u64,
    /// The licence of the documentation, which that of another registry's provider needs.
    pub(crate) license: Option<String>,
    /// The page that it was taken from, which that of another registry's provider needs.
    pub(crate) origin: Option<String>,
}

/// The result of an addition.
#[derive(Debug)]
pub(crate) struct DocumentationReceipt {
    /// `created`, `changed` or `unchanged`.
    pub(crate) status: &'static str,
    /// The number of this state of the version's documentation.
    pub(crate) sequence: u64,
    /// Whether the version is published.
    pub(crate) is_published: bool,
}

impl DocumentationRequest {
    /// Returns the reasons for which the registry would reject the documentation of any version.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let (package, version) = (self.package.clone(), self.version.clone());
        let parsed = DocumentationPublication::parse(package, version, self.body());
        parsed.err().unwrap_or_default()
    }

    /// Sends the documentation.
    ///
    /// # Errors
    /// The reason of the registry or of its storage. The version is not affected.
    pub(crate) fn send(
        &self,
        condition: Condition,
        client: &Client<'_>,
        output: &Output,
    ) -> Result<DocumentationReceipt, Failure> {
        self.send_after(condition, client, output, || Ok(condition))
    }

    /// Does the same. `before_upload` runs once, before the first byte of the archive is sent, and returns the condition that
    /// holds from then on.
    ///
    /// # Errors
    /// Those of `before_upload`, too: then nothing was sent.
    pub(crate) fn send_after(
        &self,
        mut condition: Condition,
        client: &Client<'_>,
        output: &Output,
        before_upload: impl FnOnce() -> Result<Condition, Failure>,
    ) -> Result<DocumentationReceipt, Failure> {
        let body = self.body();
        let archives = std::slice::from_ref(&self.archive);
        let mut uploads = Uploads::new(archives, client, output);
        let mut before_upload = Some(before_upload);
        loop {
            let answer = client.document(&self.package, &self.version, condition, &body)?;
            let (status, documented) = match answer {
                DocumentationAnswer::Created(it) => ("created", it),
                DocumentationAnswer::Changed(it) => ("changed", it),
                DocumentationAnswer::Unchanged(it) => ("unchanged", it),
                DocumentationAnswer::Incomplete { missing } => {
                    if let Some(before_upload) = before_upload.take() {
                        condition = before_upload()?;
                    }
                    uploads.round(missing)?;
                    continue;
                }
            };
            return Ok(DocumentationReceipt {
                status,
                sequence: documented.sequence,
                is_published: documented.is_published,
            });
        }
    }

    /// Returns whether this is the documentation that the registry has now.
    ///
    /// # Errors
    /// The registry or its storage did not answer.
    pub(crate) fn is_stored(&self, client: &Client<'_>) -> Result<bool, Failure> {
        let stored = client.documentation(&self.package, &self.version)?;
        Ok(stored.is_some_and(|stored| stored.archive.sha256 == self.archive.sha256))
    }

    /// Removes the documentation of a version after the registry has rejected its release. Documentation that another
    /// publisher has sent in the meantime is kept.
    ///
    /// # Errors
    /// [`Failure::Conflict`] if the version is published and has this documentation.
    pub(crate) fn withdraw(&self, client: &Client<'_>) -> Result<(), Failure> {
        let (package, version) = (&self.package, &self.version);
        match client.remove_unpublished_documentation(package, version, self.archive.sha256) {
            Err(Failure::Conflict(_)) if !self.is_stored(client)? => Ok(()),
            removed => removed,
        }
    }

    fn body(&self) -> DocumentationBody {
        DocumentationBody {
            sha256: self.archive.sha256.to_string(),
            size: self.archive.size,
            head_length: self.head_length,
            license: self.license.clone(),
            origin: self.origin.clone(),
        }
    }
}

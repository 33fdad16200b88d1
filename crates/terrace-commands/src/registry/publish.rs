//! Publishing a release of any kind: sends its body, then the missing archives, and repeats.

use serde_json::{Map, Value, json};
use terrace_base::url::authority;
use terrace_core::api::admin::PublishAnswer;
use terrace_core::api::endpoint::{Endpoint, MIRRORED_RELEASE, PUBLISH_MODULE, PUBLISH_PROVIDER};
use terrace_core::model::package::Package;
use terrace_core::model::provenance::Provenance;

use crate::archive::Archive;
use crate::error::Failure;
use crate::http::BaseUrl;
use crate::output::{Output, bytes};
use crate::registry::client::{Call, Client};
use crate::registry::rounds::Uploads;

/// The kind of a release.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// A provider of another registry.
    MirroredProvider,
    /// A module of this registry.
    Module,
    /// A provider of this registry.
    Provider,
}

/// A release that passes the core's checks.
pub(crate) struct PublishRequest {
    pub(crate) kind: Kind,
    pub(crate) address: String,
    pub(crate) version: String,
    /// The body of the request.
    pub(crate) body: Value,
    pub(crate) archives: Vec<Archive>,
}

/// The result of a request that the registry has accepted.
pub(crate) struct Receipt {
    /// `created` or `unchanged`.
    pub(crate) status: &'static str,
    /// The names of the archives that were sent.
    pub(crate) uploaded: Vec<String>,
    /// The job that published the release first, if it was a job with a verified identity.
    pub(crate) provenance: Option<Provenance>,
    /// The warnings about properties that the registry accepts for now only.
    pub(crate) warnings: Vec<String>,
}

/// The documentation in the result of a publish.
pub(crate) struct DocumentationLine {
    /// The line for people.
    pub(crate) text: String,
    /// The member of the JSON document.
    pub(crate) document: Value,
}

impl Receipt {
    /// Prints the warnings about a version.
    pub(crate) fn warn(&self, about: &str, output: &Output) {
        for warning in &self.warnings {
            output.warning(&format!("{about}: {warning}"));
        }
    }
}

impl Kind {
    /// Returns the kind in the output of `--json`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::MirroredProvider => "mirror",
            Self::Module => "module",
            Self::Provider => "provider",
        }
    }

    /// Returns the endpoint for releases of this kind.
    fn endpoint(self) -> &'static Endpoint {
        match self {
            Self::MirroredProvider => &MIRRORED_RELEASE,
            Self::Module => &PUBLISH_MODULE,
            Self::Provider => &PUBLISH_PROVIDER,
        }
    }
}

impl PublishRequest {
    /// Returns the request without its body.
    fn call(&self) -> Call {
        let call = Call::put(self.kind.endpoint());
        let call = match Package::parse_address(&self.address) {
            Some(package) => call.of(&package),
            None => call,
        };
        // A version may contain a `+`, which does not need an escape in a path.
        call.with(&self.version)
    }

    /// Returns the archives as `--json` lists them.
    pub(crate) fn listed_archives(&self) -> Vec<Value> {
        let listed = |archive: &Archive| json!({ "filename": archive.filename, "sha256": archive.sha256.to_string(), "size": archive.size });
        self.archives.iter().map(listed).collect()
    }

    /// Returns the document that `--json` prints, with these members where they have a value.
    fn report(
        &self,
        status: &str,
        url: Option<&str>,
        uploaded: &[String],
        more: [(&str, Option<Value>); 2],
    ) -> Map<String, Value> {
        let Value::Object(mut document) = json!({
            "status": status,
            "kind": self.kind.as_str(),
            "address": self.address,
            "version": self.version,
            "url": url,
            "archives": self.listed_archives(),
            "uploaded": uploaded,
        }) else {
            return Map::new();
        };
        let more = more.into_iter();
        document.extend(more.filter_map(|(name, value)| Some((name.to_owned(), value?))));
        document
    }

    /// Returns the request that would be sent, as `--json` shows it.
    pub(crate) fn as_json(&self) -> Value {
        json!({ "method": "PUT", "path": self.call().path(), "body": self.body })
    }

    /// Returns one line for each archive, for people.
    pub(crate) fn archive_lines(&self) -> Vec<String> {
        let line = |archive: &Archive| {
            let (filename, size) = (&archive.filename, bytes(archive.size));
            format!("  {filename}  {size}  sha256 {}", archive.sha256)
        };
        self.archives.iter().map(line).collect()
    }

    /// Prints the request that would be sent to the registry at `url`, and the documentation.
    pub(crate) fn show_dry_run(
        &self,
        documentation: Option<DocumentationLine>,
        url: Option<&BaseUrl>,
        output: &Output,
    ) {
        let url = url.map(ToString::to_string);
        let (address, version) = (&self.address, &self.version);
        let mut lines = vec![
            format!(
                "{address} {version} passes the checks that can be made locally. Nothing was sent; the request \
                 would be:"
            ),
            format!(
                "  PUT {}{}",
                url.as_deref().unwrap_or_default(),
                self.call().path()
            ),
        ];
        lines.extend(self.archive_lines());
        let (line, document) = documentation.map(|it| (it.text, it.document)).unzip();
        lines.extend(line);
        let more = [
            ("documentation", document),
            ("request", Some(self.as_json())),
        ];
        output.result(&lines, &self.report("dry_run", url.as_deref(), &[], more));
    }

    /// Returns the result of a publish for people, and for `--json`.
    pub(crate) fn result(
        &self,
        receipt: Receipt,
        documentation: Option<DocumentationLine>,
        url: &str,
    ) -> (Vec<String>, Map<String, Value>) {
        let (address, version) = (&self.address, &self.version);
        let (text, by) = match receipt.status {
            "created" => (
                format!("published {address} {version} at {url}"),
                "published by",
            ),
            _ => (
                format!("{address} {version} is already published at {url}, with the same bytes"),
                "it was published by",
            ),
        };
        let mut lines = vec![text];
        lines.extend(self.places(url));
        lines.extend(receipt.provenance.as_ref().map(|job| format!("{by} {job}")));
        let (line, document) = documentation.map(|it| (it.text, it.document)).unzip();
        lines.extend(line);
        let job = receipt.provenance.map(|job| json!(job));
        let more = [("provenance", job), ("documentation", document)];
        let report = self.report(receipt.status, Some(url), &receipt.uploaded, more);
        (lines, report)
    }

    /// Returns the lines with the page and the source address of the release.
    fn places(&self, url: &str) -> Vec<String> {
        let (url, address) = (url.trim_end_matches('/'), &self.address);
        let (pages, source) = match self.kind {
            Kind::MirroredProvider => ("mirrored", address.clone()),
            Kind::Module => ("modules", format!("{}/{address}", authority(url))),
            Kind::Provider => ("providers", format!("{}/{address}", authority(url))),
        };
        vec![
            format!("  page    {url}/{pages}/{address}/{}", self.version),
            format!("  source  {source}"),
            "  Lists and searches have it within a minute or two.".to_owned(),
        ]
    }

    /// Returns the warning that the version is published and revoked, if it is.
    fn revocation(&self, client: &Client<'_>) -> Option<String> {
        let package = Package::parse_address(&self.address)?;
        let reason = client.revocation(&package, &self.version.parse().ok()?)?;
        Some(format!(
            "the version is revoked, so no client can install it: {reason}"
        ))
    }

    /// Sends the body once. Unless the registry has all archives, this changes nothing, and shows whether it would
    /// refuse the release.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn begin(&self, client: &Client<'_>) -> Result<PublishAnswer, Failure> {
        match client.call(self.call().json(&self.body)?)? {
            PublishAnswer::Conflict { errors } => Err(Failure::Conflict(errors)),
            PublishAnswer::Invalid { errors } => Err(Failure::Refused(errors)),
            accepted => Ok(accepted),
        }
    }

    /// Sends the body, then the archives that the registry does not have, and the body again,
    /// until the release is published.
    pub(crate) fn send(
        &self,
        client: &Client<'_>,
        output: &Output,
        before_uploads: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<Receipt, Failure> {
        self.send_begun(None, client, output, before_uploads)
    }

    /// Does the same. `begun` is the answer to a body that was sent already.
    pub(crate) fn send_begun(
        &self,
        mut begun: Option<PublishAnswer>,
        client: &Client<'_>,
        output: &Output,
        before_uploads: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<Receipt, Failure> {
        let mut before_uploads = Some(before_uploads);
        let mut uploads = Uploads::new(&self.archives, client, output);
        loop {
            let answer = match begun.take() {
                Some(answer) => answer,
                None => self.begin(client)?,
            };
            let (status, published) = match answer {
                PublishAnswer::Created(published) => ("created", published),
                PublishAnswer::Unchanged(mut published) => {
                    // For a mirrored provider, the registry states it as well.
                    let is_new = |warning: &String| !published.warnings.contains(warning);
                    let revocation = self.revocation(client).filter(is_new);
                    published.warnings.extend(revocation);
                    ("unchanged", published)
                }
                PublishAnswer::Conflict { errors } => return Err(Failure::Conflict(errors)),
                PublishAnswer::Invalid { errors } => return Err(Failure::Refused(errors)),
                PublishAnswer::Incomplete { missing } => {
                    before_uploads.take().map_or(Ok(()), |check| check())?;
                    uploads.round(missing)?;
                    continue;
                }
            };
            return Ok(Receipt {
                status,
                uploaded: uploads.into_sent(),
                provenance: published.provenance,
                warnings: published.warnings,
            });
        }
    }
}

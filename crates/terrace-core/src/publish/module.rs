//! Publishing a module version.

use super::provider::{parse_source, size_reason};
use super::{ExpectedArchive, ExpectedContents};
use crate::api::admin::ModuleBody;
use crate::model::address::ModuleAddress;
use crate::model::provenance::Provenance;
use crate::model::relative_path::RelativePath;
use crate::model::source::SourceDocument;
use crate::model::subdir::Subdir;
use crate::model::version::Version;
use crate::storage::release::{ModuleArchiveDocument, ModuleRelease};
use terrace_archive::ArchiveFormat;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;

/// A module version to publish.
#[derive(Debug, Clone)]
pub struct ModulePublication {
    /// The module's address.
    pub address: ModuleAddress,
    /// The version of the module.
    pub version: Version,
    pub(super) document: ModuleArchiveDocument,
    source: Option<SourceDocument>,
    provenance: Option<Provenance>,
}

impl ModulePublication {
    /// Parses a request.
    ///
    /// # Errors
    /// All errors that can be found without storage.
    pub fn parse(
        address: ModuleAddress,
        version: Version,
        body: &ModuleBody,
    ) -> Result<Self, Vec<String>> {
        let mut reasons = Vec::new();
        let format = body.archive.format.parse::<ArchiveFormat>();
        let sha256 = body.archive.sha256.parse::<Sha256>();
        let subdir = body.subdir.as_deref().map(str::parse::<Subdir>).transpose();
        let directory = body.directory.as_deref();
        let directory = directory.map(str::parse::<RelativePath>).transpose();
        let source = parse_source(body.source.as_deref(), body.commit.as_deref());
        let tree = body.tree.as_deref().map(str::parse::<Sha256>).transpose();
        let is_located = body.source.is_some() && (body.commit.is_some() || body.tree.is_some());
        if address.hostname.is_some() && !is_located {
            reasons.push(
                "a mirrored module must say where it is from: give source, the URL that its registry names, and commit, or \
                 tree for an archive without one"
                    .to_owned(),
            );
        } else if body.tree.is_some() && body.source.is_none() {
            reasons.push("tree is given without source, the URL of the files".to_owned());
        }
        if version.has_build() {
            // If terraform is asked for 1.0.0+a, it downloads 1.0.0 if that exists, without a message.
            reasons.push(format!(
                "version {version} has build metadata, which clients ignore when they choose a \
                 module's version: publish it without the \"+\" and the text after it"
            ));
        }
        reasons.extend(format.as_ref().err().map(ToString::to_string));
        reasons.extend(sha256.as_ref().err().map(ToString::to_string));
        reasons.extend(subdir.as_ref().err().map(ToString::to_string));
        reasons.extend(source.as_ref().err().cloned().into_iter().flatten());
        reasons.extend(tree.as_ref().err().map(|error| format!("tree: {error}")));
        match (&directory, &source) {
            (Err(error), _) => reasons.push(format!("the directory in the repository: {error}")),
            (Ok(Some(directory)), Ok(None)) => reasons.push(format!(
                "the directory {directory} is given without its repository: add source, the URL of the repository"
            )),
            _ => {}
        }
        reasons.extend(size_reason("archive", body.archive.size));
        match (format, sha256, subdir, source, directory, tree) {
            (Ok(format), Ok(sha256), Ok(subdir), Ok(source), Ok(directory), Ok(tree))
                if reasons.is_empty() =>
            {
                let size = body.archive.size;
                let document = ModuleArchiveDocument {
                    format,
                    sha256,
                    size,
                    subdir,
                };
                Ok(Self {
                    address,
                    version,
                    document,
                    source: source.map(|source| source.with_directory(directory).with_tree(tree)),
                    provenance: None,
                })
            }
            _ => Err(reasons),
        }
    }

    /// Returns the publication as that of a job.
    pub(super) fn by_job(self, job: Provenance) -> Self {
        Self {
            source: self.source.map(|source| source.verified_by(&job)),
            provenance: Some(job),
            ..self
        }
    }

    pub(super) fn archive(&self) -> ExpectedArchive {
        let ModuleArchiveDocument {
            format,
            size,
            subdir,
            ..
        } = &self.document;
        let name = self.address.name.as_str();
        ExpectedArchive {
            key: self.document.archive_key(),
            size: *size,
            filename: format!("{name}-{}.{}", self.version, format.extension()),
            contents: ExpectedContents::Module(subdir.clone()),
        }
    }

    pub(super) fn release(&self, now: UnixTime) -> ModuleRelease {
        let (address, version) = (self.address.clone(), self.version.clone());
        ModuleRelease::new(address, version, self.document.clone(), now)
            .with_origin(self.source.clone(), self.provenance.clone())
    }
}

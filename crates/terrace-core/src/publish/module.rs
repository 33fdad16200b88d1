//! Publishing a module version.

use super::provider::{parse_source, size_reason};
use super::{ExpectedArchive, ExpectedContents, Reasons};
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
        let mut reasons = Reasons::default();
        let is_located = body.source.is_some() && (body.commit.is_some() || body.tree.is_some());
        if address.hostname.is_some() && !is_located {
            reasons.extend([
                "a mirrored module must say where it is from: give source, the URL that its registry names, and commit, or \
                 tree for an archive without one",
            ]);
        } else if body.source.is_none() && (body.tree.is_some() || body.directory.is_some()) {
            reasons
                .extend(["tree or directory is given without its repository: add source, its URL"]);
        }
        if version.has_build() {
            reasons.extend([format!(
                "version {version} has build metadata, which clients ignore when they choose a \
                 module's version: publish it without the \"+\" and the text after it"
            )]);
        }
        let format = reasons.take(body.archive.format.parse::<ArchiveFormat>());
        let sha256 = reasons.take(body.archive.sha256.parse::<Sha256>());
        let subdir = body.subdir.as_deref().map(str::parse::<Subdir>);
        let subdir = reasons.take(subdir.transpose());
        let source = parse_source(body.source.as_deref(), body.commit.as_deref());
        let source = reasons.take_all(source);
        let tree = body.tree.as_deref().map(str::parse::<Sha256>).transpose();
        let tree = reasons.take(tree.map_err(|error| format!("tree: {error}")));
        let directory = body.directory.as_deref().map(str::parse::<RelativePath>);
        let directory = directory.transpose();
        let directory =
            directory.map_err(|error| format!("the directory in the repository: {error}"));
        let directory = reasons.take(directory);
        reasons.extend(size_reason("archive", body.archive.size));
        match (format, sha256, subdir, source, directory, tree) {
            (
                Some(format),
                Some(sha256),
                Some(subdir),
                Some(source),
                Some(directory),
                Some(tree),
            ) if reasons.is_empty() => {
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
            _ => Err(reasons.0),
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
        // A new field must not be forgotten here.
        let Self {
            address,
            version,
            document,
            source,
            provenance,
        } = self.clone();
        let mut release = ModuleRelease::new(address, version, document, now);
        (release.source, release.provenance) = (source, provenance);
        release
    }
}

//! One version of a module of a collection: its package, and the request that publishes it.

use serde_json::json;
use terrace_archive::ArchiveFormat;
use terrace_core::documentation::Contents;
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::package::Package;
use terrace_core::model::subdir::Subdir;

use super::planned::{Origin, PlannedVersion};
use super::report::Row;
use crate::archive::pack::Extent;
use crate::commands::documentation::{Extracted, of_module};
use crate::commands::publish::documentation::ReleaseDocumentation;
use crate::commands::publish::module::{PackedDirectory, Release, packed, published_files};
use crate::commands::publish::modules::CollectionArguments;
use crate::commands::publish::package::{self, PackageRules};
use crate::commands::report::Done;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;
use crate::registry::publish::PublishRequest;
use crate::source::collection::reach::{self, PackagePlace};
use crate::source::collection::tree::{CommitTree, DiskTree};
use crate::source::git::{Checkout, Objects};
use crate::source::repository::ReleaseSource;

/// Publishes one version.
pub(super) struct VersionPublisher<'a> {
    pub(super) arguments: &'a CollectionArguments,
    pub(super) address: &'a ModuleAddress,
    pub(super) version: &'a PlannedVersion,
    pub(super) origin: &'a Origin,
    /// Whether the registry has the version with documentation.
    pub(super) is_documented: bool,
    /// The registry, unless this is a dry run.
    pub(super) client: Option<&'a Client<'a>>,
    pub(super) output: &'a Output,
}

impl VersionPublisher<'_> {
    /// Packs and publishes the version. `objects` is the repository, unless the files come from a directory.
    pub(super) fn publish(
        &self,
        objects: Option<&Objects>,
        row: &mut Row,
    ) -> Result<Done, Failure> {
        let (place, packed) = match (objects, &self.version.tag) {
            (Some(objects), Some(tag)) => {
                let tree = CommitTree::at(objects, &tag.commit).map_err(Failure::refused)?;
                self.pack_commit(objects, &tree, row)?
            }
            _ => self.pack_directory(row)?,
        };
        let subdir = subdir_of(&place)?;
        let (files, size) = (packed.files, packed.archive.size);
        row.archive = Some((files, size));
        let sha256 = packed.archive.sha256.to_string();
        let request = self.request(packed, &place.extent, subdir.as_ref())?;
        let documentation = self.documentation(&request, subdir.as_ref())?;
        let mut done = Done {
            status: "dry_run",
            text: String::new(),
            lines: Vec::new(),
            details: json!({ "archive": { "sha256": sha256, "size": size, "files": files } }),
        };
        let Some(client) = self.client else {
            return Ok(done);
        };
        let (receipt, failure) = documentation.publish_quietly(&request, client, self.output)?;
        let mut warnings = receipt.warnings;
        warnings.extend(
            failure.map(|it| format!("without documentation: {}", it.reasons().join("; "))),
        );
        for warning in warnings {
            self.output.warning(&format!("{}: {warning}", self.name()));
        }
        done.status = receipt.status;
        Ok(done)
    }

    fn name(&self) -> String {
        format!("{} {}", self.address, self.version.version)
    }

    fn pack_commit(
        &self,
        objects: &Objects,
        tree: &CommitTree<'_>,
        row: &mut Row,
    ) -> Result<(PackagePlace, PackedDirectory), Failure> {
        let place = reach::package(tree, &self.version.directory).map_err(Failure::refused)?;
        row.package = Some(place.clone());
        let checkout = Checkout::write(objects, &tree.id, &place.directory, &place.extent);
        let checkout = checkout.map_err(Failure::refused)?;
        let packed =
            packed(&checkout.directory, &place.extent).map_err(|failure| match failure {
                Failure::Refused(reasons) => {
                    let reasons = reasons.iter().map(|reason| checkout.in_repository(reason));
                    Failure::Refused(reasons.collect())
                }
                other => other,
            })?;
        Ok((place, packed))
    }

    fn pack_directory(&self, row: &mut Row) -> Result<(PackagePlace, PackedDirectory), Failure> {
        let tree = DiskTree {
            top: &self.origin.directory,
        };
        let place = reach::package(&tree, &self.version.directory).map_err(Failure::refused)?;
        row.package = Some(place.clone());
        let directory = self.origin.directory.join(&place.directory);
        let packed = packed(&directory, &place.extent)?;
        Ok((place, packed))
    }

    fn request(
        &self,
        packed: PackedDirectory,
        extent: &Extent,
        subdir: Option<&Subdir>,
    ) -> Result<PublishRequest, Failure> {
        let label = format!("{}: ", self.name());
        let release = Release {
            label: &label,
            address: self.address,
            version: &self.version.version,
            subdir,
        };
        // The commit of the tag is the one that was packed, but without a repository it would say nothing.
        let url = self.origin.source.clone();
        let commit = self.version.tag.as_ref().filter(|_| url.is_some());
        let source = ReleaseSource {
            commit: commit.and_then(|tag| tag.commit.parse().ok()),
            directory: commit.and(self.version.directory.parse().ok()),
            url,
            tree: None,
        };
        let source = match self.version.tag {
            Some(_) => source,
            None => source.in_checkout(&self.origin.directory.join(&self.version.directory)),
        };
        let rules = PackageRules {
            label: &label,
            top: subdir.map_or("", Subdir::as_str),
            extent,
            allowed: &self.arguments.allow_secrets,
            unparsed: &self.arguments.allow_unparsed,
            is_tagged: self.version.tag.is_some(),
            advice: "call modules inside of the repository, or by their addresses",
        };
        let format = ArchiveFormat::Zip;
        release.request(packed.archive, format, source, self.output, |archive| {
            package::reasons(archive, format, &rules, self.output)
        })
    }

    fn documentation(
        &self,
        request: &PublishRequest,
        subdir: Option<&Subdir>,
    ) -> Result<ReleaseDocumentation, Failure> {
        let subject = (
            Package::Module(self.address.clone()),
            self.version.version.clone(),
        );
        if self.is_documented {
            return ReleaseDocumentation::of(Ok(None), false, subject, |_| {});
        }
        let extracted = match self.arguments.no_docs {
            true => None,
            false => {
                let files = published_files(request, subdir)?;
                let draft = of_module(&files);
                self.warn_of_errors(&draft.contents);
                Some(Extracted::new(draft, &files)).filter(|it| !it.is_empty())
            }
        };
        ReleaseDocumentation::of(Ok(extracted), self.arguments.require_docs, subject, |_| {})
    }

    /// Prints the errors of files that clients cannot read either, because a published version cannot be corrected. Other
    /// remarks about documentation are left to `terrace docs check`.
    fn warn_of_errors(&self, contents: &Contents) {
        if let Contents::Module(details) = contents {
            for error in &details.root.errors {
                self.output.warning(&format!("{}: {error}", self.name()));
            }
        }
    }
}

fn subdir_of(place: &PackagePlace) -> Result<Option<Subdir>, Failure> {
    let subdir = Some(place.subdir.as_str()).filter(|subdir| !subdir.is_empty());
    let subdir = subdir.map(str::parse::<Subdir>).transpose();
    subdir.map_err(|error| Failure::refused(error.to_string()))
}

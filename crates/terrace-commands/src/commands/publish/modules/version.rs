//! One version of a module of a collection: its package, and the request that publishes it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use terrace_archive::ArchiveFormat;
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::subdir::Subdir;

use super::planned::PlannedVersion;
use super::report::add_package;
use crate::archive::pack::{Packed, pack};
use crate::commands::publish::documentation::ReleaseDocumentation;
use crate::commands::publish::module::{Release, documentation_of};
use crate::commands::publish::modules::CollectionArguments;
use crate::commands::publish::package::PackageRules;
use crate::commands::report::Done;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;
use crate::source::collection::reach::{self, PackagePlace};
use crate::source::collection::tree::{CommitTree, DiskTree, Tree};
use crate::source::git::{Objects, Repository, check_out};
use crate::source::repository::ReleaseSource;

/// The objects of the repository of the last version. Each module has its own, because modules are published at the same time.
#[derive(Default)]
pub(super) struct OpenedObjects(Option<(PathBuf, Objects)>);

impl OpenedObjects {
    fn of(&mut self, repository: &Repository) -> Result<&Objects, Failure> {
        let directory = &repository.directory;
        let opened = match self.0.take().filter(|(of, _)| of == directory) {
            Some(opened) => opened,
            None => {
                let objects = repository.objects().map_err(Failure::Local)?;
                (directory.clone(), objects)
            }
        };
        Ok(&self.0.insert(opened).1)
    }
}

/// Publishes one version.
pub(super) struct VersionPublisher<'a> {
    pub(super) arguments: &'a CollectionArguments,
    pub(super) address: &'a ModuleAddress,
    pub(super) version: &'a PlannedVersion,
    /// Whether the registry has the version with documentation.
    pub(super) is_documented: bool,
    /// The registry, unless this is a dry run.
    pub(super) client: Option<&'a Client<'a>>,
    pub(super) output: &'a Output,
}

impl VersionPublisher<'_> {
    /// Packs and publishes the version.
    pub(super) fn publish(
        &self,
        opened: &mut OpenedObjects,
        details: &mut Value,
    ) -> Result<Done, Failure> {
        let (place, packed) = self.pack(opened, details)?;
        let archive = json!({
            "sha256": packed.archive.sha256.to_string(),
            "size": packed.archive.size,
            "files": packed.files,
        });
        let subdir = Some(&place.subdir).filter(|subdir| !subdir.is_empty());
        let subdir = subdir.map(|subdir| subdir.parse::<Subdir>()).transpose();
        let subdir = subdir.map_err(|error| Failure::refused(error.to_string()))?;
        let name = format!("{} {}", self.address, self.version.version);
        let label = format!("{name}: ");
        let release = Release {
            label: &label,
            address: self.address,
            version: &self.version.version,
            subdir: subdir.as_ref(),
        };
        let rules = PackageRules {
            extent: &place.extent,
            allowed: &self.arguments.package,
            is_tagged: self.version.tag.is_some(),
        };
        let (zip, source) = (ArchiveFormat::Zip, self.source());
        let request = release.request(packed.archive, zip, source, Some(&rules), self.output)?;
        let choice = &self.arguments.documentation;
        let documentation = match self.is_documented || choice.no_docs {
            true => ReleaseDocumentation::default(),
            // A published version cannot be corrected.
            false => documentation_of(&request, &release, choice.require_docs, |error| {
                self.output.warning(&format!("{label}{error}"));
            })?,
        };
        let mut status = "dry_run";
        if let Some(client) = self.client {
            let receipt = documentation.publish_quietly(&request, client, self.output)?;
            for warning in receipt.warnings {
                self.output.warning(&format!("{label}{warning}"));
            }
            status = receipt.status;
        }
        Ok(Done {
            status,
            text: String::new(),
            lines: Vec::new(),
            details: json!({ "archive": archive }),
        })
    }

    /// Packs the files of the tag, or of the working tree.
    fn pack(
        &self,
        opened: &mut OpenedObjects,
        details: &mut Value,
    ) -> Result<(PackagePlace, Packed), Failure> {
        let PlannedVersion { origin, tag, .. } = self.version;
        let mut place = |tree: &dyn Tree| {
            let place = reach::package(tree, &self.version.module.directory);
            let place = place.map_err(Failure::refused)?;
            add_package(details, &place);
            Ok::<_, Failure>(place)
        };
        let (Some(repository), Some(tag)) = (&origin.repository, tag) else {
            let top = origin.directory.as_path();
            let place = place(&DiskTree { top })?;
            let packed = pack(&top.join(&place.directory), &place.extent)?;
            return Ok((place, packed));
        };
        let objects = opened.of(repository)?;
        let tree = CommitTree::at(objects, &tag.commit).map_err(Failure::refused)?;
        let place = place(&tree)?;
        let PackagePlace {
            directory, extent, ..
        } = &place;
        let written = check_out(objects, &tree.id, directory, extent).map_err(Failure::refused)?;
        // The place of temporary files may be a link, and reasons have its target.
        let top = fs::canonicalize(written.path());
        let top = top.unwrap_or_else(|_| written.path().to_owned());
        let in_repository = |reason: String| reason.replace(&format!("{}/", top.display()), "");
        let packed = pack(&top.join(directory), extent);
        let packed = packed.map_err(|failure| match failure {
            Failure::Refused(reasons) => {
                Failure::Refused(reasons.into_iter().map(in_repository).collect())
            }
            other => other,
        })?;
        Ok((place, packed))
    }

    fn source(&self) -> ReleaseSource {
        let PlannedVersion {
            module,
            origin,
            tag,
            ..
        } = self.version;
        let mut source = ReleaseSource {
            url: origin.source.clone(),
            ..ReleaseSource::default()
        };
        match tag {
            // Without a repository, the commit of the tag would say nothing.
            Some(tag) if source.url.is_some() => {
                source.commit = tag.commit.parse().ok();
                source.directory = module.directory.parse().ok();
                source
            }
            Some(_) => source,
            None => source.in_checkout(&origin.directory.join(&module.directory)),
        }
    }
}

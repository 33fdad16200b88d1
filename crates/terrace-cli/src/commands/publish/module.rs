//! `terrace publish module`.

use std::path::Path;

use serde_json::json;
use terrace_archive::{ArchiveFormat, zip_contents_warning};
use terrace_core::api::admin::{ModuleArchiveBody, ModuleBody};
use terrace_core::model::package::Package;
use terrace_core::model::subdir::Subdir;
use terrace_core::publish::{ExpectedArchive, ModulePublication, Publication};

use super::documentation::ReleaseDocumentation;
use crate::archive::pack::pack;
use crate::archive::{Archive, Source, read_file};
use crate::args::{ModuleArguments, RegistryArguments};
use crate::commands::connection::{connect, registry_url};
use crate::commands::documentation::{Extracted, of_module};
use crate::error::Failure;
use crate::output::{Output, bytes, plural};
use crate::registry::publish::{Kind, PublishRequest};
use crate::source::documentation::{DocumentationFiles, module_directory_files, module_files};

/// Publishes a directory or an archive as a module.
pub(crate) fn publish(
    arguments: &ModuleArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    // A missing URL or token is reported before the work of packing.
    let client = match arguments.dry_run {
        true => None,
        false => Some(connect(registry, output)?),
    };
    let request = prepare(arguments, output)?;
    let documentation = documentation(arguments, &request, output)?;
    let Some(client) = client else {
        let url = registry_url(registry)?;
        request.show_dry_run(documentation.dry_run(), url.as_ref(), output);
        return Ok(());
    };
    documentation.publish(&request, &client, output, || Ok(()))
}

/// Extracts the documentation from the files that are published, or from another directory.
fn documentation(
    arguments: &ModuleArguments,
    request: &PublishRequest,
    output: &Output,
) -> Result<ReleaseDocumentation, Failure> {
    let subject = (
        Package::Module(arguments.address.clone()),
        arguments.version.clone(),
    );
    ReleaseDocumentation::extract(&arguments.documentation, subject, output, || {
        let files = match &arguments.documentation.docs {
            Some(directory) => files_of_module(directory)?,
            None => published_files(request, arguments.subdir.as_ref())?,
        };
        let extracted = Extracted::new(of_module(&files), &files);
        Ok(Some(extracted).filter(|extracted| !extracted.is_empty()))
    })
}

fn published_files(
    request: &PublishRequest,
    subdir: Option<&Subdir>,
) -> Result<DocumentationFiles, Failure> {
    let Some(archive) = request.archives.first() else {
        return Ok(DocumentationFiles::default());
    };
    let format = ArchiveFormat::of_file_name(&archive.filename).unwrap_or(ArchiveFormat::Zip);
    module_files(archive, format, subdir).map_err(Failure::refused)
}

/// Reads the files that documentation is extracted from, of the module in a directory or an archive.
pub(crate) fn files_of_module(path: &Path) -> Result<DocumentationFiles, Failure> {
    if path.is_dir() {
        return module_directory_files(path).map_err(Failure::Refused);
    }
    let (archive, format) = own_archive(path)?;
    module_files(&archive, format, None).map_err(Failure::refused)
}

/// Returns a module that passes the core's checks.
pub(crate) fn prepare(
    arguments: &ModuleArguments,
    output: &Output,
) -> Result<PublishRequest, Failure> {
    let ModuleArguments {
        address, version, ..
    } = arguments;
    output.progress(&format!("checking {address} {version}"));
    let (mut archive, format) = archive(&arguments.path, output)?;
    let source = arguments.source.find(&arguments.path, output)?;
    let body = ModuleBody {
        archive: ModuleArchiveBody {
            format: format.as_str().to_owned(),
            sha256: archive.sha256.to_string(),
            size: archive.size,
        },
        subdir: arguments.subdir.as_ref().map(ToString::to_string),
        source: source.url.map(|url| url.to_string()),
        commit: source.commit.map(|commit| commit.to_string()),
    };
    let module = ModulePublication::parse(address.clone(), version.clone(), &body)
        .map_err(Failure::Refused)?;
    for expected in Publication::Module(module).archives() {
        check(&archive, &expected, output)?;
        archive.filename = expected.filename;
    }
    Ok(PublishRequest {
        kind: Kind::Module,
        address: address.to_string(),
        version: version.to_string(),
        description: json!(body),
        archives: vec![archive],
    })
}

/// Returns the archive to send: packed now, or the user's own.
fn archive(path: &Path, output: &Output) -> Result<(Archive, ArchiveFormat), Failure> {
    if path.is_dir() {
        let place = path.display().to_string();
        let packed = pack(path)?;
        for left_out in &packed.left_out {
            output.progress(&format!("left out {left_out}: it may contain secrets"));
        }
        let archive = Archive::read(place, Source::Temporary(packed.zip))
            .map_err(|error| Failure::Unexpected(format!("reading the packed archive: {error}")))?;
        let (files, size) = (packed.files, bytes(archive.size));
        output.progress(&format!("packed {} into {size}", plural(files, "file")));
        return Ok((archive, ArchiveFormat::Zip));
    }
    own_archive(path)
}

/// Returns the archive of the user.
fn own_archive(path: &Path) -> Result<(Archive, ArchiveFormat), Failure> {
    let place = path.display().to_string();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let archive = read_file(path, place.clone()).map_err(Failure::refused)?;
    match ArchiveFormat::of_file_name(&name) {
        Some(format) => Ok((archive, format)),
        None => Err(Failure::refused(format!(
            "{place} is neither a directory nor named .zip, .tar.gz or .tgz"
        ))),
    }
}

/// Checks the archive as the registry will, and unpacks a zip, whereas the registry only lists its contents.
fn check(archive: &Archive, expected: &ExpectedArchive, output: &Output) -> Result<(), Failure> {
    let entries = archive.entries(expected).map_err(Failure::refused)?;
    let refusals = expected.refusals(&entries);
    if !refusals.is_empty() {
        return Err(Failure::Refused(refusals));
    }
    if expected.format() == ArchiveFormat::Zip
        && zip_contents_warning(archive.size, &entries).is_some()
    {
        archive.h1().map_err(Failure::refused)?;
    }
    for remark in expected.remarks(&entries) {
        output.warning(&remark);
    }
    Ok(())
}

//! `terrace publish module`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use terrace_archive::{ArchiveFormat, zip_contents_warning};
use terrace_core::api::admin::{ModuleArchiveBody, ModuleBody};
use terrace_core::documentation::Contents;
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::package::Package;
use terrace_core::model::subdir::Subdir;
use terrace_core::model::version::Version;
use terrace_core::publish::{ExpectedArchive, ModulePublication, Publication};

use super::documentation::ReleaseDocumentation;
use super::package::{PackageArguments, PackageRules};
use crate::archive::pack::{Extent, pack};
use crate::archive::{Archive, read_file};
use crate::commands::connection::{Session, registry_url};
use crate::commands::documentation::{Extracted, of_module};
use crate::commands::publish::SourceArguments;
use crate::commands::publish::documentation::DocumentationArguments;
use crate::error::Failure;
use crate::output::{Output, bytes, plural};
use crate::registry::client::Client;
use crate::registry::publish::{Kind, PublishRequest, Receipt};
use crate::source::documentation::{DocumentationFiles, module_directory_files, module_files};
use crate::source::repository::ReleaseSource;

#[derive(Debug, Args)]
pub(crate) struct ModuleArguments {
    /// The directory to pack, or a .zip, .tar.gz or .tgz to send unchanged
    #[arg(value_name = "DIR|ARCHIVE", default_value = ".")]
    pub(crate) path: PathBuf,

    /// The address of the module, as namespace/name/system
    #[arg(long, value_parser = ModuleAddress::parse_hosted)]
    pub(crate) address: ModuleAddress,

    /// The version, such as 1.2.3
    #[arg(long)]
    pub(crate) version: Version,

    /// The directory of the module inside the archive, if it is not the top level
    #[arg(long, value_name = "PATH")]
    pub(crate) subdir: Option<Subdir>,

    #[command(flatten)]
    pub(crate) package: PackageArguments,

    #[command(flatten)]
    pub(crate) source: SourceArguments,

    #[command(flatten)]
    pub(crate) documentation: DocumentationArguments,

    /// Check everything that can be checked locally, show the request, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Publishes a directory or an archive as a module.
pub(crate) fn publish(arguments: &ModuleArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    // A missing URL or token is reported before the work of packing.
    let client = (!arguments.dry_run).then(|| session.connect());
    let client = client.transpose()?;
    let request = prepare(arguments, output)?;
    let documentation = documentation(arguments, &request, output)?;
    let Some(client) = client else {
        let url = registry_url(session.registry)?;
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
        Ok(Extracted::of(of_module(&files), &files))
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

/// Returns the documentation in the files of a module that is published as one of many. Passes the errors of files that clients
/// cannot read either to `note`; other remarks about documentation are left to `terrace docs check`.
pub(super) fn documentation_of(
    request: &PublishRequest,
    release: &Release<'_>,
    is_required: bool,
    note: impl Fn(&str),
) -> Result<ReleaseDocumentation, Failure> {
    let files = published_files(request, release.subdir)?;
    let draft = of_module(&files);
    if let Contents::Module(details) = &draft.contents {
        details.root.errors.iter().for_each(|error| note(error));
    }
    let extracted = Extracted::of(draft, &files);
    let package = Package::Module(release.address.clone());
    let subject = (package, release.version.clone());
    ReleaseDocumentation::of(Ok(extracted), is_required, subject, |_| {})
}

/// Reads the files that documentation is extracted from, of the module in a directory or an archive.
pub(crate) fn files_of_module(path: &Path) -> Result<DocumentationFiles, Failure> {
    if path.is_dir() {
        return module_directory_files(path).map_err(Failure::Refused);
    }
    let (archive, format) = own_archive(path)?;
    module_files(&archive, format, None).map_err(Failure::refused)
}

/// Returns a module in an archive that passes the core's checks.
pub(crate) fn describe(
    (archive, format): (Archive, ArchiveFormat),
    (address, version): (&ModuleAddress, &Version),
    subdir: Option<&Subdir>,
    source: ReleaseSource,
    output: &Output,
) -> Result<PublishRequest, Failure> {
    Release::of(address, version, subdir).request(archive, format, source, None, output)
}

/// Publishes a module with the documentation in its files, as one of many. Documentation that is not stored is a warning.
pub(crate) fn publish_quietly(
    request: &PublishRequest,
    (address, version, subdir): (&ModuleAddress, &Version, Option<&Subdir>),
    client: &Client<'_>,
    output: &Output,
) -> Result<Receipt, Failure> {
    let release = Release::of(address, version, subdir);
    documentation_of(request, &release, false, |_| {})?.publish_quietly(request, client, output)
}

/// Returns a module that passes the core's checks, holds no secrets, and does not leave its package.
fn prepare(arguments: &ModuleArguments, output: &Output) -> Result<PublishRequest, Failure> {
    let (archive, format) = archive(&arguments.path, output)?;
    let mut source = arguments.source.find(&arguments.path, output)?;
    if arguments.path.is_dir() {
        let subdir = arguments.subdir.as_ref().map_or("", Subdir::as_str);
        source = source.in_checkout(&arguments.path.join(subdir));
    }
    let rules = PackageRules {
        extent: &Extent::whole(),
        allowed: &arguments.package,
        is_tagged: false,
    };
    let (address, version) = (&arguments.address, &arguments.version);
    let release = Release::of(address, version, arguments.subdir.as_ref());
    release.request(archive, format, source, Some(&rules), output)
}

/// The release that an archive is published as.
pub(super) struct Release<'a> {
    /// The start of each warning, if modules are published together.
    pub(super) label: &'a str,
    pub(super) address: &'a ModuleAddress,
    pub(super) version: &'a Version,
    pub(super) subdir: Option<&'a Subdir>,
}

impl<'a> Release<'a> {
    fn of(address: &'a ModuleAddress, version: &'a Version, subdir: Option<&'a Subdir>) -> Self {
        Self {
            label: "",
            address,
            version,
            subdir,
        }
    }

    /// Returns the request to publish an archive, which passes the core's checks and the rules of a publisher, if any. Fails
    /// with the reasons of both.
    pub(super) fn request(
        &self,
        mut archive: Archive,
        format: ArchiveFormat,
        source: ReleaseSource,
        rules: Option<&PackageRules<'_>>,
        output: &Output,
    ) -> Result<PublishRequest, Failure> {
        let (address, version) = (self.address, self.version);
        if self.label.is_empty() {
            output.progress(&format!("checking {address} {version}"));
        }
        let body = ModuleBody {
            archive: ModuleArchiveBody {
                format: format.as_str().to_owned(),
                sha256: archive.sha256.to_string(),
                size: archive.size,
            },
            subdir: self.subdir.map(ToString::to_string),
            source: source.url.map(|url| url.to_string()),
            commit: source.commit.map(|commit| commit.to_string()),
            directory: source.directory.map(|directory| directory.to_string()),
            tree: source.tree.map(|tree| tree.to_string()),
        };
        let module = ModulePublication::parse(address.clone(), version.clone(), &body)
            .map_err(Failure::Refused)?;
        let (mut reasons, mut remarks) = (Vec::new(), Vec::new());
        for expected in Publication::Module(module).archives() {
            let found = checked(&archive, &expected).map_err(Failure::refused)?;
            remarks.extend(found.0);
            reasons.extend(found.1);
            archive.filename = expected.filename;
        }
        if let Some(rules) = rules {
            let found = rules.reasons((self.label, self.subdir), &archive, format, output);
            reasons.extend(found.map_err(Failure::refused)?);
        }
        if !reasons.is_empty() {
            // They name the secrets that a remark would name again.
            return Err(Failure::Refused(reasons));
        }
        for remark in remarks {
            output.warning(&format!("{}{remark}", self.label));
        }
        Ok(PublishRequest {
            kind: Kind::Module,
            address: address.to_string(),
            version: version.to_string(),
            body: json!(body),
            archives: vec![archive],
        })
    }
}

/// Returns the archive to send: packed now, or the user's own.
fn archive(path: &Path, output: &Output) -> Result<(Archive, ArchiveFormat), Failure> {
    if !path.is_dir() {
        return own_archive(path);
    }
    let packed = pack(path, &Extent::whole())?;
    for left_out in &packed.left_out {
        output.progress(&format!("left out {left_out}: it may contain secrets"));
    }
    let (files, size) = (packed.files, bytes(packed.archive.size));
    output.progress(&format!("packed {} into {size}", plural(files, "file")));
    Ok((packed.archive, ArchiveFormat::Zip))
}

/// Returns the archive of the user.
fn own_archive(path: &Path) -> Result<(Archive, ArchiveFormat), Failure> {
    let place = path.display().to_string();
    let archive = read_file(path, place.clone()).map_err(Failure::refused)?;
    match ArchiveFormat::of_file_name(&place) {
        Some(format) => Ok((archive, format)),
        None => Err(Failure::refused(format!(
            "{place} is neither a directory nor named .zip, .tar.gz or .tgz"
        ))),
    }
}

/// Checks the archive as the registry will, and unpacks a zip, whereas the registry only lists its contents. Returns the
/// remarks of the registry about it, and its reasons to reject it.
fn checked(
    archive: &Archive,
    expected: &ExpectedArchive,
) -> Result<(Vec<String>, Vec<String>), String> {
    let entries = archive.entries(expected)?;
    let refusals = expected.refusals(&entries);
    if !refusals.is_empty() {
        return Ok((Vec::new(), refusals));
    }
    if expected.format() == ArchiveFormat::Zip
        && zip_contents_warning(archive.size, &entries).is_some()
    {
        archive.h1()?;
    }
    Ok((expected.remarks(&entries), Vec::new()))
}

//! The documentation in a directory, as the registry would show it.

use terrace_base::digest;
use terrace_core::documentation::{self, DocumentPath, DocumentText};
use terrace_core::index::about::AboutDocumentation;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::read::VersionView;
use terrace_metadata::{Archive, OpenArchive};

use crate::args::PackageSpec;
use crate::clock;
use crate::commands::docs::DocsSubject;
use crate::commands::docs::preview::DocsPreviewArguments;
use crate::commands::documentation::Extracted;
use crate::error::Failure;
use crate::output::shown;
use crate::source::documentation::DocumentationFiles;
use sha2::{Digest as _, Sha256};

/// The version in place of the one that will be published.
const VERSION: &str = "0.0.0";

/// The documentation in a directory.
pub(super) struct Contents {
    pub(super) package: Package,
    pub(super) version: Version,
    pub(super) view: VersionView,
    /// Warnings about the files, or the failure to read them.
    pub(super) problems: Vec<String>,
    /// A digest of the files, or of the failure to read them.
    revision: digest::Sha256,
    archive: Archive,
}

impl Contents {
    /// Reads the documentation.
    ///
    /// # Errors
    /// The directory cannot be read, or contains another kind of package than the arguments name.
    pub(super) fn read(arguments: &DocsPreviewArguments) -> Result<Self, Failure> {
        let files = arguments.subject.files()?;
        Self::of(revision(&files), arguments, &files)
    }

    /// Reads the documentation again if a file has changed. A failure is shown above the pages.
    pub(super) fn refresh(&mut self, arguments: &DocsPreviewArguments) {
        let read = arguments.subject.files().and_then(|files| {
            let revision = revision(&files);
            let is_new = revision != self.revision;
            is_new
                .then(|| Self::of(revision, arguments, &files))
                .transpose()
        });
        match read {
            Ok(None) => {}
            Ok(Some(contents)) => *self = contents,
            Err(failure) => {
                self.problems = failure.reasons();
                self.revision = digest::Sha256::of(self.problems.join("\n").as_bytes());
            }
        }
    }

    fn of(
        revision: digest::Sha256,
        arguments: &DocsPreviewArguments,
        files: &DocumentationFiles,
    ) -> Result<Self, Failure> {
        let extracted = Extracted::new(arguments.subject.draft(files)?, files);
        let mut problems = extracted.warnings().to_vec();
        problems.extend(arguments.subject.dead_links(files));
        if extracted.is_empty() {
            problems.push("there is no documentation in the directory".to_owned());
        }
        let archive = extracted.into_archive();
        let package = package(arguments, &archive.head.contents)?;
        // The registry makes the same checks.
        if let Err(error) = OpenArchive::parse(&archive.bytes, &package) {
            problems.push(error);
        }
        let version = VERSION.parse::<Version>();
        let version = version.map_err(|error| Failure::Unexpected(error.to_string()))?;
        Ok(Self {
            view: VersionView::preview(&package, &version, about(&archive)),
            package,
            version,
            problems,
            revision,
            archive,
        })
    }

    /// Returns a text that changes with the files.
    pub(super) fn revision(&self) -> String {
        self.revision.to_string()
    }

    /// Returns the text of a document, as the registry reads it; `None` if it does not exist.
    pub(super) fn text(&self, path: &DocumentPath) -> Option<String> {
        let archive = OpenArchive::parse(&self.archive.bytes, &self.package).ok()?;
        match archive.head().document(path)? {
            DocumentText::Here(text) => Some(text.to_owned()),
            DocumentText::At(member) => {
                let bytes = archive.page(member).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
        }
    }
}

/// Returns the address that the user gave, or one with the name of the directory.
///
/// # Errors
/// The user gave the address of another kind of package.
fn package(
    arguments: &DocsPreviewArguments,
    contents: &documentation::Contents,
) -> Result<Package, Failure> {
    let DocsSubject { dir, .. } = &arguments.subject;
    let is_module = matches!(contents, documentation::Contents::Module(_));
    if let Some(PackageSpec { package, .. }) = &arguments.address {
        return match is_module == matches!(package, Package::Module(_)) {
            true => Ok(package.clone()),
            false => Err(Failure::Usage(format!(
                "{} is the address of another kind of package than that in {}; give another directory or --address",
                package.address(),
                dir.display()
            ))),
        };
    }
    let path = std::fs::canonicalize(dir).unwrap_or_default();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let known = arguments.subject.known_type();
    let addresses = match is_module {
        true => [
            format!("example/{name}/system"),
            "example/module/system".to_owned(),
        ],
        false => [
            format!("example/{}", shown(known)),
            "example/provider".to_owned(),
        ],
    };
    let mut packages = addresses.iter().filter_map(|it| Package::parse_address(it));
    let package = packages.next();
    package.ok_or_else(|| Failure::Unexpected("the package has no address".to_owned()))
}

fn about(archive: &Archive) -> AboutDocumentation {
    AboutDocumentation {
        archive: digest::Sha256::of(&archive.bytes),
        head_length: u64::try_from(archive.head_bytes).unwrap_or(u64::MAX),
        changed_at: clock::now(),
        changes: 0,
        license: None,
        origin: None,
        head: archive.head.clone(),
    }
}

fn revision(files: &DocumentationFiles) -> digest::Sha256 {
    let mut hasher = Sha256::new();
    for file in files.sources() {
        for part in [file.path.as_bytes(), file.bytes] {
            hasher.update(part.len().to_le_bytes());
            hasher.update(part);
        }
    }
    digest::Sha256::from_bytes(hasher.finalize().into())
}

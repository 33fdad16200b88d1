//! Documentation: extracted from files, described to its publisher, and packed for the registry.

pub(crate) mod attachments;

use std::io::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};
use terrace_core::documentation::{Contents, ModuleDetails};
use terrace_core::model::name::ProviderType;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_metadata::{Draft, ProviderOptions, Schema, limits, module_details, provider_details};

use crate::archive::{Archive, Source};
use crate::error::Failure;
use crate::output::{Output, plural};
use crate::registry::documentation::DocumentationRequest;
use crate::source::bounded_text;
use crate::source::documentation::DocumentationFiles;

/// The number of warnings that are printed about the documentation of a release.
const SHOWN_WARNINGS: usize = 20;

/// Packed documentation, and what its publisher should know about it.
pub(crate) struct Extracted {
    packed: terrace_metadata::Archive,
    warnings: Vec<String>,
}

/// Returns the type of a provider.
pub(crate) fn provider_type(package: &Package) -> Option<&ProviderType> {
    match package {
        Package::Provider(address) => Some(&address.provider_type),
        Package::Mirrored(address) => Some(&address.provider.provider_type),
        Package::Module(_) => None,
    }
}

/// Extracts the documentation of a module, without packing it.
pub(crate) fn of_module(files: &DocumentationFiles) -> Draft {
    let sources = files.sources();
    let mut draft = module_details(&sources);
    attachments::attach(&mut draft, &sources);
    draft
}

/// Extracts the documentation of a provider, without packing it.
///
/// # Errors
/// The file with the schema cannot be read, or is not a schema of this provider.
pub(crate) fn of_provider(
    files: &DocumentationFiles,
    provider_type: &str,
    schema: Option<&Path>,
) -> Result<Draft, Failure> {
    let schema = schema.map(|path| {
        let most = u64::try_from(limits::SCHEMA_BYTES).unwrap_or(u64::MAX);
        let json = bounded_text(path, most).map_err(Failure::refused)?;
        let schema = Schema::parse(json.as_bytes(), provider_type);
        schema.map_err(|error| Failure::refused(format!("{}: {error}", path.display())))
    });
    let schema = schema.transpose()?;
    let options = ProviderOptions {
        provider_type,
        schema: schema.as_ref(),
    };
    Ok(provider_details(&files.sources(), options))
}

impl Extracted {
    /// Packs the documentation that was extracted from these files.
    pub(crate) fn new(draft: Draft, files: &DocumentationFiles) -> Self {
        let mut warnings = files.problems.clone();
        warnings.extend(draft.warnings.iter().map(ToString::to_string));
        if let Contents::Module(details) = &draft.contents {
            warnings.extend(errors(details).cloned());
        }
        Self {
            packed: draft.pack(),
            warnings,
        }
    }

    /// Packs the documentation, if anything was found that readers could be shown.
    pub(crate) fn of(draft: Draft, files: &DocumentationFiles) -> Option<Self> {
        Some(Self::new(draft, files)).filter(|extracted| !extracted.is_empty())
    }

    /// Returns whether nothing was found that readers could be shown.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.packed.head.contents {
            Contents::Module(details) => *details == ModuleDetails::default(),
            Contents::Provider(details) => details.pages.is_empty() && details.symbols.is_empty(),
        }
    }

    /// Returns the warnings about the files, such as `docs/index.md:3: …`.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the documentation as the registry stores it.
    pub(crate) fn into_archive(self) -> terrace_metadata::Archive {
        self.packed
    }

    /// Returns everything that its author should correct. A provider has a warning for each such thing, and notes about
    /// files that are left out on purpose.
    pub(crate) fn problems(&self) -> Vec<String> {
        let notes = match &self.packed.head.contents {
            Contents::Module(_) => self.notes(),
            Contents::Provider(_) => Vec::new(),
        };
        self.warnings.iter().chain(notes).cloned().collect()
    }

    /// Returns the notes that readers see too, such as those about pages that were cut, unless a warning is the same.
    pub(crate) fn notes(&self) -> Vec<&String> {
        let is_new = |note: &&String| {
            let mut warnings = self.warnings.iter();
            !warnings.any(|warning| warning.ends_with(note.as_str()))
        };
        self.packed.head.notes.iter().filter(is_new).collect()
    }

    /// Prints the first warnings and notes, and the number of the others.
    pub(crate) fn warn(&self, output: &Output) {
        let mut all = self.warnings.iter().chain(self.notes());
        for warning in all.by_ref().take(SHOWN_WARNINGS) {
            output.warning(warning);
        }
        let others = all.count();
        if others > 0 {
            output.warning(&format!(
                "{} about the documentation: terrace docs check lists all",
                plural(others, "further warning")
            ));
        }
    }

    /// Returns a line such as `documentation: 12 inputs, 4 outputs, 2 examples`.
    pub(crate) fn line(&self) -> String {
        let counts = self.counts().into_iter().filter(|(_, count)| *count > 0);
        let mut found: Vec<String> = counts.map(|(noun, count)| plural(count, noun)).collect();
        if found.is_empty() {
            let is_readme = matches!(&self.packed.head.contents, Contents::Module(it) if it.root.readme.is_some());
            found.push(if is_readme { "README" } else { "nothing" }.to_owned());
        }
        format!("documentation: {}", found.join(", "))
    }

    /// Returns the counts of the line for `--json`.
    pub(crate) fn document(&self) -> Map<String, Value> {
        let counts = self.counts().into_iter();
        counts
            .map(|(noun, count)| (format!("{noun}s"), json!(count)))
            .collect()
    }

    fn counts(&self) -> Vec<(&'static str, usize)> {
        match &self.packed.head.contents {
            Contents::Module(details) => vec![
                ("input", details.root.inputs.len()),
                ("output", details.root.outputs.len()),
                ("submodule", details.submodules.len()),
                ("example", details.examples.len()),
            ],
            Contents::Provider(details) => vec![("page", details.pages.len())],
        }
    }

    /// Returns the documentation in the form in which it is sent, checked as the registry will. That of another registry's
    /// provider needs terms: a licence and an origin.
    ///
    /// # Errors
    /// The reasons for which the registry would reject it.
    pub(crate) fn request(
        &self,
        package: Package,
        version: Version,
        (license, origin): (Option<String>, Option<String>),
    ) -> Result<DocumentationRequest, Failure> {
        let archive = temporary(&self.packed.bytes).map_err(|error| {
            let place = std::env::temp_dir();
            Failure::Local(format!(
                "writing the documentation into {}: {error}",
                place.display()
            ))
        })?;
        let request = DocumentationRequest {
            package,
            version,
            archive,
            head_length: u64::try_from(self.packed.head_bytes).unwrap_or(u64::MAX),
            license,
            origin,
        };
        match request.reasons() {
            reasons if reasons.is_empty() => Ok(request),
            reasons => Err(Failure::Refused(reasons)),
        }
    }
}

fn temporary(bytes: &[u8]) -> std::io::Result<Archive> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    Archive::read("documentation".to_owned(), Source::Temporary(file))
}

/// Returns the errors of all files of a module.
fn errors(details: &ModuleDetails) -> impl Iterator<Item = &String> {
    let parts = details.submodules.iter().chain(&details.examples);
    let parts = parts.map(|named| &named.part);
    std::iter::once(&details.root)
        .chain(parts)
        .flat_map(|part| &part.errors)
}

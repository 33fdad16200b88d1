//! `terrace docs`.

mod add;
mod links;
mod preview;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use terrace_core::model::name::ProviderType;
use terrace_metadata::Draft;

use crate::commands::connection::Session;
use crate::commands::docs::add::DocsAddArguments;
use crate::commands::docs::preview::DocsPreviewArguments;
use crate::commands::documentation::{Extracted, of_module, of_provider};
use crate::commands::publish::module::files_of_module;
use crate::error::Failure;
use crate::output::{Output, plural};
use crate::source::documentation::{
    DocumentationFiles, REPOSITORY_PREFIX, has_configuration, is_module, is_provider,
    provider_files,
};

#[derive(Debug, Subcommand)]
pub(crate) enum DocsCommand {
    /// Add documentation to a version, or correct it
    ///
    /// The version itself does not change. Its pages state when the documentation has changed.
    #[command(
        after_help = "Example: terrace docs add acme/vpc/aws 1.2.3 .\nToken scope: publish:<namespace>, admin:<namespace> or admin"
    )]
    Add(DocsAddArguments),
    /// Check the documentation in a directory, without a registry
    ///
    /// Reports everything that "tfplugindocs validate" rejects, and everything that the registry would cut or leave
    /// out.
    #[command(after_help = "Example: terrace docs check .")]
    Check(DocsSubject),
    /// Show the documentation in a directory in a browser, and again after each change
    ///
    /// The pages are those of a registry. They are served to this machine alone.
    #[command(after_help = "Example: terrace docs preview docs")]
    Preview(DocsPreviewArguments),
}

/// A local directory with documentation.
#[derive(Debug, Clone, Args)]
pub(crate) struct DocsSubject {
    /// The directory of a module, or the repository or the docs directory of a provider
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// The type of the provider, such as `widget`. By default that of the directory terraform-provider-<type>
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) provider_type: Option<ProviderType>,
    /// The output of "terraform providers schema -json" with this provider, to compare the pages with
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
}

/// Executes the command.
pub(crate) fn run(command: &DocsCommand, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    match command {
        DocsCommand::Add(arguments) => add::run(arguments, session),
        DocsCommand::Check(subject) => check(subject, output),
        DocsCommand::Preview(arguments) => preview::run(arguments, output),
    }
}

/// Checks the documentation in a directory.
fn check(subject: &DocsSubject, output: &Output) -> Result<(), Failure> {
    let files = subject.files()?;
    let extracted = Extracted::new(subject.draft(&files)?, &files);
    let mut reasons = extracted.problems();
    reasons.extend(subject.dead_links(&files));
    if extracted.is_empty() {
        let place = subject.dir.display();
        reasons.push(format!(
            "{place}: there is no documentation; name the directory of a module, or that of a provider's pages"
        ));
    }
    let mut notes: Vec<String> = extracted.notes().into_iter().cloned().collect();
    notes.retain(|note| !reasons.contains(note));
    notes.extend(subject.doubt());
    for note in &notes {
        output.progress(&format!("note: {note}"));
    }
    let report = json!({ "documentation": extracted.document(), "notes": notes });
    let text = match reasons.is_empty() {
        true => format!("nothing to correct in the {}", extracted.line()),
        false => format!("{} to correct", plural(reasons.len(), "problem")),
    };
    let worst = (!reasons.is_empty()).then(|| Failure::Refused(Vec::new()));
    output.outcome(text, report, worst, reasons)
}

impl DocsSubject {
    /// Reads the files in the directory that are documentation, or that it is extracted from.
    fn files(&self) -> Result<DocumentationFiles, Failure> {
        match self.is_module() {
            true => files_of_module(&self.dir),
            false => provider_files(&self.dir).map_err(Failure::refused),
        }
    }

    /// Extracts the documentation from these files.
    fn draft(&self, files: &DocumentationFiles) -> Result<Draft, Failure> {
        if self.is_module() {
            return Ok(of_module(files));
        }
        let found = self.known_type();
        let provider_type = found.as_ref().map_or("", ProviderType::as_str);
        if self.schema.is_some() && found.is_none() {
            let message = "the type of the provider is not known: give it with --type";
            return Err(Failure::Usage(message.to_owned()));
        }
        of_provider(files, provider_type, self.schema.as_deref())
    }

    /// Returns the type of the provider that the user gave, or that of the directory.
    fn known_type(&self) -> Option<ProviderType> {
        let given = self.provider_type.clone();
        given.or_else(|| type_of_directory(&self.dir))
    }

    /// Returns the links in READMEs of a module that lead to no file.
    fn dead_links(&self, files: &DocumentationFiles) -> Vec<String> {
        match self.is_module() {
            true => links::dead(&self.dir, files),
            false => Vec::new(),
        }
    }

    /// Returns a note on the kind that the directory was read as, if its contents do not agree and the user did not say what it is.
    fn doubt(&self) -> Option<String> {
        let is_given = self.provider_type.is_some() || self.schema.is_some();
        if is_given || !has_configuration(&self.dir) {
            return None;
        }
        let read = match is_provider(&self.dir) {
            (true, _) => {
                "a provider, because of its name or its pages, although it has configuration files"
            }
            (false, true) => {
                "a module, because it has configuration files, although it has docs like a provider: --type reads it as one"
            }
            (false, false) => return None,
        };
        Some(format!("{} was read as {read}", self.dir.display()))
    }

    fn is_module(&self) -> bool {
        self.provider_type.is_none() && self.schema.is_none() && is_module(&self.dir)
    }
}

/// Returns the type in the name of a directory, or of one that contains it, such as `terraform-provider-widget/docs`.
fn type_of_directory(directory: &Path) -> Option<ProviderType> {
    let directory = std::fs::canonicalize(directory).ok()?;
    directory.ancestors().find_map(|directory| {
        let name = directory.file_name()?.to_str()?;
        name.strip_prefix(REPOSITORY_PREFIX)?.parse().ok()
    })
}

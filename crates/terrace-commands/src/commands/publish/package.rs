//! The checks of a module's package that only its publisher can make: does it hold secrets, and does it hold everything
//! that it refers to?

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use terrace_archive::{ArchiveFormat, Entry, EntryKind, SecretFile};
use terrace_base::untrusted::quoted;
use terrace_core::limits;
use terrace_core::model::subdir::Subdir;
use terrace_metadata::{ModuleSource, SourceFile, module_sources};

use super::loaded;
use crate::archive::Archive;
use crate::archive::pack::Extent;
use crate::output::{Output, in_shell, plural};
use crate::source::documentation::is_configuration;
use crate::source::local_paths::{escapes, named, outside_files};

/// Files that are published although they look as if they should not be.
#[derive(Debug, Args)]
pub(crate) struct PackageArguments {
    /// Publish this file although it looks as if it holds secrets: its exact path in the package. May be given several
    /// times
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_secrets: Vec<String>,
    /// Publish this configuration file although it looks as if no client could parse it: its exact path in the package. May
    /// be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_unparsed: Vec<String>,
    #[arg(skip)]
    checked: Mutex<Checked>,
}

/// What was checked so far.
#[derive(Debug, Default)]
struct Checked {
    packages: usize,
    /// The files with secrets that `allow_secrets` has named.
    allowed: BTreeSet<String>,
}

impl PackageArguments {
    /// Warns of the paths that have allowed no file, if all `packages` were checked: others could hold these files.
    pub(super) fn warn_of_useless(&self, packages: usize, output: &Output) {
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.packages < packages {
            return;
        }
        let useless = self.allow_secrets.iter();
        for path in useless.filter(|path| !checked.allowed.contains(normal(path))) {
            output.warning(&format!(
                "--allow-secrets {} allows nothing: no package that was checked holds secrets in a file with exactly this path",
                in_shell(path)
            ));
        }
    }
}

/// The rules by which a package is checked.
pub(super) struct PackageRules<'a> {
    /// The parts of the package's directory that are packed.
    pub(super) extent: &'a Extent,
    /// The files that are published anyway.
    pub(super) allowed: &'a PackageArguments,
    /// Whether the files are those of a tag, so that a correction needs another one.
    pub(super) is_tagged: bool,
}

impl PackageRules<'_> {
    /// Returns the reasons not to publish a package of a module in `subdir`. The others are printed as warnings after `label`.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub(super) fn reasons(
        &self,
        (label, subdir): (&str, Option<&Subdir>),
        archive: &Archive,
        format: ArchiveFormat,
        output: &Output,
    ) -> Result<Vec<String>, String> {
        let top = subdir.map_or("", Subdir::as_str);
        let contents = archive.contents(format, is_configuration)?;
        let mut reasons = link_reasons(archive, format)?;
        reasons.extend(self.secret_reasons(&contents.secrets));
        if label.is_empty() {
            self.allowed.warn_of_useless(1, output);
        }
        let files = contents.files.iter();
        let files: Vec<SourceFile<'_>> = files
            .map(|(path, bytes)| SourceFile { path, bytes })
            .collect();
        let calls = module_sources(&files);
        let is_allowed = |path: &str| {
            let mut paths = self.allowed.allow_unparsed.iter();
            paths.any(|it| normal(it) == path)
        };
        reasons.extend(loaded::reasons(&files, &calls, top, is_allowed));
        let escapes = escapes(&calls, top);
        reasons.extend(escape_reasons(&escapes.fatal));
        for escape in &escapes.harmless {
            let warning =
                "leads out of the package: its directory cannot be used from the registry";
            output.warning(&format!("{}{} {warning}", label, named(escape)));
        }
        for file in &files {
            let text = String::from_utf8_lossy(file.bytes);
            for (line, path) in outside_files(file.path, &text, self.extent) {
                output.warning(&format!(
                    "{}{}:{line}: {} is outside of the package, so consumers do not have it: move it into the directory of \
                     the module",
                    label,
                    file.path,
                    quoted(&path)
                ));
            }
        }
        Ok(reasons)
    }

    fn secret_reasons(&self, found: &[(String, SecretFile)]) -> Vec<String> {
        let is_allowed = |path: &str| {
            let mut paths = self.allowed.allow_secrets.iter();
            paths.any(|it| normal(it) == path)
        };
        let (allowed, refused): (Vec<_>, Vec<_>) =
            found.iter().partition(|(path, _)| is_allowed(path));
        let checked = self.allowed.checked.lock();
        let mut checked = checked.unwrap_or_else(PoisonError::into_inner);
        checked.packages += 1;
        let allowed = allowed.into_iter().map(|(path, _)| path.clone());
        checked.allowed.extend(allowed);
        let reasons = refused.iter();
        let reasons = reasons.map(|(path, kind)| format!("{} holds {kind}", quoted(path)));
        let remedy = match self.is_tagged {
            true => {
                "delete them or exclude them in .terraformignore under a new tag, and leave this version out with --since"
            }
            false => "delete them, exclude them in .terraformignore",
        };
        let advice = refused.first().map(|(path, _)| {
            format!(
                "a published version can only be erased, so such files are refused: {remedy}, or confirm each one that \
                 holds no secret with --allow-secrets {}",
                in_shell(path)
            )
        });
        with_advice(reasons.collect(), advice)
    }
}

/// Returns the configuration files that clients would unpack as empty files, so that parts of the module are missing without
/// an error. Other links are warnings of the registry.
fn link_reasons(archive: &Archive, format: ArchiveFormat) -> Result<Vec<String>, String> {
    // A zip with a link is refused already.
    let entries = match format {
        ArchiveFormat::Zip => Vec::new(),
        ArchiveFormat::TarGz => archive.list(format)?,
    };
    let links = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Symlink && is_configuration(&entry.name));
    let reason = |link: &Entry| {
        format!(
            "{} is a symbolic link, which clients unpack as an empty file: pack the file that it points to (tar \
             --dereference)",
            quoted(normal(&link.name))
        )
    };
    Ok(links.take(limits::REASONS).map(reason).collect())
}

fn escape_reasons(fatal: &[&ModuleSource]) -> Vec<String> {
    let reason = |call: &&ModuleSource| {
        format!(
            "{} leads out of the package, and consumers only download the package: their \"terraform init\" fails",
            named(call)
        )
    };
    let advice = "call modules inside of the package, or by their addresses; or pack a directory that contains all of them, \
                  and name the directory of the module in it with --subdir";
    let advice = (!fatal.is_empty()).then(|| advice.to_owned());
    with_advice(fatal.iter().map(reason).collect(), advice)
}

/// Returns the first reasons, the number of the others, and what to do about all of them.
fn with_advice(mut reasons: Vec<String>, advice: Option<String>) -> Vec<String> {
    let others = reasons.len().saturating_sub(limits::REASONS);
    reasons.truncate(limits::REASONS);
    if others > 0 {
        reasons.push(format!("and {}", plural(others, "more file")));
    }
    reasons.extend(advice);
    reasons
}

/// Returns a path as the archive names it.
fn normal(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

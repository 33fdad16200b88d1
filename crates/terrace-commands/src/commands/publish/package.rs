//! The checks of a module's package that only its publisher can make: does it hold secrets, and does it hold everything
//! that it refers to?

use std::collections::BTreeSet;

use terrace_archive::{ArchiveFormat, Entry, EntryKind, SecretFile};
use terrace_base::untrusted::quoted;
use terrace_core::limits;
use terrace_metadata::{ModuleSource, SourceFile, module_sources};

use super::loaded;
use crate::archive::Archive;
use crate::archive::pack::Extent;
use crate::output::{Output, in_shell, plural};
use crate::source::documentation::is_configuration;
use crate::source::local_paths::{Escape, escapes, outside_files};

/// The rules by which a package is checked.
pub(super) struct PackageRules<'a> {
    /// The start of each warning, if modules are published together.
    pub(super) label: &'a str,
    /// The directory of the module in the package; empty for its top.
    pub(super) top: &'a str,
    /// The parts of the package's directory that are packed.
    pub(super) extent: &'a Extent,
    /// The paths of files that hold secrets and are published anyway.
    pub(super) allowed: &'a [String],
    /// The paths of configuration files that look invalid and are published anyway.
    pub(super) unparsed: &'a [String],
    /// Whether the files are those of a tag, so that a correction needs another one.
    pub(super) is_tagged: bool,
    /// The advice about calls that lead out of the package.
    pub(super) advice: &'static str,
}

/// Returns the reasons not to publish a package. The others are printed as warnings.
///
/// # Errors
/// The archive cannot be read.
pub(super) fn reasons(
    archive: &Archive,
    format: ArchiveFormat,
    rules: &PackageRules<'_>,
    output: &Output,
) -> Result<Vec<String>, String> {
    let is_wanted = |path: &str| is_configuration(path.rsplit('/').next().unwrap_or(path));
    let contents = archive.contents(format, is_wanted)?;
    let mut reasons = link_reasons(archive, format, is_wanted)?;
    reasons.extend(secret_reasons(&contents.secrets, rules, output));
    let files = contents.files.iter();
    let files: Vec<SourceFile<'_>> = files
        .map(|(path, bytes)| SourceFile { path, bytes })
        .collect();
    let calls = module_sources(&files);
    let is_allowed = |path: &str| rules.unparsed.iter().any(|it| normal(it) == path);
    reasons.extend(loaded::reasons(&files, &calls, rules.top, is_allowed));
    reasons.extend(escape_reasons(&calls, rules, output));
    for file in &files {
        let text = String::from_utf8_lossy(file.bytes);
        for escape in outside_files(file.path, &text, rules.extent) {
            output.warning(&format!(
                "{}{}: {} is outside of the package, so consumers do not have it: move it into the directory of \
                 the module",
                rules.label,
                place(&escape),
                quoted(&escape.reference)
            ));
        }
    }
    Ok(reasons)
}

/// Returns the configuration files that clients would unpack as empty files, so that parts of the module are missing without
/// an error. Other links are warnings of the registry.
fn link_reasons(
    archive: &Archive,
    format: ArchiveFormat,
    is_configuration: impl Fn(&str) -> bool,
) -> Result<Vec<String>, String> {
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

fn secret_reasons(
    found: &[(String, SecretFile)],
    rules: &PackageRules<'_>,
    output: &Output,
) -> Vec<String> {
    let allowed: BTreeSet<&str> = rules.allowed.iter().map(|path| normal(path)).collect();
    for path in &allowed {
        if !found.iter().any(|(name, _)| name == path) {
            output.detail(&format!(
                "--allow-secrets {path}: the package has no such file, or it holds no secrets"
            ));
        }
    }
    let refused = found
        .iter()
        .filter(|(name, _)| !allowed.contains(name.as_str()));
    let refused: Vec<String> = refused
        .map(|(name, kind)| format!("{} holds {kind}", quoted(name)))
        .collect();
    let Some((first, _)) = found
        .iter()
        .find(|(name, _)| !allowed.contains(name.as_str()))
    else {
        return Vec::new();
    };
    let remedy = match rules.is_tagged {
        true => {
            "delete them or exclude them in .terraformignore under a new tag, and leave this version out with --since"
        }
        false => "delete them, exclude them in .terraformignore",
    };
    let advice = format!(
        "a published version can only be erased, so such files are refused: {remedy}, or confirm each one that holds no \
         secret with --allow-secrets {}",
        in_shell(first)
    );
    with_advice(refused, advice)
}

fn escape_reasons(
    sources: &[ModuleSource],
    rules: &PackageRules<'_>,
    output: &Output,
) -> Vec<String> {
    let found = escapes(sources, rules.top);
    for escape in &found.harmless {
        output.warning(&format!(
            "{}{}: the source {} leads out of the package: its directory cannot be used from the registry",
            rules.label,
            place(escape),
            quoted(&escape.reference)
        ));
    }
    let refused = found.fatal.iter().map(|escape| match escape.levels {
        Some(_) => format!(
            "{}: the source {} leads out of the package, and consumers only download the package: their \
             \"terraform init\" fails (Local module path escapes module package)",
            place(escape),
            quoted(&escape.reference)
        ),
        None => format!(
            "{}: the source {} is a path on this machine, which consumers do not have: use a path inside of the \
             package, or an address of the registry",
            place(escape),
            quoted(&escape.reference)
        ),
    });
    let refused: Vec<String> = refused.collect();
    match found.fatal.iter().any(|escape| escape.levels.is_some()) {
        true => with_advice(refused, rules.advice.to_owned()),
        false => refused.into_iter().take(limits::REASONS).collect(),
    }
}

/// Returns the first reasons, the number of the others, and what to do about all of them.
fn with_advice(mut reasons: Vec<String>, advice: String) -> Vec<String> {
    let others = reasons.len().saturating_sub(limits::REASONS);
    reasons.truncate(limits::REASONS);
    if others > 0 {
        reasons.push(format!("and {}", plural(others, "more file")));
    }
    reasons.push(advice);
    reasons
}

fn place(escape: &Escape) -> String {
    match escape.line {
        Some(line) => format!("{}:{line}", escape.file),
        None => escape.file.clone(),
    }
}

/// Returns a path as the archive names it.
fn normal(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

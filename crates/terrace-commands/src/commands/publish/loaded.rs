//! The part of a package that consumers load: the module, its submodules, and the modules that they call.

use std::collections::BTreeSet;

use terrace_base::untrusted::quoted;
use terrace_core::limits;
use terrace_metadata::{ModuleSource, SourceFile, syntax_error};

use crate::output::in_shell;
use crate::source::local_paths::{by_directory, directory_of, is_offered, reached};

/// Returns the reasons why consumers cannot use what they load of the module in `top`: there is no module, or a file that no
/// client can parse and that is not allowed.
pub(super) fn reasons(
    files: &[SourceFile<'_>],
    calls: &[ModuleSource],
    top: &str,
    is_allowed: impl Fn(&str) -> bool,
) -> Vec<String> {
    let directories: BTreeSet<&str> = files.iter().map(|file| directory_of(file.path)).collect();
    let offered = directories.iter().copied();
    let mut offered = offered
        .filter(|directory| is_offered(directory, top))
        .peekable();
    if offered.peek().is_none() {
        return no_module(&directories, top).into_iter().collect();
    }
    let loaded = reached(&by_directory(calls), offered);
    let read = files
        .iter()
        .filter(|file| loaded.contains(directory_of(file.path)));
    let read = read.filter(|file| !is_allowed(file.path));
    let mut first = None;
    let invalid = read.filter_map(|file| {
        let (line, message) = syntax_error(file)?;
        first.get_or_insert(file.path);
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        let path = file.path;
        Some(format!(
            "{path}{line}: {message}, so no client can load the module"
        ))
    });
    let mut reasons: Vec<String> = invalid.take(limits::REASONS).collect();
    reasons.extend(first.map(|path| {
        format!(
            "correct such files; if clients accept one nevertheless, confirm it with --allow-unparsed {}",
            in_shell(path)
        )
    }));
    reasons
}

/// Returns the reason that consumers would install an empty module, if there is configuration elsewhere in it.
fn no_module(directories: &BTreeSet<&str>, top: &str) -> Option<String> {
    // The parts of a module, such as its examples, are below it.
    let first = directories.iter().min_by_key(|it| it.split('/').count())?;
    let place = match top {
        "" => "the top of the package".to_owned(),
        top => quoted(top).to_string(),
    };
    let (found, advice) = match *first {
        "" => ("the top".to_owned(), "leave out --subdir".to_owned()),
        first => (
            quoted(first).to_string(),
            format!(
                "name the directory of the module, such as --subdir {}",
                in_shell(first)
            ),
        ),
    };
    Some(format!(
        "neither {place} nor a directory of modules/ in it has configuration, so consumers would install an empty module; \
         there is some in {found}: {advice}"
    ))
}

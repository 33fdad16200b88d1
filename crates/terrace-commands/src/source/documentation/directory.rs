//! The files of a directory with the documentation of a provider.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};
use terrace_core::documentation::DocumentationKind;

use super::DocumentationFiles;
use crate::archive::pack::joined;

/// The directories of both layouts, below that of the repository.
const LAYOUTS: [&str; 2] = ["website/docs", "docs"];

/// The directories of the submodules and of the examples of a module.
const PARENTS: [&str; 2] = ["modules", "examples"];

/// The prefix of the names of providers' repositories.
pub(crate) const REPOSITORY_PREFIX: &str = "terraform-provider-";

/// Reads the documentation in the repository of a provider, or in one of its directories `docs` and `website/docs`.
/// Hidden files are left out. Symbolic links to files of the same directory are followed.
///
/// # Errors
/// It is not a directory that can be read.
pub(crate) fn provider_files(directory: &Path) -> Result<DocumentationFiles, String> {
    let failed = |error: &dyn ToString| format!("{}: {}", directory.display(), error.to_string());
    let top = fs::canonicalize(directory).map_err(|error| failed(&error))?;
    if !top.is_dir() {
        return Err(failed(&"it is not a directory"));
    }
    let inside = LAYOUTS.map(|layout| (layout, top.join(layout)));
    let roots: Vec<(&str, PathBuf)> = match has_documentation(&top) {
        true => inside
            .into_iter()
            .filter(|(_, path)| path.is_dir())
            .collect(),
        // The name of the directory tells the layouts apart.
        false => {
            let layout = LAYOUTS.into_iter().find(|layout| top.ends_with(layout));
            vec![(layout.unwrap_or_default(), top.clone())]
        }
    };
    let mut files = DocumentationFiles::default();
    for (prefix, root) in roots {
        match fs::canonicalize(&root) {
            Ok(root) if root.starts_with(&top) => read(&root, &top, prefix, &mut files),
            Ok(_) => files.leave_out(prefix, &OUTSIDE),
            Err(error) => files.leave_out(prefix, &error),
        }
    }
    Ok(files)
}

/// Returns whether a directory is a repository with a directory of documentation.
pub(crate) fn has_documentation(repository: &Path) -> bool {
    let mut layouts = LAYOUTS.into_iter();
    layouts.any(|layout| repository.join(layout).is_dir())
}

/// Returns whether a directory is that of a module: it has configuration files, or directories with them below `modules` or
/// `examples`. Repositories of providers have such files too; their names or their documentation tell them apart.
pub(crate) fn is_module(directory: &Path) -> bool {
    let (is_provider, has_overview) = is_provider(directory);
    !is_provider && (has_configuration(directory) || has_parts(directory) && !has_overview)
}

/// Returns whether a directory has configuration files itself.
pub(crate) fn has_configuration(directory: &Path) -> bool {
    let mut names = entries(directory).map(|path| file_name(&path));
    names.any(|name| super::archive::is_configuration(&name))
}

/// Returns whether a directory has submodules or examples.
fn has_parts(directory: &Path) -> bool {
    let mut parents = PARENTS.into_iter();
    parents.any(|parent| entries(&directory.join(parent)).any(|part| has_configuration(&part)))
}

/// Returns whether a directory is named like the repository of a provider, or has pages that only a provider has; and
/// whether it has an overview or guides, which the documentation of a module may have, too.
pub(crate) fn is_provider(directory: &Path) -> (bool, bool) {
    let path = fs::canonicalize(directory).unwrap_or_default();
    let layouts = LAYOUTS.iter();
    let places = layouts.flat_map(|layout| entries(&directory.join(layout)));
    let (general, others): (Vec<PathBuf>, Vec<PathBuf>) = places.partition(|place| {
        let name = file_name(place);
        name.starts_with("index.") || name == "guides"
    });
    let has_pages = |place: &PathBuf| {
        let name = file_name(place);
        let is_kind =
            matches!(name.as_str(), "r" | "d") || name.parse::<DocumentationKind>().is_ok();
        let mut pages = entries(place).map(|page| file_name(&page));
        is_kind && pages.any(|page| page.ends_with(".md") || page.ends_with(".markdown"))
    };
    let is_provider =
        file_name(&path).starts_with(REPOSITORY_PREFIX) || others.iter().any(has_pages);
    (is_provider, !general.is_empty())
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

const OUTSIDE: &str = "the link leads outside of the directory; replace it by its target";

/// Reads the files of the directory `root`, which is in the directory `top`.
fn read(root: &Path, top: &Path, prefix: &str, files: &mut DocumentationFiles) {
    let walk = WalkBuilder::new(root)
        .standard_filters(false)
        .hidden(true)
        .sort_by_file_name(Ord::cmp)
        .build();
    for entry in walk.skip(1) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                files.leave_out(prefix, &error);
                continue;
            }
        };
        let below = entry.path().strip_prefix(root).unwrap_or(entry.path());
        let below = below.to_string_lossy().replace('\\', "/");
        let path = joined(prefix, &below);
        match target(&entry, top) {
            Ok(Some(file)) => files.add(&path, file),
            Ok(None) => {}
            Err(reason) => files.leave_out(&path, &reason),
        }
    }
}

/// Opens the file that an entry represents, unless it is a directory.
fn target(entry: &DirEntry, top: &Path) -> Result<Option<File>, String> {
    let text = |error: std::io::Error| error.to_string();
    let real = fs::canonicalize(entry.path()).map_err(text)?;
    if !real.starts_with(top) {
        return Err(OUTSIDE.to_owned());
    }
    let metadata = fs::metadata(&real).map_err(text)?;
    match metadata.is_file() {
        true => File::open(real).map(Some).map_err(text),
        false if metadata.is_dir() && !entry.path_is_symlink() => Ok(None),
        false => {
            Err("it is neither a file nor a directory; replace a link by its target".to_owned())
        }
    }
}

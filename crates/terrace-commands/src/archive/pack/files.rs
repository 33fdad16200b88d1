//! The files of a directory that are part of a module.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ignore::{DirEntry, WalkBuilder};

use super::extent::Extent;

/// Names that are never packed, as in terraform's own packing of configurations: version control, the files
/// that `terraform init` installs, and the CLI configuration with its credentials.
const NEVER_PACKED: [&str; 4] = [".git", ".terraform", ".terraformrc", "terraform.rc"];

/// The result of the walk.
#[derive(Debug)]
pub(crate) struct Found {
    /// The files by their names in the archive, and so sorted.
    pub(crate) files: BTreeMap<String, Packable>,
    /// The state files, which are left out.
    pub(crate) left_out: Vec<String>,
}

/// A file to pack.
#[derive(Debug)]
pub(crate) struct Packable {
    pub(crate) path: PathBuf,
    pub(crate) executable: bool,
}

/// The names of ignore files.
pub(crate) const IGNORE_FILES: [&str; 2] = [".gitignore", TERRAFORM_IGNORE];

const TERRAFORM_IGNORE: &str = ".terraformignore";

/// The maximum number of files and directories before the walk fails. An archive may have 20,000 files, and
/// directories come on top; links that lead to each other would make the walk endless.
const MOST_ENTRIES: usize = 25_000;

/// Finds the files in parts of a directory that no `.gitignore` or `.terraformignore` excludes.
///
/// Other ignore files of the machine have no effect, so that a module is packed in the same way everywhere.
/// In a repository, the `.gitignore` files up to its top level apply.
///
/// # Errors
/// All errors that prevent packing.
pub(crate) fn find(directory: &Path, extent: &Extent) -> Result<Found, Vec<String>> {
    let top = fs::canonicalize(directory)
        .map_err(|error| vec![format!("{}: {error}", directory.display())])?;
    if let Some(reason) = ignore_file_refusal(&top, &top) {
        return Err(vec![reason]);
    }
    let in_repository = top.ancestors().any(|place| place.join(".git").exists());
    let passed_over = Arc::new(Mutex::new(PassedOver::default()));
    let seen = Arc::clone(&passed_over);
    let (place, parts) = (top.clone(), extent.clone());
    let walk = WalkBuilder::new(&top)
        .standard_filters(false)
        .git_ignore(true)
        // The walk needs this to know the top level of a repository.
        .require_git(in_repository)
        .parents(in_repository)
        .add_custom_ignore_filename(TERRAFORM_IGNORE)
        // Clients unpack links badly or not at all, so their targets are packed.
        .follow_links(true)
        .filter_entry(move |entry| {
            is_within(&place, entry, &parts) && is_part(&place, entry, &seen)
        })
        .build();
    let mut files = BTreeMap::new();
    let mut reasons = Vec::new();
    for (count, entry) in walk.enumerate() {
        if count > MOST_ENTRIES {
            return Err(vec![format!(
                "{} has more than {MOST_ENTRIES} files and directories, where the target of a link counts once for \
                 each link: exclude files that are not part of the module in {TERRAFORM_IGNORE}",
                directory.display()
            )]);
        }
        match entry {
            Ok(entry) => match packable(&top, &entry) {
                Ok(file) => files.extend(file),
                Err(reason) => reasons.push(reason),
            },
            Err(error) => reasons.extend(refusal_of_walk(&top, &error)),
        }
    }
    let passed_over = passed_over.lock().map(|mut it| std::mem::take(&mut *it));
    let PassedOver {
        mut left_out,
        refused,
    } = passed_over.unwrap_or_default();
    reasons.extend(refused);
    if !reasons.is_empty() {
        reasons.sort();
        return Err(reasons);
    }
    left_out.sort();
    Ok(Found { files, left_out })
}

/// The entries that the walk skips.
#[derive(Debug, Default)]
struct PassedOver {
    /// State files.
    left_out: Vec<String>,
    /// The reasons that other entries cannot be packed.
    refused: Vec<String>,
}

/// Returns whether an entry is in a part to pack, or is a directory that leads to one.
fn is_within(top: &Path, entry: &DirEntry, parts: &Extent) -> bool {
    let below = entry.path().strip_prefix(top).unwrap_or(entry.path());
    let names: Vec<_> = below.iter().map(OsStr::to_string_lossy).collect();
    let path = names.join("/");
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    parts.has(&path) || is_directory && parts.is_below(&path)
}

/// Returns whether the walk includes an entry. The walk calls this before it reads a
/// directory.
fn is_part(top: &Path, entry: &DirEntry, passed_over: &Mutex<PassedOver>) -> bool {
    let path = entry.path();
    if entry.depth() == 0 {
        return true;
    }
    let mut names = vec![name_of(path)];
    // A link is treated like its target, under any name.
    if entry.path_is_symlink()
        && let Ok(target) = fs::canonicalize(path)
        && let Ok(below) = target.strip_prefix(top)
    {
        names.extend(below.iter().map(|name| name.to_string_lossy().into_owned()));
    }
    if names.iter().any(|name| is_never_part(name)) {
        return false;
    }
    let Ok(mut passed_over) = passed_over.lock() else {
        return false;
    };
    if names.iter().any(|name| is_state(name)) {
        passed_over.left_out.push(path.display().to_string());
        return false;
    }
    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
    let of_link = || entry.path_is_symlink().then(|| link_refusal(top, path));
    let of_directory = || is_directory.then(|| ignore_file_refusal(top, path));
    let refusal = of_link().flatten().or_else(|| of_directory().flatten());
    let is_part = refusal.is_none();
    passed_over.refused.extend(refusal);
    is_part
}

/// Returns whether a file or directory of this name is never packed.
pub(crate) fn is_left_out(name: &str) -> bool {
    is_never_part(name) || is_state(name)
}

fn is_never_part(name: &str) -> bool {
    NEVER_PACKED.contains(&name.to_lowercase().as_str())
}

/// Returns whether a file has a state, with secrets in plain text: a published version cannot be removed.
fn is_state(name: &str) -> bool {
    name.to_lowercase().contains(".tfstate")
}

/// Returns the reason that a link cannot be packed, if any. Only the link is read, and the links that it
/// leads through.
fn link_refusal(top: &Path, link: &Path) -> Option<String> {
    let real = fs::canonicalize(link).ok();
    let real = real.filter(|real| real.starts_with(top) && !holds(real, top, link));
    if real.is_some() {
        return None;
    }
    let target = fs::read_link(link).unwrap_or_default();
    Some(format!(
        "{}: this link leads to {}, which is outside of the module, contains the link, or cannot be followed. Remove it, \
         replace it by its target, or exclude it in {TERRAFORM_IGNORE}",
        link.display(),
        target.display()
    ))
}

/// Returns whether a directory is one of those on the path from the top to a link.
fn holds(directory: &Path, top: &Path, link: &Path) -> bool {
    let places = link.ancestors().skip(1);
    let mut places = places.take_while(|place| place.starts_with(top));
    places.any(|place| fs::canonicalize(place).is_ok_and(|real| real == directory))
}

/// Returns the error in reading one of a directory's ignore files: the walk reads these before it yields them.
fn ignore_file_refusal(top: &Path, directory: &Path) -> Option<String> {
    let files = IGNORE_FILES.iter().map(|name| directory.join(name));
    let mut refusals = files.filter_map(|file| {
        let link = fs::symlink_metadata(&file).ok()?.is_symlink();
        let refusal = link.then(|| link_refusal(top, &file)).flatten();
        refusal.or_else(|| {
            let metadata = fs::metadata(&file).ok()?;
            let is_readable = metadata.is_file() || metadata.is_dir();
            (!is_readable).then(|| format!("{}: {NO_FILE}", file.display()))
        })
    });
    refusals.next()
}

/// Returns the reason that the walk stops at an entry. The walk checks links before it calls [`is_part`].
fn refusal_of_walk(top: &Path, error: &ignore::Error) -> Option<String> {
    let link = place_of(error).filter(|place| place.is_symlink());
    match link {
        Some(link) if is_never_part(&name_of(link)) => None,
        Some(link) => link_refusal(top, link).or_else(|| Some(error.to_string())),
        None => Some(error.to_string()),
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn place_of(error: &ignore::Error) -> Option<&Path> {
    use ignore::Error;
    match error {
        Error::WithPath { path, .. } => Some(path),
        Error::Loop { child, .. } => Some(child),
        Error::WithDepth { err, .. } | Error::WithLineNumber { err, .. } => place_of(err),
        _ => None,
    }
}

const NO_FILE: &str = "neither a file nor a directory";

/// Returns the file that an entry represents, unless it is a directory.
fn packable(top: &Path, entry: &DirEntry) -> Result<Option<(String, Packable)>, String> {
    let path = entry.path();
    let refused = |reason: &dyn ToString| format!("{}: {}", path.display(), reason.to_string());
    let metadata = fs::metadata(path).map_err(|error| refused(&error))?;
    if metadata.is_dir() {
        return Ok(None);
    }
    if !metadata.is_file() {
        return Err(refused(&NO_FILE));
    }
    let name = name_in_archive(top, path).ok_or_else(|| refused(&"its name is not UTF-8"))?;
    let file = Packable {
        path: path.to_owned(),
        executable: is_executable(&metadata),
    };
    Ok(Some((name, file)))
}

/// Returns the path relative to the top, with `/` between its parts on every system.
fn name_in_archive(top: &Path, path: &Path) -> Option<String> {
    let below = path.strip_prefix(top).ok()?;
    let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

/// If files have no such mode, scripts are packed without it.
#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}

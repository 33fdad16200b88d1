//! Which files of a directory are part of a module.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ignore::{DirEntry, WalkBuilder};

/// Never part of a module, as with terraform's own packing of configurations: version control,
/// what `terraform init` installs, and the CLI configuration with its credentials.
const NEVER: [&str; 4] = [".git", ".terraform", ".terraformrc", "terraform.rc"];

/// What there is to pack.
#[derive(Debug)]
pub(crate) struct Found {
    /// By their name in the archive, and so sorted.
    pub(crate) files: BTreeMap<String, Packable>,
    /// State files that are not among them.
    pub(crate) left_out: Vec<String>,
}

/// A file to pack.
#[derive(Debug)]
pub(crate) struct Packable {
    pub(crate) path: PathBuf,
    pub(crate) executable: bool,
}

/// Finds the files below `directory` that no `.gitignore` or `.terraformignore` names.
///
/// No other ignore file of the machine counts, so that a module is packed in the same way by
/// everybody. Within a repository the `.gitignore` files up to its top do.
///
/// # Errors
/// Everything that cannot be packed.
pub(crate) fn find(directory: &Path) -> Result<Found, Vec<String>> {
    let top = fs::canonicalize(directory)
        .map_err(|error| vec![format!("{}: {error}", directory.display())])?;
    let in_repository = top.ancestors().any(|place| place.join(".git").exists());
    let left_out = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&left_out);
    let place = top.clone();
    let walk = WalkBuilder::new(&top)
        .standard_filters(false)
        .git_ignore(true)
        // Needed for the walk to know where a repository ends.
        .require_git(in_repository)
        .parents(in_repository)
        .add_custom_ignore_filename(".terraformignore")
        // Clients unpack links badly or not at all, so what they lead to is packed.
        .follow_links(true)
        .filter_entry(move |entry| is_part(&place, entry, &seen))
        .build();
    let mut files = BTreeMap::new();
    let mut reasons = Vec::new();
    for entry in walk {
        match entry
            .map_err(|error| error.to_string())
            .and_then(|entry| packable(&top, &entry))
        {
            Ok(Some((name, file))) => {
                files.insert(name, file);
            }
            Ok(None) => {}
            Err(reason) => reasons.push(reason),
        }
    }
    if !reasons.is_empty() {
        return Err(reasons);
    }
    let left_out = left_out.lock().map(|left_out| left_out.clone());
    let mut left_out = left_out.unwrap_or_default();
    left_out.sort();
    Ok(Found { files, left_out })
}

fn is_part(top: &Path, entry: &DirEntry, left_out: &Mutex<Vec<String>>) -> bool {
    if entry.depth() == 0 {
        return true;
    }
    let mut names = vec![entry.file_name().to_owned()];
    // A link is what it leads to, under whatever name.
    if entry.path_is_symlink()
        && let Ok(target) = fs::canonicalize(entry.path())
        && let Ok(below) = target.strip_prefix(top)
    {
        names.extend(below.iter().map(ToOwned::to_owned));
    }
    let lower = |name: &OsString| name.to_string_lossy().to_lowercase();
    let names: Vec<String> = names.iter().map(lower).collect();
    if names.iter().any(|name| NEVER.contains(&name.as_str())) {
        return false;
    }
    // State holds secrets in the clear, and what is published stays published.
    let is_state = names.iter().any(|name| name.contains(".tfstate"));
    if is_state && let Ok(mut left_out) = left_out.lock() {
        left_out.push(entry.path().display().to_string());
    }
    !is_state
}

/// The file that an entry stands for, unless it is a directory.
fn packable(top: &Path, entry: &DirEntry) -> Result<Option<(String, Packable)>, String> {
    let path = entry.path();
    let refused = |reason: &dyn ToString| format!("{}: {}", path.display(), reason.to_string());
    if entry.depth() > 0 && entry.path_is_symlink() {
        let target = fs::canonicalize(path).map_err(|error| refused(&error))?;
        if !target.starts_with(top) {
            let target = target.display();
            return Err(refused(&format!(
                "this link leads to {target}, outside of the module"
            )));
        }
    }
    let metadata = fs::metadata(path).map_err(|error| refused(&error))?;
    if metadata.is_dir() {
        return Ok(None);
    }
    if !metadata.is_file() {
        return Err(refused(&"neither a file nor a directory"));
    }
    let name = name_in_archive(top, path).ok_or_else(|| refused(&"its name is not UTF-8"))?;
    let file = Packable {
        path: path.to_owned(),
        executable: is_executable(&metadata),
    };
    Ok(Some((name, file)))
}

/// The path below the top, with `/` between its parts on every system.
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

/// Where files have no such mode, scripts are packed without it.
#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}

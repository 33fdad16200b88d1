//! Checks whether a client could install an archive, given its list of entries.

use super::path::{self, PathError};
use super::program::Program;
use super::secrets::secret_file;
use super::{Entry, EntryKind, Method, limits, zip};
use std::collections::BTreeMap;
use terrace_base::sort;
use terrace_base::untrusted::quoted;

/// A reason why an archive cannot be published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// A name that leads out of the archive, or that another system reads as another path.
    #[error("archive entry {} {fault}", quoted(.name))]
    Path {
        /// The entry's name.
        name: String,
        /// The fault in the name.
        fault: PathError,
    },
    /// Two entries unpack to the same place.
    #[error("archive entry {} appears twice", quoted(.0))]
    Duplicate(String),
    /// An entry lies below one that is not a directory.
    #[error("archive entry {} lies below {}, which is not a directory", quoted(.below), quoted(.file))]
    BelowFile {
        /// The entry that is not a directory.
        file: String,
        /// The entry below it.
        below: String,
    },
    /// An encrypted entry.
    #[error("archive entry {} is encrypted, and clients have no password: pack without encryption", quoted(.0))]
    Encrypted(String),
    /// A compression method that Go does not support.
    #[error("archive entry {} is compressed with method {method}, and clients support only stored (0) and deflate (8)", quoted(.name))]
    Method {
        /// The entry's name.
        name: String,
        /// The number of the compression method.
        method: u16,
    },
    /// A file or directory that only root could read after unpacking.
    #[error(
        "archive entry {} unpacks with mode {mode:04o}, so its owner cannot read it, and clients keep modes: make files readable and directories searchable (chmod -R u+rX), and pack again",
        quoted(.name)
    )]
    Unreadable {
        /// The entry's name.
        name: String,
        /// Its permission bits.
        mode: u32,
    },
    /// Compressed and uncompressed sizes that contradict each other.
    #[error("archive entry {} has sizes that contradict each other ({compressed} bytes compressed, {uncompressed} uncompressed): pack again", quoted(.name))]
    Sizes {
        /// The entry's name.
        name: String,
        /// Its declared size in the archive.
        compressed: u64,
        /// Its declared size after unpacking.
        uncompressed: u64,
    },
    /// A device, pipe, socket or unknown type.
    #[error("archive entry {} is neither a file nor a directory: remove it, and pack again", quoted(.0))]
    Special(String),
    /// A symbolic link in a zip, where its target is unknown.
    #[error("archive entry {} is a symbolic link, which clients unpack as a file: pack the file that it points to", quoted(.0))]
    Symlink(String),
    /// A symbolic link that leads out of the archive.
    #[error("archive entry {} is a symbolic link to {}, outside the archive: remove the link, or replace it with the file", quoted(.name), quoted(.target))]
    LinkEscapes {
        /// The entry's name.
        name: String,
        /// The link's target.
        target: String,
    },
    /// A hard link.
    #[error(
        "archive entry {} is a hard link to {}, and clients unpack hard links as empty files: pack with --hard-dereference",
        quoted(.name), quoted(.target)
    )]
    HardLink {
        /// The entry's name.
        name: String,
        /// The name of the file that it links to.
        target: String,
    },

    /// The zip of a provider with entries for directories.
    #[error(
        "the zip has entries for directories ({count}, the first is {}): clients hash the zip with these entries but the installed provider without them, so a later install fails against the lock file; pack without them (zip -D)",
        quoted(.first)
    )]
    DirectoryEntries {
        /// The name of the first one.
        first: String,
        /// The number of directory entries.
        count: usize,
    },
    /// A name in a provider's zip that unpacking changes.
    #[error("archive entry {} unpacks under another name, so its hash changes: remove \".\" and double slashes", quoted(.0))]
    Unclean(String),
    /// A provider's zip without an executable of the provider.
    #[error(
        "the zip has no file \"terraform-provider-{provider_type}\" at its root (a suffix starting with \"_\" or \".\" is allowed){}",
        but_there_is(.instead)
    )]
    NoExecutable {
        /// The provider's type.
        provider_type: String,
        /// The file that its publisher probably meant.
        instead: Option<String>,
    },

    /// A subdirectory that is not a valid path inside an archive.
    #[error("the subdirectory {} {fault}", quoted(.subdir))]
    Subdir {
        /// The subdirectory, as given.
        subdir: String,
        /// The fault in the path.
        fault: PathError,
    },
    /// A module's archive without a configuration.
    #[error("the archive has no configuration{}: no file that ends in .tf, .tofu, .tf.json or .tofu.json{}", below(.subdir), but_there_is(.instead))]
    NoConfiguration {
        /// The subdirectory that was searched; `None` for the root.
        subdir: Option<String>,
        /// A configuration file found elsewhere.
        instead: Option<String>,
    },

    /// More reasons than the limit.
    #[error("and {0} more reasons")]
    More(usize),
}

fn but_there_is(instead: &Option<String>) -> String {
    instead.as_ref().map_or_else(String::new, |name| {
        format!("; found {} instead", quoted(name))
    })
}

fn below(subdir: &Option<String>) -> String {
    subdir
        .as_ref()
        .map_or_else(String::new, |subdir| format!(" below {}", quoted(subdir)))
}

/// Returns all reasons why clients could not install the zip of a provider of this type; none if they can.
pub fn check_provider_package(entries: &[Entry], provider_type: &str) -> Vec<InstallError> {
    let mut reasons = Reasons::default();
    if executables(entries, provider_type).is_empty() {
        let instead = meant_executable(entries, provider_type);
        reasons.push(|| InstallError::NoExecutable {
            provider_type: shortened(provider_type),
            instead,
        });
    }
    let mut directories = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Directory);
    if let Some(first) = directories.next() {
        let count = 1 + directories.count();
        reasons.push(|| InstallError::DirectoryEntries {
            first: first.name.clone(),
            count,
        });
    }
    check_entries(entries, &mut reasons);
    for entry in entries {
        let name = || entry.name.clone();
        if entry.kind == EntryKind::Symlink {
            reasons.push(|| InstallError::Symlink(name()));
        }
        let renamed = entry.kind != EntryKind::Directory
            && path::clean(&entry.name).is_ok_and(|clean| clean != entry.name);
        if renamed {
            reasons.push(|| InstallError::Unclean(name()));
        }
    }
    reasons.told()
}

/// The first bytes of files at the root of an archive ([`crate::HEAD_BYTES`] of each), by their names.
pub type Heads = BTreeMap<String, Vec<u8>>;

/// Returns warnings for the publisher of a provider's zip for this operating system: clients install it, but it cannot
/// start. Where heads are missing, names and modes decide alone. [`foreign_executable_warning`] checks the architecture.
pub fn provider_package_warnings(
    entries: &[Entry],
    provider_type: &str,
    os: &str,
    heads: &Heads,
) -> Vec<String> {
    let candidates = executables(entries, provider_type);
    let executable = executable(&candidates, os, heads);
    let Some((started, executable)) = candidates.first().zip(executable) else {
        return Vec::new();
    };
    let (first, name) = (quoted(&started.name), quoted(&executable.name));
    let other = format!(
        "clients start {first}, the first file at the root with the provider's name, and not {name}: the provider installs but \
         cannot start; rename or remove it, and pack again"
    );
    let not_executable = match os {
        "windows" => format!(
            "{name} does not end in .exe, so Windows does not start it: rename it, and pack again"
        ),
        _ => format!(
            "{name} is not marked executable, and clients keep modes: the provider installs but cannot start; set the mode (chmod +x), and pack again"
        ),
    };
    let is_other = executable.name != started.name;
    let warnings = [
        is_other.then_some(other),
        (!runs(executable, os)).then_some(not_executable),
    ];
    warnings.into_iter().flatten().collect()
}

/// Returns a warning if the executable of a provider's zip is built for another system or machine than this one.
pub fn foreign_executable_warning(
    entries: &[Entry],
    provider_type: &str,
    (os, arch): (&str, &str),
    heads: &Heads,
) -> Option<String> {
    let executable = executable(&executables(entries, provider_type), os, heads)?;
    let program = Program::read(head(executable, heads))?;
    let name = quoted(&executable.name);
    (!program.is_for(os, arch)).then(|| {
        format!(
            "{name} is built for another platform ({program}), so it cannot start on {os}_{arch}: pack the one for this platform"
        )
    })
}

/// Returns the executable among the files that clients would start: a program, or else a file that the system may run.
fn executable<'a>(candidates: &[&'a Entry], os: &str, heads: &Heads) -> Option<&'a Entry> {
    let is_program = |entry: &Entry| {
        let head = head(entry, heads);
        head.starts_with(b"#!") || Program::read(head).is_some()
    };
    let find = |is_one: &dyn Fn(&Entry) -> bool| candidates.iter().find(|entry| is_one(entry));
    let found = find(&is_program).or_else(|| find(&|entry| runs(entry, os)));
    found.or(candidates.first()).copied()
}

/// Returns whether a system may run a file, by its name and its mode.
fn runs(entry: &Entry, os: &str) -> bool {
    match os {
        "windows" => ends_with(&entry.name, ".exe"),
        _ => entry.unix_mode.is_some_and(|mode| mode & 0o111 != 0),
    }
}

fn head<'h>(entry: &Entry, heads: &'h Heads) -> &'h [u8] {
    heads.get(&entry.name).map_or(&[], Vec::as_slice)
}

/// Returns all reasons why clients could not install a module from an archive, or from a directory in it;
/// none if they can.
pub fn check_module_archive(entries: &[Entry], subdir: Option<&str>) -> Vec<InstallError> {
    let mut reasons = Reasons::default();
    match subdir.map(path::clean) {
        Some(Err(fault)) => {
            let subdir = shortened(subdir.unwrap_or_default());
            reasons.push(|| InstallError::Subdir { subdir, fault });
        }
        // A subdirectory of "." means the root.
        cleaned => check_configuration(
            entries,
            &cleaned.and_then(Result::ok).unwrap_or_default(),
            &mut reasons,
        ),
    }
    check_entries(entries, &mut reasons);
    for entry in entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Symlink)
    {
        match &entry.link_target {
            None => reasons.push(|| InstallError::Symlink(entry.name.clone())),
            Some(target) => check_link(entry, target, &mut reasons),
        }
    }
    reasons.told()
}

/// Returns warnings for the publisher of a module's archive.
pub fn module_archive_warnings(entries: &[Entry]) -> Vec<String> {
    let counted = |is_one: &dyn Fn(&Entry) -> bool| {
        let mut found = entries.iter().filter(|entry| is_one(entry));
        let first = quoted(&found.next()?.name).to_string();
        Some((first, 1 + found.count()))
    };
    let links = counted(&|entry| entry.kind == EntryKind::Symlink).map(|(first, count)| {
        format!(
            "clients unpack symbolic links as empty files ({count} in the archive, the first is {first}); pack the files that they point to"
        )
    });
    let secrets = counted(&|entry| may_hold_secrets(&entry.name)).map(|(first, count)| {
        format!(
            "the archive has files that may hold secrets ({count}, the first is {first}), and a published version cannot be removed"
        )
    });
    let warnings = [links, secrets, same_but_for_case(entries)];
    warnings.into_iter().flatten().collect()
}

/// Returns whether a file with this name may hold secrets: also if it may hold a public key or certificate as well.
fn may_hold_secrets(name: &str) -> bool {
    let is_key = [".pem", ".key"].iter().any(|end| ends_with(name, end));
    is_key || secret_file(name).is_some()
}

fn ends_with(name: &str, end: &str) -> bool {
    let start = name.len().saturating_sub(end.len());
    let last = name.get(start..);
    last.is_some_and(|last| last.eq_ignore_ascii_case(end))
}

/// Returns a warning about two names that some file systems treat as one. Only ASCII letters are compared, to avoid Unicode's
/// tables.
fn same_but_for_case(entries: &[Entry]) -> Option<String> {
    let mut seen = BTreeMap::new();
    entries.iter().find_map(|entry| {
        let earlier = seen.insert(entry.name.to_ascii_lowercase(), &entry.name)?;
        (*earlier != entry.name).then(|| {
            let (one, other) = (quoted(earlier), quoted(&entry.name));
            format!(
                "{one} and {other} differ only in case: on a case-insensitive file system, one replaces the other"
            )
        })
    })
}

/// Returns a warning for the publisher of a module's zip if its contents are not checked.
pub fn zip_contents_warning(size: u64, entries: &[Entry]) -> Option<String> {
    let max = limits::ZIP_CONTENTS_BYTES >> 20;
    (!zip::are_checked(size, entries)).then(|| {
        format!(
            "the zip has or unpacks to more than {max} MiB, so the registry reads only its list of entries and does not check their \
             contents: unpack it once to test it (unzip -t)"
        )
    })
}

/// Collects reasons, up to the limit.
#[derive(Default)]
struct Reasons {
    told: Vec<InstallError>,
    untold: usize,
}

impl Reasons {
    fn push(&mut self, reason: impl FnOnce() -> InstallError) {
        if self.told.len() < limits::REASONS {
            self.told.push(reason());
        } else {
            self.untold += 1;
        }
    }

    fn told(mut self) -> Vec<InstallError> {
        if self.untold > 0 {
            self.told.push(InstallError::More(self.untold));
        }
        self.told
    }
}

/// Checks the rules for every entry of any archive.
fn check_entries(entries: &[Entry], reasons: &mut Reasons) {
    let mut places = Vec::with_capacity(entries.len());
    for entry in entries {
        match place(entry) {
            Ok(place) => places.push((place, entry)),
            Err(fault) => reasons.push(|| InstallError::Path {
                name: entry.name.clone(),
                fault,
            }),
        }
        check_mode(entry, reasons);
        check_content(entry, reasons);
    }
    check_places(places, reasons);
}

/// Returns the path that the entry unpacks to. Only a directory may be the root itself.
fn place(entry: &Entry) -> Result<String, PathError> {
    let place = path::clean(&entry.name)?;
    if place.is_empty() && entry.kind != EntryKind::Directory {
        Err(PathError::Empty)
    } else {
        Ok(place)
    }
}

/// go-getter gives unpacked files the permission bits of the archive, whatever the umask is. When `init`
/// copies a module that is already downloaded, it reads every file, not only the configuration.
fn check_mode(entry: &Entry, reasons: &mut Reasons) {
    let needed = match entry.kind {
        // Clients unpack a symbolic link as an empty file.
        EntryKind::File | EntryKind::Symlink => 0o400,
        EntryKind::Directory => 0o500,
        // Refused for other reasons.
        EntryKind::HardLink | EntryKind::Other => 0,
    };
    if let Some(mode) = entry.unix_mode.filter(|mode| mode & needed != needed) {
        reasons.push(|| InstallError::Unreadable {
            name: entry.name.clone(),
            mode: mode & 0o777,
        });
    }
}

fn check_content(entry: &Entry, reasons: &mut Reasons) {
    let name = || entry.name.clone();
    let &Entry {
        compressed,
        uncompressed,
        ..
    } = entry;
    match entry.kind {
        EntryKind::Other => reasons.push(|| InstallError::Special(name())),
        EntryKind::HardLink => {
            let target = entry.link_target.clone().unwrap_or_default();
            reasons.push(|| InstallError::HardLink {
                name: name(),
                target,
            });
        }
        EntryKind::File | EntryKind::Directory | EntryKind::Symlink => {}
    }
    if entry.encrypted {
        return reasons.push(|| InstallError::Encrypted(name()));
    }
    let possible = match (entry.kind, entry.method) {
        (_, Method::Unsupported(method)) => {
            return reasons.push(|| InstallError::Method {
                name: name(),
                method,
            });
        }
        // Go accepts a directory with compressed bytes, but not one with content.
        (EntryKind::Directory, _) => uncompressed == 0,
        (_, Method::Stored) => compressed == uncompressed,
        (_, Method::Deflate) => uncompressed <= compressed.saturating_mul(limits::DEFLATE_RATIO),
    };
    if !possible {
        reasons.push(|| InstallError::Sizes {
            name: name(),
            compressed,
            uncompressed,
        });
    }
}

/// Sorts by path component, so that colliding entries are adjacent.
fn check_places(mut places: Vec<(String, &Entry)>, reasons: &mut Reasons) {
    sort::sort_by(&mut places, |(a, _), (b, _)| a.split('/').cmp(b.split('/')));
    for ((place, entry), (next_place, next)) in places.iter().zip(places.iter().skip(1)) {
        let both_directories =
            entry.kind == EntryKind::Directory && next.kind == EntryKind::Directory;
        let is_below = next_place
            .strip_prefix(place.as_str())
            .is_some_and(|rest| rest.starts_with('/'));
        if place == next_place && !both_directories {
            reasons.push(|| InstallError::Duplicate(next.name.clone()));
        } else if is_below && entry.kind != EntryKind::Directory {
            reasons.push(|| InstallError::BelowFile {
                file: entry.name.clone(),
                below: next.name.clone(),
            });
        }
    }
}

fn check_link(entry: &Entry, target: &str, reasons: &mut Reasons) {
    let inside =
        path::clean(&entry.name).is_ok_and(|place| path::link_stays_inside(&place, target));
    if !inside {
        reasons.push(|| InstallError::LinkEscapes {
            name: entry.name.clone(),
            target: target.to_owned(),
        });
    }
}

/// Returns the files that clients would start, in their order: they start the first one by name.
fn executables<'a>(entries: &'a [Entry], provider_type: &str) -> Vec<&'a Entry> {
    let mut found: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::File && !entry.name.contains('/'))
        .filter(|entry| is_executable_name(&entry.name, provider_type))
        .collect();
    sort::sort_by(&mut found, |a, b| a.name.cmp(&b.name));
    found
}

fn is_executable_name(name: &str, provider_type: &str) -> bool {
    name.strip_prefix("terraform-provider-")
        .and_then(|rest| rest.strip_prefix(provider_type))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
}

/// Returns a file with the right name in the wrong directory, or else the executable of another provider.
fn meant_executable(entries: &[Entry], provider_type: &str) -> Option<String> {
    let base = |entry: &Entry| entry.name.rsplit('/').next().unwrap_or_default().to_owned();
    let files = || entries.iter().filter(|entry| entry.kind == EntryKind::File);
    files()
        .find(|entry| is_executable_name(&base(entry), provider_type))
        .or_else(|| files().find(|entry| base(entry).starts_with("terraform-provider")))
        .map(|entry| entry.name.clone())
}

fn check_configuration(entries: &[Entry], subdir: &str, reasons: &mut Reasons) {
    let files = || entries.iter().filter(|entry| entry.kind == EntryKind::File);
    let found = files().any(|entry| {
        path::clean(&entry.name).is_ok_and(|place| is_configuration_below(&place, subdir))
    });
    if !found {
        let elsewhere = || {
            files()
                .find(|entry| is_configuration(&entry.name))
                .map(|entry| entry.name.clone())
        };
        reasons.push(|| InstallError::NoConfiguration {
            subdir: (!subdir.is_empty()).then(|| shortened(subdir)),
            instead: elsewhere(),
        });
    }
}

fn is_configuration_below(place: &str, subdir: &str) -> bool {
    let inside = if subdir.is_empty() {
        Some(place)
    } else {
        place
            .strip_prefix(subdir)
            .and_then(|rest| rest.strip_prefix('/'))
    };
    inside.is_some_and(is_configuration)
}

/// Clients ignore hidden files. Editors' temporary files have other extensions.
fn is_configuration(place: &str) -> bool {
    let hidden = place
        .split('/')
        .any(|part| part.starts_with('.') && part != ".");
    !hidden
        && [".tf", ".tofu", ".tf.json", ".tofu.json"]
            .iter()
            .any(|end| place.ends_with(end))
}

/// Shortens an input text of any length for use in a reason, which others read.
fn shortened(text: &str) -> String {
    text.chars().take(120).collect()
}

#[cfg(test)]
mod tests;

//! Whether a client could install what a list of entries describes.

use super::path::{self, PathError};
use super::{Entry, EntryKind, Method, limits, zip};
use terrace_base::sort;
use terrace_base::untrusted::quoted;

/// Why an archive cannot be published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// A name that leads out of the archive, or somewhere else on another system.
    #[error("archive entry {} {fault}", quoted(.name))]
    Path {
        /// The entry.
        name: String,
        /// What is wrong with it.
        fault: PathError,
    },
    /// Two entries unpack to the same place.
    #[error("archive entry {} is there twice", quoted(.0))]
    Duplicate(String),
    /// An entry lies below one that is no directory.
    #[error("archive entry {} lies below {}, which is no directory", quoted(.below), quoted(.file))]
    BelowFile {
        /// The entry that is no directory.
        file: String,
        /// The one below it.
        below: String,
    },
    /// An encrypted entry.
    #[error("archive entry {} is encrypted, and clients have no password", quoted(.0))]
    Encrypted(String),
    /// A compression method that Go does not know.
    #[error("archive entry {} is compressed by method {method}: clients know stored (0) and deflate (8)", quoted(.name))]
    Method {
        /// The entry.
        name: String,
        /// The number of the method.
        method: u16,
    },
    /// A file or directory that only root could read once it is unpacked.
    #[error(
        "archive entry {} unpacks with the mode {mode:04o}, with which its owner cannot read it, and clients keep modes: make files readable and directories searchable (chmod -R u+rX), and pack again",
        quoted(.name)
    )]
    Unreadable {
        /// The entry.
        name: String,
        /// Its permission bits.
        mode: u32,
    },
    /// Sizes that cannot both be true.
    #[error("archive entry {} cannot unpack from {compressed} to {uncompressed} bytes", quoted(.name))]
    Sizes {
        /// The entry.
        name: String,
        /// Its declared size in the archive.
        compressed: u64,
        /// Its declared size once unpacked.
        uncompressed: u64,
    },
    /// A device, pipe, socket or unknown type.
    #[error("archive entry {} is neither a file nor a directory", quoted(.0))]
    Special(String),
    /// A symbolic link in a zip, where its target is unknown.
    #[error("archive entry {} is a symbolic link, which clients unpack as a file: pack the file it leads to", quoted(.0))]
    Symlink(String),
    /// A symbolic link that leads out of the archive.
    #[error("archive entry {} is a symbolic link to {}, outside the archive", quoted(.name), quoted(.target))]
    LinkEscapes {
        /// The entry.
        name: String,
        /// Where it leads.
        target: String,
    },
    /// A hard link.
    #[error(
        "archive entry {} is a hard link to {}, which clients unpack as an empty file: pack with --hard-dereference",
        quoted(.name), quoted(.target)
    )]
    HardLink {
        /// The entry.
        name: String,
        /// The file it is another name of.
        target: String,
    },

    /// A provider's zip has entries for directories.
    #[error(
        "the zip has entries for directories ({count}, the first is {}): clients hash the zip with them and the installed provider without, so a later install fails against the lock file; pack without them (zip -D)",
        quoted(.first)
    )]
    DirectoryEntries {
        /// The first of them.
        first: String,
        /// How many there are.
        count: usize,
    },
    /// A name in a provider's zip that changes when it is unpacked.
    #[error("archive entry {} unpacks under another name, so its hash changes: remove \".\" and doubled slashes", quoted(.0))]
    Unclean(String),
    /// No executable of the provider.
    #[error(
        "the zip has no file \"terraform-provider-{provider_type}\" at its root (it may go on with \"_\" or \".\"){}",
        but_there_is(.instead)
    )]
    NoExecutable {
        /// The type of the provider.
        provider_type: String,
        /// What looks as if it were meant.
        instead: Option<String>,
    },

    /// A subdirectory that is no path inside an archive.
    #[error("the subdirectory {} {fault}", quoted(.subdir))]
    Subdir {
        /// The subdirectory.
        subdir: String,
        /// What is wrong with it.
        fault: PathError,
    },
    /// No configuration in a module's archive.
    #[error("the archive has no configuration{}: no file that ends in .tf, .tofu, .tf.json or .tofu.json{}", below(.subdir), but_there_is(.instead))]
    NoConfiguration {
        /// Where it was looked for.
        subdir: Option<String>,
        /// Configuration somewhere else.
        instead: Option<String>,
    },

    /// There were more reasons than are worth telling.
    #[error("and {0} more reasons")]
    More(usize),
}

/// What is worth telling a publisher about an archive that can be published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveWarning {
    /// The executable cannot be run where modes count.
    #[error("{} is not marked executable, and clients keep the mode: the provider installs but cannot start", quoted(.0))]
    NotExecutable(String),
    /// Symbolic links inside a tar.
    #[error("clients unpack symbolic links as empty files ({count}, the first is {})", quoted(.first))]
    Symlinks {
        /// The first of them.
        first: String,
        /// How many there are.
        count: usize,
    },
    /// Names of files that usually hold secrets.
    #[error("files that may hold secrets are in it ({count}, the first is {}), and what is published stays published", quoted(.first))]
    Secrets {
        /// The first of them.
        first: String,
        /// How many there are.
        count: usize,
    },
    /// Two names that some file systems take for one; only ASCII letters are compared, to be spared the tables.
    #[error("{} and {} differ in case only: where case does not count, one replaces the other", quoted(.one), quoted(.other))]
    SameButForCase {
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
    /// A zip too large for its contents to be checked.
    #[error("the zip has or unpacks to more than {max} MiB, so the registry reads its list of entries and leaves their contents unchecked: unpack it once to see that it is whole", max = limits::ZIP_CONTENTS_BYTES >> 20)]
    ContentsUnchecked,
}

fn but_there_is(instead: &Option<String>) -> String {
    instead.as_ref().map_or_else(String::new, |name| {
        format!("; but there is {}", quoted(name))
    })
}

fn below(subdir: &Option<String>) -> String {
    subdir
        .as_ref()
        .map_or_else(String::new, |subdir| format!(" below {}", quoted(subdir)))
}

/// Everything that keeps the zip of a provider of this type from being installed; nothing if it can be.
pub fn check_provider_package(entries: &[Entry], provider_type: &str) -> Vec<InstallError> {
    let mut reasons = Reasons::default();
    if executable(entries, provider_type).is_none() {
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

/// What a publisher should know about the zip of a provider for this operating system.
///
/// These are no reasons to refuse: a file system without modes runs such a provider.
pub fn provider_package_warnings(
    entries: &[Entry],
    provider_type: &str,
    os: &str,
) -> Vec<ArchiveWarning> {
    let runs = |entry: &Entry| entry.unix_mode.is_some_and(|mode| mode & 0o111 != 0);
    match executable(entries, provider_type) {
        Some(entry) if os != "windows" && !runs(entry) => {
            vec![ArchiveWarning::NotExecutable(entry.name.clone())]
        }
        _ => Vec::new(),
    }
}

/// Everything that keeps a module from being installed from an archive, or from a directory in it;
/// nothing if it can be.
pub fn check_module_archive(entries: &[Entry], subdir: Option<&str>) -> Vec<InstallError> {
    let mut reasons = Reasons::default();
    match subdir.map(path::clean) {
        Some(Err(fault)) => {
            let subdir = shortened(subdir.unwrap_or_default());
            reasons.push(|| InstallError::Subdir { subdir, fault });
        }
        // A subdirectory of "." is the root.
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

/// What a publisher should know about a module's archive.
pub fn module_archive_warnings(entries: &[Entry]) -> Vec<ArchiveWarning> {
    let mut links = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Symlink);
    let first = links.next();
    let warning = first.map(|first| ArchiveWarning::Symlinks {
        first: first.name.clone(),
        count: 1 + links.count(),
    });
    let mut warnings: Vec<ArchiveWarning> = warning.into_iter().collect();
    let mut secrets = entries
        .iter()
        .filter(|entry| may_hold_secrets(&entry.name.to_ascii_lowercase()));
    if let Some(first) = secrets.next() {
        warnings.push(ArchiveWarning::Secrets {
            first: first.name.clone(),
            count: 1 + secrets.count(),
        });
    }
    warnings.extend(same_but_for_case(entries));
    warnings
}

/// Whether a file of this (lower-case) name usually holds secrets: state, plans, values of
/// variables, environments, private keys and the credentials of other programs.
fn may_hold_secrets(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    let in_directory = [".git", ".ssh", ".aws", ".terraform"]
        .iter()
        .any(|directory| name.split('/').any(|part| part == *directory));
    let called = [
        ".env",
        ".netrc",
        ".terraformrc",
        "terraform.rc",
        "credentials.tfrc.json",
    ]
    .contains(&file)
        || file.starts_with("id_rsa")
        || file.starts_with("id_ed25519");
    let ends = [".tfvars", ".tfvars.json", ".tfplan", ".pem", ".key", ".p12"]
        .iter()
        .any(|end| file.ends_with(end));
    in_directory || called || ends || file.contains(".tfstate")
}

fn same_but_for_case(entries: &[Entry]) -> Option<ArchiveWarning> {
    let mut seen = std::collections::BTreeMap::new();
    entries.iter().find_map(|entry| {
        let earlier = seen.insert(entry.name.to_ascii_lowercase(), &entry.name)?;
        (*earlier != entry.name).then(|| ArchiveWarning::SameButForCase {
            one: earlier.clone(),
            other: entry.name.clone(),
        })
    })
}

/// What a publisher should know about the zip of a module, of which contents are checked too.
pub fn zip_contents_warning(size: u64, entries: &[Entry]) -> Option<ArchiveWarning> {
    (!zip::are_checked(size, entries)).then_some(ArchiveWarning::ContentsUnchecked)
}

/// Collects reasons, as many as are worth telling.
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

/// What must hold for every entry of any archive.
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

/// Where the entry unpacks to. Only a directory may be the root itself.
fn place(entry: &Entry) -> Result<String, PathError> {
    let place = path::clean(&entry.name)?;
    if place.is_empty() && entry.kind != EntryKind::Directory {
        Err(PathError::Empty)
    } else {
        Ok(place)
    }
}

/// go-getter gives what it unpacks the permission bits of the archive, whatever the umask is. Where `init`
/// copies a module that it has already, every file has to be read, not only the configuration.
fn check_mode(entry: &Entry, reasons: &mut Reasons) {
    let needed = match entry.kind {
        // Clients unpack a link as an empty file.
        EntryKind::File | EntryKind::Symlink => 0o400,
        EntryKind::Directory => 0o500,
        // Refused anyway.
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
        // Go forgives a directory its compressed bytes, but not its content.
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

/// In the order of their components, whatever collides stands side by side.
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

/// The file that clients would start: of several, they take the first by name.
fn executable<'a>(entries: &'a [Entry], provider_type: &str) -> Option<&'a Entry> {
    entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::File && !entry.name.contains('/'))
        .filter(|entry| is_executable_name(&entry.name, provider_type))
        .min_by(|a, b| a.name.cmp(&b.name))
}

fn is_executable_name(name: &str, provider_type: &str) -> bool {
    name.strip_prefix("terraform-provider-")
        .and_then(|rest| rest.strip_prefix(provider_type))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
}

/// The right name in the wrong place, or else another provider's.
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

/// Clients ignore hidden files, and editors' leavings end otherwise.
fn is_configuration(place: &str) -> bool {
    let hidden = place
        .split('/')
        .any(|part| part.starts_with('.') && part != ".");
    !hidden
        && [".tf", ".tofu", ".tf.json", ".tofu.json"]
            .iter()
            .any(|end| place.ends_with(end))
}

/// A given text may be of any length; reasons are told to others.
fn shortened(text: &str) -> String {
    text.chars().take(120).collect()
}

#[cfg(test)]
mod tests;

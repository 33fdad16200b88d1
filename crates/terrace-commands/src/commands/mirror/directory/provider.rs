//! The directory of one provider.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use terrace_core::model::address::MirroredAddress;
use terrace_core::model::name::ProviderType;
use terrace_core::model::package_hash::{PackageHash, PackageHashError};
use terrace_core::model::platform::Platform;
use terrace_core::model::version::Version;

use super::documents::{self, ArchiveDocument, Index, VersionDocument};
use super::root::{Child, ChildKind, Root};
use super::{ListedPackage, Notes};
use crate::output::plural;

const INDEX: &str = "index.json";

/// The files and errors of one version.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) packages: BTreeMap<Platform, ListedPackage>,
    pub(super) reasons: Vec<String>,
}

/// Finds the versions of a provider: first those in the documents that clients read, then other files in the
/// directory.
pub(super) fn read(
    address: &MirroredAddress,
    directory: &Path,
    root: &Root,
    notes: &mut Notes,
) -> BTreeMap<Version, Found> {
    let children = root.children(directory).unwrap_or_else(|reason| {
        notes.reasons.push(reason);
        Vec::new()
    });
    let mut reader = ProviderReader {
        directory,
        provider_type: &address.provider.provider_type,
        root,
        notes,
        found: BTreeMap::new(),
        referenced: BTreeSet::new(),
    };
    let mut index = None;
    let mut others = Vec::new();
    for child in children {
        match Role::of(&child, &address.provider.provider_type) {
            Role::Index => index = Some(child.path),
            Role::Version(version) => reader.describe(version, &child.path),
            other => others.push((child.path, other)),
        }
    }
    reader.take_others(others);
    match index {
        Some(index) => reader.compare_with_index(&index),
        None => reader.miss_index(),
    }
    reader.found
}

/// The role of a file in a provider's directory, by its name.
enum Role {
    Index,
    Version(Version),
    Zip(Version, Platform),
    /// A zip whose name no client understands.
    OtherZip,
    /// None of these, with the reason.
    Foreign(String),
}

impl Role {
    fn of(child: &Child, provider_type: &ProviderType) -> Self {
        let name = child.name.as_str();
        if child.kind == ChildKind::Directory {
            let reason = "is a directory, and only the publisher's own zips can be mirrored";
            return Self::Foreign(reason.to_owned());
        }
        if name == INDEX {
            return Self::Index;
        }
        if let Some(version) = name.strip_suffix(".json") {
            return match version.parse() {
                Ok(version) => Self::Version(version),
                Err(error) => Self::Foreign(format!("is not part of a mirror: {error}")),
            };
        }
        match parse_zip_name(name, provider_type) {
            Some((version, platform)) => Self::Zip(version, platform),
            None if name.ends_with(".zip") && !name.starts_with('.') => Self::OtherZip,
            None => Self::Foreign(format!(
                "is not part of a mirror, where files are JSON or \
                 terraform-provider-{provider_type}_<version>_<os>_<arch>.zip"
            )),
        }
    }
}

/// Parses the name of a zip. Neither a type nor a version contains a `_`.
fn parse_zip_name(name: &str, expected: &ProviderType) -> Option<(Version, Platform)> {
    let stem = name.strip_prefix("terraform-provider-")?;
    let mut parts = stem.strip_suffix(".zip")?.splitn(3, '_');
    let provider_type: ProviderType = parts.next()?.parse().ok()?;
    let version = parts.next()?.parse().ok()?;
    let platform = parts.next()?.parse().ok()?;
    (provider_type == *expected).then_some((version, platform))
}

/// The state of reading one provider's directory.
struct ProviderReader<'a> {
    directory: &'a Path,
    provider_type: &'a ProviderType,
    root: &'a Root,
    notes: &'a mut Notes,
    found: BTreeMap<Version, Found>,
    /// The files that a URL in a document refers to.
    referenced: BTreeSet<PathBuf>,
}

impl ProviderReader<'_> {
    /// Adds the packages that a `{version}.json` describes.
    fn describe(&mut self, version: Version, path: &Path) {
        let mut found = Found::default();
        match documents::read::<VersionDocument>(path, self.root) {
            Ok(document) => {
                if document.archives.is_empty() {
                    let place = path.display();
                    found.reasons.push(format!("{place} lists no archives"));
                }
                for (platform, archive) in document.archives {
                    match self.listed(&platform, &archive) {
                        Ok(package) => {
                            found.packages.insert(package.platform.clone(), package);
                        }
                        Err(reasons) => {
                            let name = |reason| format!("{}: {reason}", path.display());
                            found.reasons.extend(reasons.into_iter().map(name));
                        }
                    }
                }
            }
            Err(reason) => found.reasons.push(reason),
        }
        self.found.insert(version, found);
    }

    /// Returns the described zip, or every error in its description.
    fn listed(
        &mut self,
        platform: &str,
        archive: &ArchiveDocument,
    ) -> Result<ListedPackage, Vec<String>> {
        let mut reasons = Vec::new();
        let mut note = |reason: String| reasons.push(reason);
        let platform: Option<Platform> = platform
            .parse()
            .map_err(|error| note(format!("{error}")))
            .ok();
        let url = &archive.url;
        let path = documents::resolve(url, self.directory)
            .map_err(|error| note(format!("the URL {url:?} {error}")))
            .ok();
        if let Some(path) = &path {
            self.referenced.insert(path.clone());
            self.root.check_file(path).unwrap_or_else(&mut note);
        }
        let mut hashes = Vec::new();
        for text in archive.hashes.iter().flatten() {
            match text.parse::<PackageHash>() {
                Ok(hash) => hashes.push(hash),
                // Clients ignore unknown schemes, if the text has the shape of a hash (clients.md 5.8).
                Err(PackageHashError::Scheme(_)) if text.contains(':') => {}
                Err(error) => note(format!("{url:?}: {error}")),
            }
        }
        match (platform, path) {
            (Some(platform), Some(path)) if reasons.is_empty() => Ok(ListedPackage {
                platform,
                path,
                hashes,
            }),
            _ => Err(reasons),
        }
    }

    /// Adds zips that no JSON document lists, and skips the rest.
    fn take_others(&mut self, others: Vec<(PathBuf, Role)>) {
        let mut unlisted = Vec::new();
        for (path, role) in others {
            if self.referenced.contains(&path) {
                continue;
            }
            match role {
                Role::Zip(version, platform) => {
                    if self.take_unlisted(version, platform, &path) {
                        unlisted.push(path);
                    }
                }
                Role::OtherZip => {
                    let (place, provider_type) = (path.display(), self.provider_type);
                    self.notes.reasons.push(format!(
                        "{place}: clients find a zip in a mirror directory only as \
                         terraform-provider-{provider_type}_<version>_<os>_<arch>.zip, with a version such as 1.2.3: \
                         rename it, or move it elsewhere"
                    ));
                }
                Role::Foreign(reason) => self.notes.skip(&path, reason),
                Role::Index | Role::Version(_) => {}
            }
        }
        if let Some(first) = unlisted.first() {
            let (count, first) = (unlisted.len(), first.display());
            self.notes.remarks.push(format!(
                "{first} is not listed in any JSON document, so it cannot be compared with listed hashes, and is \
                 published as it is ({} in its directory)",
                plural(count, "such zip")
            ));
        }
    }

    fn take_unlisted(&mut self, version: Version, platform: Platform, path: &Path) -> bool {
        let found = self.found.entry(version).or_default();
        if let Some(listed) = found.packages.get(&platform) {
            let listed = listed.path.display();
            let reason = format!("is another zip for {platform} than {listed}, which is listed");
            self.notes.skip(path, reason);
            return false;
        }
        match self.root.check_file(path) {
            Ok(()) => {
                let package = ListedPackage {
                    platform: platform.clone(),
                    path: path.to_owned(),
                    hashes: Vec::new(),
                };
                found.packages.insert(platform, package);
                true
            }
            Err(reason) => {
                found.reasons.push(reason);
                false
            }
        }
    }

    /// Compares the versions with the index. Listed versions must exist; other versions may.
    fn compare_with_index(&mut self, path: &Path) {
        let place = path.display();
        let index: Index = match documents::read(path, self.root) {
            Ok(index) => index,
            Err(reason) => return self.notes.reasons.push(reason),
        };
        let mut listed = BTreeSet::new();
        for text in index.versions.into_keys() {
            let Ok(version) = text.parse::<Version>() else {
                let reason =
                    format!("lists {text:?}, which is not a version, so clients ignore it");
                self.notes.skip(path, reason);
                continue;
            };
            let found = self.found.entry(version.clone()).or_default();
            if found.packages.is_empty() && found.reasons.is_empty() {
                found.reasons.push(format!(
                    "{place} lists {version}, but there is neither {version}.json nor a zip of it"
                ));
            }
            listed.insert(version);
        }
        for version in self.found.keys().filter(|v| !listed.contains(v)) {
            let remark = format!("{place} does not list {version}, which is published anyway");
            self.notes.remarks.push(remark);
        }
    }

    fn miss_index(&mut self) {
        let place = self.directory.display();
        if self.found.is_empty() {
            self.notes.skip(self.directory, "contains no version");
        } else if !self.referenced.is_empty() {
            let remark = format!("{place} has no {INDEX}; every version in it is published");
            self.notes.remarks.push(remark);
        }
    }
}

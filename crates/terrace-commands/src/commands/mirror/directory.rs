//! A directory that `terraform providers mirror` or `tofu providers mirror` wrote, or that has the same
//! layout: its providers, with their registries and versions.
//!
//! # In scope
//! The layout: `{hostname}/{namespace}/{type}/`, and in it `index.json`, a `{version}.json` for each
//! version, and zips named `terraform-provider-{type}_{version}_{os}_{arch}.zip`; or only the zips,
//! which is the packed layout of a filesystem mirror. No link and no URL leads out of the directory.
//!
//! # Out of scope
//! The contents of zips, and whether a zip has the hashes that are listed for it.

mod documents;
mod provider;
mod root;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Serialize;
use terrace_core::model::address::{MirroredAddress, ProviderAddress};
use terrace_core::model::name::{Hostname, NameError, Namespace, ProviderType};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package_hash::PackageHash;
use terrace_core::model::platform::Platform;
use terrace_core::model::version::Version;

use provider::Found;
use root::{ChildKind, Root};

/// The contents of a directory.
#[derive(Debug)]
pub(crate) struct Directory {
    /// The versions, in the order of their addresses and numbers.
    pub(crate) versions: Vec<ListedVersion>,
    pub(crate) notes: Notes,
}

/// The notes about a directory that do not belong to one of its versions.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The errors.
    pub(crate) reasons: Vec<String>,
    /// Irregularities that do no harm.
    pub(crate) remarks: Vec<String>,
    /// The files and directories that are not part of a mirror, or that a mirror cannot be asked for.
    pub(crate) skipped: Vec<Skipped>,
}

/// A file or directory that is skipped.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Skipped {
    pub(crate) path: String,
    pub(crate) reason: String,
}

/// One version of a provider.
#[derive(Debug)]
pub(crate) struct ListedVersion {
    pub(crate) address: MirroredAddress,
    pub(crate) version: Version,
    /// The packages, one for each platform.
    pub(crate) packages: Vec<ListedPackage>,
    /// The errors in the version.
    pub(crate) reasons: Vec<String>,
}

/// A zip that exists in the directory.
#[derive(Debug)]
pub(crate) struct ListedPackage {
    pub(crate) platform: Platform,
    pub(crate) path: PathBuf,
    /// The hashes of known schemes that any JSON document lists for it.
    pub(crate) hashes: Vec<PackageHash>,
}

impl Directory {
    /// Reads a directory, except providers that the registry hosts itself: its mirror already has those, and
    /// accepts them from no other source.
    ///
    /// # Errors
    /// The reason that the directory cannot be read.
    pub(crate) fn read(path: &Path, own: Option<OwnHosts<'_>>) -> Result<Self, String> {
        let root = Root::open(path)?;
        let mut reader = Reader {
            root: &root,
            versions: BTreeMap::new(),
            notes: Notes::default(),
        };
        for (hostname, directory) in reader.directories::<Hostname>(path) {
            if own.is_some_and(|own| own.include(&hostname)) {
                let reason = "is the registry's own: its mirror already contains its own providers";
                reader.notes.skip(&directory, reason);
            } else {
                reader.hostname(&hostname, &directory);
            }
        }
        reader.notes.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self {
            versions: reader.versions.into_values().collect(),
            notes: reader.notes,
        })
    }
}

impl Notes {
    fn skip(&mut self, path: &Path, reason: impl ToString) {
        self.skipped.push(Skipped {
            path: path.display().to_string(),
            reason: reason.to_string(),
        });
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

/// The state of reading a directory. Errors are noted, and the rest is read.
struct Reader<'a> {
    root: &'a Root,
    versions: BTreeMap<(MirroredAddress, Version), ListedVersion>,
    notes: Notes,
}

impl Reader<'_> {
    /// Reads the providers of one registry.
    fn hostname(&mut self, hostname: &Hostname, directory: &Path) {
        for (namespace, directory) in self.directories::<Namespace>(directory) {
            for (provider_type, directory) in self.directories::<ProviderType>(&directory) {
                let address = MirroredAddress {
                    hostname: hostname.clone(),
                    provider: ProviderAddress {
                        namespace: namespace.clone(),
                        provider_type,
                    },
                };
                let found = provider::read(&address, &directory, self.root, &mut self.notes);
                for (version, found) in found {
                    self.add(&address, version, found);
                }
            }
        }
    }

    /// Returns the subdirectories with names of this kind.
    fn directories<N: FromStr<Err = NameError>>(&mut self, parent: &Path) -> Vec<(N, PathBuf)> {
        let children = self.root.children(parent).unwrap_or_else(|reason| {
            self.notes.reasons.push(reason);
            Vec::new()
        });
        let mut directories = Vec::new();
        for child in children {
            match (child.kind, child.name.parse()) {
                (ChildKind::Directory, Ok(name)) => directories.push((name, child.path)),
                (ChildKind::Directory, Err(error)) => self.notes.skip(&child.path, error),
                (ChildKind::Outside, _) => self.notes.reasons.push(self.root.leaves(&child.path)),
                (ChildKind::Other, _) => self.notes.skip(&child.path, "is not part of a mirror"),
            }
        }
        directories
    }

    /// Adds a version, unless it is already there.
    fn add(&mut self, address: &MirroredAddress, version: Version, found: Found) {
        let key = (address.clone(), version.clone());
        if let Some(other) = self.versions.get_mut(&key) {
            other.reasons.push(format!(
                "{address} {version} exists twice, in directories whose names differ in case \
                 only"
            ));
            return;
        }
        let listed = ListedVersion {
            address: address.clone(),
            version,
            packages: found.packages.into_values().collect(),
            reasons: found.reasons,
        };
        self.versions.insert(key, listed);
    }
}

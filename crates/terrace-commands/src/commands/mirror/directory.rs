//! A directory that `terraform providers mirror` or `tofu providers mirror` wrote, or that has the same
//! layout: its providers, with their registries and versions.
//!
//! # In scope
//! The layout: `{hostname}/{namespace}/{type}/`, and in it `index.json`, a `{version}.json` for each
//! version, and zips named `terraform-provider-{type}_{version}_{os}_{arch}.zip`; or only the zips,
//! which is the packed layout of a filesystem mirror. No link leads out of the directory, and no URL out of that of a provider.
//!
//! # Out of scope
//! The contents of zips, and whether a zip has the hashes that are listed for it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use terrace_base::percent::{self, Plus};
use terrace_core::model::address::{MirroredAddress, ProviderAddress};
use terrace_core::model::name::{Hostname, NameError, Namespace, ProviderType};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package_hash::{PackageHash, PackageHashError};
use terrace_core::model::platform::Platform;
use terrace_core::model::version::Version;

use crate::commands::report::Skipped;
use crate::source::bounded_text;

const INDEX: &str = "index.json";

/// The maximum size of a JSON document in bytes: an index of 5,000 versions has 150 KB.
const DOCUMENT_BYTES: u64 = 4 * 1024 * 1024;

/// The contents of a directory.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    /// The versions, in the order of their addresses and numbers.
    pub(crate) versions: Vec<ListedVersion>,
    /// The errors that do not belong to a version.
    pub(crate) reasons: Vec<String>,
    /// The files and directories that are not part of a mirror, or that a mirror cannot be asked for.
    pub(crate) skipped: Vec<Skipped>,
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

/// The contents of `index.json`.
#[derive(Deserialize)]
struct Index {
    versions: BTreeMap<String, IgnoredAny>,
}

/// The contents of `{version}.json`: the archives by platform.
#[derive(Deserialize)]
struct VersionDocument {
    archives: BTreeMap<String, ArchiveDocument>,
}

#[derive(Deserialize)]
struct ArchiveDocument {
    url: String,
    hashes: Option<Vec<String>>,
}

impl Directory {
    /// Reads a directory, except providers that the registry hosts itself: its mirror already has those, and
    /// accepts them from no other source.
    ///
    /// # Errors
    /// The reason that the directory cannot be read.
    pub(crate) fn read(path: &Path, own: Option<OwnHosts<'_>>) -> Result<Self, String> {
        let refused = |error: io::Error| {
            format!(
                "{}: {error}. Specify the directory that terraform providers mirror or terrace admin export wrote",
                path.display()
            )
        };
        fs::read_dir(path).map_err(refused)?;
        let mut reader = Reader {
            given: path,
            real: fs::canonicalize(path).map_err(refused)?,
            found: Self::default(),
        };
        for (hostname, directory) in reader.directories::<Hostname>(path) {
            if own.is_some_and(|own| own.include(&hostname)) {
                let reason = "is the registry's own: its mirror already contains its own providers";
                reader.skip(&directory, reason);
                continue;
            }
            for (namespace, directory) in reader.directories::<Namespace>(&directory) {
                for (provider_type, directory) in reader.directories::<ProviderType>(&directory) {
                    let address = MirroredAddress {
                        hostname: hostname.clone(),
                        provider: ProviderAddress {
                            namespace: namespace.clone(),
                            provider_type,
                        },
                    };
                    reader.provider(&address, &directory);
                }
            }
        }
        let mut found = reader.found;
        found.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        let order = |it: &ListedVersion| (it.address.clone(), it.version.clone());
        found.versions.sort_by_cached_key(order);
        Ok(found)
    }
}

/// The state of reading a directory. Errors are noted, and the rest is read.
struct Reader<'a> {
    given: &'a Path,
    /// The directory with all links resolved.
    real: PathBuf,
    found: Directory,
}

/// The versions of one provider.
type Found = BTreeMap<Version, ListedVersion>;

impl Reader<'_> {
    fn skip(&mut self, path: &Path, reason: impl ToString) {
        self.found.skipped.push(Skipped {
            path: path.display().to_string(),
            reason: reason.to_string(),
        });
    }

    /// Returns the entries of a directory with their names, sorted.
    fn children(&mut self, directory: &Path) -> Vec<(String, PathBuf)> {
        let children = fs::read_dir(directory).and_then(|entries| {
            entries
                .map(|entry| entry.map(|it| it.path()))
                .collect::<io::Result<Vec<PathBuf>>>()
        });
        let mut children = children.unwrap_or_else(|error| {
            let reason = format!("{}: {error}", directory.display());
            self.found.reasons.push(reason);
            Vec::new()
        });
        children.sort();
        let name = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        children.into_iter().map(|it| (name(&it), it)).collect()
    }

    /// Returns the subdirectories with names of this kind.
    fn directories<N: FromStr<Err = NameError>>(&mut self, parent: &Path) -> Vec<(N, PathBuf)> {
        let mut directories = Vec::new();
        for (name, path) in self.children(parent) {
            if let Err(reason) = self.check_inside(&path) {
                self.found.reasons.push(reason);
            } else if !path.is_dir() {
                self.skip(&path, "is not part of a mirror");
            } else {
                match name.parse() {
                    Ok(name) => directories.push((name, path)),
                    Err(error) => self.skip(&path, error),
                }
            }
        }
        directories
    }

    /// Checks that a path leads to no place outside of the directory. It need not exist.
    fn check_inside(&self, path: &Path) -> Result<(), String> {
        match fs::canonicalize(path) {
            Ok(real) if !real.starts_with(&self.real) => Err(format!(
                "{} is a link that leads out of {}: replace it by its target",
                path.display(),
                self.given.display()
            )),
            _ => Ok(()),
        }
    }

    /// Checks that a path leads to a file in the directory.
    fn check_file(&self, path: &Path) -> Result<(), String> {
        self.check_inside(path)?;
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(()),
            Ok(_) => Err(format!("{} is not a file", path.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(format!("{} does not exist", path.display()))
            }
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    fn document<T: DeserializeOwned>(&self, path: &Path) -> Result<T, String> {
        self.check_inside(path)?;
        let text = bounded_text(path, DOCUMENT_BYTES)?;
        serde_json::from_str(&text).map_err(|error| {
            format!(
                "{}: not a JSON document of a mirror: {error}",
                path.display()
            )
        })
    }

    /// Reads the versions of a provider: first those in the documents that clients read, then zips that no document lists.
    fn provider(&mut self, address: &MirroredAddress, directory: &Path) {
        let provider_type = &address.provider.provider_type;
        let (mut found, mut listed) = (Found::new(), BTreeSet::new());
        let (mut index, mut others) = (None, Vec::new());
        for (name, path) in self.children(directory) {
            let version = name.strip_suffix(".json").map(str::parse::<Version>);
            match version {
                _ if path.is_dir() => self.skip(
                    &path,
                    "is a directory, and only the publisher's own zips can be mirrored",
                ),
                _ if name == INDEX => index = Some(path),
                Some(Ok(version)) => {
                    let version = listed_version(address, &version, &mut found);
                    self.describe(version, &path, &mut listed);
                }
                Some(Err(error)) => self.skip(&path, format!("is not part of a mirror: {error}")),
                None => others.push((name, path)),
            }
        }
        others.retain(|(_, path)| !listed.contains(path));
        for (name, path) in others {
            let expected = format!("terraform-provider-{provider_type}_<version>_<os>_<arch>.zip");
            match parse_zip_name(&name, provider_type) {
                Some((version, platform)) => {
                    let version = listed_version(address, &version, &mut found);
                    let mut packages = version.packages.iter();
                    if let Some(known) = packages.find(|it| it.platform == platform) {
                        let known = known.path.display();
                        let reason =
                            format!("is another zip for {platform} than {known}, which is listed");
                        self.skip(&path, reason);
                        continue;
                    }
                    match self.check_file(&path) {
                        Ok(()) => version.packages.push(ListedPackage {
                            platform,
                            path,
                            hashes: Vec::new(),
                        }),
                        Err(reason) => version.reasons.push(reason),
                    }
                }
                None if name.ends_with(".zip") && !name.starts_with('.') => {
                    self.found.reasons.push(format!(
                        "{}: clients find a zip in a mirror directory only as {expected}, with a version such as 1.2.3: rename it, or \
                         move it elsewhere",
                        path.display()
                    ));
                }
                None => self.skip(
                    &path,
                    format!("is not part of a mirror, where files are JSON or {expected}"),
                ),
            }
        }
        if let Some(index) = index {
            self.compare_with_index(&index, address, &mut found);
        }
        for mut version in found.into_values() {
            version.packages.sort_by(|a, b| a.platform.cmp(&b.platform));
            self.found.versions.push(version);
        }
    }

    /// Adds the packages that a `{version}.json` describes. Their paths are added to `listed`.
    fn describe(&self, version: &mut ListedVersion, path: &Path, listed: &mut BTreeSet<PathBuf>) {
        let document: VersionDocument = match self.document(path) {
            Ok(document) => document,
            Err(reason) => return version.reasons.push(reason),
        };
        let place = path.display();
        if document.archives.is_empty() {
            version.reasons.push(format!("{place} lists no archives"));
        }
        for (platform, archive) in document.archives {
            match self.package(path, &platform, archive, listed) {
                Ok(package) => version.packages.push(package),
                Err(reason) => version.reasons.push(format!("{place}: {reason}")),
            }
        }
    }

    fn package(
        &self,
        document: &Path,
        platform: &str,
        ArchiveDocument { url, hashes }: ArchiveDocument,
        listed: &mut BTreeSet<PathBuf>,
    ) -> Result<ListedPackage, String> {
        let path = file_name(&url).map(|name| document.with_file_name(name));
        let path = path.ok_or_else(|| {
            format!("the URL {url:?} is not the name of a file beside this document")
        })?;
        listed.insert(path.clone());
        self.check_file(&path)?;
        let mut parsed = Vec::new();
        for text in hashes.iter().flatten() {
            match text.parse::<PackageHash>() {
                Ok(hash) => parsed.push(hash),
                // Clients ignore unknown schemes, if the text has the shape of a hash (clients.md 5.8).
                Err(PackageHashError::Scheme(_)) if text.contains(':') => {}
                Err(error) => return Err(format!("{url:?}: {error}")),
            }
        }
        Ok(ListedPackage {
            platform: platform.parse().map_err(|error| format!("{error}"))?,
            path,
            hashes: parsed,
        })
    }

    /// Compares the versions with the index. Listed versions must exist; other versions may. Clients ignore entries that are no
    /// versions.
    fn compare_with_index(&mut self, path: &Path, address: &MirroredAddress, found: &mut Found) {
        let index: Index = match self.document(path) {
            Ok(index) => index,
            Err(reason) => return self.found.reasons.push(reason),
        };
        for version in index.versions.into_keys() {
            let Ok(version) = version.parse::<Version>() else {
                continue;
            };
            let found = listed_version(address, &version, found);
            if found.packages.is_empty() && found.reasons.is_empty() {
                found.reasons.push(format!(
                    "{} lists {version}, but there is neither {version}.json nor a zip of it",
                    path.display()
                ));
            }
        }
    }
}

fn listed_version<'f>(
    address: &MirroredAddress,
    version: &Version,
    found: &'f mut Found,
) -> &'f mut ListedVersion {
    let place = found.entry(version.clone());
    place.or_insert_with(|| ListedVersion {
        address: address.clone(),
        version: version.clone(),
        packages: Vec::new(),
        reasons: Vec::new(),
    })
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

/// Returns the name of the file beside it that a URL in a document means.
fn file_name(url: &str) -> Option<String> {
    let name = url.strip_prefix("./").unwrap_or(url);
    let is_url = |c: char| matches!(c, '/' | ':' | '?' | '#');
    let name = (!name.contains(is_url)).then(|| percent::decoded(name, Plus::Plus))??;
    let is_path = |c: char| matches!(c, '/' | '\\' | ':') || c.is_control();
    let is_name = !matches!(&*name, "" | "." | "..") && !name.contains(is_path);
    is_name.then(|| name.into_owned())
}

//! The dist directory of GoReleaser: its provider, the version, and the files.

mod manifest;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use terrace_base::digest::Sha256;
use terrace_core::model::name::ProviderType;
use terrace_core::model::platform::Platform;
use terrace_core::model::shasums::Shasums;
use terrace_core::model::version::Version;

pub(crate) use manifest::Protocols;

const PROVIDER_PREFIX: &str = "terraform-provider-";
const SHASUMS_SUFFIX: &str = "_SHA256SUMS";

/// The name of a zip, as GoReleaser's configuration must name it.
const NAME_TEMPLATE: &str =
    r#"archives.name_template: "{{ .ProjectName }}_{{ .Version }}_{{ .Os }}_{{ .Arch }}""#;

/// The words in names of packages, and of lists of digests.
const SYSTEMS: [&str; 4] = ["linux", "darwin", "windows", "mac"];
const SUMS: [&str; 3] = ["sha256", "shasum", "checksum"];

/// The end of the name of an archive with documentation.
const DOCUMENTATION_SUFFIX: &str = "_docs.zip";

/// A directory with exactly one release of one provider.
#[derive(Debug)]
pub(crate) struct Dist {
    pub(crate) directory: PathBuf,
    pub(crate) provider_type: ProviderType,
    pub(crate) version: Version,
    /// The signed text, byte for byte.
    pub(crate) shasums: String,
    /// The files that it lists, if it is one.
    listed: Option<Shasums>,
    /// The names of all files in the directory.
    names: BTreeSet<String>,
}

/// A zip that SHA256SUMS lists, or a file with the name of such a zip.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) platform: Platform,
    pub(crate) filename: String,
    /// The path of the zip, if it exists.
    pub(crate) path: Option<PathBuf>,
}

impl Dist {
    /// Reads a directory with one release.
    ///
    /// # Errors
    /// The reason that the directory is not one with exactly one release.
    pub(crate) fn find(directory: &Path) -> Result<Self, String> {
        let place = directory.display();
        let names = names(directory);
        let names = names.map_err(|error| {
            format!("{place}: {error}. Specify the directory that GoReleaser wrote")
        })?;
        let stem = stem(directory, &names)?;
        let (provider_type, version) = parse_stem(&stem)?;
        let path = directory.join(format!("{stem}{SHASUMS_SUFFIX}"));
        let shasums = fs::read_to_string(&path);
        let shasums = shasums.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self {
            directory: directory.to_owned(),
            provider_type,
            version,
            listed: Shasums::parse(&shasums).ok(),
            shasums,
            names,
        })
    }

    /// Returns the digest that SHA256SUMS lists for a file.
    fn promised(&self, name: &str) -> Option<Sha256> {
        self.listed.as_ref()?.digest_of(name)
    }

    /// Returns the signature in the form of the admin API: from `.sig`, as GoReleaser names it, or `.asc`.
    /// Either may be binary or in ASCII armour.
    pub(crate) fn signature(&self) -> Result<String, String> {
        let shasums = format!("{}{SHASUMS_SUFFIX}", self.stem());
        let candidates = ["sig", "asc"].map(|extension| format!("{shasums}.{extension}"));
        let Some(name) = candidates.iter().find(|name| self.names.contains(*name)) else {
            return Err(format!(
                "{shasums}.sig is missing: let GoReleaser sign the checksums, or run gpg \
                 --detach-sign {shasums}"
            ));
        };
        let bytes = fs::read(self.directory.join(name)).map_err(|e| format!("{name}: {e}"))?;
        if self.promised(name) == Some(Sha256::of(&bytes)) {
            return Err(format!(
                "SHA256SUMS lists its own signature {name}, so it was changed after signing, as GoReleaser 2.15.0 and \
                 2.15.1 do: release with another version, or remove that line"
            ));
        }
        match str::from_utf8(&bytes) {
            Ok(text) if text.trim_start().starts_with("-----BEGIN") => Ok(text.to_owned()),
            _ => Ok(STANDARD.encode(bytes)),
        }
    }

    /// Returns the zips of this release, and the errors in their names. A zip with another name is another file.
    pub(crate) fn packages(&self) -> (Vec<Package>, Vec<String>) {
        let listed = self.listed.iter().flat_map(Shasums::filenames);
        let names: BTreeSet<&str> = listed
            .chain(self.names.iter().map(String::as_str))
            .collect();
        let prefix = format!("{}_", self.stem());
        let mut packages = Vec::new();
        let mut reasons = Vec::new();
        for &filename in &names {
            let named = filename
                .strip_prefix(&prefix)
                .and_then(|rest| rest.strip_suffix(".zip"));
            match named.and_then(Platform::named) {
                Some(Ok(platform)) => packages.push(Package {
                    platform,
                    filename: filename.to_owned(),
                    path: self.path_of(filename),
                }),
                Some(Err(error)) => {
                    let remedy = match error.meant.as_slice() {
                        [] => "leave it out".to_owned(),
                        [_] => format!("set {NAME_TEMPLATE} in .goreleaser.yml"),
                        _ => "remove universal_binaries in .goreleaser.yml".to_owned(),
                    };
                    reasons.push(format!("{filename}: {error}: {remedy}"));
                }
                None => {}
            }
        }
        if packages.is_empty() && reasons.is_empty() {
            let place = self.directory.display();
            let meant = meant(names.into_iter(), &[".zip", ".gz", ".tgz"], &SYSTEMS);
            let but = meant.map_or_else(String::new, |name| {
                let setting = match name.ends_with(".zip") {
                    true => NAME_TEMPLATE,
                    false => "archives.formats: [zip]",
                };
                format!("; but there is {name}: set {setting} in .goreleaser.yml")
            });
            reasons.push(format!("{place} contains no {prefix}<os>_<arch>.zip{but}"));
        }
        (packages, reasons)
    }

    /// Returns advice if a part of the packages that SHA256SUMS lists is missing.
    pub(crate) fn incomplete(&self, packages: &[Package]) -> Option<String> {
        let missing = packages.iter().filter(|package| package.path.is_none());
        let is_part = (1..packages.len()).contains(&missing.count());
        is_part.then(|| {
            "a version is published with all packages that its signed SHA256SUMS lists, because it can gain none later: add \
             them. For some platforms of another registry's provider, mirror it (terrace mirror add ADDRESS --platform \
             OS_ARCH), or sign a SHA256SUMS of your own that lists only these zips"
                .to_owned()
        })
    }

    /// Returns the path of the archive with the documentation of this release, if there is one.
    pub(crate) fn documentation(&self) -> Option<PathBuf> {
        self.path_of(&format!("{}{DOCUMENTATION_SUFFIX}", self.stem()))
    }

    /// Returns the path of a file in the directory, if there is one.
    fn path_of(&self, name: &str) -> Option<PathBuf> {
        let is_there = self.names.contains(name);
        is_there.then(|| self.directory.join(name))
    }

    /// Returns `terraform-provider-<type>_<version>`.
    fn stem(&self) -> String {
        format!("{PROVIDER_PREFIX}{}_{}", self.provider_type, self.version)
    }
}

fn names(directory: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // No file of a release has another kind of name, or is a pipe, which would block.
        if let Ok(name) = entry.file_name().into_string()
            && entry.path().is_file()
        {
            names.insert(name);
        }
    }
    Ok(names)
}

/// Returns a name that its publisher probably meant as one of a release: it has one of these ends and one of these words.
fn meant<'n>(
    mut names: impl Iterator<Item = &'n str>,
    ends: &[&str],
    words: &[&str],
) -> Option<&'n str> {
    names.find(|name| {
        let name = name.to_ascii_lowercase();
        ends.iter().any(|end| name.ends_with(end)) && words.iter().any(|word| name.contains(word))
    })
}

/// Returns the name of SHA256SUMS without its end.
fn stem(directory: &Path, names: &BTreeSet<String>) -> Result<String, String> {
    let place = directory.display();
    let provider = names.iter().filter(|it| it.starts_with(PROVIDER_PREFIX));
    let found: Vec<&str> = provider
        .filter_map(|name| name.strip_suffix(SHASUMS_SUFFIX))
        .collect();
    match found.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => {
            let names = names.iter().map(String::as_str);
            let meant = meant(names, &["sums", ".txt", ".sum", "256"], &SUMS);
            let but = meant.map_or_else(String::new, |name| {
                format!("; but there is {name}: set checksum.name_template in .goreleaser.yml")
            });
            Err(format!(
                "{place} contains no {PROVIDER_PREFIX}<type>_<version>{SHASUMS_SUFFIX}{but}"
            ))
        }
        several => Err(format!(
            "{place} contains several releases: {}. Publish each from its own directory, or build with goreleaser release \
             --clean",
            several.join(", ")
        )),
    }
}

/// Parses the stem of a file name. A type contains no `_`.
fn parse_stem(stem: &str) -> Result<(ProviderType, Version), String> {
    let refused = |reason: String| format!("{stem}{SHASUMS_SUFFIX}: {reason}");
    let rest = stem.strip_prefix(PROVIDER_PREFIX).unwrap_or(stem);
    let (name, version) = rest.rsplit_once('_').unwrap_or((rest, ""));
    let plain = name.replace('_', "-").to_ascii_lowercase();
    if plain != name {
        return Err(refused(format!(
            "the type {name:?} may have no capital letters, and no \"_\", which ends the type in file names: write {plain}"
        )));
    }
    let provider_type = name.parse::<ProviderType>();
    let version = version.parse::<Version>();
    Ok((
        provider_type.map_err(|error| refused(error.to_string()))?,
        version.map_err(|error| refused(error.to_string()))?,
    ))
}

#[cfg(test)]
#[test]
fn type_and_version_are_read_from_the_name() {
    let (provider_type, version) = parse_stem("terraform-provider-my-cloud_1.2.3-rc.1+b").unwrap();
    assert_eq!(provider_type.as_str(), "my-cloud");
    assert_eq!(version.to_string(), "1.2.3-rc.1+b");
    for stem in ["-x_1.0.0", "x_v1.0", "X_1.0.0", "a_b_1.0.0"] {
        parse_stem(&format!("{PROVIDER_PREFIX}{stem}")).unwrap_err();
    }
}

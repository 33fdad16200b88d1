//! The dist directory of GoReleaser: its provider, the version, and the files.

mod manifest;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use terrace_base::digest::Sha256;
use terrace_core::api::admin::PackageBody;
use terrace_core::model::name::ProviderType;
use terrace_core::model::package_hash::PackageHash;
use terrace_core::model::platform::Platform;
use terrace_core::model::shasums::Shasums;
use terrace_core::model::version::Version;

pub(crate) use manifest::Protocols;

const PROVIDER_PREFIX: &str = "terraform-provider-";
const SHASUMS_SUFFIX: &str = "_SHA256SUMS";

/// The name of a zip, as GoReleaser's configuration must name it.
const NAME_TEMPLATE: &str =
    r#"archives.name_template: "{{ .ProjectName }}_{{ .Version }}_{{ .Os }}_{{ .Arch }}""#;

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
    /// The reasons that the directory is not one with exactly one release.
    pub(crate) fn find(directory: &Path) -> Result<Self, Vec<String>> {
        let names = names(directory).map_err(|error| {
            vec![format!(
                "{}: {error}. Specify the directory that GoReleaser wrote",
                directory.display()
            )]
        })?;
        let shasums_name = shasums_name(directory, &names).map_err(|reason| vec![reason])?;
        let (provider_type, version) = parse_stem(stem(shasums_name))?;
        let path = directory.join(shasums_name);
        let shasums = fs::read_to_string(&path)
            .map_err(|error| vec![format!("{}: {error}", path.display())])?;
        Ok(Self {
            directory: directory.to_owned(),
            provider_type,
            version,
            shasums,
            names,
        })
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
        let listed = Shasums::parse(&self.shasums).ok();
        if listed.and_then(|it| it.digest_of(name)) == Some(Sha256::of(&bytes)) {
            return Err(format!(
                "SHA256SUMS lists its own signature {name}, so it was changed after signing, as GoReleaser 2.15.0 and \
                 2.15.1 do: release with another version, or remove that line"
            ));
        }
        match String::from_utf8(bytes) {
            Ok(text) if text.trim_start().starts_with("-----BEGIN") => Ok(text),
            Ok(text) => Ok(STANDARD.encode(text)),
            Err(error) => Ok(STANDARD.encode(error.into_bytes())),
        }
    }

    /// Returns the zips of this release, and the errors in their names. A zip with another name is another file.
    pub(crate) fn packages(&self) -> (Vec<Package>, Vec<String>) {
        let shasums = Shasums::parse(&self.shasums).ok();
        let listed = shasums.iter().flat_map(Shasums::filenames);
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
                    path: self
                        .names
                        .get(filename)
                        .map(|name| self.directory.join(name)),
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
            let instead = self.instead_of_packages(&names);
            reasons.push(format!(
                "{place} contains no {prefix}<os>_<arch>.zip{instead}"
            ));
        }
        (packages, reasons)
    }

    /// Returns a remark about the file that its publisher probably meant as a package.
    fn instead_of_packages(&self, names: &BTreeSet<&str>) -> String {
        let is_packed = |name: &&&str| {
            let name = name.to_ascii_lowercase();
            name.contains(".tar.")
                || [".zip", ".tgz", ".gz"]
                    .iter()
                    .any(|end| name.ends_with(end))
        };
        let with_platform = |name: &&&str| {
            let words = name.to_ascii_lowercase();
            ["linux", "darwin", "windows", "mac"]
                .iter()
                .any(|os| words.contains(os))
        };
        let Some(name) = names.iter().filter(is_packed).find(with_platform) else {
            return String::new();
        };
        let remedy = match name.ends_with(".zip") {
            true => NAME_TEMPLATE,
            false => "archives.formats: [zip]",
        };
        format!("; but there is {name}: set {remedy} in .goreleaser.yml")
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
        let name = format!("{}{DOCUMENTATION_SUFFIX}", self.stem());
        let is_there = self.names.contains(&name);
        is_there.then(|| self.directory.join(name))
    }

    /// Returns `terraform-provider-<type>_<version>`.
    fn stem(&self) -> String {
        format!("{PROVIDER_PREFIX}{}_{}", self.provider_type, self.version)
    }
}

impl Package {
    /// Returns the description of the package for the admin API.
    pub(crate) fn body(&self, sha256: Sha256, size: u64, h1: Option<PackageHash>) -> PackageBody {
        PackageBody {
            os: self.platform.os().to_owned(),
            arch: self.platform.arch().to_owned(),
            filename: self.filename.clone(),
            sha256: sha256.to_string(),
            size,
            h1: h1.map(|h1| h1.to_string()),
        }
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

fn shasums_name<'n>(directory: &Path, names: &'n BTreeSet<String>) -> Result<&'n str, String> {
    let place = directory.display();
    let is_one =
        |name: &&String| name.starts_with(PROVIDER_PREFIX) && name.ends_with(SHASUMS_SUFFIX);
    let found: Vec<&String> = names.iter().filter(is_one).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => {
            let other = names.iter().find(|name| {
                let name = name.to_ascii_lowercase().replace(['-', '_'], "");
                let is_sums = ["sha256", "shasum", "checksum"]
                    .iter()
                    .any(|it| name.contains(it));
                is_sums && !name.ends_with(".sig") && !name.ends_with(".asc")
            });
            let but = other.map_or_else(String::new, |name| {
                format!("; but there is {name}: set checksum.name_template in .goreleaser.yml")
            });
            Err(format!(
                "{place} contains no {PROVIDER_PREFIX}<type>_<version>{SHASUMS_SUFFIX}{but}"
            ))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
            Err(format!(
                "{place} contains several releases: {}. Publish each from its own directory, or build with \
                 goreleaser release --clean",
                names.join(", ")
            ))
        }
    }
}

fn stem(shasums_name: &str) -> &str {
    shasums_name
        .strip_suffix(SHASUMS_SUFFIX)
        .unwrap_or(shasums_name)
}

/// Parses the stem of a file name. A type contains no `_`.
fn parse_stem(stem: &str) -> Result<(ProviderType, Version), Vec<String>> {
    let rest = stem.strip_prefix(PROVIDER_PREFIX).unwrap_or(stem);
    let (provider_type, version) = rest.split_once('_').unwrap_or((rest, ""));
    match (provider_type.parse(), version.parse()) {
        (Ok(provider_type), Ok(version)) => {
            let parsed = (provider_type, version);
            if format!("{PROVIDER_PREFIX}{}_{}", parsed.0, parsed.1) == stem {
                Ok(parsed)
            } else {
                Err(vec![format!(
                    "{stem}{SHASUMS_SUFFIX}: write the type in lower case"
                )])
            }
        }
        (provider_type, version) => {
            let name = |reason: String| format!("{stem}{SHASUMS_SUFFIX}: {reason}");
            if let Some((joined, version)) = rest.rsplit_once('_')
                && joined.contains('_')
                && version.parse::<Version>().is_ok()
            {
                let dashed = joined.replace('_', "-");
                return Err(vec![name(format!(
                    "the type {joined:?} contains \"_\", which ends the type in file names: write {dashed}"
                ))]);
            }
            let mut reasons = Vec::new();
            reasons.extend(provider_type.err().map(|error| name(error.to_string())));
            reasons.extend(version.err().map(|error| name(error.to_string())));
            Err(reasons)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_version_are_read_from_the_name() {
        let (provider_type, version) =
            parse_stem("terraform-provider-my-cloud_1.2.3-rc.1+b").unwrap();
        assert_eq!(provider_type.as_str(), "my-cloud");
        assert_eq!(version.to_string(), "1.2.3-rc.1+b");
    }

    #[test]
    fn a_name_with_two_errors_is_reported_with_both() {
        let reasons = parse_stem("terraform-provider--x_v1.0").unwrap_err();
        assert_eq!(reasons.len(), 2, "{reasons:?}");
        assert_eq!(
            parse_stem("terraform-provider-X_1.0.0").unwrap_err().len(),
            1
        );
    }
}

//! GoReleaser's dist directory: which provider, which version, which files.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use terrace_core::digest::Sha256;
use terrace_core::name::ProviderType;
use terrace_core::platform::Platform;
use terrace_core::protocol_version::ProtocolVersion;
use terrace_core::shasums::Shasums;
use terrace_core::version::Version;

use crate::error::Failure;

const SHASUMS_SUFFIX: &str = "_SHA256SUMS";

/// What a dist directory says it is.
#[derive(Debug)]
pub(crate) struct Dist {
    pub(crate) provider_type: ProviderType,
    pub(crate) version: Version,
    /// The exact text that is signed.
    pub(crate) shasums: String,
    /// The signature as the admin API wants it.
    pub(crate) signature: String,
    pub(crate) protocols: Vec<String>,
    /// Whether the protocols are a guess, because there is no manifest.
    pub(crate) protocols_guessed: bool,
    pub(crate) packages: Vec<Package>,
}

/// One zip.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) platform: Platform,
    pub(crate) filename: String,
    pub(crate) path: PathBuf,
    /// What SHA256SUMS promises.
    pub(crate) promised: Sha256,
}

#[derive(Deserialize)]
struct Manifest {
    metadata: ManifestMetadata,
}

#[derive(Deserialize)]
struct ManifestMetadata {
    protocol_versions: Vec<String>,
}

impl Dist {
    /// Reads a dist directory.
    ///
    /// # Errors
    /// Everything about it that cannot be published and shows without looking into the zips.
    pub(crate) fn read(directory: &Path) -> Result<Self, Failure> {
        let shasums_path = find_shasums(directory)?;
        let stem = file_name(&shasums_path)
            .trim_end_matches(SHASUMS_SUFFIX)
            .to_owned();
        let (provider_type, version) = parse_stem(&stem)?;
        let text = read_text(&shasums_path)?;
        let shasums = Shasums::parse(&text)
            .map_err(|errors| Failure::Refused(errors.iter().map(ToString::to_string).collect()))?;
        let manifest = read_manifest(directory, &stem, &shasums)?;
        Ok(Self {
            signature: read_signature(&shasums_path)?,
            packages: packages(directory, &stem, &shasums)?,
            protocols_guessed: manifest.is_none(),
            protocols: manifest.unwrap_or_else(|| vec![ProtocolVersion::DEFAULT.to_string()]),
            provider_type,
            version,
            shasums: text,
        })
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn read_text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::file(path, &error))
}

fn find_shasums(directory: &Path) -> Result<PathBuf, Failure> {
    let entries = fs::read_dir(directory).map_err(|error| Failure::file(directory, &error))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| file_name(path).ends_with(SHASUMS_SUFFIX))
        .collect();
    found.sort();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Failure::refused(format!(
            "{} has no terraform-provider-<type>_<version>_SHA256SUMS: is it GoReleaser's dist?",
            directory.display()
        ))),
        several => {
            let names: Vec<String> = several.iter().map(|path| file_name(path)).collect();
            Err(Failure::refused(format!(
                "{} holds several releases ({}): clean it, or give each its own directory",
                directory.display(),
                names.join(", ")
            )))
        }
    }
}

fn parse_stem(stem: &str) -> Result<(ProviderType, Version), Failure> {
    let parts = stem
        .strip_prefix("terraform-provider-")
        .and_then(|rest| rest.rsplit_once('_'));
    let (provider_type, version) = parts.ok_or_else(|| {
        Failure::refused(format!(
            "{stem}{SHASUMS_SUFFIX} is not named terraform-provider-<type>_<version>_SHA256SUMS"
        ))
    })?;
    let refused = |error: &dyn ToString| Failure::refused(error.to_string());
    Ok((
        provider_type.parse().map_err(|error| refused(&error))?,
        version.parse().map_err(|error| refused(&error))?,
    ))
}

/// The signature beside SHA256SUMS: `.sig` as GoReleaser names it, or `.asc`.
fn read_signature(shasums: &Path) -> Result<String, Failure> {
    for extension in ["sig", "asc"] {
        let mut path = shasums.as_os_str().to_owned();
        path.push(format!(".{extension}"));
        let path = PathBuf::from(path);
        match fs::read(&path) {
            Ok(bytes) => return Ok(STANDARD.encode(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::file(&path, &error)),
        }
    }
    let name = file_name(shasums);
    Err(Failure::refused(format!(
        "{name}.sig is missing: sign with \"gpg --detach-sign {name}\", or let GoReleaser do it"
    )))
}

fn packages(directory: &Path, stem: &str, shasums: &Shasums) -> Result<Vec<Package>, Failure> {
    let mut packages = Vec::new();
    let mut reasons = Vec::new();
    for filename in shasums.filenames().filter(|name| name.ends_with(".zip")) {
        let platform = filename
            .strip_prefix(stem)
            .and_then(|rest| rest.strip_prefix('_'))
            .and_then(|rest| rest.strip_suffix(".zip"))
            .and_then(|text| text.parse::<Platform>().ok());
        let path = directory.join(filename);
        match (platform, shasums.digest_of(filename)) {
            (Some(platform), Some(promised)) if path.is_file() => {
                packages.push(Package {
                    platform,
                    filename: filename.to_owned(),
                    path,
                    promised,
                });
            }
            (Some(_), _) => reasons.push(format!(
                "SHA256SUMS lists {filename}, which is not in {}",
                directory.display()
            )),
            (None, _) => reasons.push(format!(
                "SHA256SUMS lists {filename}, which is not named {stem}_<os>_<arch>.zip"
            )),
        }
    }
    if packages.is_empty() && reasons.is_empty() {
        reasons.push("SHA256SUMS lists no zip".to_owned());
    }
    if reasons.is_empty() {
        Ok(packages)
    } else {
        Err(Failure::Refused(reasons))
    }
}

/// The plugin protocols from the manifest: in dist, or where GoReleaser took it from.
fn read_manifest(
    directory: &Path,
    stem: &str,
    shasums: &Shasums,
) -> Result<Option<Vec<String>>, Failure> {
    let name = format!("{stem}_manifest.json");
    let places = [
        directory.join(&name),
        directory
            .join("..")
            .join("terraform-registry-manifest.json"),
    ];
    if let Some(path) = places.iter().find(|path| path.is_file()) {
        let bytes = fs::read(path).map_err(|error| Failure::file(path, &error))?;
        if shasums
            .digest_of(&name)
            .is_some_and(|promised| promised != Sha256::of(&bytes))
        {
            return Err(Failure::refused(format!(
                "{} is not the {name} that SHA256SUMS lists: its sha256 differs",
                path.display()
            )));
        }
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|error| Failure::refused(format!("{}: {error}", path.display())))?;
        return Ok(Some(manifest.metadata.protocol_versions));
    }
    if shasums.digest_of(&name).is_some() {
        return Err(Failure::refused(format!(
            "SHA256SUMS lists {name}, which is not in {}",
            directory.display()
        )));
    }
    Ok(None)
}

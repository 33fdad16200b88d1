//! Publishing a provider version.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{ExpectedArchive, ExpectedContents, PublishStep, Reasons, signed_documents};
use crate::api::admin::{PackageBody, ProviderBody};
use crate::limits;
use crate::model::address::ProviderAddress;
use crate::model::commit::CommitId;
use crate::model::package::manifest_filename;
use crate::model::package_hash::PackageHash;
use crate::model::platform::Platform;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::provenance::Provenance;
use crate::model::shasums::{FILE_NAME_RULE, Shasums, is_file_name};
use crate::model::source::SourceDocument;
use crate::model::source_url::SourceUrl;
use crate::model::status::KeyStatus;
use crate::model::version::Version;
use crate::storage::release::{
    PackageDocument, ProviderContents, ProviderRelease, SigningKeyDocument, same_file_names,
};
use terrace_base::digest::Sha256;
use terrace_base::sort;
use terrace_base::time::UnixTime;
use terrace_openpgp as openpgp;
use terrace_openpgp::{KeyId, SigningKey};

/// A provider version to publish.
#[derive(Debug, Clone)]
pub struct ProviderPublication {
    /// The provider's address.
    pub address: ProviderAddress,
    /// The version of the provider.
    pub version: Version,
    protocols: Vec<ProtocolVersion>,
    shasums: Shasums,
    signature: Vec<u8>,
    packages: Vec<PackageDocument>,
    source: Option<SourceDocument>,
    provenance: Option<Provenance>,
    manifest_missing: bool,
}

impl ProviderPublication {
    /// Parses a request.
    ///
    /// # Errors
    /// All errors that can be found without storage or keys.
    pub fn parse(
        address: ProviderAddress,
        version: Version,
        body: &ProviderBody,
    ) -> Result<Self, Vec<String>> {
        let mut reasons = Reasons::default();
        let protocols = reasons.take_all(parse_protocols(&body.protocols));
        let shasums = reasons.take_all(Shasums::parse(&body.shasums));
        let signature = reasons.take(parse_signature(&body.signature));
        let packages = reasons.take_all(parse_packages(&body.packages));
        let source = parse_source(body.source.as_deref(), body.commit.as_deref());
        let source = reasons.take_all(source);
        if let (Some(shasums), Some(packages)) = (&shasums, &packages) {
            reasons.extend(disagreements(shasums, packages, (&address, &version)));
        }
        let platforms = packages.iter().flatten().map(|package| &package.platform);
        let unknown = platforms.filter_map(|platform| platform.known().err());
        reasons.extend(unknown);
        if let Some(shasums) = shasums.as_ref().filter(|_| body.manifest_missing) {
            reasons.extend(unlisted_manifest(shasums, &address, &version));
        }
        match (protocols, shasums, signature, packages, source) {
            (Some(protocols), Some(shasums), Some(signature), Some(packages), Some(source))
                if reasons.is_empty() =>
            {
                Ok(Self {
                    address,
                    version,
                    protocols,
                    shasums,
                    signature,
                    packages,
                    source,
                    provenance: None,
                    manifest_missing: body.manifest_missing,
                })
            }
            _ => Err(reasons.0),
        }
    }

    /// Returns the publication as that of a job.
    pub(super) fn by_job(self, job: Provenance) -> Self {
        Self {
            source: self.source.map(|source| source.verified_by(&job)),
            provenance: Some(job),
            ..self
        }
    }

    pub(super) fn archives(&self) -> Vec<ExpectedArchive> {
        expected_archives(&self.address, &self.packages)
    }

    pub(super) fn contents(&self) -> ProviderContents {
        ProviderContents {
            protocols: self.protocols.clone(),
            shasums: self.shasums.digest(),
            signature: Sha256::of(&self.signature),
            packages: self.packages.clone(),
            source: self.source.clone(),
            provenance: self.provenance.clone(),
            manifest_missing: self.manifest_missing,
        }
    }

    /// Returns the release and warnings, if clients accept its signature.
    pub(super) fn release(
        &self,
        keys: &[SigningKey],
        key_statuses: &BTreeMap<KeyId, KeyStatus>,
        now: UnixTime,
    ) -> Result<(ProviderRelease, Vec<String>), String> {
        if keys.is_empty() {
            let namespace = &self.address.namespace;
            return Err(format!(
                "namespace {namespace} has no signing keys: add one with \
                 \"terrace key add {namespace} FILE\" or PUT /admin/v1/namespaces/{namespace}/keys"
            ));
        }
        let signed = self.shasums.as_str().as_bytes();
        let verified = openpgp::verify_detached(keys, signed, &self.signature, now.0)
            .map_err(|error| format!("signature of SHA256SUMS: {error}"))?;
        let key = SigningKeyDocument::from(verified.key);
        if let Some(KeyStatus { state, reason, .. }) = key_statuses.get(&key.key_id) {
            let (namespace, key_id) = (&self.address.namespace, key.key_id);
            return Err(format!(
                "the signing key {key_id} is {state} for namespace {namespace}: {reason}"
            ));
        }
        let (address, version) = (self.address.clone(), self.version.clone());
        let release = ProviderRelease::new(address, version, self.contents(), key, now);
        Ok((release, verified.warnings))
    }

    /// Returns the steps that store SHA256SUMS and its signature.
    pub(super) fn documents(&self) -> Vec<PublishStep> {
        signed_documents(&self.shasums, &self.signature)
    }
}

impl From<&SigningKey> for SigningKeyDocument {
    fn from(key: &SigningKey) -> Self {
        Self {
            key_id: key.key_id(),
            fingerprint: key.fingerprint().to_owned(),
            ascii_armor: key.ascii_armor().to_owned(),
        }
    }
}

pub(super) fn expected_archives(
    address: &ProviderAddress,
    packages: &[PackageDocument],
) -> Vec<ExpectedArchive> {
    packages
        .iter()
        .map(|package| ExpectedArchive {
            key: package.archive_key(),
            size: package.size,
            filename: package.filename.clone(),
            contents: ExpectedContents::Provider(
                address.provider_type.clone(),
                package.platform.clone(),
            ),
        })
        .collect()
}

/// Parses the URL of the repository that a release was built from, and the commit.
pub(super) fn parse_source(
    url: Option<&str>,
    commit: Option<&str>,
) -> Result<Option<SourceDocument>, Vec<String>> {
    let mut reasons = Reasons::default();
    let url = reasons.take(url.map(str::parse::<SourceUrl>).transpose());
    let commit = reasons.take(commit.map(str::parse::<CommitId>).transpose());
    match (url, commit) {
        (Some(Some(url)), Some(commit)) => Ok(Some(SourceDocument::claimed(url, commit))),
        (Some(None), Some(Some(commit))) => Err(vec![format!(
            "the commit {commit} is given without its repository: add source, the URL of the repository"
        )]),
        (Some(None), Some(None)) => Ok(None),
        _ => Err(reasons.0),
    }
}

fn parse_protocols(texts: &[String]) -> Result<Vec<ProtocolVersion>, Vec<String>> {
    let protocols = parse_protocol_list(texts)?;
    if !protocols.iter().any(|p| p.is_supported_by_clients()) {
        return Err(vec!["none of the protocols is at least 5.0 and below 7.0, the range that terraform and tofu support".to_owned()]);
    }
    Ok(protocols)
}

/// Parses protocols, in ascending order and without duplicates.
pub(super) fn parse_protocol_list(texts: &[String]) -> Result<Vec<ProtocolVersion>, Vec<String>> {
    let (limit, given) = (limits::PROTOCOLS, texts.len());
    if given > limit {
        return Err(vec![format!(
            "protocols may list at most {limit} plugin protocol versions; {given} are given"
        )]);
    }
    let mut reasons = Reasons::default();
    let parsed = texts.iter().map(|text| text.parse::<ProtocolVersion>());
    let mut protocols: Vec<_> = parsed.filter_map(|it| reasons.take(it)).collect();
    sort::sort(&mut protocols);
    protocols.dedup();
    reasons.none_or(protocols)
}

pub(super) fn parse_signature(text: &str) -> Result<Vec<u8>, String> {
    let bytes = if text.trim_start().starts_with("-----BEGIN") {
        text.as_bytes().to_vec()
    } else {
        STANDARD
            .decode(text.trim())
            .map_err(|_| "signature is neither base64 nor ASCII armour".to_owned())?
    };
    openpgp::detached_signature(&bytes).map_err(|error| format!("signature: {error}"))
}

/// Parses the packages, in the order of their platforms.
pub(super) fn parse_packages(bodies: &[PackageBody]) -> Result<Vec<PackageDocument>, Vec<String>> {
    check_number(bodies.len())?;
    let mut reasons = Reasons::default();
    let parsed = bodies.iter().map(parse_package);
    let packages = parsed.filter_map(|it| reasons.take_all(it)).collect();
    let packages = distinct(packages, &mut reasons);
    reasons.none_or(packages)
}

/// Checks packages that are not from a body, as [`parse_packages`] does.
pub(super) fn check_packages(
    packages: Vec<PackageDocument>,
) -> Result<Vec<PackageDocument>, Vec<String>> {
    check_number(packages.len())?;
    let mut reasons = Reasons::default();
    for it in &packages {
        reasons.extend(size_reason(&it.filename, it.size));
    }
    let packages = distinct(packages, &mut reasons);
    reasons.none_or(packages)
}

fn check_number(packages: usize) -> Result<(), Vec<String>> {
    let limit = limits::PLATFORMS;
    if (1..=limit).contains(&packages) {
        return Ok(());
    }
    Err(vec![format!(
        "packages must list 1 to {limit} platforms; {packages} are given"
    )])
}

/// Sorts the packages by platform. No two may have the same platform or the same digest.
fn distinct(packages: Vec<PackageDocument>, reasons: &mut Reasons) -> Vec<PackageDocument> {
    let mut by_platform = BTreeMap::new();
    let mut digests = BTreeSet::new();
    reasons.extend(same_file_names(&packages));
    for package in packages {
        if !digests.insert(package.sha256) {
            reasons.extend([format!(
                "{} has the same sha256 as another platform's package, which crashes OpenTofu",
                package.filename
            )]);
        }
        if let Some(twice) = by_platform.insert(package.platform.clone(), package) {
            reasons.extend([format!("platform {} is listed twice", twice.platform)]);
        }
    }
    by_platform.into_values().collect()
}

fn parse_package(body: &PackageBody) -> Result<PackageDocument, Vec<String>> {
    let mut reasons = Reasons::default();
    let filename = short(&body.filename);
    let named = |reason: &dyn ToString| format!("{filename}: {}", reason.to_string());
    let platform = Platform::new(&body.os, &body.arch);
    let platform = reasons.take(platform.map_err(|error| named(&error)));
    let sha256 = body.sha256.parse::<Sha256>();
    let sha256 = reasons.take(sha256.map_err(|error| named(&error)));
    let h1 = body.h1.as_deref().map(parse_h1).transpose();
    let h1 = reasons.take(h1.map_err(|error| named(&error)));
    reasons.extend(size_reason(&body.filename, body.size));
    if !is_file_name(&body.filename) {
        reasons.extend([format!("the file name is \"{filename}\"; {FILE_NAME_RULE}")]);
    }
    match (platform, sha256, h1) {
        (Some(platform), Some(sha256), Some(h1)) if reasons.is_empty() => Ok(PackageDocument {
            platform,
            filename: body.filename.clone(),
            sha256,
            size: body.size,
            h1,
            shasums: None,
        }),
        _ => Err(reasons.0),
    }
}

fn parse_h1(text: &str) -> Result<PackageHash, String> {
    match text.parse() {
        Ok(hash @ PackageHash::H1(_)) => Ok(hash),
        Ok(PackageHash::Zh(_)) => Err(format!(
            "h1 is {text:?}, a zh: hash; it must be an h1: hash"
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the reason to reject the size of an archive, if there is one.
pub(super) fn size_reason(filename: &str, size: u64) -> Option<String> {
    let limit = limits::ARCHIVE_BYTES;
    (size == 0 || size > limit).then(|| {
        format!(
            "{}: the size is {size} bytes, but must be from 1 to {limit}",
            short(filename)
        )
    })
}

fn short(text: &str) -> String {
    let text: String = text.chars().take(limits::FILENAME_BYTES).collect();
    text.escape_debug().to_string()
}

/// Returns the contradictions between SHA256SUMS and the packages (clients.md 2.3.1). A zip without the name of a package
/// is another file.
fn disagreements(
    shasums: &Shasums,
    packages: &[PackageDocument],
    (address, version): (&ProviderAddress, &Version),
) -> Vec<String> {
    let mut reasons = disagreements_of(shasums, packages);
    let known = sort::set(packages.iter().map(|p| p.filename.as_str()));
    let prefix = format!("terraform-provider-{}_{version}_", address.provider_type);
    let is_package = |name: &&str| {
        let platform = name
            .strip_prefix(&prefix)
            .and_then(|rest| rest.strip_suffix(".zip"));
        platform
            .and_then(Platform::named)
            .is_some_and(|it| it.is_ok())
    };
    for extra in shasums.filenames().filter(is_package) {
        if !known.contains(extra) {
            reasons.push(format!(
                "SHA256SUMS lists {extra}, which is not among the packages"
            ));
        }
    }
    reasons
}

/// Returns the reason that no manifest can be missing, if SHA256SUMS lists none.
fn unlisted_manifest(
    shasums: &Shasums,
    address: &ProviderAddress,
    version: &Version,
) -> Option<String> {
    let name = manifest_filename(address, version);
    shasums.digest_of(&name).is_none().then(|| {
        format!("manifest_missing is true, but SHA256SUMS does not list {name}: leave it out")
    })
}

/// Returns the contradictions between these packages and SHA256SUMS, which may list other files too.
pub(super) fn disagreements_of(shasums: &Shasums, packages: &[PackageDocument]) -> Vec<String> {
    let mut reasons = Vec::new();
    for PackageDocument {
        filename, sha256, ..
    } in packages
    {
        match shasums.digest_of(filename) {
            None => reasons.push(format!("SHA256SUMS does not list {filename}")),
            Some(listed) if listed != *sha256 => reasons.push(format!(
                "{filename}: SHA256SUMS lists the sha256 {listed}, but the package has {sha256}"
            )),
            Some(_) => {}
        }
    }
    reasons
}

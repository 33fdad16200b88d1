//! `terrace publish provider`.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::json;
use terrace_core::api::admin::{PackageBody, ProviderBody};
use terrace_core::model::address::ProviderAddress;
use terrace_core::model::name::Namespace;
use terrace_core::model::package::Package;
use terrace_core::model::platform::Platform;
use terrace_core::model::shasums::Shasums;
use terrace_core::publish::ProviderPublication;
use terrace_openpgp::{SigningKey, TooOld};

use super::documentation::ReleaseDocumentation;
use crate::archive::{Archive, read_file};
use crate::commands::connection::{Session, registry_url};
use crate::commands::documentation::{Extracted, of_provider, read_schema};
use crate::commands::publish::SourceArguments;
use crate::commands::publish::documentation::DocumentationArguments;
use crate::error::Failure;
use crate::output::{Output, plural};
use crate::registry::client::Client;
use crate::registry::publish::{Kind, PublishRequest};
use crate::source::dist::{self, Dist, Protocols};
use crate::source::documentation::{
    DocumentationFiles, has_documentation, provider_files, zip_files,
};
use crate::source::repository::ReleaseSource;
use crate::{clock, parallel};
use terrace_openpgp as openpgp;

#[derive(Debug, Args)]
pub(crate) struct ProviderArguments {
    /// The directory with the zips, SHA256SUMS and its signature
    #[arg(default_value = "dist")]
    pub(crate) dir: PathBuf,

    /// The namespace to publish in
    #[arg(long)]
    pub(crate) namespace: Namespace,

    /// Publish the package of this platform, such as darwin_arm64, although its executable is for another one: where the
    /// system emulates it. May be given several times
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) allow_platform: Vec<Platform>,

    #[command(flatten)]
    pub(crate) source: SourceArguments,

    #[command(flatten)]
    pub(crate) documentation: DocumentationArguments,

    /// The output of "terraform providers schema -json" with this provider: for its resources and functions in
    /// searches, and for those that no page describes
    #[arg(long, value_name = "FILE", conflicts_with = "no_docs")]
    pub(crate) schema: Option<PathBuf>,

    /// Check everything that can be checked locally, show the request, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Publishes the provider in a dist directory.
pub(crate) fn publish(arguments: &ProviderArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    // A missing URL or token is reported before the work of checking.
    let client = match arguments.dry_run {
        true => None,
        false => Some(session.connect()?),
    };
    let dist = Dist::find(&arguments.dir).map_err(Failure::Refused)?;
    let address = ProviderAddress {
        namespace: arguments.namespace.clone(),
        provider_type: dist.provider_type.clone(),
    };
    let source = arguments.source.find(&arguments.dir, output)?;
    let (request, body) = prepare(&dist, &address, source, &arguments.allow_platform, output)?;
    let too_old = signature_bytes(&body.signature).ok();
    let too_old = too_old.and_then(|bytes| openpgp::detached_signature(&bytes).ok());
    let too_old = too_old.and_then(|signature| TooOld::for_signature(&signature));
    if let Some(too_old) = &too_old {
        output.warning(&format!("the signature of SHA256SUMS: {too_old}"));
    }
    let documentation = documentation(arguments, (&dist, &address), output)?;
    let Some(client) = client else {
        output.progress("the signature is not checked against the namespace's keys in a dry run");
        let url = registry_url(session.registry)?;
        request.show_dry_run(documentation.dry_run(), url.as_ref(), output);
        return Ok(());
    };
    documentation.publish(&request, &client, output, || {
        let key = check_signature(&client, &address, &body, output)?;
        if let (None, Some(too_old)) = (&too_old, key.too_old()) {
            output.warning(&format!("key {}: {too_old}", key.key_id()));
        }
        Ok(())
    })
}

/// Extracts the documentation from the directory that the arguments name, or from the places beside the release.
fn documentation(
    arguments: &ProviderArguments,
    (dist, address): (&Dist, &ProviderAddress),
    output: &Output,
) -> Result<ReleaseDocumentation, Failure> {
    let subject = (Package::Provider(address.clone()), dist.version.clone());
    ReleaseDocumentation::extract(&arguments.documentation, subject, output, || {
        let provider_type = address.provider_type.as_str();
        let files = match &arguments.documentation.docs {
            Some(directory) => provider_files(directory),
            None => found_files(dist),
        };
        let files = files.map_err(Failure::refused)?;
        let schema = arguments.schema.as_deref();
        let schema = schema.map(|path| read_schema(path, provider_type));
        let schema = match schema.transpose() {
            Ok(schema) => schema,
            Err(reason) if arguments.documentation.require_docs => {
                return Err(Failure::refused(reason));
            }
            Err(reason) => {
                output.warning(&format!("documentation without a schema: {reason}"));
                None
            }
        };
        let extracted = Extracted::new(of_provider(&files, provider_type, schema.as_ref()), &files);
        Ok(Some(extracted).filter(|extracted| !extracted.is_empty()))
    })
}

/// Reads the archive with documentation in the directory of a release, or else `docs` or `website/docs` beside the
/// directory.
fn found_files(dist: &Dist) -> Result<DocumentationFiles, String> {
    if let Some(path) = dist.documentation() {
        return zip_files(&read_file(&path, path.display().to_string())?);
    }
    let directory = std::fs::canonicalize(&dist.directory);
    match directory.as_ref().ok().and_then(|path| path.parent()) {
        Some(repository) if has_documentation(repository) => provider_files(repository),
        _ => Ok(DocumentationFiles::default()),
    }
}

/// Returns a release that passes the core's checks, and its description. The executables of the platforms `allowed` may be
/// those of others.
fn prepare(
    dist: &Dist,
    address: &ProviderAddress,
    source: ReleaseSource,
    allowed: &[Platform],
    output: &Output,
) -> Result<(PublishRequest, ProviderBody), Failure> {
    let (mut body, archives) = check(dist, address, allowed, output).map_err(Failure::Refused)?;
    body.source = source.url.map(|url| url.to_string());
    body.commit = source.commit.map(|commit| commit.to_string());
    let request = PublishRequest {
        kind: Kind::Provider,
        address: address.to_string(),
        version: dist.version.to_string(),
        body: json!(body),
        archives,
    };
    Ok((request, body))
}

/// Reads everything in the directory and checks it as the registry does. Fails with every reason at once.
fn check(
    dist: &Dist,
    address: &ProviderAddress,
    allowed: &[Platform],
    output: &Output,
) -> Result<(ProviderBody, Vec<Archive>), Vec<String>> {
    let (packages, mut reasons) = dist.packages();
    let (count, version) = (packages.len(), &dist.version);
    output.progress(&format!(
        "checking {} of {address} {version}",
        plural(count, "package")
    ));
    let shasums = Shasums::parse(&dist.shasums).ok();
    let checked = parallel::map(&packages, parallel::few_threads(), |package| {
        check_package(package, dist, shasums.as_ref(), allowed)
    });
    let mut bodies = Vec::new();
    let mut archives = Vec::new();
    for Checked {
        body,
        archive,
        reasons: found,
    } in checked
    {
        bodies.extend(body);
        archives.extend(archive);
        reasons.extend(found);
    }
    reasons.extend(dist.incomplete(&packages));
    let (body, found) = describe(dist, address, bodies, output);
    reasons.extend(found);
    if reasons.is_empty() {
        Ok((body, archives))
    } else {
        Err(reasons)
    }
}

/// Returns the description of the release, and the errors in it.
fn describe(
    dist: &Dist,
    address: &ProviderAddress,
    packages: Vec<PackageBody>,
    output: &Output,
) -> (ProviderBody, Vec<String>) {
    let mut reasons = Vec::new();
    let protocols = dist.protocols().unwrap_or_else(|reason| {
        reasons.push(reason);
        Protocols::default()
    });
    if let Some(cause) = protocols.assumed.filter(|_| reasons.is_empty()) {
        output.warning(&format!(
            "{cause}, so plugin protocol 5.0 is assumed; if the provider uses another version, name it in \
             terraform-registry-manifest.json",
        ));
    }
    let signature = dist.signature();
    let has_packages = !packages.is_empty();
    let body = ProviderBody {
        protocols: protocols.versions,
        shasums: dist.shasums.clone(),
        signature: signature.clone().unwrap_or_default(),
        packages,
        source: None,
        commit: None,
        manifest_missing: false,
    };
    let (address, version) = (address.clone(), dist.version.clone());
    let found = ProviderPublication::parse(address, version, &body).err();
    // If the signature or all packages are missing, that is already reported; the core's error would repeat it.
    let is_news = |reason: &String| {
        (signature.is_ok() || !reason.starts_with("signature"))
            && (has_packages || !reason.starts_with("packages must"))
    };
    reasons.extend(found.into_iter().flatten().filter(is_news));
    reasons.extend(signature.err());
    (body, reasons)
}

/// The description of one zip, and the errors in it.
#[derive(Default)]
struct Checked {
    body: Option<PackageBody>,
    archive: Option<Archive>,
    reasons: Vec<String>,
}

fn check_package(
    package: &dist::Package,
    dist: &Dist,
    shasums: Option<&Shasums>,
    allowed: &[Platform],
) -> Checked {
    let filename = &package.filename;
    let read = match &package.path {
        Some(path) => read_file(path, filename.clone()),
        None => Err(format!(
            "SHA256SUMS lists {filename}, but it is not in {}",
            dist.directory.display()
        )),
    };
    match read {
        Ok(archive) => check_contents(archive, package, dist, allowed),
        Err(reason) => {
            // A reason is already reported for this package; the rest of its description only has to be
            // valid.
            let promised = shasums.and_then(|shasums| shasums.digest_of(filename));
            Checked {
                body: promised.map(|promised| package.body(promised, 1, None)),
                reasons: vec![reason],
                ..Checked::default()
            }
        }
    }
}

fn check_contents(
    archive: Archive,
    package: &dist::Package,
    dist: &Dist,
    allowed: &[Platform],
) -> Checked {
    let platform = &package.platform;
    let mut inspected = archive.inspect_provider(&dist.provider_type, platform);
    // A mirror only warns of these, but this publisher can still correct them.
    inspected.reasons.append(&mut inspected.remarks);
    if let Some(foreign) = inspected.foreign {
        match allowed.contains(platform) {
            true => inspected.reasons.retain(|reason| *reason != foreign),
            false => inspected.reasons.push(format!(
                "if the system starts such a program nevertheless, confirm it with --allow-platform {platform}"
            )),
        }
    }
    Checked {
        body: Some(package.body(archive.sha256, archive.size, inspected.h1)),
        archive: Some(archive),
        reasons: inspected.reasons,
    }
}

/// Checks the signature against the namespace's keys, as clients will, before the archives are sent. Returns
/// the key that made it.
fn check_signature(
    client: &Client<'_>,
    address: &ProviderAddress,
    body: &ProviderBody,
    output: &Output,
) -> Result<SigningKey, Failure> {
    let namespace = &address.namespace;
    let keys = client.signing_keys(namespace)?;
    if keys.is_empty() {
        return Err(Failure::refused(format!(
            "namespace {namespace} has no signing keys: add yours with {}",
            output.command(format_args!("key add {namespace} FILE"))
        )));
    }
    let refused = |reason: &dyn ToString| {
        Failure::refused(format!("signature of SHA256SUMS: {}", reason.to_string()))
    };
    let bytes = signature_bytes(&body.signature).map_err(|error| refused(&error))?;
    let signature = openpgp::detached_signature(&bytes).map_err(|error| refused(&error))?;
    let signed = body.shasums.as_bytes();
    let verified = openpgp::verify_detached(&keys, signed, &signature, clock::now().0)
        .map_err(|error| refused(&error))?;
    let key = verified.key.key_id();
    output.progress(&format!("the signature is by key {key} of {namespace}"));
    Ok(verified.key.clone())
}

/// Returns the bytes of the signature file.
fn signature_bytes(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    if text.trim_start().starts_with("-----BEGIN") {
        Ok(text.as_bytes().to_vec())
    } else {
        STANDARD.decode(text)
    }
}

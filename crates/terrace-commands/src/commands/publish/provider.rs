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
use terrace_core::publish::ProviderPublication;
use terrace_openpgp as openpgp;

use super::documentation::ReleaseDocumentation;
use crate::archive::{Archive, read_file};
use crate::commands::connection::{Session, registry_url};
use crate::commands::documentation::{Extracted, of_provider};
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
use crate::{clock, parallel};

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
    let client = (!arguments.dry_run).then(|| session.connect());
    let client = client.transpose()?;
    let dist = Dist::find(&arguments.dir).map_err(Failure::refused)?;
    let address = ProviderAddress {
        namespace: arguments.namespace.clone(),
        provider_type: dist.provider_type.clone(),
    };
    let source = arguments.source.find(&arguments.dir, output)?;
    let checked = check(&dist, &address, &arguments.allow_platform, output);
    let (mut body, archives) = checked.map_err(Failure::Refused)?;
    body.source = source.url.map(|url| url.to_string());
    body.commit = source.commit.map(|commit| commit.to_string());
    let request = PublishRequest {
        kind: Kind::Provider,
        address: address.to_string(),
        version: dist.version.to_string(),
        body: json!(body),
        archives,
    };
    let signature = signature_of(&body).ok();
    if let Some(too_old) = signature.and_then(|it| openpgp::too_old_for_signature(&it)) {
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
        check_signature(&client, &address, &body, output)
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
        let draft = match of_provider(&files, provider_type, arguments.schema.as_deref()) {
            Err(failure) if !arguments.documentation.choice.require_docs => {
                let reasons = failure.reasons().join("; ");
                output.warning(&format!("documentation without a schema: {reasons}"));
                of_provider(&files, provider_type, None)?
            }
            draft => draft?,
        };
        Ok(Extracted::of(draft, &files))
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
    let read = parallel::map(&packages, parallel::few_threads(), |package| {
        check_package(package, dist, allowed)
    });
    let (mut bodies, mut archives) = (Vec::new(), Vec::new());
    for (read, found) in read {
        reasons.extend(found);
        if let Some((body, archive)) = read {
            bodies.push(body);
            archives.push(archive);
        }
    }
    reasons.extend(dist.incomplete(&packages));
    let (body, found) = describe(dist, address, bodies, packages.len(), output);
    reasons.extend(found);
    if reasons.is_empty() {
        Ok((body, archives))
    } else {
        Err(reasons)
    }
}

/// Returns the description of the release, and the errors in it. What is missing is reported already: the core would repeat it.
fn describe(
    dist: &Dist,
    address: &ProviderAddress,
    packages: Vec<PackageBody>,
    expected: usize,
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
    let is_whole = signature.is_ok() && expected > 0 && packages.len() == expected;
    let body = ProviderBody {
        protocols: protocols.versions,
        shasums: dist.shasums.clone(),
        signature: signature.clone().unwrap_or_default(),
        packages,
        source: None,
        commit: None,
        manifest_missing: false,
    };
    reasons.extend(signature.err());
    if is_whole {
        let (address, version) = (address.clone(), dist.version.clone());
        let found = ProviderPublication::parse(address, version, &body).err();
        reasons.extend(found.unwrap_or_default());
    }
    (body, reasons)
}

/// Returns the description of one zip, if it can be read, and the errors in it.
fn check_package(
    package: &dist::Package,
    dist: &Dist,
    allowed: &[Platform],
) -> (Option<(PackageBody, Archive)>, Vec<String>) {
    let (filename, platform) = (&package.filename, &package.platform);
    let read = match &package.path {
        Some(path) => read_file(path, filename.clone()),
        None => Err(format!(
            "SHA256SUMS lists {filename}, but it is not in {}",
            dist.directory.display()
        )),
    };
    let archive = match read {
        Ok(archive) => archive,
        Err(reason) => return (None, vec![reason]),
    };
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
    let body = archive.package_body(platform, inspected.h1);
    (Some((body, archive)), inspected.reasons)
}

/// Checks the signature against the namespace's keys, as clients will, before the archives are sent. Warns if older clients
/// cannot check it.
fn check_signature(
    client: &Client<'_>,
    address: &ProviderAddress,
    body: &ProviderBody,
    output: &Output,
) -> Result<(), Failure> {
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
    let signature = signature_of(body).map_err(|reason| refused(&reason))?;
    let signed = body.shasums.as_bytes();
    let verified = openpgp::verify_detached(&keys, signed, &signature, clock::now().0)
        .map_err(|error| refused(&error))?;
    let key = verified.key.key_id();
    output.progress(&format!("the signature is by key {key} of {namespace}"));
    if openpgp::too_old_for_signature(&signature).is_none()
        && let Some(too_old) = verified.key.too_old()
    {
        output.warning(&format!("key {key}: {too_old}"));
    }
    Ok(())
}

/// Returns the packet of the signature.
fn signature_of(body: &ProviderBody) -> Result<Vec<u8>, String> {
    let bytes = match body.signature.trim_start().starts_with("-----BEGIN") {
        true => body.signature.clone().into_bytes(),
        false => (STANDARD.decode(&body.signature)).map_err(|error| error.to_string())?,
    };
    openpgp::detached_signature(&bytes).map_err(|error| error.to_string())
}

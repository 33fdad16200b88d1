//! `terrace docs add`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use crate::args::PackageSpec;
use crate::commands::connection::Session;
use crate::commands::documentation::{Extracted, of_module, of_provider, provider_type};
use crate::commands::publish::module::files_of_module;
use crate::error::Failure;
use crate::registry::client::{Client, Condition};
use crate::source::documentation::provider_files;

#[derive(Debug, Args)]
pub(crate) struct DocsAddArguments {
    /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
    /// <hostname>/<namespace>/<type> for a mirrored provider. The hostname of the registry may precede it
    #[arg(value_parser = package_of_registry)]
    pub(crate) address: PackageSpec,
    /// The version, such as 1.2.3
    pub(crate) version: Version,
    /// The directory of the module, or the repository or the docs directory of the provider
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// The output of "terraform providers schema -json" with this provider
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// The licence of the documentation as an SPDX expression, such as MPL-2.0; required for a mirrored provider
    #[arg(long, value_name = "SPDX")]
    pub(crate) license: Option<String>,
    /// The page that the documentation was taken from; required for a mirrored provider
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Option<String>,
    /// Add the documentation although the version is not published; the registry keeps it for a day
    #[arg(long)]
    pub(crate) before_publish: bool,
}

/// Parses an address without a version, which is an argument of its own.
pub(super) fn package_of_registry(text: &str) -> Result<PackageSpec, String> {
    let spec: PackageSpec = text.parse()?;
    match &spec.version {
        Some(version) => Err(format!(
            "write the version after a space: {} {version}",
            spec.package.address()
        )),
        None => Ok(spec),
    }
}

/// Adds documentation to a version, or replaces it.
pub(super) fn run(arguments: &DocsAddArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let version = &arguments.version;
    // A missing URL or token is reported before the work of extraction.
    let client = session.connect()?;
    let address = &arguments.address.at(&client.host())?.package;
    let extracted = extract(arguments, address)?;
    extracted.warn(output);
    if extracted.is_empty() {
        let place = arguments.dir.display();
        return Err(Failure::refused(format!(
            "{place} contains no documentation: name the directory of the module, or that of the provider's pages"
        )));
    }
    let terms = (arguments.license.clone(), arguments.origin.clone());
    let request = extracted.request(address.clone(), version.clone(), terms)?;
    if !arguments.before_publish {
        ensure_published(address, version, &client)?;
    }
    let receipt = request.send(Condition::Always, &client, output)?;
    let address = address.address();
    let text = match receipt.status {
        "created" => format!("{address} {version} is documented"),
        "changed" => format!("the documentation of {address} {version} is replaced"),
        _ => format!("{address} {version} already has this documentation"),
    };
    let mut lines = vec![text, extracted.line()];
    if !receipt.is_published {
        lines.push(
            "the version is not published; the registry keeps its documentation for a day"
                .to_owned(),
        );
    }
    let report = json!({
        "status": receipt.status,
        "address": address,
        "version": version.to_string(),
        "url": client.url(),
        "sequence": receipt.sequence,
        "is_published": receipt.is_published,
        "documentation": extracted.document(),
    });
    output.result(&lines, &report);
    Ok(())
}

/// Checks that the version exists, before anything is uploaded for it.
///
/// # Errors
/// It does not, for example because it is mistyped.
fn ensure_published(
    package: &Package,
    version: &Version,
    client: &Client<'_>,
) -> Result<(), Failure> {
    if !client.lacks_version(package, version)? {
        return Ok(());
    }
    let address = package.address();
    Err(Failure::refused(format!(
        "there is no version {version} of {address}: publish it first, or check the version; --before-publish adds \
         documentation to a version that is about to be published"
    )))
}

fn extract(arguments: &DocsAddArguments, package: &Package) -> Result<Extracted, Failure> {
    let directory = &arguments.dir;
    let Some(provider_type) = provider_type(package) else {
        if arguments.schema.is_some() {
            return Err(Failure::Usage(
                "--schema is for providers: the documentation of a module comes from its own files"
                    .to_owned(),
            ));
        }
        let files = files_of_module(directory)?;
        return Ok(Extracted::new(of_module(&files), &files));
    };
    let files = provider_files(directory).map_err(Failure::refused)?;
    let draft = of_provider(&files, provider_type.as_str(), arguments.schema.as_deref())?;
    Ok(Extracted::new(draft, &files))
}

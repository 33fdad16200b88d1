//! `terrace show`.

mod module;
mod provider;
mod summary;

use std::str::FromStr;

use clap::Args;
use terrace_core::api::details::{DocumentationSummary, PackageDetails, VersionDetails};
use terrace_core::model::package::Package;
use terrace_core::model::version::{Version, VersionError};

use super::connection::connect_reader;
use super::list::{self, date};
use super::release::with_hint;
use crate::args::{PackageSpec, RegistryArguments};
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, shown};
use crate::registry::client::{Answer, Client};

/// Show a summary of a package, its versions, or everything about one version
///
/// With --json, the registry's own JSON is printed: that of the package, or of the version that is given.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: terrace show acme/vpc/aws\nExample: terrace show acme/vpc/aws 1.2.0 --inputs\nToken scope: read:<namespace> or read, if the registry requires a token for reads"
)]
pub(crate) struct ShowArguments {
    /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
    /// after <hostname>/ if it is mirrored; @<version> may follow
    pub(crate) address: PackageSpec,
    /// The version, or `latest`, of which everything is shown
    pub(crate) version: Option<VersionChoice>,
    /// Show all inputs of a module, of the newest version unless another is given
    #[arg(long)]
    pub(crate) inputs: bool,
    /// List all versions
    #[arg(long, conflicts_with_all = ["inputs", "version"])]
    pub(crate) versions: bool,
    /// List the modules whose newest documented version uses the package
    #[arg(long, conflicts_with_all = ["inputs", "version", "versions"])]
    pub(crate) used_by: bool,
}

/// A version, or the newest one that can be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VersionChoice {
    Latest,
    Exact(Version),
}

impl FromStr for VersionChoice {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        match text {
            "latest" => Ok(Self::Latest),
            text => text.parse().map(Self::Exact),
        }
    }
}

/// Executes the command.
pub(crate) fn run(
    arguments: &ShowArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let version = choice(arguments)?;
    let client = connect_reader(registry, output)?;
    let PackageSpec { package, .. } = &arguments.address.at(&client.host())?;
    if arguments.used_by {
        return list::used_by(&client, package, output);
    }
    let version = match version {
        Some(VersionChoice::Latest) => Some(newest(&client.package(package)?.value)?.clone()),
        Some(VersionChoice::Exact(version)) => Some(version),
        None => None,
    };
    let shown = match version {
        Some(version) if arguments.inputs => inputs(&client, package, &version, output),
        Some(version) => one_version(&client, package, &version, output),
        None => whole(&client, package, arguments, output),
    };
    shown.map_err(|failure| match failure {
        Failure::Missing(message) => Failure::Missing(with_hint(message, package)),
        failure => failure,
    })
}

/// Returns the version on the command line, which may have it in two places.
fn choice(arguments: &ShowArguments) -> Result<Option<VersionChoice>, Failure> {
    let in_address = arguments.address.version.clone().map(VersionChoice::Exact);
    match (in_address, arguments.version.clone()) {
        (Some(_), Some(_)) => {
            let message = "the version is given twice, after @ and as an argument: give it once";
            Err(Failure::Usage(message.to_owned()))
        }
        (Some(VersionChoice::Exact(version)), None) if arguments.used_by || arguments.versions => {
            Err(Failure::Usage(format!(
                "--used-by and --versions are about the package, not about one version: leave out @{version}"
            )))
        }
        (in_address, argument) => Ok(in_address.or(argument)),
    }
}

/// Shows a package: a summary, its versions, or the inputs of the newest.
fn whole(
    client: &Client<'_>,
    package: &Package,
    arguments: &ShowArguments,
    output: &Output,
) -> Result<(), Failure> {
    let Answer { value, text } = client.package(package)?;
    if arguments.inputs {
        return inputs(client, package, newest(&value)?, output);
    }
    let mut screen = Screen::new();
    match &value.latest {
        Some(latest) if !arguments.versions && !output.is_json() => {
            summary::add(client, package, &value, latest, &mut screen)?;
        }
        _ => versions(package, &value, &mut screen),
    }
    output.screen(screen, &text);
    Ok(())
}

/// Adds the versions of a package.
fn versions(package: &Package, value: &PackageDetails, screen: &mut Screen) {
    let sources = value.versions.iter().flat_map(|line| &line.source);
    let mut urls: Vec<&str> = sources.map(|source| source.url.as_str()).collect();
    urls.dedup();
    let only = if let [only] = urls[..] { only } else { "" };
    screen.title(&package.address());
    screen.fields(&[
        ("kind", kind(package, &value.package.address).to_owned()),
        ("latest", shown(value.latest.as_ref())),
        ("status", shown(value.status.as_ref())),
        ("source", only.to_owned()),
    ]);
    let mut table = Table::new([
        Column::whole("VERSION"),
        Column::whole("PUBLISHED"),
        Column::status("STATUS"),
        Column::left_out(1, "DOCUMENTATION"),
        Column::cut("REASON"),
        Column::cut("SOURCE"),
    ]);
    for line in &value.versions {
        let status = line.status.as_ref();
        let source = line.source.as_ref().filter(|_| only.is_empty());
        table.row([
            line.version.to_string(),
            shown(line.published_at.as_deref().map(date)),
            shown(status.map(|status| status.state)),
            shown(line.is_documented.then_some("yes")),
            shown(status.map(|status| &status.reason)),
            shown(source),
        ]);
    }
    screen.title("Versions");
    screen.table(&table);
}

/// Returns the newest version that can be installed.
fn newest(details: &PackageDetails) -> Result<&Version, Failure> {
    details.latest.as_ref().ok_or_else(|| {
        let address = &details.package.address;
        Failure::Missing(format!("{address} has no version that can be installed"))
    })
}

/// Shows the inputs of one version of a module.
fn inputs(
    client: &Client<'_>,
    package: &Package,
    version: &Version,
    output: &Output,
) -> Result<(), Failure> {
    let Answer { value, text } = client.version(package, version)?;
    let Some(module) = &value.module else {
        return Err(match package {
            Package::Module(_) => {
                let message = "this version has no documentation: add it with terrace docs add";
                Failure::Missing(message.to_owned())
            }
            _ => Failure::Usage("a provider has no inputs: leave out --inputs".to_owned()),
        });
    };
    let mut screen = Screen::new();
    screen.table(&module::inputs(&module.root));
    output.screen(screen, &text);
    Ok(())
}

/// Shows everything about one version.
fn one_version(
    client: &Client<'_>,
    package: &Package,
    version: &Version,
    output: &Output,
) -> Result<(), Failure> {
    let Answer { value, text } = client.version(package, version)?;
    let mut screen = Screen::new();
    screen.title(&format!("{} {version}", package.address()));
    screen.fields(&fields(package, &value));
    if let Some(module) = &value.module {
        module::add(module, &mut screen);
    }
    provider::add_platforms(&value.platforms, &mut screen);
    let documentation = value.documentation.as_ref();
    let is_provider = !matches!(package, Package::Module(_));
    if is_provider && documentation.is_some() && !output.is_json() {
        let documents = client.documents(package, version)?.value.documents;
        provider::add_documents(&documents, &mut screen);
    }
    let notes = documentation.map(|documentation| &documentation.notes);
    let notes = notes.into_iter().flatten();
    let errors = value.module.iter().flat_map(module::errors);
    let mut notes = notes.chain(errors).peekable();
    if notes.peek().is_some() {
        screen.title("Notes");
        notes.for_each(|note| screen.text(note));
    }
    output.screen(screen, &text);
    Ok(())
}

fn fields(package: &Package, details: &VersionDetails) -> Vec<(&'static str, String)> {
    let line = &details.version;
    let documentation = details.documentation.as_ref();
    let key = details.signing_key.as_ref();
    let module = details.module.as_ref();
    vec![
        ("kind", kind(package, &details.package.address).to_owned()),
        ("published", shown(line.published_at.as_deref().map(date))),
        ("status", shown(line.status.as_ref())),
        ("package status", shown(details.package_status.as_ref())),
        ("source", shown(line.source.as_ref())),
        ("published by", shown(details.provenance.as_ref())),
        ("protocols", joined(&details.protocols)),
        ("signing key", shown(key.map(|key| &key.fingerprint))),
        (
            "requires",
            shown(module.and_then(|it| module::required(&it.root))),
        ),
        (
            "documentation",
            documentation.map_or_else(|| "none".to_owned(), state),
        ),
        (
            "license",
            shown(documentation.and_then(|it| it.license.as_ref())),
        ),
        (
            "taken from",
            shown(documentation.and_then(|it| it.origin.as_ref())),
        ),
    ]
}

/// Describes the state of a documentation.
fn state(documentation: &DocumentationSummary) -> String {
    match documentation.changes {
        0 => "yes".to_owned(),
        _ => format!(
            "changed on {}, after it was added",
            date(&documentation.changed_at)
        ),
    }
}

fn joined(values: &[impl ToString]) -> String {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// Describes the kind of a package. Under another hostname of the registry, its own provider has an address without one.
fn kind(package: &Package, address: &str) -> &'static str {
    let has_hostname = address.split('/').count() > 2;
    match package {
        Package::Provider(_) => "provider",
        Package::Module(address) if address.hostname.is_some() => "mirrored module",
        Package::Module(_) => "module",
        Package::Mirrored(_) if has_hostname => "mirrored provider",
        Package::Mirrored(_) => "provider",
    }
}

//! `terrace show`.

mod module;
mod provider;
mod summary;

use clap::Args;
use terrace_core::api::details::{DocumentationSummary, PackageDetails, VersionDetails};
use terrace_core::model::package::Package;
use terrace_core::model::version::{RequestedVersion, Version, VersionError};

use super::connection::Session;
use super::list::{self, date};
use super::release::with_hint;
use crate::args::PackageSpec;
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
    #[arg(value_parser = version)]
    pub(crate) version: Option<RequestedVersion>,
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

fn version(text: &str) -> Result<RequestedVersion, VersionError> {
    match text {
        "latest" => Ok(RequestedVersion::Latest),
        text => text.parse().map(RequestedVersion::Exact),
    }
}

/// Executes the command.
pub(crate) fn run(arguments: &ShowArguments, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let version = choice(arguments)?;
    let client = session.connect_reader()?;
    let PackageSpec { package, .. } = &arguments.address.at(&client.host())?;
    if arguments.used_by {
        return list::used_by(&client, package, output);
    }
    let shown = match version {
        None if !arguments.inputs => whole(&client, package, arguments.versions, output),
        version => {
            let version = match version {
                Some(RequestedVersion::Exact(version)) => version,
                _ => newest(&client, package)?,
            };
            one_version(&client, package, &version, arguments.inputs, output)
        }
    };
    shown.map_err(|failure| with_hint(failure, package))
}

/// Returns the version on the command line, which may have it in two places.
fn choice(arguments: &ShowArguments) -> Result<Option<RequestedVersion>, Failure> {
    let in_address = arguments.address.version.clone();
    let is_of_package = arguments.used_by || arguments.versions;
    match (in_address, &arguments.version) {
        (Some(version), None) if !is_of_package => Ok(Some(RequestedVersion::Exact(version))),
        (Some(version), _) => Err(Failure::Usage(format!(
            "give the version once, and none with --used-by and --versions: leave out @{version}"
        ))),
        (None, argument) => Ok(argument.clone()),
    }
}

/// Shows a package: a summary, or its versions.
fn whole(
    client: &Client<'_>,
    package: &Package,
    all_versions: bool,
    output: &Output,
) -> Result<(), Failure> {
    let Answer { value, text } = client.package(package)?;
    let mut screen = Screen::new();
    match &value.latest {
        Some(latest) if !all_versions && !output.is_json() => {
            summary::add(client, package, &value, latest, &mut screen)?;
        }
        _ => versions(package, &value, &mut screen),
    }
    output.screen(screen, &text);
    Ok(())
}

/// Adds the versions of a package.
fn versions(package: &Package, value: &PackageDetails, screen: &mut Screen) {
    screen.title(&package.address());
    screen.fields(&[
        ("kind", value.package.kind.to_string()),
        ("latest", shown(value.latest.as_ref())),
        ("status", shown(value.status.as_ref())),
    ]);
    let columns = [
        Column::whole("VERSION"),
        Column::whole("PUBLISHED"),
        Column::status("STATUS"),
        Column::left_out(1, "DOCUMENTATION"),
        Column::cut("REASON"),
        Column::cut("SOURCE"),
    ];
    let rows = value.versions.iter().map(|line| {
        let status = line.status.as_ref();
        [
            line.version.to_string(),
            shown(line.published_at.as_deref().map(date)),
            shown(status.map(|status| status.state)),
            shown(line.is_documented.then_some("yes")),
            shown(status.map(|status| &status.reason)),
            shown(line.source.as_ref()),
        ]
    });
    screen.title("Versions");
    screen.table(&Table::of(columns, rows));
}

/// Returns the newest version that can be installed.
fn newest(client: &Client<'_>, package: &Package) -> Result<Version, Failure> {
    let answer = client.package(package);
    let details = answer.map_err(|failure| with_hint(failure, package))?.value;
    details.latest.ok_or_else(|| {
        let address = &details.package.address;
        Failure::Missing(format!("{address} has no version that can be installed"))
    })
}

/// Shows everything about one version, or only the inputs of a module.
fn one_version(
    client: &Client<'_>,
    package: &Package,
    version: &Version,
    only_inputs: bool,
    output: &Output,
) -> Result<(), Failure> {
    let Answer { value, text } = client.version(package, version)?;
    let mut screen = Screen::new();
    if only_inputs {
        let module = value.module.as_ref().ok_or_else(|| {
            let address = package.address();
            Failure::Missing(format!(
                "{address} {version} has no documentation with inputs"
            ))
        })?;
        screen.table(&module::inputs(&module.root));
        output.screen(screen, &text);
        return Ok(());
    }
    screen.title(&format!("{} {version}", package.address()));
    screen.fields(&fields(&value));
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

fn fields(details: &VersionDetails) -> Vec<(&'static str, String)> {
    let line = &details.version;
    let documentation = details.documentation.as_ref();
    let key = details.signing_key.as_ref();
    let module = details.module.as_ref();
    vec![
        ("kind", details.package.kind.to_string()),
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

//! `terrace show`.

mod module;
mod provider;

use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use super::connection::connect_reader;
use super::release::with_hint;
use crate::args::{PackageSpec, RegistryArguments, ShowArguments, VersionChoice};
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, shown};
use crate::registry::catalog::{Documentation, PackageDetails, VersionDetails, VersionLine};
use crate::registry::client::{Answer, Client};

/// Executes the command.
pub(crate) fn run(
    arguments: &ShowArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let version = choice(arguments)?;
    let client = connect_reader(registry, output)?;
    let PackageSpec { package, .. } = &arguments.address.at(&client.host())?;
    let shown = match version {
        None => versions(&client, package, output),
        Some(VersionChoice::Exact(version)) => one_version(&client, package, &version, output),
        Some(VersionChoice::Latest) => newest(&client, package)
            .and_then(|version| one_version(&client, package, &version, output)),
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
        (in_address, argument) => Ok(in_address.or(argument)),
    }
}

/// Shows a package with its versions.
fn versions(client: &Client<'_>, package: &Package, output: &Output) -> Result<(), Failure> {
    let Answer { value, text } = client.package(package)?;
    let mut screen = Screen::new();
    screen.title(&package.address());
    screen.fields(&[
        ("kind", kind(package, value.address.as_deref()).to_owned()),
        ("latest", latest(&value).unwrap_or_default().to_owned()),
        ("status", shown(value.status.as_ref())),
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
        table.row([
            line.version.clone(),
            shown(line.published_at.as_ref()),
            shown(status.map(|status| &status.state)),
            shown(line.is_documented.then_some("yes")),
            shown(status.and_then(|status| status.reason.as_ref())),
            shown(line.source.as_ref()),
        ]);
    }
    screen.title("Versions");
    screen.table(&table);
    output.screen(screen, &text);
    Ok(())
}

/// Returns the newest version that can be installed.
fn newest(client: &Client<'_>, package: &Package) -> Result<Version, Failure> {
    let details = client.package(package)?.value;
    let address = package.address();
    let none = || Failure::Missing(format!("{address} has no version that can be installed"));
    let malformed = |_| {
        let url = client.url();
        Failure::Unexpected(format!(
            "{url} responded with an invalid version of {address}"
        ))
    };
    latest(&details)
        .ok_or_else(none)?
        .parse()
        .map_err(malformed)
}

/// Returns the version that the registry calls the latest, or else the newest one that is not revoked, a prerelease only
/// if there is no other.
fn latest(details: &PackageDetails) -> Option<&str> {
    let is_installable = |line: &&VersionLine| {
        let status = line.status.as_ref();
        status.is_none_or(|status| status.state != "revoked")
    };
    let installable = || details.versions.iter().filter(is_installable);
    let newest = installable()
        .find(|line| !line.version.contains('-'))
        .or_else(|| installable().next());
    let latest = details.latest.as_deref();
    latest.or(newest.map(|line| line.version.as_str()))
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
    let VersionDetails {
        address,
        line,
        package_status,
        provenance,
        documentation,
        protocols,
        signing_key,
        module,
        ..
    } = details;
    let documentation = documentation.as_ref();
    let key = signing_key.as_ref();
    let key = key.map(|key| key.fingerprint.as_ref().unwrap_or(&key.key_id));
    let required = module.as_ref().and_then(|it| module::required(&it.root));
    vec![
        ("kind", kind(package, address.as_deref()).to_owned()),
        ("published", shown(line.published_at.as_ref())),
        ("status", shown(line.status.as_ref())),
        ("package status", shown(package_status.as_ref())),
        ("source", shown(line.source.as_ref())),
        ("published by", shown(provenance.as_ref())),
        ("protocols", protocols.join(", ")),
        ("signing key", shown(key)),
        ("requires", shown(required)),
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
fn state(documentation: &Documentation) -> String {
    match (&documentation.changed_at, documentation.changes) {
        (Some(time), changes) if changes > 0 => format!("changed on {time}, after it was added"),
        _ => "yes".to_owned(),
    }
}

/// Describes the kind of a package. Under another hostname of the registry, its own provider has an address without one.
fn kind(package: &Package, address: Option<&str>) -> &'static str {
    let has_hostname = address.is_none_or(|address| address.split('/').count() > 2);
    match package {
        Package::Provider(_) => "provider",
        Package::Module(_) => "module",
        Package::Mirrored(_) if has_hostname => "mirrored provider",
        Package::Mirrored(_) => "provider",
    }
}

//! The summary of a package.

use terrace_core::api::details::{ModuleView, PackageDetails, VersionSummary};
use terrace_core::api::route::PageRoute;
use terrace_core::documentation::{DocumentationKind, ModuleDetails, ResourceMode};
use terrace_core::index::card::module_description;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_web::snippets::{Shown, constraint};

use super::{date, joined, module};
use crate::commands::documentation::provider_type;
use crate::error::Failure;
use crate::output::{Screen, few, plural, shown};
use crate::registry::client::Client;

/// The number of versions in a summary.
const VERSIONS: usize = 5;

/// Adds the summary of a package with its newest version.
pub(super) fn add(
    client: &Client<'_>,
    package: &Package,
    details: &PackageDetails,
    latest: &Version,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let value = client.version(package, latest)?.value;
    let documentation = value.documentation.as_ref();
    let (description, requires, contents) = match &value.module {
        Some(module) => of_module(module),
        None if documentation.is_some() => {
            let (description, contents) = of_provider(client, package, latest)?;
            (description, String::new(), contents)
        }
        None => Default::default(),
    };
    screen.title(&format!("{} {latest}", package.address()));
    if !description.is_empty() {
        screen.text(&description);
    }
    screen.code(&to_paste(&client.host(), package, latest));
    let platforms = value.platforms.iter();
    let platforms = platforms.map(|it| format!("{}_{}", it.os, it.arch));
    let page = PageRoute::Package(package.clone());
    screen.fields(&[
        (
            "published",
            shown(value.version.published_at.as_deref().map(date)),
        ),
        (
            "status",
            shown(value.version.status.as_ref().or(details.status.as_ref())),
        ),
        ("requires", requires),
        ("contents", contents),
        ("platforms", joined(&platforms.collect::<Vec<_>>())),
        (
            "license",
            shown(documentation.and_then(|it| it.license.as_ref())),
        ),
        ("source", shown(value.version.source.as_ref())),
        (
            "page",
            format!("{}{page}", client.url().trim_end_matches('/')),
        ),
        ("versions", versions(&details.versions)),
    ]);
    Ok(())
}

/// Returns the lines with which a configuration installs the package.
fn to_paste(host: &str, package: &Package, latest: &Version) -> String {
    let address = package.address();
    let version = constraint(Shown {
        version: latest,
        latest: Some(latest),
    });
    let lines = |source: &str| format!("source  = \"{source}\"\nversion = \"{version}\"");
    let source = match package.origin() {
        Some(_) => address,
        None => format!("{host}/{address}"),
    };
    let Some(name) = provider_type(package) else {
        return lines(&source);
    };
    let lines = lines(&source).replace('\n', "\n  ");
    format!("{name} = {{\n  {lines}\n}}")
}

/// Returns the description, the requirements and the contents of a module.
fn of_module(module: &ModuleView) -> (String, String, String) {
    let root = &module.root;
    let providers = root.providers.iter().map(|it| {
        let versions = it.versions.join(", ");
        let source = it.source.as_ref().unwrap_or(&it.name);
        format!("{source} {versions}").trim_end().to_owned()
    });
    let requires: Vec<String> = module::required(root)
        .into_iter()
        .chain(providers)
        .collect();
    let required = root.inputs.iter().filter(|it| it.is_required()).count();
    let of_mode = |mode| root.resources.iter().filter(|it| it.mode == mode).count();
    let contents = [
        format!(
            "{} ({required} required)",
            plural(root.inputs.len(), "input")
        ),
        plural(root.outputs.len(), "output"),
        plural(of_mode(ResourceMode::Managed), "resource"),
        plural(of_mode(ResourceMode::Data), "data source"),
        plural(module.submodules.len(), "submodule"),
    ];
    let details = ModuleDetails {
        root: root.clone(),
        ..ModuleDetails::default()
    };
    (
        module_description(&details),
        requires.join("; "),
        contents.join(", "),
    )
}

/// Returns the description and the contents of a provider.
fn of_provider(
    client: &Client<'_>,
    package: &Package,
    latest: &Version,
) -> Result<(String, String), Failure> {
    let value = client.documents(package, latest)?.value;
    let mut documents = value.documents.iter();
    let overview = documents.find(|it| it.kind == DocumentationKind::Overview.as_str());
    let contents = [
        (DocumentationKind::Resource, "resource"),
        (DocumentationKind::DataSource, "data source"),
        (DocumentationKind::Function, "function"),
    ]
    .map(|(kind, noun)| {
        let symbols = value.symbols.iter().filter(|it| it.kind == kind);
        plural(symbols.count(), noun)
    });
    let description = overview.and_then(|it| it.description.clone());
    Ok((description.unwrap_or_default(), contents.join(", ")))
}

/// Returns the newest versions, each with its date and state.
fn versions(versions: &[VersionSummary]) -> String {
    let versions = versions.iter().map(|it| {
        let state = it.status.as_ref().map(|status| status.state.to_string());
        let date = it.published_at.as_deref().map(|at| date(at).to_owned());
        let notes: Vec<String> = date.into_iter().chain(state).collect();
        match notes.is_empty() {
            true => it.version.to_string(),
            false => format!("{} ({})", it.version, notes.join(", ")),
        }
    });
    few(VERSIONS, versions)
}

//! The dry run: a table of what would be imported.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use super::{Found, Origin};
use crate::commands::report::{Report, object};
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, plural};
use crate::registry::client::Client;

/// Prints the packages that would be imported, and those that the registry has already if one is given. Nothing is
/// downloaded.
pub(super) fn show(
    origin: &Origin<'_>,
    client: Option<&Client<'_>>,
    found: &Found,
    report: &Report,
    output: &Output,
) -> Result<(), Failure> {
    let mut table = Table::new([
        Column::whole("PACKAGE"),
        Column::whole("KIND"),
        Column::whole("VERSIONS"),
        Column::whole("NEW"),
        Column::whole("NEWEST"),
    ]);
    let (mut documents, mut lines) = (Vec::new(), Vec::new());
    let (mut total, mut new) = (0, 0);
    for (package, versions) in found {
        let versions: Vec<&Version> = versions.iter().map(|it| &it.version).collect();
        let known = client.map(|client| client.known_versions(package));
        let is_new = |version: &&&Version| known.as_ref().is_some_and(|it| !it.contains(**version));
        let missing = versions.iter().filter(is_new).count();
        total += versions.len();
        new += missing;
        table.row([
            package.address(),
            kind(package).to_owned(),
            versions.len().to_string(),
            known
                .as_ref()
                .map_or_else(String::new, |_| missing.to_string()),
            versions
                .last()
                .map_or_else(String::new, ToString::to_string),
        ]);
        let (address, count) = (package.address(), plural(versions.len(), "version"));
        lines.push(format!("{address}: {count} of a {}", kind(package)));
        documents.push(document(package, &versions, known.as_ref()));
    }
    let summary = match client {
        Some(client) => format!(
            "{} of {} would be imported into {}, {new} of them new; nothing was downloaded or sent",
            plural(total, "version"),
            origin.url,
            client.url()
        ),
        None => format!(
            "{} of {} would be imported; nothing was downloaded or sent",
            plural(total, "version"),
            origin.url
        ),
    };
    lines.push(summary.clone());
    let document = json!({ "kind": "import", "from": origin.url, "packages": documents });
    let mut document = object(document);
    if let Some(failure) = report.failure_with(lines, document.clone()) {
        return Err(failure);
    }
    let mut screen = Screen::new();
    if !table.is_empty() {
        screen.table(&table);
    }
    screen.text(&summary);
    document.insert("status".to_owned(), json!("dry_run"));
    output.report(screen, &document);
    Ok(())
}

fn document(package: &Package, versions: &[&Version], known: Option<&BTreeSet<Version>>) -> Value {
    let version = |version: &&Version| {
        let mut entry = object(json!({ "version": version.to_string() }));
        if let Some(known) = known {
            entry.insert("is_published".to_owned(), json!(known.contains(*version)));
        }
        Value::Object(entry)
    };
    let versions: Vec<Value> = versions.iter().map(version).collect();
    json!({ "address": package.address(), "kind": kind(package), "versions": versions })
}

fn kind(package: &Package) -> &'static str {
    match package {
        Package::Provider(_) => "provider",
        Package::Module(_) => "module",
        Package::Mirrored(_) => "mirror",
    }
}

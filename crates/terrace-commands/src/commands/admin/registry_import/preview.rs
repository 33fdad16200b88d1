//! The dry run: a table of what would be imported.

use serde::Serialize;
use serde_json::json;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use super::{Found, Origin};
use crate::commands::report::{Report, object};
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, plural, shown};
use crate::registry::client::Client;

/// A version that would be imported.
#[derive(Serialize)]
struct Listed<'a> {
    version: &'a Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_published: Option<bool>,
}

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
        let (address, kind) = (package.address(), kind(package));
        let versions = versions.iter().map(|it| &it.version);
        let known = client.map(|client| client.known_versions(package));
        let entries: Vec<Listed<'_>> = versions
            .map(|version| Listed {
                version,
                is_published: known.as_ref().map(|it| it.contains(version)),
            })
            .collect();
        let missing = entries.iter().filter(|it| it.is_published == Some(false));
        let missing = missing.count();
        total += entries.len();
        new += missing;
        let newest = entries.last().map(|it| it.version);
        table.row([
            address.clone(),
            kind.to_owned(),
            entries.len().to_string(),
            shown(known.map(|_| missing)),
            shown(newest),
        ]);
        let count = plural(entries.len(), "version");
        lines.push(format!("{address}: {count} of a {kind}"));
        documents.push(json!({ "address": address, "kind": kind, "versions": entries }));
    }
    let of = format!("{} of {}", plural(total, "version"), origin.url);
    let summary = match client {
        Some(client) => format!(
            "{of} would be imported into {}, {new} of them new; nothing was downloaded or sent",
            client.url()
        ),
        None => format!("{of} would be imported; nothing was downloaded or sent"),
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

fn kind(package: &Package) -> &'static str {
    match package {
        Package::Provider(_) => "provider",
        Package::Module(_) => "module",
        Package::Mirrored(_) => "mirror",
    }
}

//! The details of a provider.

use terrace_core::api::details::{DocumentView, PlatformView};

use crate::output::{Column, Screen, Table, bytes, few, shown};

/// The number of names of a kind that are shown. Some providers have more than a thousand.
const NAMES: usize = 40;

/// Adds the packages of a provider.
pub(super) fn add_platforms(platforms: &[PlatformView], screen: &mut Screen) {
    if platforms.is_empty() {
        return;
    }
    let columns = [
        Column::whole("PLATFORM"),
        Column::left_out(1, "SIZE"),
        Column::cut("SHA256"),
    ];
    let rows = platforms.iter().map(|it| {
        let platform = format!("{}_{}", it.os, it.arch);
        [platform, shown(it.size.map(bytes)), it.sha256.to_string()]
    });
    screen.title("Platforms");
    screen.table(&Table::of(columns, rows));
}

/// Adds the names of the documents, by kind.
pub(super) fn add_documents(documents: &[DocumentView], screen: &mut Screen) {
    // The registry lists them in the order of their kinds.
    let kinds = documents.chunk_by(|one, next| one.kind == next.kind);
    let fields = kinds.filter_map(|documents| {
        let kind = &documents.first()?.kind;
        let names = documents.iter().map(|it| it.name.as_str());
        Some((kind.as_str(), few(NAMES, names)))
    });
    let fields: Vec<(&str, String)> = fields.collect();
    if !fields.is_empty() {
        screen.title("Documentation");
        screen.fields(&fields);
    }
}

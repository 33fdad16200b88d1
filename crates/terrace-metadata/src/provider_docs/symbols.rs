//! The names that configurations refer to.

use std::collections::BTreeSet;

use terrace_core::documentation::{DocumentationKind as Kind, PageName, Symbol};
use terrace_core::limits::{DOCUMENTATION_SYMBOLS, SYMBOL_NAME_BYTES};

use crate::limits::ARGUMENTS_BYTES;
use crate::provider_docs::PageKey;
use crate::schema::Schema;
use crate::text::{Messages, short_name};

/// Returns the symbols that follow from the names of pages.
pub(super) fn of_pages<'p>(
    provider_type: &str,
    pages: impl Iterator<Item = &'p PageKey>,
) -> Vec<Symbol> {
    let pages = pages.filter(|(kind, _)| !matches!(kind, Kind::Overview | Kind::Guide));
    let symbols = pages.map(|(kind, name)| Symbol {
        kind: *kind,
        name: full_name(*kind, name.as_str(), provider_type),
        page: Some(name.clone()),
        arguments: None,
    });
    let mut symbols: Vec<Symbol> = symbols.collect();
    symbols.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    symbols.dedup_by(|a, b| (a.kind, &a.name) == (b.kind, &b.name));
    symbols
}

/// Returns the symbols of a schema, with their pages.
pub(super) fn of_schema<'p>(
    schema: &Schema,
    provider_type: &str,
    pages: impl Iterator<Item = &'p PageKey>,
) -> Vec<Symbol> {
    let pages: BTreeSet<&PageKey> = pages.collect();
    let symbols = schema.symbols().map(|(kind, name)| {
        let names = [short_name(name, provider_type), name].map(str::parse::<PageName>);
        let mut names = names.into_iter().flatten();
        Symbol {
            kind,
            name: name.to_owned(),
            page: names.find(|page| pages.contains(&(kind, page.clone()))),
            arguments: schema.arguments(kind, name),
        }
    });
    symbols.collect()
}

/// Returns the symbols within the limits, and adds a note about the others.
pub(super) fn limited(mut symbols: Vec<Symbol>, notes: &mut Messages) -> Vec<Symbol> {
    let found = symbols.len();
    let max = SYMBOL_NAME_BYTES;
    symbols.retain(|symbol| symbol.name.len() <= max);
    let long = found - symbols.len();
    if long > 0 {
        notes.add(format!(
            "the names of resources and functions with more than {max} bytes were left out of the search: {long}"
        ));
    }
    let max = DOCUMENTATION_SYMBOLS;
    let omitted = symbols.len().saturating_sub(max);
    symbols.truncate(max);
    if omitted > 0 {
        notes.add(format!(
            "the names of resources and functions after the first {max} were left out of the search: {omitted}"
        ));
    }
    symbols
}

/// Removes all arguments if they are too long, and adds a note.
pub(super) fn limit_arguments(
    symbols: &mut [Symbol],
    provider: &mut Option<String>,
    notes: &mut Messages,
) {
    let all = || {
        symbols
            .iter()
            .flat_map(|it| &it.arguments)
            .chain(&*provider)
    };
    let length: usize = all().map(String::len).sum();
    if length > ARGUMENTS_BYTES {
        *provider = None;
        symbols.iter_mut().for_each(|it| it.arguments = None);
        notes.add(format!(
            "the arguments of resources were left out of comparisons, because they have {length} bytes, and at most {ARGUMENTS_BYTES} are kept"
        ));
    }
}

/// Returns the whole name that a page describes: files leave out the type of the provider.
pub(super) fn full_name(kind: Kind, page: &str, provider_type: &str) -> String {
    let has_prefix = page == provider_type || short_name(page, provider_type) != page;
    if kind == Kind::Function || has_prefix {
        page.to_owned()
    } else {
        format!("{provider_type}_{page}")
    }
}

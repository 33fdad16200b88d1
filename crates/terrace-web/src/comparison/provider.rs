//! The comparison of providers.

use std::collections::{BTreeMap, BTreeSet};

use terrace_core::api::details::{DocumentView, Navigation, PlatformView, SymbolView};
use terrace_core::documentation::DocumentationKind;
use terrace_core::model::protocol_version::ProtocolVersion;

use super::{ComparedVersion, Comparison, Rules};
use crate::text::kind_heading;

/// Compares two versions of a provider: its symbols by kind, with their arguments if both versions have a schema, its
/// documents, platforms and protocols. Symbols and documents are compared if both versions have any, because a version without
/// documentation still has its resources.
pub(super) fn providers(old: ComparedVersion<'_>, new: ComparedVersion<'_>) -> Comparison {
    let mut comparison = Comparison::default();
    let (old_docs, new_docs) = (old.navigation, new.navigation);
    let has_schema = |it: &Navigation| it.symbols.iter().any(|it| it.arguments.is_some());
    comparison.compares_names = !(has_schema(old_docs) && has_schema(new_docs));
    if !comparison.compares_names {
        let both = [old_docs, new_docs].map(|it| it.arguments.as_deref());
        let [old, new] = [both, [both[1], both[0]]].map(|it| arguments("", it, None));
        comparison.add("Provider", &old, &new, &entry_rules());
    }
    let have_symbols = !old_docs.symbols.is_empty() && !new_docs.symbols.is_empty();
    let have_documents = !old_docs.documents.is_empty() && !new_docs.documents.is_empty();
    for kind in DocumentationKind::ALL {
        let title = kind_heading(kind);
        if have_symbols && !matches!(kind, DocumentationKind::Overview | DocumentationKind::Guide) {
            let (old, new) = (of_kind(old_docs, kind), of_kind(new_docs, kind));
            comparison.add(
                title,
                &symbols(&old, &new),
                &symbols(&new, &old),
                &entry_rules(),
            );
        } else if have_documents {
            let of = |all: &[DocumentView]| {
                let of_kind = all.iter().filter(|it| it.kind == kind.as_str());
                of_kind.cloned().collect::<Vec<_>>()
            };
            comparison.add(
                title,
                &of(&old_docs.documents),
                &of(&new_docs.documents),
                &DOCUMENTS,
            );
        }
    }
    let (old, new) = (old.details, new.details);
    // A revoked version has no list of platforms.
    if !old.platforms.is_empty() && !new.platforms.is_empty() {
        comparison.add("Platforms", &old.platforms, &new.platforms, &PLATFORMS);
    }
    if !old.protocols.is_empty() && !new.protocols.is_empty() {
        comparison.add(
            "Plugin protocols",
            &old.protocols,
            &new.protocols,
            &PROTOCOLS,
        );
    }
    comparison
}

/// A symbol, or an argument or attribute of one.
struct Entry<'a> {
    /// The name of the symbol, and the path of the argument in it.
    name: String,
    /// The use and the type of an argument, such as `Required, String`.
    schema: Option<&'a str>,
    /// The path of the symbol's page in the API.
    page: Option<&'a str>,
}

/// Returns the symbols of a kind by their names.
fn of_kind(navigation: &Navigation, kind: DocumentationKind) -> BTreeMap<&str, &SymbolView> {
    let symbols = navigation.symbols.iter().filter(|it| it.kind == kind);
    symbols.map(|it| (it.name.as_str(), it)).collect()
}

/// Returns symbols, each with its arguments.
fn symbols<'a>(
    all: &BTreeMap<&str, &'a SymbolView>,
    others: &BTreeMap<&str, &'a SymbolView>,
) -> Vec<Entry<'a>> {
    let mut found = Vec::new();
    for (name, symbol) in all {
        let page = symbol.path.as_deref();
        let other = others.get(name).and_then(|it| it.arguments.as_deref());
        found.push(Entry {
            name: (*name).to_owned(),
            schema: None,
            page,
        });
        let both = [symbol.arguments.as_deref(), other];
        found.extend(arguments(&format!("{name}."), both, page));
    }
    found
}

/// Returns the arguments of one version if the other has any, without those inside an argument that the other lacks.
fn arguments<'a>(
    prefix: &str,
    [this, other]: [Option<&'a str>; 2],
    page: Option<&'a str>,
) -> Vec<Entry<'a>> {
    let (Some(this), Some(other)) = (this, other) else {
        return Vec::new();
    };
    let split = |text: &'a str| text.lines().filter_map(|line| line.split_once(": "));
    let known: BTreeSet<&str> = split(other).map(|(path, _)| path).collect();
    let is_shown = |path: &str| {
        let parent = path.rsplit_once('.');
        parent.is_none_or(|(parent, _)| known.contains(parent))
    };
    let shown = split(this).filter(|(path, _)| is_shown(path));
    let entry = shown.map(|(path, schema)| Entry {
        name: format!("{prefix}{path}"),
        schema: Some(schema),
        page,
    });
    entry.collect()
}

/// Returns the path of a page, after that of its version.
fn after_version(path: &str) -> Option<String> {
    let (_, page) = path.split_once("/docs/")?;
    Some(format!("/docs/{page}"))
}

/// Returns whether a configuration of an argument may fail with its new schema.
fn narrows(old: &str, new: &str) -> bool {
    let parts = |schema: &str| {
        let mut parts: Vec<String> = schema.split(", ").map(str::to_owned).collect();
        parts.retain(|it| !["Sensitive", "Deprecated", "Write-only"].contains(&it.as_str()));
        let of_type = parts.split_off(1.min(parts.len()));
        (parts, of_type)
    };
    let ((old_use, old_type), (new_use, new_type)) = (parts(old), parts(new));
    old_type != new_type || (old_use != new_use && new_use != ["Optional"])
}

/// Returns the rules of entries. A constant would outlive them.
fn entry_rules<'a>() -> Rules<Entry<'a>> {
    Rules {
        name: |it| it.name.clone(),
        fields: |it| vec![("schema", it.schema.map(str::to_owned))],
        is_breaking: |old, new| {
            let schema = |it: Option<&Entry<'_>>| it.and_then(|it| it.schema).map(str::to_owned);
            match (schema(old), schema(new)) {
                (Some(old), Some(new)) => narrows(&old, &new),
                (None, Some(new)) => new.starts_with("Required"),
                (_, None) => new.is_none(),
            }
        },
        link: |it| it.page.and_then(after_version),
    }
}

const DOCUMENTS: Rules<DocumentView> = Rules {
    name: |it| it.name.clone(),
    fields: |it| {
        vec![
            ("title", it.title.clone()),
            ("description", it.description.clone()),
        ]
    },
    is_breaking: |_, _| false,
    link: |it| after_version(&it.path),
};

const PLATFORMS: Rules<PlatformView> = Rules {
    name: |it| format!("{}_{}", it.os, it.arch),
    fields: |_| Vec::new(),
    is_breaking: |_, new| new.is_none(),
    link: |_| None,
};

const PROTOCOLS: Rules<ProtocolVersion> = Rules {
    name: ToString::to_string,
    fields: |_| Vec::new(),
    is_breaking: |_, new| new.is_none(),
    link: |_| None,
};

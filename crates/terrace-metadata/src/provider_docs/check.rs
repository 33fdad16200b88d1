//! The rules of `tfplugindocs validate`: its rejections are warnings here.

use terrace_core::documentation::DocumentationKind as Kind;
use terrace_core::limits::PAGE_BYTES;

use crate::provider_docs::frontmatter::Frontmatter;
use crate::provider_docs::symbols;
use crate::schema::Schema;

/// A line, and a message about it.
type Finding = (Option<usize>, String);

/// Checks the frontmatter and the size of a page.
pub(super) fn check(page: &Frontmatter, kind: Kind, is_legacy: bool, bytes: usize) -> Vec<Finding> {
    let problems = page.problems.iter();
    let mut found: Vec<Finding> = problems
        .map(|(line, message)| (Some(*line), message.clone()))
        .collect();
    let is_within = u32::try_from(bytes).is_ok_and(|bytes| bytes < PAGE_BYTES);
    if !is_within {
        found.push((None, format!("the file has {bytes} bytes; pages must be shorter than {PAGE_BYTES}, and the rest is cut")));
    }
    if !page.exists {
        if page.problems.is_empty() {
            found.push((
                Some(1),
                "the page has no frontmatter, so it has no description".to_owned(),
            ));
        }
        return found;
    }
    let mut forbidden = vec!["sidebar_current"];
    let mut required = Vec::new();
    if is_legacy {
        required.extend(["description", "layout", "page_title"]);
    } else {
        forbidden.push("layout");
    }
    match kind {
        Kind::Overview => forbidden.push("subcategory"),
        Kind::Guide if !is_legacy => required.push("page_title"),
        _ => {}
    }
    for key in forbidden {
        if let Some(line) = page.line_of(key) {
            found.push((
                Some(line),
                format!("the frontmatter must not contain {key}; remove the line"),
            ));
        }
    }
    for key in required {
        if page.line_of(key).is_none() {
            found.push((
                Some(1),
                format!("the frontmatter must contain {key}; add a line"),
            ));
        }
    }
    found
}

/// Compares the names of pages with those of a schema. A page has a kind, a name and a path.
pub(super) fn check_names<'p>(
    schema: &Schema,
    provider_type: &str,
    pages: impl Iterator<Item = (Kind, &'p str, &'p str)>,
) -> Vec<(String, String)> {
    let pages: Vec<_> = pages.collect();
    let mut found = Vec::new();
    for (kind, name, path) in &pages {
        let full = symbols::full_name(*kind, name, provider_type);
        let is_described = matches!(kind, Kind::Overview | Kind::Guide)
            || schema.has(*kind, &full)
            || schema.has(*kind, name);
        if !is_described {
            let message =
                format!("the schema has neither {full} nor {name}; rename or remove the page");
            found.push(((*path).to_owned(), message));
        }
    }
    for (kind, symbol) in schema.symbols() {
        let mut same_kind = pages.iter().filter(|page| page.0 == kind);
        let is_described = same_kind.any(|(_, name, _)| {
            *name == symbol || symbols::full_name(kind, name, provider_type) == symbol
        });
        if !is_described {
            let message = "no file describes it, so a page is generated from the schema";
            found.push((format!("{kind}/{symbol}"), message.to_owned()));
        }
    }
    found
}

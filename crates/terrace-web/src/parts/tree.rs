//! The tree of a provider's documents.

use std::collections::BTreeMap;

use maud::{Markup, html};
use terrace_core::api::details::{DocumentView, Navigation};
use terrace_core::api::route::PageRoute;
use terrace_core::documentation::{DocumentPath, DocumentationKind};
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;

use crate::links::{document, document_path};
use crate::text::kind_heading;

/// Trees up to this number of documents are shown open.
const OPEN_DOCUMENTS: usize = 40;

/// A document of a navigation that has a page.
struct Entry<'a> {
    kind: DocumentationKind,
    path: DocumentPath,
    view: &'a DocumentView,
}

/// A group of documents: a kind, or a subcategory.
type Groups<'a> = BTreeMap<(Option<&'a str>, DocumentationKind), Vec<Entry<'a>>>;

/// The tree, with the document that is shown.
struct Tree<'a> {
    package: &'a Package,
    navigation: &'a Navigation,
    current: Option<&'a DocumentPath>,
}

/// Returns the navigation of a version's documents. `current` is the document of the page.
pub(crate) fn tree(
    package: &Package,
    navigation: &Navigation,
    current: Option<&DocumentPath>,
) -> Markup {
    let tree = Tree {
        package,
        navigation,
        current,
    };
    html! {
        input #page-contents-switch.switch type="checkbox";
        label.switch for="page-contents-switch" { (super::icons::menu()) "Documentation menu" }
        nav.sidebar aria-label="Documentation" {
            (filter(package))
            ul.matches hidden {}
            div.tree { (tree.groups()) }
        }
    }
}

/// Returns the path of the first document of a version.
pub(crate) fn first(package: &Package, navigation: &Navigation) -> Option<String> {
    let first = navigation.documents.iter().find_map(document)?;
    Some(document_path(package, &navigation.version, &first))
}

/// Returns the field that filters the tree. Without JavaScript it searches the packages of the owner.
fn filter(package: &Package) -> Markup {
    html! {
        form.filter role="search" aria-label="Documentation" action=(PageRoute::Search) {
            input type="hidden" name="namespace" value=(Owner::of(package));
            label.hidden for="page-filter" { "Filter documentation" }
            input #page-filter type="search" name="q" placeholder="Filter documentation" autocomplete="off" autocapitalize="off"
                spellcheck="false" data-filter="";
        }
    }
}

impl<'a> Tree<'a> {
    fn groups(&self) -> Markup {
        let mut groups = Groups::new();
        for view in &self.navigation.documents {
            let Some(path) = document(view) else { continue };
            let kind = view.kind.parse().unwrap_or(DocumentationKind::Overview);
            let subcategory = view.subcategory.as_deref().filter(|it| !it.is_empty());
            let entry = Entry { kind, path, view };
            groups.entry((subcategory, kind)).or_default().push(entry);
        }
        let own = groups
            .iter()
            .filter(|((subcategory, _), _)| subcategory.is_none());
        let mut subcategories = BTreeMap::<&str, Vec<_>>::new();
        for ((subcategory, kind), entries) in &groups {
            if let Some(name) = subcategory {
                subcategories
                    .entry(name)
                    .or_default()
                    .push((*kind, entries));
            }
        }
        html! {
            @for ((_, kind), entries) in own {
                @if *kind == DocumentationKind::Overview { (self.list(entries)) }
                @else { (self.group(kind_heading(*kind), entries.iter(), &self.list(entries))) }
            }
            @for (name, kinds) in subcategories {
                (self.group(name, kinds.iter().flat_map(|(_, entries)| entries.iter()), &self.kinds(&kinds)))
            }
        }
    }

    fn group<'e>(
        &self,
        name: &str,
        entries: impl Iterator<Item = &'e Entry<'a>> + Clone,
        body: &Markup,
    ) -> Markup
    where
        'a: 'e,
    {
        let is_current = |entry: &Entry<'_>| Some(&entry.path) == self.current;
        let is_open =
            self.navigation.documents.len() <= OPEN_DOCUMENTS || entries.clone().any(is_current);
        html! {
            details open[is_open] {
                summary { bdi { (name) } " " span.count { (entries.count()) } }
                (body)
            }
        }
    }

    fn kinds(&self, kinds: &[(DocumentationKind, &Vec<Entry<'a>>)]) -> Markup {
        html! {
            @for (kind, entries) in kinds {
                p.kind { (kind_heading(*kind)) }
                (self.list(entries))
            }
        }
    }

    fn list(&self, entries: &[Entry<'a>]) -> Markup {
        html! {
            ul {
                @for entry in entries {
                    li {
                        a href=(document_path(self.package, &self.navigation.version, &entry.path))
                            aria-current=[(Some(&entry.path) == self.current).then_some("page")] {
                            bdi { (name(entry)) }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the name of a document in the tree: guides have titles, and all others the names that code uses.
fn name<'a>(entry: &Entry<'a>) -> &'a str {
    let title = entry.view.title.as_deref().filter(|it| !it.is_empty());
    match entry.kind {
        DocumentationKind::Overview => "Overview",
        DocumentationKind::Guide => title.unwrap_or(&entry.view.name),
        _ => &entry.view.name,
    }
}

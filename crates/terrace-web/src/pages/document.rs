//! The page of a document of a provider.

use maud::{Markup, html};
use terrace_core::api::details::{DocumentView, Navigation};
use terrace_core::documentation::{DocumentPath, DocumentationKind};

use super::Release;
use super::provider::notes;
use crate::links::{document as document_of, document_path, newest_document_path, text_path};
use crate::markdown::Rendered;
use crate::parts::layout::Page;
use crate::parts::package_head::Section;
use crate::parts::{banner, prose, time, tree};
use crate::site::Site;
use crate::text::kind_name;

/// Returns the page of a document.
pub fn document(
    site: &Site,
    release: &Release<'_>,
    navigation: &Navigation,
    path: &DocumentPath,
    view: &DocumentView,
    text: &Rendered,
) -> String {
    let Release {
        package, details, ..
    } = *release;
    let version = &details.version.version;
    let newest = newest_document_path(package, path, version);
    let has_contents = text.contents.len() > 1;
    let body = html! {
        main {
        (release.head(site, Section::Documentation, tree::first(package, navigation)))
        div.columns.(if has_contents { "three" } else { "two" }) {
            (tree::tree(package, navigation, Some(path)))
            div.content #page-content tabindex="-1" {
                (banner::of_version(release, Some(newest)))
                (over(view))
                article.prose dir="auto" { (prose(text)) }
                (about_text(release, navigation, path, view, text))
                (neighbours(release, navigation, path))
            }
            @if has_contents { (contents(text)) }
        }
        }
    };
    let title = format!("{} · {}", title(view), release.title());
    let page = Page {
        description: view.description.as_deref().unwrap_or_default(),
        ..release.page(&title, document_path(package, version, path))
    };
    page.render(site, &body)
}

/// Returns the headings of a text, as links to them.
pub(super) fn contents(text: &Rendered) -> Markup {
    let top = text.contents.iter().map(|heading| heading.level).min();
    let top = top.unwrap_or_default();
    let shown = text.contents.iter();
    let shown = shown.filter(|heading| heading.level <= top.saturating_add(1));
    html! {
        nav.contents aria-labelledby="page-on-this-page" {
            p #page-on-this-page { "On this page" }
            ul {
                @for heading in shown {
                    li.deeper[heading.level > top] { a href={ "#" (heading.id) } { bdi { (heading.text) } } }
                }
            }
        }
    }
}

/// Returns the kind and the subcategory of a document, above its text.
fn over(view: &DocumentView) -> Markup {
    let kind = view
        .kind
        .parse()
        .ok()
        .filter(|kind| *kind != DocumentationKind::Overview);
    html! {
        @if let Some(kind) = kind {
            p.over {
                (kind_name(kind))
                @if let Some(subcategory) = &view.subcategory { " · " bdi { (subcategory) } }
            }
        }
    }
}

/// Returns notes about the text: its Markdown, how it came about, and its faults.
fn about_text(
    release: &Release<'_>,
    navigation: &Navigation,
    path: &DocumentPath,
    view: &DocumentView,
    text: &Rendered,
) -> Markup {
    let package = release.package;
    let markdown = text_path(package, &navigation.version, path);
    let documentation = navigation.documentation.as_ref();
    html! {
        div.about-text {
            // A text that was cut before it was stored ends with a sentence about it.
            @if text.is_truncated { (banner::cut_text()) }
            @if view.is_generated {
                p { "Generated from the schema of the provider, because it has no page for this." }
            }
            @if let Some(docs) = documentation.filter(|docs| docs.changes > 0) {
                p { "The documentation was changed after the version was published, last on " (time(&docs.changed_at)) "." }
            }
            @if let Some(origin) = documentation.and_then(|docs| docs.origin.as_deref()) {
                p { "Taken from " @if is_web(origin) { a href=(origin) rel="nofollow noopener noreferrer" { (origin) } } @else { (origin) } "." }
            }
            p { a href=(markdown) { "Download as Markdown" } }
            @if let Some(docs) = documentation { (notes(&docs.notes)) }
        }
    }
}

/// Returns whether a text may be the target of a link.
fn is_web(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// Returns links to the documents before and after this one.
fn neighbours(release: &Release<'_>, navigation: &Navigation, path: &DocumentPath) -> Markup {
    let listed = navigation.documents.iter();
    let listed: Vec<_> = listed
        .filter_map(|view| Some((document_of(view)?, view)))
        .collect();
    let at = listed.iter().position(|(known, _)| known == path);
    let before = at.and_then(|at| listed.get(at.checked_sub(1)?));
    let after = at.and_then(|at| listed.get(at.checked_add(1)?));
    let link = |(path, _): &(DocumentPath, &DocumentView)| {
        document_path(release.package, &navigation.version, path)
    };
    html! {
        @if before.is_some() || after.is_some() {
            nav.neighbours aria-label="Neighbouring pages" {
                @if let Some(before) = before { a.before href=(link(before)) rel="prev" { span.small { "Previous" } bdi { (title(before.1)) } } }
                @if let Some(after) = after { a.after href=(link(after)) rel="next" { span.small { "Next" } bdi { (title(after.1)) } } }
            }
        }
    }
}

fn title(view: &DocumentView) -> &str {
    let title = view.title.as_deref().filter(|it| !it.is_empty());
    title.unwrap_or(&view.name)
}

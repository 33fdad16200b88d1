//! The results of a search.

use maud::{Markup, html};
use terrace_core::api::details::{
    Highlights, ListedPackage, PackageName, Pieces, SearchPage, SearchResult,
};
use terrace_core::api::route::PageRoute;
use terrace_core::documentation::DocumentationKind;
use terrace_core::model::version::RequestedVersion;
use terrace_core::model::version::Version;
use terrace_core::search::SearchKind;

use crate::links::{document_at, package as package_of, package_path, with_query};
use crate::parts::cards::{card, kind_icon};
use crate::parts::layout::{Page, SEARCH_FORM};
use crate::parts::{label, next_page};
use crate::site::Site;
use crate::text::{RECENT, counted, kind_heading, kind_name};

/// A search, as the reader wrote it, and its results.
#[derive(Debug, Clone, Copy)]
pub struct Searched<'a> {
    /// The words.
    pub query: &'a str,
    /// The kind; empty for all.
    pub kind: &'a str,
    /// The namespace; empty for all.
    pub namespace: &'a str,
    /// Whether the results follow those of another page.
    pub is_continued: bool,
    /// The results; `None` before a search.
    pub results: Option<&'a SearchPage>,
    /// The reason why the words are not a query, and the rule.
    pub error: Option<&'a str>,
}

/// Returns the page of a search.
pub fn search(site: &Site, searched: &Searched<'_>) -> String {
    let path = |query: &str, after: &str| {
        let parameters = [
            ("q", query),
            ("kind", searched.kind),
            ("namespace", searched.namespace),
            ("after", after),
        ];
        with_query(&PageRoute::Search.to_string(), &parameters)
    };
    let next = searched.results.and_then(|page| page.next.as_deref());
    let next = next.map(|after| path(searched.query, after));
    let body = html! {
        main.inner #page-content {
            h1 { (heading(searched)) }
            (filters(searched))
            @if let Some(error) = searched.error { div.notice.warn role="note" { p dir="auto" { (error) } } }
            @if let Some(page) = searched.results {
                @if let Some(meant) = &page.did_you_mean {
                    p { "Did you mean " a href=(path(meant, "")) { bdi { (meant) } } "?" }
                }
                @if page.results.is_empty() { (nothing(searched)) }
                section {
                    h2.hidden { "Results" }
                    ul.cards { @for found in &page.results { li.card { (result(found)) } } }
                    (next_page(next.as_deref()))
                }
            }
        }
    };
    let title = match searched.query {
        "" => "Search".to_owned(),
        query => format!("{query} · Search"),
    };
    let page = Page {
        title: &title,
        query: searched.query,
        ..Page::default()
    };
    page.render(site, &body)
}

/// Returns the heading, which counts the results. The field of the frame has the words.
fn heading(searched: &Searched<'_>) -> String {
    match searched.results {
        None => "Search".to_owned(),
        Some(page) if page.results.is_empty() => "No results".to_owned(),
        Some(_) if searched.is_continued => "Further results".to_owned(),
        Some(page) => {
            let count = counted(page.results.len(), "result");
            match page.next {
                Some(_) => format!("The first {count}"),
                None => count,
            }
        }
    }
}

/// Returns the kinds of the filter, with their names.
fn kinds() -> Vec<(&'static str, &'static str)> {
    let of_symbols = DocumentationKind::ALL.into_iter();
    let of_symbols = of_symbols
        .filter(|kind| !matches!(kind, DocumentationKind::Overview | DocumentationKind::Guide));
    let mut kinds = vec![
        ("", "Everything"),
        ("modules", "Modules"),
        ("providers", "Providers"),
    ];
    kinds.extend(of_symbols.map(|kind| (kind.as_str(), kind_heading(kind))));
    kinds
}

/// Returns filters that are sent with the words in the search field of the frame.
fn filters(searched: &Searched<'_>) -> Markup {
    let chosen = searched.kind.parse::<SearchKind>().ok();
    html! {
        div.refine {
            label {
                span { "Kind" }
                select name="kind" form=(SEARCH_FORM) {
                    @for (value, name) in kinds() { option value=(value) selected[value.parse().ok() == chosen] { (name) } }
                }
            }
            label { span { "Namespace" } input type="text" name="namespace" form=(SEARCH_FORM) value=(searched.namespace) placeholder="any" autocapitalize="off" spellcheck="false"; }
            button.button.primary type="submit" form=(SEARCH_FORM) { "Search" }
        }
    }
}

fn nothing(searched: &Searched<'_>) -> Markup {
    let everywhere = with_query(&PageRoute::Search.to_string(), &[("q", searched.query)]);
    html! {
        div.empty {
            p { "No results for “" bdi { (searched.query) } "”. " (RECENT) }
            @if !(searched.kind.is_empty() && searched.namespace.is_empty()) {
                p { a href=(everywhere) { "Search everything" } " for the same words." }
            } @else {
                p { "Try fewer words, or the beginning of a name: a word is found by its beginning." }
            }
        }
    }
}

fn result(result: &SearchResult) -> Markup {
    match result {
        SearchResult::Package {
            package,
            highlights,
            words,
        } => package_result(package, highlights, words),
        SearchResult::Symbol {
            kind,
            name,
            provider,
            version,
            path,
            highlights,
        } => {
            let link = symbol_path(provider, version, path.as_deref());
            let shown = marked_or(&highlights.name, name);
            symbol_result(*kind, provider, &link, &shown, version)
        }
    }
}

fn package_result(listed: &ListedPackage, highlights: &Highlights, words: &[String]) -> Markup {
    let name = html! { bdi { (marked_or(&highlights.name, &listed.package.address)) } };
    let description = html! {
        @if !listed.description.is_empty() { p dir="auto" { (marked_or(&highlights.description, &listed.description)) } }
        @if !words.is_empty() {
            p.small { "In names of its inputs, outputs, resources and submodules: " @for (at, word) in words.iter().enumerate() { @if at > 0 { ", " } mark { (word) } } }
        }
    };
    card(listed, &name, &description)
}

fn symbol_result(
    kind: DocumentationKind,
    provider: &PackageName,
    link: &str,
    name: &Markup,
    version: &Version,
) -> Markup {
    html! {
        h3 { (kind_icon(provider)) a href=(link) { code { bdi { (name) } } } " " (label("quiet", kind_name(kind))) }
        p.meta { span { "of " a href=(package_path(provider)) { bdi { (provider.address) } } " " bdi { (version) } } }
    }
}

/// Returns the path of a symbol's page, or of its provider's version.
fn symbol_path(provider: &PackageName, version: &Version, path: Option<&str>) -> String {
    let Some(package) = package_of(provider) else {
        return PageRoute::Home.to_string();
    };
    let document = path.and_then(|path| document_at(&package, path));
    let version = RequestedVersion::Exact(version.clone());
    let route = match document {
        Some(document) => PageRoute::Document(package, version, document),
        None => PageRoute::Version(package, version),
    };
    route.to_string()
}

/// Returns a text in pieces with every second one marked, or the whole text without pieces.
fn marked_or(pieces: &Pieces, text: &str) -> Markup {
    html! {
        @if pieces.is_empty() { (text) }
        @for (at, piece) in pieces.iter().enumerate() {
            @if at % 2 == 1 { mark { (piece) } } @else { (piece) }
        }
    }
}

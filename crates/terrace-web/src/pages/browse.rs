//! Lists of packages: by kind, and of a namespace.

use maud::{Markup, html};
use terrace_core::api::details::{ListedPackage, NamespaceView, PackagePage};
use terrace_core::api::route::{FeedScope, PageRoute};
use terrace_core::model::owner::Owner;
use terrace_core::model::package::PackageKind;

use crate::links::{NAMESPACES_AFTER, owner_path, with_query};
use crate::pages::SHOWN_NAMESPACES;
use crate::parts::layout::Page;
use crate::parts::{address, cards, code, next_page};
use crate::site::Site;
use crate::text::RECENT;

/// The contents of the page that lists the packages of a kind.
#[derive(Debug, Clone, Copy)]
pub struct Browse<'a> {
    /// The kind.
    pub kind: PackageKind,
    /// The packages of this page.
    pub packages: &'a [ListedPackage],
    /// The cursor of the next page, if there is one.
    pub next: Option<&'a str>,
    /// The namespaces, ascending.
    pub namespaces: &'a [NamespaceView],
    /// The namespace after which the list of namespaces begins; empty for the first ones.
    pub namespaces_after: &'a str,
}

/// Returns the page that lists the packages of a kind.
pub fn browse(site: &Site, browse: &Browse<'_>) -> String {
    let (title, noun) = match browse.kind {
        PackageKind::Module => ("Modules", "modules"),
        PackageKind::Provider => ("Providers", "providers"),
    };
    let path = PageRoute::Browse(browse.kind).to_string();
    let next = browse
        .next
        .map(|after| with_query(&path, &[("after", after)]));
    let body = html! {
        main.inner #page-content {
            h1 { (title) }
            div.with-aside {
                section {
                    h2.hidden { "All " (noun) }
                    @if browse.packages.is_empty() { (nothing(noun)) }
                    (cards::list(browse.packages))
                    (next_page(next.as_deref()))
                }
                (namespaces(browse.namespaces, browse.namespaces_after, browse.kind))
            }
        }
    };
    let description = format!("All {noun} of {}.", site.hostname);
    let page = Page {
        title,
        description: &description,
        path: Some(path),
        feed: Some(PageRoute::Feed(FeedScope::Registry).to_string()),
        ..Page::default()
    };
    page.render(site, &body)
}

/// Returns the page of a namespace.
pub fn namespace(site: &Site, owner: &Owner, listed: &PackagePage) -> String {
    let title = owner.to_string();
    let path = owner_path(owner);
    let next = listed.next.as_deref();
    let next = next.map(|after| with_query(&path, &[("after", after)]));
    let of = |kind: PackageKind| {
        let packages = listed.packages.iter();
        let packages = packages.filter(|it| it.package.kind == kind).cloned();
        packages.collect::<Vec<_>>()
    };
    let body = html! {
        main.inner #page-content {
            p.over { "Namespace" }
            h1 { bdi { (title) } }
            @if listed.packages.is_empty() { (nothing("packages")) }
            (section("Modules", &of(PackageKind::Module)))
            (section("Providers", &of(PackageKind::Provider)))
            (next_page(next.as_deref()))
        }
    };
    let description = format!("Modules and providers of {title}.");
    let page = Page {
        title: &title,
        description: &description,
        path: Some(path),
        feed: Some(PageRoute::Feed(FeedScope::Namespace(owner.clone())).to_string()),
        ..Page::default()
    };
    page.render(site, &body)
}

/// Returns the namespaces after `after`, beside other lists. The page of the packages of `kind` has the next ones.
pub(super) fn namespaces(all: &[NamespaceView], after: &str, kind: PackageKind) -> Markup {
    let following = all.iter().filter(|it| *it.namespace > *after);
    let shown: Vec<_> = following.take(SHOWN_NAMESPACES).collect();
    let last = all.last().map(|it| &it.namespace);
    let next = shown.last().map(|it| &it.namespace);
    let next = next.filter(|it| Some(*it) != last).map(|after| {
        let path = PageRoute::Browse(kind).to_string();
        let list = with_query(&path, &[(NAMESPACES_AFTER, after)]);
        format!("{list}#page-namespaces")
    });
    html! {
        @if !shown.is_empty() {
            section.namespaces {
                h2 #page-namespaces { "Namespaces" }
                ul { @for view in shown { li { (namespace_entry(view)) } } }
                @if let Some(next) = next { p.pager { a.button href=(next) rel="next" { "More namespaces" } } }
            }
        }
    }
}

fn namespace_entry(view: &NamespaceView) -> Markup {
    html! {
        @match Owner::parse_key(&view.namespace) {
            Some(owner) => a href=(owner_path(&owner)) { (address(&view.namespace)) },
            None => bdi { (view.namespace) },
        }
        " " span.count { (view.modules.saturating_add(view.providers)) }
    }
}

fn section(title: &'static str, packages: &[ListedPackage]) -> Markup {
    html! {
        @if !packages.is_empty() {
            section {
                h2 { (title) }
                (cards::list(packages))
            }
        }
    }
}

fn nothing(noun: &'static str) -> Markup {
    html! {
        div.empty {
            p { "There are no " (noun) " here yet, or none that you may see. " (RECENT) }
            (code::block("the command", "terrace publish --help\n"))
        }
    }
}

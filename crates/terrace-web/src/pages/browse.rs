//! Lists of packages: by kind, and of a namespace.

use maud::{Markup, html};
use terrace_core::api::details::{ListedPackage, NamespaceView, PackageKind, PackagePage};
use terrace_core::api::route::{FeedScope, PageRoute};
use terrace_core::model::owner::Owner;

use crate::links::{owner_path, with_query};
use crate::parts::layout::Page;
use crate::parts::{address, cards, code, next_page};
use crate::site::Site;

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
                (namespaces(browse.namespaces))
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

/// Returns the list of namespaces beside other lists.
pub(super) fn namespaces(namespaces: &[NamespaceView]) -> Markup {
    html! {
        @if !namespaces.is_empty() {
            section.namespaces {
                h2 { "Namespaces" }
                ul {
                    @for view in namespaces {
                        li {
                            @match Owner::parse_key(&view.namespace) {
                                Some(owner) => a href=(owner_path(&owner)) { (address(&view.namespace)) },
                                None => bdi { (view.namespace) },
                            }
                            " " span.count { (view.modules.saturating_add(view.providers)) }
                        }
                    }
                }
            }
        }
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
            p { "There are no " (noun) " here that you can see." }
            (code::block("the command", "terrace publish --help\n"))
        }
    }
}

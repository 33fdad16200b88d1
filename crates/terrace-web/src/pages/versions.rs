//! The lists of a package's versions, and of the packages that call it.

use maud::{Markup, html};
use terrace_core::api::details::{PackageDetails, UsedByPage, VersionSummary};
use terrace_core::api::route::PageRoute;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use crate::links::{VERSIONS_AFTER, version_path, with_query};
use crate::parts::layout::Page;
use crate::parts::package_head::{Section, crumbs, feed, is_withdrawn, name, sections};
use crate::parts::{banner, cards, label, next_page, state_label, time};
use crate::site::Site;
use terrace_core::limits::SHOWN_VERSIONS;

/// Returns the list of a package's versions: those after `after`, or the newest ones.
pub fn versions(
    site: &Site,
    package: &Package,
    details: &PackageDetails,
    after: Option<&Version>,
) -> String {
    let path = PageRoute::Versions(package.clone()).to_string();
    let all = &details.versions;
    let last = all.iter().position(|it| Some(&it.version) == after);
    let start = last.map_or(0, |at| at.saturating_add(1));
    let end = start.saturating_add(SHOWN_VERSIONS);
    let next = all.get(end).and_then(|_| all.get(end.checked_sub(1)?));
    let next = next.map(|last| with_query(&path, &[(VERSIONS_AFTER, &last.version.to_string())]));
    let contents = html! {
        div.heading-row {
            h2 #page-versions { "Versions " span.count { (details.versions.len()) } }
            a.button href=(feed(package)) { "Atom feed" }
        }
        (banner::of_package(details.status.as_ref()))
        (without_recommendation(details))
        div.scroll tabindex="0" role="region" aria-labelledby="page-versions" {
            table.versions {
                thead { tr { th scope="col" { "Version" } th scope="col" { "Published" } th scope="col" { "Status" } th scope="col" { span.hidden { "Compare" } } } }
                tbody {
                    @for (at, version) in all.iter().enumerate().take(end).skip(start) {
                        (row(package, details, version, all.get(at.saturating_add(1))))
                    }
                }
            }
        }
        (next_page(next.as_deref()))
    };
    let title = format!("Versions of {}", package.address());
    package_page(site, package, Section::Versions, &title, path, &contents)
}

/// Returns the list of the modules that use a package.
pub fn used_by(site: &Site, package: &Package, listed: &UsedByPage) -> String {
    let path = PageRoute::UsedBy(package.clone()).to_string();
    let next = listed.next.as_deref();
    let next = next.map(|after| with_query(&path, &[("after", after)]));
    let address = package.address();
    let contents = html! {
        h2 { "Used by" }
        @if listed.packages.is_empty() {
            p { "No module that you may see uses " bdi { (address) } ". Only the newest documented version of each module counts." }
        } @else {
            p { "The newest documented versions of these modules use " bdi { (address) } ". Older versions do not count." }
            (cards::list(&listed.packages))
        }
        (next_page(next.as_deref()))
    };
    let title = format!("Modules that use {address}");
    package_page(site, package, Section::UsedBy, &title, path, &contents)
}

/// Returns a notice if readers should use none of the versions.
fn without_recommendation(details: &PackageDetails) -> Markup {
    let text = match &details.latest {
        None => "No version can be installed: all are revoked.",
        Some(latest) if is_withdrawn(&details.versions, latest) => {
            "No version should be adopted: all are withdrawn or revoked."
        }
        Some(_) => return html! {},
    };
    banner::notice("bad", &html! { p { strong { (text) } } })
}

/// Returns a page about more than one version of a package.
pub(super) fn package_page(
    site: &Site,
    package: &Package,
    section: Section,
    title: &str,
    path: String,
    contents: &Markup,
) -> String {
    let newest = PageRoute::Package(package.clone()).to_string();
    let body = html! {
        main {
            div.package-head {
                div.inner {
                    (crumbs(package))
                    div.title { h1 dir="auto" { (name(package)) } }
                    (sections(package, newest, section, None))
                }
            }
            div.inner.content #page-content tabindex="-1" { (contents) }
        }
    };
    let page = Page {
        title,
        path: Some(path),
        // The list of the packages that use it is no list of its versions.
        feed: (section != Section::UsedBy).then(|| feed(package)),
        class: "package",
        ..Page::default()
    };
    page.render(site, &body)
}

fn row(
    package: &Package,
    details: &PackageDetails,
    listed: &VersionSummary,
    before: Option<&VersionSummary>,
) -> Markup {
    let is_latest = details.latest.as_ref() == Some(&listed.version);
    let compared = |before: &Version| {
        PageRoute::Comparison(package.clone(), before.clone(), listed.version.clone())
    };
    html! {
        tr {
            th scope="row" { a href=(version_path(package, &listed.version)) { bdi { (listed.version) } } }
            td { @if let Some(at) = &listed.published_at { (time(at)) } @else { "–" } }
            td {
                @if is_latest { (label("good", "latest")) " " }
                @if let Some(status) = &listed.status { (state_label(status.state)) " " span.reason dir="auto" { (status.reason) } }
            }
            td.number { @if let Some(before) = before { a href=(compared(&before.version)) { "changes since " bdi { (before.version) } } } }
        }
    }
}

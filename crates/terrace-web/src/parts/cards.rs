//! Packages in lists.

use maud::{Markup, html};
use terrace_core::api::details::{ListedPackage, PackageName};
use terrace_core::model::package::PackageKind;

use super::{address, icons, label, state_label, time};
use crate::links::{listed_path, package_path};
use crate::text::counted;

/// Returns a list of packages.
pub(crate) fn list(packages: &[ListedPackage]) -> Markup {
    html! {
        ul.cards {
            @for package in packages {
                li.card { (card(package, &address(&package.package.address), &described(package))) }
            }
        }
    }
}

/// Returns the contents of a package's card, with its name and description as markup.
pub(crate) fn card(listed: &ListedPackage, name: &Markup, description: &Markup) -> Markup {
    html! {
        h3 { (kind_icon(&listed.package)) a href=(package_path(&listed.package)) { (name) } }
        (description)
        p.meta {
            a.version href=(listed_path(listed)) { bdi { (listed.latest) } }
            @if let Some(at) = &listed.published_at { span { (time(at)) } }
            span { (counted(usize::try_from(listed.versions).unwrap_or_default(), "version")) }
            @if let Some(state) = listed.state { (state_label(state)) }
            @if !listed.is_documented { (label("quiet", "no documentation")) }
        }
    }
}

/// Returns the icon of a package's kind, and its name for screen readers.
pub(crate) fn kind_icon(package: &PackageName) -> Markup {
    match package.kind {
        PackageKind::Module => html! { (icons::module()) span.hidden { "Module " } },
        PackageKind::Provider => html! { (icons::provider()) span.hidden { "Provider " } },
    }
}

fn described(listed: &ListedPackage) -> Markup {
    html! {
        @if !listed.description.is_empty() { p dir="auto" { (listed.description) } }
    }
}

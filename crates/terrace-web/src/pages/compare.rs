//! The comparison of two versions.

use maud::{Markup, html};
use terrace_core::api::details::VersionSummary;
use terrace_core::api::route::PageRoute;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use super::versions::package_page;
use crate::comparison::{Change, ChangeKind, ComparedSection, Comparison, FieldChange};
use crate::links::{BREAKING, SHOWN_CHANGES, version_path, with_query};
use crate::parts::label;
use crate::parts::package_head::Section;
use crate::parts::room::Room;
use crate::site::Site;
use crate::text::counted;
use terrace_core::limits::SHOWN_VERSIONS;

/// The lines of a property that is shown whole at once.
const LINES: usize = 8;

/// Two versions, and their differences.
#[derive(Debug, Clone, Copy)]
pub struct ComparedVersions<'a> {
    /// The older version.
    pub from: &'a Version,
    /// The newer version.
    pub to: &'a Version,
    /// The differences; `None` if one of the versions has no documentation.
    pub comparison: Option<&'a Comparison>,
    /// Whether only the differences that may break configurations are shown.
    pub is_only_breaking: bool,
}

/// Returns the page that compares two versions, or asks for them.
pub fn comparison(
    site: &Site,
    package: &Package,
    versions: &[VersionSummary],
    compared: Option<&ComparedVersions<'_>>,
) -> String {
    let path = match compared {
        Some(it) => PageRoute::Comparison(package.clone(), it.from.clone(), it.to.clone()),
        None => PageRoute::ComparisonForm(package.clone()),
    };
    let title = match compared {
        Some(it) => format!("{} {} to {}", package.address(), it.from, it.to),
        None => format!("Compare versions of {}", package.address()),
    };
    let contents = html! {
        h2 {
            @match compared {
                Some(it) => { "Changes from " bdi { (it.from) } " to " bdi { (it.to) } },
                None => "Compare two versions",
            }
        }
        (form(package, versions, compared))
        @if let Some(it) = compared { (differences(package, it)) }
    };
    let path = path.to_string();
    package_page(site, package, Section::Comparison, &title, path, &contents)
}

fn form(
    package: &Package,
    versions: &[VersionSummary],
    compared: Option<&ComparedVersions<'_>>,
) -> Markup {
    let newest = versions.first().map(|it| &it.version);
    let before = versions.get(1).map(|it| &it.version).or(newest);
    let (from, to) = match compared {
        Some(it) => (Some(it.from), Some(it.to)),
        None => (before, newest),
    };
    let choice = |name: &str, text: &str, chosen: Option<&Version>| {
        let newest = versions.iter().map(|it| &it.version);
        let mut listed: Vec<&Version> = newest.take(SHOWN_VERSIONS).collect();
        listed.extend(chosen.filter(|chosen| !listed.contains(chosen)));
        html! {
            label {
                span { (text) }
                select name=(name) {
                    @for it in listed { option value=(it) selected[Some(it) == chosen] { (it) } }
                }
            }
        }
    };
    html! {
        form.refine action=(PageRoute::ComparisonForm(package.clone())) {
            (choice("from", "From", from))
            (choice("to", "To", to))
            button.button.primary type="submit" { "Compare" }
        }
        @if versions.len() > SHOWN_VERSIONS {
            p.small {
                "These are the newest " (SHOWN_VERSIONS) " versions. The "
                a href=(PageRoute::Versions(package.clone())) { "list of all versions" } " leads to the changes of older ones."
            }
        }
    }
}

fn differences(package: &Package, compared: &ComparedVersions<'_>) -> Markup {
    let Some(comparison) = compared.comparison else {
        return html! {
            p.empty { "One of these versions has no documentation, so they cannot be compared. Its publisher can add it with " code { "terrace docs add" } "." }
        };
    };
    let breaking = comparison.breaking();
    let all = comparison.sections.iter().map(|it| it.changes.len()).sum();
    let mut shown = comparison.clone();
    if compared.is_only_breaking {
        shown.retain_breaking();
    }
    let room = Room::new();
    html! {
        (verdict(compared, comparison, breaking))
        @if breaking > 0 && breaking < all { (choice(package, compared, breaking, all)) }
        @if shown.sections.len() > 1 { (totals(&shown.sections)) }
        @for (at, section) in shown.sections.iter().enumerate() {
            section.changes #{ "page-changes-" (at) } {
                h3 { (section.title) " " span.count { (section.changes.len()) } }
                ul { (room.rows(&section.changes, |it| change(package, compared, it))) }
            }
        }
        (room.notice())
    }
}

fn verdict(compared: &ComparedVersions<'_>, comparison: &Comparison, breaking: usize) -> Markup {
    let is_equal = comparison.sections.is_empty();
    html! {
        @if breaking > 0 {
            div.notice.warn role="note" { p { strong { (counted(breaking, "change")) } " may break configurations that work with " bdi { (compared.from) } "." } }
        }
        @if comparison.compares_names {
            div.notice.info role="note" {
                p { "Only the names of resources, data sources and the like were compared, because one of these versions was published without its schema: arguments may have changed." }
            }
        } @else if is_equal {
            p.empty { "The documented interfaces of these versions are equal." }
        } @else if breaking == 0 {
            div.notice.info role="note" { p { "No change of the documented interface needs a change of configurations." } }
        }
        @if comparison.compares_names && is_equal { p.empty { "The names are the same." } }
    }
}

/// Returns the links to all changes and to those that may break configurations.
fn choice(
    package: &Package,
    compared: &ComparedVersions<'_>,
    breaking: usize,
    all: usize,
) -> Markup {
    let (from, to) = (compared.from.clone(), compared.to.clone());
    let path = PageRoute::Comparison(package.clone(), from, to).to_string();
    let link = |query: &[(&str, &str)], text: &str, count: usize, is_current: bool| {
        html! { a href=(with_query(&path, query)) aria-current=[is_current.then_some("true")] { (text) " " span.count { (count) } } }
    };
    let is_only = compared.is_only_breaking;
    html! {
        p.choice {
            (link(&[], "All changes", all, !is_only)) " "
            (link(&[(SHOWN_CHANGES, BREAKING)], "Only what may break", breaking, is_only))
        }
    }
}

fn totals(sections: &[ComparedSection]) -> Markup {
    html! {
        ul.totals {
            @for (at, section) in sections.iter().enumerate() {
                li { a href={ "#page-changes-" (at) } { (section.title) } ": " (section.summary()) }
            }
        }
    }
}

fn change(package: &Package, compared: &ComparedVersions<'_>, change: &Change) -> Markup {
    let (class, sign, word) = match change.kind {
        ChangeKind::Added => ("added", "+", "Added"),
        ChangeKind::Removed => ("removed", "−", "Removed"),
        ChangeKind::Changed => ("changed", "~", "Changed"),
        ChangeKind::Raised => ("changed", "↑", "Raised"),
    };
    let version = match change.kind {
        ChangeKind::Removed => compared.from,
        _ => compared.to,
    };
    let link = change.link.as_ref();
    let link = link.map(|link| format!("{}{link}", version_path(package, version)));
    let name = html! { code { bdi { (change.name) } } };
    html! {
        li.change.(class) {
            p {
                span.sign aria-hidden="true" { (sign) } span.hidden { (word) " " }
                @if let Some(link) = link { a href=(link) { (name) } } @else { (name) }
                @if change.kind == ChangeKind::Raised { " " (label("quiet", "newer version required")) }
                @if change.is_breaking { " " (label("warn", "may break")) }
            }
            @if !change.fields.is_empty() { dl { @for it in &change.fields { (field(it)) } } }
        }
    }
}

fn field(change: &FieldChange) -> Markup {
    let is_prose = matches!(change.field, "description" | "deprecated" | "title");
    let (old, new) = (change.old.as_deref(), change.new.as_deref());
    let is_long = [old, new]
        .into_iter()
        .flatten()
        .any(|it| it.lines().count() > LINES);
    html! {
        dt { (change.field) }
        dd.typed[!is_prose] {
            @if is_long {
                details { summary { (values(old.and_then(first), new.and_then(first))) " …" } (values(old, new)) }
            } @else { (values(old, new)) }
        }
    }
}

fn first(text: &str) -> Option<&str> {
    text.trim().lines().next()
}

fn values(old: Option<&str>, new: Option<&str>) -> Markup {
    html! {
        @if let Some(old) = old { del dir="auto" { (old) } }
        @if old.is_some() && new.is_some() { span.arrow aria-hidden="true" { " → " } }
        @if let Some(new) = new { ins dir="auto" { (new) } }
    }
}

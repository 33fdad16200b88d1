//! The comparison of two versions.

use maud::{Markup, html};
use terrace_core::api::details::VersionSummary;
use terrace_core::api::route::PageRoute;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use super::versions::head;
use crate::comparison::{Change, ChangeKind, Comparison, FieldChange};
use crate::parts::label;
use crate::parts::layout::Page;
use crate::parts::package_head::{Section, feed};
use crate::parts::room::Room;
use crate::site::Site;
use crate::text::counted;
use terrace_core::limits::SHOWN_VERSIONS;

/// Two versions, and their differences.
#[derive(Debug, Clone, Copy)]
pub struct ComparedVersions<'a> {
    /// The older version.
    pub from: &'a Version,
    /// The newer version.
    pub to: &'a Version,
    /// The differences; `None` if one of the versions has no documentation.
    pub comparison: Option<&'a Comparison>,
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
    let body = html! {
        main {
        (head(package, Section::Comparison))
        div.inner.content #page-content tabindex="-1" {
            h2 {
                @match compared {
                    Some(it) => { "Changes from " bdi { (it.from) } " to " bdi { (it.to) } },
                    None => "Compare two versions",
                }
            }
            (form(package, versions, compared))
            @if let Some(it) = compared { (differences(it)) }
        }
        }
    };
    let page = Page {
        title: &title,
        path: Some(path.to_string()),
        feed: Some(feed(package)),
        class: "package",
        ..Page::default()
    };
    page.render(site, &body)
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

fn differences(compared: &ComparedVersions<'_>) -> Markup {
    let Some(comparison) = compared.comparison else {
        return html! {
            p.empty { "One of these versions has no documentation, so they cannot be compared. Its publisher can add it with " code { "terrace docs add" } "." }
        };
    };
    let breaking = comparison.breaking();
    let room = Room::new();
    html! {
        @if comparison.sections.is_empty() {
            p.empty { "The documented interfaces of these versions are equal." }
        } @else if breaking > 0 {
            div.notice.warn role="note" { p { strong { (counted(breaking, "change")) } " may break configurations that work with " bdi { (compared.from) } "." } }
        } @else {
            div.notice.info role="note" { p { "No change of the documented interface needs a change of configurations." } }
        }
        @for section in &comparison.sections {
            section.changes {
                h3 { (section.title) " " span.count { (section.changes.len()) } }
                ul { (room.rows(&section.changes, change)) }
            }
        }
        (room.notice())
    }
}

fn change(change: &Change) -> Markup {
    let (class, sign, word) = match change.kind {
        ChangeKind::Added => ("added", "+", "Added"),
        ChangeKind::Removed => ("removed", "−", "Removed"),
        ChangeKind::Changed => ("changed", "~", "Changed"),
    };
    html! {
        li.change.(class) {
            p {
                span.sign aria-hidden="true" { (sign) } span.hidden { (word) " " }
                code { bdi { (change.name) } }
                @if change.is_breaking { " " (label("warn", "may break")) }
            }
            @if !change.fields.is_empty() { dl { @for it in &change.fields { (field(it)) } } }
        }
    }
}

fn field(change: &FieldChange) -> Markup {
    html! {
        dt { (change.field) }
        dd {
            @if let Some(old) = &change.old { del dir="auto" { (old) } }
            @if change.old.is_some() && change.new.is_some() { span.arrow aria-hidden="true" { " → " } }
            @if let Some(new) = &change.new { ins dir="auto" { (new) } }
        }
    }
}

//! Notices at the top of a page.

use maud::{Markup, html};
use terrace_core::api::details::StatusView;
use terrace_core::model::status::ReleaseState;
use terrace_core::model::version::Version;

use super::package_head::Release;
use super::time;
use crate::links::version_path;

/// Returns a notice. `class` is `info`, `warn` or `bad`.
pub(crate) fn notice(class: &'static str, body: &Markup) -> Markup {
    html! { div.notice.(class) role="note" { (body) } }
}

/// Returns the notice below a text without its end.
pub(crate) fn cut_text() -> Markup {
    let body = html! { p { "This page is longer than a page may be, and was cut. Its Markdown has more." } };
    notice("warn", &body)
}

/// Returns the text in place of the documentation of a version that has none.
pub(crate) fn undocumented() -> Markup {
    html! {
        p.empty { "This version was published without documentation. Its publisher can add it with " code { "terrace docs add" } "." }
    }
}

/// Returns the notices about a version: its status, that of its package, and a newer version. `link` is the path that
/// leads to the newest version; without it, the page of that version.
pub(crate) fn of_version(release: &Release<'_>, link: Option<String>) -> Markup {
    let Release {
        package, details, ..
    } = *release;
    let newer = release.alternative().map(|latest| {
        let path = link.unwrap_or_else(|| version_path(package, latest));
        (latest, path)
    });
    html! {
        (of_package(details.package_status.as_ref()))
        @match (&details.version.status, &newer) {
            (Some(status), newer) => (of_status("version", status, &instead(status.state, newer.as_ref()))),
            (None, Some((latest, path))) => (notice("info", &newer_version(release, latest, path))),
            (None, None) => {},
        }
    }
}

/// Returns the notice about the status of a package, if it has one.
pub(crate) fn of_package(status: Option<&StatusView>) -> Markup {
    html! { @if let Some(status) = status { (of_status("package", status, &html! {})) } }
}

/// Returns the version to use in place of one with a status.
fn instead(state: ReleaseState, newer: Option<&(&Version, String)>) -> Markup {
    html! {
        @match newer {
            Some((latest, path)) => p { a href=(path) { "Use version " (latest) } " instead." },
            None => @if state != ReleaseState::Deprecated {
                p { "There is no version to use instead: all are withdrawn or revoked." }
            },
        }
    }
}

fn newer_version(release: &Release<'_>, latest: &Version, path: &str) -> Markup {
    let is_older = release.details.version.version < *latest;
    html! {
        p {
            @if is_older { strong { "This is not the newest version." } " " }
            @else { strong { "This is a preview." } " The newest release is another: " }
            a href=(path) { "Version " (latest) } @if is_older { " is available." } @else { "." }
        }
    }
}

fn of_status(what: &'static str, status: &StatusView, instead: &Markup) -> Markup {
    let (class, verdict) = match status.state {
        ReleaseState::Deprecated => ("warn", "is deprecated."),
        ReleaseState::Withdrawn => ("bad", "is withdrawn: do not adopt it."),
        ReleaseState::Revoked => ("bad", "is revoked and cannot be installed."),
        ReleaseState::Blocked => ("bad", "is blocked by the operator of this registry."),
    };
    notice(
        class,
        &html! {
            p { strong { "This " (what) " " (verdict) } " " bdi { (status.reason) } }
            (instead)
            p.small { "Since " (time(&status.at)) }
        },
    )
}

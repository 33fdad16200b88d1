//! Notices at the top of a page.

use maud::{Markup, html};
use terrace_core::api::details::{StatusView, VersionDetails};
use terrace_core::model::package::Package;
use terrace_core::model::status::ReleaseState;
use terrace_core::model::version::Version;

use super::time;
use crate::links::version_path;

/// Returns a notice. `class` is `info`, `warn` or `bad`.
pub(crate) fn notice(class: &'static str, body: &Markup) -> Markup {
    html! { div.notice.(class) role="note" { (body) } }
}

/// Returns the notices about a version: its status, that of its package, and a newer version.
pub(crate) fn of_version(
    package: &Package,
    details: &VersionDetails,
    link: Option<&str>,
) -> Markup {
    let newer = details.latest.as_ref();
    let newer = newer.filter(|latest| **latest != details.version.version);
    let path = newer.map(|latest| match link {
        Some(link) => link.to_owned(),
        None => version_path(package, latest),
    });
    let instead = html! {
        @if let (Some(latest), Some(path)) = (newer, &path) {
            p { a href=(path) { "Use version " (latest) } " instead." }
        }
    };
    html! {
        @if let Some(status) = &details.package_status {
            (of_status("package", status, &html! {}))
        }
        @match &details.version.status {
            Some(status) => (of_status("version", status, &instead)),
            None => @if let (Some(latest), Some(path)) = (newer, &path) {
                (notice("info", &newer_version(details, latest, path)))
            },
        }
    }
}

fn newer_version(details: &VersionDetails, latest: &Version, path: &str) -> Markup {
    let is_older = details.version.version < *latest;
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

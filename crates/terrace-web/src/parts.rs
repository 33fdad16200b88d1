//! Parts that several pages share.

pub(crate) mod banner;
pub(crate) mod cards;
pub(crate) mod code;
pub(crate) mod icons;
pub(crate) mod layout;
pub(crate) mod package_head;
pub(crate) mod room;
pub(crate) mod tabs;
pub(crate) mod tree;

use maud::{Markup, PreEscaped, html};
use terrace_core::model::status::ReleaseState;

use crate::markdown::Rendered;
use crate::text::{date, state_name};

/// Returns a rendered document as a part of a template. The Markdown writer has written every element in it.
pub(crate) fn prose(rendered: &Rendered) -> Markup {
    PreEscaped(rendered.html.clone())
}

/// Returns the date of a time in RFC 3339, with the whole time for machines and on hover.
pub(crate) fn time(text: &str) -> Markup {
    html! { time datetime=(text) title=(text) { (date(text)) } }
}

/// Returns a short label with a meaning: `deprecated`, `withdrawn`, `revoked` or `blocked`.
pub(crate) fn state_label(state: ReleaseState) -> Markup {
    let class = match state {
        ReleaseState::Deprecated => "warn",
        ReleaseState::Withdrawn | ReleaseState::Revoked | ReleaseState::Blocked => "bad",
    };
    label(class, state_name(state))
}

/// Returns a short label in the colour of `class`.
pub(crate) fn label(class: &'static str, text: &str) -> Markup {
    html! { span.label.(class) { (text) } }
}

/// Returns the link to the next page of a list, if there is one.
pub(crate) fn next_page(link: Option<&str>) -> Markup {
    html! {
        @if let Some(link) = link {
            p.pager { a.button href=(link) rel="next" { "Next page" } }
        }
    }
}

/// Returns an address that may break after each slash.
pub(crate) fn address(text: &str) -> Markup {
    html! {
        bdi {
            @for (at, part) in text.split('/').enumerate() {
                @if at > 0 { "/" wbr; }
                (part)
            }
        }
    }
}

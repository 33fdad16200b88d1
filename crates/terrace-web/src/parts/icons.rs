//! Icons, drawn with strokes in the colour of the text around them. They repeat the text beside them, and are hidden from
//! screen readers.

use maud::{Markup, html};

/// Returns an icon of one path in a square of 16 units.
fn icon(path: &'static str) -> Markup {
    html! {
        svg.icon viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false" { path d=(path) {} }
    }
}

/// A magnifying glass.
pub(crate) fn search() -> Markup {
    icon("M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3 3")
}

/// An arrow out of a box: a link that leaves the registry.
pub(crate) fn external() -> Markup {
    icon("M6.5 3.5h-3v9h9v-3M9 3h4v4M13 3 7.5 8.5")
}

/// A box with a lid: a module.
pub(crate) fn module() -> Markup {
    icon("M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.7 5 8 8.2 13.3 5M8 8.2v6")
}

/// A plug: a provider.
pub(crate) fn provider() -> Markup {
    icon("M6 2v3M10 2v3M4 5h8v3a4 4 0 0 1-8 0zM8 12v2.5")
}

/// A tick in a shield: a verified origin.
pub(crate) fn verified() -> Markup {
    icon("M8 1.8 13 3.6v4c0 3-2 5.2-5 6.6-3-1.4-5-3.6-5-6.6v-4zM5.8 8l1.6 1.6 3-3.2")
}

/// Three lines: the switch of a navigation.
pub(crate) fn menu() -> Markup {
    icon("M2.5 4.5h11M2.5 8h11M2.5 11.5h7")
}

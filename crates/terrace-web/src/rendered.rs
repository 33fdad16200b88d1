//! Text of documents, as HTML that is safe to show.

use maud::{Markup, PreEscaped};

use crate::markdown::{self, Heading};

/// A document as HTML, borrowed from the Markdown writer's [`Rendered`](markdown::Rendered).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rendered<'a> {
    /// HTML of allowed elements and attributes only. It is written into pages as it is.
    pub html: &'a str,
    /// The headings that have an ID, in the order of the document.
    pub contents: &'a [Heading],
}

impl Rendered<'_> {
    /// Returns the HTML as a part of a template.
    pub(crate) fn markup(&self) -> Markup {
        PreEscaped(self.html.to_owned())
    }
}

impl<'a> From<&'a markdown::Rendered> for Rendered<'a> {
    fn from(rendered: &'a markdown::Rendered) -> Self {
        Self {
            html: &rendered.html,
            contents: &rendered.contents,
        }
    }
}

//! Markdown from strangers as HTML.
//!
//! The dialect is that of GitHub, with the callouts of Terraform's registry (`-> `, `~> `, `!> `). The parser's events
//! go through `writer`, which writes elements by `tree`: the only place that writes tags.
//!
//! # Rules
//! - **Elements** are those of `element.rs`, and `br`, `hr`, `span` and `code`. Raw HTML is parsed and written again;
//!   unknown start tags are shown as text. The result is balanced, and nested as HTML's parser would nest it.
//! - **Attributes** are `class` (values of this crate), `id`, `href`, `rel`, `title`, `start`, `colspan`, `rowspan`, `open`,
//!   `tabindex` and `role`.
//! - **Images** are links to them, because browsers of readers contact no other host.
//! - **URLs** have the schemes `https`, `http` or `mailto`, or are paths that the caller has resolved. Links to other
//!   sites have `rel="nofollow noopener"`.
//! - **Ids** are GitHub's slugs, so that links known from elsewhere work. Ids that begin with [`RESERVED_ID`] belong to the page
//!   around the document, those that begin with `fn-` to footnotes. A document's own get [`ESCAPED_ID`] in front.

mod attributes;
mod autolink;
mod callout;
mod element;
mod entity;
mod ids;
mod links;
mod raw;
mod raw_html;
mod repository;
mod tables;
mod target;
mod tree;
mod writer;

pub use ids::{ESCAPED_ID, RESERVED_ID};
pub use links::{DocumentationLinks, ModuleLinks};
pub use repository::Repository;

use crate::limits;
use writer::Writer;

/// The wishes of the page around a document.
#[derive(Clone, Copy)]
pub struct Options<'o> {
    /// The meaning of links.
    pub links: &'o dyn Links,
    /// The level of a document's first-level headings, 1 to 6. The page has `h1`, so a document begins with 2.
    pub first_level: u8,
}

/// The place that a link or an image leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A page.
    Link,
    /// An image.
    Image,
}

/// The meaning of links of a document.
pub trait Links {
    /// Returns the URL of a target as written: a relative reference, or a URL with `http` or `https`. The result is a path
    /// that begins with one slash, or a URL. `None` leaves a URL as it is, and makes the link of a relative reference plain
    /// text.
    fn resolve(&self, target: &str, kind: TargetKind) -> Option<String>;
}

/// Links of documents at an unknown place: relative references lead nowhere.
#[derive(Debug, Clone, Copy)]
pub struct NoLinks;

impl Links for NoLinks {
    fn resolve(&self, _target: &str, _kind: TargetKind) -> Option<String> {
        None
    }
}

/// A document as HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The HTML, for an element that may contain blocks.
    pub html: String,
    /// The headings in their order, at most [`limits::HEADINGS`].
    pub contents: Vec<Heading>,
    /// Whether the end is missing, because the document or its HTML is too long.
    pub is_truncated: bool,
}

/// A heading in a table of contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// The level of its element, 1 to 6.
    pub level: u8,
    /// Its id, without `#`: letters, digits, dashes and underscores.
    pub id: String,
    /// Its text, without markup and not escaped.
    pub text: String,
}

/// Renders a document, at most [`limits::DOCUMENT_BYTES`] of it.
pub fn render(source: &str, options: &Options<'_>) -> Rendered {
    let end = source.floor_char_boundary(limits::DOCUMENT_BYTES);
    let kept = source.get(..end).unwrap_or(source);
    let separated = tables::separated(kept, writer::DIALECT);
    let mut rendered = Writer::new(&separated, options).write();
    rendered.is_truncated |= kept.len() < source.len();
    rendered
}

#[cfg(test)]
mod tests;

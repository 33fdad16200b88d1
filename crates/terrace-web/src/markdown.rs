//! Markdown from strangers as HTML.
//!
//! The dialect is that of GitHub, with the callouts of Terraform's registry (`-> `, `~> `, `!> `). The parser's events
//! go through `writer`, which writes elements by `tree`: the only place that writes tags.
//!
//! # Rules
//! - **Elements** are those of `element.rs`, and `br`, `hr`, `img`, `span` and `code`. Raw HTML is parsed and written again;
//!   unknown start tags are shown as text. The result is balanced, and nested as HTML's parser would nest it.
//! - **Attributes** are `class` (values of this crate), `id`, `href`, `rel`, `title`, `start`, `colspan`, `rowspan`, `open`,
//!   `tabindex`, `role`, and of images `src`, `alt` and `loading`.
//! - **Images** of the package are shown, and others are links, because browsers of readers contact no other host.
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

use std::borrow::Cow;

pub use ids::{ESCAPED_ID, RESERVED_ID};
pub use links::{DocumentationLinks, ModuleLinks};
pub use repository::Repository;

use crate::escape::push_text;
use crate::limits;
use writer::Writer;

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
    /// Whether the sections that terraform-docs generated are left out.
    pub is_abridged: bool,
    /// Whether calls of the module itself in the code have its address in this registry.
    pub has_own_sources: bool,
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

/// Renders a document, at most [`limits::DOCUMENT_BYTES`] of it. Its headings begin at the second level: the page has `h1`.
pub fn render(source: &str, links: &dyn Links) -> Rendered {
    let end = source.floor_char_boundary(limits::DOCUMENT_BYTES);
    let kept = source.get(..end).unwrap_or(source);
    let separated = tables::separated(kept, writer::DIALECT);
    let mut rendered = Writer::new(&separated, links).write();
    rendered.is_truncated |= kept.len() < source.len();
    rendered
}

/// Renders the description of a part of a page, such as an input: without headings and ids, and with its lines as written.
pub(crate) fn description(source: &str) -> String {
    line(source.trim()).unwrap_or_else(|| blocks(source))
}

fn blocks(description: &str) -> String {
    let source = dedented(description);
    let mut writer = Writer::new(&source, &NoLinks);
    writer.is_description = true;
    writer.write().html
}

/// Renders a line of text that may have code in it, without the parser; `None` if it has other Markdown. A large module has
/// hundreds of such descriptions.
fn line(text: &str) -> Option<String> {
    if !text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '`' | '(')) {
        return None;
    }
    let mut html = "<p>".to_owned();
    let parts = text.split('`');
    let last = parts.clone().count() - 1;
    for (at, part) in parts.enumerate() {
        let is_code = at % 2 == 1;
        let is_line = match is_code {
            true => {
                at < last && !part.is_empty() && !part.contains(['\n', '\r']) && part.trim() == part
            }
            // Two marks in a row begin another kind of code.
            false => is_plain(part) && (!part.is_empty() || at == 0 || at == last),
        };
        if !is_line {
            return None;
        }
        html.push_str(if is_code { "<code>" } else { "" });
        push_text(&mut html, part);
        html.push_str(if is_code { "</code>" } else { "" });
    }
    html.push_str("</p>\n");
    Some(html)
}

/// Returns whether a text has no Markdown.
fn is_plain(text: &str) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let is_plain = |(at, byte): (usize, &u8)| match byte {
        b'*' | b'[' | b'<' | b'\\' | b'#' | b'~' | b'|' | b'&' | b'\n' | b'\r' => false,
        b':' => bytes.get(at + 1) != Some(&b'/'),
        b'_' => at > 0 && is_word(bytes.get(at - 1)) && is_word(bytes.get(at + 1)),
        _ => true,
    };
    bytes.iter().enumerate().all(is_plain)
}

/// Returns a text without the indentation that all its lines but the first share, which comes from the code around it.
fn dedented(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let indentation = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let others = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let shared = others.map(|line| indentation(&line)).min().unwrap_or(0);
    if shared == 0 {
        return Cow::Borrowed(text);
    }
    let lines = text.lines().enumerate().map(|(at, line)| match at {
        0 => line,
        _ => line.get(shared..).unwrap_or_default(),
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests;

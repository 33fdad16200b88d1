//! One-line descriptions for the catalogue.
//!
//! A README begins with headings, badges and tables of contents; its first paragraph of prose describes the module. The
//! text is plain: Markdown for emphasis, code and links, tags of HTML and character references are removed, without a whole
//! parser of Markdown. The descriptions of providers follow the same rules.

use std::borrow::Cow;

use crate::limits;
use terrace_base::untrusted::is_unprintable;

/// Maximum length of the beginning of a paragraph in which a README's description is sought, in bytes: badges before the
/// prose may be long. It also bounds the time that unclosed brackets and tags take.
const README_PARAGRAPH_BYTES: usize = 4 * 1024;

/// Maximum length of the label of a link in such a paragraph, with an image in it, in bytes. A badge has two URLs, of 100
/// to 200 bytes each.
const README_LABEL_BYTES: usize = 1_000;

/// Returns a text on one line, without unprintable characters, of at most
/// [`limits::CATALOG_DESCRIPTION_BYTES`]. A longer one is cut between words.
pub(super) fn one_line(text: &str) -> String {
    let printable: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .filter(|c| !is_unprintable(*c))
        .collect();
    let mut line = String::new();
    for word in printable.split(' ').filter(|word| !word.is_empty()) {
        let space = usize::from(!line.is_empty());
        if line.len() + space + word.len() + ELLIPSIS.len_utf8() > limits::CATALOG_DESCRIPTION_BYTES
        {
            line.push(ELLIPSIS);
            break;
        }
        if space > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// The last character of a text that was cut.
const ELLIPSIS: char = '…';

/// Returns the first paragraph of prose in a Markdown text; empty if there is none.
pub fn first_paragraph(markdown: &str) -> String {
    let mut blocks = Blocks::default();
    for line in markdown.lines() {
        if let Some(found) = blocks.add(line) {
            return found;
        }
    }
    blocks.end().unwrap_or_default()
}

/// The state of a reader of lines.
#[derive(Default)]
struct Blocks<'t> {
    /// The lines of the current paragraph.
    paragraph: Vec<&'t str>,
    bytes: usize,
    skipped: Skipped,
}

/// The kind of block that is being skipped.
#[derive(Default, PartialEq, Eq)]
enum Skipped {
    #[default]
    None,
    /// Code between fences of this text.
    Code(&'static str),
    /// An HTML comment.
    Comment,
    /// A list, a table, a quotation or HTML, up to the next empty line.
    Block,
}

impl<'t> Blocks<'t> {
    /// Adds a line. Returns the paragraph that it ends, if that is prose.
    fn add(&mut self, line: &'t str) -> Option<String> {
        let text = line.trim();
        match self.skipped {
            Skipped::Code(fence) => {
                if text.starts_with(fence) {
                    self.skipped = Skipped::None;
                }
                return None;
            }
            Skipped::Comment => {
                if text.contains("-->") {
                    self.skipped = Skipped::None;
                }
                return None;
            }
            Skipped::Block if !text.is_empty() => return None,
            Skipped::Block | Skipped::None => self.skipped = Skipped::None,
        }
        let is_underline = !text.is_empty()
            && (text.bytes().all(|byte| byte == b'=') || text.bytes().all(|byte| byte == b'-'));
        if is_underline {
            // The lines before it are a heading, or it is a rule.
            self.paragraph.clear();
            return None;
        }
        if let Some(skipped) = skipped_by(text, self.paragraph.is_empty()) {
            let found = self.end();
            self.skipped = skipped;
            return found;
        }
        if text.is_empty() || text.starts_with('#') {
            return self.end();
        }
        let left = README_PARAGRAPH_BYTES.saturating_sub(self.bytes);
        let end = text.floor_char_boundary(left);
        self.paragraph.extend(text.get(..end));
        self.bytes += end;
        None
    }

    /// Ends the current paragraph, and returns it if it is prose.
    fn end(&mut self) -> Option<String> {
        self.bytes = 0;
        let paragraph = std::mem::take(&mut self.paragraph).join(" ");
        let found = plain_line(&paragraph);
        found.chars().any(char::is_alphanumeric).then_some(found)
    }
}

/// Returns the kind of block that this line begins, if it is one to skip. Within a paragraph, only code and comments
/// begin one.
fn skipped_by(text: &str, is_first: bool) -> Option<Skipped> {
    for fence in ["```", "~~~"] {
        if text.starts_with(fence) {
            return Some(Skipped::Code(fence));
        }
    }
    if let Some(rest) = text.strip_prefix("<!--") {
        let is_open = !rest.contains("-->");
        return Some(if is_open {
            Skipped::Comment
        } else {
            Skipped::None
        });
    }
    let is_numbered = || {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < text.len() && (rest.starts_with(". ") || rest.starts_with(") "))
    };
    let is_block = ["- ", "* ", "+ ", "|", ">", "<"]
        .iter()
        .any(|start| text.starts_with(start))
        || is_numbered();
    let is_definition = || text.starts_with('[') && text.contains("]:");
    (is_first && (is_block || is_definition())).then_some(Skipped::Block)
}

/// The character references that descriptions have, apart from numbers.
const REFERENCES: [(&str, char); 10] = [
    ("amp", '&'),
    ("apos", '\''),
    ("copy", '©'),
    ("gt", '>'),
    ("hellip", '…'),
    ("lt", '<'),
    ("mdash", '—'),
    ("nbsp", ' '),
    ("ndash", '–'),
    ("quot", '"'),
];

/// Returns a paragraph of Markdown as plain text on one line.
pub(super) fn plain_line(paragraph: &str) -> String {
    let end = paragraph.floor_char_boundary(README_PARAGRAPH_BYTES);
    let links = without_links(paragraph.get(..end).unwrap_or(paragraph));
    one_line(&without_marks(&links))
}

/// Removes images and the targets of links.
fn without_links(text: &str) -> String {
    replaced(text, |rest| {
        if let Some((_, after)) = after_literal(rest) {
            return Some((rest.strip_suffix(after)?.into(), after));
        }
        if let Some((_, after)) = rest.strip_prefix('!').and_then(after_link) {
            return Some(("".into(), after));
        }
        let (label, after) = after_link(rest)?;
        // A badge is a link with an image as its label.
        let label = if label.starts_with("![") { "" } else { label };
        Some((label.into(), after))
    })
}

/// Removes emphasis, code marks, tags, character references and escapes.
fn without_marks(text: &str) -> String {
    replaced(text, |rest| {
        if let Some((c, after)) = after_reference(rest) {
            return Some((c.to_string().into(), after));
        }
        let found = after_literal(rest).or_else(|| after_tag(rest));
        let (text, after) = found.or_else(|| Some(("", rest.strip_prefix(['*', '`'])?)))?;
        Some((text.into(), after))
    })
}

/// Returns a text in which `rule` replaces beginnings of the rest.
fn replaced<'t>(
    text: &'t str,
    rule: impl Fn(&'t str) -> Option<(Cow<'t, str>, &'t str)>,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let tail = rest.get(c.len_utf8()..).unwrap_or_default();
        match rule(rest) {
            Some((replacement, after)) => {
                out.push_str(&replacement);
                rest = after;
            }
            None => {
                out.push(c);
                rest = tail;
            }
        }
    }
    out
}

/// Returns the contents of the code span or the escape at the beginning of a text, and the text after it.
fn after_literal(text: &str) -> Option<(&str, &str)> {
    if let Some(escaped) = text.strip_prefix('\\') {
        let is_escaped = escaped.starts_with(|c: char| c.is_ascii_punctuation());
        return escaped.split_at_checked(1).filter(|_| is_escaped);
    }
    let inside = text.trim_start_matches('`');
    let mark = text.strip_suffix(inside).filter(|mark| !mark.is_empty())?;
    inside.split_once(mark)
}

/// Returns the character of the reference at the beginning of a text, and the text after it.
fn after_reference(text: &str) -> Option<(char, &str)> {
    let (name, after) = text.strip_prefix('&')?.split_once(';')?;
    let Some(number) = name.strip_prefix('#') else {
        let (_, c) = REFERENCES.into_iter().find(|(known, _)| *known == name)?;
        return Some((c, after));
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    Some((char::from_u32(code.ok()?)?, after))
}

/// Returns the text in place of the tag, comment or URL in angle brackets at the beginning of a text, and the text after
/// it.
fn after_tag(text: &str) -> Option<(&str, &str)> {
    if let Some(comment) = text.strip_prefix("<!--") {
        return Some(("", comment.split_once("-->")?.1));
    }
    let inside = text.strip_prefix('<')?;
    let mut quote = None;
    let end = inside.find(|c| match quote {
        Some(open) => {
            quote = quote.filter(|_| c != open);
            false
        }
        None => {
            quote = Some(c).filter(|c| matches!(c, '"' | '\''));
            c == '>'
        }
    });
    let (tag, after) = inside.split_at(end?);
    let after = after.strip_prefix('>')?;
    if tag.starts_with("https://") || tag.starts_with("http://") {
        return Some((tag, after));
    }
    let opened = tag.strip_prefix('/').unwrap_or(tag);
    let name = opened.split(|c: char| c == '/' || c.is_whitespace()).next();
    let name = name?.to_ascii_lowercase();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
    match name.as_str() {
        "br" | "hr" | "p" | "div" | "center" | "details" | "summary" | "h1" | "h2" | "h3"
        | "h4" | "h5" | "h6" | "ul" | "ol" | "li" | "table" | "tr" | "th" | "td" => {
            Some((" ", after))
        }
        "a" | "abbr" | "b" | "big" | "cite" | "code" | "del" | "em" | "font" | "i" | "img"
        | "ins" | "kbd" | "mark" | "picture" | "s" | "samp" | "small" | "source" | "span"
        | "strike" | "strong" | "sub" | "sup" | "tt" | "u" | "var" | "wbr" => Some(("", after)),
        // Others are placeholders, such as `<name>`, which nobody closes.
        _ => (opened.len() < tag.len() && is_name).then_some(("", after)),
    }
}

/// Returns the label of the link at the beginning of a text, and the text after the link; `None` if there is none.
fn after_link(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('[')?;
    let (label, after) = inner.split_at(closing(inner)?);
    let after = after.strip_prefix(']')?;
    let target = |open: char, close: char| {
        let target = after.strip_prefix(open)?;
        Some(target.split_once(close)?.1)
    };
    let after_target = target('(', ')').or_else(|| target('[', ']'));
    Some((label, after_target?))
}

/// Returns the position of the bracket that closes a label.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 0 => return Some(at),
            ']' => depth -= 1,
            _ if at > README_LABEL_BYTES => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_prose_of_a_readme_is_found() {
        for (markdown, paragraph) in [
            ("# VPC\n\nCreates a network.\n\nMore.", "Creates a network."),
            ("VPC\n===\nCreates\na network.\n", "Creates a network."),
            (
                "# AWS VPC Terraform module\n\n[![Build](https://x/b.svg)](https://x) ![Version](v.svg)\n\nTerraform module which creates **VPC** resources on `AWS`.",
                "Terraform module which creates VPC resources on AWS.",
            ),
            (
                "<!-- BEGIN -->\n<p align=\"center\">\n<img src=x>\n</p>\n\nSee [the guide](https://x/y) and [this][ref].",
                "See the guide and this.",
            ),
            (
                "<!--\nHidden.\n\nStill hidden.\n-->\n> [!NOTE]\n> A note.\n\n- a list\n  of things\n\n1. numbered\n\n| a | b |\n|---|---|\n\n```hcl\nmodule \"x\" {}\n\n```\n\nProse at last.",
                "Prose at last.",
            ),
            ("---\n\nAfter a rule.", "After a rule."),
            (
                "[ref]: https://example.com\n\nText\\_with an escape.",
                "Text_with an escape.",
            ),
            ("A paragraph\n```\ncode\n```", "A paragraph"),
            ("# Only a heading", ""),
            ("[![a](b)](c)\n", ""),
            ("", ""),
            ("snake_case_name stays", "snake_case_name stays"),
            ("[not a link] stays", "[not a link] stays"),
            (
                "First<br/>second line with <b>bold</b>, &nbsp; entity &amp; more",
                "First second line with bold, entity & more",
            ),
            (
                "The [<i>best</i> &#8211; &#x41;](x) <img alt=\"a > b\" src='x'><A HREF=\"y\">link</A></detalis>.<!-- no -->",
                "The best – A link.",
            ),
            (
                "Named <prefix>-<name>, `<b>&amp;[a](b)`, 1 < 2 & 3 > 2, \\<b> and \\&amp; &nope; <https://a.b/c>",
                "Named <prefix>-<name>, <b>&amp;[a](b), 1 < 2 & 3 > 2, <b> and &amp; &nope; https://a.b/c",
            ),
        ] {
            assert_eq!(first_paragraph(markdown), paragraph, "{markdown}");
        }
    }

    #[test]
    fn a_description_is_one_printable_line_within_its_limit() {
        assert_eq!(one_line(" a\n\u{1b}[31mb\u{202e}\tc "), "a [31mb c");
        let long = one_line(&"größer ".repeat(100));
        assert!(long.len() <= limits::CATALOG_DESCRIPTION_BYTES, "{long}");
        assert!(long.ends_with("größer…"), "{long}");
        assert_eq!(one_line(&"x".repeat(1_000)), "…");
    }

    /// A hostile README takes time in proportion to its length.
    #[test]
    fn unclosed_brackets_take_little_time() {
        let text = format!("x {}", "[![".repeat(100_000));
        assert!(first_paragraph(&text).starts_with('x'));
        for unclosed in ["[a](\n", "<b ", "<!--", "&", "`` ` "] {
            first_paragraph(&format!("x{}", unclosed.repeat(100_000)));
            plain_line(&unclosed.repeat(1_000_000));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s)[\\[\\]()!`#<>*&;/\\\\\\-\n a-zé]{0,200}") {
            let found = first_paragraph(&text);
            prop_assert!(found.len() <= limits::CATALOG_DESCRIPTION_BYTES);
            prop_assert!(!found.chars().any(|c| c == '\n'));
        }
    }
}

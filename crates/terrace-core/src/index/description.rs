//! One-line descriptions for the catalogue.
//!
//! A README begins with headings, badges and tables of contents; its first paragraph of prose describes the module. The
//! text is plain: Markdown for emphasis, code and links is removed, without a whole parser of Markdown.

use crate::limits;
use terrace_base::untrusted::is_unprintable;

/// Maximum length of the beginning of a paragraph in which a README's description is sought, in bytes: badges before the
/// prose may be long. It also bounds the time that unclosed brackets take.
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
pub(super) fn first_paragraph(markdown: &str) -> String {
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
        let found = one_line(&plain(&paragraph));
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

/// Removes emphasis, code marks, images and the targets of links.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let tail = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '!' if tail.starts_with('[') => match after_link(tail) {
                Some((_, after)) => rest = after,
                None => {
                    out.push(c);
                    rest = tail;
                }
            },
            '[' => match after_link(rest) {
                Some((label, after)) => {
                    out.push_str(&without_images(label));
                    rest = after;
                }
                None => {
                    out.push(c);
                    rest = tail;
                }
            },
            '*' | '`' => rest = tail,
            '\\' if tail.starts_with(|c: char| c.is_ascii_punctuation()) => {
                let escaped = tail.chars().next();
                out.extend(escaped);
                rest = tail.get(1..).unwrap_or_default();
            }
            _ => {
                out.push(c);
                rest = tail;
            }
        }
    }
    out
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

/// Returns the label of a link as text: a badge is a link with an image as its label.
fn without_images(label: &str) -> String {
    match label.starts_with("![") {
        true => String::new(),
        false => label.chars().filter(|c| !matches!(c, '*' | '`')).collect(),
    }
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
        let lines = "[a](\n".repeat(100_000);
        first_paragraph(&lines);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s)[\\[\\]()!`#<>*\\\\\\-\n a-zé]{0,200}") {
            let found = first_paragraph(&text);
            prop_assert!(found.len() <= limits::CATALOG_DESCRIPTION_BYTES);
            prop_assert!(!found.chars().any(|c| c == '\n'));
        }
    }
}

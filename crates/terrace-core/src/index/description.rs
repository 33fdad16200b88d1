//! One-line descriptions for the catalogue.
//!
//! A README begins with headings, badges and tables of contents; its first paragraph of prose describes the module. The
//! text is plain: emphasis, images, the targets of links and tags are left out. The descriptions of providers follow the same
//! rules.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::limits;
use terrace_base::untrusted::is_unprintable;

/// Maximum length of the beginning of a README that is parsed, in bytes: a definition of a link may be far behind the prose.
const README_BYTES: usize = 64 * 1024;

/// The last character of a text that was cut.
const ELLIPSIS: char = '…';

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

/// Returns the first paragraph of prose in a Markdown text; empty if there is none.
pub fn first_paragraph(markdown: &str) -> String {
    let mut nesting = 0_u32;
    let mut text = PlainText::default();
    for event in events(markdown) {
        match &event {
            Event::Start(Tag::List(_) | Tag::BlockQuote(_)) => nesting += 1,
            Event::End(TagEnd::List(_) | TagEnd::BlockQuote(_)) => {
                nesting = nesting.saturating_sub(1)
            }
            Event::Start(Tag::Paragraph) => text = PlainText::default(),
            Event::End(TagEnd::Paragraph) if nesting == 0 => {
                let line = one_line(&text.text);
                if line.chars().any(char::is_alphanumeric) {
                    return line;
                }
            }
            inline => text.add(inline),
        }
    }
    String::new()
}

/// Returns a Markdown text as plain text on one line.
pub(super) fn plain_line(markdown: &str) -> String {
    let mut text = PlainText::default();
    events(markdown).for_each(|event| text.add(&event));
    one_line(&text.text)
}

fn events(markdown: &str) -> Parser<'_> {
    let end = markdown.floor_char_boundary(README_BYTES);
    Parser::new_ext(
        markdown.get(..end).unwrap_or(markdown),
        Options::ENABLE_TABLES,
    )
}

/// The text of a paragraph so far.
#[derive(Default)]
struct PlainText {
    text: String,
    /// How many images contain the current place: their texts stand for them.
    images: u32,
}

impl PlainText {
    fn add(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(Tag::Image { .. }) => self.images += 1,
            Event::End(TagEnd::Image) => self.images = self.images.saturating_sub(1),
            Event::Text(text) | Event::Code(text) if self.images == 0 => self.text.push_str(text),
            Event::InlineHtml(tag) if !tag.to_ascii_lowercase().starts_with("<br") => {}
            Event::SoftBreak
            | Event::HardBreak
            | Event::InlineHtml(_)
            | Event::End(TagEnd::Paragraph) => {
                self.text.push(' ');
            }
            _ => {}
        }
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
                "<!-- BEGIN -->\n<p align=\"center\">\n<img src=x>\n</p>\n\nSee [the guide](https://x/y) and [this][ref].\n\n[ref]: https://x",
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
                "Named -, <b>&amp;[a](b), 1 < 2 & 3 > 2, <b> and &amp; &nope; https://a.b/c",
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

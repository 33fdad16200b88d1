//! The lexer of raw HTML. It finds tags and comments; all other text is text, character references included.

use crate::limits;

/// A part of raw HTML.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Text(&'t str),
    Comment,
    /// An opening tag.
    Open(Tag<'t>),
    /// A closing tag.
    Close(Tag<'t>),
}

/// A tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag<'t> {
    /// The tag as written.
    pub(super) source: &'t str,
    /// The name as written.
    pub(super) name: &'t str,
    attributes: Vec<(&'t str, &'t str)>,
}

impl<'t> Tag<'t> {
    /// Returns the value of an attribute, not decoded. The first of two counts.
    pub(super) fn attribute(&self, name: &str) -> Option<&'t str> {
        let mut attributes = self.attributes.iter();
        attributes
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }
}

/// Splits raw HTML into tokens.
pub(super) fn tokens(html: &str) -> impl Iterator<Item = Token<'_>> {
    Lexer {
        rest: html,
        tag: None,
        has_comment_ends: true,
    }
}

struct Lexer<'t> {
    rest: &'t str,
    /// The token after a text.
    tag: Option<Token<'t>>,
    /// Whether a comment could end in the rest; otherwise each start would be searched for in vain.
    has_comment_ends: bool,
}

impl<'t> Iterator for Lexer<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        if let Some(tag) = self.tag.take() {
            return Some(tag);
        }
        if self.rest.is_empty() {
            return None;
        }
        let html = self.rest;
        let mut from = 0;
        while let Some(at) = html
            .get(from..)
            .and_then(|rest| rest.find('<'))
            .map(|at| from + at)
        {
            let found = html.get(at..).unwrap_or_default();
            let Some((token, length)) = self.markup(found) else {
                from = at + 1;
                continue;
            };
            self.rest = found.get(length..).unwrap_or_default();
            if at == 0 {
                return Some(token);
            }
            self.tag = Some(token);
            return html.get(..at).map(Token::Text);
        }
        self.rest = "";
        Some(Token::Text(html))
    }
}

impl<'t> Lexer<'t> {
    /// Reads a tag or a comment, and returns it with its length.
    fn markup(&mut self, html: &'t str) -> Option<(Token<'t>, usize)> {
        if let Some(inside) = html.strip_prefix("<!--") {
            if inside.starts_with('>') || inside.starts_with("->") {
                return Some((Token::Comment, "<!--".len() + inside.find('>')? + 1));
            }
            let end = self.has_comment_ends.then(|| inside.find("-->")).flatten();
            self.has_comment_ends = end.is_some();
            return Some((Token::Comment, "<!--".len() + end? + "-->".len()));
        }
        let is_closing = html.starts_with("</");
        let mut cursor = Cursor {
            html,
            at: if is_closing { 2 } else { 1 },
        };
        let name = cursor.take(|c| c.is_ascii_alphanumeric() || c == '-');
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let attributes = cursor.attributes()?;
        let source = html.get(..cursor.at)?;
        let tag = Tag {
            source,
            name,
            attributes,
        };
        let token = if is_closing {
            Token::Close(tag)
        } else {
            Token::Open(tag)
        };
        Some((token, cursor.at))
    }
}

struct Cursor<'t> {
    html: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        self.html.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, is_taken: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|c| !is_taken(c)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Reads the attributes and the end of a tag.
    fn attributes(&mut self) -> Option<Vec<(&'t str, &'t str)>> {
        let mut attributes = Vec::new();
        loop {
            let spaces = self.take(|c| c.is_ascii_whitespace() || c == '/');
            if self.rest().starts_with('>') {
                self.at += 1;
                return Some(attributes);
            }
            let name = self.take(|c| {
                !c.is_ascii_whitespace() && !matches!(c, '"' | '\'' | '<' | '>' | '/' | '=')
            });
            if name.is_empty() || spaces.is_empty() {
                return None;
            }
            let value = self.value()?;
            if attributes.len() < limits::TAG_ATTRIBUTES {
                attributes.push((name, value));
            }
        }
    }

    /// Reads `= value`, if it follows.
    fn value(&mut self) -> Option<&'t str> {
        let before = self.at;
        self.take(|c| c.is_ascii_whitespace());
        if !self.rest().starts_with('=') {
            self.at = before;
            return Some("");
        }
        self.at += 1;
        self.take(|c| c.is_ascii_whitespace());
        match self.rest().chars().next()? {
            quote @ ('"' | '\'') => {
                self.at += 1;
                let length = self.rest().find(quote)?;
                let value = self.rest().get(..length)?;
                self.at += length + 1;
                Some(value)
            }
            _ => {
                let value = self.take(|c| {
                    !c.is_ascii_whitespace() && !matches!(c, '"' | '\'' | '<' | '>' | '=' | '`')
                });
                (!value.is_empty()).then_some(value)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(html: &str) -> Vec<String> {
        let shown = tokens(html).map(|token| match token {
            Token::Text(text) => text.to_owned(),
            Token::Comment => "comment".to_owned(),
            Token::Open(tag) => format!("open {} {:?}", tag.name, tag.attributes),
            Token::Close(tag) => format!("close {}", tag.name),
        });
        shown.collect()
    }

    #[test]
    fn tags_are_found_with_their_attributes() {
        assert_eq!(
            shown("a <b c=\"d>\" e='f' g=h i/>j</b >"),
            [
                "a ",
                "open b [(\"c\", \"d>\"), (\"e\", \"f\"), (\"g\", \"h\"), (\"i\", \"\")]",
                "j",
                "close b"
            ]
        );
        assert_eq!(shown("<br/><BR />"), ["open br []", "open BR []"]);
        let Some(Token::Open(tag)) = tokens("<a B=1 b=2>").next() else {
            panic!()
        };
        assert_eq!(tag.attribute("b"), Some("1"));
    }

    #[test]
    fn text_that_is_no_tag_stays_text() {
        for text in [
            "a < b",
            "<",
            "<1>",
            "<a",
            "<a b=\"c>",
            "<a \"b\">",
            "<a b= >",
            "<!doctype html>",
            "<?php ?>",
            "</>",
            "<a<b",
            "<!-- a",
        ] {
            assert_eq!(shown(text), [text], "{text}");
        }
        assert_eq!(shown("<a <b>"), ["<a ", "open b []"]);
    }

    #[test]
    fn comments_end_at_their_mark() {
        assert_eq!(
            shown("a<!-- b > -- -->c<!-->d<!--->e"),
            ["a", "comment", "c", "comment", "d", "comment", "e"]
        );
    }
}

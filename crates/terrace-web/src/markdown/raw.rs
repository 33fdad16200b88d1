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
pub(super) fn tokens<'t>(html: &'t str, mut write: impl FnMut(Token<'t>)) {
    // Whether a comment could end in the rest; otherwise each start would be searched for in vain.
    let mut has_comment_ends = true;
    let (mut rest, mut from) = (html, 0);
    while let Some(at) = rest.get(from..).and_then(|it| it.find('<')) {
        let (text, found) = rest.split_at(from + at);
        let Some((token, after)) = markup(found, &mut has_comment_ends) else {
            from += at + 1;
            continue;
        };
        if !text.is_empty() {
            write(Token::Text(text));
        }
        write(token);
        (rest, from) = (after, 0);
    }
    if !rest.is_empty() {
        write(Token::Text(rest));
    }
}

/// Reads the tag or the comment at the start of a text, and returns it with the rest.
fn markup<'t>(html: &'t str, has_comment_ends: &mut bool) -> Option<(Token<'t>, &'t str)> {
    if let Some(inside) = html.strip_prefix("<!--") {
        if inside.starts_with('>') || inside.starts_with("->") {
            return Some((Token::Comment, inside.split_once('>')?.1));
        }
        let end = has_comment_ends.then(|| inside.split_once("-->")).flatten();
        *has_comment_ends = end.is_some();
        return Some((Token::Comment, end?.1));
    }
    let opened = html.strip_prefix('<')?;
    let inside = opened.strip_prefix('/').unwrap_or(opened);
    let (name, rest) = taken(inside, |c| c.is_ascii_alphanumeric() || c == '-');
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let (attributes, rest) = attributes(rest)?;
    let tag = Tag {
        source: html.get(..html.len() - rest.len())?,
        name,
        attributes,
    };
    let token = match inside.len() < opened.len() {
        true => Token::Close(tag),
        false => Token::Open(tag),
    };
    Some((token, rest))
}

/// Splits a text after the characters that are taken.
fn taken(text: &str, is_taken: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !is_taken(c)).unwrap_or(text.len()))
}

/// Reads the attributes and the end of a tag, and returns them with the rest.
fn attributes(mut rest: &str) -> Option<(Vec<(&str, &str)>, &str)> {
    let mut attributes = Vec::new();
    loop {
        let (spaces, next) = taken(rest, |c| c.is_ascii_whitespace() || c == '/');
        if let Some(rest) = next.strip_prefix('>') {
            return Some((attributes, rest));
        }
        let (name, next) = taken(next, |c| {
            !c.is_ascii_whitespace() && !matches!(c, '"' | '\'' | '<' | '>' | '/' | '=')
        });
        if name.is_empty() || spaces.is_empty() {
            return None;
        }
        let value;
        (value, rest) = value_after(next)?;
        if attributes.len() < limits::TAG_ATTRIBUTES {
            attributes.push((name, value));
        }
    }
}

/// Reads `= value`, if it follows, and returns the value with the rest.
fn value_after(text: &str) -> Option<(&str, &str)> {
    let Some(given) = text.trim_ascii_start().strip_prefix('=') else {
        return Some(("", text));
    };
    let given = given.trim_ascii_start();
    if let Some(quote @ ('"' | '\'')) = given.chars().next() {
        return given.get(1..)?.split_once(quote);
    }
    let (value, rest) = taken(given, |c| {
        !c.is_ascii_whitespace() && !matches!(c, '"' | '\'' | '<' | '>' | '=' | '`')
    });
    (!value.is_empty()).then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(html: &str) -> Vec<String> {
        let mut shown = Vec::new();
        tokens(html, |token| {
            shown.push(match token {
                Token::Text(text) => text.to_owned(),
                Token::Comment => "comment".to_owned(),
                Token::Open(tag) => format!("open {} {:?}", tag.name, tag.attributes),
                Token::Close(tag) => format!("close {}", tag.name),
            });
        });
        shown
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
        tokens("<a B=1 b=2>", |token| match token {
            Token::Open(tag) => assert_eq!(tag.attribute("b"), Some("1")),
            other => panic!("{other:?}"),
        });
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

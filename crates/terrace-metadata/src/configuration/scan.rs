//! A byte scanner that splits a file into its top-level blocks. It uses no recursion.
//!
//! It knows strings, templates, heredocs and comments, and rejects blocks that the recursive parser should not see: too
//! deep, too long, or with a bracket or a quote that is not closed.

use std::ops::Range;

use crate::limits;

/// A part of a text between line feeds outside all brackets.
#[derive(Debug)]
pub(super) struct Segment {
    /// Its place in the text.
    pub(super) range: Range<usize>,
    /// The same text with spaces for comments and line feeds that have no meaning. The parser takes some of them for
    /// the end of an expression.
    pub(super) parseable: String,
    /// The place in the segment of the first pair of braces outside all brackets, without the braces.
    pub(super) body: Option<Range<usize>>,
    /// The reason why it must not be parsed.
    pub(super) fault: Option<ScanFault>,
}

/// A reason why a segment must not be parsed.
#[derive(Debug)]
pub(super) struct ScanFault {
    /// An offset in the text.
    pub(super) offset: usize,
    pub(super) message: String,
    /// Whether the text exceeds a limit, which clients do not have.
    pub(super) is_limit: bool,
}

/// The fault of a bracket or quote without its other end.
const UNCLOSED: &str =
    "the bracket, text, template, heredoc or comment that begins here is not closed";

/// Splits a text. Segments with only white space and comments are left out.
pub(super) fn segments(text: &str) -> Vec<Segment> {
    let mut scanner = Scanner::new(text);
    let mut segments = Vec::new();
    while let Some((range, fault)) = scanner.segment() {
        let length = range.len();
        let fault = fault.or_else(|| {
            (length > limits::BLOCK_BYTES).then(|| ScanFault {
                offset: range.start,
                message: too_long(length),
                is_limit: true,
            })
        });
        let parseable = scanner.without_meaningless.get(range.clone());
        let parseable = String::from_utf8_lossy(parseable.unwrap_or_default());
        // The other half of the line feed after the segment.
        let parseable = match parseable.strip_suffix('\r') {
            Some(line) => format!("{line} "),
            None => parseable.into_owned(),
        };
        let body = scanner.body.take();
        segments.push(Segment {
            parseable,
            body: body.and_then(|body| {
                Some(body.start.checked_sub(range.start)?..body.end.checked_sub(range.start)?)
            }),
            range,
            fault,
        });
    }
    segments
}

fn too_long(bytes: usize) -> String {
    let max = limits::BLOCK_BYTES;
    format!(
        "the block has {bytes} bytes and is left out, because at most {max} are read: split it into smaller blocks"
    )
}

struct Scanner<'s> {
    bytes: &'s [u8],
    without_meaningless: Vec<u8>,
    at: usize,
    open: Vec<Open<'s>>,
    body: Option<Range<usize>>,
    fault: Option<ScanFault>,
}

/// An open bracket, quote, template or heredoc.
struct Open<'s> {
    kind: Kind<'s>,
    offset: usize,
    items: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind<'s> {
    Brace,
    /// `{ for`.
    For,
    Square,
    Round,
    Quote,
    /// `${` or `%{`.
    Template,
    /// A heredoc that ends with a line of this word.
    Heredoc(&'s [u8]),
}

impl<'s> Scanner<'s> {
    fn new(text: &'s str) -> Self {
        Self {
            bytes: text.as_bytes(),
            without_meaningless: text.as_bytes().to_vec(),
            at: 0,
            open: Vec::new(),
            body: None,
            fault: None,
        }
    }

    /// Returns the next segment with contents: its start, its end, and the first fault in it.
    fn segment(&mut self) -> Option<(Range<usize>, Option<ScanFault>)> {
        let mut start = self.at;
        let mut has_contents = false;
        loop {
            let Some(byte) = self.peek(0) else {
                if let Some(open) = self.open.pop() {
                    self.fail(open.offset, UNCLOSED);
                    self.open.clear();
                }
                let fault = self.fault.take();
                return (has_contents || fault.is_some()).then_some((start..self.at, fault));
            };
            if byte == b'\n' && self.open.is_empty() {
                let end = self.at;
                self.at += 1;
                let fault = self.fault.take();
                if has_contents || fault.is_some() {
                    return Some((start..end, fault));
                }
                start = self.at;
                continue;
            }
            has_contents |= self.step(byte);
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'s [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Records a fault, unless there is an earlier one in the segment.
    fn fail(&mut self, offset: usize, message: &str) {
        self.fault.get_or_insert_with(|| ScanFault {
            offset,
            message: message.to_owned(),
            is_limit: false,
        });
    }

    /// Records that the segment exceeds a limit, unless there is an earlier fault in it.
    fn exceed(&mut self, offset: usize, message: String) {
        self.fault.get_or_insert(ScanFault {
            offset,
            message,
            is_limit: true,
        });
    }

    /// Moves past one token. Returns whether it is more than white space or a comment.
    fn step(&mut self, byte: u8) -> bool {
        match self.open.last().map(|open| open.kind) {
            Some(Kind::Quote) => self.in_quotes(byte),
            Some(Kind::Heredoc(delimiter)) => self.in_heredoc(byte, delimiter),
            _ => return self.in_code(byte),
        }
        true
    }

    fn in_quotes(&mut self, byte: u8) {
        match byte {
            b'\\' => self.at += 2,
            b'"' => {
                self.open.pop();
                self.at += 1;
            }
            b'\n' => {
                let offset = self.open.pop().map_or(self.at, |open| open.offset);
                self.fail(offset, UNCLOSED);
            }
            _ => self.in_text(byte),
        }
        self.at = self.at.min(self.bytes.len());
    }

    fn in_heredoc(&mut self, byte: u8, delimiter: &[u8]) {
        let is_line_start = self.at == 0 || self.bytes.get(self.at - 1) == Some(&b'\n');
        if is_line_start {
            let rest = self.rest();
            let end = rest.iter().position(|byte| *byte == b'\n');
            let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            if line.trim_ascii() == delimiter {
                self.open.pop();
                self.at += line.len();
                return;
            }
        }
        self.in_text(byte);
    }

    /// Moves past a character of a text, or into a template in it.
    fn in_text(&mut self, byte: u8) {
        let is_marker = matches!(byte, b'$' | b'%');
        if is_marker && self.peek(1) == Some(byte) && self.peek(2) == Some(b'{') {
            self.at += 3;
        } else if is_marker && self.peek(1) == Some(b'{') {
            self.push(Kind::Template, 2);
        } else {
            self.at += 1;
        }
    }

    fn in_code(&mut self, byte: u8) -> bool {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {
                self.blank(1);
                return false;
            }
            b'#' => return self.line_comment(),
            b'/' if self.peek(1) == Some(b'/') => return self.line_comment(),
            b'/' if self.peek(1) == Some(b'*') => return self.comment(),
            b'"' => self.push(Kind::Quote, 1),
            b'{' => self.brace(),
            b'[' => self.push(Kind::Square, 1),
            b'(' => self.push(Kind::Round, 1),
            b'}' => self.close(|kind| matches!(kind, Kind::Brace | Kind::For | Kind::Template)),
            b']' => self.close(|kind| kind == Kind::Square),
            b')' => self.close(|kind| kind == Kind::Round),
            b'<' if self.peek(1) == Some(b'<') => self.heredoc(),
            b',' | b'=' | b':' => self.item(),
            _ => self.at += 1,
        }
        true
    }

    /// Moves past white space or a comment, which has no meaning inside lists, parentheses and templates.
    fn blank(&mut self, length: usize) {
        let end = (self.at + length).min(self.bytes.len());
        let is_meaningless = self
            .open
            .last()
            .is_some_and(|open| !matches!(open.kind, Kind::Brace));
        if is_meaningless && let Some(blanks) = self.without_meaningless.get_mut(self.at..end) {
            blanks.fill(b' ');
        }
        self.at = end;
    }

    fn brace(&mut self) {
        let inside = self.rest().get(1..).unwrap_or_default().trim_ascii_start();
        let after = inside.strip_prefix(b"for").and_then(<[u8]>::first);
        let is_for = after.is_some_and(u8::is_ascii_whitespace);
        self.push(if is_for { Kind::For } else { Kind::Brace }, 1);
    }

    fn line_comment(&mut self) -> bool {
        let length = self.rest().iter().position(|byte| *byte == b'\n');
        self.blank(length.unwrap_or(self.rest().len()));
        false
    }

    fn comment(&mut self) -> bool {
        let start = self.at;
        let inside = self.rest().get(2..).unwrap_or_default();
        if let Some(length) = inside.windows(2).position(|pair| pair == b"*/") {
            self.blank(length + 4);
        } else {
            self.at = self.bytes.len();
            self.fail(start, UNCLOSED);
        }
        false
    }

    fn push(&mut self, kind: Kind<'s>, length: usize) {
        if self.open.len() == limits::NESTING_LEVELS {
            let max = limits::NESTING_LEVELS;
            self.exceed(
                self.at,
                format!(
                    "the block is left out, because brackets, texts and templates in it contain each other in more than {max} levels"
                ),
            );
        }
        self.open.push(Open {
            kind,
            offset: self.at,
            items: 0,
        });
        self.at += length;
    }

    /// Closes the innermost bracket of a kind, and those in it that are not closed. The parser reports them.
    fn close(&mut self, is_kind: impl Fn(Kind<'_>) -> bool) {
        self.at += 1;
        let inner = self.open.iter().rev().take(limits::NESTING_LEVELS);
        let inner = inner.take_while(|open| !matches!(open.kind, Kind::Quote | Kind::Heredoc(_)));
        let found = inner
            .enumerate()
            .find(|(_, open)| is_kind(open.kind))
            .map(|(above, _)| above + 1);
        let outer = self.open.len() - found.unwrap_or(0);
        if outer == 0
            && let Some(Open {
                kind: Kind::Brace,
                offset,
                ..
            }) = self.open.first()
        {
            let body = offset + 1..self.at - 1;
            self.body.get_or_insert(body);
        }
        self.open.truncate(outer);
    }

    /// Moves past `<<WORD` or `<<-WORD` and its line feed, if a heredoc begins here.
    fn heredoc(&mut self) {
        let rest = self.rest().get(2..).unwrap_or_default();
        let rest = rest.strip_prefix(b"-").unwrap_or(rest);
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let word = line.strip_suffix(b"\r").unwrap_or(line);
        let is_word = word
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_-".contains(byte));
        if end.is_some() && is_word && !word.is_empty() {
            let length = self.rest().len() - rest.len() + line.len() + 1;
            self.push(Kind::Heredoc(word), length);
        } else {
            self.at += 2;
        }
    }

    fn item(&mut self) {
        let at = self.at;
        self.at += 1;
        let Some(open) = self.open.last_mut() else {
            return;
        };
        open.items += 1;
        // An estimate: a comparison counts as two items, and arguments of a block count too.
        if open.items == limits::BRACKET_ITEMS + 1 {
            let max = limits::BRACKET_ITEMS;
            self.exceed(
                at,
                format!("the block is left out, because more than {max} items are in one pair of brackets"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Lines;
    use proptest::prelude::*;

    fn scanned(text: &str) -> Vec<(&str, Option<usize>)> {
        let lines = Lines::of(text);
        let segments = segments(text).into_iter();
        let segments = segments.map(|it| {
            let fault = it.fault.map(|fault| lines.at(fault.offset));
            (text.get(it.range).unwrap().trim(), fault)
        });
        segments.collect()
    }

    #[test]
    fn blocks_are_split_at_line_feeds_outside_brackets() {
        assert_eq!(
            scanned("# c\na {\n  b = [\n1]\n}\n\nlocals {} // }\n/* x\n */\nc \"}\" {}\n"),
            [
                ("a {\n  b = [\n1]\n}", None),
                ("locals {} // }", None),
                ("c \"}\" {}", None)
            ]
        );
    }

    #[test]
    fn brackets_in_texts_and_comments_do_not_count() {
        for code in [
            r#"a { b = "}${ { c = "{" }.c }$${" }"#,
            "a {\n # {\n // {\n /* { */ }",
            "a {\n b = <<EOT\n { ${ x(\"}\") } %%{ $${\n EOT\n}",
            "a {\n b = <<-EOT\r\n {\r\n  EOT\r\n}",
            r#"a { b = "\"{" }"#,
        ] {
            let text = format!("{code}\nz {{}}");
            assert_eq!(scanned(&text), [(code, None), ("z {}", None)], "{code}");
        }
    }

    #[test]
    fn a_fault_costs_one_block_and_has_its_line() {
        for (code, line) in [
            ("\na {\n  b = \"x\n}", 3),
            ("a {\n  b = [\n  c = {\n", 3),
            ("a {\n  b = <<EOT\n}\n", 2),
            ("a {}\n/* x", 2),
            ("a {\n b = \"${x\n", 2),
        ] {
            let found = scanned(code);
            assert_eq!(found.last().unwrap().1, Some(line), "{code:?}: {found:?}");
        }
        assert_eq!(
            scanned("a {\n b = \"x\n}\nc {}"),
            [("a {\n b = \"x\n}", Some(2)), ("c {}", None)]
        );
    }

    #[test]
    fn nesting_lists_and_long_blocks_are_limited() {
        let deep = |levels| format!("a = {}{}\nb {{}}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(scanned(&deep(limits::NESTING_LEVELS))[0].1, None);
        for levels in [limits::NESTING_LEVELS + 1, 100_000] {
            let text = deep(levels);
            let found = scanned(&text);
            assert_eq!(found.len(), 2);
            assert_eq!((found[0].1, found[1]), (Some(1), ("b {}", None)));
        }
        let many = format!("a = [{}]", "1,".repeat(limits::BRACKET_ITEMS + 1));
        assert_eq!(scanned(&many)[0].1, Some(1));
        let long = format!("\na = \"{}\"", "x".repeat(limits::BLOCK_BYTES));
        assert_eq!(scanned(&long)[0].1, Some(2));
    }

    #[test]
    fn meaningless_line_feeds_and_comments_become_spaces() {
        let text = "a = { for k in l : k =>\n x ? # é\n y : z }\nb {\n c = [\n1 // d\n]\n}";
        let found = segments(text);
        let parseable: Vec<_> = found.iter().map(|it| it.parseable.as_str()).collect();
        assert_eq!(
            parseable,
            [
                "a = { for k in l : k =>  x ?       y : z }",
                "b {\n c = [ 1      ]\n}"
            ]
        );
        assert_eq!(found[0].body, None);
        assert_eq!(found[1].body, Some(3..found[1].parseable.len() - 1));
    }

    proptest! {
        #[test]
        fn segments_are_parts_of_the_text_in_order(text in r#"([a"{}\[\]()<$%\\/*#=,\r\n ]|<<E\n|\nE\n|é){0,60}"#) {
            let mut end = 0;
            for segment in segments(&text) {
                prop_assert!(segment.range.start >= end);
                end = segment.range.end;
                prop_assert_eq!(text.get(segment.range).map(str::len), Some(segment.parseable.len()));
            }
        }
    }
}

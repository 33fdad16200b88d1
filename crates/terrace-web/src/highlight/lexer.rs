//! The lexer. Templates nest: a string contains an interpolation, which contains strings. A stack of modes replaces
//! recursion.

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Spaces, punctuation, operators and other names.
    Plain,
    /// A comment.
    Comment,
    /// The text of a string or heredoc, with its quotes or markers.
    String,
    /// An escape sequence in a string, or the brackets of an interpolation.
    Escape,
    /// A number.
    Number,
    /// `true`, `false` or `null`.
    Literal,
    /// The type of a block, or a keyword of an expression.
    Keyword,
    /// The name of an attribute, before `=`.
    Attribute,
    /// The name of a function, before `(`.
    Function,
}

/// A part of the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'t> {
    /// Its kind.
    pub kind: Kind,
    /// Its text. Never empty.
    pub text: &'t str,
}

/// Splits code into tokens. Their texts, joined, are the code.
pub fn tokens(code: &str) -> impl Iterator<Item = Token<'_>> {
    Lexer {
        rest: code,
        modes: Vec::new(),
        is_statement_start: true,
    }
}

/// A construct that the lexer is inside of.
enum Mode<'t> {
    /// An interpolation or a directive, and the number of its open braces.
    Expression(usize),
    /// A string in quotes.
    Quoted,
    /// A heredoc, up to a line with this marker alone.
    Heredoc(&'t str),
}

struct Lexer<'t> {
    rest: &'t str,
    /// The constructs around the rest, outermost first. Code outside of strings has none.
    modes: Vec<Mode<'t>>,
    is_statement_start: bool,
}

impl<'t> Iterator for Lexer<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        if self.rest.is_empty() {
            return None;
        }
        let (kind, length) = match self.modes.last() {
            Some(Mode::Quoted) => self.quoted(),
            Some(Mode::Heredoc(marker)) => self.heredoc(marker),
            Some(Mode::Expression(_)) | None => self.code(),
        };
        let (text, rest) = self
            .rest
            .split_at_checked(length)
            .unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(Token { kind, text })
    }
}

impl<'t> Lexer<'t> {
    /// Reads a token outside of strings. Returns its kind and length.
    fn code(&mut self) -> (Kind, usize) {
        let rest = self.rest;
        let first = rest.chars().next().unwrap_or_default();
        let is_start = self.is_statement_start;
        self.is_statement_start = is_start && first.is_whitespace();
        match first {
            '#' => (Kind::Comment, line_length(rest)),
            '/' if rest.starts_with("//") => (Kind::Comment, line_length(rest)),
            '/' if rest.starts_with("/*") => (
                Kind::Comment,
                rest.find("*/").map_or(rest.len(), |at| at + 2),
            ),
            '"' => {
                self.modes.push(Mode::Quoted);
                (
                    Kind::String,
                    1 + text_length(rest.get(1..).unwrap_or_default(), is_in_quoted),
                )
            }
            '<' => self.heredoc_start(),
            '{' | '}' => self.brace(first),
            '0'..='9' => (Kind::Number, number_length(rest)),
            c if is_name_start(c) => {
                let length = name_length(rest);
                (name_kind(rest, length, is_start), length)
            }
            _ => self.punctuation(),
        }
    }

    /// Reads characters that have no meaning here.
    fn punctuation(&mut self) -> (Kind, usize) {
        let is_plain = |c: char| {
            !matches!(c, '#' | '/' | '"' | '<' | '{' | '}' | '0'..='9') && !is_name_start(c)
        };
        let first = self.rest.chars().next().map_or(0, char::len_utf8);
        let others = self.rest.get(first..).unwrap_or_default();
        let length = first + others.find(|c| !is_plain(c)).unwrap_or(others.len());
        let text = self.rest.get(..length).unwrap_or_default();
        let (before, last_line) = text
            .rsplit_once('\n')
            .map_or((None, text), |(a, b)| (Some(a), b));
        let is_blank = last_line.trim().is_empty();
        self.is_statement_start = is_blank && (before.is_some() || self.is_statement_start);
        (Kind::Plain, length)
    }

    fn brace(&mut self, brace: char) -> (Kind, usize) {
        self.is_statement_start = true;
        match (self.modes.last_mut(), brace) {
            (Some(Mode::Expression(0)), '}') => {
                self.modes.pop();
                return (Kind::Escape, 1);
            }
            (Some(Mode::Expression(open)), '}') => *open -= 1,
            (Some(Mode::Expression(open)), _) => *open += 1,
            _ => {}
        }
        (Kind::Plain, 1)
    }

    /// Reads `<<EOT` or `<<-EOT` with the end of the line, or an operator.
    fn heredoc_start(&mut self) -> (Kind, usize) {
        let marker = self.rest.strip_prefix("<<").and_then(|rest| {
            let rest = rest.strip_prefix('-').unwrap_or(rest);
            let (marker, after) = rest.split_at_checked(name_length(rest))?;
            let line_end = after.trim_start_matches([' ', '\t', '\r']);
            let is_at_end = line_end.is_empty() || line_end.starts_with('\n');
            (!marker.is_empty() && is_at_end).then_some(marker)
        });
        let Some(marker) = marker else {
            return (Kind::Plain, 1);
        };
        self.modes.push(Mode::Heredoc(marker));
        (Kind::String, line_length(self.rest))
    }

    /// Reads text, an escape sequence, an interpolation or the end of a string in quotes.
    fn quoted(&mut self) -> (Kind, usize) {
        match self.template_start() {
            Some(length) => return (Kind::Escape, length),
            None if self.rest.starts_with('\\') => {
                let escaped = self.rest.chars().nth(1).filter(|c| *c != '\n');
                return (Kind::Escape, 1 + escaped.map_or(0, char::len_utf8));
            }
            None => {}
        }
        if self.rest.starts_with(['"', '\n']) {
            // A string ends with its line, even if its quote is missing.
            self.modes.pop();
            self.is_statement_start = self.rest.starts_with('\n');
            return (
                if self.rest.starts_with('"') {
                    Kind::String
                } else {
                    Kind::Plain
                },
                1,
            );
        }
        let length = text_length(self.rest, is_in_quoted).max(1);
        (Kind::String, length)
    }

    /// Reads text, an interpolation or the last line of a heredoc.
    fn heredoc(&mut self, marker: &str) -> (Kind, usize) {
        if let Some(length) = self.template_start() {
            return (Kind::Escape, length);
        }
        if self.is_statement_start {
            let line = self.rest.split('\n').next().unwrap_or_default();
            if line.trim() == marker {
                self.modes.pop();
                self.is_statement_start = false;
                return (Kind::String, line.len());
            }
        }
        let length = text_length(self.rest, |c| !matches!(c, '$' | '%' | '\n'));
        let has_line_feed = self
            .rest
            .get(length..)
            .is_some_and(|rest| rest.starts_with('\n'));
        self.is_statement_start = has_line_feed;
        (Kind::String, (length + usize::from(has_line_feed)).max(1))
    }

    /// Enters an interpolation (`${`) or a directive (`%{`), or passes over its escaped form (`$${`). Returns the length.
    fn template_start(&mut self) -> Option<usize> {
        if self.rest.starts_with("$${") || self.rest.starts_with("%%{") {
            return Some(3);
        }
        if !self.rest.starts_with("${") && !self.rest.starts_with("%{") {
            return None;
        }
        self.modes.push(Mode::Expression(0));
        self.is_statement_start = false;
        Some(
            if self.rest.get(2..).is_some_and(|rest| rest.starts_with('~')) {
                3
            } else {
                2
            },
        )
    }
}

/// Returns the kind of a name of `length` bytes at the start of the code.
fn name_kind(code: &str, length: usize, is_statement_start: bool) -> Kind {
    let (name, after) = code.split_at_checked(length).unwrap_or((code, ""));
    let next = after.trim_start_matches([' ', '\t']);
    if next.starts_with('=') && !next.starts_with("==") && !next.starts_with("=>") {
        return Kind::Attribute;
    }
    match name {
        _ if after.starts_with('(') => Kind::Function,
        _ if is_statement_start && opens_block(next) => Kind::Keyword,
        "true" | "false" | "null" => Kind::Literal,
        "for" | "in" | "if" | "else" | "endif" | "endfor" => Kind::Keyword,
        _ => Kind::Plain,
    }
}

/// Returns whether labels and an opening brace follow.
fn opens_block(mut code: &str) -> bool {
    loop {
        let label = match code.chars().next() {
            Some('{') => return true,
            Some('"') => {
                let inside = code.get(1..).unwrap_or_default();
                match inside.find(['"', '\n']) {
                    Some(at) if inside.get(at..).is_some_and(|it| it.starts_with('"')) => at + 2,
                    _ => return false,
                }
            }
            Some(c) if is_name_start(c) => name_length(code),
            _ => return false,
        };
        let after = code.get(label..).unwrap_or_default();
        code = after.trim_start_matches([' ', '\t']);
    }
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Returns the length of a name, which may have namespaces (`provider::time::parse`).
fn name_length(code: &str) -> usize {
    let mut length = 0;
    loop {
        let rest = code.get(length..).unwrap_or_default();
        if !rest.starts_with(is_name_start) {
            return length.saturating_sub(if length > 0 { 2 } else { 0 });
        }
        length += text_length(rest, |c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        match code.get(length..) {
            Some(rest) if rest.starts_with("::") => length += 2,
            _ => return length,
        }
    }
}

fn number_length(code: &str) -> usize {
    let is_number = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    text_length(code, is_number)
}

/// Returns the length of a line without its line feed.
fn line_length(code: &str) -> usize {
    code.find('\n').unwrap_or(code.len())
}

fn text_length(code: &str, is_text: impl Fn(char) -> bool) -> usize {
    code.find(|c| !is_text(c)).unwrap_or(code.len())
}

fn is_in_quoted(c: char) -> bool {
    !matches!(c, '"' | '\\' | '\n' | '$' | '%')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Shows the tokens that are not plain, each after the first letter of its kind.
    fn marked(code: &str) -> String {
        let mut marked = String::new();
        let mut last = Kind::Plain;
        for Token { kind, text } in tokens(code) {
            if kind != last && kind != Kind::Plain {
                let kind = format!("{kind:?}");
                marked.push_str(&format!("‹{}:", kind.get(..1).unwrap()));
            }
            marked.push_str(text);
            last = kind;
        }
        marked
    }

    #[test]
    fn blocks_attributes_and_functions_are_found() {
        assert_eq!(
            marked("resource \"a\" \"b\" {\n  count = length(var.x)\n  dynamic \"y\" {\n"),
            "‹K:resource ‹S:\"a\" ‹S:\"b\" {\n  ‹A:count = ‹F:length(var.x)\n  ‹K:dynamic ‹S:\"y\" {\n"
        );
        assert_eq!(
            marked("locals { a = { b = true } }"),
            "‹K:locals { ‹A:a = { ‹A:b = ‹L:true } }"
        );
        assert_eq!(
            marked("x = provider::time::parse(1.5e3)"),
            "‹A:x = ‹F:provider::time::parse(‹N:1.5e3)"
        );
        assert_eq!(marked("a == b\nb => c"), "a == b\nb => c");
        assert_eq!(
            marked("x = [for k, v in y : k if v]"),
            "‹A:x = [‹K:for k, v ‹K:in y : k ‹K:if v]"
        );
    }

    #[test]
    fn comments_end_with_their_line_or_marker() {
        assert_eq!(
            marked("# a = 1\n// b\n/* c\nd */ e = 1 / 2"),
            "‹C:# a = 1\n‹C:// b\n‹C:/* c\nd */ ‹A:e = ‹N:1 / ‹N:2"
        );
        assert_eq!(marked("/* open"), "‹C:/* open");
    }

    #[test]
    fn strings_contain_interpolations_that_contain_strings() {
        assert_eq!(
            marked(r#"x = "a ${f("b${1}")} \" $${c} d" # e"#),
            r#"‹A:x = ‹S:"a ‹E:${‹F:f(‹S:"b‹E:${‹N:1‹E:}‹S:")‹E:}‹S: ‹E:\"‹S: ‹E:$${‹S:c} d" ‹C:# e"#
        );
        assert_eq!(
            marked("\"${ {a = 1} }\" b"),
            "‹S:\"‹E:${ {‹A:a = ‹N:1} ‹E:}‹S:\" b"
        );
        assert_eq!(marked("x = \"open\ny = 1"), "‹A:x = ‹S:\"open\n‹A:y = ‹N:1");
    }

    #[test]
    fn heredocs_end_with_their_marker() {
        assert_eq!(
            marked("x = <<-EOT\n a ${b} EOT\n  EOT\ny = 1"),
            "‹A:x = ‹S:<<-EOT\n a ‹E:${b‹E:}‹S: EOT\n  EOT\n‹A:y = ‹N:1"
        );
        assert_eq!(marked("a << b"), "a << b");
        assert_eq!(
            marked("<<A\n%{ if x }\nA"),
            "‹S:<<A\n‹E:%{ ‹K:if x ‹E:}‹S:\nA"
        );
    }

    proptest! {
        #[test]
        fn the_tokens_of_any_text_are_the_text(text in r#"(a|é|[a-z_]{1,3}|"|\\|\$\{|%\{|\{|\}|<<|<<-|A|\n|\r| |#|//|/\*|\*/|=|::|1|\.|\(|\PC){0,80}"#) {
            let all: Vec<Token> = tokens(&text).collect();
            prop_assert!(all.iter().all(|token| !token.text.is_empty()));
            let joined: String = all.iter().map(|token| token.text).collect();
            prop_assert_eq!(joined, text);
        }
    }
}

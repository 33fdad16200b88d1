//! The texts in JavaScript sources: strings and templates. Comments and regular expressions are skipped.

use super::text::is_text;

/// Returns the texts of a script, in its order.
pub(super) fn texts(code: &str) -> Vec<String> {
    let mut scanner = Scanner {
        rest: code,
        texts: Vec::new(),
        before: None,
    };
    scanner.code(false);
    scanner.texts
}

struct Scanner<'a> {
    rest: &'a str,
    texts: Vec<String>,
    /// The end of the last token, which decides whether a slash divides or begins a regular expression.
    before: Option<Before>,
}

enum Before {
    Operand,
    Operator,
}

/// Words before an expression.
const KEYWORDS: [&str; 6] = ["await", "case", "of", "return", "typeof", "yield"];

impl<'a> Scanner<'a> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn skip_past(&mut self, end: &str) {
        self.rest = self.rest.split_once(end).map_or("", |(_, rest)| rest);
    }

    /// Reads code up to its end, or up to the brace that closes a placeholder.
    fn code(&mut self, is_placeholder: bool) {
        let mut depth = 0;
        self.before = None;
        while let Some(c) = self.rest.chars().next() {
            if self.rest.starts_with("//") {
                self.skip_past("\n");
                continue;
            }
            if self.rest.starts_with("/*") {
                self.skip_past("*/");
                continue;
            }
            if c.is_alphanumeric() || "_$".contains(c) {
                let is_part = |c: char| c.is_alphanumeric() || "_$".contains(c);
                let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                self.before = Some(match KEYWORDS.contains(&word) {
                    true => Before::Operator,
                    false => Before::Operand,
                });
                continue;
            }
            self.next();
            match c {
                '"' | '\'' => self.string(c),
                '`' => self.template(),
                '/' if !matches!(self.before, Some(Before::Operand)) => self.regular_expression(),
                '{' => depth += 1,
                '}' if is_placeholder && depth == 0 => return,
                '}' => depth -= 1,
                _ => {}
            }
            if !c.is_whitespace() {
                self.before = Some(match "\"'`/)]}".contains(c) {
                    true => Before::Operand,
                    false => Before::Operator,
                });
            }
        }
        assert!(!is_placeholder, "a placeholder does not end");
    }

    fn string(&mut self, quote: char) {
        let mut text = String::new();
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escape(&mut text),
                c if c == quote => return self.add(&text),
                c => text.push(c),
            }
        }
        panic!("a string does not end: {text}");
    }

    /// Reads a template. Its placeholders keep short expressions; the texts inside of longer ones follow.
    fn template(&mut self) {
        let mut text = String::new();
        let place = self.texts.len();
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escape(&mut text),
                '`' => {
                    if is_text(&text) {
                        self.texts.insert(place, text);
                    }
                    return;
                }
                '$' if self.rest.starts_with('{') => {
                    self.next();
                    let before = self.rest;
                    self.code(true);
                    let length = before.len() - self.rest.len() - 1;
                    let expression = before.get(..length).unwrap();
                    let is_short = expression
                        .chars()
                        .all(|c| c.is_alphanumeric() || "_$.()".contains(c));
                    let shown = if is_short { expression } else { "…" };
                    text.push_str(&format!("{{{shown}}}"));
                }
                c => text.push(c),
            }
        }
        panic!("a template does not end: {text}");
    }

    fn escape(&mut self, text: &mut String) {
        match self.next() {
            Some('n') => text.push('\n'),
            Some('\n') | None => {}
            // Control characters of terminals.
            Some('r' | 'x') => text.push('\\'),
            Some(c) => text.push(c),
        }
    }

    fn regular_expression(&mut self) {
        let mut is_class = false;
        while let Some(c) = self.next() {
            match c {
                '\\' => {
                    self.next();
                }
                '[' => is_class = true,
                ']' => is_class = false,
                '/' if !is_class => return,
                '\n' => panic!("a regular expression does not end before {}", self.rest),
                _ => {}
            }
        }
    }

    fn add(&mut self, text: &str) {
        if is_text(text) {
            self.texts.push(text.to_owned());
        }
    }
}

#[test]
fn only_strings_and_templates_are_texts() {
    let code = r#"
        // "a comment here"
        const rule = /"not a text"[/"]/g, half = total / 2 / count; /* `nor this one` */
        say("one \
text", 'it\'s another');
        say(`${count} of ${all.map((it) => `${it} is inside`).join("; ")} were found`);
    "#;
    assert_eq!(
        texts(code),
        [
            "one text",
            "it's another",
            "{count} of {…} were found",
            "{it} is inside",
        ]
    );
}

//! The frontmatter of pages. Values are often invalid YAML, so the three keys are read by hand, and a problem costs at
//! most one of them. Values of other keys are not checked.

/// The keys of the values that are read.
const READ: [&str; 3] = ["page_title", "subcategory", "description"];

/// The frontmatter of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Frontmatter {
    pub(super) page_title: Option<String>,
    pub(super) subcategory: Option<String>,
    pub(super) description: Option<String>,
    /// All keys, with their lines.
    pub(super) keys: Vec<(String, usize)>,
    /// The lines that are not valid YAML.
    pub(super) problems: Vec<(usize, String)>,
    /// Whether there is any.
    pub(super) exists: bool,
    /// The offset of the text after it.
    pub(super) end: usize,
    comments: Vec<String>,
}

/// The style of a value.
enum Style {
    Plain,
    Quoted(char),
    /// The style of `|` or `>`: whether line feeds stay.
    Block(bool),
}

impl Frontmatter {
    /// Parses the frontmatter at the start of a text.
    pub(super) fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let mut lines = text.split_inclusive('\n');
        if lines.next().map(str::trim_end) != Some("---") {
            return found;
        }
        let mut end = text.find('\n').map_or(text.len(), |feed| feed + 1);
        let mut inside = Vec::new();
        for line in lines {
            end += line.len();
            if matches!(line.trim_end(), "---" | "...") {
                found.exists = true;
                found.end = end;
                found.read(&inside);
                return found;
            }
            inside.push(line.trim_end_matches(['\n', '\r']));
        }
        let message = "the frontmatter is not closed by a line ---, so it is shown as text";
        found.problems.push((1, message.to_owned()));
        found
    }

    /// Returns the line of a key.
    pub(super) fn line_of(&self, key: &str) -> Option<usize> {
        let mut keys = self.keys.iter();
        keys.find(|(known, _)| known == key).map(|(_, line)| *line)
    }

    /// Returns comments about copyright and licence, which stay in the page.
    pub(super) fn kept(&self) -> String {
        let kept = self.comments.iter().filter(|comment| {
            let lower = comment.to_ascii_lowercase();
            lower.contains("copyright") || lower.contains("spdx")
        });
        kept.map(|comment| format!("<!-- {} -->\n", comment.replace("--", "- -")))
            .collect()
    }

    /// Reads the lines between the markers. The first has number 2.
    fn read(&mut self, lines: &[&str]) {
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let number = at + 2;
            at += 1;
            if line.trim().is_empty() {
                continue;
            }
            if let Some(comment) = line.trim_start().strip_prefix('#') {
                self.comments.push(comment.trim().to_owned());
                continue;
            }
            // The nested value of a key that is not read.
            if line.starts_with([' ', '-', ']', '}']) && !self.keys.is_empty() {
                continue;
            }
            let Some((key, value)) = key_and_value(line) else {
                self.problem(number, "the line is not in the form `key: value`");
                continue;
            };
            if self.line_of(key).is_some() {
                self.problem(number, &format!("{key} is set twice"));
            }
            self.keys.push((key.to_owned(), number));
            let style = style(value);
            let more = lines.get(at..).unwrap_or_default();
            let length = more
                .iter()
                .take_while(|line| continues(line, value, &style))
                .count();
            let more = more.get(..length).unwrap_or_default();
            at += length;
            let value = match style {
                Style::Block(keeps_feeds) => Some(block(more, keeps_feeds)),
                Style::Quoted(quote) => self.quoted(value, more, quote, number),
                Style::Plain if READ.contains(&key) => self.plain(value, more, number),
                // It may be a list or another value than a text.
                Style::Plain => None,
            };
            match key {
                "page_title" => self.page_title = value,
                "subcategory" => self.subcategory = value,
                "description" => self.description = value,
                _ => {}
            }
        }
    }

    fn problem(&mut self, line: usize, message: &str) {
        let message = format!("the frontmatter is not valid YAML: {message}");
        self.problems.push((line, message));
    }

    fn quoted(&mut self, value: &str, more: &[&str], quote: char, number: usize) -> Option<String> {
        let text = joined(value, more);
        let inside = text.strip_prefix(quote).unwrap_or(&text);
        let Some((inside, after)) = closed(inside, quote) else {
            self.problem(number, "the quote is not closed");
            return Some(inside.trim_matches(quote).to_owned());
        };
        let after = after.trim();
        if !after.is_empty() && !after.starts_with('#') {
            self.problem(number, "there is text after the closing quote");
        }
        Some(inside)
    }

    fn plain(&mut self, value: &str, more: &[&str], number: usize) -> Option<String> {
        let text = joined(value, more);
        let text = text
            .split_once(" #")
            .map_or(text.as_str(), |(text, _)| text)
            .trim();
        if text.is_empty() || matches!(text, "~" | "null") {
            return None;
        }
        if text.contains(": ") || text.ends_with(':') {
            self.problem(number, "the value contains a colon; put it in quotes");
        } else if text.starts_with(['@', '`', '%', '*', '&', '!', '[', ']', '{', '}', ',']) {
            self.problem(
                number,
                "the value begins with a special character; put it in quotes",
            );
        }
        Some(text.to_owned())
    }
}

/// Returns a README without its frontmatter. Text between rules that is no valid YAML stays.
pub(crate) fn without_frontmatter(text: &str) -> &str {
    let found = Frontmatter::parse(text);
    let is_valid = !found.keys.is_empty() && found.problems.is_empty();
    let body = text.get(found.end..).filter(|_| is_valid);
    body.map_or(text, |body| body.trim_start_matches(['\n', '\r']))
}

fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let key = unquoted(key);
    let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' ');
    let is_named = key.starts_with(|c| c != ' ') && key.chars().all(is_key);
    let is_separated = value.is_empty() || value.starts_with([' ', '\t']);
    (is_named && is_separated).then_some((key, value.trim()))
}

/// Returns a key without its quotes.
fn unquoted(key: &str) -> &str {
    let inside = |quote| key.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(key)
}

fn style(value: &str) -> Style {
    let is_block = |rest: &str| {
        let rest = rest
            .split_once('#')
            .map_or(rest, |(rest, _)| rest)
            .trim_end();
        rest.chars().all(|c| matches!(c, '-' | '+' | '0'..='9'))
    };
    if value.strip_prefix('|').is_some_and(is_block) {
        Style::Block(true)
    } else if value.strip_prefix('>').is_some_and(is_block) {
        Style::Block(false)
    } else if let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        Style::Quoted(quote)
    } else {
        Style::Plain
    }
}

/// Returns whether a line continues the value before it.
fn continues(line: &str, value: &str, style: &Style) -> bool {
    let is_indented = line.starts_with([' ', '\t']);
    match style {
        Style::Block(_) => is_indented || line.trim().is_empty(),
        // A text on several lines. Whether its quote is closed already is decided later.
        Style::Quoted(quote) => {
            let inside = value.strip_prefix(*quote).unwrap_or(value);
            closed(inside, *quote).is_none() && key_and_value(line).is_none()
        }
        Style::Plain => is_indented && !value.is_empty(),
    }
}

/// Returns the lines of a block without their indentation.
fn block(lines: &[&str], keeps_feeds: bool) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let text = lines.join(if keeps_feeds { "\n" } else { " " });
    text.trim().to_owned()
}

fn joined(value: &str, more: &[&str]) -> String {
    let more = more.iter().map(|line| line.trim());
    let lines: Vec<&str> = std::iter::once(value).chain(more).collect();
    lines.join(" ")
}

/// Returns the text before the closing quote without escapes, and the text after it.
fn closed(text: &str, quote: char) -> Option<(String, &str)> {
    let mut inside = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' if quote == '\'' => match chars.as_str().strip_prefix('\'') {
                Some(rest) => {
                    inside.push('\'');
                    chars = rest.chars();
                }
                None => return Some((inside, chars.as_str())),
            },
            '"' if quote == '"' => return Some((inside, chars.as_str())),
            '\\' if quote == '"' => match chars.next() {
                Some('n' | 't' | 'r') => inside.push(' '),
                Some(escaped) => inside.push(escaped),
                None => return None,
            },
            c => inside.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(value: &str) -> (Option<String>, Vec<usize>) {
        let text = format!("---\ndescription: {value}\nlayout: x\n---\nbody");
        let found = Frontmatter::parse(&text);
        assert_eq!(text.get(found.end..), Some("body"), "{value}");
        assert!(found.line_of("layout").is_some(), "{value}");
        let problems = found.problems.iter().map(|(line, _)| *line).collect();
        (found.description, problems)
    }

    fn valid(value: &str, expected: &str) {
        assert_eq!(
            description(value),
            (Some(expected.to_owned()), vec![]),
            "{value}"
        );
    }

    #[test]
    fn values_are_read_in_all_styles() {
        valid("Plain text # comment", "Plain text");
        valid("http://x#y", "http://x#y");
        valid("two\n  lines", "two lines");
        valid("\"a \\\"b\\\": c\"", "a \"b\": c");
        valid("'it''s: x' # y", "it's: x");
        valid("\"two\n  lines\"", "two lines");
        valid("|-\n  one\n\n    two", "one\n\ntwo");
        valid(">-\n  one\n  two", "one two");
        valid("|", "");
        valid("\"\"", "");
        assert_eq!(description(""), (None, vec![]));
        assert_eq!(description("~"), (None, vec![]));
    }

    #[test]
    fn invalid_values_are_read_with_a_problem() {
        for (value, text) in [
            ("GitHub: a resource", "GitHub: a resource"),
            ("`code` first", "`code` first"),
            ("\"not closed", "not closed"),
            ("\"a\" b", "a"),
        ] {
            assert_eq!(
                description(value),
                (Some(text.to_owned()), vec![2]),
                "{value}"
            );
        }
    }

    #[test]
    fn other_lines_are_problems() {
        let text =
            "---\nlist:\n  - a\n- b\nno key\npage_title: a\npage_title: b\n# Copyright X\n---\n";
        let found = Frontmatter::parse(text);
        let lines: Vec<usize> = found.problems.iter().map(|it| it.0).collect();
        assert_eq!(lines, [5, 7]);
        assert_eq!(found.page_title.as_deref(), Some("b"));
        assert_eq!(found.kept(), "<!-- Copyright X -->\n");
    }

    #[test]
    fn values_of_other_keys_may_be_of_any_kind() {
        for other in [
            "tags: [a, b]",
            "tags: [a,\n  b\n]",
            "meta: {a: b}",
            "meta: { a: [b], c: 'd: e' } # a comment",
            "meta:\n  a: b\n  c:\n    - d",
            "ref: *anchor",
            "\"a key\": !!str x",
            "a key/of words: &anchor x",
            "date: 2026-01-01",
        ] {
            let text = format!("---\n{other}\npage_title: a\n---\n");
            let found = Frontmatter::parse(&text);
            assert_eq!(found.problems, [], "{other}");
            assert_eq!(found.page_title.as_deref(), Some("a"), "{other}");
        }
        let text = "---\npage_title: [a, b]\nother: \"not closed\n---\n";
        let lines = Frontmatter::parse(text).problems;
        assert_eq!(lines.iter().map(|it| it.0).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn frontmatter_that_is_not_closed_is_text() {
        let found = Frontmatter::parse("---\npage_title: a\n");
        assert_eq!(
            (found.end, found.exists, found.problems.len()),
            (0, false, 1)
        );
        assert_eq!(Frontmatter::parse("# Title\n---\n"), Frontmatter::default());
    }
}

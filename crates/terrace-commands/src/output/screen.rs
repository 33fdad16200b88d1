//! Results for people, laid out for the terminal that standard output is.

use console::{Alignment, Term, measure_text_width, pad_str, truncate_str};
use terrace_base::untrusted;

use super::style::Style;
use super::table::Table;
use super::wrap::wrap;

/// The variable that sets the width, for example of a terminal that a pipe leads to.
const COLUMNS: &str = "COLUMNS";

/// The result of a check, as it is marked: the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Passed,
    Skipped,
    Warning,
    Failed,
}

impl Mark {
    /// Returns its sign, and the look of that.
    fn look(self) -> (&'static str, Style) {
        match self {
            Self::Passed => ("✓", Style::Good),
            Self::Skipped => ("-", Style::Faint),
            Self::Warning => ("!", Style::Warning),
            Self::Failed => ("✗", Style::Blocked),
        }
    }
}

/// The lines of a result. They contain no characters that control a terminal, apart from colours.
pub(crate) struct Screen {
    /// The width of the terminal; `None` if the result goes to a file or a program.
    width: Option<usize>,
    has_colors: bool,
    lines: Vec<String>,
}

impl Screen {
    /// Creates an empty screen for standard output. It has colours only on a terminal, and not if `NO_COLOR` is set.
    pub(crate) fn new() -> Self {
        let terminal = Term::stdout();
        let columns = std::env::var(COLUMNS).ok();
        let columns = columns.and_then(|columns| columns.parse().ok());
        let measured = || terminal.size_checked().map(|(_, columns)| columns.into());
        let has_colors = terminal.features().colors_supported();
        Self::with(columns.or_else(measured), has_colors)
    }

    /// Creates an empty screen without colours, for the lines of a failure.
    pub(crate) fn plain() -> Self {
        Self {
            has_colors: false,
            ..Self::new()
        }
    }

    fn with(width: Option<usize>, has_colors: bool) -> Self {
        Self {
            width: width.filter(|width| *width > 0),
            has_colors,
            lines: Vec::new(),
        }
    }

    /// Adds a title, after an empty line unless it is the first line.
    pub(crate) fn title(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.lines.push(String::new());
        }
        let text = untrusted::line(text).to_string();
        let title = Style::Title.apply(&text, self.has_colors);
        self.lines.push(title.into_owned());
    }

    /// Adds a paragraph.
    pub(crate) fn text(&mut self, text: &str) {
        self.wrapped(text, "", "");
    }

    /// Adds a paragraph whose first line starts with `first`, and the others with `next`.
    fn wrapped(&mut self, text: &str, first: &str, next: &str) {
        let text = untrusted::line(text).to_string();
        let width = self.width.unwrap_or(usize::MAX);
        self.lines.extend(wrap(&text, width, first, next));
    }

    /// Adds lines to copy, between empty lines, that are never wrapped.
    pub(crate) fn code(&mut self, text: &str) {
        let lines = text
            .lines()
            .map(|line| format!("  {}", untrusted::line(line)));
        self.lines.push(String::new());
        self.lines.extend(lines);
        self.lines.push(String::new());
    }

    /// Adds names with their values, in two columns. Those without a value are left out.
    pub(crate) fn fields(&mut self, fields: &[(&str, String)]) {
        let fields = fields.iter().filter(|(_, value)| !value.trim().is_empty());
        let fields: Vec<(String, &String)> = fields
            .map(|(name, value)| (untrusted::line(name).to_string(), value))
            .collect();
        let widths = fields.iter().map(|(name, _)| measure_text_width(name));
        let column = widths.max().unwrap_or_default() + 2;
        for (name, value) in fields {
            let words: Vec<&str> = value.split_whitespace().collect();
            let (first, next) = (format!("{name:column$}"), " ".repeat(column));
            self.wrapped(&words.join(" "), &first, &next);
        }
    }

    /// Adds the line of a check: its mark, its name, a text, and a note in the columns that are left. `columns` are those
    /// of the longest text, after which the notes begin.
    pub(crate) fn check(
        &mut self,
        mark: Mark,
        name: &str,
        (text, columns): (&str, usize),
        note: &str,
    ) {
        let [text, note] = [text, note].map(|it| untrusted::line(it).to_string());
        let (sign, style) = mark.look();
        let sign = style.apply(sign, self.has_colors);
        let style = match mark {
            Mark::Skipped => Style::Faint,
            _ => Style::Plain,
        };
        let line = format!("  {sign} {name:<4}{}", style.apply(&text, self.has_colors));
        let start = 10 + columns;
        let room = self.width.map_or(usize::MAX, |it| it.saturating_sub(start));
        let note = truncate_str(&note, room, "…");
        let note = Style::Faint.apply(&note, self.has_colors);
        let line = pad_str(&line, start, Alignment::Left, None) + note;
        self.lines.push(line.trim_end().to_owned());
    }

    /// Adds a line with a sign in the look of a mark, and a remark.
    pub(crate) fn signed(&mut self, mark: Mark, sign: char, text: &str, remark: &str) {
        let (sign, (_, style)) = (sign.to_string(), mark.look());
        let sign = style.apply(&sign, self.has_colors);
        let remark = Style::Warning.apply(remark, self.has_colors);
        let line = format!("  {sign} {}  {remark}", untrusted::line(text));
        self.lines.push(line.trim_end().to_owned());
    }

    /// Adds names with their values below a check.
    pub(crate) fn details(&mut self, fields: &[(&str, &str)]) {
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
            let name = format!("{name:<7}");
            let name = Style::Faint.apply(&name, self.has_colors);
            self.wrapped(value, &format!("        {name}"), &" ".repeat(15));
        }
    }

    /// Adds the last line of a result, after an empty line, in the look of its worst mark.
    pub(crate) fn summary(&mut self, worst: Mark, text: &str) {
        let (sign, style) = worst.look();
        let first = format!("{} ", style.apply(sign, self.has_colors));
        self.lines.push(String::new());
        self.wrapped(text, &first, "  ");
    }

    pub(crate) fn table(&mut self, table: &Table) {
        self.lines.extend(table.lines(self.width, self.has_colors));
    }

    /// Returns the lines, for the end of a command that failed in part.
    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines
    }

    pub(super) fn into_text(self) -> String {
        self.lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_aligned_and_wrapped_and_empty_ones_are_left_out() {
        let mut screen = Screen::with(Some(30), false);
        screen.title("acme/vpc/aws 1.2.0");
        screen.fields(&[
            ("published", "2026-11-22".to_owned()),
            ("source", String::new()),
            (
                "status",
                "deprecated: use\nacme/network/aws instead".to_owned(),
            ),
        ]);
        screen.title("Inputs");
        let expected = "acme/vpc/aws 1.2.0\n\
                        published  2026-11-22\n\
                        status     deprecated: use\n           acme/network/aws\n           instead\n\
                        \n\
                        Inputs";
        assert_eq!(screen.into_text(), expected);
    }

    #[test]
    fn no_text_controls_the_terminal() {
        let mut screen = Screen::with(None, true);
        screen.text("a\x1b[2J");
        screen.fields(&[("b\x07", "c\u{202e}d".to_owned())]);
        assert_eq!(screen.into_text(), "a\\u{1b}[2J\nb\\u{7}  c\\u{202e}d");
    }
}

//! Results for people, laid out for the terminal that standard output is.

use console::{Term, measure_text_width, truncate_str};
use terrace_base::untrusted;

use super::style::Style;
use super::table::Table;
use super::wrap::wrap;

/// The variable that sets the width, for example of a terminal that a pipe leads to.
const COLUMNS: &str = "COLUMNS";

/// The least columns in which a note beside a check is of use.
const NOTE_COLUMNS: usize = 10;

/// The result of a check, as it is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Passed,
    Skipped,
    Warning,
    Failed,
}

impl Mark {
    fn sign(self) -> &'static str {
        match self {
            Self::Passed => "✓",
            Self::Skipped => "-",
            Self::Warning => "!",
            Self::Failed => "✗",
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Passed => Style::Good,
            Self::Skipped => Style::Faint,
            Self::Warning => Style::Warning,
            Self::Failed => Style::Blocked,
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
        let text = untrusted::line(text).to_string();
        let width = self.width.unwrap_or(usize::MAX);
        self.lines.extend(wrap(&text, width, "", ""));
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
        for (name, value) in &fields {
            let words: Vec<&str> = value.split_whitespace().collect();
            let value = untrusted::line(&words.join(" ")).to_string();
            let (first, next) = (format!("{name:column$}"), " ".repeat(column));
            let width = self.width.unwrap_or(usize::MAX);
            self.lines.extend(wrap(&value, width, &first, &next));
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
        let (text, note) = (untrusted::line(text), untrusted::line(note).to_string());
        let (text, name) = (text.to_string(), untrusted::line(name).to_string());
        let sign = mark.style().apply(mark.sign(), self.has_colors);
        let is_skipped = mark == Mark::Skipped;
        let style = if is_skipped {
            Style::Faint
        } else {
            Style::Plain
        };
        let shown = style.apply(&text, self.has_colors);
        let mut line = format!("  {sign} {name:<4}{shown}");
        let taken = measure_text_width(&line);
        let begin = (8 + columns + 2).max(taken + 2);
        let room = self
            .width
            .map_or(usize::MAX, |width| width.saturating_sub(begin));
        if !note.is_empty() && room >= NOTE_COLUMNS {
            let note = truncate_str(&note, room, "…");
            let note = Style::Faint.apply(&note, self.has_colors);
            line = format!("{line}{:gap$}{note}", "", gap = begin - taken);
        }
        self.lines.push(line);
    }

    /// Adds a line with a sign in the look of a mark, and a remark.
    pub(crate) fn signed(&mut self, mark: Mark, sign: char, text: &str, remark: &str) {
        let sign = mark
            .style()
            .apply(&sign.to_string(), self.has_colors)
            .into_owned();
        let remark = Style::Warning.apply(remark, self.has_colors);
        let line = format!("  {sign} {}  {remark}", untrusted::line(text));
        self.lines.push(line.trim_end().to_owned());
    }

    /// Adds names with their values below a check.
    pub(crate) fn details(&mut self, fields: &[(&str, &str)]) {
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
            let value = untrusted::line(value).to_string();
            let name = Style::Faint
                .apply(&format!("{name:<7}"), self.has_colors)
                .into_owned();
            let (first, next) = (format!("        {name}"), " ".repeat(15));
            let width = self.width.unwrap_or(usize::MAX);
            self.lines.extend(wrap(&value, width, &first, &next));
        }
    }

    /// Adds the last line of a result, after an empty line, in the look of its worst mark.
    pub(crate) fn summary(&mut self, worst: Mark, text: &str) {
        let text = untrusted::line(text).to_string();
        let sign = worst.style().apply(worst.sign(), self.has_colors);
        self.lines.push(String::new());
        let width = self.width.unwrap_or(usize::MAX);
        let first = format!("{sign} ");
        self.lines.extend(wrap(&text, width, &first, "  "));
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
    fn the_line_of_a_check_has_a_note_only_where_there_is_room() {
        let line = |width, mark, note: &str| {
            let mut screen = Screen::with(width, false);
            screen.check(mark, "T1", ("the server answers", 20), note);
            screen.into_text()
        };
        let whole = "  ✓ T1  the server answers    2 addresses";
        assert_eq!(line(None, Mark::Passed, "2 addresses"), whole);
        assert_eq!(line(Some(41), Mark::Passed, "2 addresses"), whole);
        assert_eq!(
            line(Some(40), Mark::Passed, "2 addresses"),
            "  ✓ T1  the server answers    2 address…"
        );
        assert_eq!(
            line(Some(39), Mark::Skipped, "2 addresses"),
            "  - T1  the server answers"
        );
    }

    #[test]
    fn a_title_is_bold_only_with_colours() {
        for (has_colors, shown) in [(true, "\x1b[1mInputs\x1b[0m"), (false, "Inputs")] {
            let mut screen = Screen::with(None, has_colors);
            screen.title("Inputs");
            assert_eq!(screen.into_text(), shown);
        }
    }

    #[test]
    fn no_text_controls_the_terminal() {
        let mut screen = Screen::with(None, true);
        screen.text("a\x1b[2J");
        screen.fields(&[("b\x07", "c\u{202e}d".to_owned())]);
        assert_eq!(screen.into_text(), "a\\u{1b}[2J\nb\\u{7}  c\\u{202e}d");
    }
}

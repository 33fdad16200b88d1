//! Tables that fit into a terminal.

use console::{Alignment, measure_text_width, pad_str, truncate_str};
use terrace_base::untrusted;

use super::style::Style;
use super::wrap::wrap_cut;

/// The space between columns.
const GAP: &str = "  ";

/// The width that a column which is cut keeps while other columns can be left out.
const READABLE: usize = 16;

/// The width below which a column is left out rather than cut.
const LEAST: usize = 8;

/// The width to which a column that is cut in a terminal is filled up in a file: one long text does not move all others.
const FILLED: usize = 40;

/// Maximum number of lines of a text that is wrapped.
const WRAPPED_LINES: usize = 6;

/// A table. Columns without any text are not shown.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    fit: Fit,
    is_status: bool,
}

/// The handling of a column in a narrow terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Its texts are always whole, because a user may copy them. After a very long one the row continues on the next line.
    Whole,
    /// Its texts are cut.
    Cut,
    /// Its texts are wrapped, and cut after [`WRAPPED_LINES`]. Only the last column is.
    Wrapped,
    /// It is left out, the one with the highest number first.
    LeftOut(u8),
}

impl Column {
    /// Creates a column of texts that are always whole.
    pub(crate) const fn whole(title: &'static str) -> Self {
        Self {
            title,
            fit: Fit::Whole,
            is_status: false,
        }
    }

    /// Creates a column of texts that are cut in a narrow terminal.
    pub(crate) const fn cut(title: &'static str) -> Self {
        Self {
            fit: Fit::Cut,
            ..Self::whole(title)
        }
    }

    /// Creates the last column, of texts that are wrapped in a narrow terminal.
    pub(crate) const fn wrapped(title: &'static str) -> Self {
        Self {
            fit: Fit::Wrapped,
            ..Self::whole(title)
        }
    }

    /// Creates a column that a narrow terminal leaves out, the one with the highest number first.
    pub(crate) const fn left_out(number: u8, title: &'static str) -> Self {
        Self {
            fit: Fit::LeftOut(number),
            ..Self::whole(title)
        }
    }

    /// Creates the column of statuses, which are coloured.
    pub(crate) const fn status(title: &'static str) -> Self {
        Self {
            is_status: true,
            ..Self::whole(title)
        }
    }
}

impl Table {
    pub(crate) fn new<const N: usize>(columns: [Column; N]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Creates a table with these rows.
    pub(crate) fn of<const N: usize>(
        columns: [Column; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Self {
        let mut table = Self::new(columns);
        rows.into_iter().for_each(|row| table.row(row));
        table
    }

    /// Adds a row. Its texts are printed on one line each, without characters that control a terminal.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        let line = |cell: String| {
            let words: Vec<&str> = cell.split_whitespace().collect();
            untrusted::line(&words.join(" ")).to_string()
        };
        self.rows.push(cells.into_iter().map(line).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the lines of the table. Without a width, nothing is cut or left out, and each row is one line.
    pub(super) fn lines(&self, width: Option<usize>, has_colors: bool) -> Vec<String> {
        let shown = self.shown(width);
        let title = |column: &Shown<'_>| (column.column.title.to_owned(), Style::Title);
        let titles = shown.iter().map(title).collect();
        let cell = |row: &[String], column: &Shown<'_>| {
            let text = row.get(column.index).cloned().unwrap_or_default();
            let style = match column.column.is_status {
                true => Style::of_status(&text),
                false => Style::Plain,
            };
            (text, style)
        };
        let rows = self.rows.iter();
        let rows = rows.map(|row| shown.iter().map(|column| cell(row, column)).collect());
        std::iter::once(titles)
            .chain(rows)
            .flat_map(|cells| lines_of_row(&shown, cells, width.is_none(), has_colors))
            .collect()
    }

    /// Returns the columns to show, with their widths.
    fn shown(&self, width: Option<usize>) -> Vec<Shown<'_>> {
        let mut shown: Vec<Shown<'_>> = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            let widest = cells.map(|cell| measure_text_width(cell)).max();
            if let Some(widest) = widest.filter(|widest| *widest > 0) {
                let width = widest.max(measure_text_width(column.title));
                shown.push(Shown {
                    index,
                    column,
                    width,
                });
            }
        }
        match width {
            Some(width) => {
                self.limit(&mut shown, width);
                leave_out(&mut shown, width);
                cut(&mut shown, width);
            }
            None => shown.iter_mut().for_each(|it| it.width = it.least(FILLED)),
        }
        shown
    }

    /// Limits the columns that are always whole to half of the terminal, if the table is wider than the terminal. So one
    /// long name does not take the space of all other columns.
    fn limit(&self, shown: &mut [Shown<'_>], width: usize) {
        let most = (width / 2).max(READABLE);
        if total(shown.iter().map(|column| column.width)) <= width {
            return;
        }
        for Shown {
            index,
            column,
            width,
        } in shown
        {
            if column.fit == Fit::Whole && *width > most {
                let cells = self.rows.iter().filter_map(|row| row.get(*index));
                let widths = cells.map(|cell| measure_text_width(cell));
                let short = widths.filter(|width| *width <= most).max();
                *width = short.unwrap_or(0).max(measure_text_width(column.title));
            }
        }
    }
}

/// Returns the text of a cell, which is empty without a value.
pub(crate) fn shown(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A column with the width that it is shown with.
struct Shown<'t> {
    index: usize,
    column: &'t Column,
    width: usize,
}

impl Shown<'_> {
    /// Returns the width that the column keeps if columns that are cut keep at most `kept`.
    fn least(&self, kept: usize) -> usize {
        match self.column.fit {
            Fit::Cut | Fit::Wrapped => self
                .width
                .min(kept.max(measure_text_width(self.column.title))),
            Fit::Whole | Fit::LeftOut(_) => self.width,
        }
    }
}

/// Returns the width of a line with columns of these widths.
fn total(widths: impl ExactSizeIterator<Item = usize>) -> usize {
    let gaps = widths.len().saturating_sub(1) * GAP.len();
    widths.sum::<usize>() + gaps
}

/// Removes columns until the others fit: first those that may be left out, then those that would be cut too short.
fn leave_out(shown: &mut Vec<Shown<'_>>, width: usize) {
    let fit =
        |shown: &[Shown<'_>], kept| total(shown.iter().map(|column| column.least(kept))) <= width;
    let number = |column: &Shown<'_>| match column.column.fit {
        Fit::LeftOut(number) => Some(number),
        Fit::Whole | Fit::Cut | Fit::Wrapped => None,
    };
    while !fit(shown, READABLE) {
        let Some(last) = shown.iter().filter_map(number).max() else {
            break;
        };
        shown.retain(|column| number(column) != Some(last));
    }
    while !fit(shown, LEAST) {
        let Some(last) = shown
            .iter()
            .rposition(|it| matches!(it.column.fit, Fit::Cut | Fit::Wrapped))
        else {
            break;
        };
        shown.remove(last);
    }
}

/// Narrows columns that are cut, the widest first, until all fit.
fn cut(shown: &mut [Shown<'_>], width: usize) {
    while total(shown.iter().map(|column| column.width)) > width {
        let can_shrink = |column: &&mut Shown<'_>| column.width > column.least(LEAST);
        let columns = shown.iter_mut().filter(can_shrink);
        match columns.max_by_key(|column| column.width) {
            Some(widest) => widest.width -= 1,
            None => return,
        }
    }
}

/// Returns the lines of a row: one, and unless it is whole, one more after each text that is wider than its column, and those
/// of a wrapped text.
fn lines_of_row(
    shown: &[Shown<'_>],
    cells: Vec<(String, Style)>,
    is_whole: bool,
    has_colors: bool,
) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut start) = (String::new(), 0);
    for (column, (text, style)) in shown.iter().zip(cells) {
        let has_gap = start == 0 || measure_text_width(&line) + GAP.len() <= start;
        match has_gap || text.is_empty() {
            true => {}
            false if is_whole => line.push_str(GAP),
            false => lines.push(std::mem::take(&mut line)),
        }
        line = pad_str(&line, start, Alignment::Left, None).into_owned();
        let text = match column.column.fit {
            _ if is_whole => text.into(),
            Fit::Whole => text.into(),
            Fit::Cut | Fit::LeftOut(_) => truncate_str(&text, column.width, "…"),
            Fit::Wrapped => {
                let pieces = wrap_cut(&text, column.width, WRAPPED_LINES);
                pieces.join(&format!("\n{}", " ".repeat(start))).into()
            }
        };
        line.push_str(&style.apply(&text, has_colors));
        start += column.width + GAP.len();
    }
    lines.extend(line.split('\n').map(str::to_owned));
    let lines = lines.iter();
    lines.map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages() -> Table {
        let mut table = Table::new([
            Column::whole("PACKAGE"),
            Column::left_out(2, "KIND"),
            Column::whole("LATEST"),
            Column::left_out(1, "PUBLISHED"),
            Column::status("STATUS"),
            Column::cut("DESCRIPTION"),
        ]);
        let date = "2026-11-22";
        let description = "A network with subnets in each zone";
        table.row(["acme/vpc/aws", "module", "1.2.0", date, "", description].map(str::to_owned));
        let description = "Manages 網路 and other widgets";
        let provider = [
            "acme/widget",
            "provider",
            "10.0.0",
            date,
            "deprecated",
            description,
        ];
        table.row(provider.map(str::to_owned));
        table
    }

    #[test]
    fn a_narrow_terminal_cuts_texts_and_then_leaves_columns_out() {
        assert_eq!(
            packages().lines(Some(80), false),
            [
                "PACKAGE       KIND      LATEST  PUBLISHED   STATUS      DESCRIPTION",
                "acme/vpc/aws  module    1.2.0   2026-11-22              A network with subnets …",
                "acme/widget   provider  10.0.0  2026-11-22  deprecated  Manages 網路 and other …",
            ]
        );
        assert_eq!(
            packages().lines(Some(60), false),
            [
                "PACKAGE       LATEST  STATUS      DESCRIPTION",
                "acme/vpc/aws  1.2.0               A network with subnets in…",
                "acme/widget   10.0.0  deprecated  Manages 網路 and other wi…",
            ]
        );
        // Names and versions are whole in any terminal.
        let narrowest = [
            "PACKAGE       LATEST  STATUS",
            "acme/vpc/aws  1.2.0",
            "acme/widget   10.0.0  deprecated",
        ];
        assert_eq!(packages().lines(Some(5), false), narrowest);
        for width in 33..140 {
            for line in packages().lines(Some(width), false) {
                assert!(measure_text_width(&line) <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn a_row_continues_on_the_next_line_after_a_very_long_name() {
        let mut table = packages();
        let long = "a-namespace-of-a-department/a-module/kubernetes";
        table.row([long, "module", "1.0.0", "", "", "Short"].map(str::to_owned));
        table.row([long, "", "", "", "", ""].map(str::to_owned));
        let lines = table.lines(Some(60), false);
        assert_eq!(
            lines[3..],
            [long, "              1.0.0               Short", long]
        );
        for length in 28..34 {
            let name = "x".repeat(length);
            table.row([&name, "", "1.0.0", "", "", ""].map(str::to_owned));
            let lines = table.lines(Some(60), false);
            let last = lines.last().unwrap();
            let joined = format!("{name}  1.0.0");
            assert!(last.trim() == "1.0.0" || *last == joined, "{lines:?}");
        }
        // A table that fits keeps each row on one line.
        let wide = table.lines(Some(140), false);
        assert_eq!(wide.len(), table.rows.len() + 1);
        assert!(wide[3].starts_with(&format!("{long}  module")), "{wide:?}");
    }

    #[test]
    fn a_wrapped_text_continues_below_itself() {
        let mut table = Table::new([Column::whole("NAME"), Column::wrapped("DESCRIPTION")]);
        table.row(["cidr", "The range of addresses of the network"].map(str::to_owned));
        table.row(["名前", "網路網路網路網路網路網路 網路"].map(str::to_owned));
        table.row(["x", &"word ".repeat(100)].map(str::to_owned));
        assert_eq!(
            table.lines(Some(20), false),
            [
                "NAME  DESCRIPTION",
                "cidr  The range of",
                "      addresses of",
                "      the network",
                "名前  網路網路網路網",
                "      路網路網路",
                "      網路",
                "x     word word word",
                "      word word word",
                "      word word word",
                "      word word word",
                "      word word word",
                "      word word wor…",
            ]
        );
        assert_eq!(table.lines(None, false).len(), 4);
    }

    #[test]
    fn a_long_text_in_a_file_is_whole_and_moves_only_its_own_row() {
        let mut table = Table::new([
            Column::whole("NAME"),
            Column::cut("DEFAULT"),
            Column::cut("X"),
        ]);
        let long = "x".repeat(60);
        table.row(["a", "[]", "y"].map(str::to_owned));
        table.row(["b", &long, "y"].map(str::to_owned));
        let lines = table.lines(None, false);
        assert_eq!(lines[1], format!("a     {:40}  y", "[]"));
        assert_eq!(lines[2], format!("b     {long}  y"));
    }

    #[test]
    fn a_text_is_one_line_that_controls_no_terminal() {
        let empty = Column::status("STATUS");
        let mut table = Table::new([Column::whole("A"), Column::whole("B"), empty]);
        assert!(table.is_empty());
        table.row(["x\ny\x1b[31m", "z", ""].map(str::to_owned));
        let expected = ["A              B", "x y\\u{1b}[31m  z"];
        assert_eq!(table.lines(None, false), expected);
    }

    #[test]
    fn colours_change_neither_words_nor_alignment() {
        let plain = packages().lines(Some(80), false);
        let coloured = packages().lines(Some(80), true);
        let without = coloured.iter().map(|line| console::strip_ansi_codes(line));
        assert_eq!(without.collect::<Vec<_>>(), plain);
        assert!(
            coloured[2].contains("\x1b[33mdeprecated\x1b[0m"),
            "{coloured:?}"
        );
        assert!(!coloured[1].contains('\x1b'), "{coloured:?}");
    }
}

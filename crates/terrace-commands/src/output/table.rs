//! Tables that fit into a terminal.

use console::{Alignment, measure_text_width, pad_str, truncate_str};
use terrace_base::untrusted;

use super::style::Style;
use super::wrap::wrap;

/// The space between columns.
const GAP: &str = "  ";

/// The width that a column which is cut keeps.
const READABLE: usize = 16;

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
}

/// The handling of a column in a narrow terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Its texts are always whole, because a user may copy them.
    Whole,
    /// The same, and its texts are statuses, which are coloured.
    Status,
    /// Its texts are cut.
    Cut,
    /// Its texts are wrapped if it is the last column, and cut otherwise.
    Wrapped,
    /// It is left out, the one with the highest number first.
    LeftOut(u8),
}

impl Column {
    const fn new(title: &'static str, fit: Fit) -> Self {
        Self { title, fit }
    }

    /// Creates a column of texts that are always whole.
    pub(crate) const fn whole(title: &'static str) -> Self {
        Self::new(title, Fit::Whole)
    }

    /// Creates a column of texts that are cut in a narrow terminal.
    pub(crate) const fn cut(title: &'static str) -> Self {
        Self::new(title, Fit::Cut)
    }

    /// Creates the last column, of texts that are wrapped in a narrow terminal.
    pub(crate) const fn wrapped(title: &'static str) -> Self {
        Self::new(title, Fit::Wrapped)
    }

    /// Creates a column that a narrow terminal leaves out, the one with the highest number first.
    pub(crate) const fn left_out(number: u8, title: &'static str) -> Self {
        Self::new(title, Fit::LeftOut(number))
    }

    /// Creates the column of statuses, which are coloured.
    pub(crate) const fn status(title: &'static str) -> Self {
        Self::new(title, Fit::Status)
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
        let titles = self.columns.iter().map(|column| column.title.to_owned());
        let titles: Vec<String> = titles.collect();
        let mut lines = lines_of_row(&shown, &titles, width, |_| Style::Title, has_colors);
        for row in &self.rows {
            let style = |cell: &Shown<'_>| match cell.column.fit {
                Fit::Status => Style::of_status(row.get(cell.index).map_or("", String::as_str)),
                _ => Style::Plain,
            };
            lines.extend(lines_of_row(&shown, row, width, style, has_colors));
        }
        lines
    }

    /// Returns the columns to show, with their widths: a narrow terminal leaves some out, and then cuts others.
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
        let width = width.unwrap_or(usize::MAX);
        let total = |shown: &[Shown<'_>], of: fn(&Shown<'_>) -> usize| {
            let widths = shown
                .iter()
                .map(|column| of(column).saturating_add(GAP.len()));
            widths.sum::<usize>().saturating_sub(GAP.len())
        };
        while total(&shown, |column| column.least()) > width
            && let Some(last) = shown.iter().filter_map(Shown::number).max()
        {
            shown.retain(|column| column.number() != Some(last));
        }
        while total(&shown, |column| column.width) > width {
            let widest = shown.iter_mut().filter(|it| it.width > it.least());
            match widest.max_by_key(|column| column.width) {
                Some(widest) => widest.width -= 1,
                None => break,
            }
        }
        shown
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
    /// Returns the width below which the column is not cut.
    fn least(&self) -> usize {
        match self.column.fit {
            Fit::Cut | Fit::Wrapped => self.width.min(READABLE),
            Fit::Whole | Fit::Status | Fit::LeftOut(_) => self.width,
        }
    }

    /// Returns the number of a column that may be left out.
    fn number(&self) -> Option<u8> {
        match self.column.fit {
            Fit::LeftOut(number) => Some(number),
            _ => None,
        }
    }
}

/// Returns the lines of a row: one, and further ones of a text that is wrapped in the last column.
fn lines_of_row(
    shown: &[Shown<'_>],
    cells: &[String],
    width: Option<usize>,
    style: impl Fn(&Shown<'_>) -> Style,
    has_colors: bool,
) -> Vec<String> {
    let mut line = String::new();
    for (at, cell) in shown.iter().enumerate() {
        let text = cells.get(cell.index).map_or("", String::as_str);
        let is_last = at + 1 == shown.len();
        if let (Some(width), Fit::Wrapped, true) = (width, cell.column.fit, is_last) {
            let indent = " ".repeat(measure_text_width(&line));
            let text = style(cell).apply(text, has_colors);
            let lines = wrap(&text, width, &line, &indent);
            return lines.iter().map(|it| it.trim_end().to_owned()).collect();
        }
        let text = match width {
            Some(_) => truncate_str(text, cell.width, "…"),
            None => text.into(),
        };
        let text = style(cell).apply(&text, has_colors);
        line.push_str(&pad_str(&text, cell.width, Alignment::Left, None));
        line.push_str(GAP);
    }
    vec![line.trim_end().to_owned()]
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
        let (date, network) = ("2026-11-22", "A network with subnets in each zone");
        let widget = "Manages 網路 and other widgets";
        let (module, provider) = ("acme/vpc/aws", "acme/widget");
        table.row([module, "module", "1.2.0", date, "", network].map(str::to_owned));
        let status = "deprecated";
        table.row([provider, "provider", "1.0.0", date, status, widget].map(str::to_owned));
        table
    }

    #[test]
    fn a_narrow_terminal_leaves_columns_out_and_cuts_texts_but_no_names() {
        assert_eq!(
            packages().lines(Some(60), false),
            [
                "PACKAGE       LATEST  STATUS      DESCRIPTION",
                "acme/vpc/aws  1.2.0               A network with subnets in…",
                "acme/widget   1.0.0   deprecated  Manages 網路 and other wi…",
            ]
        );
        let narrowest = packages().lines(Some(5), false);
        assert!(narrowest[2].starts_with("acme/widget   1.0.0   deprecated  "));
        for width in 50..140 {
            for line in packages().lines(Some(width), false) {
                assert!(measure_text_width(&line) <= width, "{width}: {line}");
            }
        }
        assert!(packages().lines(None, false)[1].ends_with(" in each zone"));
    }

    #[test]
    fn a_wrapped_text_continues_below_itself() {
        let mut table = Table::new([Column::whole("NAME"), Column::wrapped("DESCRIPTION")]);
        table.row(["cidr", "The range of addresses of the network"].map(str::to_owned));
        assert_eq!(
            table.lines(Some(20), false),
            [
                "NAME  DESCRIPTION",
                "cidr  The range of",
                "      addresses of",
                "      the network",
            ]
        );
        assert_eq!(table.lines(None, false).len(), 2);
        let titles = &table.lines(Some(20), true)[0];
        assert!(titles.ends_with("\x1b[1mDESCRIPTION\x1b[0m"), "{titles:?}");
    }

    #[test]
    fn a_text_is_one_line_that_controls_no_terminal() {
        let empty = Column::status("STATUS");
        let mut table = Table::new([Column::whole("A"), Column::whole("B"), empty]);
        table.row(["x\ny\x1b[31m", "z", ""].map(str::to_owned));
        let expected = ["A              B", "x y\\u{1b}[31m  z"];
        assert_eq!(table.lines(None, false), expected);
    }
}

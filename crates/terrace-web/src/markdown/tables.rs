//! Tables right below a line of text.
//!
//! GitHub's dialect begins a table after any line of a paragraph, the parser only at the start of a block. Both agree where an
//! empty line stands between.

use std::borrow::Cow;

use pulldown_cmark::{Event, Options as Dialect, Parser};

/// Returns the source with an empty line before each table that follows a line of text.
pub(super) fn separated(source: &str, dialect: Dialect) -> Cow<'_, str> {
    if !has_table_below_text(source) {
        return Cow::Borrowed(source);
    }
    let mut separated = String::with_capacity(source.len() + source.len() / 16);
    let mut copied = 0;
    let mut table_end = 0;
    // A break between lines is in a paragraph: never in code or HTML.
    for (event, range) in Parser::new_ext(source, dialect).into_offset_iter() {
        let Some(header) = break_end(source, &event, range.start) else {
            continue;
        };
        let Some(table) = source.get(header..).filter(|_| header >= table_end) else {
            continue;
        };
        if begins_table(table) {
            separated.push_str(source.get(copied..header).unwrap_or_default());
            separated.push_str(quotation(table));
            separated.push('\n');
            copied = header;
            table_end = header + length_of_block(table);
        }
    }
    separated.push_str(source.get(copied..).unwrap_or_default());
    Cow::Owned(separated)
}

/// Returns whether a line that could end the head of a table is at least the third of consecutive lines.
fn has_table_below_text(source: &str) -> bool {
    let mut consecutive = 0;
    source.lines().any(|line| {
        let is_blank = without_marks(line).is_empty();
        consecutive = if is_blank { 0 } else { consecutive + 1 };
        consecutive > 2 && delimited_cells(line).is_some()
    })
}

/// Returns the start of the line after a break.
fn break_end(source: &str, event: &Event<'_>, start: usize) -> Option<usize> {
    if !matches!(event, Event::SoftBreak | Event::HardBreak) {
        return None;
    }
    Some(start + source.get(start..)?.find('\n')? + 1)
}

/// Returns whether the first two lines are the head of a table.
fn begins_table(text: &str) -> bool {
    let mut lines = text.lines();
    let header = lines.next().map(cells);
    header.is_some() && header == lines.next().and_then(delimited_cells)
}

/// Returns the number of cells of a line that separates the head of a table from its rows, such as `:--|--:`.
fn delimited_cells(line: &str) -> Option<usize> {
    let text = without_marks(line);
    let is_delimiter = |cell: &str| {
        let cell = cell.trim();
        let cell = cell.strip_prefix(':').unwrap_or(cell);
        let dashes = cell.strip_suffix(':').unwrap_or(cell);
        !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
    };
    let inner = text.strip_prefix('|').unwrap_or(text);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    (text.contains('|') && inner.split('|').all(is_delimiter)).then(|| cells(line))
}

/// Returns the number of cells of a row.
fn cells(line: &str) -> usize {
    let text = without_marks(line);
    let inner = text.strip_prefix('|').unwrap_or(text);
    let escaped = inner.matches("\\|").count();
    let ends_open = inner.ends_with('|') && !inner.ends_with("\\|");
    let inner = if ends_open {
        inner.strip_suffix('|').unwrap_or(inner)
    } else {
        inner
    };
    1 + inner.matches('|').count() - escaped
}

/// Returns the length of the lines before the first empty one.
fn length_of_block(text: &str) -> usize {
    let lines = text.split_inclusive('\n');
    let block = lines.take_while(|line| !without_marks(line).is_empty());
    block.map(str::len).sum()
}

/// Returns the marks of the quotations that a line is in; empty if there are none.
fn quotation(line: &str) -> &str {
    let text = line.trim_start_matches([' ', '\t', '>']);
    let marks = line.strip_suffix(text).unwrap_or_default();
    if marks.contains('>') { marks } else { "" }
}

/// Returns a line without indentation, and without the marks of quotations.
fn without_marks(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '>']).trim_end()
}

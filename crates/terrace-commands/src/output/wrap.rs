//! Paragraphs on lines of a limited width.

use console::measure_text_width;

/// Returns the lines of a paragraph, of which none is wider than `width` unless a word is. The first starts with
/// `first`, the others with `next`.
pub(crate) fn wrap(paragraph: &str, width: usize, first: &str, next: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in paragraph.split_whitespace() {
        if !is_empty && measure_text_width(&line) + 1 + measure_text_width(word) > width {
            lines.push(std::mem::replace(&mut line, next.to_owned()));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

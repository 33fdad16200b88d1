//! Paragraphs on lines of a limited width.

use console::{measure_text_width, truncate_str};

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

/// Returns at most `lines` lines of a paragraph, of which none is wider than `width`: long words, such as sentences in
/// Chinese, are broken. If there is more, the last line ends with an ellipsis.
pub(crate) fn wrap_cut(paragraph: &str, width: usize, lines: usize) -> Vec<String> {
    let words = paragraph.split_whitespace();
    let words: Vec<String> = words.flat_map(|word| broken(word, width)).collect();
    let mut wrapped = wrap(&words.join(" "), width, "", "");
    if wrapped.len() > lines {
        wrapped.truncate(lines);
        if let Some(last) = wrapped.last_mut() {
            let cut = truncate_str(last, width.saturating_sub(1), "");
            *last = format!("{cut}…");
        }
    }
    wrapped
}

/// Returns a word in pieces that are not wider than a line.
fn broken(word: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut room = width;
    for character in word.chars() {
        let columns = measure_text_width(character.encode_utf8(&mut [0; 4]));
        if columns > room && room < width {
            pieces.push(String::new());
            room = width;
        }
        room = room.saturating_sub(columns);
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_move_to_the_next_line_if_they_do_not_fit() {
        let lines = wrap("one two three fourteen-columns", 11, "- ", "  ");
        assert_eq!(lines, ["- one two", "  three", "  fourteen-columns"]);
        assert_eq!(wrap("", 11, "- ", "  "), ["- "]);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(wrap("網路 網路", 9, "", ""), ["網路 網路"]);
        assert_eq!(wrap("網路 網路", 8, "", ""), ["網路", "網路"]);
    }
}

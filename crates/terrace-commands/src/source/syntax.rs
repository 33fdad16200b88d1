//! The messages of parsers on one line: the parsers draw the position of an error over several lines.

use terrace_base::untrusted::quoted;

/// Returns the message of the TOML parser about this text.
pub(crate) fn toml(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let Some(before) = before else {
        return one_line(error.message());
    };
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let column =
        before.chars().count() - before.get(..line_start).unwrap_or_default().chars().count();
    let line = text.get(line_start..).and_then(|rest| rest.lines().next());
    let number = before.matches('\n').count() + 1;
    at(
        number,
        column + 1,
        line.unwrap_or_default(),
        error.message(),
    )
}

/// Returns the message of the parser of JSON with comments about this text.
pub(crate) fn json(text: &str, error: &jsonc_parser::errors::ParseError) -> String {
    let number = error.line_display();
    let line = text.lines().nth(number.saturating_sub(1));
    at(
        number,
        error.column_display(),
        line.unwrap_or_default(),
        &error.kind().to_string(),
    )
}

fn at(number: usize, column: usize, line: &str, message: &str) -> String {
    let (line, message) = (quoted(line.trim()), one_line(message));
    format!("line {number}, column {column}, {line}: {message}")
}

fn one_line(message: &str) -> String {
    let lines = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_that_names_the_place() {
        for (text, place) in [
            ("x = 1\nö = 2 y", "line 2, column "),
            ("[[provider]]\n  address = [\n", "line "),
        ] {
            let error = ::toml::from_str::<::toml::Table>(text).unwrap_err();
            let message = toml(text, &error);
            assert!(message.starts_with(place), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}

//! The messages of the TOML parser on one line: the parser draws the position of an error over several lines.

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
    let (line, column) = (quoted(line.unwrap_or_default().trim()), column + 1);
    let number = before.matches('\n').count() + 1;
    format!(
        "line {number}, column {column}, {line}: {}",
        one_line(error.message())
    )
}

fn one_line(message: &str) -> String {
    let lines = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

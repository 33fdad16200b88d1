//! A comparison in Markdown, for a pull request.

use terrace_web::comparison::{Change, ChangeKind};

use super::{Compared, beginning, fields};

/// Returns the lines of a comparison.
pub(super) fn lines(compared: &Compared<'_>) -> Vec<String> {
    let mut lines = vec![
        format!("### {}", compared.title()),
        String::new(),
        format!("{} [Comparison]({})", compared.verdict(), compared.page),
    ];
    for section in &compared.comparison.sections {
        let title = format!("#### {}: {}", plain(&section.title), section.summary());
        lines.extend([String::new(), title, String::new()]);
        lines.extend(section.changes.iter().map(line));
    }
    lines
}

fn line(change: &Change) -> String {
    let kind = match change.kind {
        ChangeKind::Removed => "removed",
        ChangeKind::Changed => "changed",
        ChangeKind::Raised => "raised",
        ChangeKind::Added => "added",
    };
    let breaking = if change.is_breaking {
        ", **may break**"
    } else {
        ""
    };
    let fields = fields(change, code).map(|(field, text)| format!("{field} {text}"));
    let fields: Vec<String> = fields.collect();
    let gap = if fields.is_empty() { "" } else { ": " };
    let fields = fields.join("; ");
    format!(
        "- {} {kind}{breaking}{gap}{fields}",
        code(&beginning(&change.name))
    )
}

/// Returns a text that means nothing in Markdown: as a span of code, if it could.
fn plain(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " -./,".contains(c);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => code(text),
    }
}

/// Returns a text as a span of code, which ends where the text does.
fn code(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len).max();
    match runs.unwrap_or_default() {
        0 => format!("`{text}`"),
        longest => {
            let fence = "`".repeat(longest + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_of_code_ends_where_its_text_does() {
        assert_eq!(code("list(string)"), "`list(string)`");
        assert_eq!(code("a `b` ``c``"), "``` a `b` ``c`` ```");
    }
}

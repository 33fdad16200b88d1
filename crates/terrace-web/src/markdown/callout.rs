//! Callouts: the alerts of GitHub, and the paragraphs that Terraform's registry colours. Each is known by its title.

use pulldown_cmark::BlockQuoteKind;

/// Returns the callout that an alert is.
pub(super) fn of_alert(kind: BlockQuoteKind) -> &'static str {
    match kind {
        BlockQuoteKind::Note => "Note",
        BlockQuoteKind::Tip => "Tip",
        BlockQuoteKind::Important => "Important",
        BlockQuoteKind::Warning => "Warning",
        BlockQuoteKind::Caution => "Caution",
    }
}

/// Returns the callout that a paragraph is, and the length of its mark with the spaces after it.
pub(super) fn of_paragraph(paragraph: &str) -> Option<(&'static str, usize)> {
    let (mark, rest) = paragraph.split_at_checked(2)?;
    // Terraform's registry calls the second one a note too, in yellow.
    let callout = match mark {
        "->" => "Note",
        "~>" => "Warning",
        "!>" => "Caution",
        "=>" => "Tip",
        _ => return None,
    };
    let text = rest.trim_start_matches([' ', '\t']);
    let is_mark = text.len() < rest.len() || text.starts_with("**");
    (is_mark && !text.is_empty()).then_some((callout, paragraph.len() - text.len()))
}

/// Returns whether the text of a callout begins with a title of its own: strong text.
pub(super) fn has_title(text: &str) -> bool {
    text.starts_with("**") || text.starts_with("__") || text.starts_with("<b>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_and_a_space_begin_a_callout() {
        assert_eq!(of_paragraph("-> a"), Some(("Note", 3)));
        assert_eq!(of_paragraph("~>  **Note** a"), Some(("Warning", 4)));
        assert_eq!(of_paragraph("!>**Note** a"), Some(("Caution", 2)));
        for text in ["->a", "->", "-> ", "- > a", "~ a", "", "é"] {
            assert_eq!(of_paragraph(text), None, "{text}");
        }
    }
}

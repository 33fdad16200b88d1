//! Callouts: the alerts of GitHub, and the paragraphs that Terraform's registry colours.

use pulldown_cmark::BlockQuoteKind;

/// A callout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Callout {
    /// The second class of its element.
    pub(super) class: &'static str,
    /// Its title, if the text does not begin with one.
    pub(super) title: &'static str,
}

const NOTE: Callout = Callout {
    class: "note",
    title: "Note",
};
const TIP: Callout = Callout {
    class: "tip",
    title: "Tip",
};
const IMPORTANT: Callout = Callout {
    class: "important",
    title: "Important",
};
const WARNING: Callout = Callout {
    class: "warning",
    title: "Warning",
};
const CAUTION: Callout = Callout {
    class: "caution",
    title: "Caution",
};

impl Callout {
    pub(super) fn of_alert(kind: BlockQuoteKind) -> Self {
        match kind {
            BlockQuoteKind::Note => NOTE,
            BlockQuoteKind::Tip => TIP,
            BlockQuoteKind::Important => IMPORTANT,
            BlockQuoteKind::Warning => WARNING,
            BlockQuoteKind::Caution => CAUTION,
        }
    }

    /// Returns the callout that a paragraph is, and the length of its mark with the spaces after it.
    pub(super) fn of_paragraph(paragraph: &str) -> Option<(Self, usize)> {
        let (mark, rest) = paragraph.split_at_checked(2)?;
        // Terraform's registry calls the second one a note too, in yellow.
        let callout = match mark {
            "->" => NOTE,
            "~>" => WARNING,
            "!>" => CAUTION,
            "=>" => TIP,
            _ => return None,
        };
        let text = rest.trim_start_matches([' ', '\t']);
        let is_mark = text.len() < rest.len() || text.starts_with("**");
        (is_mark && !text.is_empty()).then_some((callout, paragraph.len() - text.len()))
    }
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
        assert_eq!(Callout::of_paragraph("-> a"), Some((NOTE, 3)));
        assert_eq!(Callout::of_paragraph("~>  **Note** a"), Some((WARNING, 4)));
        assert_eq!(Callout::of_paragraph("!>**Note** a"), Some((CAUTION, 2)));
        for text in ["->a", "->", "-> ", "- > a", "~ a", "", "é"] {
            assert_eq!(Callout::of_paragraph(text), None, "{text}");
        }
    }
}

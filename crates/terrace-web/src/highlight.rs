//! Highlighted Terraform code, as spans with classes.
//!
//! The lexer follows the native syntax of HCL (`hclsyntax/spec.md` of hashicorp/hcl), and guesses where only the grammar
//! could decide: a name before `=` is an attribute, the first name of a statement with `{` at its end is a block. It accepts
//! every text, reads it once, and keeps every byte.

mod lexer;

use crate::escape::push_text;
use crate::limits::{EXPANSION, EXPANSION_BASE};

pub use lexer::{Kind, Token, tokens};

impl Kind {
    /// Returns the class of the span; `None` for text without one.
    pub fn class(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Comment => Some("c"),
            Self::String => Some("s"),
            Self::Escape => Some("e"),
            Self::Number => Some("n"),
            Self::Literal => Some("l"),
            Self::Keyword => Some("k"),
            Self::Attribute => Some("a"),
            Self::Function => Some("f"),
        }
    }
}

/// Returns whether blocks of code in this language are highlighted.
pub fn is_terraform(language: &str) -> bool {
    let names = [
        "hcl",
        "hcl2",
        "terraform",
        "tf",
        "tofu",
        "opentofu",
        "tfvars",
    ];
    names.iter().any(|name| language.eq_ignore_ascii_case(name))
}

/// Returns Terraform code as HTML: escaped text with spans, for a `<code>` element. Beyond the size that a document of this
/// length may have, it has no spans.
pub fn terraform(code: &str) -> String {
    let mut html = String::with_capacity(code.len() * 2);
    push_terraform(&mut html, code, code.len() * EXPANSION + EXPANSION_BASE);
    html
}

/// Appends Terraform code as HTML. Once the HTML has `limit` bytes, the rest of the code has no spans.
pub(crate) fn push_terraform(html: &mut String, code: &str, limit: usize) {
    let mut open = None;
    for token in tokens(code) {
        let class = token.kind.class().filter(|_| html.len() < limit);
        // Adjacent tokens share a span.
        if class != open {
            if open.is_some() {
                html.push_str("</span>");
            }
            if let Some(class) = class {
                html.extend(["<span class=\"", class, "\">"]);
            }
            open = class;
        }
        push_text(html, token.text);
    }
    if open.is_some() {
        html.push_str("</span>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_language_are_known() {
        assert!(is_terraform("hcl") && is_terraform("Terraform") && is_terraform("tf"));
        assert!(!is_terraform("") && !is_terraform("json") && !is_terraform("hc"));
    }

    #[test]
    fn tokens_become_spans_of_escaped_text() {
        assert_eq!(
            terraform("resource \"a<b\" \"c\" {\n  n = 1 # &\n}\n"),
            "<span class=\"k\">resource</span> <span class=\"s\">\"a&lt;b\"</span> <span class=\"s\">\"c\"</span> {\n  \
             <span class=\"a\">n</span> = <span class=\"n\">1</span> <span class=\"c\"># &amp;</span>\n}\n"
        );
    }

    #[test]
    fn no_spans_are_written_after_the_limit() {
        let mut html = String::new();
        push_terraform(&mut html, "1 2 3", 1);
        assert_eq!(html, "<span class=\"n\">1</span> 2 3");
    }
}

//! Configuration files, in native syntax and in JSON, as blocks with attributes.
//!
//! Only the literal parts of expressions are evaluated; everything else stays source text. Files are hostile until
//! [`scan`] has limited their nesting and the size of their blocks.

mod json;
mod native;
mod scan;
mod value;

pub(crate) use value::Value;

use std::collections::BTreeMap;

use crate::source::Syntax;

/// The readable blocks of a file, and the errors of the others.
#[derive(Debug, Default)]
pub(crate) struct Parsed<'s> {
    pub(crate) blocks: Vec<Block<'s>>,
    pub(crate) faults: Vec<Fault>,
}

/// A block.
#[derive(Debug)]
pub(crate) struct Block<'s> {
    pub(crate) kind: String,
    pub(crate) labels: Vec<String>,
    pub(crate) attributes: BTreeMap<String, Attribute<'s>>,
    pub(crate) blocks: Vec<Block<'s>>,
    /// The line that it begins in, unless the syntax is JSON.
    pub(crate) line: Option<usize>,
}

/// An attribute of a block.
#[derive(Debug)]
pub(crate) struct Attribute<'s> {
    pub(crate) value: Value<'s>,
    pub(crate) line: Option<usize>,
}

/// The error of one block, or of a whole file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) line: Option<usize>,
    pub(crate) message: String,
    /// Whether the code only exceeds a limit, which clients do not have.
    pub(crate) is_limit: bool,
}

/// Parses a file.
pub(crate) fn parse(text: &str, syntax: Syntax) -> Parsed<'_> {
    match syntax {
        Syntax::Native => native::parse(text),
        Syntax::Json => json::parse(text),
    }
}

/// Returns a file in the native syntax of Terraform, such as its own settings or a lock file, as the JSON that means the same:
/// a block is an object below its labels, and several without labels are a list. A literal is a text, and any other expression
/// the template `${…}`.
///
/// # Errors
/// The line of the first error, and the error.
pub fn native_as_json(text: &str) -> Result<serde_json::Value, (usize, String)> {
    let failed = |fault: Fault| (fault.line.unwrap_or(1), fault.message);
    native::to_json(text).map(Into::into).map_err(failed)
}

impl Block<'_> {
    fn new(kind: String, labels: Vec<String>, line: Option<usize>) -> Self {
        Self {
            kind,
            labels,
            attributes: BTreeMap::new(),
            blocks: Vec::new(),
            line,
        }
    }

    /// Returns the only label.
    pub(crate) fn label(&self) -> Option<&str> {
        match self.labels.as_slice() {
            [label] => Some(label),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::native_as_json;
    use serde_json::json;

    #[test]
    fn the_native_syntax_becomes_the_json_that_means_the_same() {
        let text = "a = 1\nb \"x\" {\n c = [\"d\", true]\n}\nb \"y\" {}\ne {\n f {}\n}\ne {\n g = { \"h\" = var.i, j = null }\n}\n";
        let expected = json!({
            "a": "1",
            "b": { "x": { "c": ["d", "true"] }, "y": {} },
            "e": [{ "f": {} }, { "g": { "h": "${var.i}", "j": null } }],
        });
        assert_eq!(native_as_json(text), Ok(expected));
        for text in ["a = 1\nb {", "\n\"x"] {
            assert!(native_as_json(text).is_err(), "{text:.40}");
        }
        // Nested too deeply to be read, which is no error for clients.
        assert_eq!(native_as_json(&"a {".repeat(100_000)), Ok(json!({})));
    }

    #[test]
    fn a_value_that_is_refused_leaves_the_others_of_its_block() {
        let text = "terraform {\n required_providers {\n  a = { source = \"x/a\", source = \"y/a\" }\n  b = { source = \"x/b\" }\n }\n}\n";
        let read = native_as_json(text);
        let is_read =
            |it: serde_json::Value| it["terraform"]["required_providers"]["b"]["source"] == "x/b";
        assert!(read.is_ok_and(is_read), "{:?}", native_as_json(text));
    }
}

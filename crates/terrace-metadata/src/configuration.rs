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

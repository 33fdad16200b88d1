//! The result of an extraction, before it is packed.

use std::fmt;

use terrace_core::documentation::{Contents, Member, Page};
use terrace_core::model::relative_path::RelativePath;

/// The place of a page before it is packed.
pub(crate) const UNPACKED: Member = Member {
    offset: 0,
    length: 0,
    size: 0,
};

/// The extracted documentation of one version. The places of its pages are known only in the archive.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The details of the module or the provider.
    pub contents: Contents,
    /// Notes for readers, which become part of the archive.
    pub notes: Vec<String>,
    /// The pages, in the order in which the contents name them.
    pub pages: Vec<Vec<u8>>,
    /// Warnings for the publisher.
    pub warnings: Vec<Warning>,
}

/// A warning for the publisher about one file, in the form `file:line: message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The path of the file or the directory, escaped.
    pub file: String,
    /// The line, from 1, if the warning is about one.
    pub line: Option<usize>,
    /// The fault, and its fix.
    pub message: String,
}

impl Draft {
    /// Adds a file of the package that pages of a module show or link. The files of an archive are in this order.
    pub fn attach(&mut self, name: RelativePath, bytes: &[u8]) {
        if let Contents::Module(module) = &mut self.contents {
            module.attachments.push(Page {
                name,
                member: UNPACKED,
                is_truncated: false,
            });
            self.pages.push(bytes.to_vec());
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

//! The structured contents of the tools' answers. They are built from the views of the API, so that a tool shows a caller
//! the same values, and cut into pages.

mod listed;
mod module;
mod provider;
mod versions;

use serde::Serialize;

use super::page::TextPage;
use crate::api::details::DocumentView;
use crate::documentation::DocumentPath;
use crate::model::version::Version;

pub use listed::{FindTypeAnswer, ResourceList, SearchAnswer};
pub use module::ModuleAnswer;
pub use provider::ProviderAnswer;
pub use versions::{ComparedChange, ComparedField, ComparisonAnswer, VersionsAnswer};

/// The note in the answer about a version without documentation.
const UNDOCUMENTED: &str =
    "this version has no documentation: its publisher can add it (terrace docs add)";

/// The code and the links of an answer, which only the application knows.
#[derive(Debug, Clone, Default)]
pub struct Links {
    /// The address in configurations, with the registry's hostname.
    pub source: String,
    /// The code that uses the package.
    pub snippet: String,
    /// The URL of the page for people.
    pub page: String,
}

/// The answer of `get_docs`.
#[derive(Debug, Serialize)]
pub struct DocumentAnswer {
    address: String,
    version: Version,
    document: String,
    page: String,
    offset: usize,
    /// The length of the whole text, in characters.
    characters: usize,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

impl DocumentAnswer {
    /// Creates the answer with the part of a document after `offset` characters. `page` is the URL of the page for people.
    pub fn new(
        (address, version): (String, Version),
        document: &DocumentPath,
        text: &str,
        offset: usize,
        page: String,
    ) -> Self {
        let TextPage { text, total, next } = TextPage::of(text, offset);
        Self {
            address,
            version,
            document: document.to_string(),
            page,
            offset,
            characters: total,
            text,
            next_offset: next,
        }
    }
}

/// Returns the name of a document for `get_docs`.
fn document_name(view: &DocumentView) -> String {
    match view.kind == view.name {
        true => view.kind.clone(),
        false => format!("{}/{}", view.kind, view.name),
    }
}

//! The answer of `get_provider`.

use serde::Serialize;

use super::{Links, UNDOCUMENTED, document_name};
use crate::api::details::{DocumentView, StatusView, SymbolView};
use crate::documentation::DocumentationKind;
use crate::mcp::page::{AnswerPage, Entries, cut};
use crate::model::protocol_version::ProtocolVersion;
use crate::model::version::Version;
use crate::read::VersionView;
use terrace_base::json;

/// The answer of `get_provider`.
#[derive(Debug, Serialize)]
pub struct ProviderAnswer {
    address: String,
    source: String,
    version: Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest: Option<Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<StatusView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    package_status: Option<StatusView>,
    page: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    snippet: String,
    protocols: Vec<ProtocolVersion>,
    platforms: Entries,
    documents: Entries,
    types_without_document: Entries,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

#[derive(Serialize)]
struct PlatformEntry<'a> {
    os: &'a str,
    arch: &'a str,
}

#[derive(Serialize)]
struct DocumentEntry<'a> {
    document: String,
    /// The type that the document describes.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    symbol: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subcategory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

#[derive(Serialize)]
struct TypeEntry<'a> {
    kind: DocumentationKind,
    name: &'a str,
}

impl ProviderAnswer {
    /// Creates the answer about a version of a provider, with its documents of one kind, or of all.
    pub fn new(
        view: VersionView,
        kind: Option<DocumentationKind>,
        links: Links,
        page: &mut AnswerPage,
    ) -> Self {
        let VersionView {
            details,
            navigation,
            ..
        } = view;
        let first = page.is_first();
        let platforms = page.take(&details.platforms, |it| {
            json::to_string(&PlatformEntry {
                os: &it.os,
                arch: &it.arch,
            })
        });
        let symbols = navigation.symbols.as_slice();
        let is_wanted = |name: &str| kind.is_none_or(|kind| kind.as_str() == name);
        let documents = navigation.documents.iter().filter(|it| is_wanted(&it.kind));
        // A page has a few hundred documents at most, of the thousands that a provider may have.
        let documents = page.take(documents, |it| json::to_string(&document(it, symbols)));
        let bare = symbols.iter();
        let bare = bare.filter(|it| it.path.is_none() && is_wanted(it.kind.as_str()));
        let bare = page.take(bare, |SymbolView { kind, name, .. }| {
            json::to_string(&TypeEntry { kind: *kind, name })
        });
        Self {
            note: details.documentation.is_none().then_some(UNDOCUMENTED),
            address: details.package.address,
            source: links.source,
            version: details.version.version,
            latest: details.latest,
            published_at: details.version.published_at,
            status: details.version.status,
            package_status: details.package_status,
            page: links.page,
            snippet: match first {
                true => links.snippet,
                false => String::new(),
            },
            protocols: details.protocols,
            platforms,
            documents,
            types_without_document: bare,
            next_offset: page.next(),
        }
    }
}

fn document<'a>(view: &'a DocumentView, symbols: &'a [SymbolView]) -> DocumentEntry<'a> {
    let mut symbols = symbols.iter();
    let described = symbols.find(|it| it.path.as_deref() == Some(view.path.as_str()));
    DocumentEntry {
        document: document_name(view),
        symbol: described.map(|it| it.name.as_str()),
        title: view.title.as_deref().map(cut),
        subcategory: view.subcategory.as_deref().map(cut),
        description: view.description.as_deref().map(cut),
    }
}

//! The answer of `get_provider`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Entries, Links, UNDOCUMENTED};
use crate::api::details::{DocumentView, StatusView, SymbolView};
use crate::documentation::DocumentationKind;
use crate::mcp::page::{AnswerPage, cut};
use crate::model::protocol_version::ProtocolVersion;
use crate::model::version::Version;
use crate::read::VersionView;

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
        let platforms = page.take(details.platforms.iter().map(|it| PlatformEntry {
            os: &it.os,
            arch: &it.arch,
        }));
        let described = navigation.symbols.iter();
        let described: BTreeMap<&str, &str> = described
            .filter_map(|it| Some((it.path.as_deref()?, it.name.as_str())))
            .collect();
        let is_wanted = |name: &str| kind.is_none_or(|kind| kind.as_str() == name);
        let documents = navigation.documents.iter().filter(|it| is_wanted(&it.kind));
        let documents = page.take(documents.map(|it| document(it, &described)));
        let bare = navigation.symbols.iter();
        let bare = bare.filter(|it| it.path.is_none() && is_wanted(it.kind.as_str()));
        let bare =
            page.take(bare.map(|SymbolView { kind, name, .. }| TypeEntry { kind: *kind, name }));
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
            snippet: links.snippet.chars().filter(|_| first).collect(),
            protocols: details.protocols,
            platforms,
            documents,
            types_without_document: bare,
            next_offset: page.next(),
        }
    }
}

fn document<'a>(view: &'a DocumentView, described: &BTreeMap<&str, &'a str>) -> DocumentEntry<'a> {
    DocumentEntry {
        document: match view.kind == view.name {
            true => view.kind.clone(),
            false => format!("{}/{}", view.kind, view.name),
        },
        symbol: described.get(view.path.as_str()).copied(),
        title: view.title.as_deref().map(cut),
        subcategory: view.subcategory.as_deref().map(cut),
        description: view.description.as_deref().map(cut),
    }
}

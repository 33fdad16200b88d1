//! The structured contents of the tools' answers: the documents of the API, cut into pages, with the code that uses a package.

use serde::Serialize;

use super::page::TextPage;
pub use super::page::{AnswerPage, Bounded, bounded};
use crate::api::details::{
    DocumentView, ModuleView, NamedPartView, PackageDetails, SearchPage, SearchResult, SymbolView,
    VersionDetails,
};
use crate::documentation::{DocumentPath, DocumentationKind, Input, ModulePart};
use crate::index::catalog::CatalogLine;
use crate::mcp::resource::DocumentResource;
use crate::model::relative_path::RelativePath;
use crate::model::version::{RequestedVersion, Version};
use crate::read::VersionView;
use terrace_base::json;

/// The note in the answer about a version without documentation.
const UNDOCUMENTED: &str =
    "this version has no documentation: its publisher can add it (terrace docs add)";

/// The note about a module that Terraform cannot use.
const OPENTOFU_ONLY: &str = "only OpenTofu reads this module: it has .tofu files, and no .tf files";

/// The note about a module of which OpenTofu reads other files.
const OTHER_IN_OPENTOFU: &str = "this is the module as Terraform reads it: OpenTofu reads .tofu files of it that differ, which the page describes";

/// The code and the links of an answer, which only the application knows.
#[derive(Debug)]
pub struct Links {
    /// The address in configurations, with the registry's hostname.
    pub source: String,
    /// The code that uses the package.
    pub snippet: String,
    /// The URL of the page for people.
    pub page: String,
}

/// The answer of `get_module` and `get_provider`.
#[derive(Serialize)]
struct VersionAnswer {
    source: String,
    /// It belongs to the first page of a long answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
    page: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    /// [`VersionDetails`]
    details: Bounded,
    /// A list of [`DocumentView`].
    documents: Bounded,
    /// A list of [`SymbolView`]: the types without a document.
    symbols: Bounded,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

/// The answer of `list_versions`.
#[derive(Serialize)]
struct VersionsAnswer {
    details: PackageDetails,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
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

/// The result of `resources/list`: the documentation of each package.
#[derive(Debug, Serialize)]
pub struct ResourceList {
    resources: Vec<Resource>,
    #[serde(rename = "nextCursor", skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize)]
struct Resource {
    uri: String,
    name: String,
    title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    #[serde(rename = "mimeType")]
    mime_type: &'static str,
}

/// Returns the answer about a version: about the root of a module or this submodule, or with the documents of a provider of
/// this kind. `None` if it has no such submodule.
pub fn version(
    view: VersionView,
    submodule: Option<&RelativePath>,
    kind: Option<DocumentationKind>,
    links: Links,
    offset: usize,
) -> Option<String> {
    let mut page = AnswerPage::after(offset);
    let mut details = view.details;
    let is_documented = details.documentation.is_some();
    let mut note = (!is_documented).then_some(UNDOCUMENTED);
    match (&mut details.module, submodule) {
        (None, None) => {}
        (None, Some(_)) => return None,
        (Some(module), submodule) => {
            if let Some(name) = submodule {
                let mut parts = std::mem::take(&mut module.submodules).into_iter();
                module.root = parts.find(|it| it.name == *name)?.part;
                module.examples.clear();
            }
            note = cut_module(module, &mut page);
        }
    }
    cut_provider(&mut details, &mut page);
    let is_wanted = |name: &str| kind.is_none_or(|kind| kind.as_str() == name);
    let mut documents = view.navigation.documents;
    documents.retain(|it: &DocumentView| is_wanted(&it.kind));
    page.keep(&mut documents);
    let mut symbols = view.navigation.symbols;
    symbols.retain(|it: &SymbolView| it.path.is_none() && is_wanted(it.kind.as_str()));
    page.keep(&mut symbols);
    Some(json::to_string(&VersionAnswer {
        source: links.source,
        snippet: (offset == 0).then_some(links.snippet),
        page: links.page,
        note,
        details: bounded(&details),
        documents: bounded(&documents),
        symbols: bounded(&symbols),
        next_offset: page.next(),
    }))
}

/// Cuts a module to a page, as Terraform reads it. Returns the note about it.
fn cut_module(module: &mut ModuleView, page: &mut AnswerPage) -> Option<&'static str> {
    let root = &mut module.root;
    let other = root.opentofu.take().map(|_| OTHER_IN_OPENTOFU);
    let note = root.is_opentofu_only.then_some(OPENTOFU_ONLY).or(other);
    // It is a document.
    root.readme = None;
    page.keep(&mut root.required_versions);
    page.keep(&mut root.inputs);
    page.keep(&mut root.outputs);
    for provider in &mut root.providers {
        provider.versions.truncate(PROVIDER_TEXTS);
        provider.aliases.truncate(PROVIDER_TEXTS);
    }
    page.keep(&mut root.providers);
    page.keep(&mut root.resources);
    page.keep(&mut root.calls);
    page.keep(&mut root.errors);
    for part in module.submodules.iter_mut().chain(&mut module.examples) {
        cut_part(part);
    }
    page.keep(&mut module.submodules);
    page.keep(&mut module.examples);
    note
}

/// How many constraints, and how many aliases, of a required provider an answer has.
const PROVIDER_TEXTS: usize = 20;

/// How many required inputs of a submodule or an example an answer names.
const PART_INPUTS: usize = 50;

/// Cuts a submodule or an example to the names of its required inputs.
fn cut_part(part: &mut NamedPartView) {
    let inputs = std::mem::take(&mut part.part.inputs).into_iter();
    let required = inputs.filter(Input::is_required).map(|it| Input {
        constraint: None,
        description: None,
        ..it
    });
    part.part = ModulePart {
        inputs: required.take(PART_INPUTS).collect(),
        ..ModulePart::default()
    };
    // They are documents.
    part.files.clear();
}

/// Cuts the lists of a provider to a page.
fn cut_provider(details: &mut VersionDetails, page: &mut AnswerPage) {
    // Nobody installs a provider by hand.
    details.signing_key = None;
    page.keep(&mut details.platforms);
    if let Some(documentation) = &mut details.documentation {
        page.keep(&mut documentation.notes);
    }
}

/// Returns the answer about all versions of a package.
pub fn versions(mut details: PackageDetails, offset: usize) -> String {
    let mut page = AnswerPage::after(offset);
    page.keep(&mut details.versions);
    json::to_string(&VersionsAnswer {
        details,
        next_offset: page.next(),
    })
}

/// Returns the answer of `search` and `find_type`: the page without the places of the words, which only pages show.
pub fn search(mut page: SearchPage) -> String {
    for result in &mut page.results {
        let (SearchResult::Package { highlights, .. } | SearchResult::Symbol { highlights, .. }) =
            result;
        *highlights = Default::default();
    }
    json::to_string(&page)
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

impl ResourceList {
    /// Creates the list with the packages of a page that have documentation. `next` is the cursor of the next page.
    pub fn new(lines: impl IntoIterator<Item = CatalogLine>, next: Option<String>) -> Self {
        let documented = lines.into_iter().filter(|line| line.is_documented);
        Self {
            resources: documented.map(Resource::from).collect(),
            next_cursor: next,
        }
    }
}

impl From<CatalogLine> for Resource {
    fn from(line: CatalogLine) -> Self {
        let address = line.package.address();
        let resource = DocumentResource::Navigation(line.package, RequestedVersion::Latest);
        Self {
            uri: resource.to_string(),
            mime_type: resource.content_type(),
            title: format!("Documentation of {address}"),
            name: address,
            description: line.description,
        }
    }
}

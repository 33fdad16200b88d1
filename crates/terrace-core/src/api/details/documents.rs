//! The documentation of a version.

use serde::{Deserialize, Serialize};

use super::PackageName;
use crate::api::route::ApiRoute;
use crate::documentation::{
    Contents, DocumentPath, DocumentationKind, ModuleDetails, ProviderDetails,
};
use crate::index::about::{About, AboutDocumentation};
use crate::model::package::Package;
use crate::model::version::{RequestedVersion, Version};

/// The origin of a version's documentation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentationSummary {
    /// The path of [`Navigation`].
    pub path: String,
    /// The time at which it was added or last replaced, to the second.
    pub changed_at: String,
    /// How often it was changed after it was first added.
    pub changes: u32,
    /// The licence of the documentation as an SPDX expression, if it is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// The page that it was taken from, for another registry's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Notes about files that were cut, skipped or unreadable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The response of `GET /api/v1/{address}/{version}/docs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Navigation {
    /// The kind, the address and the path of the package, as in lists.
    #[serde(flatten)]
    pub package: PackageName,
    /// The documented version, as published.
    pub version: Version,
    /// The origin of the documentation, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation: Option<DocumentationSummary>,
    /// The documents, in the order of a navigation.
    pub documents: Vec<DocumentView>,
    /// The names that configurations refer to.
    pub symbols: Vec<SymbolView>,
    /// The arguments of the provider's own block, as in [`SymbolView::arguments`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

/// A document that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentView {
    /// The kind: that of a provider's page, `readme`, `submodules` or `examples`.
    pub kind: String,
    /// The name within its kind, as in its path.
    pub name: String,
    /// The path of its text.
    pub path: String,
    /// The title of a provider's page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The group that a provider's page is listed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subcategory: Option<String>,
    /// The description of a provider's page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The length of the text in bytes.
    pub size: u64,
    /// `true` if the file exceeded [`PAGE_BYTES`](crate::limits::PAGE_BYTES) and the text is its beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_truncated: bool,
    /// `true` if the command generated the page from the provider's schema, because the provider has no file for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_generated: bool,
}

/// A name that configurations refer to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolView {
    /// The kind of its page, such as `resources`; neither an overview nor a guide.
    pub kind: DocumentationKind,
    /// The name in configurations, such as `acme_widget`, or that of a function.
    pub name: String,
    /// The path of the page that describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The arguments and attributes, one a line, if the schema was published: `name: Required, String`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

impl DocumentationSummary {
    pub(super) fn of(
        package: &Package,
        version: &Version,
        documentation: &AboutDocumentation,
    ) -> Self {
        let exact = RequestedVersion::Exact(version.clone());
        Self {
            path: ApiRoute::Navigation(package.clone(), exact).to_string(),
            changed_at: documentation.changed_at.to_string(),
            changes: documentation.changes,
            license: documentation.license.clone(),
            origin: documentation.origin.clone(),
            notes: documentation.head.notes.clone(),
        }
    }
}

impl Navigation {
    /// Returns the documents and symbols of a version.
    pub fn of(package: &Package, version: &Version, about: &About) -> Self {
        let documentation = about.documentation.as_ref();
        let (documents, symbols, arguments) = match documentation.map(|it| &it.head.contents) {
            None => Default::default(),
            Some(Contents::Module(details)) => {
                let documents = documents_of_module(package, version, details);
                (documents, Vec::new(), None)
            }
            Some(Contents::Provider(details)) => (
                documents_of_provider(package, version, details),
                symbols(package, version, details),
                details.arguments.clone(),
            ),
        };
        Self {
            package: PackageName::from(package),
            version: version.clone(),
            documentation: documentation.map(|it| DocumentationSummary::of(package, version, it)),
            documents,
            symbols,
            arguments,
        }
    }
}

impl DocumentView {
    /// Creates the entry of a document of a version, without its properties.
    pub fn new(document: &DocumentPath, package: &Package, version: &Version) -> Self {
        let text = document.to_string();
        let (kind, name) = text.split_once('/').unwrap_or((&text, &text));
        Self {
            kind: kind.to_owned(),
            name: name.to_owned(),
            path: document_path(document.clone(), package, version),
            title: None,
            subcategory: None,
            description: None,
            size: 0,
            is_truncated: false,
            is_generated: false,
        }
    }
}

/// Returns the path of a document of a version.
pub fn document_path(document: DocumentPath, package: &Package, version: &Version) -> String {
    let version = RequestedVersion::Exact(version.clone());
    ApiRoute::Document(package.clone(), version, document).to_string()
}

fn documents_of_provider(
    package: &Package,
    version: &Version,
    details: &ProviderDetails,
) -> Vec<DocumentView> {
    let pages = details.pages.iter();
    let document = pages.map(|page| DocumentView {
        kind: page.kind.to_string(),
        name: page.name.to_string(),
        title: Some(page.title.clone()),
        subcategory: page.subcategory.clone(),
        description: page.description.clone(),
        size: u64::from(page.member.size),
        is_truncated: page.is_truncated,
        is_generated: page.is_generated,
        ..DocumentView::new(
            &DocumentPath::of_page(page.kind, &page.name),
            package,
            version,
        )
    });
    document.collect()
}

fn documents_of_module(
    package: &Package,
    version: &Version,
    details: &ModuleDetails,
) -> Vec<DocumentView> {
    let readme = |document: DocumentPath, readme: &Option<String>| {
        readme.as_ref().map(|text| DocumentView {
            size: text.len() as u64,
            ..DocumentView::new(&document, package, version)
        })
    };
    let mut documents = Vec::new();
    documents.extend(readme(DocumentPath::Readme, &details.root.readme));
    for part in &details.submodules {
        let document = DocumentPath::Submodule(part.name.clone());
        documents.extend(readme(document, &part.part.readme));
    }
    for part in &details.examples {
        let document = DocumentPath::Example(part.name.clone());
        documents.extend(readme(document, &part.part.readme));
        documents.extend(part.files.iter().map(|file| {
            let document = DocumentPath::ExampleFile(part.name.clone(), file.name.clone());
            DocumentView {
                size: u64::from(file.member.size),
                is_truncated: file.is_truncated,
                ..DocumentView::new(&document, package, version)
            }
        }));
    }
    documents
}

fn symbols(package: &Package, version: &Version, details: &ProviderDetails) -> Vec<SymbolView> {
    let symbols = details.symbols.iter();
    let symbol = symbols.map(|symbol| SymbolView {
        kind: symbol.kind,
        name: symbol.name.clone(),
        path: symbol
            .page
            .as_ref()
            .map(|page| document_path(DocumentPath::of_page(symbol.kind, page), package, version)),
        arguments: symbol.arguments.clone(),
    });
    symbol.collect()
}

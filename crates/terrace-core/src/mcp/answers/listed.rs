//! The answers of `search` and `find_type`, and the list of resources.

use serde::Serialize;

use crate::api::details::{ListedPackage, SearchPage, SearchResult};
use crate::documentation::DocumentationKind;
use crate::index::catalog::CatalogLine;
use crate::mcp::resource::DocumentResource;
use crate::model::package::PackageKind;
use crate::model::status::ReleaseState;
use crate::model::version::RequestedVersion;
use crate::model::version::Version;

/// The answer of `search`.
#[derive(Debug, Serialize)]
pub struct SearchAnswer {
    results: Vec<Found>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The answer of `find_type`.
#[derive(Debug, Serialize)]
pub struct FindTypeAnswer {
    types: Vec<FoundType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Found {
    Package(FoundPackage),
    Symbol(FoundSymbol),
}

#[derive(Debug, Serialize)]
struct FoundPackage {
    kind: PackageKind,
    address: String,
    latest: Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<ReleaseState>,
    is_documented: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    /// The inputs of a module that have a word of the query in their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inputs: Vec<String>,
}

/// A type among packages: the address is that of its provider.
#[derive(Debug, Serialize)]
struct FoundSymbol {
    kind: DocumentationKind,
    address: String,
    name: String,
    version: Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
}

#[derive(Debug, Serialize)]
struct FoundType {
    kind: DocumentationKind,
    name: String,
    is_exact: bool,
    provider: String,
    version: Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
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

impl From<SearchPage> for SearchAnswer {
    fn from(page: SearchPage) -> Self {
        Self {
            results: page.results.into_iter().map(found).collect(),
            next_cursor: page.next,
        }
    }
}

impl FindTypeAnswer {
    /// Creates the answer with the results of a search for types of this name.
    pub fn new(name: &str, page: SearchPage) -> Self {
        let types = page.results.into_iter().filter_map(|result| match result {
            SearchResult::Package { .. } => None,
            SearchResult::Symbol {
                kind,
                name: found,
                provider,
                version,
                path,
                ..
            } => Some(FoundType {
                kind,
                is_exact: found == name,
                name: found,
                provider: provider.address,
                version,
                document: path.as_deref().map(document),
            }),
        });
        Self {
            types: types.collect(),
            next_cursor: page.next,
        }
    }
}

impl ResourceList {
    /// Creates the list with the packages of a page that have documentation. `next` is the cursor of the next page.
    pub fn new(lines: impl IntoIterator<Item = CatalogLine>, next: Option<String>) -> Self {
        let documented = lines.into_iter().filter(|line| line.is_documented);
        Self {
            resources: documented.map(|line| resource(&line)).collect(),
            next_cursor: next,
        }
    }
}

fn resource(line: &CatalogLine) -> Resource {
    let resource = DocumentResource::Navigation(line.package.clone(), RequestedVersion::Latest);
    let address = line.package.address();
    Resource {
        uri: resource.to_string(),
        mime_type: resource.content_type(),
        title: format!("Documentation of {address}"),
        name: address,
        description: line.description.clone(),
    }
}

fn found(result: SearchResult) -> Found {
    match result {
        SearchResult::Package {
            package, inputs, ..
        } => {
            let ListedPackage {
                package,
                latest,
                state,
                is_documented,
                description,
                ..
            } = package;
            Found::Package(FoundPackage {
                kind: package.kind,
                address: package.address,
                latest,
                state,
                is_documented,
                description,
                inputs: inputs.iter().map(|pieces| pieces.concat()).collect(),
            })
        }
        SearchResult::Symbol {
            kind,
            name,
            provider,
            version,
            path,
            ..
        } => Found::Symbol(FoundSymbol {
            kind,
            address: provider.address,
            name,
            version,
            document: path.as_deref().map(document),
        }),
    }
}

/// Returns the name of a document for `get_docs`, from its path in the API.
fn document(path: &str) -> String {
    let document = path.split_once("/docs/").map_or("", |(_, rest)| rest);
    document.to_owned()
}

//! The JSON of the registry's own API, for the Worker that writes it and the command that reads it.
//!
//! Times are texts, as in RFC 3339. Paths begin with a slash and belong to the same registry.

use serde::{Deserialize, Serialize};

use crate::api::route::{ApiRoute, RequestedVersion};
use crate::documentation::{
    DocumentPath, DocumentationKind, ModuleDetails, ModulePart, NamedPart, PageName,
};
use crate::index::catalog::CatalogLine;
use crate::index::overview::OverviewVersion;
use crate::model::package::Package;
use crate::model::package_hash::PackageHash;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::provenance::Provenance;
use crate::model::source::SourceDocument;
use crate::model::status::{Reason, ReleaseState, ReleaseStatus};
use crate::model::version::Version;
use terrace_base::digest::Sha256;

/// The kind of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackageKind {
    /// A module.
    Module,
    /// A provider, published here or mirrored.
    Provider,
}

/// A package, as lists name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageName {
    /// The kind of the package.
    pub kind: PackageKind,
    /// The address, as users write it below the hostname of the registry; a mirrored provider's with its own hostname.
    pub address: String,
    /// The path of its details.
    pub path: String,
}

/// A status, without the name of the caller who set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusView {
    /// The status itself.
    pub state: ReleaseState,
    /// The reason, for users.
    pub reason: Reason,
    /// The time when it was set.
    pub at: String,
}

/// The response of `GET /api/v1/{address}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageDetails {
    /// The package.
    #[serde(flatten)]
    pub package: PackageName,
    /// The newest version that can be installed.
    pub latest: Option<Version>,
    /// The status of the whole package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusView>,
    /// All versions, the newest first.
    pub versions: Vec<VersionSummary>,
}

/// A version in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionSummary {
    /// The version.
    pub version: Version,
    /// The time of its publish, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
    /// Its status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusView>,
    /// The repository that it was built from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceDocument>,
    /// Whether it has documentation.
    pub is_documented: bool,
}

/// The response of `GET /api/v1/{address}/{version}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionDetails {
    /// The package.
    #[serde(flatten)]
    pub package: PackageName,
    /// The version.
    #[serde(flatten)]
    pub version: VersionSummary,
    /// The newest version that can be installed.
    pub latest: Option<Version>,
    /// The status of the whole package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package_status: Option<StatusView>,
    /// The job that published it, if it was a job with a verified identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The origin of the documentation, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation: Option<DocumentationSummary>,
    /// The plugin protocols of a provider; empty if they are unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<ProtocolVersion>,
    /// The platforms of a provider; empty for a revoked version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<PlatformView>,
    /// The key that signed a provider published here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_key: Option<SigningKeyView>,
    /// The details of a documented module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<ModuleView>,
}

/// The origin of a version's documentation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentationSummary {
    /// The path of its navigation.
    pub path: String,
    /// The time of its last change.
    pub changed_at: String,
    /// How often it was changed after it was first added.
    pub changes: u32,
    /// The SPDX identifier of its licence, if it is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// The page that it was taken from, for another registry's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Notes about files that were cut, skipped or unreadable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A platform of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformView {
    /// The operating system.
    pub os: String,
    /// The architecture.
    pub arch: String,
    /// The name of the zip in SHA256SUMS.
    pub filename: String,
    /// The SHA-256 of the zip, which is also its `zh:` hash.
    pub sha256: Sha256,
    /// The length of the zip in bytes; `None` if it has not been fetched from its origin yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The `h1:` hash of the contents, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h1: Option<PackageHash>,
}

/// A signing key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningKeyView {
    /// The ID of the key.
    pub key_id: String,
    /// Its fingerprint, in hexadecimal digits.
    pub fingerprint: String,
    /// The public key in ASCII armour.
    pub ascii_armor: String,
}

/// The details of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleView {
    /// The root module.
    pub root: ModulePart,
    /// The directories below `modules/`.
    pub submodules: Vec<NamedPartView>,
    /// The directories below `examples/`.
    pub examples: Vec<NamedPartView>,
}

/// A submodule or an example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedPartView {
    /// The name of its directory.
    pub name: PageName,
    /// Its details.
    #[serde(flatten)]
    pub part: ModulePart,
    /// The files of an example.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<DocumentView>,
}

/// The response of `GET /api/v1/{address}/{version}/docs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Navigation {
    /// The package.
    #[serde(flatten)]
    pub package: PackageName,
    /// The version.
    pub version: Version,
    /// The origin of the documentation, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation: Option<DocumentationSummary>,
    /// The documents, in the order of a navigation.
    pub documents: Vec<DocumentView>,
    /// The names that configurations refer to.
    pub symbols: Vec<SymbolView>,
}

/// A document that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentView {
    /// The kind: that of a provider's page, `readme`, `submodules` or `examples`.
    pub kind: String,
    /// The name within its kind.
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
    /// Whether the file was cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_truncated: bool,
    /// Whether the page was generated from the provider's schema.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_generated: bool,
}

/// A name that configurations refer to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolView {
    /// Its kind.
    pub kind: DocumentationKind,
    /// The whole name.
    pub name: String,
    /// The path of the page that describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// The response of `GET /api/v1/namespaces`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespacePage {
    /// The namespaces, ascending.
    pub namespaces: Vec<NamespaceView>,
    /// The cursor of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceView {
    /// The namespace; that of mirrored providers with their hostname.
    pub namespace: String,
    /// The path of its packages.
    pub path: String,
    /// The number of its modules.
    pub modules: u32,
    /// The number of its providers.
    pub providers: u32,
}

/// The response of `GET /api/v1/namespaces/{namespace}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackagePage {
    /// The namespace.
    pub namespace: String,
    /// The packages, ascending by kind and address.
    pub packages: Vec<ListedPackage>,
    /// The cursor of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A package in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedPackage {
    /// The package.
    #[serde(flatten)]
    pub package: PackageName,
    /// The newest version that can be installed, or, without one, the newest.
    pub latest: Version,
    /// The time of its publish, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
    /// The number of versions.
    pub versions: u32,
    /// The status of the package, or, without one, of its latest version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ReleaseState>,
    /// Whether the latest version has documentation.
    pub is_documented: bool,
    /// The description; empty if there is none.
    pub description: String,
}

/// The response of `GET /api/v1/search`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchPage {
    /// The results, the best first.
    pub results: Vec<SearchResult>,
    /// The cursor of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SearchResult {
    /// A package.
    Package {
        /// The package.
        #[serde(flatten)]
        package: ListedPackage,
        /// The places of the words of the query.
        highlights: Highlights,
        /// The inputs of a module that have a word of the query in their names.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        inputs: Vec<Pieces>,
    },
    /// A symbol of a provider.
    Symbol {
        /// Its kind.
        kind: DocumentationKind,
        /// The whole name, such as `acme_widget`.
        name: String,
        /// The provider that has it.
        provider: PackageName,
        /// The version of the provider.
        version: Version,
        /// The path of the page that describes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The places of the words of the query.
        highlights: Highlights,
    },
}

/// A text in pieces, of which every second one is a word of the query: the first is not, and may be empty.
pub type Pieces = Vec<String>;

/// The texts of a result, with the words of the query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Highlights {
    /// The address of the package, or the name of the symbol.
    pub name: Pieces,
    /// The description of the package; empty if it has no word of the query.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub description: Pieces,
}

impl From<&Package> for PackageName {
    fn from(package: &Package) -> Self {
        Self {
            kind: match package {
                Package::Module(_) => PackageKind::Module,
                Package::Provider(_) | Package::Mirrored(_) => PackageKind::Provider,
            },
            address: package.address(),
            path: ApiRoute::Package(package.clone()).to_string(),
        }
    }
}

impl From<&ReleaseStatus> for StatusView {
    fn from(status: &ReleaseStatus) -> Self {
        Self {
            state: status.state,
            reason: status.reason.clone(),
            at: status.at.to_string(),
        }
    }
}

impl From<&OverviewVersion> for VersionSummary {
    fn from(listed: &OverviewVersion) -> Self {
        Self {
            version: listed.version.clone(),
            published_at: listed.published_at.map(|at| at.to_string()),
            status: listed.status.as_ref().map(StatusView::from),
            source: listed.source.clone(),
            is_documented: listed.is_documented,
        }
    }
}

impl From<&CatalogLine> for ListedPackage {
    fn from(line: &CatalogLine) -> Self {
        Self {
            package: PackageName::from(&line.package),
            latest: line.latest.clone(),
            published_at: line.published_at.map(|at| at.to_string()),
            versions: line.versions,
            state: line.state,
            is_documented: line.is_documented,
            description: line.description.clone(),
        }
    }
}

impl ModuleView {
    /// Creates the details of a version of `package`, with the paths of files in place of their places in the archive.
    pub fn new(details: ModuleDetails, package: &Package, version: &Version) -> Self {
        let ModuleDetails {
            root,
            submodules,
            examples,
        } = details;
        let part = |NamedPart { name, part, files }: NamedPart| NamedPartView {
            files: files
                .into_iter()
                .map(|file| {
                    let document = DocumentPath::ExampleFile(name.clone(), file.name.clone());
                    DocumentView {
                        size: u64::from(file.member.size),
                        is_truncated: file.is_truncated,
                        ..DocumentView::new(&document, package, version)
                    }
                })
                .collect(),
            name,
            part,
        };
        Self {
            root,
            submodules: submodules.into_iter().map(part).collect(),
            examples: examples.into_iter().map(part).collect(),
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

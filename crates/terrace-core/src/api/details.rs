//! The description of packages: the JSON of the registry's own API, which assistants get, pages show and the command reads.
//! Fields that a reader does not know are ignored.
//!
//! Times are texts, as in RFC 3339. Paths begin with a slash and belong to the same registry.

mod documents;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::api::route::ApiRoute;
use crate::documentation::{
    Contents, DocumentPath, DocumentationKind, ModuleDetails, ModulePart, NamedPart, Page,
};
use crate::index::about::{About, ModuleArchive};
use crate::index::catalog::CatalogLine;
use crate::index::overview::{Overview, OverviewVersion};
use crate::model::package::{Package, PackageKind};
use crate::model::package_hash::PackageHash;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::provenance::Provenance;
use crate::model::relative_path::RelativePath;
use crate::model::source::SourceDocument;
use crate::model::status::{Reason, ReleaseState, ReleaseStatus};
use crate::model::version::Version;
use crate::storage::release::{OfferedPackage, PackageDocument, SigningKeyDocument};
use terrace_base::digest::Sha256;

pub use documents::{DocumentView, DocumentationSummary, Navigation, SymbolView, document_path};

/// A package, as lists name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageName {
    /// Module or provider; mirrored providers are providers.
    pub kind: PackageKind,
    /// The address, as users write it below the hostname of the registry; a mirrored package's with its own hostname.
    pub address: String,
    /// The path of its details.
    pub path: String,
}

/// A status, without the name of the caller who set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusView {
    /// Deprecated, withdrawn or revoked; an active version has no status.
    pub state: ReleaseState,
    /// The reason that an administrator gave to users.
    pub reason: Reason,
    /// The time when an administrator set it, to the second.
    pub at: String,
}

/// The response of `GET /api/v1/{address}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageDetails {
    /// The kind, the address and the path, as in lists.
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
    /// The version as published, with its build metadata.
    pub version: Version,
    /// The time of the commit of its publish, to the second; `None` for a version in a list of a pulled provider, if its
    /// release is not stored here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
    /// The status of this version alone, not that of its package; `None` if it is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusView>,
    /// The repository that it was built from: claimed by its publisher, or verified by the token of the job that published
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceDocument>,
    /// `true` if documentation was added to this version. In the list of a package the archive is not read, so there it is
    /// also `true` if the archive is missing or damaged.
    pub is_documented: bool,
}

/// The response of `GET /api/v1/{address}/{version}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionDetails {
    /// The kind, the address and the path of the package, as in lists.
    #[serde(flatten)]
    pub package: PackageName,
    /// The entry of the version in the list of its package.
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
    /// The archive of a module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<ModuleArchive>,
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
    pub signing_key: Option<SigningKeyDocument>,
    /// The details of a documented module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<ModuleView>,
}

/// A platform of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlatformView {
    /// The operating system by Go's name, such as `linux`.
    pub os: String,
    /// The architecture by Go's name, such as `amd64`.
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

/// The details of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleView {
    /// The root module.
    pub root: ModulePart,
    /// The directories with configuration below `modules/`.
    pub submodules: Vec<NamedPartView>,
    /// The directories with configuration below `examples/`.
    pub examples: Vec<NamedPartView>,
    /// The images of READMEs, and the licence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<DocumentView>,
}

/// A submodule or an example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedPartView {
    /// The path of its directory below `modules/` or `examples/`.
    pub name: RelativePath,
    /// Its README, inputs, outputs and requirements, as those of the root module.
    #[serde(flatten)]
    pub part: ModulePart,
    /// The configuration files of an example; none of a submodule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<DocumentView>,
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

/// A namespace that has packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceView {
    /// The name in lower case; that of mirrored packages with their hostname, such as `registry.example.com/acme`.
    pub namespace: String,
    /// The path of [`PackagePage`].
    pub path: String,
    /// The number of modules in the merged catalogue, each target system counted.
    pub modules: u32,
    /// The number of providers in the merged catalogue.
    pub providers: u32,
}

/// The response of `GET /api/v1/namespaces/{namespace}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackagePage {
    /// The name as in [`NamespaceView`].
    pub namespace: String,
    /// The packages, ascending by kind and address.
    pub packages: Vec<ListedPackage>,
    /// The cursor of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The response of `GET /api/v1/{address}/used-by`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedByPage {
    /// The address of the package.
    pub address: String,
    /// The packages whose newest documented version uses it, ascending by kind and address.
    pub packages: Vec<ListedPackage>,
    /// The cursor of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A package in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedPackage {
    /// The kind, the address and the path of the package.
    #[serde(flatten)]
    pub package: PackageName,
    /// The newest version that can be installed, or, without one, the newest.
    pub latest: Version,
    /// The time of the publish of `latest`, to the second, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_at: Option<String>,
    /// The number of published versions, revoked ones included.
    pub versions: u32,
    /// The status of the package, or, without one, of its latest version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ReleaseState>,
    /// `true` if documentation was added to `latest`.
    pub is_documented: bool,
    /// The first prose of a module's README, or the description of a provider's first page: one line of at most
    /// [`CATALOG_DESCRIPTION_BYTES`](crate::limits::CATALOG_DESCRIPTION_BYTES), empty without documentation.
    pub description: String,
}

/// The response of `GET /api/v1/search`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchPage {
    /// The results, the best first.
    pub results: Vec<SearchResult>,
    /// A query with results that differs in the spelling, if this one has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
    /// The cursor of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SearchResult {
    /// A module or a provider.
    Package {
        /// The entry of the package, as in lists.
        #[serde(flatten)]
        package: ListedPackage,
        /// The places of the words of the query.
        highlights: Highlights,
        /// The words of the names of a module's inputs, outputs, resource types and submodules that match a word of the query
        /// found neither in the address nor in the description.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        words: Vec<String>,
    },
    /// A symbol of a provider.
    Symbol {
        /// The kind of its page, such as `resources`.
        kind: DocumentationKind,
        /// The whole name, such as `acme_widget`.
        name: String,
        /// The provider that defines it.
        provider: PackageName,
        /// The newest documented version of the provider, from which the symbol is.
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
            kind: package.kind(),
            address: package.address(),
            path: ApiRoute::Package(package.clone()).to_string(),
        }
    }
}

impl fmt::Display for StatusView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.state, self.reason)
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

/// The fields of a provider's version index that its details show.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct BuiltVersion {
    protocols: Vec<ProtocolVersion>,
    signing_key: Option<SigningKeyDocument>,
    packages: Vec<PackageDocument>,
    offered: Vec<OfferedPackage>,
}

impl PackageDetails {
    /// Returns the details of a package.
    pub fn of(package: &Package, overview: &Overview) -> Self {
        Self {
            package: PackageName::from(package),
            latest: overview.newest().map(|newest| newest.version.clone()),
            status: overview.status.as_ref().map(StatusView::from),
            versions: overview.versions.iter().map(VersionSummary::from).collect(),
        }
    }
}

impl VersionDetails {
    /// Returns the details of a version. Without facts for them, `overview` and `built` are their defaults.
    pub fn of(
        package: &Package,
        version: &Version,
        about: About,
        overview: &Overview,
        built: BuiltVersion,
    ) -> Self {
        let listed = overview.version(version);
        let documentation = about.documentation.as_ref();
        Self {
            package: PackageName::from(package),
            version: VersionSummary {
                version: version.clone(),
                published_at: Some(about.published_at.to_string()),
                status: listed.and_then(|it| it.status.as_ref().map(StatusView::from)),
                source: about.source,
                is_documented: documentation.is_some(),
            },
            latest: overview.newest().map(|newest| newest.version.clone()),
            package_status: overview.status.as_ref().map(StatusView::from),
            provenance: about.provenance,
            archive: about.archive,
            documentation: documentation.map(|it| DocumentationSummary::of(package, version, it)),
            platforms: platforms(&built),
            protocols: built.protocols,
            signing_key: built.signing_key,
            module: match about.documentation.map(|it| it.head.contents) {
                Some(Contents::Module(details)) => Some(ModuleView::new(details, package, version)),
                _ => None,
            },
        }
    }
}

fn platforms(built: &BuiltVersion) -> Vec<PlatformView> {
    let stored = built.packages.iter().map(|package| PlatformView {
        os: package.platform.os().to_owned(),
        arch: package.platform.arch().to_owned(),
        filename: package.filename.clone(),
        sha256: package.sha256,
        size: Some(package.size),
        h1: package.h1,
    });
    let offered = built.offered.iter().map(|offer| PlatformView {
        os: offer.platform.os().to_owned(),
        arch: offer.platform.arch().to_owned(),
        filename: offer.filename.clone(),
        sha256: offer.sha256,
        size: None,
        h1: None,
    });
    stored.chain(offered).collect()
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
            attachments,
        } = details;
        let view = |document: &DocumentPath, file: &Page| DocumentView {
            size: u64::from(file.member.size),
            is_truncated: file.is_truncated,
            ..DocumentView::new(document, package, version)
        };
        let part = |NamedPart { name, part, files }: NamedPart| NamedPartView {
            files: files
                .into_iter()
                .map(|file| {
                    let document = DocumentPath::ExampleFile(name.clone(), file.name.clone());
                    view(&document, &file)
                })
                .collect(),
            name,
            part,
        };
        Self {
            root,
            submodules: submodules.into_iter().map(part).collect(),
            examples: examples.into_iter().map(part).collect(),
            files: attachments
                .iter()
                .map(|file| view(&DocumentPath::File(file.name.clone()), file))
                .collect(),
        }
    }
}

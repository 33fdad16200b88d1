//! Details of packages and versions, for people and the tools that show them.

use serde::{Deserialize, Serialize};

use super::{FinishError, StoredIndex, parse};
use crate::api::details::{
    DocumentView, DocumentationSummary, ModuleView, Navigation, PackageDetails, PackageName,
    PlatformView, SigningKeyView, StatusView, SymbolView, VersionDetails, VersionSummary,
    document_path,
};
use crate::api::public::{PublicModuleDetails, PublicProviderDetails};
use crate::api::route::{ApiRoute, RequestedVersion};
use crate::documentation::{Contents, DocumentPath, ModuleDetails, ProviderDetails};
use crate::http::problem::Problem;
use crate::http::reply::{CachePolicy, Reply};
use crate::index::about::{About, AboutDocumentation};
use crate::index::overview::{Overview, OverviewVersion};
use crate::model::address::{ModuleAddress, ProviderAddress};
use crate::model::package::Package;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::status::ReleaseState;
use crate::model::version::Version;
use crate::storage::release::{OfferedPackage, PackageDocument, SigningKeyDocument};
use terrace_base::json;

/// The fields of a provider's version index that its details show.
#[derive(Default, Deserialize)]
struct BuiltVersion {
    #[serde(default)]
    protocols: Vec<ProtocolVersion>,
    #[serde(default)]
    signing_key: Option<SigningKeyDocument>,
    #[serde(default)]
    packages: Vec<PackageDocument>,
    #[serde(default)]
    offered: Vec<OfferedPackage>,
}

/// The field of a provider's version index that names its repository.
#[derive(Default, Deserialize)]
struct BuiltFrom {
    #[serde(default)]
    source: Option<String>,
}

type Other<S> = Option<StoredIndex<S>>;

/// Describes a package.
pub(super) fn package<S>(
    package: &Package,
    overview: &StoredIndex<S>,
) -> Result<Reply<S>, FinishError> {
    let overview: Overview = parse(overview)?;
    let details = PackageDetails {
        package: PackageName::from(package),
        latest: overview.newest().map(|newest| newest.version.clone()),
        status: overview.status.as_ref().map(StatusView::from),
        versions: overview.versions.iter().map(VersionSummary::from).collect(),
    };
    Ok(reply(&details))
}

/// Redirects to the newest version that can be installed; `None` if there is none.
pub(super) fn latest<S>(
    route: &ApiRoute,
    overview: &StoredIndex<S>,
) -> Result<Option<Reply<S>>, FinishError> {
    let overview: Overview = parse(overview)?;
    let newest = overview.newest();
    Ok(newest.map(|newest| {
        let version = RequestedVersion::Exact(newest.version.clone());
        redirect(match route.clone() {
            ApiRoute::Version(package, _) => ApiRoute::Version(package, version).to_string(),
            ApiRoute::Navigation(package, _) => ApiRoute::Navigation(package, version).to_string(),
            ApiRoute::Document(package, _, document) => {
                ApiRoute::Document(package, version, document).to_string()
            }
            other => other.to_string(),
        })
    }))
}

/// Redirects to the details of the newest version in the shape of the public registry; `None` if there is none.
pub(super) fn newest<S>(
    path: &str,
    overview: &StoredIndex<S>,
) -> Result<Option<Reply<S>>, FinishError> {
    let overview: Overview = parse(overview)?;
    let newest = overview.newest();
    Ok(newest.map(|newest| redirect(format!("{path}/{}", newest.version))))
}

fn redirect<S>(location: String) -> Reply<S> {
    Reply::new(302, CachePolicy::NoStore).with("location", location)
}

/// Describes a version. `overview` and `built` are `None` if the facts hold nothing for them.
pub(super) fn version<S>(
    package: &Package,
    version: &Version,
    about: &StoredIndex<S>,
    [overview, built]: [&Other<S>; 2],
) -> Result<Reply<S>, FinishError> {
    let about: About = parse(about)?;
    let overview: Overview = optional(overview)?;
    let built: BuiltVersion = optional(built)?;
    let listed = overview.version(version);
    let documentation = about.documentation.as_ref();
    let summary = documentation.map(|it| documentation_summary(package, version, it));
    let details = VersionDetails {
        package: PackageName::from(package),
        version: VersionSummary {
            version: version.clone(),
            published_at: Some(about.published_at.to_string()),
            status: listed.and_then(|it| it.status.as_ref().map(StatusView::from)),
            source: about.source.clone(),
            is_documented: about.documentation.is_some(),
        },
        latest: overview.newest().map(|newest| newest.version.clone()),
        package_status: overview.status.as_ref().map(StatusView::from),
        provenance: about.provenance.clone(),
        documentation: summary,
        platforms: platforms(&built),
        protocols: built.protocols,
        signing_key: built.signing_key.map(|key| SigningKeyView {
            key_id: key.key_id.to_string(),
            fingerprint: key.fingerprint,
            ascii_armor: key.ascii_armor,
        }),
        module: module(about).map(|details| ModuleView::new(details, package, version)),
    };
    Ok(reply(&details))
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

/// Lists the documents and symbols of a version.
pub(super) fn navigation<S>(
    package: &Package,
    version: &Version,
    about: &StoredIndex<S>,
) -> Result<Reply<S>, FinishError> {
    let about: About = parse(about)?;
    let documentation = about.documentation.as_ref();
    let summary = documentation.map(|it| documentation_summary(package, version, it));
    let contents = documentation.map(|it| &it.head.contents);
    let (documents, symbols) = match contents {
        None => (Vec::new(), Vec::new()),
        Some(Contents::Module(details)) => {
            (documents_of_module(package, version, details), Vec::new())
        }
        Some(Contents::Provider(details)) => (
            documents_of_provider(package, version, details),
            symbols(package, version, details),
        ),
    };
    Ok(reply(&Navigation {
        package: PackageName::from(package),
        version: version.clone(),
        documentation: summary,
        documents,
        symbols,
    }))
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
    });
    symbol.collect()
}

fn documentation_summary(
    package: &Package,
    version: &Version,
    documentation: &AboutDocumentation,
) -> DocumentationSummary {
    let exact = RequestedVersion::Exact(version.clone());
    DocumentationSummary {
        path: ApiRoute::Navigation(package.clone(), exact).to_string(),
        changed_at: documentation.changed_at.to_string(),
        changes: documentation.changes,
        license: documentation.license.clone(),
        origin: documentation.origin.clone(),
        notes: documentation.head.notes.clone(),
    }
}

/// Describes a version of a module in the shape of the public registry.
pub(super) fn public_module<S>(
    address: &ModuleAddress,
    version: &Version,
    about: &StoredIndex<S>,
    overview: &Other<S>,
) -> Result<Reply<S>, FinishError> {
    let about: About = parse(about)?;
    let overview: Overview = optional(overview)?;
    check_not_revoked(&Package::Module(address.clone()), version, &overview)?;
    let details = match about.documentation.clone() {
        Some(documentation) => match documentation.head.contents {
            Contents::Module(details) => details,
            Contents::Provider(_) => return Err(FinishError::Corrupt),
        },
        None => ModuleDetails::default(),
    };
    let versions = installable(&overview);
    Ok(reply(&PublicModuleDetails::new(
        address, version, &about, details, versions,
    )))
}

/// Describes a version of a provider in the shape of the public registry. `about` and `overview` are `None` if the facts
/// hold nothing for them.
pub(super) fn public_provider<S>(
    address: &ProviderAddress,
    version: &Version,
    built: &StoredIndex<S>,
    [about, overview]: [&Other<S>; 2],
) -> Result<Reply<S>, FinishError> {
    let BuiltFrom { source } = parse(built)?;
    let about: Option<About> = about.as_ref().map(parse).transpose()?;
    let overview: Overview = optional(overview)?;
    let published_at = about.as_ref().map(|about| about.published_at);
    let details = PublicProviderDetails::new(
        address,
        version,
        source.as_deref(),
        published_at,
        installable(&overview),
    );
    let contents = about.and_then(|about| about.documentation.map(|it| it.head.contents));
    Ok(reply(&match contents {
        Some(Contents::Provider(pages)) => details.with_pages(pages),
        Some(Contents::Module(_)) => return Err(FinishError::Corrupt),
        None => details,
    }))
}

/// Returns the versions that can be installed, ascending.
fn installable(overview: &Overview) -> Vec<String> {
    let versions = overview.versions.iter().rev();
    let installable = versions.filter(|listed| revocation(listed).is_none());
    installable.map(|it| it.version.to_string()).collect()
}

fn revocation(listed: &OverviewVersion) -> Option<String> {
    let status = listed.status.as_ref();
    let status = status.filter(|status| status.state == ReleaseState::Revoked);
    status.map(|status| status.reason.to_string())
}

fn check_not_revoked(
    package: &Package,
    version: &Version,
    overview: &Overview,
) -> Result<(), FinishError> {
    match overview.version(version).and_then(revocation) {
        None => Ok(()),
        Some(reason) => Err(FinishError::Problem(Problem::Gone(format!(
            "{} {version} is revoked: {reason}",
            package.address()
        )))),
    }
}

fn module(about: About) -> Option<ModuleDetails> {
    match about.documentation?.head.contents {
        Contents::Module(details) => Some(details),
        Contents::Provider(_) => None,
    }
}

/// Parses an index; the default if it is absent, or that of a revoked version, which holds no data.
fn optional<'f, S, T>(found: &'f Other<S>) -> Result<T, FinishError>
where
    T: Default + Deserialize<'f>,
{
    match found {
        Some(found) if found.metadata.revoked.is_none() => parse(found),
        _ => Ok(T::default()),
    }
}

fn reply<S>(document: &impl Serialize) -> Reply<S> {
    Reply::json(200, CachePolicy::Revalidate, json::to_string(document))
}

//! Details of packages and versions, for people and the tools that show them.

use serde::Deserialize;

use crate::api::details::{
    DocumentView, DocumentationSummary, ModuleView, Navigation, PackageDetails, PackageName,
    PlatformView, SigningKeyView, StatusView, SymbolView, VersionDetails, VersionSummary,
    document_path,
};
use crate::api::route::ApiRoute;
use crate::documentation::{Contents, DocumentPath, ModuleDetails, ProviderDetails};
use crate::index::about::{About, AboutDocumentation};
use crate::index::overview::Overview;
use crate::model::package::Package;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::version::RequestedVersion;
use crate::model::version::Version;
use crate::storage::release::{OfferedPackage, PackageDocument, SigningKeyDocument};

/// The fields of a provider's version index that its details show.
#[derive(Default, Deserialize)]
pub(crate) struct BuiltVersion {
    #[serde(default)]
    protocols: Vec<ProtocolVersion>,
    #[serde(default)]
    signing_key: Option<SigningKeyDocument>,
    #[serde(default)]
    packages: Vec<PackageDocument>,
    #[serde(default)]
    offered: Vec<OfferedPackage>,
}

/// Returns the details of a package.
pub(crate) fn package_details(package: &Package, overview: &Overview) -> PackageDetails {
    PackageDetails {
        package: PackageName::from(package),
        latest: overview.newest().map(|newest| newest.version.clone()),
        status: overview.status.as_ref().map(StatusView::from),
        versions: overview.versions.iter().map(VersionSummary::from).collect(),
    }
}

/// Returns the details of a version. Without facts for them, `overview` and `built` are their defaults.
pub(crate) fn version_details(
    package: &Package,
    version: &Version,
    about: About,
    overview: &Overview,
    built: BuiltVersion,
) -> VersionDetails {
    let listed = overview.version(version);
    let documentation = about.documentation.as_ref();
    VersionDetails {
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
        archive: about.archive.clone(),
        documentation: documentation.map(|it| documentation_summary(package, version, it)),
        platforms: platforms(&built),
        protocols: built.protocols,
        signing_key: built.signing_key.map(|key| SigningKeyView {
            key_id: key.key_id.to_string(),
            fingerprint: key.fingerprint,
            ascii_armor: key.ascii_armor,
        }),
        module: module(about).map(|details| ModuleView::new(details, package, version)),
    }
}

/// Returns the documents and symbols of a version.
pub(crate) fn navigation(package: &Package, version: &Version, about: &About) -> Navigation {
    let documentation = about.documentation.as_ref();
    let (documents, symbols) = match documentation.map(|it| &it.head.contents) {
        None => (Vec::new(), Vec::new()),
        Some(Contents::Module(details)) => {
            (documents_of_module(package, version, details), Vec::new())
        }
        Some(Contents::Provider(details)) => (
            documents_of_provider(package, version, details),
            symbols(package, version, details),
        ),
    };
    Navigation {
        package: PackageName::from(package),
        version: version.clone(),
        documentation: documentation.map(|it| documentation_summary(package, version, it)),
        documents,
        symbols,
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

fn module(about: About) -> Option<ModuleDetails> {
    match about.documentation?.head.contents {
        Contents::Module(details) => Some(details),
        Contents::Provider(_) => None,
    }
}

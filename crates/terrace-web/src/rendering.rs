//! Documents of packages as HTML: the meaning of the links in them.

use std::collections::BTreeSet;

use terrace_core::api::details::{ModuleView, Navigation};
use terrace_core::api::route::PageRoute;
use terrace_core::documentation::{DocumentPath, DocumentationKind, PageName};
use terrace_core::model::address::ProviderAddress;
use terrace_core::model::package::Package;
use terrace_core::model::version::RequestedVersion;

use crate::markdown::{DocumentationLinks, Links, ModuleLinks, NoLinks, Options, Rendered, render};
use crate::parts::package_head::Release;

/// Renders a document of a provider.
pub fn document(
    release: &Release<'_>,
    navigation: &Navigation,
    path: &DocumentPath,
    text: &str,
) -> Rendered {
    let Some(provider) = provider(release.package) else {
        return rendered(text, &NoLinks);
    };
    let from = match path {
        DocumentPath::Page(kind, _) => *kind,
        _ => DocumentationKind::Overview,
    };
    let documents = navigation.documents.iter();
    let pages: BTreeSet<(&str, &str)> = documents
        .map(|document| (document.kind.as_str(), document.name.as_str()))
        .collect();
    let has_page =
        |kind: DocumentationKind, name: &PageName| pages.contains(&(kind.as_str(), name.as_str()));
    let links = DocumentationLinks {
        root: &page(release, DocumentPath::Overview),
        provider,
        from,
        has_page: &has_page,
    };
    rendered(text, &links)
}

/// Renders the README in a directory of a module, such as `examples/simple`; the directory of the root is empty.
pub fn readme(release: &Release<'_>, directory: &str, text: &str) -> Rendered {
    let repository = release.repository();
    let module = release.details.module.as_ref();
    let links = ModuleLinks {
        root: &root(release),
        directory,
        has_part: &|part| module.is_some_and(|module| has_part(module, part)),
        repository: repository.as_ref(),
    };
    rendered(text, &links)
}

fn rendered(text: &str, links: &dyn Links) -> Rendered {
    let options = Options {
        links,
        first_level: 2,
    };
    render(text, &options)
}

fn has_part(module: &ModuleView, directory: &str) -> bool {
    let (parts, name) = match directory.split_once('/') {
        Some(("modules", name)) => (&module.submodules, name),
        Some(("examples", name)) => (&module.examples, name),
        _ => return false,
    };
    parts.iter().any(|part| part.name.as_str() == name)
}

fn provider(package: &Package) -> Option<&ProviderAddress> {
    match package {
        Package::Provider(address) => Some(address),
        Package::Mirrored(address) => Some(&address.provider),
        Package::Module(_) => None,
    }
}

fn root(release: &Release<'_>) -> String {
    PageRoute::Version(release.package.clone(), requested(release)).to_string()
}

fn page(release: &Release<'_>, path: DocumentPath) -> String {
    PageRoute::Document(release.package.clone(), requested(release), path).to_string()
}

fn requested(release: &Release<'_>) -> RequestedVersion {
    RequestedVersion::Exact(release.details.version.version.clone())
}

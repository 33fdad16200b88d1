//! Documents of packages as HTML: the meaning of the links in them.

use terrace_base::percent::encode_segments;
use terrace_base::sort;
use terrace_core::api::details::{ModuleView, Navigation};
use terrace_core::api::route::PageRoute;
use terrace_core::documentation::{DocumentPath, DocumentationKind, PageName};
use terrace_core::model::address::ProviderAddress;
use terrace_core::model::package::Package;
use terrace_core::model::version::RequestedVersion;

use crate::links::{has_part, is_at_tab};
use crate::markdown::{
    DocumentationLinks, Links, ModuleLinks, NoLinks, Rendered, TargetKind, render,
};
use crate::parts::package_head::Release;
use crate::readme;
use crate::site::Site;

/// Renders a document of a provider.
pub fn document(
    release: &Release<'_>,
    navigation: &Navigation,
    path: &DocumentPath,
    text: &str,
) -> Rendered {
    let Some(provider) = provider(release.package) else {
        return render(text, &NoLinks);
    };
    let from = match path {
        DocumentPath::Page(kind, _) => *kind,
        _ => DocumentationKind::Overview,
    };
    let documents = navigation.documents.iter();
    let pages = sort::set(documents.map(|it| (it.kind.as_str(), it.name.as_str())));
    let has_page =
        |kind: DocumentationKind, name: &PageName| pages.contains(&(kind.as_str(), name.as_str()));
    let links = DocumentationLinks {
        root: &page(release, DocumentPath::Overview),
        provider,
        from,
        has_page: &has_page,
    };
    render(text, &links)
}

/// Renders the README in a directory of a module, such as `examples/simple`; the directory of the root is empty. Unless the
/// reader wants the whole text, the sections that the page has itself are left out: they take most of the time.
pub fn readme(site: &Site, release: &Release<'_>, directory: &str, text: &str) -> Rendered {
    let shorter = match is_at_tab(site, "readme") {
        true => None,
        false => readme::abridged(text),
    };
    let text = shorter.as_deref().unwrap_or(text);
    let own = readme::with_own_sources(site, release, directory, text);
    let text = own.as_deref().unwrap_or(text);
    let repository = release.repository();
    let module = release.details.module.as_ref();
    let links = ModuleLinks {
        root: &root(release),
        directory,
        has_part: &|part| module.is_some_and(|module| has_part(module, part)),
        has_image: &|path| module.is_some_and(|module| has_image(module, path)),
        repository: repository.as_ref(),
    };
    Rendered {
        is_abridged: shorter.is_some(),
        has_own_sources: own.is_some(),
        ..render(text, &links)
    }
}

/// Returns the path of the page of a part of the module, by a source that is relative to a directory of it.
pub(crate) fn part_link(release: &Release<'_>, directory: &str, source: &str) -> Option<String> {
    let module = release.details.module.as_ref()?;
    let links = ModuleLinks {
        root: &root(release),
        directory,
        has_part: &|part| has_part(module, part),
        has_image: &|_| false,
        repository: None,
    };
    let is_relative = source.starts_with("./") || source.starts_with("..");
    links
        .resolve(source, TargetKind::Link)
        .filter(|_| is_relative)
}

fn has_image(module: &ModuleView, path: &str) -> bool {
    let name = encode_segments(path);
    module.files.iter().any(|file| file.name == name)
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

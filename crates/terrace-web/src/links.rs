//! Links, all written as routes of pages.

use terrace_base::percent::encode;
use terrace_core::api::details::{DocumentView, ListedPackage, PackageName};
use terrace_core::api::route::PageRoute;
use terrace_core::documentation::{DocumentPath, DocumentationKind};
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::model::package::PackageKind;
use terrace_core::model::version::RequestedVersion;
use terrace_core::model::version::Version;

use crate::site::Site;

/// The parameter with the version that a reader comes from when going to the same document of the newest version.
pub const FROM_VERSION: &str = "from";

/// The parameter with the namespace after which a list of namespaces begins.
pub const NAMESPACES_AFTER: &str = "namespaces";

/// The parameter with the version after which the table of versions begins.
pub const VERSIONS_AFTER: &str = "after";

/// Returns the link by which a reader signs in, and then returns to the page.
pub(crate) fn sign_in_link(site: &Site) -> String {
    with_query(&PageRoute::SignIn.to_string(), &[("to", &site.here)])
}

/// Returns the package that a list names; `None` if the name is not an address.
pub(crate) fn package(name: &PackageName) -> Option<Package> {
    match name.kind {
        PackageKind::Module => name.address.parse().ok().map(Package::Module),
        PackageKind::Provider => match Package::parse_address(&name.address)? {
            Package::Module(_) => None,
            provider => Some(provider),
        },
    }
}

/// Returns the path of a package's newest version, or of the start page if the name is not an address.
pub(crate) fn package_path(name: &PackageName) -> String {
    package(name)
        .map_or(PageRoute::Home, PageRoute::Package)
        .to_string()
}

/// Returns the path of the version that a list names.
pub(crate) fn listed_path(listed: &ListedPackage) -> String {
    match package(&listed.package) {
        Some(package) => version_path(&package, &listed.latest),
        None => PageRoute::Home.to_string(),
    }
}

/// Returns the path of a version.
pub(crate) fn version_path(package: &Package, version: &Version) -> String {
    PageRoute::Version(package.clone(), exact(version)).to_string()
}

/// Returns the path of an owner's packages.
pub(crate) fn owner_path(owner: &Owner) -> String {
    PageRoute::Namespace(owner.clone()).to_string()
}

/// Returns the path of a document's page.
pub(crate) fn document_path(
    package: &Package,
    version: &Version,
    document: &DocumentPath,
) -> String {
    PageRoute::Document(package.clone(), exact(version), document.clone()).to_string()
}

/// Returns the path that leads to a document of the newest version, or to that version if it has no such document. The
/// page of `version` links to it, which does not know the documents of other versions.
pub(crate) fn newest_document_path(
    package: &Package,
    document: &DocumentPath,
    version: &Version,
) -> String {
    let latest = RequestedVersion::Latest;
    let newest = PageRoute::Document(package.clone(), latest, document.clone());
    with_query(&newest.to_string(), &[(FROM_VERSION, &version.to_string())])
}

/// Returns the path of a document's Markdown.
pub(crate) fn text_path(package: &Package, version: &Version, document: &DocumentPath) -> String {
    PageRoute::Text(package.clone(), exact(version), document.clone()).to_string()
}

/// Returns the document that an entry of a navigation names.
pub(crate) fn document(view: &DocumentView) -> Option<DocumentPath> {
    let kind: DocumentationKind = view.kind.parse().ok()?;
    Some(DocumentPath::of_page(kind, &view.name.parse().ok()?))
}

/// Returns the document at the end of a path of the API.
pub(crate) fn document_at(package: &Package, path: &str) -> Option<DocumentPath> {
    let (_, document) = path.split_once("/docs/")?;
    let segments: Vec<&str> = document.split('/').collect();
    DocumentPath::parse(package, &segments)
}

/// Returns a path with a query of the parameters that have a value.
pub(crate) fn with_query(path: &str, parameters: &[(&str, &str)]) -> String {
    let mut link = path.to_owned();
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    for (at, (name, value)) in given.enumerate() {
        link.push(if at == 0 { '?' } else { '&' });
        link.push_str(name);
        link.push('=');
        link.push_str(&encode(value));
    }
    link
}

fn exact(version: &Version) -> RequestedVersion {
    RequestedVersion::Exact(version.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_only_parameters_with_a_value_and_escapes_them() {
        let parameters = [("q", "a b&c=\"<"), ("kind", ""), ("after", "x")];
        assert_eq!(
            with_query("/search", &parameters),
            "/search?q=a%20b%26c%3D%22%3C&after=x"
        );
    }

    #[test]
    fn a_name_that_is_no_address_leads_to_the_start_page() {
        let name = PackageName {
            kind: PackageKind::Provider,
            address: "\"><script>".to_owned(),
            path: String::new(),
        };
        assert_eq!(package_path(&name), "/");
    }
}

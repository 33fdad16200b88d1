//! Links, all written as routes of pages.

use terrace_base::percent::encode;
use terrace_core::api::details::{DocumentView, ListedPackage, ModuleView, PackageName};
use terrace_core::api::route::PageRoute;
use terrace_core::documentation::{DocumentPath, DocumentationKind};
use terrace_core::http::form::Query;
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::name::Hostname;
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

/// The parameter with the changes of a comparison to show.
pub const SHOWN_CHANGES: &str = "only";

/// The value of [`SHOWN_CHANGES`] for those that may break configurations.
pub const BREAKING: &str = "breaking";

/// The parameter with the tab of the public registry's page of a module, such as `inputs`. Here they are sections of the
/// page, and `readme` is the page with the whole README.
pub(crate) const TAB: &str = "tab";

/// Returns whether the reader asks for a tab of the public registry's pages.
pub(crate) fn is_at_tab(site: &Site, tab: &str) -> bool {
    let (_, query) = site.here.split_once('?').unwrap_or_default();
    Query(query).value(TAB).as_deref() == Some(tab)
}

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

/// The parameter of links to pages that may not exist, with what is shown then: the `package`, or the same page of the
/// `public` registry.
pub const OR: &str = "or";

/// The registry of addresses without a hostname.
const PUBLIC_HOST: &str = "registry.terraform.io";

/// Returns the URL in the public registry of a page that is missing here, if its link [asks](OR) for that.
pub fn public_page(query: &str, route: &PageRoute) -> Option<String> {
    let asks = Query(query).value(OR).as_deref() == Some("public");
    let package = match route.package().filter(|_| asks)? {
        Package::Mirrored(address) if address.hostname.as_str() == PUBLIC_HOST => {
            Package::Provider(address.provider.clone())
        }
        Package::Module(address) if address.hostname.as_ref().is_none_or(Hostname::is_public) => {
            Package::Module(address.clone().without_hostname())
        }
        _ => return None,
    };
    let mut route = route.clone();
    *route.package_mut()? = package;
    Some(format!("https://{PUBLIC_HOST}{route}"))
}

/// Returns the link to the provider that a source address names, or to a page of its documentation. Without a hostname it is
/// that of the public registry, if this one does not mirror it: a page of links cannot look each one up.
pub(crate) fn provider_page(
    site: &Site,
    source: &str,
    document: Option<DocumentPath>,
) -> Option<String> {
    let parts: Vec<&str> = source.split('/').collect();
    let address = match parts.as_slice() {
        // It is built into the clients.
        ["terraform"] | ["terraform.io", ..] => return None,
        [name] => format!("{PUBLIC_HOST}/hashicorp/{name}"),
        [_, _] => format!("{PUBLIC_HOST}/{source}"),
        [host, own @ ..] if *host == site.hostname => own.join("/"),
        _ => source.to_owned(),
    };
    let package = Package::parse_address(&address)?;
    let is_public = match &package {
        Package::Module(_) => return None,
        Package::Mirrored(address) => address.hostname.as_str() == PUBLIC_HOST,
        Package::Provider(_) => false,
    };
    let route = match document {
        Some(document) => PageRoute::Document(package, RequestedVersion::Latest, document),
        None => PageRoute::Package(package),
    };
    Some(or_public(&route, is_public))
}

/// Returns the link to the module that a source address of a registry names.
pub(crate) fn module_page(site: &Site, source: &str) -> Option<String> {
    let (address, directory) = source.split_once("//").unwrap_or((source, ""));
    let own = address
        .strip_prefix(&site.hostname)
        .and_then(|it| it.strip_prefix('/'));
    let address: ModuleAddress = own.unwrap_or(address).parse().ok()?;
    let is_public = own.is_none() && address.hostname.as_ref().is_none_or(Hostname::is_public);
    let package = Package::Module(match own {
        Some(_) => address,
        None => address.mirrored(),
    });
    let submodule = directory
        .strip_prefix("modules/")
        .and_then(|it| it.parse().ok());
    let route = match submodule {
        Some(name) => {
            let document = DocumentPath::Submodule(name);
            PageRoute::Document(package, RequestedVersion::Latest, document)
        }
        None => PageRoute::Package(package),
    };
    Some(or_public(&route, is_public))
}

fn or_public(route: &PageRoute, is_public: bool) -> String {
    let other = match route {
        _ if is_public => "public",
        PageRoute::Document(..) => "package",
        _ => "",
    };
    with_query(&route.to_string(), &[(OR, other)])
}

/// Returns whether a directory of a module is one of its submodules or examples.
pub(crate) fn has_part(module: &ModuleView, directory: &str) -> bool {
    let (parts, name) = match directory.split_once('/') {
        Some(("modules", name)) => (&module.submodules, name),
        Some(("examples", name)) => (&module.examples, name),
        _ => return false,
    };
    parts.iter().any(|part| part.name.as_str() == name)
}

/// Returns the segments of a path relative to a directory; `None` if it leads out of the root.
pub(crate) fn joined<'p>(directory: &'p str, path: &'p str) -> Option<Vec<&'p str>> {
    let mut segments = Vec::new();
    for segment in directory.split('/').chain(path.split('/')) {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()?),
            segment => segments.push(segment),
        }
    }
    Some(segments)
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

//! Routes of the web pages.
//!
//! The paths of packages are those of the public registries, so that replacing the hostname of a known link leads to the
//! same package here.

use std::fmt;

use super::api::requested;
use super::{mirrored, missing, module, package, provider};
use crate::documentation::DocumentPath;
use crate::http::problem::Problem;
use crate::model::address::ModuleAddress;
use crate::model::owner::Owner;
use crate::model::package::{Package, PackageKind};
use crate::model::version::{RequestedVersion, Version};

/// A route of the web pages. A mirrored package is named by the hostname in the path, which may be one of the registry's
/// own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageRoute {
    /// `/`
    Home,
    /// `/browse/modules`, or `/browse/providers`
    Browse(PackageKind),
    /// `/search`
    Search,
    /// `/_names`: the packages that the search field offers.
    Names,
    /// `/assistants`: how assistants and editors use the registry.
    Assistants,
    /// `/namespaces/{namespace}`, or `/namespaces/{hostname}/{namespace}`
    Namespace(Owner),
    /// `/{address}`
    Package(Package),
    /// `/{address}/versions`
    Versions(Package),
    /// `/{address}/used-by`
    UsedBy(Package),
    /// `/{address}/{version}`
    Version(Package, RequestedVersion),
    /// `/{address}/{version}/docs/{kind}/{page}` and `/{address}/{version}/docs` of a provider;
    /// `/{address}/{version}/submodules/{name}` and `/{address}/{version}/examples/{name}` of a module
    Document(Package, RequestedVersion, DocumentPath),
    /// The path of a document with `.md` at its end: its Markdown. `/{address}/{version}/docs/overview.md` and
    /// `/{address}/{version}/readme.md` are the first pages of a provider and of a module.
    /// `/{address}/{version}/files/{path}` is an image of a module, or its licence.
    Text(Package, RequestedVersion, DocumentPath),
    /// `/{address}/compare/{from}...{to}`
    Comparison(Package, Version, Version),
    /// `/{address}/compare`: the target of the form that asks for two versions.
    ComparisonForm(Package),
    /// `/feed.atom`, `/namespaces/{namespace}/feed.atom`, or `/{address}/feed.atom`
    Feed(FeedScope),
    /// `/badges/{address}/version.svg`, or `/badges/{address}/status.svg`
    Badge(Package, Badge),
    /// `/_assets/{file}`
    Asset(String),
    /// `/opensearch.xml`
    OpenSearch,
    /// `/robots.txt`
    Robots,
    /// `/sitemap.xml`
    Sitemap,
    /// `/sign-in`
    SignIn,
    /// `/sign-out`
    SignOut,
    /// A path of OpenTofu's registry, and the path of the same page here.
    Moved(String),
    /// A path that people try, such as a source address, and the path of a page that it may mean. Only browsers are sent there.
    Guessed(String),
    /// A path of a page with an invalid name or version, and the error about it.
    Invalid(Problem),
    /// A path without a page, outside the protocols.
    Unknown,
}

/// The packages of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedScope {
    /// All packages.
    Registry,
    /// The packages of an owner.
    Namespace(Owner),
    /// The versions of a package.
    Package(Package),
}

/// The text of a badge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Badge {
    /// The newest version.
    Version,
    /// The status of the package.
    Status,
}

/// The path prefix of stylesheets, scripts and images.
pub const ASSETS_PREFIX: &str = "/_assets/";

/// Single segments that people try, with the pages that they mean.
const GUESSES: [(&str, &str); 6] = [
    ("modules", "/browse/modules"),
    ("providers", "/browse/providers"),
    ("browse", "/browse/modules"),
    ("namespaces", "/"),
    ("login", "/sign-in"),
    ("docs", DOCUMENTATION),
];

/// The documentation of Terrace.
pub const DOCUMENTATION: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/tree/main/docs");

/// The first segments of paths that clients of a protocol request. No page is below them.
const PROTOCOL_SEGMENTS: [&str; 10] = [
    "v1", "v2", "mirror", "origins", "archives", "pull", "admin", "api", "oauth", "mcp",
];

/// The package of a page, borrowed as the route is.
macro_rules! package_of {
    ($route:ident) => {
        match $route {
            Self::Package(package)
            | Self::Versions(package)
            | Self::UsedBy(package)
            | Self::Version(package, _)
            | Self::Document(package, ..)
            | Self::Text(package, ..)
            | Self::Comparison(package, ..)
            | Self::ComparisonForm(package)
            | Self::Feed(FeedScope::Package(package))
            | Self::Badge(package, _) => Some(package),
            _ => None,
        }
    };
}

impl PageRoute {
    /// Parses a path with the first segment `first`; `None` for a path that clients of a protocol request.
    #[inline(never)]
    pub(super) fn parse(first: &str, rest: &[&str]) -> Option<Self> {
        if PROTOCOL_SEGMENTS.contains(&first) || matches!(first, "healthz" | ".well-known") {
            return None;
        }
        // People add a slash, or leave it when they shorten an address.
        let shorter = match rest {
            [shorter @ .., ""] if !first.is_empty() => Some(shorter),
            _ => None,
        };
        Some(match Self::find(first, shorter.unwrap_or(rest)) {
            Ok(Some(found)) if shorter.is_some() => Self::Moved(found.to_string()),
            Ok(found) => found.unwrap_or(Self::Unknown),
            Err(problem) => Self::Invalid(problem),
        })
    }

    /// Finds the route of a path; `None` if it has none.
    fn find(first: &str, rest: &[&str]) -> Result<Option<Self>, Problem> {
        Ok(match (first, rest) {
            ("", []) => Some(Self::Home),
            ("search", []) => Some(Self::Search),
            ("_names", []) => Some(Self::Names),
            ("assistants", []) => Some(Self::Assistants),
            ("browse", ["modules"]) => Some(Self::Browse(PackageKind::Module)),
            ("browse", ["providers"]) => Some(Self::Browse(PackageKind::Provider)),
            ("feed.atom", []) => Some(Self::Feed(FeedScope::Registry)),
            ("opensearch.xml", []) => Some(Self::OpenSearch),
            // A browser that shows no page asks for it.
            ("favicon.ico", []) => Some(Self::Moved(format!("{ASSETS_PREFIX}0.svg"))),
            ("robots.txt", []) => Some(Self::Robots),
            ("sitemap.xml", []) => Some(Self::Sitemap),
            ("sign-in", []) => Some(Self::SignIn),
            ("sign-out", []) => Some(Self::SignOut),
            ("_assets", [file]) => Some(Self::Asset((*file).to_owned())),
            ("namespaces", [owner @ .., "feed.atom"]) => {
                owner_of(owner).map(|owner| Self::Feed(FeedScope::Namespace(owner)))
            }
            ("namespaces", owner @ [_, ..]) => owner_of(owner).map(Self::Namespace),
            ("badges", rest) => Self::parse_badge(rest)?,
            ("module" | "provider", rest) => Some(Self::Moved(moved(first, rest))),
            _ => match package(first, rest, MIRRORED).map_err(missing)? {
                Some((package, rest)) => Self::of_package(package, rest)?,
                None => guess(first, rest).map(Self::Guessed),
            },
        })
    }

    fn parse_badge(segments: &[&str]) -> Result<Option<Self>, Problem> {
        let Some((kind, rest)) = segments.split_first() else {
            return Ok(None);
        };
        Ok(package(kind, rest, MIRRORED)
            .map_err(missing)?
            .and_then(|(package, rest)| {
                let badge = match rest {
                    ["version.svg"] => Badge::Version,
                    ["status.svg"] => Badge::Status,
                    _ => return None,
                };
                Some(Self::Badge(package, badge))
            }))
    }

    /// Parses the segments after the address of a package.
    fn of_package(package: Package, rest: &[&str]) -> Result<Option<Self>, Problem> {
        Ok(match rest {
            [] => Some(Self::Package(package)),
            ["versions"] => Some(Self::Versions(package)),
            ["used-by"] => Some(Self::UsedBy(package)),
            ["feed.atom"] => Some(Self::Feed(FeedScope::Package(package))),
            ["compare"] => Some(Self::ComparisonForm(package)),
            ["compare", versions] => match versions.split_once("...") {
                Some((from, to)) => Some(Self::Comparison(package, exact(from)?, exact(to)?)),
                None => None,
            },
            [version] => Some(Self::Version(package, requested(version)?)),
            [version, document @ ..] => {
                let version = requested(version)?;
                Self::document(package, version, document)
            }
        })
    }

    /// Parses the segments after the version; `None` if they name no document.
    fn document(package: Package, version: RequestedVersion, segments: &[&str]) -> Option<Self> {
        let (last, directories) = segments.split_last()?;
        let parse = |last: &str| {
            let mut segments = directories.to_vec();
            segments.push(last);
            let below = match (&package, segments.as_slice()) {
                (Package::Module(_), segments) => segments,
                (_, ["docs"]) => &["overview"],
                (_, ["docs", segments @ ..]) => segments,
                _ => return None,
            };
            // Only the API has a path for a file.
            DocumentPath::parse(&package, below).map(|path| path.shown_by(|_| true))
        };
        let markdown = last.strip_suffix(".md").and_then(parse);
        if let Some(document) = markdown.filter(|it| !matches!(it, DocumentPath::File(_))) {
            return Some(Self::Text(package, version, document));
        }
        let document = parse(last)?;
        Some(match document {
            // The page of the version shows it.
            DocumentPath::Readme => Self::Version(package, version),
            // It is sent as it is.
            DocumentPath::File(_) => Self::Text(package, version, document),
            document => Self::Document(package, version, document),
        })
    }

    /// Returns the route with the newest version in place of the requested one.
    #[must_use]
    pub fn at(self, version: Version) -> Self {
        let version = RequestedVersion::Exact(version);
        match self {
            Self::Package(package) | Self::Version(package, _) => Self::Version(package, version),
            Self::Document(package, _, document) => Self::Document(package, version, document),
            Self::Text(package, _, document) => Self::Text(package, version, document),
            other => other,
        }
    }

    /// Returns the package that the page describes.
    pub fn package(&self) -> Option<&Package> {
        package_of!(self)
    }

    /// Returns the package that the page describes, to replace it.
    pub fn package_mut(&mut self) -> Option<&mut Package> {
        package_of!(self)
    }

    /// Returns whether people open the page in a browser, so that it may ask them to sign in, and they return to it.
    /// Programs read the others, or the page is a step of signing in.
    pub fn is_for_people(&self) -> bool {
        match self {
            Self::Home
            | Self::Browse(_)
            | Self::Search
            | Self::Assistants
            | Self::Namespace(_)
            | Self::Package(_)
            | Self::Versions(_)
            | Self::UsedBy(_)
            | Self::Version(..)
            | Self::Document(..)
            | Self::Text(..)
            | Self::Comparison(..)
            | Self::ComparisonForm(_)
            | Self::Moved(_)
            | Self::Guessed(_) => true,
            Self::Names
            | Self::Feed(_)
            | Self::Badge(..)
            | Self::Asset(_)
            | Self::OpenSearch
            | Self::Robots
            | Self::Sitemap
            | Self::SignIn
            | Self::SignOut
            | Self::Invalid(_)
            | Self::Unknown => false,
        }
    }
}

/// Returns the path of the page that a path without one may mean, by its shape alone: whether a package exists must not show.
fn guess(first: &str, rest: &[&str]) -> Option<String> {
    let known = GUESSES.iter().find(|(segment, _)| *segment == first);
    Some(match (first, rest) {
        (_, []) => known?.1.to_owned(),
        ("modules" | "providers", [namespace]) => {
            PageRoute::Namespace(owner_of(&[namespace])?).to_string()
        }
        ("modules" | "providers" | "mirrored" | "browse" | "badges" | "_assets", _) => return None,
        // The source address of a module or provider, of which the hostname has a dot.
        (host, [namespace, name, system]) if host.contains('.') => {
            let address = module(namespace, name, system).ok()?;
            // Nothing is mirrored from a hostname with a port.
            let hostname = host.parse().ok();
            format!(
                "/modules/{}",
                ModuleAddress {
                    hostname,
                    ..address
                }
            )
        }
        (host, [namespace, name]) if host.contains('.') => {
            format!("/mirrored/{}", mirrored(host, namespace, name).ok()?)
        }
        (namespace, [name, system]) => {
            format!("/modules/{}", module(namespace, name, system).ok()?)
        }
        (namespace, [name]) => format!("/providers/{}", provider(namespace, name).ok()?),
        _ => return None,
    })
}

fn owner_of(segments: &[&str]) -> Option<Owner> {
    Owner::parse_key(&segments.join("/").to_ascii_lowercase())
}

fn exact(text: &str) -> Result<Version, Problem> {
    Version::parse_request(text).map_err(missing)
}

/// The kind of mirrored providers in paths.
const MIRRORED: &str = "mirrored";

/// The place of the kind of a document or of a part after the first segment of a path of OpenTofu's registry:
/// `/provider/{namespace}/{type}/{version}/docs/{kind}/{page}`, `/module/{namespace}/{name}/{system}/{version}/{kind}/{part}`.
const KIND_SEGMENT: usize = 4;

/// Returns the path of the same page here for a path of OpenTofu's registry, where the kinds are singular.
fn moved(kind: &str, rest: &[&str]) -> String {
    let mut path = format!("/{kind}s");
    for (place, segment) in rest.iter().enumerate() {
        path.push('/');
        path.push_str(match *segment {
            "datasources" if place == KIND_SEGMENT => "data-sources",
            "ephemeral" if place == KIND_SEGMENT => "ephemeral-resources",
            "submodule" if place == KIND_SEGMENT => "submodules",
            "example" if place == KIND_SEGMENT => "examples",
            segment => segment,
        });
    }
    path
}

impl fmt::Display for PageRoute {
    /// Writes the path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home | Self::Invalid(_) | Self::Unknown => f.write_str("/"),
            Self::Browse(PackageKind::Module) => f.write_str("/browse/modules"),
            Self::Browse(PackageKind::Provider) => f.write_str("/browse/providers"),
            Self::Search => f.write_str("/search"),
            Self::Names => f.write_str("/_names"),
            Self::Assistants => f.write_str("/assistants"),
            Self::Namespace(owner) => write!(f, "/namespaces/{owner}"),
            Self::Package(package) => address(package).fmt(f),
            Self::Versions(package) => write!(f, "{}/versions", address(package)),
            Self::UsedBy(package) => write!(f, "{}/used-by", address(package)),
            Self::Version(package, version) => write!(f, "{}/{version}", address(package)),
            Self::Document(package, version, DocumentPath::Overview) => {
                write!(f, "{}/{version}/docs", address(package))
            }
            Self::Document(package, version, document) => {
                write!(f, "{}/{version}", address(package))?;
                write_document(f, document)
            }
            Self::Text(package, version, document) => {
                write!(f, "{}/{version}", address(package))?;
                write_document(f, document)?;
                match document {
                    DocumentPath::File(_) => Ok(()),
                    _ => f.write_str(".md"),
                }
            }
            Self::Comparison(package, from, to) => {
                write!(f, "{}/compare/{from}...{to}", address(package))
            }
            Self::ComparisonForm(package) => write!(f, "{}/compare", address(package)),
            Self::Feed(FeedScope::Registry) => f.write_str("/feed.atom"),
            Self::Feed(FeedScope::Namespace(owner)) => write!(f, "/namespaces/{owner}/feed.atom"),
            Self::Feed(FeedScope::Package(package)) => write!(f, "{}/feed.atom", address(package)),
            Self::Badge(package, badge) => {
                let file = match badge {
                    Badge::Version => "version.svg",
                    Badge::Status => "status.svg",
                };
                write!(f, "/badges{}/{file}", address(package))
            }
            Self::Asset(file) => write!(f, "{ASSETS_PREFIX}{file}"),
            Self::OpenSearch => f.write_str("/opensearch.xml"),
            Self::Robots => f.write_str("/robots.txt"),
            Self::Sitemap => f.write_str("/sitemap.xml"),
            Self::SignIn => f.write_str("/sign-in"),
            Self::SignOut => f.write_str("/sign-out"),
            Self::Moved(path) | Self::Guessed(path) => f.write_str(path),
        }
    }
}

fn address(package: &Package) -> String {
    match package {
        Package::Module(address) => format!("/modules/{address}"),
        Package::Provider(address) => format!("/providers/{address}"),
        Package::Mirrored(address) => format!("/{MIRRORED}/{address}"),
    }
}

fn write_document(f: &mut fmt::Formatter<'_>, document: &DocumentPath) -> fmt::Result {
    match document {
        DocumentPath::Overview | DocumentPath::Page(..) => write!(f, "/docs/{document}"),
        _ => write!(f, "/{document}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str) -> Option<PageRoute> {
        let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (first, rest) = segments.split_first().unwrap();
        PageRoute::parse(first, rest)
    }

    fn parsed(path: &str) -> PageRoute {
        parse(path).expect(path)
    }

    #[test]
    fn a_path_is_written_as_it_was_parsed() {
        for path in [
            "/",
            "/browse/modules",
            "/browse/providers",
            "/namespaces/registry.example.com/acme",
            "/modules/acme/vpc/aws/versions",
            "/modules/acme/vpc/aws/used-by",
            "/modules/acme/vpc/aws/latest",
            "/modules/acme/vpc/aws/1.2.3-rc.1",
            "/modules/acme/vpc/aws/1.2.3/submodules/endpoints",
            "/modules/acme/vpc/aws/1.2.3/submodules/permissions/A",
            "/modules/acme/vpc/aws/1.2.3/examples/cloud/github+tf_oss",
            "/modules/acme/vpc/aws/1.2.3/examples/a/b%20c.md",
            "/modules/acme/vpc/aws/1.2.3/examples/simple",
            "/modules/acme/vpc/aws/1.2.3/readme.md",
            "/modules/acme/vpc/aws/1.2.3/submodules/endpoints.md",
            "/modules/acme/vpc/aws/compare/1.0.0...2.0.0-rc.1",
            "/modules/acme/vpc/aws/compare",
            "/modules/registry.example.com/acme/vpc/aws/1.2.3/submodules/endpoints",
            "/providers/acme/widget/1.0.0/docs",
            "/providers/acme/widget/latest/docs/resources/widget",
            "/providers/acme/widget/latest/docs/resources/widget.md",
            "/providers/acme/widget/1.0.0/docs/overview.md",
            "/providers/acme/widget/feed.atom",
            "/mirrored/registry.example.com/acme/widget/1.0.0/docs/guides/upgrade-2.0",
            "/feed.atom",
            "/namespaces/acme/feed.atom",
            "/badges/modules/acme/vpc/aws/version.svg",
            "/badges/mirrored/registry.example.com/acme/widget/status.svg",
            "/_assets/0123.css",
        ] {
            assert_eq!(parsed(path).to_string(), path);
        }
    }

    #[test]
    fn a_slash_at_the_end_leads_nowhere_else() {
        for path in [
            "//evil.example/",
            "/\\evil.example/",
            "/nothing/",
            "/browse/modules//",
        ] {
            assert!(
                matches!(parsed(path), PageRoute::Unknown),
                "{path}: {:?}",
                parsed(path)
            );
        }
    }

    #[test]
    fn a_path_of_another_registry_leads_to_the_same_page() {
        for (path, same) in [
            ("/namespaces/Acme", "/namespaces/acme"),
            (
                "/providers/acme/widget/v1.0/docs/overview",
                "/providers/acme/widget/1.0.0/docs",
            ),
            (
                "/modules/acme/vpc/aws/1.0.0/readme",
                "/modules/acme/vpc/aws/1.0.0",
            ),
        ] {
            assert_eq!(parsed(path).to_string(), same);
        }
        for (path, target) in [
            (
                "/provider/acme/widget/v1.0.0/docs/datasources/x",
                "/providers/acme/widget/v1.0.0/docs/data-sources/x",
            ),
            (
                "/provider/example/ephemeral/v1.0.0/docs/resource/example",
                "/providers/example/ephemeral/v1.0.0/docs/resource/example",
            ),
            (
                "/module/example/submodule/aws/1.0.0/example/example",
                "/modules/example/submodule/aws/1.0.0/examples/example",
            ),
            ("/modules/acme/vpc/aws/", "/modules/acme/vpc/aws"),
            ("/browse/modules/", "/browse/modules"),
            ("/module//evil.example/x", "/modules//evil.example/x"),
            (
                "/provider/https://evil.example",
                "/providers/https://evil.example",
            ),
            ("/module/@evil.example", "/modules/@evil.example"),
            (
                "/provider/%0d%0alocation:%20x",
                "/providers/%0d%0alocation:%20x",
            ),
            ("/module", "/modules"),
            ("/namespaces/acme/", "/namespaces/acme"),
            (
                "/module/acme/vpc/aws/latest/submodule/x",
                "/modules/acme/vpc/aws/latest/submodules/x",
            ),
        ] {
            assert_eq!(parsed(path), PageRoute::Moved(target.to_owned()));
        }
    }

    #[test]
    fn a_path_without_a_page_is_unknown() {
        for path in [
            "/browse/widgets",
            "/namespaces/a.b",
            "/modules/acme/vpc",
            "/modules/acme/vpc/aws/1.0.0/docs",
            "/modules/acme/vpc/aws/compare/1.0.0",
            "/providers/acme/widget/1.0.0/docs/widgets/x",
            "/providers/acme/widget/1.0.0/resources/x",
            "/badges/modules/acme/vpc/aws/x.svg",
            "/_assets/a/b",
            "/wp-login.php",
        ] {
            assert_eq!(parsed(path), PageRoute::Unknown, "{path}");
        }
    }

    #[test]
    fn a_path_that_people_try_leads_to_the_page_that_its_shape_means() {
        for (path, target) in [
            ("/acme/vpc/aws", "/modules/acme/vpc/aws"),
            (
                "/registry.example.com/acme/vpc/aws",
                "/modules/registry.example.com/acme/vpc/aws",
            ),
            ("/127.0.0.1:8443/acme/vpc/aws", "/modules/acme/vpc/aws"),
            ("/hashicorp/random", "/providers/hashicorp/random"),
            (
                "/registry.example.com/hashicorp/random",
                "/mirrored/registry.example.com/hashicorp/random",
            ),
            ("/modules", "/browse/modules"),
            ("/namespaces", "/"),
            ("/modules/Acme", "/namespaces/acme"),
            ("/providers/acme", "/namespaces/acme"),
            ("/docs", DOCUMENTATION),
        ] {
            assert_eq!(
                parsed(path),
                PageRoute::Guessed(target.to_owned()),
                "{path}"
            );
        }
        assert_eq!(
            parsed("/modules/"),
            PageRoute::Moved("/browse/modules".to_owned())
        );
    }

    #[test]
    fn a_path_of_a_protocol_has_no_page() {
        for first in PROTOCOL_SEGMENTS {
            assert_eq!(parse(&format!("/{first}/x/y/z")), None);
        }
        assert_eq!(parse("/.well-known/x"), None);
    }
}

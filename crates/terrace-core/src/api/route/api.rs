//! Routes of the registry's own API.

use std::fmt;

use super::{API_PREFIX, missing, package};
use crate::documentation::DocumentPath;
use crate::http::problem::Problem;
use crate::model::owner::Owner;
use crate::model::package::Package;
use crate::model::version::{RequestedVersion, Version};
use terrace_base::untrusted::{QUOTED_CHARS, line};

/// A route of the registry's own API. A mirrored package is named by the hostname in the path, which may be one of the
/// registry's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiRoute {
    /// `/api/v1/search`
    Search,
    /// `/api/v1/check`: whether versions in use may still be used.
    Check,
    /// `/api/v1/token`: the token of the request.
    Token,
    /// `/api/v1/namespaces`
    Namespaces,
    /// `/api/v1/namespaces/{namespace}`, or `/api/v1/namespaces/{hostname}/{namespace}`
    Namespace(Owner),
    /// `/api/v1/{address}`
    Package(Package),
    /// `/api/v1/{address}/used-by`
    UsedBy(Package),
    /// `/api/v1/{address}/{version}`
    Version(Package, RequestedVersion),
    /// `/api/v1/{address}/{version}/docs`
    Navigation(Package, RequestedVersion),
    /// `/api/v1/{address}/{version}/docs/{document}`
    Document(Package, RequestedVersion, DocumentPath),
}

impl ApiRoute {
    /// Parses the segments after `/api/`; `None` if they match no route.
    #[inline(never)]
    pub(super) fn parse(segments: &[&str]) -> Result<Option<Self>, Problem> {
        let (package, rest) = match segments {
            ["v1", "search"] => return Ok(Some(Self::Search)),
            ["v1", "check"] => return Ok(Some(Self::Check)),
            ["v1", "token"] => return Ok(Some(Self::Token)),
            ["v1", "namespaces"] => return Ok(Some(Self::Namespaces)),
            ["v1", "namespaces", namespace] => return owner(namespace).map(Some),
            ["v1", "namespaces", hostname, namespace] => {
                return owner(&format!("{hostname}/{namespace}")).map(Some);
            }
            ["v1", kind, rest @ ..] => match package(kind, rest, "mirror").map_err(missing)? {
                Some(found) => found,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        Self::of(package, rest)
    }

    /// Parses the segments after the address of a package.
    fn of(package: Package, rest: &[&str]) -> Result<Option<Self>, Problem> {
        Ok(Some(match rest {
            [] => Self::Package(package),
            ["used-by"] => Self::UsedBy(package),
            [version] => Self::Version(package, requested(version)?),
            [version, "docs"] => Self::Navigation(package, requested(version)?),
            [version, "docs", document @ ..] => {
                let version = requested(version)?;
                match DocumentPath::parse(&package, document) {
                    Some(document) => Self::Document(package, version, document),
                    None => return Ok(None),
                }
            }
            _ => return Ok(None),
        }))
    }
}

/// The package of a route, borrowed as the route is.
macro_rules! package_of {
    ($route:ident) => {
        match $route {
            Self::Package(package)
            | Self::UsedBy(package)
            | Self::Version(package, _)
            | Self::Navigation(package, _)
            | Self::Document(package, ..) => Some(package),
            Self::Search | Self::Check | Self::Token | Self::Namespaces | Self::Namespace(_) => {
                None
            }
        }
    };
}

impl ApiRoute {
    /// Returns the package of the route.
    pub fn package(&self) -> Option<&Package> {
        package_of!(self)
    }

    /// Returns the package of the route, to replace it.
    pub fn package_mut(&mut self) -> Option<&mut Package> {
        package_of!(self)
    }
}

impl fmt::Display for ApiRoute {
    /// Writes the path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{API_PREFIX}v1/")?;
        match self {
            Self::Search => f.write_str("search"),
            Self::Check => f.write_str("check"),
            Self::Token => f.write_str("token"),
            Self::Namespaces => f.write_str("namespaces"),
            Self::Namespace(owner) => write!(f, "namespaces/{owner}"),
            Self::Package(package) => address(package).fmt(f),
            Self::UsedBy(package) => write!(f, "{}/used-by", address(package)),
            Self::Version(package, version) => write!(f, "{}/{version}", address(package)),
            Self::Navigation(package, version) => write!(f, "{}/{version}/docs", address(package)),
            Self::Document(package, version, document) => {
                write!(f, "{}/{version}/docs/{document}", address(package))
            }
        }
    }
}

fn address(package: &Package) -> String {
    match package {
        Package::Provider(address) => format!("providers/{address}"),
        Package::Module(address) => format!("modules/{address}"),
        Package::Mirrored(address) => format!("mirror/{address}"),
    }
}

fn owner(text: &str) -> Result<ApiRoute, Problem> {
    let owner = Owner::parse_key(&text.to_ascii_lowercase());
    owner.map(ApiRoute::Namespace).ok_or_else(|| {
        let text = line(text).at_most(QUOTED_CHARS);
        Problem::NotFound(format!(
            "{text} is not a namespace, or a hostname and a namespace"
        ))
    })
}

pub(super) fn requested(text: &str) -> Result<RequestedVersion, Problem> {
    match text {
        "latest" => Ok(RequestedVersion::Latest),
        version => Version::parse_request(version)
            .map(RequestedVersion::Exact)
            .map_err(missing),
    }
}

#[cfg(test)]
mod tests {
    use crate::api::route::Route;

    #[test]
    fn a_path_is_written_as_it_was_parsed() {
        for path in [
            "/api/v1/namespaces/registry.example.com/acme",
            "/api/v1/providers/acme/widget",
            "/api/v1/modules/acme/vpc/aws/used-by",
            "/api/v1/modules/acme/vpc/aws/latest",
            "/api/v1/modules/registry.example.com/acme/vpc/aws/latest",
            "/api/v1/mirror/registry.example.com/acme/widget/1.0.0+b/docs",
            "/api/v1/providers/acme/widget/1.0.0-rc.1/docs/data-sources/widget",
        ] {
            match Route::parse(path) {
                Ok(Route::Api(route)) => assert_eq!(route.to_string(), path),
                other => panic!("{path}: {other:?}"),
            }
        }
    }
}

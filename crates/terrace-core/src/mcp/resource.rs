//! Documentation as resources: each document of a version, and the list of them.

use std::fmt;

use crate::api::route::{API_PREFIX, ApiRoute, Route};
use crate::documentation::DocumentPath;
use crate::model::own_hosts::OwnHosts;
use crate::model::package::Package;
use crate::model::version::RequestedVersion;
use terrace_base::untrusted::quoted;

/// The beginning of a URI. What follows is the path of the API without its own beginning, so that the same package and the
/// same document have the same names in both.
const SCHEME: &str = "terrace:///";

/// The parameter with the number of characters before the requested page of a long document.
const OFFSET: &str = "?offset=";

/// Documentation that a URI names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentResource {
    /// The list of documents of a version.
    Navigation(Package, RequestedVersion),
    /// A document, after this number of characters.
    Document(Package, RequestedVersion, DocumentPath, usize),
}

impl DocumentResource {
    /// Parses a URI. A mirrored package under one of the registry's own hostnames is the hosted one.
    ///
    /// # Errors
    /// If it is not the URI of documentation, or a name or a version within it is invalid.
    pub fn parse(uri: &str, own: &OwnHosts<'_>) -> Result<Self, String> {
        let unknown = || {
            let uri = quoted(uri);
            format!(
                "{uri} is no resource of this registry: resources/list and resources/templates/list have them, such as \
                 terrace:///modules/acme/vpc/aws/latest/docs/readme"
            )
        };
        let rest = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
        let (path, offset) = match rest.split_once(OFFSET) {
            Some((path, offset)) => (path, offset.parse().map_err(|_| unknown())?),
            None => (rest, 0),
        };
        let hosted = |package| own.hosted(package);
        match Route::parse(&format!("{API_PREFIX}v1/{path}")) {
            Ok(Route::Api(ApiRoute::Navigation(package, version))) if offset == 0 => {
                Ok(Self::Navigation(hosted(package), version))
            }
            Ok(Route::Api(ApiRoute::Document(package, version, document)))
                if !matches!(document, DocumentPath::File(_)) =>
            {
                Ok(Self::Document(hosted(package), version, document, offset))
            }
            Ok(_) => Err(unknown()),
            Err(_) if !path.contains("/docs") => Err(unknown()),
            Err(problem) => Err(problem.messages().join("; ")),
        }
    }

    /// Returns the content type of the contents.
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::Navigation(..) => "application/json",
            Self::Document(_, _, document, _) => {
                let stored = document.content_type();
                stored.split(';').next().unwrap_or(stored)
            }
        }
    }
}

impl fmt::Display for DocumentResource {
    /// Writes the URI.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (route, offset) = match self {
            Self::Navigation(package, version) => {
                (ApiRoute::Navigation(package.clone(), version.clone()), 0)
            }
            Self::Document(package, version, document, offset) => {
                let (package, version) = (package.clone(), version.clone());
                (
                    ApiRoute::Document(package, version, document.clone()),
                    *offset,
                )
            }
        };
        let path = route.to_string();
        let path = path.strip_prefix(API_PREFIX).unwrap_or_default();
        write!(
            f,
            "{SCHEME}{}",
            path.strip_prefix("v1/").unwrap_or_default()
        )?;
        match offset {
            0 => Ok(()),
            offset => write!(f, "{OFFSET}{offset}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(uri: &str) -> Result<DocumentResource, String> {
        DocumentResource::parse(uri, &OwnHosts::new("https://registry.test", &[]))
    }

    #[test]
    fn a_uri_is_written_as_it_was_parsed() {
        for uri in [
            "terrace:///modules/acme/vpc/aws/latest/docs",
            "terrace:///modules/acme/vpc/aws/1.0.0/docs/readme",
            "terrace:///modules/acme/vpc/aws/1.0.0/docs/examples/simple/main.tf",
            "terrace:///providers/acme/widget/1.0.0/docs/overview?offset=20000",
            "terrace:///mirror/registry.example.com/acme/widget/latest/docs/resources/x",
        ] {
            assert_eq!(parse(uri).unwrap().to_string(), uri);
        }
        // A mirrored provider under an own hostname is the hosted one.
        let uri = "terrace:///mirror/registry.test/acme/widget/1.0.0/docs/overview";
        let same = "terrace:///providers/acme/widget/1.0.0/docs/overview";
        assert_eq!(parse(uri).unwrap().to_string(), same);
    }

    #[test]
    fn another_uri_is_no_resource() {
        for uri in [
            "",
            "terrace:///",
            "terrace://registry.test/modules/acme/vpc/aws/1.0.0/docs",
            "terrace:///modules/acme/vpc/aws/1.0.0",
            "terrace:///search",
            "terrace:///token",
            "terrace:///../../admin/v1/tokens",
            "terrace:///modules/acme/vpc/aws/1.0.0/docs/readme?offset=x",
            "terrace:///modules/acme/vpc/aws/1.0.0/docs?offset=5",
            "terrace:///modules/acme/vpc/aws/1.0.0/docs/files/LICENSE",
            "https://registry.test/modules/acme/vpc/aws/1.0.0/docs",
            "file:///etc/passwd",
        ] {
            let error = parse(uri).unwrap_err();
            assert!(error.contains("is no resource of this registry"), "{error}");
        }
        let error = parse("terrace:///modules/acme/vpc/aws/one/docs/readme").unwrap_err();
        assert!(
            error.contains("one") && !error.contains("no resource"),
            "{error}"
        );
    }
}

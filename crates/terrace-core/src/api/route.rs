//! The routing table: every route, parsed from a path by a plain match.
//!
//! Segments are validated byte by byte as they are read. Percent escapes are never decoded, so no two
//! spellings of a path mean the same thing.
//!
//! Each group of routes has a parser, which is never inlined: V8 compiles a function when it is first called, and the first
//! requests of an isolate belong to one or two groups.
//!
//! The properties of each route (its name, methods, who may use it, …) are defined in
//! [`crate::api::endpoint`].

mod admin;
mod api;
mod bytes;
mod mcp;
mod mirror;
mod oauth;
mod oci;
mod page;
mod terraform;

use crate::http::problem::Problem;
use crate::limits;
use crate::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use crate::model::name::NameError;
use crate::model::package::Package;
use terrace_base::untrusted::{QUOTED_CHARS, line};

pub use admin::AdminRoute;
pub use api::ApiRoute;
pub use bytes::BytesRoute;
pub use mcp::{McpRoute, McpScope};
pub use mirror::MirrorRoute;
pub use oauth::OAuthRoute;
pub use oci::OciRoute;
pub use page::{ASSETS_PREFIX, Badge, DOCUMENTATION, FeedScope, PageRoute};
pub use terraform::{ListRoute, TerraformRoute};

/// The path prefix of the network mirror.
pub const MIRROR_PREFIX: &str = "/mirror/";

/// The path prefix of the admin API.
pub const ADMIN_PREFIX: &str = "/admin/";

/// The path prefix of the registry's own API.
pub const API_PREFIX: &str = "/api/";

/// The path prefix of sign-in and token exchange.
pub const LOGIN_PREFIX: &str = "/oauth/";

/// Returns whether responses below this path are sent [with security
/// headers](crate::http::reply::Reply::with_security_headers), because a browser might render them. Only the path
/// decides, because this also applies to errors of paths without a route.
pub fn needs_security_headers(path: &str) -> bool {
    [ADMIN_PREFIX, LOGIN_PREFIX]
        .iter()
        .any(|prefix| path.starts_with(prefix))
}

/// Returns whether pages of any website may read the responses below this path, if they were requested without
/// credentials. Only the path decides: a rule that depended on the package would tell hidden packages from missing ones.
pub fn is_open_to_websites(path: &str) -> bool {
    path.starts_with(API_PREFIX)
}

/// All routes, by protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The web pages.
    Page(PageRoute),
    /// `/healthz`
    Health,
    /// Service discovery, and the provider and module registries.
    Terraform(TerraformRoute),
    /// The provider network mirror, and the lists of mirrored providers for update tools.
    Mirror(MirrorRoute),
    /// OCI Distribution.
    Oci(OciRoute),
    /// Stored bytes, served by signed URLs.
    Bytes(BytesRoute),
    /// Sign-in, and token exchange for CI jobs.
    OAuth(OAuthRoute),
    /// The registry's own API.
    Api(ApiRoute),
    /// The Model Context Protocol.
    Mcp(McpRoute),
    /// The admin API.
    Admin(AdminRoute),
}

impl Route {
    /// Parses a path as it was sent, without its query.
    ///
    /// # Errors
    /// [`Problem::NotFound`] for a path of no route, and for a read route with invalid names;
    /// [`Problem::BadRequest`] for an admin route with invalid names.
    pub fn parse(path: &str) -> Result<Self, Problem> {
        if path.len() > limits::PATH_BYTES {
            return Err(Problem::BadRequest(format!(
                "the path is {} bytes long, at most {} are allowed",
                path.len(),
                limits::PATH_BYTES
            )));
        }
        let relative = path.strip_prefix('/').unwrap_or(path);
        let (first, rest) = match relative.split_once('/') {
            Some((first, rest)) => (first, Some(rest)),
            None => (relative, None),
        };
        let route = match first {
            "v1" => TerraformRoute::parse(&split(rest))?.map(Self::Terraform),
            "v2" => Some(Self::Oci(OciRoute::parse(path)?)),
            "mirror" => MirrorRoute::parse(&split(rest))?.map(Self::Mirror),
            "origins" => match split(rest).as_slice() {
                [hostname, "v1", "modules", module @ ..] => {
                    TerraformRoute::parse_module(Some(hostname), module)?.map(Self::Terraform)
                }
                origin => MirrorRoute::parse_origins(origin)?.map(Self::Mirror),
            },
            "archives" => BytesRoute::parse_archive(&split(rest)).map(Self::Bytes),
            "pull" => BytesRoute::parse_pull(&split(rest)).map(Self::Bytes),
            "admin" => AdminRoute::parse(&split(rest))?.map(Self::Admin),
            "api" => ApiRoute::parse(&split(rest))?.map(Self::Api),
            "oauth" => OAuthRoute::parse(&split(rest)).map(Self::OAuth),
            "healthz" if rest.is_none() => Some(Self::Health),
            ".well-known" => match rest {
                Some("terraform.json") => Some(Self::Terraform(TerraformRoute::Discovery)),
                Some(rest) => McpRoute::parse_well_known(rest).map(Self::Mcp),
                None => None,
            },
            "mcp" => McpRoute::parse(rest).map(Self::Mcp),
            _ => {
                let rest = split(rest);
                mirror::check_base_url(first, &rest)?;
                PageRoute::parse(first, &rest).map(Self::Page)
            }
        };
        route.ok_or_else(|| no_such_route(path))
    }
}

/// Returns the segments after the first slash; none if there is no slash.
fn split(rest: Option<&str>) -> Vec<&str> {
    rest.map_or_else(Vec::new, |rest| rest.split('/').collect())
}

/// Returns the error for a path without a route.
pub fn no_such_route(path: &str) -> Problem {
    Problem::NotFound(format!(
        "this registry has no path {}: check the URL",
        line(path).at_most(QUOTED_CHARS)
    ))
}

/// Returns the error for a read route with invalid names.
fn missing(error: impl ToString) -> Problem {
    Problem::NotFound(error.to_string())
}

fn provider(namespace: &str, provider_type: &str) -> Result<ProviderAddress, NameError> {
    Ok(ProviderAddress {
        namespace: namespace.parse()?,
        provider_type: provider_type.parse()?,
    })
}

fn mirrored(
    hostname: &str,
    namespace: &str,
    provider_type: &str,
) -> Result<MirroredAddress, NameError> {
    Ok(MirroredAddress {
        hostname: hostname.parse()?,
        provider: provider(namespace, provider_type)?,
    })
}

fn module(namespace: &str, name: &str, system: &str) -> Result<ModuleAddress, NameError> {
    Ok(ModuleAddress {
        hostname: None,
        namespace: namespace.parse()?,
        name: name.parse()?,
        system: system.parse()?,
    })
}

/// Parses the address of a module at the start of these segments, and returns the other segments with it. `None` if they are
/// too few.
fn any_module<'s, 't>(
    segments: &'s [&'t str],
) -> Result<Option<(ModuleAddress, &'s [&'t str])>, NameError> {
    let (hostname, rest) = match segments {
        [hostname, rest @ ..] if hostname.contains('.') => (Some(hostname.parse()?), rest),
        _ => (None, segments),
    };
    let [namespace, name, system, rest @ ..] = rest else {
        return Ok(None);
    };
    let address = ModuleAddress {
        hostname,
        ..module(namespace, name, system)?
    };
    Ok(Some((address, rest)))
}

/// Parses the address of a package after its kind, and returns the segments that follow with it. `None` if they name none.
/// `mirror` is the kind of mirrored providers in these paths.
fn package<'s, 't>(
    kind: &str,
    segments: &'s [&'t str],
    mirror: &str,
) -> Result<Option<(Package, &'s [&'t str])>, NameError> {
    Ok(match (kind, segments) {
        ("modules", segments) => {
            any_module(segments)?.map(|(address, rest)| (Package::Module(address), rest))
        }
        ("providers", [namespace, provider_type, rest @ ..]) => {
            let address = provider(namespace, provider_type)?;
            Some((Package::Provider(address), rest))
        }
        (kind, [hostname, namespace, provider_type, rest @ ..]) if kind == mirror => {
            let address = mirrored(hostname, namespace, provider_type)?;
            Some((Package::Mirrored(address), rest))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_spelling_of_a_path_is_not_found() {
        for path in [
            "//",
            "/oauth/exchange/",
            "/OAuth/exchange",
            "/v1//providers/acme/widget/versions",
            "/v1/providers/acme/widget/versions/",
            "/v1/providers/acme/%77idget/versions",
            "/v1/providers/acme/../versions",
            "/V1/providers/acme/widget/versions",
            "/.well-known/terraform.json/",
            "/admin",
            "/admin/v1",
            "/oauth",
            "/oauth/token/",
            "/api",
            "/api/v1",
            "/api/v1/search/",
            "/api/v1/namespaces/a.b",
            "/api/v1/namespaces/a/b",
            "/api/v1/modules/acme/vpc/aws/",
            "/api/v1/modules/acme/vpc/aws/1.0.0/docs/",
            "/api/v1/modules/acme/vpc/aws/1.0.0/docs/overview",
            "/api/v1/providers/acme/widget/newest",
            "/v1/modules/",
            "/v1/providers/",
            "/mcp/",
            "/mcp/public",
            "/MCP",
            "/.well-known/oauth-authorization-server/mcp",
            "/.well-known/oauth-protected-resource/",
        ] {
            match Route::parse(path) {
                Ok(Route::Page(
                    PageRoute::Unknown | PageRoute::Guessed(_) | PageRoute::Invalid(_),
                )) => {}
                Ok(route) => panic!("{path}: {route:?}"),
                Err(problem) => assert_eq!(problem.status(), 404, "{path}"),
            }
        }
    }

    #[test]
    fn a_mirror_url_without_its_final_slash_is_an_error_5_1() {
        let problem = Route::parse("/a.b/acme/widget/index.json").unwrap_err();
        assert_eq!(problem.status(), 400);
        assert!(problem.messages().concat().contains("end in a slash"));
    }

    #[test]
    fn an_invalid_name_is_not_found_on_a_read_and_explained_on_a_publish() {
        let read = Route::parse("/v1/providers/acme/wid_get/versions").unwrap_err();
        assert_eq!(read.status(), 404);
        let publish = Route::parse("/admin/v1/providers/acme/wid_get/1.0.0").unwrap_err();
        assert_eq!(publish.status(), 400);
        assert!(
            publish
                .messages()
                .concat()
                .contains("letters, digits and dashes")
        );
        let version = Route::parse("/admin/v1/providers/acme/widget/1.0").unwrap_err();
        assert_eq!(version.status(), 400);
    }

    #[test]
    fn a_token_in_place_of_its_id_is_not_repeated() {
        let problem = Route::parse("/admin/v1/tokens/terrace_0123456789abcdef.s3cret");
        let messages = problem.unwrap_err().messages().concat();
        assert!(
            !messages.contains("s3cret") && messages.contains("16"),
            "{messages}"
        );
    }
}

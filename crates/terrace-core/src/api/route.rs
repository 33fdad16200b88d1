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
use crate::oci::pushed::PushedRequest;
use terrace_base::untrusted::{QUOTED_CHARS, line};

pub use admin::AdminRoute;
pub use api::ApiRoute;
pub use bytes::BytesRoute;
pub use mcp::{McpRoute, McpScope};
pub use mirror::MirrorRoute;
pub use oauth::OAuthRoute;
pub use oci::OciRoute;
pub use page::{ASSETS_PREFIX, Badge, FeedScope, PageRoute};
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

/// A route that the read machine passes to a handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandledRoute {
    /// `/healthz`
    Health,
    /// `/v2/`
    OciBase,
    /// `/v2/token`
    OciToken,
    /// All requests for pushed repositories, except reads of their indices.
    Pushed(PushedRequest),
    /// Stored bytes, served by signed URLs.
    Bytes(BytesRoute),
    /// Sign-in, and token exchange for CI jobs.
    OAuth(OAuthRoute),
    /// Lists of packages in the shape of the public registry.
    List(ListRoute),
    /// The registry's own API, except reads of indices that the path alone names.
    Api(ApiRoute),
    /// The Model Context Protocol.
    Mcp(McpRoute),
    /// The admin API.
    Admin(AdminRoute),
    /// The web pages.
    Page(PageRoute),
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
        let (first, rest) = split_first(path.strip_prefix('/').unwrap_or(path));
        let route = match first {
            "v1" => TerraformRoute::parse(&split(rest))?.map(Self::Terraform),
            "v2" => Some(Self::Oci(OciRoute::parse(path)?)),
            "mirror" => MirrorRoute::parse(&split(rest))?.map(Self::Mirror),
            "origins" => MirrorRoute::parse_origins(&split(rest))?.map(Self::Mirror),
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

/// Returns the first segment, and everything after its slash.
fn split_first(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
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
        namespace: namespace.parse()?,
        name: name.parse()?,
        system: system.parse()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::exchange::EXCHANGE_PATH;
    use proptest::prelude::*;

    #[test]
    fn every_route_is_parsed_from_its_path() {
        let mac = "0".repeat(64);
        let archive = format!("/archives/1800000000/{mac}/{mac}.zip");
        for (path, want) in [
            ("/", "Page(Home"),
            ("/.well-known/terraform.json", "Terraform(Discovery"),
            (
                "/v1/providers/acme/widget/versions",
                "Terraform(ProviderVersions",
            ),
            (
                "/v1/providers/acme/widget/1.0.0",
                "Terraform(ProviderVersion(",
            ),
            (
                "/v1/providers/acme/widget/1.0.0/download/linux/amd64",
                "Terraform(ProviderDownload",
            ),
            (
                "/v1/modules/acme/vpc/aws/versions",
                "Terraform(ModuleVersions",
            ),
            (
                "/v1/modules/acme/vpc/aws/1.0.0/download",
                "Terraform(ModuleDownload",
            ),
            (
                "/v1/modules/acme/vpc/aws/download",
                "Terraform(ModuleNewest",
            ),
            (
                "/origins/a.b/.well-known/terraform.json",
                "Mirror(OriginDiscovery",
            ),
            (
                "/origins/a.b/v1/providers/acme/widget/versions",
                "Mirror(OriginVersions",
            ),
            ("/mirror", "Mirror(Home"),
            ("/mirror/", "Mirror(Home"),
            ("/mirror/a.b/acme/widget/index.json", "Mirror(Versions"),
            ("/mirror/a.b/acme/widget/1.0.0.json", "Mirror(Packages"),
            ("/mirror/a.b/acme/widget/1.0.0+x.json", "Mirror(Packages"),
            (
                "/admin/v1/mirror/a.b/acme/widget/1.0.0",
                "Admin(MirroredRelease",
            ),
            (archive.as_str(), "Bytes(Archive"),
            (EXCHANGE_PATH, "OAuth(Exchange"),
            ("/oauth/authorize", "OAuth(Authorize"),
            ("/oauth/callback", "OAuth(Callback"),
            ("/oauth/consent", "OAuth(Consent"),
            ("/oauth/token", "OAuth(Token"),
            ("/mcp", "Mcp(Endpoint(Visible"),
            ("/mcp/private", "Mcp(Endpoint(Private"),
            (
                "/.well-known/oauth-protected-resource",
                "Mcp(Metadata(Visible",
            ),
            (
                "/admin/v1/providers/acme/widget/1.0.0",
                "Admin(PublishProvider",
            ),
            (
                "/admin/v1/modules/acme/vpc/aws/1.0.0",
                "Admin(PublishModule",
            ),
            ("/v1/modules", "Terraform(List(Modules)"),
            ("/v1/modules/search", "Terraform(List(ModuleSearch)"),
            ("/v1/modules/acme", "Terraform(List(ModulesOf("),
            ("/v1/modules/acme/vpc", "Terraform(List(ModulesNamed("),
            ("/v1/modules/acme/vpc/aws", "Terraform(Module("),
            ("/v1/modules/acme/vpc/aws/1.0.0", "Terraform(ModuleVersion("),
            ("/v1/providers", "Terraform(List(Providers)"),
            ("/v1/providers/acme", "Terraform(List(ProvidersOf("),
            ("/v1/providers/acme/widget", "Terraform(Provider("),
            ("/api/v1/search", "Api(Search"),
            ("/api/v1/namespaces", "Api(Namespaces"),
            ("/api/v1/namespaces/Acme", "Api(Namespace(Owner(\"acme\"))"),
            ("/api/v1/namespaces/a.b/acme", "Api(Namespace("),
            ("/api/v1/providers/acme/widget", "Api(Package(Provider("),
            ("/api/v1/modules/acme/vpc/aws", "Api(Package(Module("),
            ("/api/v1/mirror/a.b/acme/widget", "Api(Package(Mirrored("),
            ("/api/v1/providers/acme/widget/1.0.0", "Api(Version("),
            ("/api/v1/providers/acme/widget/latest", "Api(Version("),
            ("/api/v1/modules/acme/vpc/aws/1.0.0/docs", "Api(Navigation("),
            (
                "/api/v1/mirror/a.b/acme/widget/1.0.0/docs/resources/widget",
                "Api(Document(",
            ),
            ("/admin/v1/reindex", "Admin(Reindex"),
            ("/admin/v1/verify", "Admin(Verify"),
            ("/admin/v1/doctor", "Admin(Doctor"),
            ("/admin/v1/facts", "Admin(Facts"),
            ("/admin/v1/archives", "Admin(StoredArchives"),
            ("/admin/v1/garbage", "Admin(Garbage"),
            ("/admin/v1/erasures", "Admin(Erasures"),
            ("/admin/v1/namespaces/acme/keys", "Admin(SigningKeys"),
            (
                "/admin/v1/namespaces/acme/keys/51852D87348FFC4C",
                "Admin(SigningKey",
            ),
        ] {
            let route = format!("{:?}", Route::parse(path).expect(path));
            assert!(route.starts_with(want), "{path}: {route}");
        }
    }

    #[test]
    fn a_short_version_and_upper_case_names_are_normalised_2_1_3_2_1_7() {
        assert_eq!(
            Route::parse("/v1/providers/AcMe/Widget/1.0/download/linux/amd64"),
            Route::parse("/v1/providers/acme/widget/1.0.0/download/linux/amd64"),
        );
        assert_eq!(
            Route::parse("/v1/modules/acme/vpc/aws/v1.0.0/download"),
            Route::parse("/v1/modules/acme/vpc/aws/1.0.0/download"),
        );
    }

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
        ] {
            match Route::parse(path) {
                Ok(Route::Page(PageRoute::Unknown | PageRoute::Invalid(_))) => {}
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

    proptest! {
        #[test]
        fn any_path_is_accepted_or_rejected_without_a_panic(path in "(?s)/.{0,200}") {
            let _ = Route::parse(&path);
        }

        #[test]
        fn near_misses_are_rejected_without_a_panic(
            path in "(/(v1|admin|mirror|a\\.b|index\\.json|1\\.0\\.0\\.json|providers|modules|namespaces|keys|acme|widget|1\\.0\\.0|download|linux|versions|\\.\\.|%2e|))*"
        ) {
            let _ = Route::parse(&path);
        }
    }
}

//! The table of contents: every route, parsed from a path by a plain match.
//!
//! Segments are validated as they are read, byte for byte: no percent escape is ever decoded, so
//! no two spellings of a path mean the same thing.

use crate::http::method::Method;
use crate::http::problem::Problem;
use crate::limits;
use crate::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use crate::model::name::{Hostname, Namespace};
use crate::model::oci::{OCI_PREFIX, is_virtual};
use crate::model::package::Package;
use crate::model::platform::Platform;
use crate::model::token_id::TokenId;
use crate::model::version::Version;
use crate::oci::OciRequest;
use crate::oci::pushed::PushedRequest;
use crate::storage::signed_path::{PullPath, SignedPath};
use terrace_base::untrusted::{QUOTED_CHARS, line};
use terrace_openpgp::KeyId;

/// What the paths of the network mirror start with.
pub const MIRROR_PREFIX: &str = "/mirror/";

/// What the paths of the admin API start with.
pub const ADMIN_PREFIX: &str = "/admin/";

/// What the paths start with by which people sign in and jobs get tokens.
pub const LOGIN_PREFIX: &str = "/oauth/";

/// Whether answers below this path are [fenced](crate::http::reply::Reply::fenced): a browser might be led there.
pub fn is_fenced(path: &str) -> bool {
    [ADMIN_PREFIX, LOGIN_PREFIX]
        .iter()
        .any(|prefix| path.starts_with(prefix))
}

/// Everything that can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// `/`: a line for the human who comes by.
    Home,
    /// `/.well-known/terraform.json`
    Discovery,
    /// `/healthz`
    Health,
    /// `/v1/providers/{namespace}/{type}/versions`
    ProviderVersions(ProviderAddress),
    /// `/v1/providers/{namespace}/{type}/{version}`
    ProviderVersion(ProviderAddress, Version),
    /// `/v1/providers/{namespace}/{type}/{version}/download/{os}/{arch}`
    ProviderDownload(ProviderAddress, Version, Platform),
    /// `/v1/modules/{namespace}/{name}/{system}/versions`
    ModuleVersions(ModuleAddress),
    /// `/v1/modules/{namespace}/{name}/{system}/{version}/download`
    ModuleDownload(ModuleAddress, Version),
    /// `/v1/modules/{namespace}/{name}/{system}/download`: of the newest version.
    ModuleNewest(ModuleAddress),
    /// `/mirror` and `/mirror/`: what to write into the CLI configuration.
    MirrorHome,
    /// `/mirror/{hostname}/{namespace}/{type}/index.json`
    MirrorVersions(MirroredAddress),
    /// `/mirror/{hostname}/{namespace}/{type}/{version}.json`
    MirrorPackages(MirroredAddress, Version),
    /// `/origins/{hostname}/.well-known/terraform.json`: where the mirrored providers of another registry are listed.
    OriginDiscovery(Hostname),
    /// `/origins/{hostname}/v1/providers/{namespace}/{type}/versions`
    OriginVersions(MirroredAddress),
    /// `/v2/`
    OciBase,
    /// `/v2/token`
    OciToken,
    /// `/v2/_catalog`: the list of all repositories, which is not offered.
    OciCatalog,
    /// `/v2/{repository}/…` of a repository that is made of what is published.
    Oci(OciRequest),
    /// `/v2/{repository}/…` of a repository that clients push to.
    Pushed(PushedRequest),
    /// `/archives/{expires}/{hmac}/{sha256}.{extension}`
    Archive(SignedPath),
    /// `/pull/{expires}/{hmac}/{hostname}/{namespace}/{type}/{version}/{os}_{arch}.zip`
    Pull(PullPath),
    /// `/oauth/exchange`: tokens for the jobs of a CI.
    Exchange,
    /// `/oauth/authorize`: where a terminal sends a browser to sign in.
    LoginStart,
    /// `/oauth/callback`: where the provider sends it back.
    LoginCallback,
    /// `/oauth/consent`: what a person allows or refuses.
    LoginConsent,
    /// `/oauth/token`: what the terminal sends its code to.
    LoginToken,
    /// `/admin/v1/providers/{namespace}/{type}/{version}`
    PublishProvider(ProviderAddress, Version),
    /// `/admin/v1/modules/{namespace}/{name}/{system}/{version}`
    PublishModule(ModuleAddress, Version),
    /// `/admin/v1/mirror/{hostname}/{namespace}/{type}/{version}`
    MirroredRelease(MirroredAddress, Version),
    /// `/admin/v1/{kind}/{address}/standing`, of a version `/admin/v1/{kind}/{address}/{version}/standing`,
    /// where the kind is `providers`, `modules` or `mirror`.
    Standing(Package, Option<Version>),
    /// `/admin/v1/audit`
    Audit,
    /// `/admin/v1/tokens`
    Tokens,
    /// `/admin/v1/tokens/{id}`
    Token(TokenId),
    /// `/admin/v1/tokens/{id}/rotation`
    TokenRotation(TokenId),
    /// `/admin/v1/reindex`
    Reindex,
    /// `/admin/v1/verify`
    Verify,
    /// `/admin/v1/facts`
    Facts,
    /// `/admin/v1/archives`
    StoredArchives,
    /// `/admin/v1/garbage`
    Garbage,
    /// `/admin/v1/namespaces/{namespace}/keys`
    SigningKeys(Namespace),
    /// `/admin/v1/namespaces/{namespace}/keys/{key_id}`
    SigningKey(Namespace, KeyId),
}

impl Route {
    /// Reads a path as it was sent, without its query.
    ///
    /// # Errors
    /// [`Problem::NotFound`] for a path of no route, and for a read route whose names cannot
    /// exist; [`Problem::BadRequest`] for an admin route with such names.
    pub fn parse(path: &str) -> Result<Self, Problem> {
        if path.len() > limits::PATH_BYTES {
            return Err(Problem::BadRequest(format!(
                "the path is {} bytes long, at most {} are allowed",
                path.len(),
                limits::PATH_BYTES
            )));
        }
        let mut segments = path.strip_prefix('/').unwrap_or(path).split('/');
        match segments.next() {
            Some("admin") => admin(path, &collect(segments)),
            Some("v2") => oci(path),
            _ => read(path),
        }
    }

    /// Whether OCI clients ask for it, who read errors of their own.
    pub fn is_oci(&self) -> bool {
        matches!(
            self,
            Self::OciBase | Self::OciToken | Self::OciCatalog | Self::Oci(_) | Self::Pushed(_)
        )
    }

    /// Whether people sign in by it.
    pub fn is_login(&self) -> bool {
        matches!(
            self,
            Self::LoginStart | Self::LoginCallback | Self::LoginConsent | Self::LoginToken
        )
    }

    /// What it is called in logs and figures, which nobody's names are in.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Discovery => "discovery",
            Self::Health => "health",
            Self::ProviderVersions(..) => "provider_versions",
            Self::ProviderVersion(..) => "provider_version",
            Self::ProviderDownload(..) => "provider_download",
            Self::ModuleVersions(..) => "module_versions",
            Self::ModuleDownload(..) => "module_download",
            Self::ModuleNewest(..) => "module_newest",
            Self::MirrorHome => "mirror_home",
            Self::MirrorVersions(..) => "mirror_versions",
            Self::MirrorPackages(..) => "mirror_packages",
            Self::OriginDiscovery(..) => "origin_discovery",
            Self::OriginVersions(..) => "origin_versions",
            Self::OciBase => "oci_base",
            Self::OciToken => "oci_token",
            Self::OciCatalog => "oci_catalog",
            Self::Oci(request) => request.path.name(),
            Self::Pushed(request) => request.path.name(),
            Self::Archive(..) => "archive",
            Self::Pull(..) => "pull",
            Self::Exchange => "exchange",
            Self::LoginStart => "login_start",
            Self::LoginCallback => "login_callback",
            Self::LoginConsent => "login_consent",
            Self::LoginToken => "login_token",
            Self::PublishProvider(..) => "publish_provider",
            Self::PublishModule(..) => "publish_module",
            Self::MirroredRelease(..) => "mirrored_release",
            Self::Standing(..) => "standing",
            Self::Audit => "audit",
            Self::Tokens => "tokens",
            Self::Token(..) => "token",
            Self::TokenRotation(..) => "token_rotation",
            Self::SigningKeys(..) => "signing_keys",
            Self::SigningKey(..) => "signing_key",
            Self::Reindex => "reindex",
            Self::Verify => "verify",
            Self::Facts => "facts",
            Self::StoredArchives => "stored_archives",
            Self::Garbage => "garbage",
        }
    }

    /// The methods this route answers.
    pub fn methods(&self) -> &'static [Method] {
        match self {
            Self::Home
            | Self::Discovery
            | Self::Health
            | Self::ProviderVersions(..)
            | Self::ProviderVersion(..)
            | Self::ProviderDownload(..)
            | Self::ModuleVersions(..)
            | Self::ModuleDownload(..)
            | Self::ModuleNewest(..)
            | Self::MirrorHome
            | Self::MirrorVersions(..)
            | Self::MirrorPackages(..)
            | Self::OriginDiscovery(..)
            | Self::OriginVersions(..)
            | Self::OciBase
            | Self::OciToken
            | Self::OciCatalog
            | Self::Oci(..) => &[Method::Get, Method::Head],
            Self::Pushed(request) => request.methods(),
            Self::Archive(..) => &[Method::Get, Method::Head, Method::Put],
            // A length that is not known yet must not be told wrong (clients.md 2.2.8).
            Self::Pull(..) => &[Method::Get],
            // Each visit is one sign-in.
            Self::LoginStart | Self::LoginCallback => &[Method::Get],
            Self::LoginConsent | Self::LoginToken => &[Method::Post],
            Self::PublishProvider(..) | Self::PublishModule(..) => &[Method::Put],
            Self::MirroredRelease(..) => &[Method::Get, Method::Put],
            Self::SigningKeys(..) => &[Method::Get, Method::Put],
            Self::Token(..) => &[Method::Delete],
            Self::SigningKey(..) => &[Method::Delete, Method::Put],
            Self::Audit => &[Method::Get],
            Self::Tokens => &[Method::Get, Method::Post],
            Self::Standing(_, None) => &[Method::Get, Method::Put],
            Self::Standing(_, Some(_)) => &[Method::Put],
            Self::Facts => &[Method::Get, Method::Put],
            Self::StoredArchives => &[Method::Get, Method::Post],
            Self::Exchange
            | Self::TokenRotation(..)
            | Self::Reindex
            | Self::Verify
            | Self::Garbage => &[Method::Post],
        }
    }

    /// The method of a request, if this route answers it.
    ///
    /// # Errors
    /// [`Problem::MethodNotAllowed`] with those that it does.
    pub fn method(&self, text: &str) -> Result<Method, Problem> {
        Method::parse(text)
            .filter(|method| self.methods().contains(method))
            .ok_or(Problem::MethodNotAllowed(self.methods()))
    }
}

fn collect<'a>(segments: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    segments.collect()
}

fn no_such_route(path: &str) -> Problem {
    Problem::NotFound(format!(
        "there is nothing at {}",
        line(path).at_most(QUOTED_CHARS)
    ))
}

fn missing(error: impl ToString) -> Problem {
    Problem::NotFound(error.to_string())
}

fn read(path: &str) -> Result<Route, Problem> {
    let segments = collect(path.strip_prefix('/').unwrap_or(path).split('/'));
    match segments.as_slice() {
        [""] => Ok(Route::Home),
        ["healthz"] => Ok(Route::Health),
        [".well-known", "terraform.json"] => Ok(Route::Discovery),
        ["v1", "providers", namespace, provider_type, "versions"] => Ok(Route::ProviderVersions(
            provider(namespace, provider_type).map_err(missing)?,
        )),
        [
            "v1",
            "providers",
            namespace,
            provider_type,
            version,
            "download",
            os,
            arch,
        ] => Ok(Route::ProviderDownload(
            provider(namespace, provider_type).map_err(missing)?,
            Version::parse_request(version).map_err(missing)?,
            Platform::new(os, arch).map_err(missing)?,
        )),
        ["v1", "modules", namespace, name, system, "versions"] => Ok(Route::ModuleVersions(
            module(namespace, name, system).map_err(missing)?,
        )),
        [
            "v1",
            "modules",
            namespace,
            name,
            system,
            version,
            "download",
        ] => Ok(Route::ModuleDownload(
            module(namespace, name, system).map_err(missing)?,
            Version::parse_request(version).map_err(missing)?,
        )),
        ["oauth", "exchange"] => Ok(Route::Exchange),
        ["oauth", "authorize"] => Ok(Route::LoginStart),
        ["oauth", "callback"] => Ok(Route::LoginCallback),
        ["oauth", "consent"] => Ok(Route::LoginConsent),
        ["oauth", "token"] => Ok(Route::LoginToken),
        ["mirror"] | ["mirror", ""] => Ok(Route::MirrorHome),
        ["mirror", hostname, namespace, provider_type, file] => {
            let address = mirrored(hostname, namespace, provider_type).map_err(missing)?;
            mirror_file(path, address, file)
        }
        // The base URL without its final slash, whose last segment clients replace (clients.md 5.1).
        [hostname, _, _, file] if hostname.contains('.') && file.ends_with(".json") => {
            Err(Problem::BadRequest(NO_SLASH.to_owned()))
        }
        [
            "pull",
            expires,
            mac,
            hostname,
            namespace,
            provider_type,
            version,
            file,
        ] => PullPath::parse(
            expires,
            mac,
            [hostname, namespace, provider_type, version, file],
        )
        .map(Route::Pull)
        .ok_or_else(|| no_such_route(path)),
        ["archives", expires, mac, file_name] => SignedPath::parse(expires, mac, file_name)
            .map(Route::Archive)
            .ok_or_else(|| no_such_route(path)),
        // Those of update tools and scanners, after those of clients.
        ["v1", "providers", namespace, provider_type, version] => Ok(Route::ProviderVersion(
            provider(namespace, provider_type).map_err(missing)?,
            Version::parse_request(version).map_err(missing)?,
        )),
        ["v1", "modules", namespace, name, system, "download"] => Ok(Route::ModuleNewest(
            module(namespace, name, system).map_err(missing)?,
        )),
        ["origins", hostname, ".well-known", "terraform.json"] => {
            Ok(Route::OriginDiscovery(hostname.parse().map_err(missing)?))
        }
        [
            "origins",
            hostname,
            "v1",
            "providers",
            namespace,
            provider_type,
            "versions",
        ] => Ok(Route::OriginVersions(
            mirrored(hostname, namespace, provider_type).map_err(missing)?,
        )),
        _ => Err(no_such_route(path)),
    }
}

/// What a client's user reads in a log, and whoever opens the URL: with a 404 the client would
/// silently go elsewhere.
const NO_SLASH: &str = "this is no path of the network mirror: the url of network_mirror must end \
    in a slash, as in https://<this registry>/mirror/";

fn oci(path: &str) -> Result<Route, Problem> {
    match path.strip_prefix(OCI_PREFIX) {
        // The base, with or without its final slash.
        None | Some("") => Ok(Route::OciBase),
        Some("token") => Ok(Route::OciToken),
        Some("_catalog") => Ok(Route::OciCatalog),
        Some(rest) if is_virtual(rest) => OciRequest::parse(rest)
            .map(Route::Oci)
            .map_err(Problem::Oci),
        Some(rest) => PushedRequest::parse(rest)
            .map(Route::Pushed)
            .map_err(Problem::Oci),
    }
}

fn mirror_file(path: &str, address: MirroredAddress, file: &str) -> Result<Route, Problem> {
    match file.strip_suffix(".json") {
        Some("index") => Ok(Route::MirrorVersions(address)),
        Some(version) => {
            let version = Version::parse_request(version).map_err(missing)?;
            Ok(Route::MirrorPackages(address, version))
        }
        None => Err(no_such_route(path)),
    }
}

fn standing(path: &str, kind: &str, address: &[&str]) -> Result<Route, Problem> {
    let bad = |error: &dyn ToString| Problem::BadRequest(error.to_string());
    let (package, version) = match (kind, address) {
        ("providers", [namespace, provider_type, version @ ..]) => {
            let address = provider(namespace, provider_type).map_err(|error| bad(&error))?;
            (Package::Provider(address), version)
        }
        ("modules", [namespace, name, system, version @ ..]) => {
            let address = module(namespace, name, system).map_err(|error| bad(&error))?;
            (Package::Module(address), version)
        }
        ("mirror", [hostname, namespace, provider_type, version @ ..]) => {
            let address = mirrored(hostname, namespace, provider_type);
            (
                Package::Mirrored(address.map_err(|error| bad(&error))?),
                version,
            )
        }
        _ => return Err(no_such_route(path)),
    };
    match version {
        [] => Ok(Route::Standing(package, None)),
        [version] => {
            let version = version.parse().map_err(|error| bad(&error))?;
            Ok(Route::Standing(package, Some(version)))
        }
        _ => Err(no_such_route(path)),
    }
}

/// Reads the ID of a token. The error leaves the text out, because it may be a token that was given by mistake.
fn token_id(text: &str) -> Result<TokenId, Problem> {
    let rule = "the path has no token ID after /tokens/: an ID is the 16 lower-case hexadecimal digits between \
                \"terrace_\" and the first dot of a token";
    text.parse()
        .map_err(|()| Problem::BadRequest(rule.to_owned()))
}

fn admin(path: &str, segments: &[&str]) -> Result<Route, Problem> {
    let bad = |error: &dyn ToString| Problem::BadRequest(error.to_string());
    match segments {
        [
            "v1",
            kind @ ("providers" | "modules" | "mirror"),
            address @ ..,
            "standing",
        ] => standing(path, kind, address),
        ["v1", "providers", namespace, provider_type, version] => Ok(Route::PublishProvider(
            provider(namespace, provider_type).map_err(|error| bad(&error))?,
            version.parse().map_err(|error| bad(&error))?,
        )),
        ["v1", "mirror", hostname, namespace, provider_type, version] => {
            Ok(Route::MirroredRelease(
                mirrored(hostname, namespace, provider_type).map_err(|error| bad(&error))?,
                version.parse().map_err(|error| bad(&error))?,
            ))
        }
        ["v1", "modules", namespace, name, system, version] => Ok(Route::PublishModule(
            module(namespace, name, system).map_err(|error| bad(&error))?,
            version.parse().map_err(|error| bad(&error))?,
        )),
        ["v1", "audit"] => Ok(Route::Audit),
        ["v1", "reindex"] => Ok(Route::Reindex),
        ["v1", "verify"] => Ok(Route::Verify),
        ["v1", "facts"] => Ok(Route::Facts),
        ["v1", "archives"] => Ok(Route::StoredArchives),
        ["v1", "garbage"] => Ok(Route::Garbage),
        ["v1", "tokens"] => Ok(Route::Tokens),
        ["v1", "tokens", id] => Ok(Route::Token(token_id(id)?)),
        ["v1", "tokens", id, "rotation"] => Ok(Route::TokenRotation(token_id(id)?)),
        ["v1", "namespaces", namespace, "keys"] => Ok(Route::SigningKeys(
            namespace.parse().map_err(|error| bad(&error))?,
        )),
        ["v1", "namespaces", namespace, "keys", key_id] => Ok(Route::SigningKey(
            namespace.parse().map_err(|error| bad(&error))?,
            key_id.parse().map_err(|error| bad(&error))?,
        )),
        _ => Err(no_such_route(path)),
    }
}

fn provider(
    namespace: &str,
    provider_type: &str,
) -> Result<ProviderAddress, crate::model::name::NameError> {
    Ok(ProviderAddress {
        namespace: namespace.parse()?,
        provider_type: provider_type.parse()?,
    })
}

fn mirrored(
    hostname: &str,
    namespace: &str,
    provider_type: &str,
) -> Result<MirroredAddress, crate::model::name::NameError> {
    Ok(MirroredAddress {
        hostname: hostname.parse()?,
        provider: provider(namespace, provider_type)?,
    })
}

fn module(
    namespace: &str,
    name: &str,
    system: &str,
) -> Result<ModuleAddress, crate::model::name::NameError> {
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
    fn every_route_is_read_from_its_path() {
        let mac = "0".repeat(64);
        let archive = format!("/archives/1800000000/{mac}/{mac}.zip");
        for (path, want) in [
            ("/", "Home"),
            ("/.well-known/terraform.json", "Discovery"),
            ("/v1/providers/acme/widget/versions", "ProviderVersions"),
            ("/v1/providers/acme/widget/1.0.0", "ProviderVersion("),
            (
                "/v1/providers/acme/widget/1.0.0/download/linux/amd64",
                "ProviderDownload",
            ),
            ("/v1/modules/acme/vpc/aws/versions", "ModuleVersions"),
            ("/v1/modules/acme/vpc/aws/1.0.0/download", "ModuleDownload"),
            ("/v1/modules/acme/vpc/aws/download", "ModuleNewest"),
            ("/origins/a.b/.well-known/terraform.json", "OriginDiscovery"),
            (
                "/origins/a.b/v1/providers/acme/widget/versions",
                "OriginVersions",
            ),
            ("/mirror", "MirrorHome"),
            ("/mirror/", "MirrorHome"),
            ("/mirror/a.b/acme/widget/index.json", "MirrorVersions"),
            ("/mirror/a.b/acme/widget/1.0.0.json", "MirrorPackages"),
            ("/mirror/a.b/acme/widget/1.0.0+x.json", "MirrorPackages"),
            ("/admin/v1/mirror/a.b/acme/widget/1.0.0", "MirroredRelease"),
            (archive.as_str(), "Archive"),
            (EXCHANGE_PATH, "Exchange"),
            ("/oauth/authorize", "LoginStart"),
            ("/oauth/callback", "LoginCallback"),
            ("/oauth/consent", "LoginConsent"),
            ("/oauth/token", "LoginToken"),
            ("/admin/v1/providers/acme/widget/1.0.0", "PublishProvider"),
            ("/admin/v1/modules/acme/vpc/aws/1.0.0", "PublishModule"),
            ("/admin/v1/reindex", "Reindex"),
            ("/admin/v1/verify", "Verify"),
            ("/admin/v1/facts", "Facts"),
            ("/admin/v1/archives", "StoredArchives"),
            ("/admin/v1/garbage", "Garbage"),
            ("/admin/v1/namespaces/acme/keys", "SigningKeys"),
            (
                "/admin/v1/namespaces/acme/keys/51852D87348FFC4C",
                "SigningKey",
            ),
        ] {
            let route = format!("{:?}", Route::parse(path).expect(path));
            assert!(route.starts_with(want), "{path}: {route}");
        }
    }

    #[test]
    fn a_short_version_and_upper_case_names_mean_the_canonical_ones_2_1_3_2_1_7() {
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
    fn another_spelling_of_a_path_is_not_the_path() {
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
        ] {
            let problem = Route::parse(path).expect_err(path);
            assert_eq!(problem.status(), 404, "{path}");
        }
    }

    #[test]
    fn a_mirror_url_without_its_slash_is_told_so_instead_of_being_passed_over_5_1() {
        let problem = Route::parse("/a.b/acme/widget/index.json").unwrap_err();
        assert_eq!(problem.status(), 400);
        assert!(problem.messages().concat().contains("end in a slash"));
    }

    #[test]
    fn a_name_that_cannot_exist_is_not_found_on_a_read_and_explained_on_a_publish() {
        let read = Route::parse("/v1/providers/a_b/widget/versions").unwrap_err();
        assert_eq!(read.status(), 404);
        let publish = Route::parse("/admin/v1/providers/a_b/widget/1.0.0").unwrap_err();
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
    fn a_token_in_the_place_of_its_id_is_not_repeated() {
        let problem = Route::parse("/admin/v1/tokens/terrace_0123456789abcdef.s3cret");
        let messages = problem.unwrap_err().messages().concat();
        assert!(
            !messages.contains("s3cret") && messages.contains("16"),
            "{messages}"
        );
    }

    proptest! {
        #[test]
        fn any_path_is_read_or_refused_without_a_panic(path in "(?s)/.{0,200}") {
            let _ = Route::parse(&path);
        }

        #[test]
        fn near_misses_are_refused_without_a_panic(
            path in "(/(v1|admin|mirror|a\\.b|index\\.json|1\\.0\\.0\\.json|providers|modules|namespaces|keys|acme|widget|1\\.0\\.0|download|linux|versions|\\.\\.|%2e|))*"
        ) {
            let _ = Route::parse(&path);
        }
    }
}

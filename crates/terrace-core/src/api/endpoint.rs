//! The table of endpoints: the properties of every route, in one place.
//!
//! # In scope
//! Data: the name of a route, its paths as in `docs/openapi.yaml`, and for each of its methods who may use
//! it, how the body is read, whether it writes and whether it is audited.
//!
//! # Out of scope
//! Enforcing these properties, which is up to the read machine and the application's pipeline.

use crate::api::route::{
    AdminRoute, ApiRoute, BytesRoute, ListRoute, McpRoute, McpScope, MirrorRoute, OAuthRoute,
    OciRoute, PageRoute, Route, TerraformRoute,
};
use crate::http::method::Method;
use crate::http::problem::Problem;
use crate::limits;
use crate::limits::MANIFEST_BYTES;
use crate::oci::pushed::RepositoryPath;

/// Maximum size of the body of a request that restores documents: the longest manifest, escaped as JSON.
const RESTORE_BODY_BYTES: u64 = 3 * MANIFEST_BYTES;

/// The properties of a route.
#[derive(Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The name in logs and metrics, without names of packages or people.
    pub name: &'static str,
    /// The paths in `docs/openapi.yaml`; none for web pages.
    pub paths: &'static [&'static str],
    /// The supported methods.
    pub actions: &'static [Action],
    /// The format of errors.
    pub errors: ErrorFormat,
}

/// The properties of one method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    /// The HTTP method.
    pub method: Method,
    /// The callers who may use it.
    pub access: RequiredAccess,
    /// How the body is read.
    pub body: BodyHandling,
    /// Whether it writes documents or bytes, which an older version must not ([`crate::storage::format`]).
    pub writes: bool,
    /// Whether accepted requests get an entry in the audit log.
    pub is_audited: bool,
    /// Whether the session of a signed-in browser identifies the caller, if reads are guarded: on pages, and in the API
    /// that they use. Clients of the protocols send tokens, and a cookie that a change accepted would let pages of other
    /// websites make changes.
    pub reads_session: bool,
}

/// The callers who may use an endpoint. The pipeline enforces this for everything except indexed reads. For
/// reads, the read machine checks the owner of the package; the access matrix (`tests/it/native/access.rs`)
/// compares both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredAccess {
    /// Anyone, with any credentials. The handler checks other requirements, such as a signature.
    Anyone,
    /// Callers with valid credentials or none: the handler decides what to show them.
    Known,
    /// Callers with a valid token, whatever its scopes.
    Holders,
    /// Callers who may read the named package. If nothing is private, credentials are ignored.
    Readers,
    /// Like `Readers`, for searches and lists of the whole registry, which are limited without a token. A valid token is
    /// recognised even if nothing is private; then an invalid one counts as none.
    Searchers,
    /// Callers who may publish for the owner in the route.
    Publishers,
    /// Administrators of the owner in the route.
    OwnerAdmins,
    /// Administrators of any owner. The handler shows them, and lets them change, only what all of their scopes cover.
    AnyAdmins,
    /// Callers who may copy the whole registry: its administrators, and those with the scope `backup`.
    Backups,
    /// Administrators of the whole registry only.
    Admins,
}

/// How the body of a request is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyHandling {
    /// The body is ignored.
    Ignored,
    /// The body is read before the handler is called. Its length must be declared and must not exceed this
    /// limit, in bytes.
    Whole(u64),
    /// The handler reads the body.
    Handler,
}

/// The format of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorFormat {
    /// The format of the Terraform protocols: `{"errors":["…"]}`.
    Json,
    /// The format of OCI Distribution, with a challenge that names the registry.
    Oci,
    /// The format of OAuth (RFC 6749, section 5.2).
    OAuth,
    /// The format of the Model Context Protocol, with a challenge that names the metadata of the endpoint.
    Mcp,
    /// A web page.
    Html,
}

use RequiredAccess::{
    Admins, AnyAdmins, Anyone, Backups, Holders, Known, OwnerAdmins, Publishers, Readers, Searchers,
};

/// Defines the endpoints as constants, and the list of all endpoints.
macro_rules! endpoints {
    ($($id:ident $errors:ident $name:literal $paths:tt $actions:tt)+) => {
        $(#[doc = concat!("The endpoint `", $name, "`.")]
        pub const $id: Endpoint = Endpoint {
            name: $name,
            paths: &$paths,
            actions: &$actions,
            errors: ErrorFormat::$errors,
        };)+

        /// All endpoints.
        pub const ENDPOINTS: &[&Endpoint] = &[$(&$id),+];
    };
}

endpoints! {
    HEALTH             Json  "health"             ["/healthz"]                                                        [get(Anyone), head(Anyone)]

    DISCOVERY          Json  "discovery"          ["/.well-known/terraform.json"]                                     [get(Anyone), head(Anyone)]
    PROVIDER_VERSIONS  Json  "provider_versions"  ["/v1/providers/{namespace}/{type}/versions"]                       [get(Readers), head(Readers)]
    PROVIDER_VERSION   Json  "provider_version"   ["/v1/providers/{namespace}/{type}/{version}"]                      [get(Readers), head(Readers)]
    PROVIDER_DOWNLOAD  Json  "provider_download"  ["/v1/providers/{namespace}/{type}/{version}/download/{os}/{arch}"] [get(Readers), head(Readers)]
    MODULE_VERSIONS    Json  "module_versions"    ["/v1/modules/{namespace}/{name}/{system}/versions", "/origins/{hostname}/v1/modules/{namespace}/{name}/{system}/versions"]                [get(Readers), head(Readers)]
    MODULE_DOWNLOAD    Json  "module_download"    ["/v1/modules/{namespace}/{name}/{system}/{version}/download", "/origins/{hostname}/v1/modules/{namespace}/{name}/{system}/{version}/download"]      [get(Readers), head(Readers)]
    MODULE_NEWEST      Json  "module_newest"      ["/v1/modules/{namespace}/{name}/{system}/download", "/origins/{hostname}/v1/modules/{namespace}/{name}/{system}/download"]                [get(Readers), head(Readers)]
    MODULE             Json  "module"             ["/v1/modules/{namespace}/{name}/{system}"]                                         [get(Readers), head(Readers)]
    MODULE_VERSION     Json  "module_version"     ["/v1/modules/{namespace}/{name}/{system}/{version}"]                               [get(Readers), head(Readers)]
    PROVIDER           Json  "provider"           ["/v1/providers/{namespace}/{type}"]                                                [get(Readers), head(Readers)]
    MODULE_LIST        Json  "module_list"        ["/v1/modules"]                                                                     [get(Searchers), head(Searchers)]
    MODULES_OF         Json  "modules_of"         ["/v1/modules/{namespace}"]                                                         [get(Readers), head(Readers)]
    MODULES_NAMED      Json  "modules_named"      ["/v1/modules/{namespace}/{name}"]                                                  [get(Readers), head(Readers)]
    MODULE_SEARCH      Json  "module_search"      ["/v1/modules/search"]                                                              [get(Searchers), head(Searchers)]
    PROVIDER_LIST      Json  "provider_list"      ["/v1/providers"]                                                                   [get(Searchers), head(Searchers)]
    PROVIDERS_OF       Json  "providers_of"       ["/v1/providers/{namespace}"]                                                       [get(Readers), head(Readers)]

    MIRROR_HOME        Json  "mirror_home"        ["/mirror/"]                                                        [get(Anyone), head(Anyone)]
    MIRROR_VERSIONS    Json  "mirror_versions"    ["/mirror/{hostname}/{namespace}/{type}/index.json"]                [get(Readers), head(Readers)]
    MIRROR_PACKAGES    Json  "mirror_packages"    ["/mirror/{hostname}/{namespace}/{type}/{version}.json"]            [get(Readers), head(Readers)]
    ORIGIN_DISCOVERY   Json  "origin_discovery"   ["/origins/{hostname}/.well-known/terraform.json"]                  [get(Anyone), head(Anyone)]
    ORIGIN_VERSIONS    Json  "origin_versions"    ["/origins/{hostname}/v1/providers/{namespace}/{type}/versions"]    [get(Readers), head(Readers)]

    OCI_BASE           Oci   "oci_base"           ["/v2/"]                                                            [get(Known), head(Known)]
    OCI_TOKEN          Oci   "oci_token"          ["/v2/token"]                                                       [get(Known), head(Known)]
    OCI_CATALOG        Oci   "oci_catalog"        ["/v2/_catalog"]                                                    [get(Anyone), head(Anyone)]
    OCI_TAGS           Oci   "oci_tags"           ["/v2/{repository}/tags/list"]                                      [get(Readers), head(Readers)]
    OCI_MANIFEST       Oci   "oci_manifest"       ["/v2/{repository}/manifests/{reference}"]                          [get(Readers), head(Readers)]
    OCI_BLOB           Oci   "oci_blob"           ["/v2/{repository}/blobs/{digest}"]                                 [get(Readers), head(Readers)]
    OCI_REFERRERS      Oci   "oci_referrers"      ["/v2/{repository}/referrers/{digest}"]                             [get(Readers), head(Readers)]
    PUSHED_TAGS        Oci   "pushed_tags"        ["/v2/{repository}/tags/list"]                                      [get(Readers), head(Readers)]
    PUSHED_MANIFEST    Oci   "pushed_manifest"    ["/v2/{repository}/manifests/{reference}"]                          [get(Readers), head(Readers), push(Method::Put).audited(), push(Method::Delete).audited()]
    PUSHED_BLOB        Oci   "pushed_blob"        ["/v2/{repository}/blobs/{digest}"]                                 [get(Readers), head(Readers), push(Method::Delete).audited()]
    PUSHED_REFERRERS   Oci   "pushed_referrers"   ["/v2/{repository}/referrers/{digest}"]                             [get(Readers), head(Readers)]
    PUSHED_UPLOADS     Oci   "pushed_upload"      ["/v2/{repository}/blobs/uploads/"]                                 [push(Method::Post)]
    PUSHED_UPLOAD      Oci   "pushed_upload"      ["/v2/{repository}/blobs/uploads/{id}"]                             [push(Method::Get), push(Method::Head), push(Method::Patch), push(Method::Put), push(Method::Delete)]

    ARCHIVE            Json  "archive"            ["/archives/{expires}/{hmac}/{sha256}.{extension}"]                 [get(Anyone), head(Anyone), handled(Method::Put, Anyone).writing()]
    // No HEAD: the length may be unknown, and must not be reported wrongly (clients.md 2.2.8).
    PULL               Json  "pull"               ["/pull/{expires}/{hmac}/{hostname}/{namespace}/{type}/{version}/{os}_{arch}.zip"] [get(Anyone)]

    // No HEAD: each request is one sign-in.
    LOGIN_START        OAuth "login_start"        ["/oauth/authorize"]                                                [get(Anyone)]
    LOGIN_CALLBACK     OAuth "login_callback"     ["/oauth/callback"]                                                 [get(Anyone)]
    LOGIN_CONSENT      OAuth "login_consent"      ["/oauth/consent"]                                                  [handled(Method::Post, Anyone)]
    LOGIN_TOKEN        OAuth "login_token"        ["/oauth/token"]                                                    [handled(Method::Post, Anyone).audited()]
    EXCHANGE           OAuth "exchange"           ["/oauth/exchange"]                                                 [handled(Method::Post, Anyone)]

    API_SEARCH         Json  "api_search"         ["/api/v1/search"]                                                                  [search(Method::Get), search(Method::Head)]
    // A question of any length, so a POST; no page asks it, so no session.
    API_CHECK          Json  "api_check"          ["/api/v1/check"]                                                                   [handled(Method::Post, Searchers)]
    API_TOKEN          Json  "api_token"          ["/api/v1/token"]                                                                   [get(Holders), head(Holders), deletion(Holders)]
    API_NAMESPACES     Json  "api_namespaces"     ["/api/v1/namespaces"]                                                              [search(Method::Get), search(Method::Head)]
    API_NAMESPACE      Json  "api_namespace"      ["/api/v1/namespaces/{namespace}", "/api/v1/namespaces/{hostname}/{namespace}"]     [view(Method::Get), view(Method::Head)]
    API_PACKAGE        Json  "api_package"        ["/api/v1/providers/{namespace}/{type}", "/api/v1/modules/{namespace}/{name}/{system}", "/api/v1/mirror/{hostname}/{namespace}/{type}"] [view(Method::Get), view(Method::Head)]
    API_USED_BY        Json  "api_used_by"        ["/api/v1/providers/{namespace}/{type}/used-by", "/api/v1/modules/{namespace}/{name}/{system}/used-by", "/api/v1/mirror/{hostname}/{namespace}/{type}/used-by"] [search(Method::Get), search(Method::Head)]
    API_VERSION        Json  "api_version"        ["/api/v1/providers/{namespace}/{type}/{version}", "/api/v1/modules/{namespace}/{name}/{system}/{version}", "/api/v1/mirror/{hostname}/{namespace}/{type}/{version}"] [view(Method::Get), view(Method::Head)]
    API_NAVIGATION     Json  "api_navigation"     ["/api/v1/providers/{namespace}/{type}/{version}/docs", "/api/v1/modules/{namespace}/{name}/{system}/{version}/docs", "/api/v1/mirror/{hostname}/{namespace}/{type}/{version}/docs"] [view(Method::Get), view(Method::Head)]
    API_DOCUMENT       Json  "api_document"       ["/api/v1/providers/{namespace}/{type}/{version}/docs/overview", "/api/v1/providers/{namespace}/{type}/{version}/docs/{kind}/{page}", "/api/v1/mirror/{hostname}/{namespace}/{type}/{version}/docs/overview", "/api/v1/mirror/{hostname}/{namespace}/{type}/{version}/docs/{kind}/{page}", "/api/v1/modules/{namespace}/{name}/{system}/{version}/docs/readme", "/api/v1/modules/{namespace}/{name}/{system}/{version}/docs/submodules/{page}", "/api/v1/modules/{namespace}/{name}/{system}/{version}/docs/examples/{page}", "/api/v1/modules/{namespace}/{name}/{system}/{version}/docs/examples/{page}/{file}", "/api/v1/modules/{namespace}/{name}/{system}/{version}/docs/files/{file}"] [view(Method::Get), view(Method::Head)]

    // Clients send requests and notifications alike by POST; the endpoint has no streams that a GET would open.
    MCP                Mcp   "mcp"                ["/mcp"]                                                            [handled(Method::Post, Searchers)]
    MCP_PRIVATE        Mcp   "mcp_private"        ["/mcp/private"]                                                    [handled(Method::Post, Holders)]
    MCP_METADATA       Json  "mcp_metadata"       ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource/mcp/private"] [get(Anyone), head(Anyone)]
    MCP_AUTHORIZATION  Json  "mcp_authorization"  ["/.well-known/oauth-authorization-server"]                         [get(Anyone), head(Anyone)]

    PAGE_HOME          Html  "page_home"          []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_BROWSE        Html  "page_browse"        []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_SEARCH        Html  "page_search"        []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_NAMES         Html  "page_names"         []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_ASSISTANTS    Html  "page_assistants"    []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_NAMESPACE     Html  "page_namespace"     []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_PACKAGE       Html  "page_package"       []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_VERSIONS      Html  "page_versions"      []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_USED_BY       Html  "page_used_by"       []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_VERSION       Html  "page_version"       []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_DOCUMENT      Html  "page_document"      []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_TEXT          Html  "page_text"          []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_COMPARISON    Html  "page_comparison"    []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_FEED          Html  "page_feed"          []                                                                  [view(Method::Get), view(Method::Head)]
    PAGE_BADGE         Html  "page_badge"         []                                                                  [view(Method::Get), view(Method::Head)]
    // No HEAD: each request is one sign-in.
    PAGE_SIGN_IN       Html  "page_sign_in"       []                                                                  [get(Anyone), handled(Method::Post, Anyone)]
    PAGE_SIGN_OUT      Html  "page_sign_out"      []                                                                  [get(Anyone), head(Anyone), handled(Method::Post, Anyone)]
    PAGE_SITEMAP       Html  "page_sitemap"       []                                                                  [view(Method::Get), view(Method::Head)]
    // The answer is the same for every caller.
    PAGE_FILE          Html  "page_file"          []                                                                  [get(Anyone), head(Anyone)]
    PAGE_UNKNOWN       Html  "page_unknown"       []                                                                  [get(Anyone), head(Anyone)]

    PUBLISH_PROVIDER   Json  "publish_provider"   ["/admin/v1/providers/{namespace}/{type}/{version}"]                [change(Method::Put, Publishers)]
    PUBLISH_MODULE     Json  "publish_module"     ["/admin/v1/modules/{namespace}/{name}/{system}/{version}"]         [change(Method::Put, Publishers)]
    MIRRORED_RELEASE   Json  "mirrored_release"   ["/admin/v1/mirror/{hostname}/{namespace}/{type}/{version}"]        [get(Publishers), change(Method::Put, Publishers)]
    STATUS             Json  "status"           ["/admin/v1/providers/{namespace}/{type}/status", "/admin/v1/modules/{namespace}/{name}/{system}/status", "/admin/v1/mirror/{hostname}/{namespace}/{type}/status"] [get(Publishers), change(Method::Put, Publishers)]
    VERSION_STATUS     Json  "status"           ["/admin/v1/providers/{namespace}/{type}/{version}/status", "/admin/v1/modules/{namespace}/{name}/{system}/{version}/status", "/admin/v1/mirror/{hostname}/{namespace}/{type}/{version}/status"] [change(Method::Put, Publishers)]
    DOCUMENTATION      Json  "documentation"      ["/admin/v1/providers/{namespace}/{type}/{version}/documentation", "/admin/v1/modules/{namespace}/{name}/{system}/{version}/documentation", "/admin/v1/mirror/{hostname}/{namespace}/{type}/{version}/documentation"] [get(Publishers), change(Method::Put, Publishers), deletion(Publishers)]
    DOCUMENTED         Json  "documented"         ["/admin/v1/documentation"]                                         [get(Admins)]
    SIGNING_KEYS       Json  "signing_keys"       ["/admin/v1/namespaces/{namespace}/keys"]                           [get(Publishers), change(Method::Put, OwnerAdmins)]
    SIGNING_KEY        Json  "signing_key"        ["/admin/v1/namespaces/{namespace}/keys/{key_id}"]                  [deletion(OwnerAdmins), change(Method::Put, OwnerAdmins)]
    AUDIT              Json  "audit"              ["/admin/v1/audit"]                                                 [get(Backups)]
    DOCTOR             Json  "doctor"             ["/admin/v1/doctor"]                                                [get(Admins)]
    TOKENS             Json  "tokens"             ["/admin/v1/tokens"]                                                [get(AnyAdmins), change(Method::Post, AnyAdmins)]
    TOKEN              Json  "token"              ["/admin/v1/tokens/{id}"]                                           [deletion(AnyAdmins)]
    TOKEN_ROTATION     Json  "token_rotation"     ["/admin/v1/tokens/{id}/rotation"]                                  [change(Method::Post, AnyAdmins)]
    RULES              Json  "rules"              ["/admin/v1/rules"]                                                 [get(AnyAdmins), change(Method::Post, AnyAdmins)]
    RULE               Json  "rule"               ["/admin/v1/rules/{id}"]                                            [deletion(AnyAdmins)]
    REINDEX            Json  "reindex"            ["/admin/v1/reindex"]                                               [change(Method::Post, Admins)]
    VERIFY             Json  "verify"             ["/admin/v1/verify"]                                                [question()]
    FACTS              Json  "facts"              ["/admin/v1/facts"]                                                 [get(Backups), copy()]
    // The POST only returns upload URLs; it uploads nothing.
    STORED_ARCHIVES    Json  "stored_archives"    ["/admin/v1/archives"]                                              [get(Backups), question()]
    WEBHOOKS           Json  "webhooks"           ["/admin/v1/webhooks"]                                              [get(Admins), change(Method::Post, Admins)]
    WEBHOOK            Json  "webhook"            ["/admin/v1/webhooks/{id}"]                                         [get(Admins), deletion(Admins)]
    WEBHOOK_TEST       Json  "webhook_test"       ["/admin/v1/webhooks/{id}/test"]                                    [change(Method::Post, Admins)]
    ERASURES           Json  "erasures"           ["/admin/v1/erasures"]                                              [change(Method::Post, Admins)]
    GARBAGE            Json  "garbage"            ["/admin/v1/garbage"]                                               [change(Method::Post, Admins)]
    // Works while R2 does not: the handler writes the audit entry, or the scheduled event when R2 answers again.
    FAILOVER           Json  "failover"           ["/admin/v1/failover"]                                              [get(Admins), whole(Method::Put, Admins)]
    // The POST changes nothing in the registry: it returns URLs, and removes erased objects from the second bucket.
    REPLICATION        Json  "replication"        ["/admin/v1/replication"]                                           [question()]
}

const fn action(method: Method, access: RequiredAccess, body: BodyHandling) -> Action {
    Action {
        method,
        access,
        body,
        writes: false,
        is_audited: false,
        reads_session: false,
    }
}

const fn get(access: RequiredAccess) -> Action {
    action(Method::Get, access, BodyHandling::Ignored)
}

const fn head(access: RequiredAccess) -> Action {
    action(Method::Head, access, BodyHandling::Ignored)
}

/// A read by a browser or a tool, which a session may identify.
const fn view(method: Method) -> Action {
    action(method, Readers, BodyHandling::Ignored).by_session()
}

/// A search of the registry's own API, which a session may identify.
const fn search(method: Method) -> Action {
    action(method, Searchers, BodyHandling::Ignored).by_session()
}

/// A request with a body that the handler reads, possibly as a stream.
const fn handled(method: Method, access: RequiredAccess) -> Action {
    action(method, access, BodyHandling::Handler)
}

/// A request of an OCI client for a repository, except indexed reads.
const fn push(method: Method) -> Action {
    let action = handled(method, Publishers);
    match method {
        Method::Get | Method::Head => action,
        _ => action.writing(),
    }
}

/// A request with a JSON document, which by itself gets no entry in the audit log.
const fn whole(method: Method, access: RequiredAccess) -> Action {
    let body = BodyHandling::Whole(limits::ADMIN_BODY_BYTES);
    action(method, access, body)
}

/// A question to the whole registry, with a JSON document of what it is about. It has no entry in the audit log, because
/// no document or archive changes: the registry hashes its bytes again, or returns URLs for uploads that come later.
const fn question() -> Action {
    whole(Method::Post, Admins)
}

/// A change described by a JSON document.
const fn change(method: Method, access: RequiredAccess) -> Action {
    whole(method, access).audited()
}

const fn deletion(access: RequiredAccess) -> Action {
    action(Method::Delete, access, BodyHandling::Ignored).audited()
}

/// A part of a backup to restore.
const fn copy() -> Action {
    action(Method::Put, Admins, BodyHandling::Whole(RESTORE_BODY_BYTES)).audited()
}

impl Action {
    const fn writing(self) -> Self {
        Self {
            writes: true,
            ..self
        }
    }

    /// Lets the session of a signed-in browser identify the caller.
    const fn by_session(self) -> Self {
        Self {
            reads_session: true,
            ..self
        }
    }

    /// Marks a change that gets an entry in the audit log.
    const fn audited(self) -> Self {
        Self {
            writes: true,
            is_audited: true,
            ..self
        }
    }
}

impl Endpoint {
    /// Returns the action of a method; `None` if the endpoint does not support it.
    pub fn action(&self, method: Method) -> Option<&'static Action> {
        self.actions.iter().find(|action| action.method == method)
    }

    /// Returns the action of a request's method.
    ///
    /// # Errors
    /// [`Problem::MethodNotAllowed`] with the methods that the endpoint supports.
    pub fn requested_action(&self, method: &str) -> Result<&'static Action, Problem> {
        Method::parse(method)
            .and_then(|method| self.action(method))
            .ok_or_else(|| Problem::MethodNotAllowed(self.methods()))
    }

    /// Returns all supported methods.
    pub fn methods(&self) -> Vec<Method> {
        self.actions.iter().map(|action| action.method).collect()
    }
}

impl Route {
    /// Returns the properties of this route.
    pub fn endpoint(&self) -> &'static Endpoint {
        match self {
            Self::Health => &HEALTH,
            Self::Terraform(route) => match route {
                TerraformRoute::Discovery => &DISCOVERY,
                TerraformRoute::ProviderVersions(..) => &PROVIDER_VERSIONS,
                TerraformRoute::ProviderVersion(..) => &PROVIDER_VERSION,
                TerraformRoute::ProviderDownload(..) => &PROVIDER_DOWNLOAD,
                TerraformRoute::ModuleVersions(..) => &MODULE_VERSIONS,
                TerraformRoute::ModuleDownload(..) => &MODULE_DOWNLOAD,
                TerraformRoute::ModuleNewest(..) => &MODULE_NEWEST,
                TerraformRoute::Module(_) => &MODULE,
                TerraformRoute::ModuleVersion(..) => &MODULE_VERSION,
                TerraformRoute::Provider(_) => &PROVIDER,
                TerraformRoute::List(route) => list(route),
            },
            Self::Mirror(route) => match route {
                MirrorRoute::Home => &MIRROR_HOME,
                MirrorRoute::Versions(..) => &MIRROR_VERSIONS,
                MirrorRoute::Packages(..) => &MIRROR_PACKAGES,
                MirrorRoute::OriginDiscovery(..) => &ORIGIN_DISCOVERY,
                MirrorRoute::OriginVersions(..) => &ORIGIN_VERSIONS,
            },
            Self::Oci(route) => match route {
                OciRoute::Base => &OCI_BASE,
                OciRoute::Token => &OCI_TOKEN,
                OciRoute::Catalog => &OCI_CATALOG,
                OciRoute::Generated(request) => match request.path {
                    RepositoryPath::Tags => &OCI_TAGS,
                    RepositoryPath::Manifest(_) => &OCI_MANIFEST,
                    RepositoryPath::Referrers(_) => &OCI_REFERRERS,
                    // The parser refuses uploads.
                    RepositoryPath::Blob(_)
                    | RepositoryPath::Uploads
                    | RepositoryPath::Upload(_) => &OCI_BLOB,
                },
                OciRoute::Pushed(request) => pushed(&request.path),
            },
            Self::Bytes(route) => bytes(route),
            Self::OAuth(route) => oauth(*route),
            Self::Api(route) => api(route),
            Self::Mcp(route) => mcp(*route),
            Self::Admin(route) => admin(route),
            Self::Page(route) => page(route),
        }
    }
}

fn pushed(path: &RepositoryPath) -> &'static Endpoint {
    match path {
        RepositoryPath::Tags => &PUSHED_TAGS,
        RepositoryPath::Manifest(_) => &PUSHED_MANIFEST,
        RepositoryPath::Blob(_) => &PUSHED_BLOB,
        RepositoryPath::Referrers(_) => &PUSHED_REFERRERS,
        RepositoryPath::Uploads => &PUSHED_UPLOADS,
        RepositoryPath::Upload(_) => &PUSHED_UPLOAD,
    }
}

fn bytes(route: &BytesRoute) -> &'static Endpoint {
    match route {
        BytesRoute::Archive(_) => &ARCHIVE,
        BytesRoute::Pull(_) => &PULL,
    }
}

fn oauth(route: OAuthRoute) -> &'static Endpoint {
    match route {
        OAuthRoute::Exchange => &EXCHANGE,
        OAuthRoute::Authorize => &LOGIN_START,
        OAuthRoute::Callback => &LOGIN_CALLBACK,
        OAuthRoute::Consent => &LOGIN_CONSENT,
        OAuthRoute::Token => &LOGIN_TOKEN,
    }
}

fn list(route: &ListRoute) -> &'static Endpoint {
    match route {
        ListRoute::Modules => &MODULE_LIST,
        ListRoute::ModulesOf(_) => &MODULES_OF,
        ListRoute::ModulesNamed(..) => &MODULES_NAMED,
        ListRoute::ModuleSearch => &MODULE_SEARCH,
        ListRoute::Providers => &PROVIDER_LIST,
        ListRoute::ProvidersOf(_) => &PROVIDERS_OF,
    }
}

fn api(route: &ApiRoute) -> &'static Endpoint {
    match route {
        ApiRoute::Search => &API_SEARCH,
        ApiRoute::Check => &API_CHECK,
        ApiRoute::Token => &API_TOKEN,
        ApiRoute::Namespaces => &API_NAMESPACES,
        ApiRoute::Namespace(_) => &API_NAMESPACE,
        ApiRoute::Package(_) => &API_PACKAGE,
        ApiRoute::UsedBy(_) => &API_USED_BY,
        ApiRoute::Version(..) => &API_VERSION,
        ApiRoute::Navigation(..) => &API_NAVIGATION,
        ApiRoute::Document(..) => &API_DOCUMENT,
    }
}

fn mcp(route: McpRoute) -> &'static Endpoint {
    match route {
        McpRoute::Endpoint(McpScope::Visible) => &MCP,
        McpRoute::Endpoint(McpScope::Private) => &MCP_PRIVATE,
        McpRoute::Metadata(_) => &MCP_METADATA,
        McpRoute::AuthorizationServer => &MCP_AUTHORIZATION,
    }
}

fn page(route: &PageRoute) -> &'static Endpoint {
    match route {
        PageRoute::Home => &PAGE_HOME,
        PageRoute::Browse(_) => &PAGE_BROWSE,
        PageRoute::Search => &PAGE_SEARCH,
        PageRoute::Names => &PAGE_NAMES,
        PageRoute::Assistants => &PAGE_ASSISTANTS,
        PageRoute::Namespace(_) => &PAGE_NAMESPACE,
        PageRoute::Package(_) => &PAGE_PACKAGE,
        PageRoute::Versions(_) => &PAGE_VERSIONS,
        PageRoute::UsedBy(_) => &PAGE_USED_BY,
        PageRoute::Version(..) => &PAGE_VERSION,
        PageRoute::Document(..) => &PAGE_DOCUMENT,
        PageRoute::Text(..) => &PAGE_TEXT,
        PageRoute::Comparison(..) | PageRoute::ComparisonForm(_) => &PAGE_COMPARISON,
        PageRoute::Feed(_) => &PAGE_FEED,
        PageRoute::Badge(..) => &PAGE_BADGE,
        PageRoute::SignIn => &PAGE_SIGN_IN,
        PageRoute::SignOut => &PAGE_SIGN_OUT,
        PageRoute::Sitemap => &PAGE_SITEMAP,
        PageRoute::Asset(_) | PageRoute::OpenSearch | PageRoute::Robots => &PAGE_FILE,
        PageRoute::Moved(_)
        | PageRoute::Guessed(_)
        | PageRoute::Invalid(_)
        | PageRoute::Unknown => &PAGE_UNKNOWN,
    }
}

fn admin(route: &AdminRoute) -> &'static Endpoint {
    match route {
        AdminRoute::PublishProvider(..) => &PUBLISH_PROVIDER,
        AdminRoute::PublishModule(..) => &PUBLISH_MODULE,
        AdminRoute::MirroredRelease(..) => &MIRRORED_RELEASE,
        AdminRoute::Status(_, None) => &STATUS,
        AdminRoute::Status(_, Some(_)) => &VERSION_STATUS,
        AdminRoute::Documentation(..) => &DOCUMENTATION,
        AdminRoute::Documented => &DOCUMENTED,
        AdminRoute::SigningKeys(_) => &SIGNING_KEYS,
        AdminRoute::SigningKey(..) => &SIGNING_KEY,
        AdminRoute::Audit => &AUDIT,
        AdminRoute::Doctor => &DOCTOR,
        AdminRoute::Tokens => &TOKENS,
        AdminRoute::Token(_) => &TOKEN,
        AdminRoute::TokenRotation(_) => &TOKEN_ROTATION,
        AdminRoute::Rules => &RULES,
        AdminRoute::Rule(_) => &RULE,
        AdminRoute::Reindex => &REINDEX,
        AdminRoute::Verify => &VERIFY,
        AdminRoute::Facts => &FACTS,
        AdminRoute::StoredArchives => &STORED_ARCHIVES,
        AdminRoute::Garbage => &GARBAGE,
        AdminRoute::Failover => &FAILOVER,
        AdminRoute::Replication => &REPLICATION,
        AdminRoute::Erasures => &ERASURES,
        AdminRoute::Webhooks => &WEBHOOKS,
        AdminRoute::Webhook(_) => &WEBHOOK,
        AdminRoute::WebhookTest(_) => &WEBHOOK_TEST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_check_changes_that_anyone_may_request() {
        for endpoint in ENDPOINTS {
            for action in endpoint.actions {
                let reads = matches!(action.method, Method::Get | Method::Head);
                if !reads && matches!(action.access, Anyone | Known | Readers | Searchers) {
                    assert_eq!(action.body, BodyHandling::Handler, "{}", endpoint.name);
                }
                assert!(!(reads && action.writes), "{}", endpoint.name);
                assert!(reads || !action.reads_session, "{}", endpoint.name);
                assert!(action.writes || !action.is_audited, "{}", endpoint.name);
            }
        }
    }
}

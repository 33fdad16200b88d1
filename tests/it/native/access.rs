//! Access control: every route, every kind of caller, in public and private registries.

use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_core::api::endpoint::{ENDPOINTS, RequiredAccess};
use terrace_core::api::route::{FeedScope, OAuthRoute, PageRoute, Route};
use terrace_core::auth::access::{ClientToken, ClientTokenKeys, Resource, TOKEN_PREFIX};
use terrace_core::http::method::Method;

use super::openapi;
use crate::support::described;
use crate::support::faults::{Break, Failure, Operations, at_each_write};
use crate::support::memory::Memory;
use crate::support::people::LOGIN;
use crate::support::pushed::Pushed;
use crate::support::registry::{Response, Sent, TOKEN};
use crate::support::tokens::{create, post, revoke};
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry};

/// The namespace of all packages here, mirrored providers included.
const NAMESPACE: &str = "acme";
const MIRRORED: &str = "registry.example.com/acme";

/// The callers that a route accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Any caller, with any credentials or none.
    Everybody,
    /// Callers with a signed URL.
    Signed,
    /// Callers that may read the namespace.
    Readers,
    /// Callers that may read the namespace. Others get an empty list, as for a missing package.
    ReadersOfLists,
    /// Callers that may read anything. Each gets a list of what it may read.
    ReadersOfAnything,
    /// Callers that may publish in the namespace.
    Publishers,
    /// Administrators of the namespace.
    OwnerAdmins,
    /// Administrators of any namespace. What they do not administer appears not to exist.
    AnyAdmins,
    /// Administrators, and callers that may copy everything.
    Backups,
    /// Administrators.
    Admins,
    /// Any caller, but not with invalid credentials.
    Known,
    /// Any caller with a valid token.
    Holders,
}

/// Returns the rule of a route, derived from the table of endpoints; `None` for a method that the route does
/// not have.
pub(super) fn rule(route: &Route, method: Method) -> Option<Rule> {
    let access = route.endpoint().action(method)?.access;
    let name = route.endpoint().name;
    let is_list = ["oci_referrers", "pushed_referrers"].contains(&name);
    Some(match (access, route) {
        (RequiredAccess::Anyone, Route::Bytes(_)) => Rule::Signed,
        (RequiredAccess::Anyone, _) => Rule::Everybody,
        (RequiredAccess::Known, _) => Rule::Known,
        (RequiredAccess::Readers, Route::Page(page)) => match page {
            PageRoute::Home
            | PageRoute::Browse(_)
            | PageRoute::Search
            | PageRoute::Names
            | PageRoute::Assistants
            | PageRoute::UsedBy(_)
            | PageRoute::Feed(FeedScope::Registry)
            | PageRoute::Sitemap => Rule::ReadersOfAnything,
            _ => Rule::Readers,
        },
        (RequiredAccess::Searchers, _) => Rule::ReadersOfAnything,
        (RequiredAccess::Readers, _) if is_list => Rule::ReadersOfLists,
        (RequiredAccess::Readers, _) => Rule::Readers,
        (RequiredAccess::Holders, _) => Rule::Holders,
        (RequiredAccess::Publishers, _) => Rule::Publishers,
        (RequiredAccess::OwnerAdmins, _) => Rule::OwnerAdmins,
        (RequiredAccess::AnyAdmins, _) => Rule::AnyAdmins,
        (RequiredAccess::Backups, _) => Rule::Backups,
        (RequiredAccess::Admins, _) => Rule::Admins,
    })
}

/// The paths of pages, of generated artifacts, and of requests that an endpoint answers in another way than most.
const OTHERS: [&str; 54] = [
    "/",
    "/sign-in",
    "/sign-out",
    "/browse/modules",
    "/browse/providers",
    "/search?q=vpc",
    "/assistants",
    "/namespaces/acme",
    "/namespaces/registry.example.com/acme",
    "/modules/acme/vpc/aws",
    "/modules/acme/vpc/aws/versions",
    "/modules/acme/vpc/aws/1.0.0",
    "/modules/acme/vpc/aws/latest",
    "/modules/acme/vpc/aws/1.0.0/examples/simple",
    "/modules/acme/vpc/aws/1.0.0/examples/none",
    "/modules/acme/vpc/aws/1.0.0/readme.md",
    "/modules/acme/vpc/aws/compare",
    "/modules/acme/vpc/aws/compare/1.0.0...1.0.0",
    "/modules/acme/vpc/aws/feed.atom",
    "/providers/acme/widget",
    "/providers/acme/widget/1.0.0",
    "/providers/acme/widget/1.0.0/docs/resources/widget",
    "/providers/acme/widget/1.0.0/docs/resources/none",
    "/providers/acme/widget/latest/docs/resources/widget.md",
    "/mirrored/registry.example.com/acme/widget/1.0.0",
    "/badges/modules/acme/vpc/aws/version.svg",
    "/badges/mirrored/registry.example.com/acme/widget/status.svg",
    "/feed.atom",
    "/namespaces/acme/feed.atom",
    "/sitemap.xml",
    "/_names",
    "/robots.txt",
    "/opensearch.xml",
    "/_assets/0000000000000000.css",
    "/module/acme/vpc/aws",
    "/acme/nothing",
    "/v1/modules/search?q=vpc",
    "/api/v1/search?q=vpc",
    "/api/v1/providers/acme/widget/latest",
    "/api/v1/providers/acme/widget/1.0.0/docs/resources/none",
    "/api/v1/modules/acme/vpc/aws/latest/docs/readme",
    "/api/v1/modules/acme/vpc/aws/1.0.0/docs/examples/simple/main.tf",
    "/v2/providers/acme/widget/tags/list",
    "/v2/providers/acme/widget/manifests/1.0.0",
    "/v2/providers/acme/widget/blobs/{digest}",
    "/v2/providers/acme/widget/referrers/{digest}",
    "/v2/providers/registry.example.com/acme/widget/tags/list",
    "/v2/modules/acme/vpc/aws/tags/list?n=1",
    "/v2/acme/tools/manifests/{digest}",
    "/modules/registry.example.com/acme/vpc/aws/1.0.0",
    "/modules/acme/vpc/aws/used-by",
    "/api/v1/modules/registry.example.com/acme/vpc/aws/1.0.0",
    "/admin/v1/modules/registry.example.com/acme/vpc/aws/1.0.0",
    "/admin/v1/modules/registry.example.com/acme/vpc/aws/1.0.0/status",
];

/// Returns paths of objects that exist: those of [`OTHERS`], and one for each path of every endpoint.
pub(super) fn paths() -> Vec<String> {
    let templates = ENDPOINTS.iter().flat_map(|endpoint| endpoint.paths.iter());
    let mut paths = Vec::new();
    for path in OTHERS.iter().chain(templates).map(|it| openapi::filled(it)) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// A caller's credentials, and the rights that they grant.
pub(super) struct Caller {
    pub(super) name: &'static str,
    pub(super) shows: Option<String>,
    is_known: bool,
    reads: bool,
    publishes: bool,
    is_admin: bool,
    backs_up: bool,
    /// The scopes by which the caller administers owners.
    administers: Administers,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Administers {
    Nothing,
    Elsewhere,
    Here,
    Everything,
}

/// The name of the caller with the token of an MCP client.
const CLIENT: &str = "MCP client";

impl Caller {
    /// Returns a caller with the same rights and another token.
    fn with(&self, token: &str) -> Self {
        Self {
            shows: Some(token.to_owned()),
            ..*self
        }
    }
}

fn reader(callers: &[Caller]) -> &Caller {
    callers.iter().find(|it| it.name == "read").unwrap()
}

/// Returns the token of an OAuth client for one resource, with the scope `read`.
fn client_token(resource: &str) -> String {
    let [id, name] = ["00112233aabbccdd", "ann@acme.example"];
    let resource = Resource::new(resource, "");
    let scopes = "read".parse().unwrap();
    let token = ClientToken::new(
        id.parse().unwrap(),
        name.parse().unwrap(),
        &scopes,
        resource,
    );
    let keys = ClientTokenKeys::new(&Secret::new(TOKEN), None);
    keys.write(&token, UnixTime(u64::MAX))
}

pub(super) fn callers(registry: &Registry, memory: &Memory) -> Vec<Caller> {
    let token = |scopes: &[&str]| create(registry, scopes, None).1;
    let here = ["acme", MIRRORED]
        .map(|owner| ["read", "publish", "admin"].map(|kind| format!("{kind}:{owner}")));
    let [reading, publishing, administering] =
        [0, 1, 2].map(|n| [here[0][n].as_str(), here[1][n].as_str()]);
    let expired = create(registry, &["admin"], Some(60)).1;
    memory.advance(61);
    let (id, revoked) = create(registry, &["admin"], None);
    revoke(registry, &id).expect(200);
    let caller = |name, shows: &str, [is_known, reads, publishes, is_admin]: [bool; 4]| Caller {
        name,
        shows: Some(shows.to_owned()).filter(|shows| !shows.is_empty()),
        is_known,
        reads,
        publishes,
        is_admin,
        backs_up: is_admin,
        administers: match is_admin {
            true => Administers::Everything,
            false => Administers::Nothing,
        },
    };
    let read = token(&["read"]);
    let typo = read.replace(TOKEN_PREFIX, "terrace_x");
    vec![
        caller("none", "", [true, false, false, false]),
        caller("wrong", "wrong", [false; 4]),
        caller("mistyped", &typo, [false; 4]),
        caller("expired", &expired, [false; 4]),
        caller("revoked", &revoked, [false; 4]),
        caller("read", &read, [true, true, false, false]),
        Caller {
            backs_up: true,
            ..caller("backup", &token(&["backup"]), [true, true, false, false])
        },
        caller("read here", &token(&reading), [true, true, false, false]),
        caller(
            "read elsewhere",
            &token(&["read:globex"]),
            [true, false, false, false],
        ),
        caller("publish", &token(&publishing), [true, true, true, false]),
        caller(
            "publish elsewhere",
            &token(&["publish:globex"]),
            [true, false, false, false],
        ),
        Caller {
            administers: Administers::Here,
            ..caller(
                "admin here",
                &token(&administering),
                [true, true, true, false],
            )
        },
        Caller {
            administers: Administers::Elsewhere,
            ..caller(
                "admin elsewhere",
                &token(&["admin:globex", "admin:b.example"]),
                [true, false, false, false],
            )
        },
        caller("admin", &token(&["admin"]), [true; 4]),
        caller("root", TOKEN, [true; 4]),
    ]
}

pub(super) struct Visibility {
    pub(super) vars: &'static [(&'static str, &'static str)],
    /// Whether the requested package requires a token.
    is_private: bool,
    /// Whether the other packages require a token.
    is_closed: bool,
}

impl Visibility {
    /// Returns whether any package requires a token.
    fn guards(&self) -> bool {
        self.is_private || self.is_closed
    }
}

const ALL: (&str, &str) = ("TERRACE_ACCESS", "private");
const HERE: (&str, &str) = ("TERRACE_ACCESS_EXCEPT", "acme registry.example.com/acme");

pub(super) const VISIBILITIES: [Visibility; 4] = [
    Visibility {
        vars: &[],
        is_private: false,
        is_closed: false,
    },
    Visibility {
        vars: &[ALL],
        is_private: true,
        is_closed: true,
    },
    Visibility {
        vars: &[HERE],
        is_private: true,
        is_closed: false,
    },
    Visibility {
        vars: &[ALL, ("TERRACE_ACCESS_EXCEPT", "acme registry.example.com")],
        is_private: false,
        is_closed: true,
    },
];

/// Returns the status that a caller gets, where `open` is the status of the root token in a public registry.
fn expected(rule: Rule, caller: &Caller, seen: &Visibility, open: u16) -> u16 {
    let shows_nothing = caller.shows.is_none();
    match rule {
        Rule::Everybody | Rule::Signed => open,
        Rule::Readers | Rule::ReadersOfLists => {
            if !seen.guards() {
                open
            } else if !caller.is_known {
                401
            } else if !seen.is_private || caller.reads {
                open
            } else if shows_nothing && seen.is_closed {
                401
            } else if rule == Rule::ReadersOfLists {
                200
            } else {
                404
            }
        }
        Rule::ReadersOfAnything => match seen.guards() {
            true if !caller.is_known => 401,
            true if shows_nothing && seen.is_closed && seen.is_private => 401,
            _ => open,
        },
        Rule::Publishers | Rule::OwnerAdmins | Rule::AnyAdmins | Rule::Backups | Rule::Admins => {
            let is_allowed = match rule {
                Rule::Admins => caller.is_admin,
                Rule::Backups => caller.backs_up,
                Rule::OwnerAdmins => caller.administers >= Administers::Here,
                Rule::AnyAdmins => caller.administers > Administers::Nothing,
                _ => caller.publishes,
            };
            match is_allowed {
                true => open,
                false if shows_nothing || !caller.is_known => 401,
                false => 403,
            }
        }
        Rule::Holders if shows_nothing || !caller.is_known => 401,
        Rule::Holders => open,
        Rule::Known if !caller.is_known => 401,
        Rule::Known if shows_nothing && seen.is_closed => 401,
        Rule::Known => open,
    }
}

pub(super) fn filled() -> (Memory, Registry) {
    let (memory, registry) = Registry::with_memory(&LOGIN);
    ProviderFixture::of(NAMESPACE, "widget", "1.0.0").publish(&registry);
    ModuleFixture::of(NAMESPACE, "1.0.0").publish(&registry);
    let origin = ProviderFixture::of(NAMESPACE, "widget", "1.0.0");
    ModuleFixture::of(MIRRORED, "1.0.0").publish(&registry);
    // Its zips are stored already.
    MirrorFixture::of(origin).put(&registry).expect(201);
    let pushed = Pushed::of(&registry, "acme/tools");
    pushed.artifact("latest", b"a layer", serde_json::json!({}));
    let [provider, module] = ["providers/hosted/acme/widget", "modules/acme/vpc/aws"];
    let mirrored = "providers/registry.example.com/acme/widget";
    let mirrored_module = "modules/registry.example.com/acme/vpc/aws";
    let lines = [provider, module, mirrored, mirrored_module].map(|key| {
        described::describe(&memory, key, &["1.0.0"]);
        described::line(key, "")
    });
    let symbols = [described::symbol(provider, "acme_widget")];
    described::put_catalog(&memory, &lines, &symbols);
    (memory, registry)
}

#[test]
fn every_route_admits_the_callers_that_its_rule_names() {
    let (memory, registry) = filled();
    let mut callers = callers(&registry, &memory);
    callers.push(Caller {
        name: CLIENT,
        ..callers[1].with(&client_token("https://registry.test/mcp"))
    });
    let mut asked = Vec::new();
    for path in paths() {
        let route = Route::parse(path.split('?').next().unwrap()).unwrap();
        for method in route.endpoint().methods() {
            let rule = rule(&route, method).unwrap();
            // Each caller would revoke its own token.
            if (rule, method) == (Rule::Holders, Method::Delete) {
                continue;
            }
            // Nothing that the next caller reads may be deleted.
            let path = match method {
                Method::Delete => path.replace("latest", "absent"),
                _ => path.clone(),
            };
            let sent = || Sent::new(method.as_str(), &path).body("{}");
            let open = registry.send(&sent().bearing(TOKEN)).status;
            for seen in &VISIBILITIES {
                // Where anything is private, it needs a provider, whoever asks.
                if path == "/sign-in" && seen.guards() {
                    continue;
                }
                let registry = Registry::in_memory(&memory, &[seen.vars, &LOGIN].concat());
                for caller in &callers {
                    // The token of an MCP client counts as one with the scope `read` at its endpoint, and nowhere else.
                    let caller = match (caller.name, path.as_str()) {
                        (CLIENT, "/mcp") => &reader(&callers).with(caller.shows.as_ref().unwrap()),
                        _ => caller,
                    };
                    let sent = match &caller.shows {
                        Some(token) => sent().bearing(token),
                        None => sent(),
                    };
                    let is_base = rule == Rule::Known;
                    let wanted = match expected(rule, caller, seen, open) {
                        // If anything is public, an anonymous client gets a token that grants nothing.
                        401 if is_base
                            && path == "/v2/token"
                            && caller.shows.is_none()
                            && !seen.is_private =>
                        {
                            open
                        }
                        // A browser without credentials is sent to sign in.
                        401 if caller.shows.is_none()
                            && matches!(&route, Route::Page(page) if page.is_for_people()) =>
                        {
                            303
                        }
                        // A reader who may read nothing more stays at its page.
                        303 if path == "/sign-out" && seen.is_private && seen.is_closed => 200,
                        // Only an administrator of everything revokes a token that is not stored.
                        200 if method == Method::Delete
                            && rule == Rule::AnyAdmins
                            && !caller.is_admin =>
                        {
                            404
                        }
                        wanted => wanted,
                    };
                    let status = registry.send(&sent).status;
                    let (name, vars) = (caller.name, seen.vars);
                    assert_eq!(status, wanted, "{method:?} {path} by {name} with {vars:?}");
                }
            }
        }
        asked.push(route.endpoint());
    }
    for endpoint in ENDPOINTS {
        assert!(
            asked.contains(endpoint),
            "{} is missing in `paths`",
            endpoint.name
        );
    }
}

/// Returns the properties by which a client could distinguish two responses.
fn comparable(response: &Response, name: &str) -> (u16, Vec<(String, String)>, String) {
    let text = response.text().replace(name, "NAME");
    (response.status, response.headers.clone(), text)
}

#[test]
fn a_private_package_has_the_response_and_the_operations_of_a_missing_one() {
    let (memory, registry) = filled();
    let reader = create(&registry, &["read:globex"], None).1;
    let vars = [("TERRACE_ACCESS_EXCEPT", "acme registry.example.com/acme")];
    let registry = Registry::in_memory(&memory, &vars);
    registry.get_as(&reader, "/v1/providers/acme/widget/versions");
    let mut compared = 0;
    for path in paths() {
        let route = Route::parse(path.split('?').next().unwrap()).unwrap();
        let is_read = matches!(
            rule(&route, Method::Get),
            Some(Rule::Readers | Rule::ReadersOfLists)
        );
        if !is_read {
            continue;
        }
        for token in [None, Some(&reader)] {
            let ask = |path: &str, name: &str| {
                memory.forget_operations();
                let sent = Sent::new("GET", path);
                let response = registry.send(&match token {
                    Some(token) => sent.bearing(token),
                    None => sent,
                });
                let kinds = memory.operations().into_iter();
                let kinds = kinds.map(|it| it.split(' ').take(2).collect::<Vec<_>>().join(" "));
                (comparable(&response, name), kinds.collect::<Vec<_>>())
            };
            let missing = path.replace("acme", "emca");
            assert_ne!(missing, path);
            assert_eq!(
                ask(&path, "acme"),
                ask(&missing, "emca"),
                "{path} {token:?}"
            );
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn a_private_response_is_not_stored_by_shared_caches() {
    let (memory, registry) = filled();
    let reader = create(&registry, &["read"], None).1;
    let private = Registry::in_memory(&memory, &[("TERRACE_ACCESS", "private")]);
    for path in paths() {
        let sent = Sent::new("GET", &path).bearing(&reader);
        let route = Route::parse(path.split('?').next().unwrap()).unwrap();
        if matches!(rule(&route, Method::Get), None | Some(Rule::Everybody)) {
            continue;
        }
        let response = private.send(&sent);
        let cached = response.header("cache-control").unwrap();
        assert!(
            ["no-store", "private, no-cache"].contains(&cached),
            "{path} {cached}"
        );
        let Some(etag) = response.header("etag") else {
            continue;
        };
        let unchanged = private
            .send(&sent.header("if-none-match", etag))
            .expect(304);
        assert_eq!(
            unchanged.header("cache-control"),
            Some("private, no-cache"),
            "{path}"
        );
    }
}

#[test]
fn only_pages_are_shown_by_browsers() {
    let (_, registry) = filled();
    for path in paths() {
        let route = Route::parse(path.split('?').next().unwrap()).unwrap();
        for method in route.endpoint().methods() {
            let sent = Sent::new(method.as_str(), &path).body("{}").bearing(TOKEN);
            let response = registry.send(&sent);
            assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(response.header("access-control-allow-origin"), None);
            let kind = response.header("content-type").unwrap_or_default();
            let is_shown = ["html", "svg", "xml"].iter().any(|it| kind.contains(it));
            let is_page = matches!(
                route,
                Route::Page(_)
                    | Route::OAuth(
                        OAuthRoute::Authorize | OAuthRoute::Callback | OAuthRoute::Consent
                    )
            );
            assert!(is_page || !is_shown, "{path} {kind}");
            let policy = response.header("content-security-policy");
            assert!(policy.is_some() || !is_shown, "{path}");
            let policy = policy.unwrap_or_default();
            assert!(!policy.contains("unsafe"), "{path} {policy}");
            let is_admin = path.starts_with("/admin/") || path.starts_with("/oauth/");
            let frames = response.header("x-frame-options");
            assert!(frames == Some("DENY") || !is_admin, "{path} {frames:?}");
            let is_unframed = policy.contains("frame-ancestors 'none'");
            assert!(is_unframed || !is_admin, "{path} {policy}");
        }
    }
}

#[test]
fn a_token_is_rejected_while_its_revocation_cannot_be_read() {
    let (memory, registry) = filled();
    let (_, token) = create(&registry, &["read", "publish:acme"], None);
    let path = "/v1/providers/acme/widget/versions";
    for vars in [
        [("TERRACE_ACCESS", "private")],
        [("TERRACE_ACCESS", "public")],
    ] {
        let elsewhere = memory.elsewhere();
        let registry = Registry::in_memory(&elsewhere, &vars);
        let fault = elsewhere.break_at(0, Break::Outage);
        if vars[0].1 == "private" {
            registry.get_as(&token, path).expect(503);
        }
        registry
            .get_as(&token, "/admin/v1/namespaces/acme/keys")
            .expect(503);
        assert!(fault.lift());
        // A failure of KV alone does not block a valid token.
        let elsewhere = memory.elsewhere();
        let registry = Registry::in_memory(&elsewhere, &vars);
        let fault = elsewhere.break_at(0, Break::Before);
        registry
            .get_as(&token, "/admin/v1/namespaces/acme/keys")
            .expect(200);
        assert!(fault.lift());
    }
}

#[test]
fn an_expired_token_does_not_count_as_a_guess() {
    let (memory, registry) = filled();
    let (_, token) = create(&registry, &["read"], Some(60));
    memory.advance(61);
    let private = Registry::in_memory(&memory, &[("TERRACE_ACCESS", "private")]);
    for _ in 0..30 {
        let sent = Sent::new("GET", "/v1/providers/acme/widget/versions").bearing(&token);
        private
            .send(&sent.header("cf-connecting-ip", "192.0.2.1"))
            .expect(401);
    }
}

#[test]
fn an_invalid_token_is_not_rotated_and_keeps_its_revocation_time() {
    let (memory, registry) = filled();
    let rotate = |id: &str| {
        let path = format!("/admin/v1/tokens/{id}/rotation");
        registry.admin("POST", &path, Some(b"{\"overlap\":3600}"))
    };
    let (expired, _) = create(&registry, &["read"], Some(60));
    let (id, _) = create(&registry, &["read"], None);
    memory.advance(61);
    rotate(&expired).expect(409);
    revoke(&registry, &id).expect(200);
    rotate(&id).expect(409);
    let revoked = || {
        let tokens = registry.admin("GET", "/admin/v1/tokens", None).json();
        let mut tokens = tokens["tokens"].as_array().unwrap().iter();
        tokens.find(|it| it["id"] == *id).unwrap()["revoked"].clone()
    };
    let at = revoked();
    assert!(at.is_u64() || at.is_string(), "{at}");
    memory.advance(60);
    revoke(&registry, &id).expect(200);
    assert_eq!(revoked(), at);
}

#[test]
fn a_cached_token_costs_no_read_and_its_revocation_takes_effect_within_a_minute() {
    let (memory, registry) = filled();
    let (id, reader) = create(&registry, &["read"], None);
    let private = Registry::in_memory(&memory, &[("TERRACE_ACCESS", "private")]);
    let path = "/v1/providers/acme/widget/versions";
    let operations = |status: u16| {
        memory.forget_operations();
        private.get_as(&reader, path).expect(status);
        memory.operations().len()
    };
    // The first request finds no list of revoked tokens, so the list is written, read and cached.
    assert!(operations(200) > 1);
    for _ in 0..9 {
        memory.advance(1);
        assert_eq!(operations(200), 1);
    }
    // Then the list is read again, after the response.
    memory.advance(1);
    assert_eq!(operations(200), 2);
    assert_eq!(operations(200), 1);
    // Another isolate revokes the token.
    let elsewhere = memory.elsewhere();
    revoke(&Registry::in_memory(&elsewhere, &[]), &id).expect(200);
    assert_eq!(operations(200), 1);
    memory.advance(25);
    private.get_as(&reader, path).expect(401);
}

#[test]
fn rejected_credentials_are_logged_with_the_reason_and_never_shown() {
    let (memory, registry) = filled();
    let (_, token) = create(&registry, &["read"], Some(60));
    memory.advance(61);
    let private = Registry::in_memory(&memory, &[("TERRACE_ACCESS", "private")]);
    let path = "/v1/providers/acme/widget/versions";
    for (shown, reason) in [
        (token.as_str(), "expired"),
        ("hunter2hunter2hunter2", "not a token of this registry"),
        ("terrace_0123456789abcdef.x.y.z", "mistyped"),
    ] {
        private.get_as(shown, path).refuses(401, reason);
        let log = memory.log().join("\n");
        assert!(log.contains(reason) && log.contains(path), "{log}");
        assert!(!log.contains(shown), "{log}");
    }
}

#[test]
fn a_client_that_guesses_often_is_throttled_and_locks_out_no_other() {
    let (memory, registry) = filled();
    let reader = create(&registry, &["read"], None).1;
    let private = Registry::in_memory(&memory, &[("TERRACE_ACCESS", "private")]);
    let path = "/v1/providers/acme/widget/versions";
    let from = |address: &str, token: &str| {
        let sent = Sent::new("GET", path).bearing(token);
        let sent = sent.header("cf-connecting-ip", address);
        private.send(&sent).status
    };
    for _ in 0..20 {
        assert_eq!(from("192.0.2.1", "a guess"), 401);
    }
    let logged = memory.log().len();
    for _ in 0..100 {
        assert_eq!(from("192.0.2.1", "a guess"), 429);
    }
    assert_eq!(memory.log().len(), logged + 1, "{:?}", memory.log());
    assert_eq!(from("192.0.2.1", TOKEN), 200);
    assert_eq!(from("192.0.2.1", &reader), 200);
    assert_eq!(from("192.0.2.2", "a guess"), 401);
    memory.advance(60);
    assert_eq!(from("192.0.2.1", "a guess"), 401);
}

#[test]
fn a_revoked_token_stays_revoked_after_a_loss_of_indices() {
    let (memory, registry) = filled();
    let (id, token) = create(&registry, &["read"], None);
    revoke(&registry, &id).expect(200);
    memory.lose_indices();
    memory.lose_metadata();
    let private = [("TERRACE_ACCESS", "private")];
    let elsewhere = Registry::in_memory(&memory.elsewhere(), &private);
    elsewhere
        .get_as(&token, "/v1/providers/acme/widget/versions")
        .expect(401);
    assert!(memory.index("revocations").text.contains(&id));
}

#[test]
fn two_concurrent_revocations_are_both_kept() {
    let (memory, registry) = filled();
    let [first, second] = [(); 2].map(|()| create(&registry, &["read"], None));
    let (other, id) = (memory.clone(), second.0.clone());
    memory.before("KV put", move || {
        let registry = Registry::in_memory(&other, &[]);
        revoke(&registry, &id).expect(200);
    });
    revoke(&registry, &first.0).expect(200);
    let index = memory.index("revocations").text;
    assert!(
        index.contains(&first.0) && index.contains(&second.0),
        "{index}"
    );
}

/// A rotation keeps the old token valid for a while; a concurrent revocation takes precedence.
#[test]
fn a_token_that_is_revoked_while_it_is_rotated_is_invalid_at_once() {
    let (memory, registry) = filled();
    let (id, token) = create(&registry, &["admin"], None);
    let (other, revoked) = (memory.clone(), id.clone());
    let fault = memory.before("R2 put revocations/", move || {
        let registry = Registry::in_memory(&other, &[]);
        revoke(&registry, &revoked).expect(200);
    });
    let path = format!("/admin/v1/tokens/{id}/rotation");
    post(&registry, &path, &serde_json::json!({ "overlap": 600 })).expect(201);
    assert!(fault.is_reached());
    let elsewhere = Registry::in_memory(&memory.elsewhere(), &[]);
    elsewhere.get_as(&token, "/admin/v1/tokens").expect(401);
}

#[test]
fn a_rotation_that_breaks_at_any_write_leaves_one_successor_after_a_retry() {
    at_each_write(6, |at, when| {
        let (memory, registry) = filled();
        let (id, _) = create(&registry, &["read"], None);
        let path = format!("/admin/v1/tokens/{id}/rotation");
        let rotate = || post(&registry, &path, &serde_json::json!({ "overlap": 600 }));
        let fault = memory.fail(Operations::Writes, at, when, Failure::Error);
        rotate();
        let is_reached = fault.lift();
        let made = rotate().expect(201).json();
        let tokens = registry.admin("GET", "/admin/v1/tokens", None).json();
        let tokens = tokens["tokens"].as_array().unwrap().iter();
        let ids: Vec<_> = tokens.map(|token| &token["id"]).collect();
        assert_eq!(ids.len(), 2, "{at} {when:?}: {ids:?}");
        assert!(ids.contains(&&made["id"]), "{made}");
        is_reached
    });
}

#[test]
fn a_rotation_that_another_one_overtakes_has_the_same_successor() {
    let (memory, registry) = filled();
    let (id, _) = create(&registry, &["read"], None);
    let path = format!("/admin/v1/tokens/{id}/rotation");
    let body = serde_json::json!({ "overlap": 600 });
    let (other, same, sent) = (memory.clone(), path.clone(), body.clone());
    let fault = memory.before(format!("R2 put tokens/{id}").as_str(), move || {
        let registry = Registry::in_memory(&other, &[]);
        post(&registry, &same, &sent).expect(201);
    });
    post(&registry, &path, &body).expect(201);
    assert!(fault.is_reached());
    let tokens = registry.admin("GET", "/admin/v1/tokens", None).json();
    assert_eq!(tokens["tokens"].as_array().unwrap().len(), 2, "{tokens}");
}

#[test]
fn a_request_for_another_origin_is_refused_before_anything_is_read() {
    let (memory, registry) = Registry::with_memory(&[]);
    memory.serve_only("https://registry.test");
    registry.get("/.well-known/terraform.json").expect(200);
    memory.serve_only("https://other.test");
    memory.forget_operations();
    for path in paths().into_iter().filter(|path| path != "/healthz") {
        let refused = registry.get(&path).expect(400);
        assert!(refused.text().contains("https://registry.test"), "{path}");
    }
    assert_eq!(memory.operations(), Vec::<String>::new());
}

//! Changes of statuses, keys, tokens and other objects, broken at each of their storage operations.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use terrace_app::host::Clock as _;
use terrace_core::storage::documentation::DOCUMENTATION_REMOVAL_SECONDS;

use crate::support::chain;
use crate::support::documentation::Documentation;
use crate::support::documented::document_provider;
use crate::support::faults::{Break, Trace};
use crate::support::fixtures::{Signer, add_key, sha256, upload};
use crate::support::memory::Memory;
use crate::support::pushed::{Pushed, PushedProvider};
use crate::support::registry::{Response, Sent, TOKEN};
use crate::support::released::Released;
use crate::support::tokens::create;
use crate::support::{ModuleFixture, ProviderFixture, Registry};

type Vars = &'static [(&'static str, &'static str)];

/// A private registry, in which reads depend on tokens.
const PRIVATE: Vars = &[("TERRACE_ACCESS", "private")];

/// A request that changes something, and the reads that show the change.
struct Scene {
    name: String,
    vars: Vars,
    memory: Memory,
    sent: Sent,
    reads: Vec<Sent>,
    /// The status, besides the first one, that a retry may get.
    again: u16,
    /// The time after which a broken request may be repeated, in seconds; before, it may get 503.
    pause: u64,
    /// Whether each run creates a new object.
    is_new: bool,
    /// Whether a single fact determines all reads.
    is_one_fact: bool,
    /// A part of the response to a read between the two states.
    between: Option<&'static str>,
}

/// The responses to reads, as status, headers and text.
type Seen = Vec<(u16, Vec<(String, String)>, String)>;

fn as_root(method: &str, path: &str, body: Option<&Value>) -> Sent {
    let sent = Sent::new(method, path).bearing(TOKEN);
    match body {
        Some(body) => sent.body(body.to_string()),
        None => sent,
    }
}

/// Returns the request that sets the status at this path.
fn status_request(path: &str, state: &str) -> Sent {
    let body = json!({ "state": state, "reason": "a test" });
    as_root("PUT", path, Some(&body))
}

impl Scene {
    fn new(vars: Vars, name: &str) -> (Self, Registry) {
        let (memory, registry) = Registry::with_memory(vars);
        let scene = Self {
            name: name.to_owned(),
            vars,
            memory,
            sent: Sent::new("GET", "/"),
            reads: Vec::new(),
            again: 200,
            pause: 0,
            is_new: false,
            is_one_fact: true,
            between: None,
        };
        (scene, registry)
    }

    /// Returns whether the request publishes a version, and so reads the audit log ahead.
    fn publishes(&self) -> bool {
        self.sent.method == "PUT" && self.sent.target.ends_with("/1.0.0")
    }

    fn reads(&mut self, paths: impl IntoIterator<Item = String>) {
        let reads = paths.into_iter().map(|path| Sent::new("GET", &path));
        self.reads.extend(reads);
    }

    fn registry(&self, memory: &Memory) -> Registry {
        Registry::in_memory(&memory.elsewhere(), self.vars)
    }

    /// Sends the request to `memory`. Returns the status, or `None` if the caller is killed.
    fn run(&self, memory: &Memory) -> Option<u16> {
        let answered = self.registry(memory).answer(&self.sent).now_or_never();
        answered.map(|response| response.status)
    }

    /// Returns the responses to all reads, from an isolate that has cached nothing.
    fn seen(&self, memory: &Memory) -> Seen {
        memory.set_time(self.memory.now());
        let registry = self.registry(memory);
        let read = |sent: &Sent| {
            let Response {
                status,
                headers,
                body,
            } = registry.send(sent);
            let text = String::from_utf8(body).unwrap();
            assert!(status < 500, "{}: {} is {status}", self.name, sent.target);
            (status, headers, text)
        };
        self.reads.iter().map(read).collect()
    }
}

/// The results of a scene without a fault.
struct Whole {
    old: Seen,
    new: Seen,
    objects: BTreeMap<String, Vec<u8>>,
    indices: BTreeMap<String, String>,
    trace: Trace,
}

impl Whole {
    fn of(scene: &Scene) -> Self {
        let after = scene.memory.copy();
        let status = scene.run(&after).expect("nothing breaks");
        assert!(matches!(status, 200..=202), "{}: {status}", scene.name);
        let operations = after.operations();
        let (old, new) = (scene.seen(&scene.memory.copy()), scene.seen(&after.copy()));
        if !scene.is_new {
            assert_ne!(old, new, "{} changes no read", scene.name);
        }
        let facts = after.copy();
        facts.lose_indices();
        let seen = scene.seen(&facts);
        assert_eq!(seen, new, "{} is not in the facts", scene.name);
        Self {
            old,
            new,
            objects: after.lasting_objects(),
            indices: merged(scene, &after),
            trace: Trace {
                operations,
                status,
                publishes: scene.publishes(),
            },
        }
    }

    /// Breaks an operation, checks the reads after it, and sends the request again.
    fn check_broken(&self, scene: &Scene, at: usize, how: Break) {
        let operation = &self.trace.operations[at];
        let what = format!("{}: {operation} ({at}), {how:?}", scene.name);
        let memory = scene.memory.copy();
        let fault = memory.break_at(at, how);
        let status = scene.run(&memory);
        assert!(fault.lift(), "{what} was not reached");
        assert_eq!(status, self.trace.broken(at, how), "{what}");
        self.assert_consistent(scene, &memory, &what);
        self.assert_retry_completes(scene, &memory, &what);
        // If the caller is killed, or nothing can be written, a catalogue without packages stays until the repair.
        if matches!(how, Break::Before | Break::After | Break::Busy) && !scene.is_new {
            for key in memory.indices().into_keys() {
                let is_catalog = key.starts_with("catalog/") || key.starts_with("symbols/");
                let is_expected = !is_catalog || self.indices.contains_key(&key);
                assert!(is_expected, "{what}: {key} is another catalogue");
            }
        }
    }

    /// Asserts that each read returns its old or its new response, and that without indices all reads agree
    /// on one of them.
    fn assert_consistent(&self, scene: &Scene, memory: &Memory, what: &str) {
        chain::entries(memory);
        for (place, seen) in scene.seen(&memory.copy()).iter().enumerate() {
            let is_between = scene.between.is_some_and(|it| seen.2.contains(it));
            let is_true = *seen == self.old[place] || *seen == self.new[place] || is_between;
            let target = &scene.reads[place].target;
            assert!(is_true, "{what}: {target} answers {seen:?}");
        }
        let facts = memory.copy();
        facts.lose_indices();
        let seen = scene.seen(&facts);
        let is_between = |text: &str| scene.between.is_some_and(|it| text.contains(it));
        let is_between = seen.iter().any(|(_, _, text)| is_between(text));
        let is_either = seen == self.old || seen == self.new || is_between;
        assert!(is_either || !scene.is_one_fact, "{what}: {seen:?}");
    }

    fn assert_retry_completes(&self, scene: &Scene, memory: &Memory, what: &str) {
        memory.set_time(scene.memory.now());
        memory.advance(scene.pause);
        let status = scene.run(memory).expect("there is no fault any more");
        let is_finished = status == self.trace.status || status == scene.again;
        assert!(is_finished, "{what}: {status}");
        assert_eq!(scene.seen(memory), self.new, "{what}");
        if !scene.is_new {
            let is_same = memory.lasting_objects() == self.objects;
            assert!(is_same, "{what}: other objects");
            let indices = merged(scene, memory);
            for (key, text) in &self.indices {
                assert_eq!(indices.get(key), Some(text), "{what}: {key}");
            }
        }
        let entries = chain::entries(memory);
        let told = format!("{} {}", scene.sent.method, scene.sent.target);
        let is_told = entries.iter().any(|it| it.what.starts_with(&told));
        assert!(is_told, "{what} is not in the log");
    }
}

/// Returns the indices after the catalogue of all owners was rebuilt.
fn merged(scene: &Scene, memory: &Memory) -> BTreeMap<String, String> {
    let copy = memory.copy();
    scene.registry(&copy).merge_catalog();
    copy.indices()
}

/// A package with two versions; the first one gets another status.
fn status_changed(released: fn(&str) -> Released, from: &str, to: &str) -> Scene {
    let (mut scene, registry) = Scene::new(&[], &format!("{from} → {to}"));
    let (first, second) = (released("1.0.0"), released("1.1.0"));
    first.prepare(&registry);
    let mut paths: BTreeSet<String> = first.lists().into_iter().collect();
    for it in [&first, &second] {
        assert_eq!(it.publish(&registry).now_or_never(), Some(201));
    }
    paths.extend(first.everything(&registry));
    paths.extend(second.downloads());
    let path = first.status_path(Some("1.0.0"));
    registry.send(&status_request(&path, from)).expect(200);
    scene.sent = status_request(&path, to);
    paths.insert(first.status_path(None));
    scene.reads(paths);
    for read in &mut scene.reads {
        if read.target.ends_with("/status") {
            *read = read.clone().bearing(TOKEN);
        }
    }
    scene
}

/// A package that is deprecated or blocked as a whole. The versions of a blocked provider follow later.
fn package_changed(released: &Released, state: &str) -> Scene {
    let (mut scene, registry) = Scene::new(&[], &format!("a package is {state}"));
    released.prepare(&registry);
    assert_eq!(released.publish(&registry).now_or_never(), Some(201));
    scene.sent = status_request(&released.status_path(None), state);
    scene.reads(released.lists());
    scene
}

/// A pushed provider; its status also applies in the repository that it was pushed to.
fn pushed_status_changed(from: &str, to: &str) -> Scene {
    let (mut scene, registry) = Scene::new(&[], &format!("pushed: {from} → {to}"));
    let provider = PushedProvider::of("acme", "a zip");
    let index = provider.prepare(&registry);
    provider.tag(&registry, "1.0.0", &index).expect(201);
    let repository = provider.repository();
    let address = repository.replace("opentofu-providers", "registry.opentofu.org");
    let path = format!("/admin/v1/mirror/{address}/1.0.0/status");
    registry.send(&status_request(&path, from)).expect(200);
    scene.sent = status_request(&path, to);
    scene.reads([
        format!("/v2/{repository}/tags/list"),
        format!("/v2/{repository}/manifests/1.0.0"),
        provider.mirror("index.json"),
        provider.mirror("1.0.0.json"),
    ]);
    scene
}

/// Two packages with versions that one key has signed.
fn signed() -> (Scene, Registry, String) {
    let (mut scene, registry) = Scene::new(&[], "");
    add_key(&registry, "acme", Signer::usual());
    let mut paths = BTreeSet::new();
    for (provider_type, version) in [
        ("widget", "1.0.0"),
        ("widget", "1.1.0"),
        ("gadget", "1.0.0"),
    ] {
        let fixture = ProviderFixture::of("acme", provider_type, version);
        fixture.publish(&registry);
        let released = Released::Provider(fixture);
        paths.extend(released.lists());
        paths.extend(released.everything(&registry));
    }
    scene.reads(paths);
    let keys = "/admin/v1/namespaces/acme/keys";
    scene.reads.push(as_root("GET", keys, None));
    let path = format!("{keys}/{}", Signer::usual().key_id());
    (scene, registry, path)
}

fn key_status_changed(from: &str, to: &str) -> Scene {
    let (mut scene, registry, path) = signed();
    registry.send(&status_request(&path, from)).expect(200);
    scene.name = format!("a key: {from} → {to}");
    scene.sent = status_request(&path, to);
    scene
}

fn key_removed() -> Scene {
    let (mut scene, _, path) = signed();
    scene.name = "a key is removed".to_owned();
    scene.sent = as_root("DELETE", &path, None);
    scene.again = 404;
    scene
}

fn key_added() -> Scene {
    let (mut scene, _, _) = signed();
    scene.name = "a key is added".to_owned();
    let armor = Signer::other().public_armor();
    scene.sent = as_root("PUT", "/admin/v1/namespaces/acme/keys", None).body(armor);
    scene
}

fn key_renewed() -> Scene {
    let mut scene = key_added();
    scene.name = "a key is renewed".to_owned();
    scene.sent.body = Some(Signer::usual().renewed_armor(60).into_bytes());
    scene
}

/// A private module that is read with a token.
fn read_with_token(name: &str) -> (Scene, String, Registry) {
    let (mut scene, registry) = Scene::new(PRIVATE, name);
    let module = Released::module("1.0.0");
    assert_eq!(module.publish(&registry).now_or_never(), Some(201));
    let (id, token) = create(&registry, &["read"], None);
    for path in module.lists().into_iter().chain(module.downloads()) {
        scene.reads.push(Sent::new("GET", &path).bearing(&token));
        scene.reads.push(Sent::new("GET", &path).bearing(TOKEN));
    }
    (scene, id, registry)
}

fn token_revoked() -> Scene {
    let (mut scene, id, _) = read_with_token("a token is revoked");
    scene.sent = as_root("DELETE", &format!("/admin/v1/tokens/{id}"), None);
    scene
}

fn token_revokes_itself() -> Scene {
    let (mut scene, id, registry) = read_with_token("a token revokes itself");
    let body = json!({ "overlap": 3_600 });
    let rotation = format!("/admin/v1/tokens/{id}/rotation");
    let made = registry.send(&as_root("POST", &rotation, Some(&body)));
    let made = made.expect(201).json();
    let token = made["token"].as_str().unwrap();
    for read in scene.reads.clone() {
        let read = Sent::new("GET", &read.target).bearing(token);
        scene.reads.push(read);
    }
    scene.sent = Sent::new("DELETE", "/api/v1/token").bearing(token);
    scene
}

fn token_created() -> Scene {
    let (mut scene, _, _) = read_with_token("a token is created");
    let body = json!({ "name": "a test", "scopes": ["read"] });
    scene.sent = as_root("POST", "/admin/v1/tokens", Some(&body));
    scene.is_new = true;
    scene
}

/// A request with an idempotency key: a retry finds the object that an earlier attempt created.
fn created_with_key(name: &str, path: &str, body: &Value) -> Scene {
    let (mut scene, _) = Scene::new(&[], name);
    scene.reads = vec![Sent::new("GET", path).bearing(TOKEN)];
    let sent = as_root("POST", path, Some(body));
    scene.sent = sent.header("idempotency-key", "8e03978e-40d5-43dd-bc93-6894a57f9324");
    scene
}

fn token_rotated(overlap: u64) -> Scene {
    let name = format!("a token is rotated, with {overlap} seconds");
    let (mut scene, id, _) = read_with_token(&name);
    let path = format!("/admin/v1/tokens/{id}/rotation");
    scene.sent = as_root("POST", &path, Some(&json!({ "overlap": overlap })));
    // A revoked token cannot be rotated again.
    scene.again = 409;
    scene.is_new = true;
    scene
}

/// A job is granted something by a rule that is added, or removed.
fn rule_changed(removes: bool) -> Scene {
    let verb = if removes { "removed" } else { "added" };
    let (mut scene, registry) = Scene::new(&[], &format!("a rule is {verb}"));
    let body = json!({ "kind": "trust", "rule": {
        "scopes": ["publish:acme"],
        "issuer": "https://gitlab.com",
        "claims": { "project_path": "acme/widget" },
    } });
    // Without any rule, the exchange is disabled.
    let form = "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token=x&\
                subject_token_type=urn:ietf:params:oauth:token-type:jwt";
    let exchange = Sent::new("POST", "/oauth/exchange").body(form);
    let form_type = "application/x-www-form-urlencoded";
    scene.reads = vec![exchange.header("content-type", form_type)];
    scene.sent = as_root("POST", "/admin/v1/rules", Some(&body));
    // A repeated request finds the rule.
    scene.again = 200;
    scene.is_new = true;
    if removes {
        let made = registry.send(&scene.sent).expect(201);
        scene.sent = as_root("DELETE", made.header("location").unwrap(), None);
        scene.reads.push(as_root("GET", "/admin/v1/rules", None));
        scene.is_new = false;
    }
    scene
}

/// A publisher who may not read everything publishes a staged upload.
fn staged_upload_published() -> Scene {
    let (mut scene, registry) = Scene::new(PRIVATE, "a staged upload is published");
    let released = Released::module("1.0.0");
    let (_, token) = create(&registry, &["publish:acme"], None);
    let Sent { target, body, .. } = released.request(&registry);
    scene.sent = Sent::new("PUT", &target).bearing(&token);
    scene.sent = scene.sent.body(body.expect("a description"));
    let missing = registry.send(&scene.sent).expect(202);
    let sent = released.send_missing(&registry, &missing).now_or_never();
    assert_eq!(sent, Some(None));
    let paths = released.lists().into_iter().chain(released.downloads());
    scene.reads = paths.map(|path| as_root("GET", &path, None)).collect();
    scene
}

/// An OCI client deletes a manifest by its digest, or a tag.
fn deleted(by_digest: bool) -> Scene {
    let (mut scene, registry) = Scene::new(&[], "a manifest or a tag is deleted");
    scene.is_one_fact = !by_digest;
    let pushed = Pushed::of(&registry, "acme/things");
    pushed.artifact("latest", b"a layer", json!({}));
    let text = pushed.artifact("other", b"a layer", json!({}));
    let digest = crate::support::pushed::digest(text.as_bytes());
    let reference = if by_digest { &digest } else { "latest" };
    scene.sent = pushed.request("DELETE", &format!("manifests/{reference}"));
    scene.again = 404;
    let paths = ["latest", "other", &digest].map(|it| pushed.path(&format!("manifests/{it}")));
    scene.reads(paths);
    scene.reads([pushed.path("tags/list")]);
    scene
}

/// Documents of a copy are restored: a release, and a status of another one.
fn restored() -> Scene {
    let (mut scene, registry) = Scene::new(&[], "documents of a copy are restored");
    for version in ["1.0.0", "1.1.0"] {
        ModuleFixture::of("acme", version).publish(&registry);
    }
    let path = "/admin/v1/modules/acme/vpc/aws/1.0.0/status";
    registry
        .send(&status_request(path, "withdrawn"))
        .expect(200);
    let mut facts = Vec::new();
    for prefix in ["statuses/", "releases/modules/acme/vpc/aws/1.1"] {
        let page = registry.read_as_admin(&format!("/admin/v1/facts?prefix={prefix}"));
        facts.extend(page["facts"].as_array().unwrap().clone());
    }
    for fact in &facts {
        scene.memory.remove_object(fact["key"].as_str().unwrap());
    }
    scene.memory.lose_indices();
    let body = json!({ "facts": facts });
    scene.sent = as_root("PUT", "/admin/v1/facts", Some(&body));
    let module = "/v1/modules/acme/vpc/aws";
    let reads = ["versions", "1.0.0/download", "1.1.0/download"];
    scene.reads(reads.map(|read| format!("{module}/{read}")));
    scene
}

/// An archive that nothing refers to is marked, or its mark is removed.
fn marked(keep: bool) -> Scene {
    let (mut scene, registry) = Scene::new(&[], "an archive is marked or kept");
    let module = ModuleFixture::of("acme", "1.0.0");
    module.upload(&registry);
    let key = format!("archives/{}.zip", sha256(&module.archive));
    let mark = as_root("POST", "/admin/v1/garbage", Some(&json!({ "mark": [key] })));
    scene.sent = mark.clone();
    if keep {
        registry.send(&mark).expect(200);
        let body = json!({ "keep": [key] });
        // A mark is written before it is removed.
        scene.between = Some("kept");
        scene.sent = as_root("POST", "/admin/v1/garbage", Some(&body));
    }
    scene.reads = vec![as_root("GET", "/admin/v1/facts?prefix=garbage/", None)];
    scene
}

/// A version is erased with its archives, and its documentation.
fn erased(released: &Released) -> Scene {
    let (mut scene, registry) = Scene::new(&[], "a version is erased");
    // The index of the version is revoked first, then the facts change one after the other.
    scene.is_one_fact = false;
    released.prepare(&registry);
    assert_eq!(released.publish(&registry).now_or_never(), Some(201));
    let path = released.status_path(Some("1.0.0"));
    let path = path.replace("/status", "/documentation");
    if matches!(released, Released::Module(_)) {
        let documentation = Documentation::of_module("a secret");
        documentation.add(&registry, &path).expect(201);
    }
    scene.reads(released.lists());
    scene.reads(released.everything(&registry));
    let address = path.splitn(5, '/').last().unwrap();
    let body = json!({
        "package": address.strip_suffix("/1.0.0/documentation").unwrap(),
        "version": "1.0.0",
        "reason": "a leaked key",
        "archives": scene.memory.keys_with("archives/"),
    });
    scene.sent = as_root("POST", "/admin/v1/erasures", Some(&body));
    scene
}

/// Returns the reads that show the documentation of the first version.
fn reads_of_documentation(released: &Released) -> (String, Vec<Sent>) {
    let path = released.status_path(Some("1.0.0"));
    let path = path.replace("/status", "/documentation");
    let reads = vec![
        as_root("GET", &path, None),
        as_root("GET", "/admin/v1/documentation", None),
    ];
    (path, reads)
}

/// A version that is or is not published gets documentation, or other documentation.
fn documented(released: Released, is_published: bool, earlier: Option<&str>) -> Scene {
    let (mut scene, registry) = Scene::new(&[], "a version is documented");
    released.prepare(&registry);
    if is_published {
        assert_eq!(released.publish(&registry).now_or_never(), Some(201));
    }
    let (path, mut reads) = reads_of_documentation(&released);
    if is_published {
        let downloads = released.downloads().into_iter().chain(released.lists());
        reads.extend(downloads.map(|path| Sent::new("GET", &path)));
    }
    scene.reads = reads;
    let of = |text: &str| match &released {
        Released::Module(_) => Documentation::of_module(text),
        _ => Documentation::of_provider(&[(text, text)]),
    };
    if let Some(earlier) = earlier {
        of(earlier).add(&registry, &path).expect(201);
    }
    let documentation = of("the-newest");
    documentation.upload(&registry, &path);
    scene.sent = as_root("PUT", &path, Some(&documentation.description()));
    scene
}

/// Documentation is removed.
fn documentation_removed(is_published: bool) -> Scene {
    let released = Released::module("1.0.0");
    let mut scene = documented(released.clone(), is_published, Some("the-only"));
    let (path, _) = reads_of_documentation(&released);
    scene.name = "documentation is removed".to_owned();
    scene.sent = as_root("DELETE", &path, None);
    scene.again = 404;
    scene.pause = DOCUMENTATION_REMOVAL_SECONDS + 1;
    scene
}

/// A publisher who may not read everything adds a staged upload.
fn staged_documentation_added() -> Scene {
    let (mut scene, registry) = Scene::new(PRIVATE, "a staged upload is added");
    let (path, reads) = reads_of_documentation(&Released::module("1.0.0"));
    let (_, token) = create(&registry, &["publish:acme"], None);
    let documentation = Documentation::of_module("staged");
    let body = documentation.description().to_string();
    scene.sent = Sent::new("PUT", &path).bearing(&token).body(body);
    let missing = registry.send(&scene.sent).expect(202);
    upload(&registry, &missing, &[&documentation.archive]);
    scene.reads = reads;
    scene
}

/// A version with documentation is published: its card and its symbols follow.
fn documented_version_published() -> Scene {
    let (mut scene, registry) = Scene::new(&[], "a documented version is published");
    let released = Released::provider("1.0.0");
    released.prepare(&registry);
    document_provider(&scene.memory, "acme/widget", "1.0.0");
    released.store_archives(&scene.memory);
    scene.sent = released.request(&registry);
    scene.reads(released.lists().into_iter().chain(released.downloads()));
    scene
}

/// Breaks each scene in every way.
fn break_all(scenes: &[Scene]) {
    for scene in scenes {
        let whole = Whole::of(scene);
        let operations = &whole.trace.operations;
        assert!(!operations.is_empty(), "{}", scene.name);
        for (at, operation) in operations.iter().enumerate() {
            for how in Break::of(operation) {
                whole.check_broken(scene, at, *how);
            }
        }
    }
}

/// Every change of a version's status.
const STATES: [(&str, &str); 4] = [
    ("active", "deprecated"),
    ("deprecated", "withdrawn"),
    ("withdrawn", "revoked"),
    ("revoked", "active"),
];

#[test]
fn a_provider_status_broken_at_each_operation_is_completed_by_a_retry_and_audited() {
    let changed_status = |kind| STATES.map(|(from, to)| status_changed(kind, from, to));
    break_all(&changed_status(Released::provider));
    break_all(&changed_status(Released::mirrored));
    break_all(&[
        package_changed(&Released::provider("1.0.0"), "deprecated"),
        pushed_status_changed("active", "revoked"),
        pushed_status_changed("revoked", "active"),
    ]);
}

#[test]
fn a_block_broken_at_each_operation_is_completed_by_a_retry_and_audited() {
    break_all(&[
        status_changed(Released::mirrored, "active", "blocked"),
        status_changed(Released::mirrored, "blocked", "unblocked"),
        status_changed(Released::mirrored, "revoked", "blocked"),
        status_changed(Released::mirrored_module, "active", "blocked"),
        status_changed(Released::mirrored_module, "blocked", "unblocked"),
        pushed_status_changed("active", "blocked"),
        pushed_status_changed("blocked", "unblocked"),
        package_changed(&Released::mirrored("1.0.0"), "blocked"),
    ]);
}

#[test]
fn a_module_status_broken_at_each_operation_is_completed_by_a_retry_and_audited() {
    break_all(&STATES.map(|(from, to)| status_changed(Released::module, from, to)));
}

#[test]
fn a_key_status_broken_at_each_operation_is_completed_by_a_retry_and_audited() {
    break_all(&[
        key_status_changed("active", "retired"),
        key_status_changed("retired", "revoked"),
        key_status_changed("revoked", "active"),
        key_added(),
        key_renewed(),
        key_removed(),
    ]);
}

#[test]
fn a_token_change_broken_at_each_operation_is_completed_by_a_retry_and_audited() {
    break_all(&[
        token_created(),
        token_revoked(),
        token_revokes_itself(),
        token_rotated(0),
        token_rotated(60),
        created_with_key(
            "a token is created with a key",
            "/admin/v1/tokens",
            &json!({ "name": "a test", "scopes": ["read"] }),
        ),
        created_with_key(
            "a rule is added with a key",
            "/admin/v1/rules",
            &json!({ "kind": "role", "rule": { "scopes": ["read"], "claims": { "sub": "1" } } }),
        ),
        created_with_key(
            "a namespace of the mirror is blocked with a key",
            "/admin/v1/rules",
            &json!({ "kind": "block", "rule": { "providers": "a.example/evil", "reason": "x" } }),
        ),
    ]);
}

#[test]
fn a_change_of_a_rule_broken_at_each_operation_is_completed_by_a_retry_and_audited() {
    break_all(&[rule_changed(false), rule_changed(true)]);
}

#[test]
fn a_restore_or_mark_broken_at_each_operation_is_completed_by_a_retry_and_audited() {
    break_all(&[restored(), marked(false), marked(true)]);
}

#[test]
fn a_publish_of_a_staged_upload_broken_at_each_operation_is_completed_by_a_retry_and_audited() {
    break_all(&[staged_upload_published()]);
}

#[test]
fn an_erasure_broken_at_each_operation_is_completed_by_a_retry_and_audited() {
    break_all(&[
        erased(&Released::provider("1.0.0")),
        erased(&Released::mirrored("1.0.0")),
        erased(&Released::module("1.0.0")),
        erased(&Released::mirrored_module("1.0.0")),
    ]);
}

#[test]
fn a_change_of_documentation_broken_at_each_operation_is_completed_by_a_retry_and_audited() {
    break_all(&[
        documented(Released::module("1.0.0"), false, None),
        documented(Released::module("1.0.0"), true, None),
        documented(Released::provider("1.0.0"), true, None),
        documented(Released::module("1.0.0"), true, Some("an-older")),
        documentation_removed(false),
        documentation_removed(true),
        staged_documentation_added(),
        documented_version_published(),
    ]);
}

#[test]
fn an_oci_delete_broken_at_each_operation_is_completed_by_a_retry_and_audited() {
    break_all(&[deleted(true), deleted(false)]);
}

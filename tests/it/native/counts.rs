//! The number of storage operations of each request.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use terrace_base::time::UnixTime;
use terrace_core::api::endpoint::ENDPOINTS;
use terrace_core::config::Config;
use terrace_core::read::KEYS_OF_READ;
use terrace_core::read::{CookieHeader, Decision, RequestHead, begin};

use crate::support::described;
use crate::support::documentation::{Documentation, member, path_of};
use crate::support::documented::{document_module, document_provider};
use crate::support::fixtures::{Signer, zip_of};
use crate::support::memory::Memory;
use crate::support::registry::Sent;
use crate::support::tokens::post;
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry, everything};

fn published() -> (Memory, Registry, ProviderFixture, ModuleFixture) {
    let (memory, registry) = Registry::with_memory(&[]);
    let (provider, module) = (ProviderFixture::new("1.0.0"), ModuleFixture::new("1.0.0"));
    provider.publish(&registry);
    module.publish(&registry);
    memory.forget_operations();
    (memory, registry, provider, module)
}

#[test]
fn each_read_makes_one_kv_read_and_no_r2_operation() {
    let (memory, registry) = Registry::with_memory(&[]);
    everything::fill(&registry);
    everything::describe(&memory);
    for path in everything::reads() {
        for method in ["GET", "HEAD"] {
            memory.forget_operations();
            registry.send(&Sent::new(method, &path));
            let operations = memory.operations();
            assert_eq!(operations.len(), 1, "{method} {path}: {operations:?}");
            assert!(operations[0].starts_with("KV get "), "{operations:?}");
        }
    }
}

/// The routes with reads that may name more than one key. No route of a protocol is among them.
const WITH_SEVERAL_KEYS: [&str; 3] = ["provider_version", "module_version", "api_version"];

#[test]
fn each_read_of_a_protocol_names_one_key() {
    let vars: [(&str, &str); 0] = [];
    let config = Config::from_vars(&vars).unwrap();
    let mut seen = BTreeSet::new();
    let begun = |target: &str| {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let head = RequestHead {
            method: "GET",
            origin: "https://registry.test",
            path,
            query,
            if_none_match: None,
            authorization: None,
            cookies: CookieHeader::Unread,
            user_agent: None,
        };
        begin(&head, &config, || UnixTime(0))
    };
    let digest = format!("sha256:{}", "0".repeat(64));
    for path in ENDPOINTS.iter().flat_map(|endpoint| endpoint.paths) {
        let path = path
            .replace("{hostname}", "registry.other.test")
            .replace("{version}", "1.0.0")
            .replace("{digest}", &digest)
            .replace("{repository}", "providers/acme/widget")
            .replace("{reference}", "1.0.0")
            .replace(['{', '}'], "");
        let pushed = path.replace("providers/acme/widget", "team/tools");
        for path in [&path, &pushed] {
            if let (name, Decision::<()>::Read(lookup)) = begun(path) {
                let limit = match WITH_SEVERAL_KEYS.contains(&name) {
                    true => KEYS_OF_READ,
                    false => 1,
                };
                assert!(lookup.keys().count() <= limit, "{path}");
                seen.insert(name);
            }
        }
    }
    let reads: BTreeSet<&str> = everything::reads().map(|path| begun(&path).0).collect();
    assert_eq!(
        seen, reads,
        "each indexed route has a read in support/everything.rs"
    );
}

/// Downloads, which can be revoked, are cached for five minutes; lists, and mirrored versions that may gain
/// platforms, for half a minute.
#[test]
fn an_index_is_cached_at_the_edge_for_as_long_as_it_may_be_stale() {
    let (memory, registry, provider, module) = published();
    let mirrored = MirrorFixture::new("1.0.0");
    mirrored.publish(&registry);
    let own = format!("/mirror/registry.test/{}/widget", provider.namespace);
    for (path, seconds) in [
        (provider.versions(), 30),
        (module.versions(), 30),
        (format!("{own}/index.json"), 30),
        (mirrored.index(), 30),
        (mirrored.packages(), 30),
        (format!("{own}/1.0.0.json"), 300),
        (provider.download(), 300),
        (module.download(), 300),
    ] {
        registry.get(&path);
        assert_eq!(memory.cache_seconds(), seconds, "{path}");
    }
}

#[test]
fn discovery_and_an_invalid_path_read_nothing_and_a_miss_reads_r2_before_it_is_404() {
    let (memory, registry, ..) = published();
    registry.get("/.well-known/terraform.json").expect(200);
    for path in ["/v1/providers/a--b/c/versions", "/nowhere"] {
        registry.get(path).expect(404);
    }
    assert_eq!(memory.operations(), Vec::<String>::new());
    registry
        .get("/v1/providers/nobody/nothing/versions")
        .expect(404);
    assert_eq!(
        memory.operations(),
        [
            "KV get providers/hosted/nobody/nothing/versions",
            "R2 list releases/providers/hosted/nobody/nothing/"
        ]
    );
}

/// Documentation is for people; a client that installs must not wait for it.
#[test]
fn a_protocol_read_that_misses_its_index_reads_no_documentation() {
    let (memory, registry) = Registry::with_memory(&[]);
    document_provider(&memory, "acme/widget", "1.0.0");
    ProviderFixture::of("acme", "widget", "1.0.0").publish(&registry);
    document_module(&memory, "acme/vpc/aws", "1.0.0");
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    memory.forget_operations();
    for path in [
        "/v1/providers/acme/widget/1.0.0/download/linux/amd64",
        "/v1/modules/acme/vpc/aws/1.0.0/download",
        "/mirror/registry.test/acme/widget/1.0.0.json",
        "/v2/modules/acme/vpc/aws/manifests/1.0.0",
    ] {
        memory.lose_indices();
        let status = registry.get(path).status;
        assert!(matches!(status, 200 | 204), "{path}: {status}");
        // The task after the response begins with a second look at the index, and writes all indices of the version.
        let operations = memory.operations();
        let task = operations
            .iter()
            .skip(1)
            .position(|it| *it == operations[0]);
        let until_the_response = &operations[..=task.expect("a task")];
        memory.forget_operations();
        registry.get(path);
        assert_eq!(memory.operations().len(), 1, "{path}");
        let is_of_documentation = |it: &&String| it.contains(" docs/") || it.contains(".docs");
        let read: Vec<&String> = until_the_response
            .iter()
            .filter(is_of_documentation)
            .collect();
        assert_eq!(read, Vec::<&String>::new(), "{path}");
        assert!(until_the_response.len() > 1, "{path}: {operations:?}");
        memory.forget_operations();
    }
}

/// Stores `count` releases of a module in the bucket, as publishing them would.
fn with_releases(memory: &Memory, fixture: &ModuleFixture, count: usize) {
    for patch in 0..count {
        let key = format!("releases/modules/{}/1.0.{patch}", fixture.address);
        memory.put_release(&key, &[("contents", "0123456789")]);
    }
}

#[test]
fn the_5000th_publish_lists_at_most_nine_pages_and_reads_no_other_release() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = ModuleFixture::new("2.0.0");
    with_releases(&memory, &fixture, 4_999);
    fixture.upload(&registry);
    memory.forget_operations();
    fixture.put(&registry).expect(201);
    let operations = memory.operations();
    let count = |start: &str| {
        operations
            .iter()
            .filter(|operation| operation.starts_with(start))
            .count()
    };
    // The releases, the garbage marks, the documentation, and the cards of the owner and of all owners.
    assert!(count("R2 list ") <= 9, "{operations:?}");
    assert_eq!(
        count("R2 get releases/"),
        1,
        "only its own release is read, which does not exist yet: {operations:?}"
    );
    // Three more for people, and the catalogue of all owners.
    assert_eq!(count("KV put "), 6 + 3 + 1, "{operations:?}");
    memory.forget_operations();
    let versions = registry.get(&fixture.versions()).json();
    assert_eq!(memory.operations().len(), 1, "the list is one index");
    assert_eq!(
        versions["modules"][0]["versions"].as_array().unwrap().len(),
        5_000
    );
}

/// Counts both requests of a publish, by an isolate that has already written, for an owner with another package. Returns the
/// writes and the lists of KV, the writes (with lists) and the reads of R2, and the operations that follow each other until the
/// responses, if the platform performs [six at a time](
/// https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections).
fn operations_of_publish(
    path: &str,
    description: &Value,
    upload: &dyn Fn(&Registry),
) -> [usize; 5] {
    let (memory, registry) = Registry::with_memory(&[]);
    ProviderFixture::of("acme", "other", "1.0.0").publish(&registry);
    let bearer = format!("Bearer {}", registry.token());
    let request = Sent::new("PUT", path)
        .header("authorization", &bearer)
        .body(description.to_string());
    memory.forget_operations();
    let (asked, first) = memory.in_rounds(6, registry.answer(&request));
    asked.expect(202);
    let mut operations = memory.operations();
    upload(&registry);
    memory.forget_operations();
    let (published, second) = memory.in_rounds(6, registry.answer(&request));
    published.expect(201);
    operations.extend(memory.operations());
    let count = |kinds: &[&str]| {
        let is_one = |it: &&String| kinds.iter().any(|kind| it.starts_with(kind));
        operations.iter().filter(is_one).count()
    };
    [
        count(&["KV put "]),
        count(&["KV list "]),
        count(&["R2 put ", "R2 list "]),
        count(&["R2 get ", "R2 head ", "R2 read "]),
        first + second,
    ]
}

/// Returns a provider with packages for that many platforms.
fn of_platforms(platforms: usize) -> ProviderFixture {
    let mut fixture = ProviderFixture::of("acme", "widget", "1.0.0");
    fixture.packages.clear();
    let systems = ["linux", "freebsd", "netbsd", "openbsd", "windows"];
    let all = systems
        .iter()
        .flat_map(|os| ["386", "amd64", "arm", "arm64"].map(|arch| (os, arch)));
    for (os, arch) in all.take(platforms) {
        let content = format!("#!/bin/sh\n# {os} {arch}\n");
        let zip = zip_of(&[("terraform-provider-widget_v1.0.0", content.as_bytes())]);
        fixture.add_package(os, arch, zip);
    }
    fixture.sign(Signer::usual());
    fixture
}

/// The first four numbers and one write for each archive are the price of a publish (docs/measurements.md), the last is its duration where
/// storage is far away.
#[test]
fn a_publish_takes_the_operations_that_are_stated() {
    let assert_counted = |[puts, lists, writes, reads, rounds]: [usize; 5], stated, most, what| {
        assert_eq!([puts, lists, writes, reads], stated, "{what}");
        assert!(
            rounds <= most,
            "{what}: {rounds} operations follow each other"
        );
    };
    let module = ModuleFixture::of("acme", "1.0.0");
    let (path, description) = (module.admin_path(), module.description());
    let counted = operations_of_publish(&path, &description, &|to| module.upload(to));
    assert_counted(counted, [10, 2, 16, 21], 22, "a module");

    let provider = of_platforms(15);
    let (path, description) = (provider.admin_path(), provider.description());
    let counted = operations_of_publish(&path, &description, &|to| provider.upload(to));
    assert_counted(counted, [40, 2, 19, 55], 30, "a provider, 15 platforms");

    // Its symbols are one more index of its owner.
    let documentation = path_of("providers", "acme/widget", "1.0.0");
    let counted = operations_of_publish(&path, &description, &|to| {
        let (pages, head) = described::provider();
        let head = member(head.to_string().as_bytes());
        let archive = Documentation::of_members(head, &pages);
        archive.add(to, &documentation).expect(201);
        provider.upload(to);
    });
    assert_counted(counted, [41, 2, 19, 57], 30, "a documented provider");

    let mut mirrored = MirrorFixture::of(of_platforms(3));
    mirrored.architectures = vec!["386", "amd64", "arm"];
    let (path, description) = (mirrored.admin_path(), mirrored.description());
    let counted = operations_of_publish(&path, &description, &|to| mirrored.upload(to));
    assert_counted(
        counted,
        [15, 2, 22, 29],
        28,
        "a mirrored provider, 3 platforms",
    );
}

/// Returns the operations of a whole reindex in one step, which has nothing to repair.
fn reindex_operations(memory: &Memory, registry: &Registry, body: &Value) -> Vec<String> {
    memory.forget_operations();
    let answer = post(registry, "/admin/v1/reindex", body).found();
    assert_eq!(answer.get("next"), None, "one step is enough");
    assert_eq!(answer["rewritten"], json!([]));
    memory.operations()
}

/// Publishes versions of a provider, and returns the operations of a reindex.
fn operations_with_versions(full: bool, versions: u32) -> usize {
    let (memory, registry) = Registry::with_memory(&[("TERRACE_REPAIR_OPERATIONS", "800")]);
    for patch in 0..versions {
        let version = format!("1.0.{patch}");
        ProviderFixture::of("acme", "widget", &version).publish(&registry);
    }
    // The first walk writes the indices that no publish writes.
    post(&registry, "/admin/v1/reindex", &json!({})).expect(200);
    reindex_operations(&memory, &registry, &json!({ "full": full })).len()
}

#[test]
fn a_version_adds_two_operations_to_a_full_repair_and_none_to_another() {
    let added = |full| operations_with_versions(full, 22) - operations_with_versions(full, 2);
    assert_eq!(added(false), 0);
    assert_eq!(added(true), 20 * 2, "a release, and its indices");
}

/// Each package adds the read of its statuses and the listing of its documentation to the walk over the facts; the
/// listings of releases and the bulk reads of KV are shared. Its owner adds a listing of cards, and its catalogue. The
/// walk over the keys adds a marker and a listing for each package, and a listing for each owner.
#[test]
fn a_package_and_its_owner_add_nine_operations_to_a_repair() {
    let operations = |packages: u32| {
        let (memory, registry) = Registry::with_memory(&[("TERRACE_REPAIR_OPERATIONS", "800")]);
        for package in 0..packages {
            let namespace = format!("n{package}");
            for version in ["1.0.0", "1.1.0"] {
                ModuleFixture::of(&namespace, version).publish(&registry);
            }
        }
        post(&registry, "/admin/v1/reindex", &json!({})).expect(200);
        reindex_operations(&memory, &registry, &json!({}))
    };
    let (few, more) = (operations(10), operations(50));
    let count = |operations: &[String], start: &str| {
        operations.iter().filter(|it| it.starts_with(start)).count()
    };
    for (start, each, shared) in [
        ("R2 get statuses/", 1, 0),
        ("R2 head changes/", 1, 0),
        ("R2 list releases/modules/", 1, 0),
        ("R2 list releases/", 1, 0),
        ("R2 list docs/", 1, 0),
        ("R2 list cards/", 4, 0),
        ("KV get ", 1, 1),
        ("", 9, 1),
    ] {
        let added = count(&more, start) - count(&few, start);
        assert_eq!(added, 40 * each + shared, "{start}: {more:?}");
    }
}

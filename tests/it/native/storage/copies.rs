//! Copies of a registry, made with the admin routes for export and import.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use terrace_app::host::Clock as _;
use terrace_core::maintenance::audit::AuditChain;
use terrace_core::storage::key::{ARCHIVES, BLOBS, NOT_EXPORTED};
use terrace_core::storage::release::Release;

use crate::support::documentation::{Documentation, path_of};
use crate::support::everything::fill;
use crate::support::fixtures::{Signer, send_upload};
use crate::support::memory::Memory;
use crate::support::registry::Registry;
use crate::support::reindexed::reindex;
use crate::support::statuses::{set_status, status_of};
use crate::support::tokens::{create, post, revoke};
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture};

/// Returns the entries of all pages of a listing.
fn all(registry: &Registry, path: &str, name: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let page = registry.read_as_admin(&format!("{path}&after={after}"));
        assert!(page.get("unknown").is_none(), "{page}");
        found.extend(page[name].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => after = next.replace(':', "%3A"),
            None => return found,
        }
    }
}

fn facts(registry: &Registry) -> Vec<Value> {
    all(registry, "/admin/v1/facts?prefix=", "facts")
}

fn restore(registry: &Registry, facts: &[Value]) -> Value {
    let body = json!({ "facts": facts });
    registry.put("/admin/v1/facts", &body).found()
}

/// Copies everything into an empty registry.
fn copy(from: &Registry, to: &Registry) {
    for (sent, restored) in transfer(from, to) {
        let created = restored["created"].as_array().unwrap().len();
        // Each registry has its own document `format`; both are the same.
        let unchanged = restored["unchanged"].as_array().unwrap();
        assert!(unchanged.iter().all(|key| key == "format"), "{restored}");
        assert_eq!(created + unchanged.len(), sent, "{restored}");
    }
}

/// Copies everything into another registry. Returns the number of documents in each request, and its
/// response.
fn transfer(from: &Registry, to: &Registry) -> Vec<(usize, Value)> {
    for archive in all(from, "/admin/v1/archives?urls=true", "archives") {
        let bytes = from.get(archive["url"].as_str().unwrap()).expect(200).body;
        let one = json!({ "archives": [{ "key": archive["key"], "size": archive["size"] }] });
        let asked = post(to, "/admin/v1/archives", &one).found();
        if let Some(missing) = asked["missing"].get(0) {
            send_upload(to, missing, &bytes).expect(201);
        }
        let asked = post(to, "/admin/v1/archives", &one).found();
        assert_eq!(asked["missing"], json!([]));
    }
    let mut facts = copied_facts(from);
    // Documents come after those that they refer to.
    facts.sort_by_key(|fact| {
        let key = fact["key"].as_str().unwrap();
        let order = ["keys/", "statuses/", "oci/links/", "oci/manifests/", "oci/"];
        order.iter().position(|prefix| key.starts_with(prefix))
    });
    let sent = facts.chunks(20);
    sent.map(|some| (some.len(), restore(to, some))).collect()
}

/// Returns the documents but for the audit log, which is exported beside the copy.
fn copied_facts(registry: &Registry) -> Vec<Value> {
    let mut facts = facts(registry);
    facts.retain(|fact| !is_log(fact));
    facts
}

fn is_log(fact: &Value) -> bool {
    fact["key"].as_str().unwrap().starts_with("audit/")
}

/// Objects by key: their bytes and their metadata.
type Objects = BTreeMap<String, (Vec<u8>, Vec<(String, String)>)>;

/// Returns the exported documents, and the bytes, which are copied separately.
fn copied(memory: &Memory) -> Objects {
    let mut objects = memory.objects();
    let is_bytes = |key: &str| key.starts_with(ARCHIVES) || key.starts_with(BLOBS);
    let is_exported = |key: &str| !NOT_EXPORTED.iter().any(|prefix| key.starts_with(prefix));
    objects.retain(|key, _| is_bytes(key) || is_exported(key));
    objects.retain(|key, _| !key.starts_with("audit/"));
    let objects = objects.into_iter().map(|(key, bytes)| {
        let mut metadata = memory.metadata(&key);
        metadata.sort();
        (key, (bytes, metadata))
    });
    objects.collect()
}

#[test]
fn a_copy_has_the_same_objects_and_the_same_indices() {
    let (here, from) = Registry::with_memory(&[]);
    let (there, to) = Registry::with_memory(&[]);
    fill(&from);
    // At another time a publish would write other documents.
    there.advance(1_000_000);
    copy(&from, &to);
    assert_eq!(copied(&there), copied(&here));
    assert_eq!(reindex(&from).failed, [""; 0]);
    assert_eq!(reindex(&to).failed, [""; 0]);
    let indices = |memory: &Memory| {
        let mut all = memory.documents();
        // The index omits tokens that have expired meanwhile.
        all.remove("revocations");
        all
    };
    assert_eq!(indices(&there), indices(&here));
    // Restoring the same documents again changes nothing.
    for some in copied_facts(&from).chunks(20) {
        let restored = restore(&to, some);
        let unchanged = restored["unchanged"].as_array().unwrap().len();
        assert_eq!(unchanged, some.len(), "{restored}");
    }
}

#[test]
fn the_documents_are_listed_in_order_and_others_only_to_who_names_them() {
    let (memory, registry) = Registry::with_memory(&[]);
    fill(&registry);
    let facts = facts(&registry);
    let keys = facts.iter().map(|fact| fact["key"].as_str().unwrap());
    assert!(keys.is_sorted());
    memory.put_object("garbage/x", b"");
    let page = registry.read_as_admin("/admin/v1/facts?prefix=garbage/");
    assert_eq!(page["unknown"], json!(["garbage/x"]));
}

#[test]
fn a_published_version_is_not_changed_by_a_restore() {
    let (memory, registry) = Registry::with_memory(&[]);
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    let key = "releases/modules/acme/vpc/aws/1.0.0";
    let before = memory.object_bytes(key);
    let document = String::from_utf8(before.clone()).unwrap();
    let other = document.replace("1800000000", "1700000000");
    assert_ne!(other, document);
    let other = json!({ "key": key, "document": other });
    assert_eq!(restore(&registry, &[other])["conflicts"], json!([key]));
    assert_eq!(memory.object_bytes(key), before);
}

#[test]
fn a_document_with_missing_references_is_rejected() {
    let (_, registry) = Registry::with_memory(&[]);
    fill(&registry);
    let facts = copied_facts(&registry);
    let empty = Registry::in_memory(&Memory::new(), &[]);
    let mut refused = 0;
    for some in facts.chunks(20) {
        let restored = restore(&empty, some);
        for one in restored["refused"].as_array().unwrap() {
            let reason = one["reason"].as_str().unwrap();
            let is_missing = ["is not stored", "does not exist"].map(|it| reason.ends_with(it));
            assert!(is_missing.contains(&true), "{one}");
            refused += 1;
        }
    }
    assert!(refused > 10, "{refused}");
    let many = json!({ "facts": vec![facts[0].clone(); 21] });
    empty.put("/admin/v1/facts", &many).expect(400);
}

#[test]
fn stored_bytes_are_hashed_again_and_mismatches_are_reported() {
    let (memory, registry) = Registry::with_memory(&[]);
    fill(&registry);
    let verify = || {
        let mut wrong = Vec::new();
        let mut looked_at = 0;
        let mut body = json!({});
        loop {
            let step = post(&registry, "/admin/v1/verify", &body).found();
            wrong.extend(step["wrong"].as_array().unwrap().clone());
            looked_at += step["looked_at"].as_u64().unwrap();
            match step.get("next") {
                Some(next) => body["after"] = next.clone(),
                None => return (wrong, looked_at),
            }
        }
    };
    let stored = ["archives/", "oci/blobs/"].map(|prefix| memory.keys_with(prefix));
    let stored = stored.concat();
    assert_eq!(verify(), (Vec::new(), stored.len() as u64));
    let rotten = stored.last().unwrap();
    memory.put_object(rotten, b"other bytes");
    let before = memory.objects();
    let (wrong, _) = verify();
    assert_eq!(wrong[0]["key"], json!(rotten));
    assert_eq!(wrong.len(), 1);
    assert_eq!(memory.objects(), before, "verification changed an object");
}

#[test]
fn the_audit_log_is_listed_and_never_restored_into_another_registry() {
    let (here, from) = Registry::with_memory(&[]);
    let (there, to) = Registry::with_memory(&[]);
    fill(&from);
    let log: Vec<Value> = facts(&from).into_iter().filter(is_log).collect();
    let mut chain = AuditChain::default();
    for entry in &log {
        chain.follow(entry["document"].as_str().unwrap()).unwrap();
    }
    assert!(chain.length() > 20, "{}", chain.length());
    let refused = restore(&to, &log[..1])["refused"].clone();
    let reason = refused[0]["reason"].as_str().unwrap();
    assert!(reason.contains("never restored"), "{reason}");
    // The import has its own entries.
    let entry = String::from_utf8(there.object_bytes("audit/000000000001")).unwrap();
    assert!(entry.contains("PUT /admin/v1/facts"), "{entry}");
    let first = here.object_bytes("audit/000000000001");
    assert_eq!(first, log[0]["document"].as_str().unwrap().as_bytes());
}

#[test]
fn a_revoked_token_is_revoked_in_a_copy_before_its_indices_are_built() {
    let (here, from) = Registry::with_memory(&[]);
    let (there, to) = Registry::with_memory(&[]);
    fill(&from);
    // The target has cached its list of revoked tokens before.
    let (id, token) = create(&from, &["admin"], None);
    to.get_as(&token, "/admin/v1/tokens").expect(200);
    revoke(&from, &id).expect(200);
    copy(&from, &to);
    there.set_time(here.now());
    there.advance(60);
    let again = Registry::in_memory(&there, &[]);
    again.get_as(&token, "/admin/v1/tokens").expect(401);
    for revoked in [
        "/v1/modules/acme/vpc/aws/1.1.0/download",
        "/v1/providers/acme/widget/1.2.0/download/linux/amd64",
    ] {
        again.get(revoked).expect(410);
    }
}

#[test]
fn a_revocation_in_a_copy_takes_effect_although_the_target_has_other_statuses() {
    let [source, target] = [(); 2].map(|()| Registry::in_memory(&Memory::new(), &[]));
    let set = |registry: &Registry, version: &str, state: &str| {
        let path = status_of(&format!("providers/acme/widget/{version}"));
        set_status(registry, &path, state).expect(200);
    };
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        ProviderFixture::of("acme", "widget", version).publish(&source);
    }
    ProviderFixture::of("acme", "widget", "0.9.0").publish(&target);
    ProviderFixture::of("acme", "widget", "1.2.0").publish(&target);
    set(&source, "1.1.0", "revoked");
    set(&source, "1.2.0", "withdrawn");
    set(&target, "0.9.0", "deprecated");
    set(&target, "1.2.0", "revoked");
    transfer(&source, &target);
    assert_eq!(reindex(&target).failed, [""; 0]);
    let download = |version: &str, status: u16| {
        let path = format!("/v1/providers/acme/widget/{version}/download/linux/amd64");
        target.get(&path).expect(status);
    };
    for (version, status) in [
        ("0.9.0", 200),
        ("1.0.0", 200),
        ("1.1.0", 410),
        ("1.2.0", 410),
    ] {
        download(version, status);
    }
    let key = Signer::usual().key_id();
    let path = format!("/admin/v1/namespaces/acme/keys/{key}");
    set_status(&source, &path, "revoked").expect(200);
    transfer(&source, &target);
    assert_eq!(reindex(&target).failed, [""; 0]);
    download("1.0.0", 410);
}

#[test]
fn a_block_in_a_copy_takes_effect_although_the_target_has_other_blocks() {
    let [source, target] = [(); 2].map(|()| Registry::in_memory(&Memory::new(), &[]));
    let set = |registry: &Registry, what: &str, state: &str| {
        set_status(registry, &status_of(&format!("mirror/{what}")), state).expect(200);
    };
    let [first, second] = ["1.0.0", "1.1.0"]
        .map(|version| MirrorFixture::of(ProviderFixture::of("acme", "widget", version)));
    first.publish(&source);
    second.publish(&source);
    let address = first.address();
    set(&source, &format!("{address}/1.0.0"), "blocked");
    set(&target, &format!("{address}/1.1.0"), "blocked");
    // Nothing of this provider is stored.
    let other = "registry.example.com/evil/thing";
    set(&source, other, "blocked");
    transfer(&source, &target);
    assert_eq!(reindex(&target).failed, [""; 0]);
    target.get(&first.packages()).expect(404);
    target.get(&second.packages()).expect(404);
    let statuses = |what: &str| target.read_as_admin(&status_of(&format!("mirror/{what}")));
    assert_eq!(statuses(other)["blocked"]["state"], "blocked");
    let blocked = statuses(&address)["blocked_versions"].clone();
    assert_eq!(blocked.as_object().unwrap().len(), 2, "{blocked}");
}

#[test]
fn a_document_that_is_not_text_is_reported_and_the_listing_continues() {
    let (memory, registry) = Registry::with_memory(&[]);
    create(&registry, &["read"], None);
    memory.put_object("keys/acme", b"\xff");
    let page = registry.read_as_admin("/admin/v1/facts");
    assert_eq!(page["unreadable"], json!(["keys/acme"]));
    assert!(!page["facts"].as_array().unwrap().is_empty());
}

/// Returns a registry with erased, revoked and restored versions, and the reads that show them.
fn with_erased_parts() -> (Memory, Registry, Vec<String>) {
    let (memory, registry) = Registry::with_memory(&[]);
    let mut reads = Vec::new();
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        let module = ModuleFixture::of("acme", version);
        module.publish(&registry);
        let path = path_of("modules", "acme/vpc/aws", version);
        Documentation::of_module(version).add(&registry, &path);
        let provider = ProviderFixture::of("acme", "widget", version);
        provider.publish(&registry);
        reads.extend([
            module.download(),
            format!("{}/{version}/download/linux/amd64", provider.path()),
            format!("/api/v1/modules/acme/vpc/aws/{version}"),
            format!("/v2/providers/acme/widget/manifests/{version}"),
        ]);
    }
    reads.extend(
        [
            "/v1/modules/acme/vpc/aws/versions",
            "/v1/providers/acme/widget/versions",
            "/api/v1/modules/acme/vpc/aws",
            "/api/v1/providers/acme/widget",
            "/api/v1/namespaces/acme",
        ]
        .map(str::to_owned),
    );
    for (package, kind) in [("acme/vpc/aws", "modules"), ("acme/widget", "providers")] {
        let path = |version: &str| status_of(&format!("{kind}/{package}/{version}"));
        set_status(&registry, &path("1.1.0"), "revoked").expect(200);
        set_status(&registry, &path("1.2.0"), "revoked").expect(200);
        set_status(&registry, &path("1.2.0"), "active").expect(200);
        let end = format!("{package}/1.0.0");
        let mut keys = memory.keys_with("releases/");
        keys.retain(|key| key.ends_with(&end));
        let release = Release::from_document(&memory.object_bytes(&keys[0])).unwrap();
        let archives = release.stored().into_iter();
        let archives: Vec<String> = archives.map(|it| it.key.to_string()).collect();
        let body = json!({
            "package": package, "version": "1.0.0", "reason": "a leaked key", "archives": archives,
        });
        post(&registry, "/admin/v1/erasures", &body).expect(200);
    }
    (memory, registry, reads)
}

#[test]
fn a_copy_with_erased_revoked_and_restored_parts_gives_the_same_answers() {
    let (here, from, reads) = with_erased_parts();
    let (there, to) = Registry::with_memory(&[]);
    let tombstones = all(&from, "/admin/v1/facts?prefix=garbage/", "facts");
    assert!(tombstones.len() >= 4, "{tombstones:?}");
    let restored = restore(&to, &tombstones);
    // The tombstone of an archive brings that of its digest.
    let imported = ["created", "unchanged"].map(|name| restored[name].as_array().unwrap().len());
    assert_eq!(imported.iter().sum::<usize>(), tombstones.len());
    copy(&from, &to);
    assert_eq!(copied(&there), copied(&here));
    for tombstone in &tombstones {
        let key = tombstone["key"].as_str().unwrap();
        assert_eq!(there.object_bytes(key), here.object_bytes(key));
    }
    assert_eq!(reindex(&to).failed, [""; 0]);
    to.merge_catalog();
    let seen = |registry: &Registry| -> Vec<(u16, String)> {
        let read = |path: &String| {
            let answer = registry.get(path);
            (answer.status, answer.text())
        };
        reads.iter().map(read).collect()
    };
    // Signed URLs contain the time.
    here.set_time(there.now());
    let (expected, found) = (seen(&from), seen(&to));
    for ((path, expected), found) in reads.iter().zip(expected).zip(found) {
        assert_eq!(found, expected, "{path}");
    }
    let erased = ModuleFixture::of("acme", "1.0.0");
    to.get(&erased.download()).expect(410);
    erased.put(&to).expect(410);
}

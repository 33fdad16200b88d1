//! Stored documents, byte for byte. The formats of releases, tokens, uploads and origins are pinned in the
//! core, beside their types; the others are pinned here, with their keys and metadata.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::chain;
use crate::support::documentation::{Documentation, path_of};
use crate::support::documented::{document_module, document_provider};
use crate::support::fixtures::sha256;
use crate::support::memory::Memory;
use crate::support::pushed::{Pushed, digest};
use crate::support::statuses::{set_status, status_of};
use crate::support::tokens::{add_rule, create, post, revoke};
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry};

/// The ID of the key in `ed25519.asc`.
const KEY: &str = "1DCFB46346EDC30F";

const FIRST_ENTRY: &str = "audit/000000000001";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Returns a registry with objects of each kind, always built from the same bytes at the same time.
fn registry() -> Memory {
    let (memory, registry) = Registry::with_memory(&[]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let key = root.join("crates/terrace-openpgp/testdata/ed25519.asc");
    let path = "/admin/v1/namespaces/acme/keys";
    let key = fs::read(key).unwrap();
    registry.admin("PUT", path, Some(&key)).expect(200);
    document_module(&memory, "acme/vpc/aws", "1.0.0");
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    ModuleFixture::of("acme", "1.1.0").publish(&registry);
    document_provider(&memory, "registry.example.com/acme/widget", "1.0.0");
    let mirrored = MirrorFixture::of(ProviderFixture::of("acme", "widget", "1.0.0")).unsigned();
    mirrored.clone().only("amd64").publish(&registry);
    mirrored.publish(&registry);
    let pushed = Pushed::of(&registry, "acme/things");
    let subject = pushed.artifact("latest", b"layer", json!({}));
    let subject = json!({
        "mediaType": MANIFEST,
        "digest": digest(subject.as_bytes()),
        "size": subject.len(),
    });
    let referrer = pushed.artifact("other", b"layer", json!({ "subject": subject }));
    pushed.put_manifest("other", MANIFEST, &referrer);
    for (path, state) in [
        (status_of("modules/acme/vpc/aws/1.0.0"), "deprecated"),
        (status_of("modules/acme/vpc/aws/1.1.0"), "revoked"),
        (status_of("modules/acme/vpc/aws"), "deprecated"),
        (format!("/admin/v1/namespaces/acme/keys/{KEY}"), "retired"),
    ] {
        set_status(&registry, &path, state).expect(200);
    }
    let (id, _) = create(&registry, &["read", "publish:acme"], Some(600));
    revoke(&registry, &id).expect(200);
    pushed.artifact("third", b"another layer", json!({}));
    let third = pushed.head("manifests/third").expect(200);
    let third = third.header("docker-content-digest").unwrap();
    pushed
        .send("DELETE", &format!("manifests/{third}"))
        .expect(202);
    // The first read writes their indices.
    pushed.get("tags/list").expect(200);
    pushed
        .head(&format!("blobs/{}", digest(b"layer")))
        .expect(200);
    for text in ["one", "two"] {
        let path = path_of("modules", "acme/vpc/aws", "2.0.0");
        let documentation = Documentation::of_module(text);
        documentation.upload(&registry, &path);
        documentation.put(&registry, &path);
    }
    ModuleFixture::of("acme", "1.2.0").publish(&registry);
    let archive = format!(
        "archives/{}.zip",
        sha256(&ModuleFixture::of("acme", "1.2.0").archive)
    );
    let body = json!({
        "package": "acme/vpc/aws",
        "version": "1.2.0",
        "reason": "a leaked key",
        "archives": [archive],
    });
    post(&registry, "/admin/v1/erasures", &body).expect(200);
    let rule = json!({ "scopes": ["publish:acme"], "claims": { "groups": "platform" } });
    add_rule(&registry, "role", &rule).expect(201);
    let removed = json!({ "scopes": ["read"], "claims": { "sub": "*" } });
    let removed = add_rule(&registry, "role", &removed).expect(201);
    let path = removed.header("location").unwrap();
    registry.admin("DELETE", path, None).expect(200);
    registry.merge_catalog();
    memory
}

/// Returns every document in R2, with its metadata, and every index in KV.
fn stored(memory: &Memory) -> Vec<(String, String)> {
    let objects = memory.objects().into_iter();
    // The first entry of the log is enough: the others contain digests of all earlier changes.
    let is_pinned = |key: &str| {
        let is_more = chain::is_log(key) && key != FIRST_ENTRY;
        !is_more && !key.starts_with("archives/") && !key.contains("/blobs/")
    };
    let documents = objects.filter(|(key, _)| is_pinned(key));
    let documents = documents.map(|(key, bytes)| {
        let metadata = memory.metadata(&key).into_iter();
        let metadata: Vec<String> = metadata
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let text = String::from_utf8(bytes).unwrap();
        (
            format!("R2 {key}"),
            format!("{}\n{text}", metadata.join("; ")),
        )
    });
    let indices = memory.documents().into_iter().map(|(key, document)| {
        let metadata = serde_json::to_string(&document.metadata).unwrap();
        (
            format!("KV {key}"),
            format!("{metadata}\n{}", document.text),
        )
    });
    documents.chain(indices).collect()
}

/// The start of the line before each document. No line of a stored text starts like this, however long it is.
const MARK: &str = "=== ";

#[test]
fn the_stored_formats_are_pinned() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/native/storage/formats.txt");
    let stored = stored(&registry());
    if std::env::var("TERRACE_PIN").is_ok() {
        let mut text = String::new();
        for (key, document) in &stored {
            writeln!(text, "{MARK}{key}\n{document}").unwrap();
        }
        fs::write(&file, text).unwrap();
    }
    let pinned = fs::read_to_string(&file).unwrap();
    let pinned: Vec<&str> = pinned.split(MARK).skip(1).collect();
    assert!(
        pinned.len() > 40,
        "only {} documents are pinned",
        pinned.len()
    );
    for pinned in pinned {
        let (key, document) = pinned.split_once('\n').unwrap();
        let found = stored.iter().find(|(known, _)| known == key);
        let found = found.map(|(_, document)| format!("{document}\n"));
        let kind = if key.starts_with("KV ") {
            "An index in KV: Workers from before and after a deployment read it at the same time."
        } else {
            "A fact in R2: existing buckets are not rewritten."
        };
        assert_eq!(
            found.as_deref(),
            Some(document),
            "\n{key} is stored in a different form. {kind} This requires a migration: read the old form as \
             well, add a schema number if there is none, keep a test of the old bytes, and only \
             then pin the new ones with TERRACE_PIN=1 cargo test -p terrace --test it formats"
        );
    }
    // Only the names of archives are pinned: their bytes are the publishers'.
    let archives = registry().keys();
    let zip = sha256(&ModuleFixture::of("acme", "1.0.0").archive);
    assert!(archives.contains(&format!("archives/{zip}.zip")));
}

//! A registry with objects of every kind.

use serde_json::{Value, json};

use super::described;
use super::fixtures::{Signer, add_key, sha256, tar_gz_of};
use super::memory::Memory;
use super::pushed::{INDEX, MANIFEST, Pushed, PushedProvider, digest};
use super::registry::Registry;
use super::statuses::{set_status, status_of};
use super::tokens::{add_rule, create, revoke};
use super::{MirrorFixture, ModuleFixture, ProviderFixture};

/// Reads that find their index in a filled registry.
const READS: [&str; 37] = [
    "/v1/providers/acme/widget/versions",
    "/v1/providers/acme/widget/1.0.0+b",
    "/v1/providers/acme/widget/1.0.0+b/download/linux/amd64",
    "/v1/providers/acme/widget/1.0.0+b/download/plan9/386",
    "/v1/providers/acme/widget/1.1.0+b/download/linux/amd64",
    "/v1/modules/acme/vpc/aws/versions",
    "/v1/modules/acme/vpc/aws/1.0.0/download",
    "/v1/modules/acme/vpc/aws/1.1.0/download",
    "/v1/modules/acme/vpc/aws/download",
    "/origins/registry.example.com/v1/modules/acme/vpc/aws/versions",
    "/origins/registry.example.com/v1/modules/acme/vpc/aws/1.0.0/download",
    "/origins/registry.example.com/v1/modules/acme/vpc/aws/download",
    "/api/v1/modules/registry.example.com/acme/vpc/aws",
    "/api/v1/modules/registry.example.com/acme/vpc/aws/1.0.0",
    "/v1/providers/acme/widget",
    "/v1/modules/acme/vpc/aws",
    "/v1/modules/acme/vpc/aws/1.0.0",
    "/api/v1/providers/acme/widget",
    "/api/v1/modules/acme/vpc/aws",
    "/api/v1/mirror/registry.example.com/acme/gadget",
    "/api/v1/providers/acme/widget/1.0.0+b",
    "/api/v1/providers/acme/widget/latest",
    "/api/v1/mirror/registry.test/acme/widget/1.1.0+b",
    "/api/v1/modules/acme/vpc/aws/1.0.0",
    "/api/v1/providers/acme/widget/1.0.0+b/docs",
    "/mirror/registry.test/acme/widget/index.json",
    "/mirror/registry.example.com/acme/gadget/index.json",
    "/mirror/registry.test/acme/widget/1.0.0+b.json",
    "/mirror/registry.example.com/acme/gadget/1.0.0.json",
    "/origins/registry.example.com/v1/providers/acme/gadget/versions",
    "/v2/providers/registry.example.com/acme/gadget/tags/list",
    "/v2/providers/registry.example.com/acme/gadget/tags/list?n=1",
    "/v2/providers/registry.example.com/acme/gadget/manifests/1.0.0",
    "/v2/modules/acme/vpc/aws/manifests/1.0.0",
    "/v2/team/tools/tags/list",
    "/v2/team/tools/manifests/1.0",
    // The layer that `push` pushes: "a layer".
    "/v2/team/tools/blobs/sha256:e28d98ac666afd34f089b971a663264d54d67a60ddc82996d48d8f3c204eb75f",
];

/// Returns reads that find their index in a filled registry: at least one of every indexed route, which `native/counts.rs`
/// checks.
pub fn reads() -> impl Iterator<Item = String> {
    let zip = sha256(&ModuleFixture::of("acme", "1.0.0").archive);
    let blob = format!("/v2/modules/acme/vpc/aws/blobs/sha256:{zip}");
    READS.map(str::to_owned).into_iter().chain([blob])
}

/// Describes the packages of a filled registry.
pub fn describe(memory: &Memory) {
    let widgets = ["2.0.0-rc.1+b", "1.2.0", "1.1.0+b", "1.0.0+b"];
    described::describe(memory, "providers/hosted/acme/widget", &widgets);
    described::describe(memory, "modules/acme/vpc/aws", &["3.0.0", "1.1.0", "1.0.0"]);
    let mirrored = "modules/registry.example.com/acme/vpc/aws";
    described::describe(memory, mirrored, &["1.1.0", "1.0.0"]);
    let gadget = "providers/registry.example.com/acme/gadget";
    described::describe(memory, gadget, &["1.1.0", "1.0.0"]);
}

/// Publishes, mirrors and pushes, sets statuses, and revokes a token.
pub fn fill(registry: &Registry) {
    publish_and_push(registry);
    push_providers(registry);
    set_release_statuses(registry);
    set_key_statuses(registry);
    create(registry, &["read"], None);
    let (id, _) = create(registry, &["publish:acme"], Some(3_600));
    revoke(registry, &id).expect(200);
    let rule = json!({ "scopes": ["publish:acme"], "claims": { "groups": "plätform" } });
    add_rule(registry, "role", &rule).expect(201);
    let rule = json!({ "scopes": ["read"], "claims": { "sub": "*" } });
    let removed = add_rule(registry, "role", &rule).expect(201);
    let path = removed.header("location").unwrap();
    registry.admin("DELETE", path, None).expect(200);
    if let Registry::Memory { .. } = registry {
        registry.merge_catalog();
    }
}

/// Publishes packages of each kind, mirrors a provider, and pushes artifacts.
pub fn publish_and_push(registry: &Registry) {
    for version in ["1.0.0", "1.1.0", "2.0.0-rc.1"] {
        ProviderFixture::of("acme", "widget", &format!("{version}+b")).publish(registry);
        ModuleFixture::of("acme", version).publish(registry);
    }
    let packed = tar_gz_of(&[("main.tf", b"# packed\n")]);
    ModuleFixture::of("acme", "3.0.0")
        .with_tar_gz(packed)
        .publish(registry);
    for version in ["1.0.0", "1.1.0"] {
        ModuleFixture::of("registry.example.com/acme", version).publish(registry);
    }
    MirrorFixture::of(ProviderFixture::of("acme", "gadget", "1.0.0")).publish(registry);
    let one = MirrorFixture::of(ProviderFixture::of("acme", "gadget", "1.1.0"));
    one.unsigned().only("amd64").publish(registry);
    push(registry);
}

/// Pushes an artifact with two tags, another artifact that refers to it, an index of both, and a second
/// repository.
fn push(registry: &Registry) {
    let tools = Pushed::of(registry, "team/tools");
    let text = tools.artifact("Latest", b"a layer", json!({}));
    tools.put_manifest("1.0", MANIFEST, &text).expect(201);
    let about = json!({ "subject": described(&text) });
    let about = tools.artifact("signature", b"a signature", about);
    let index = json!({
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [described(&text), described(&about)],
    });
    tools
        .put_manifest("all", INDEX, &index.to_string())
        .expect(201);
    Pushed::of(registry, "team/tools/more").artifact("latest", b"a layer", json!({}));
    // Deleted: a tag by its name, and a manifest by its digest, which deletes its tag.
    tools.artifact("old", b"an old layer", json!({}));
    tools.send("DELETE", "manifests/old").expect(202);
    let older = tools.artifact("older", b"an older layer", json!({}));
    let older = format!("manifests/{}", digest(older.as_bytes()));
    tools.send("DELETE", &older).expect(202);
}

/// Pushes three versions of a provider, each with its own zips.
fn push_providers(registry: &Registry) {
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        let provider = PushedProvider::of("acme", version);
        let index = provider.prepare(registry);
        provider.tag(registry, version, &index).expect(201);
    }
}

/// Sets every status of a release, for each kind of package.
fn set_release_statuses(registry: &Registry) {
    let set = |path: &str, state: &str| {
        set_status(registry, &status_of(path), state).expect(200);
    };
    set("providers/acme/widget", "deprecated");
    set("providers/acme/widget/1.0.0+b", "withdrawn");
    set("providers/acme/widget/1.1.0+b", "revoked");
    set("modules/acme/vpc/aws/1.0.0", "deprecated");
    set("modules/acme/vpc/aws/1.1.0", "revoked");
    set("modules/registry.example.com/acme/vpc/aws/1.1.0", "blocked");
    set("mirror/registry.example.com/acme/gadget/1.1.0", "revoked");
    set(
        "mirror/registry.opentofu.org/acme/widget/1.0.0",
        "withdrawn",
    );
    set("mirror/registry.opentofu.org/acme/widget/1.1.0", "revoked");
    // Set, and removed again.
    set("providers/acme/widget/2.0.0-rc.1+b", "revoked");
    set("providers/acme/widget/2.0.0-rc.1+b", "active");
}

/// Adds a revoked key and a retired one, each with a release that it has signed.
fn set_key_statuses(registry: &Registry) {
    let set = |namespace: &str, signer: &Signer, state: &str| {
        let path = format!("/admin/v1/namespaces/{namespace}/keys/{}", signer.key_id());
        set_status(registry, &path, state).expect(200);
    };
    let mut stolen = ProviderFixture::of("acme", "widget", "1.2.0");
    stolen.sign(Signer::other());
    add_key(registry, "acme", Signer::other());
    stolen.upload(registry);
    stolen.put(registry).expect(201);
    set("acme", Signer::other(), "revoked");
    ProviderFixture::of("tools", "hammer", "1.0.0").publish(registry);
    set("tools", Signer::usual(), "retired");
}

fn described(text: &str) -> Value {
    json!({ "mediaType": MANIFEST, "digest": digest(text.as_bytes()), "size": text.len() })
}

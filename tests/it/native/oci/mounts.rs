//! Blobs of published releases, mounted into repositories that clients push to.

use super::{NAME, break_everywhere};
use crate::support::fixtures::sha256;
use crate::support::pushed::{Pushed, PushedProvider, digest};
use crate::support::registry::{Registry, Response, Sent, TOKEN};
use crate::support::statuses::{set_status, status_of};
use crate::support::tokens::create;
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture};

/// Sends a mount into [`NAME`], without a body.
fn mount(registry: &Registry, token: &str, query: &str) -> Response {
    let target = format!("/v2/{NAME}/blobs/uploads/?mount={query}");
    registry.send(&Sent::new("POST", &target).body(b"").bearing(token))
}

/// Publishes a package of every kind. Returns each one's repository and first zip.
fn publish_all(registry: &Registry) -> [(String, Vec<u8>); 3] {
    let provider = ProviderFixture::of("acme", "widget", "1.0.0");
    let mirrored = MirrorFixture::of(ProviderFixture::of("acme", "gadget", "1.0.0"));
    let module = ModuleFixture::of("acme", "1.0.0");
    provider.publish(registry);
    mirrored.publish(registry);
    module.publish(registry);
    [
        (
            "providers/acme/widget".to_owned(),
            provider.packages[0].3.clone(),
        ),
        (
            format!("providers/{}", mirrored.address()),
            mirrored.origin.packages[0].3.clone(),
        ),
        (format!("modules/{}", module.address), module.archive),
    ]
}

fn set_state(registry: &Registry, address: &str, state: &str) {
    set_status(registry, &status_of(address), state).expect(200);
}

#[test]
fn everything_of_a_published_release_is_mounted_and_leaves_no_upload() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let published = publish_all(&registry);
    // A hosted provider has a second repository name, under the registry's own hostname.
    let long = format!("providers/{}/acme/widget", registry.hostname());
    let long = (long, published[0].1.clone());
    for (from, zip) in published.into_iter().chain([long]) {
        for bytes in [&zip[..], b"{}"] {
            let digest = digest(bytes);
            let made = mount(&registry, TOKEN, &format!("{digest}&from={from}")).expect(201);
            let blob = pushed.path(&format!("blobs/{digest}"));
            assert_eq!(made.header("location"), Some(blob.as_str()), "{from}");
            assert_eq!(made.header("docker-content-digest"), Some(digest.as_str()));
            let head = registry.head(&blob).expect(200);
            let length = bytes.len().to_string();
            assert_eq!(head.header("content-length"), Some(length.as_str()));
            let found = registry.get(&blob).expect(307);
            let found = registry.get(found.header("location").unwrap()).expect(200);
            assert_eq!(found.body, bytes, "{from}");
            pushed
                .send("DELETE", &format!("blobs/{digest}"))
                .expect(202);
        }
    }
    assert_eq!(memory.keys_with("oci/uploads/"), [""; 0]);
}

#[test]
fn a_digest_that_is_not_a_blob_of_the_release_must_be_uploaded() {
    let (_, registry) = Registry::with_memory(&[]);
    let [(provider, zip), (_, mirrored), (module, _)] = publish_all(&registry);
    let manifest = registry
        .head(&format!("/v2/{provider}/manifests/1.0.0"))
        .expect(200);
    let manifest = manifest.header("docker-content-digest").unwrap();
    let pushed = Pushed::of(&registry, NAME);
    for query in [
        // A blob of another package, and a manifest, which is not a blob.
        format!("{}&from={module}", digest(&zip)),
        format!("{}&from={provider}", digest(&mirrored)),
        format!("{manifest}&from={provider}"),
        format!("sha512:{}&from={provider}", "0".repeat(128)),
        format!("{}&from=providers/acme", digest(&zip)),
        format!("{}&from=providers/Acme/widget", digest(&zip)),
        format!("{}&from=providers/acme/missing", digest(&zip)),
        format!("{}&from=modules", digest(&zip)),
    ] {
        let begun = mount(&registry, TOKEN, &query).expect(202);
        assert!(
            begun.header("location").unwrap().contains("/uploads/"),
            "{query}"
        );
    }
    pushed.get(&format!("blobs/{}", digest(&zip))).expect(404);
}

#[test]
fn a_mount_that_is_broken_at_each_write_links_nothing_and_can_be_sent_again() {
    let module = ModuleFixture::of("acme", "1.0.0");
    for bytes in [&module.archive[..], b"{}"] {
        let digest = digest(bytes);
        break_everywhere(
            2,
            |registry| module.publish(registry),
            |registry, _| {
                let query = format!("{digest}&from=modules/{}", module.address);
                let status = mount(registry, TOKEN, &query).status;
                let pushed = Pushed::of(registry, NAME);
                let found = pushed.head(&format!("blobs/{digest}")).status;
                // A link that was written before the failure leads to the complete blob.
                assert!(
                    matches!((status, found), (201, 200) | (503, 200 | 404)),
                    "{status} {found}"
                );
                if found == 200 {
                    let url = pushed.get(&format!("blobs/{digest}")).expect(307);
                    let found = registry.get(url.header("location").unwrap()).expect(200);
                    assert_eq!(found.body, bytes);
                }
                status
            },
            |registry, _| {
                let pushed = Pushed::of(registry, NAME);
                pushed.head(&format!("blobs/{digest}")).expect(200);
            },
        );
    }
}

#[test]
fn a_damaged_archive_is_not_linked() {
    let (memory, registry) = Registry::with_memory(&[]);
    let [.., (from, zip)] = publish_all(&registry);
    let digest = digest(&zip);
    let archive = format!("archives/{}.zip", sha256(&zip));
    let query = format!("{digest}&from={from}");
    memory.put_object(&archive, b"other bytes");
    mount(&registry, TOKEN, &query).expect(500);
    memory.remove_object(&archive);
    mount(&registry, TOKEN, &query).expect(202);
    let pushed = Pushed::of(&registry, NAME);
    pushed.head(&format!("blobs/{digest}")).expect(404);
}

#[test]
fn a_blob_of_a_revoked_version_is_not_mounted() {
    let (_, registry) = Registry::with_memory(&[]);
    let [_, _, (from, zip)] = publish_all(&registry);
    let query = format!("{}&from={from}", digest(&zip));
    set_state(&registry, "modules/acme/vpc/aws/1.0.0", "revoked");
    mount(&registry, TOKEN, &query).expect(202);
    set_state(&registry, "modules/acme/vpc/aws/1.0.0", "active");
    mount(&registry, TOKEN, &query).expect(201);
    // Nor can a revoked blob be mounted from the repository that a provider was pushed to.
    let provider = PushedProvider::of("acme", "a zip");
    let index = provider.prepare(&registry);
    provider.tag(&registry, "1.0.0", &index).expect(201);
    let zip = digest(&provider.zips[0].1);
    let query = format!("{zip}&from={}", provider.repository());
    for (state, status) in [("revoked", 202), ("active", 201)] {
        let version = "mirror/registry.opentofu.org/acme/widget/1.0.0";
        set_state(&registry, version, state);
        mount(&registry, TOKEN, &query).expect(status);
    }
}

#[test]
fn a_version_that_is_blocked_is_not_mounted() {
    let (memory, registry) = Registry::with_memory(&[]);
    let [_, (from, zip), _] = publish_all(&registry);
    let address = from.strip_prefix("providers/").unwrap();
    let blocked = format!("{address}@1.0.0");
    let blocking = Registry::in_memory(&memory, &[("TERRACE_PULL_BLOCK", &blocked)]);
    let query = format!("{}&from={from}", digest(&zip));
    mount(&blocking, TOKEN, &query).expect(202);
    mount(&registry, TOKEN, &query).expect(201);
}

#[test]
fn a_mount_does_not_reveal_an_unreadable_release() {
    let (memory, registry) = Registry::with_memory(&[("TERRACE_ACCESS", "private")]);
    let [(provider, zip), ..] = publish_all(&registry);
    let pushed = Pushed::of(&registry, "other/app");
    pushed.blob(b"a secret");
    let (_, publisher) = create(&registry, &["publish:team"], None);
    let (_, reader) = create(&registry, &["publish:team", "read:acme"], None);
    let seen = |query: &str| {
        memory.forget_operations();
        let begun = mount(&registry, &publisher, query).expect(202);
        let name = |operation: String| {
            let words: Vec<&str> = operation.split(' ').take(2).collect();
            words.join(" ")
        };
        let operations: Vec<String> = memory.operations().into_iter().map(name).collect();
        (begun.header("range").map(str::to_owned), operations)
    };
    let (zip, empty) = (digest(&zip), digest(b"{}"));
    // The first request with a token reads the list of revoked tokens.
    seen(&zip);
    let missing = seen(&format!("{zip}&from=providers/acme/missing"));
    assert_eq!(seen(&format!("{zip}&from={provider}")), missing);
    assert_eq!(seen(&format!("{empty}&from={provider}")), missing);
    let secret = digest(b"a secret");
    let missing = seen(&format!("{secret}&from=other/missing"));
    assert_eq!(seen(&format!("{secret}&from=other/app")), missing);
    for digest in [&zip, &empty] {
        mount(&registry, &reader, &format!("{digest}&from={provider}")).expect(201);
    }
    mount(&registry, &reader, &format!("{secret}&from=other/app")).expect(202);
}

/// regctl sends this for blobs that it could not mount from another repository.
#[test]
fn a_blob_of_the_target_is_mounted_without_from_if_the_caller_may_read_it() {
    let (_, registry) = Registry::with_memory(&[("TERRACE_ACCESS", "private")]);
    let here = Pushed::of(&registry, NAME).blob(b"a blob");
    let elsewhere = Pushed::of(&registry, "other/app").blob(b"another");
    let (_, both) = create(&registry, &["publish:team", "read:team"], None);
    mount(&registry, &both, &here).expect(201);
    mount(&registry, &both, &elsewhere).expect(202);
    mount(&registry, TOKEN, &elsewhere).expect(201);
}

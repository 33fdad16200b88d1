//! Releases that were removed from the bucket, bypassing the registry.

use serde_json::json;

use crate::support::fixtures::zip_of;
use crate::support::memory::Memory;
use crate::support::mirrored::MirrorFixture;
use crate::support::reindexed::{Reindexed, reindex, reindex_with};
use crate::support::released::Released;
use crate::support::statuses::{set_status, status_of};
use crate::support::tokens::post;
use crate::support::{ModuleFixture, ProviderFixture, Registry, Response};

const LOST: &str = "its release is missing in storage";

fn module(says: &str) -> ModuleFixture {
    let main = format!("output \"says\" {{\n  value = \"{says}\"\n}}\n");
    ModuleFixture::of("acme", "1.0.0").with_zip(zip_of(&[("main.tf", main.as_bytes())]))
}

const MODULE: &str = "releases/modules/acme/vpc/aws/1.0.0";
const MODULE_INDEX: &str = "modules/acme/vpc/aws/version/1.0.0";

/// Returns a registry in which a module version was published, and then lost its release.
fn lost_module() -> (Memory, Registry) {
    let (memory, registry) = Registry::with_memory(&[]);
    module("hello").publish(&registry);
    memory.remove_object(MODULE);
    (memory, registry)
}

#[track_caller]
fn assert_refused_as_lost(response: Response, flag: &str) {
    assert!(response.refuses(409, LOST).contains(flag));
}

#[test]
fn a_version_whose_release_is_lost_accepts_only_the_same_bytes() {
    let other = &[(
        "terraform-provider-widget_v1.0.0",
        b"other bytes".as_slice(),
    )];
    let provider = ProviderFixture::of("acme", "widget", "1.0.0");
    let evil = provider.clone().with_files(other);
    for (published, other, release, address) in [
        (
            Released::Module(module("hello")),
            Released::Module(module("evil")),
            MODULE,
            "acme/vpc/aws",
        ),
        (
            Released::Provider(provider.clone()),
            Released::Provider(evil.clone()),
            "releases/providers/hosted/acme/widget/1.0.0",
            "acme/widget",
        ),
        (
            Released::Mirrored(MirrorFixture::of(provider)),
            Released::Mirrored(MirrorFixture::of(evil)),
            "releases/providers/registry.example.com/acme/widget/1.0.0",
            "registry.example.com/acme/widget",
        ),
    ] {
        let (memory, registry) = Registry::with_memory(&[]);
        let put = |it: &Released| registry.send(&it.request(&registry));
        published.prepare(&registry);
        published.store_archives(&memory);
        other.store_archives(&memory);
        put(&published).expect(201);
        memory.remove_object(release);
        let flag = format!("--accept-loss {address}@1.0.0");
        assert_refused_as_lost(put(&other), &flag);
        assert!(!memory.keys().contains(&release.to_owned()));
        if let Released::Mirrored(it) = &published {
            // A subset of its platforms does not contradict the index.
            it.clone().only("amd64").put(&registry).expect(201);
        }
        put(&published).expect(201);
    }
}

/// The request includes the old platform; the new index would have no digest of the other one.
#[test]
fn a_mirrored_version_whose_release_is_lost_accepts_no_new_platform() {
    let (memory, registry) = Registry::with_memory(&[]);
    let mirrored = MirrorFixture::of(ProviderFixture::of("acme", "widget", "1.0.0"));
    let published = mirrored.clone().only("amd64");
    published.publish(&registry);
    memory.remove_object("releases/providers/registry.example.com/acme/widget/1.0.0");
    let flag = "was not part of the published version";
    assert_refused_as_lost(mirrored.put(&registry), flag);
    published.put(&registry).expect(201);
    mirrored.publish(&registry);
}

#[test]
fn a_revoked_version_whose_release_is_lost_accepts_no_bytes() {
    let (memory, registry) = Registry::with_memory(&[]);
    module("hello").publish(&registry);
    let version = status_of("modules/acme/vpc/aws/1.0.0");
    set_status(&registry, &version, "revoked").expect(200);
    memory.remove_object(MODULE);
    let Reindexed { removed, lost, .. } = reindex(&registry);
    assert_eq!(lost, ["acme/vpc/aws@1.0.0"]);
    assert!(!removed.contains(&MODULE_INDEX.to_owned()), "{removed:?}");
    for says in ["hello", "evil"] {
        let refused = module(says).put(&registry);
        assert_refused_as_lost(refused, "Its digests are unknown");
    }
    let accepted = json!({ "accept_loss": ["acme/vpc/aws@1.0.0"] });
    let Reindexed { removed, lost, .. } = reindex_with(&registry, accepted);
    assert_eq!(lost, [""; 0]);
    assert!(removed.contains(&MODULE_INDEX.to_owned()), "{removed:?}");
    module("other").publish(&registry);
}

#[test]
fn a_version_without_a_release_and_without_an_index_is_free() {
    let (memory, registry) = lost_module();
    memory.lose_indices();
    module("evil").publish(&registry);
    let other = ModuleFixture::of("acme", "2.0.0");
    // The index in KV contains no digest.
    memory.put_index("modules/acme/vpc/aws/version/2.0.0", "{}");
    other.publish(&registry);
}

/// Another publisher commits and writes the index, after this one reads R2 and before it reads KV.
#[test]
fn a_version_that_is_published_meanwhile_does_not_count_as_lost() {
    let (memory, registry) = Registry::with_memory(&[]);
    let (first, second) = (module("first"), module("second"));
    first.upload(&registry);
    let other = Registry::in_memory(&memory, &[]);
    let fault = memory.before(format!("KV list {MODULE_INDEX}").as_str(), move || {
        first.put(&other).expect(201);
    });
    let told = second.put(&registry).refuses(409, "already published");
    assert!(fault.is_reached(), "the other publish was not reached");
    assert!(!told.contains(LOST), "{told}");
}

#[test]
fn a_repair_keeps_the_index_of_a_lost_release_and_names_it_each_time() {
    let (memory, registry) = lost_module();
    for _ in 0..2 {
        let Reindexed { removed, lost, .. } = reindex(&registry);
        assert_eq!(lost, ["acme/vpc/aws@1.0.0"]);
        assert!(!removed.contains(&MODULE_INDEX.to_owned()), "{removed:?}");
    }
    let mut told = memory.log();
    told.retain(|line| line.contains("LOST"));
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("acme/vpc/aws@1.0.0"), "{told:?}");
    assert_refused_as_lost(module("evil").put(&registry), "acme/vpc/aws@1.0.0");
}

#[test]
fn the_cron_keeps_the_index_of_a_lost_release_and_names_it() {
    let (memory, registry) = lost_module();
    for _ in 0..10 {
        registry.run_repair_step();
        memory.advance(3_600);
    }
    assert!(memory.indices().contains_key(MODULE_INDEX));
    memory.assert_logged("LOST");
    memory.assert_logged("1 lost (acme/vpc/aws@1.0.0)");
}

#[test]
fn an_accepted_loss_that_does_not_name_a_release_is_rejected() {
    let (_, registry) = Registry::with_memory(&[]);
    for text in ["acme/vpc/aws", "everything", "acme/vpc/aws@one"] {
        let body = json!({ "accept_loss": [text] });
        let refused = post(&registry, "/admin/v1/reindex", &body);
        assert!(refused.refuses(400, "ADDRESS@VERSION").contains(text));
    }
}

//! Statuses of releases after their publish: deprecated, withdrawn, revoked, and reset to active.

use serde_json::{Value, json};

use crate::support::registry::{Response, Sent};
use crate::support::statuses::{set_status_because, status_of};
use crate::support::tokens::create;
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry};

fn set_state(registry: &Registry, path: &str, state: &str, reason: &str) -> Response {
    set_status_because(registry, &status_of(path), state, reason)
}

/// Publishes a provider with two versions. Returns the paths of its reads, and of its statuses.
fn provider(registry: &Registry) -> (String, String) {
    let fixture = ProviderFixture::new("1.0.0");
    fixture.publish(registry);
    ProviderFixture::of(&fixture.namespace, "widget", "1.1.0").publish(registry);
    let admin = format!("providers/{}/widget", fixture.namespace);
    (fixture.path(), admin)
}

fn versions(list: &Value) -> Vec<String> {
    let versions = list["versions"].as_array().unwrap().iter();
    let versions = versions.map(|it| it["version"].as_str().unwrap().to_owned());
    versions.collect()
}

#[test]
fn a_deprecated_provider_stays_and_its_users_are_warned_2_1_2() {
    let registry = Registry::start();
    let (path, admin) = provider(&registry);
    set_state(&registry, &admin, "deprecated", "use acme/gadget").expect(200);
    set_state(
        &registry,
        &format!("{admin}/1.0.0"),
        "deprecated",
        "use 1.1.0",
    )
    .expect(200);
    let list = registry.get(&format!("{path}/versions")).expect(200).json();
    assert_eq!(versions(&list), ["1.0.0", "1.1.0"]);
    let warnings: Vec<&str> = list["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect();
    assert_eq!(warnings.len(), 2);
    assert!(
        warnings[0].ends_with("/widget is deprecated: use acme/gadget"),
        "{warnings:?}"
    );
    assert!(
        warnings[1].ends_with("/widget 1.0.0 is deprecated: use 1.1.0"),
        "{warnings:?}"
    );
    registry
        .get(&format!("{path}/1.0.0/download/linux/amd64"))
        .expect(200);
}

#[test]
fn a_withdrawn_version_can_be_installed_from_a_lock_file_14_2() {
    let registry = Registry::start();
    let (path, admin) = provider(&registry);
    set_state(
        &registry,
        &format!("{admin}/1.0.0"),
        "withdrawn",
        "broken: use 1.1.0",
    )
    .expect(200);
    let list = registry.get(&format!("{path}/versions")).expect(200).json();
    assert_eq!(versions(&list), ["1.0.0", "1.1.0"]);
    assert!(
        list["warnings"][0]
            .as_str()
            .unwrap()
            .contains("is withdrawn: broken"),
        "{list}"
    );
    registry
        .get(&format!("{path}/1.0.0/download/linux/amd64"))
        .expect(200);
}

#[test]
fn a_revoked_version_leaves_every_list_and_is_410_with_the_reason() {
    let registry = Registry::start();
    let (path, admin) = provider(&registry);
    let namespace = admin.split('/').nth(1).unwrap();
    let mirror = format!("/mirror/{}/{namespace}/widget", registry.hostname());
    let oci = format!("/v2/providers/{namespace}/widget");
    let digest = registry.get(&format!("{oci}/manifests/1.0.0")).expect(200);
    let index = digest.json();
    let digest = digest.header("docker-content-digest").unwrap().to_owned();
    let target = index["manifests"][0]["digest"].as_str().unwrap();
    let target = format!("{oci}/manifests/{target}");
    let manifest = registry.get(&target).expect(200).json();
    let zip = manifest["layers"][0]["digest"].as_str().unwrap();
    let blob = format!("{oci}/blobs/{zip}");
    registry.get(&blob).expect(307);
    let reason = "CVE-2026-1234";
    set_state(&registry, &format!("{admin}/1.0.0"), "revoked", reason).expect(200);
    let list = registry.get(&format!("{path}/versions")).expect(200).json();
    assert_eq!(versions(&list), ["1.1.0"]);
    assert!(
        list["warnings"][0]
            .as_str()
            .unwrap()
            .ends_with("1.0.0 is revoked: CVE-2026-1234")
    );
    let list = registry
        .get(&format!("{mirror}/index.json"))
        .expect(200)
        .json();
    assert_eq!(list, json!({ "versions": { "1.1.0": {} } }));
    let tags = registry.get(&format!("{oci}/tags/list")).expect(200).json();
    assert_eq!(tags["tags"], json!(["1.1.0"]));
    let origin = format!("/origins/{}/v1/providers", registry.hostname());
    let listed = registry.get(&format!("{origin}/{namespace}/widget/versions"));
    assert_eq!(versions(&listed.expect(200).json()), ["1.1.0"]);
    for path in [
        format!("{path}/1.0.0"),
        format!("{path}/1.0.0/download/linux/amd64"),
        format!("{mirror}/1.0.0.json"),
        format!("{oci}/manifests/1.0.0"),
        format!("{oci}/manifests/{digest}"),
        target,
        blob,
    ] {
        registry.head(&path).expect(410);
        let gone = registry.get(&path).expect(410);
        assert!(gone.text().contains(reason), "{path} {}", gone.text());
        assert_eq!(gone.header("cache-control"), Some("no-store"), "{path}");
    }
}

#[test]
fn a_revoked_module_is_410_with_a_line_that_its_client_shows_3_7() {
    let registry = Registry::start();
    let fixture = ModuleFixture::new("1.0.0");
    fixture.publish(&registry);
    let admin = format!("modules/{}/1.0.0", fixture.address);
    set_state(&registry, &admin, "revoked", "it deletes").expect(200);
    let gone = registry
        .get(&format!("{}/1.0.0/download", fixture.path()))
        .expect(410);
    assert_eq!(
        gone.text(),
        format!("{} 1.0.0 is revoked: it deletes\n", fixture.address)
    );
    set_state(&registry, &admin, "active", "it does not").expect(200);
    registry
        .get(&format!("{}/1.0.0/download", fixture.path()))
        .expect(200);
}

#[test]
fn a_status_is_removed_without_a_trace() {
    let registry = Registry::start();
    let (path, admin) = provider(&registry);
    let list = format!("{path}/versions");
    let before = registry.get(&list).expect(200).text();
    let version = format!("{admin}/1.0.0");
    for state in ["deprecated", "withdrawn", "revoked"] {
        set_state(&registry, &version, state, "x").expect(200);
        set_state(&registry, &version, state, "x").expect(200);
        assert_ne!(registry.get(&list).expect(200).text(), before);
        set_state(&registry, &version, "active", "a mistake").expect(200);
        assert_eq!(registry.get(&list).expect(200).text(), before);
        registry
            .get(&format!("{path}/1.0.0/download/linux/amd64"))
            .expect(200);
    }
}

#[test]
fn a_revoked_version_of_a_mirrored_provider_is_410_so_that_no_client_goes_to_its_origin_5_5() {
    let registry = Registry::start();
    let fixture = MirrorFixture::new("1.0.0");
    fixture.publish(&registry);
    let admin = format!("mirror/{}/1.0.0", fixture.address());
    set_state(&registry, &admin, "revoked", "stolen").expect(200);
    let gone = registry.get(&fixture.packages()).expect(410);
    assert!(
        gone.errors().ends_with("1.0.0 is revoked: stolen"),
        "{}",
        gone.text()
    );
    assert_eq!(
        registry.get(&fixture.index()).expect(200).json(),
        json!({ "versions": {} })
    );
    // Publishing it again does not restore it.
    fixture.put(&registry).expect(200);
    registry.get(&fixture.packages()).expect(410);
}

#[test]
fn a_status_is_listed_with_its_author() {
    let registry = Registry::start();
    let (_, admin) = provider(&registry);
    set_state(&registry, &format!("{admin}/1.0.0"), "withdrawn", "broken").expect(200);
    let path = format!("/admin/v1/{admin}/status");
    let statuses = registry.admin("GET", &path, None).expect(200).json();
    let status = &statuses["versions"]["1.0.0"];
    assert_eq!(
        (&status["state"], &status["by"]),
        (&json!("withdrawn"), &json!("root"))
    );
}

#[test]
fn a_publisher_may_deprecate_and_withdraw_but_not_revoke() {
    let registry = Registry::start();
    let (_, admin) = provider(&registry);
    let namespace = admin.split('/').nth(1).unwrap();
    let token = create(&registry, &[&format!("publish:{namespace}")], Some(3_600)).1;
    let say_as = |state: &str| {
        let body = json!({ "state": state, "reason": "x" }).to_string();
        let path = format!("/admin/v1/{admin}/1.0.0/status");
        registry.send(&Sent::new("PUT", &path).bearing(&token).body(body))
    };
    say_as("deprecated").expect(200);
    say_as("withdrawn").expect(200);
    say_as("revoked").expect(403);
    set_state(&registry, &format!("{admin}/1.0.0"), "revoked", "x").expect(200);
    let refused = say_as("active").expect(403);
    assert!(
        refused.errors().contains("requires the scope admin"),
        "{}",
        refused.text()
    );
}

#[test]
fn an_invalid_status_of_a_release_is_rejected_with_the_rule() {
    let registry = Registry::start();
    let (_, admin) = provider(&registry);
    let version = format!("{admin}/1.0.0");
    for (path, state, reason, status, told) in [
        (&version, "yanked", "x", 422, "\"yanked\""),
        (&version, "withdrawn", "", 422, "one line"),
        (&version, "withdrawn", "a\nb", 422, "one line"),
        (&version, "withdrawn", "\u{1b}[31mred", 422, "one line"),
        (&admin, "withdrawn", "x", 422, "a package can be deprecated"),
        (&admin, "revoked", "x", 422, "a package can be deprecated"),
        (
            &format!("{admin}/9.9.9"),
            "withdrawn",
            "x",
            404,
            "no version 9.9.9",
        ),
        (&format!("{admin}/1"), "withdrawn", "x", 400, "1"),
        (
            &"providers/nobody/nothing".to_owned(),
            "deprecated",
            "x",
            404,
            "nobody/nothing",
        ),
    ] {
        let refused = set_state(&registry, path, state, reason).expect(status);
        assert!(refused.errors().contains(told), "{}", refused.text());
    }
}

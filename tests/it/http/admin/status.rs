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
fn a_deprecated_or_withdrawn_version_stays_and_its_users_are_warned_2_1_2_14_2() {
    let registry = Registry::start();
    let (path, admin) = provider(&registry);
    set_state(&registry, &admin, "deprecated", "use acme/gadget").expect(200);
    let version = format!("{admin}/1.0.0");
    for state in ["deprecated", "withdrawn"] {
        set_state(&registry, &version, state, "use 1.1.0").expect(200);
        let list = registry.read(&format!("{path}/versions"));
        assert_eq!(versions(&list), ["1.0.0", "1.1.0"]);
        let warnings = list["warnings"].as_array().unwrap().iter();
        let warnings: Vec<&str> = warnings.map(|it| it.as_str().unwrap()).collect();
        assert_eq!(warnings.len(), 2);
        let of_package = "/widget is deprecated: use acme/gadget";
        assert!(warnings[0].ends_with(of_package), "{warnings:?}");
        let of_version = format!("/widget 1.0.0 is {state}: use 1.1.0");
        assert!(warnings[1].ends_with(&of_version), "{warnings:?}");
        let download = format!("{path}/1.0.0/download/linux/amd64");
        registry.get(&download).expect(200);
        let statuses = format!("/admin/v1/{admin}/status");
        let statuses = registry.read_as_admin(&statuses);
        let status = &statuses["versions"]["1.0.0"];
        assert_eq!(
            (&status["state"], &status["by"]),
            (&json!(state), &json!("root"))
        );
    }
}

#[test]
fn a_revoked_version_of_another_kind_is_410_with_a_line_that_its_client_shows_3_7_5_5() {
    let registry = Registry::start();
    let (module, mirrored) = (ModuleFixture::new("1.0.0"), MirrorFixture::new("1.0.0"));
    module.publish(&registry);
    mirrored.publish(&registry);
    let [one, other] = [
        format!("modules/{}/1.0.0", module.address),
        format!("mirror/{}/1.0.0", mirrored.address()),
    ];
    for admin in [&one, &other] {
        set_state(&registry, admin, "revoked", "it deletes").expect(200);
    }
    let download = module.download();
    let gone = registry.get(&download).expect(410);
    let line = format!("{} 1.0.0 is revoked: it deletes\n", module.address);
    assert_eq!(gone.text(), line);
    // No client goes to the origin, also after another publish.
    for _ in 0..2 {
        let errors = registry.get(&mirrored.packages()).expect(410).errors();
        assert!(errors.ends_with("1.0.0 is revoked: it deletes"), "{errors}");
        mirrored.put(&registry).expect(200);
    }
    let index = registry.read(&mirrored.index());
    assert_eq!(index, json!({ "versions": {} }));
    set_state(&registry, &one, "active", "it does not").expect(200);
    registry.get(&download).expect(200);
}

#[test]
fn a_revoked_version_leaves_every_list_and_is_410_with_the_reason() {
    let registry = Registry::start();
    let (path, admin) = provider(&registry);
    let namespace = admin.split('/').nth(1).unwrap();
    let mirror = format!("/mirror/{}/{namespace}/widget", registry.hostname());
    let oci = format!("/v2/providers/{namespace}/widget");
    let reason = "CVE-2026-1234";
    set_state(&registry, &format!("{admin}/1.0.0"), "revoked", reason).expect(200);
    let list = registry.read(&format!("{path}/versions"));
    assert_eq!(versions(&list), ["1.1.0"]);
    assert!(
        list["warnings"][0]
            .as_str()
            .unwrap()
            .ends_with("1.0.0 is revoked: CVE-2026-1234")
    );
    let list = registry.read(&format!("{mirror}/index.json"));
    assert_eq!(list, json!({ "versions": { "1.1.0": {} } }));
    let tags = registry.read(&format!("{oci}/tags/list"));
    assert_eq!(tags["tags"], json!(["1.1.0"]));
    let origin = format!("/origins/{}/v1/providers", registry.hostname());
    let listed = registry.get(&format!("{origin}/{namespace}/widget/versions"));
    assert_eq!(versions(&listed.found()), ["1.1.0"]);
    for path in [
        format!("{path}/1.0.0"),
        format!("{path}/1.0.0/download/linux/amd64"),
        format!("{mirror}/1.0.0.json"),
        format!("{oci}/manifests/1.0.0"),
    ] {
        registry.head(&path).expect(410);
        let gone = registry.get(&path).expect(410);
        assert!(gone.text().contains(reason), "{path} {}", gone.text());
        assert_eq!(gone.header("cache-control"), Some("no-store"), "{path}");
    }
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
    say_as("active").refuses(403, "requires the scope admin");
}

#[test]
fn an_invalid_status_of_a_release_is_rejected_with_the_rule() {
    let registry = Registry::start();
    let (_, admin) = provider(&registry);
    let version = format!("{admin}/1.0.0");
    let (other, invalid) = (format!("{admin}/9.9.9"), format!("{admin}/1"));
    for (path, state, reason, status) in [
        (version.as_str(), "yanked", "x", 422),
        (&version, "withdrawn", "", 422),
        (&version, "withdrawn", "a\nb", 422),
        (&version, "withdrawn", "\u{1b}[31mred", 422),
        (&admin, "withdrawn", "x", 422),
        (&admin, "revoked", "x", 422),
        (&other, "withdrawn", "x", 404),
        (&invalid, "withdrawn", "x", 400),
        ("providers/nobody/nothing", "deprecated", "x", 404),
    ] {
        set_state(&registry, path, state, reason).expect(status);
    }
}

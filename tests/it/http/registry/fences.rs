//! Stored bytes are fenced: no browser runs them on the hostname of the registry.

use crate::support::registry::{Response, Sent};
use crate::support::{ModuleFixture, Registry};

const FENCE: [(&str, &str); 4] = [
    ("content-security-policy", "sandbox; default-src 'none'"),
    ("content-disposition", "attachment"),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-content-type-options", "nosniff"),
];

#[track_caller]
fn assert_fenced(response: &Response) {
    for (name, value) in FENCE {
        assert_eq!(response.header(name), Some(value));
    }
}

#[test]
fn the_worker_fences_archives_and_manifests_and_nothing_else() {
    let registry = Registry::start();
    let fixture = ModuleFixture::new("1.0.0");
    fixture.publish(&registry);
    let lists = format!("/v2/modules/{}", fixture.address);
    let manifest = registry
        .get(&format!("{lists}/manifests/1.0.0"))
        .expect(200);
    assert_fenced(&manifest);
    let digest = manifest.json()["layers"][0]["digest"].clone();
    let blob = format!("{lists}/blobs/{}", digest.as_str().unwrap());
    assert_fenced(&registry.head(&blob).expect(200));
    if !registry.is_presigned() {
        let led = registry.get(&blob).expect(307);
        let url = led.header("location").unwrap();
        assert_fenced(&registry.get(url).expect(200));
        let part = Sent::new("GET", url).header("range", "bytes=0-3");
        assert_fenced(&registry.send(&part).expect(206));
    }
    for path in [
        format!("{}/versions", fixture.path()),
        format!("{}/1.0.0/download", fixture.path()),
        format!("{lists}/tags/list"),
        "/v2/".to_owned(),
        "/.well-known/terraform.json".to_owned(),
        format!("/api/v1/modules/{}", fixture.address),
    ] {
        let response = registry.get(&path);
        assert!(response.status < 300, "{path}: {}", response.status);
        for (name, _) in FENCE.into_iter().take(3) {
            assert_eq!(response.header(name), None, "{path}");
        }
    }
    // Pages run their own script, and have a policy of their own.
    for path in [
        "/".to_owned(),
        "/browse/modules".to_owned(),
        format!("/modules/{}/1.0.0", fixture.address),
        format!("/modules/{}/feed.atom", fixture.address),
        format!("/badges/modules/{}/version.svg", fixture.address),
    ] {
        let response = registry.get(&path).expect(200);
        let policy = response.header("content-security-policy").unwrap();
        assert!(!policy.contains("sandbox"), "{path}: {policy}");
        assert_eq!(response.header("content-disposition"), None, "{path}");
    }
}

//! Manifests that refer to another one.

use serde_json::json;

use crate::support::Registry;
use crate::support::pushed::{INDEX, MANIFEST, Pushed, digest, manifest_at, referrer_of};

#[test]
fn the_referrers_of_a_manifest_are_listed_and_filtered_11_7() {
    let registry = Registry::start();
    let pushed = Pushed::new(&registry);
    let subject = pushed.artifact("subject", b"layer", json!({}));
    let subject = referrer_of(&subject)["subject"].take();
    let path = format!("referrers/{}", subject["digest"].as_str().unwrap());
    let empty = pushed.get(&path).expect(200);
    assert_eq!(empty.header("content-type"), Some(INDEX));
    assert_eq!(empty.json()["manifests"], json!([]));
    let more = |kind: &str| json!({ "subject": subject, "artifactType": kind, "annotations": { "a": kind } });
    let first = pushed.artifact("first", b"layer", more("application/vnd.a+json"));
    let second = pushed.artifact("second", b"layer", more("application/vnd.b+json"));
    let created = pushed.put_manifest("again", MANIFEST, &second).expect(201);
    assert_eq!(created.header("oci-subject"), subject["digest"].as_str());
    let mut found = pushed.get(&path).found()["manifests"].clone();
    let found = found.as_array_mut().unwrap();
    assert_eq!(found.len(), 2);
    found.sort_by_key(|it| it["artifactType"].as_str().unwrap().to_owned());
    assert_eq!(
        found[0],
        json!({
            "mediaType": MANIFEST,
            "digest": digest(first.as_bytes()),
            "size": first.len(),
            "artifactType": "application/vnd.a+json",
            "annotations": { "a": "application/vnd.a+json" },
        })
    );
    for filter in ["application/vnd.b+json", "application%2Fvnd.b%2Bjson"] {
        let filtered = pushed.get(&format!("{path}?artifactType={filter}"));
        let filtered = filtered.expect(200);
        assert_eq!(filtered.header("oci-filters-applied"), Some("artifactType"));
        let json = filtered.json();
        assert_eq!(json["manifests"][0]["digest"], digest(second.as_bytes()));
        assert_eq!(json["manifests"][1], json!(null));
    }
    pushed.send("DELETE", &manifest_at(&first)).expect(202);
    let left = pushed.get(&path).found();
    assert_eq!(left["manifests"].as_array().unwrap().len(), 1);
    pushed.get("referrers/latest").expect(400);
}

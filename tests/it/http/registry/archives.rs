//! Worker-signed archive URLs. In presigned mode these tests exercise the bucket's own check.

use crate::support::fixtures::sha256;
use crate::support::registry::Sent;
use crate::support::{ProviderFixture, Registry};

fn download_url(registry: &Registry, version: &str) -> (ProviderFixture, String) {
    let fixture = ProviderFixture::new(version);
    fixture.publish(registry);
    let json = registry
        .get(&format!(
            "{}/{version}/download/linux/amd64",
            fixture.path()
        ))
        .json();
    (fixture, json["download_url"].as_str().unwrap().to_owned())
}

/// Returns every variant of a URL with one character of its signed part changed.
fn tampered(url: &str) -> Vec<String> {
    let signature = if url.contains("X-Amz-Signature=") {
        "X-Amz-Signature="
    } else {
        "/archives/"
    };
    let start = url.find(signature).unwrap() + signature.len();
    let flip = |at: usize| {
        let mut bytes = url.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
        String::from_utf8(bytes).unwrap()
    };
    (start..start + 40)
        .filter(|at| url.as_bytes()[*at].is_ascii_alphanumeric())
        .map(flip)
        .collect()
}

#[test]
fn a_tampered_url_is_refused() {
    let registry = Registry::start();
    let (_, url) = download_url(&registry, "1.0.0");
    registry.get(&url).expect(200);
    for tampered in tampered(&url) {
        let response = registry.get(&tampered);
        assert!(
            matches!(response.status, 403 | 404),
            "{tampered}: {}",
            response.status
        );
    }
}

#[test]
fn a_worker_signed_url_ignores_a_token_2_2_6() {
    let registry = Registry::start();
    let (_, url) = download_url(&registry, "1.0.0");
    let response = registry.send(&Sent::new("GET", &url).header("authorization", "Bearer stale"));
    // A bucket accepts only one way to authenticate; no client sends it a token.
    let expected = if registry.is_presigned() {
        400..=403
    } else {
        200..=200
    };
    assert!(expected.contains(&response.status), "{response:?}");
}

#[test]
fn a_url_opens_no_other_object_and_serves_no_other_method() {
    let registry = Registry::start();
    let (fixture, url) = download_url(&registry, "1.0.0");
    let [mine, other] = [0, 1].map(|at| sha256(&fixture.packages[at].3));
    registry.get(&url.replace(&mine, &other)).expect(403);
    let put = Sent::new("PUT", &url).body(fixture.packages[0].3.clone());
    registry.send(&put).expect(403);
    let next = ProviderFixture::of(&fixture.namespace, "widget", "1.0.1");
    let answer = next.put(&registry).expect(202).json();
    let upload = &answer["missing"][0]["upload"]["url"];
    next.upload(&registry);
    registry.get(upload.as_str().unwrap()).expect(403);
}

#[test]
fn an_upload_of_another_length_is_refused() {
    let (registry, fixture) = (Registry::start(), ProviderFixture::new("1.0.0"));
    if registry.has_bucket() {
        return; // The bucket checks the digest, which binds the length.
    }
    fixture.add_key(&registry);
    let answer = fixture.put(&registry).json();
    let url = answer["missing"][0]["upload"]["url"].as_str().unwrap();
    registry
        .send(&Sent::new("PUT", url).body("shorter"))
        .expect(403);
    // A server in front may add a length of 0.
    let response = registry.send(&Sent::new("PUT", url));
    assert!(matches!(response.status, 403 | 411), "{response:?}");
}

#[test]
fn an_archive_is_served_with_its_type_and_is_not_cached() {
    let registry = Registry::start();
    let (_, url) = download_url(&registry, "1.0.0");
    let response = registry.get(&url);
    assert_eq!(response.header("content-type"), Some("application/zip"));
    if !registry.is_presigned() {
        assert_eq!(response.header("cache-control"), Some("no-store"));
        // No browser runs it on the hostname of the registry.
        let policy = response.header("content-security-policy");
        assert_eq!(policy, Some("sandbox; default-src 'none'"));
    }
}

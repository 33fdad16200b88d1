//! OCI Distribution as OpenTofu uses it: repositories that are generated from published packages.

use serde_json::{Value, json};

use super::NOTHING;
use crate::support::fixtures::sha256;
use crate::support::pushed::code;
use crate::support::registry::Sent;
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry, Response};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn tags(registry: &Registry, repository: &str) -> Vec<String> {
    let json = registry.read(&format!("/v2/{repository}/tags/list"));
    serde_json::from_value(json["tags"].clone()).unwrap()
}

/// Fetches a manifest by tag: HEAD, then GET by the digest in its response, as OpenTofu does.
fn resolve(registry: &Registry, repository: &str, tag: &str) -> (String, Value) {
    let path = format!("/v2/{repository}/manifests/{tag}");
    let head = registry.head(&path).expect(200);
    let digest = head.header("docker-content-digest").unwrap().to_owned();
    let by_digest = manifest(registry, repository, &digest);
    let by_tag = registry.get(&path).expect(200);
    assert_eq!(by_tag.json(), by_digest.json());
    assert_eq!(
        head.header("content-type"),
        by_digest.header("content-type")
    );
    let length = by_digest.body.len().to_string();
    assert_eq!(head.header("content-length"), Some(length.as_str()));
    let media_type = head.header("content-type").unwrap().to_owned();
    (media_type, by_digest.json())
}

fn manifest(registry: &Registry, repository: &str, digest: &str) -> Response {
    let response = registry
        .get(&format!("/v2/{repository}/manifests/{digest}"))
        .expect(200);
    assert_eq!(format!("sha256:{}", sha256(&response.body)), digest);
    assert_eq!(response.header("docker-content-digest"), Some(digest));
    let json = response.json();
    assert_eq!(response.header("content-type"), json["mediaType"].as_str());
    response
}

/// Returns the bytes of a manifest's only layer.
fn layer(registry: &Registry, repository: &str, manifest: &Value) -> Vec<u8> {
    let layers = manifest["layers"].as_array().unwrap();
    assert_eq!(layers.len(), 1);
    assert_eq!(layers[0]["mediaType"], "archive/zip");
    let path = format!(
        "/v2/{repository}/blobs/{}",
        layers[0]["digest"].as_str().unwrap()
    );
    let head = registry.head(&path).expect(200);
    assert_eq!(
        head.header("content-length"),
        Some(layers[0]["size"].to_string().as_str())
    );
    let led = registry.get(&path).expect(307);
    assert_eq!(led.header("cache-control"), Some("no-store"));
    let bytes = registry
        .get(led.header("location").unwrap())
        .expect(200)
        .body;
    assert_eq!(bytes.len() as u64, layers[0]["size"].as_u64().unwrap());
    bytes
}

/// Sends the requests with which OpenTofu installs a provider from a repository.
fn assert_installable(registry: &Registry, repository: &str, provider: &ProviderFixture) {
    let tag = provider.version.replace('+', "_");
    assert_eq!(tags(registry, repository), [tag.as_str()]);
    let (media_type, index) = resolve(registry, repository, &tag);
    assert_eq!(media_type, INDEX);
    assert_eq!(index["artifactType"], "application/vnd.opentofu.provider");
    let manifests = index["manifests"].as_array().unwrap();
    assert_eq!(manifests.len(), provider.packages.len());
    for (descriptor, (_, os, arch, zip)) in manifests.iter().zip(&provider.packages) {
        let target = "application/vnd.opentofu.provider-target";
        assert_eq!(descriptor["mediaType"], MANIFEST);
        assert_eq!(descriptor["artifactType"], target);
        assert_eq!(
            descriptor["platform"],
            json!({ "os": os, "architecture": arch })
        );
        let found = manifest(registry, repository, descriptor["digest"].as_str().unwrap());
        assert_eq!(
            found.body.len() as u64,
            descriptor["size"].as_u64().unwrap()
        );
        let found = found.json();
        assert_eq!(found["artifactType"], target);
        assert_eq!(layer(registry, repository, &found), *zip);
    }
}

#[test]
fn a_provider_is_an_artifact_under_each_of_its_names_6_5_6_6() {
    let registry = Registry::start();
    let provider = ProviderFixture::new("1.2.0+build.5");
    provider.publish(&registry);
    let name = format!("{}/{}", provider.namespace, provider.provider_type);
    assert_installable(&registry, &format!("providers/{name}"), &provider);
    let long = format!("providers/{}/{name}", registry.hostname());
    assert_installable(&registry, &long, &provider);
    let mirrored = MirrorFixture::new("1.0.0");
    mirrored.publish(&registry);
    let repository = format!("providers/{}", mirrored.address());
    assert_installable(&registry, &repository, &mirrored.origin);
}

#[test]
fn a_module_is_an_artifact_6_7() {
    let registry = Registry::start();
    let module = ModuleFixture::new("1.0.0");
    module.publish(&registry);
    let repository = format!("modules/{}", module.address);
    assert_eq!(tags(&registry, &repository), ["1.0.0"]);
    let (media_type, found) = resolve(&registry, &repository, "1.0.0");
    assert_eq!(media_type, MANIFEST);
    assert_eq!(found["artifactType"], "application/vnd.opentofu.modulepkg");
    assert_eq!(layer(&registry, &repository, &found), module.archive);
    let config = found["config"]["digest"].as_str().unwrap();
    let config = registry.get(&format!("/v2/{repository}/blobs/{config}"));
    assert_eq!(config.expect(200).text(), "{}");
    let path = format!("/v2/{repository}/manifests/1.0.0");
    let etag = registry.head(&path).header("etag").unwrap().to_owned();
    let again = Sent::new("GET", &path).header("if-none-match", &etag);
    registry.send(&again).expect(304);
}

#[test]
fn tags_are_listed_in_pages_on_request_6_3() {
    let registry = Registry::start();
    let first = ModuleFixture::new("1.0.0");
    first.publish(&registry);
    let namespace = first.address.split('/').next().unwrap();
    for version in ["1.10.0", "1.2.0"] {
        ModuleFixture::of(namespace, version).publish(&registry);
    }
    let repository = format!("modules/{}", first.address);
    // In the order of their bytes, as the specification requires.
    assert_eq!(tags(&registry, &repository), ["1.0.0", "1.10.0", "1.2.0"]);
    let list = format!("/v2/{repository}/tags/list");
    let page = registry.get(&format!("{list}?n=2")).expect(200);
    assert_eq!(page.json()["tags"], json!(["1.0.0", "1.10.0"]));
    let link = page.header("link").unwrap();
    let next = link
        .strip_prefix('<')
        .unwrap()
        .strip_suffix(">; rel=\"next\"")
        .unwrap();
    let rest = registry.get(next).expect(200);
    assert_eq!(rest.json()["tags"], json!(["1.2.0"]));
    assert_eq!(rest.header("link"), None);
    let behind = registry.get(&format!("{list}?last=1.10.0")).expect(200);
    assert_eq!(behind.json()["tags"], json!(["1.2.0"]));
    for n in ["-1", "x"] {
        let refused = registry.get(&format!("{list}?n={n}")).expect(400).json();
        let message = refused["errors"][0]["message"].as_str().unwrap();
        assert!(
            message.starts_with(&format!("the parameter n is {n}: ")),
            "{refused}"
        );
    }
    let none = registry.get(&format!("{list}?n=0")).expect(200);
    assert_eq!(none.json()["tags"], json!([]));
}

#[test]
fn the_base_and_the_list_of_referrers_answer_without_a_token_6_1_11_7() {
    let registry = Registry::start();
    for path in ["/v2/", "/v2"] {
        let response = registry.get(path).expect(200);
        let version = response.header("docker-distribution-api-version");
        assert_eq!(version, Some("registry/2.0"));
        registry.head(path).expect(200);
    }
    let response = registry.get(&format!("/v2/providers/acme/widget/referrers/{NOTHING}"));
    assert_eq!(response.found()["manifests"], json!([]));
}

/// Clients look elsewhere after `NAME_UNKNOWN`.
#[test]
fn an_error_has_the_code_of_its_kind_6_4() {
    let registry = Registry::start();
    let provider = ProviderFixture::new("1.0.0");
    provider.publish(&registry);
    let own = format!("providers/{}/widget", provider.namespace);
    let zip = format!("sha256:{}", sha256(&provider.packages[0].3));
    let index = resolve(&registry, &own, "1.0.0").1;
    let target = index["manifests"][0]["digest"].as_str().unwrap();
    // A zip of one repository is not available in another.
    let module = ModuleFixture::new("1.0.0");
    module.publish(&registry);
    let elsewhere = format!("modules/{}/blobs/{zip}", module.address);
    for (path, status, expected) in [
        ("providers/nobody/nothing/tags/list", 404, "NAME_UNKNOWN"),
        ("modules/nobody/nothing/aws/tags/list", 404, "NAME_UNKNOWN"),
        ("some/other/repository/tags/list", 404, "NAME_UNKNOWN"),
        ("Providers/acme/widget/tags/list", 404, "NAME_INVALID"),
        ("a..b/tags/list", 404, "NAME_INVALID"),
        (
            &format!("{own}/manifests/{NOTHING}"),
            404,
            "MANIFEST_UNKNOWN",
        ),
        (&format!("{own}/manifests/{zip}"), 404, "MANIFEST_UNKNOWN"),
        (&format!("{own}/manifests/9.9.9"), 404, "MANIFEST_UNKNOWN"),
        (&format!("{own}/manifests/latest"), 404, "MANIFEST_UNKNOWN"),
        (&format!("{own}/manifests/1.0"), 404, "MANIFEST_UNKNOWN"),
        (&format!("{own}/blobs/{NOTHING}"), 404, "BLOB_UNKNOWN"),
        (&format!("{own}/blobs/{target}"), 404, "BLOB_UNKNOWN"),
        (&elsewhere, 404, "BLOB_UNKNOWN"),
        (&format!("{own}/manifests/sha256:0"), 400, "DIGEST_INVALID"),
        (
            &format!("{own}/blobs/md5:{}", "0".repeat(32)),
            400,
            "DIGEST_INVALID",
        ),
        ("_catalog?n=1000", 404, "UNSUPPORTED"),
    ] {
        let refused = registry.get(&format!("/v2/{path}")).expect(status);
        assert_eq!(code(&refused), expected, "{path}");
        assert_eq!(refused.header("cache-control"), Some("no-store"));
        registry.head(&format!("/v2/{path}")).expect(status);
    }
    let refused = registry.admin("POST", "/v2/_catalog", Some(b"{}"));
    assert_eq!(refused.expect(405).header("allow"), Some("GET, HEAD"));
    // A repository of a published package accepts no pushes.
    for (method, rest) in [
        ("POST", "blobs/uploads/".to_owned()),
        ("POST", format!("blobs/uploads/?mount={NOTHING}&from=other")),
        ("PUT", "manifests/1.0.0".to_owned()),
        ("DELETE", "manifests/1.0.0".to_owned()),
        ("DELETE", format!("blobs/{NOTHING}")),
    ] {
        let refused = registry.admin(method, &format!("/v2/{own}/{rest}"), Some(b"{}"));
        assert_eq!(code(&refused.expect(405)), "UNSUPPORTED", "{method} {rest}");
    }
}

//! OCI Distribution as OpenTofu uses it: repositories that are generated from published packages.

use serde_json::{Value, json};

use crate::support::fixtures::{sha256, tar_gz_of};
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry, Response};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn code(response: &Response) -> Value {
    response.json()["errors"][0]["code"].clone()
}

fn tags(registry: &Registry, repository: &str) -> Vec<String> {
    let json = registry
        .get(&format!("/v2/{repository}/tags/list"))
        .expect(200)
        .json();
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
fn the_base_answers_without_a_token_6_1() {
    let registry = Registry::start();
    for path in ["/v2/", "/v2"] {
        let response = registry.get(path).expect(200);
        assert_eq!(
            response.header("docker-distribution-api-version"),
            Some("registry/2.0")
        );
        registry.head(path).expect(200);
    }
}

#[test]
fn a_hosted_provider_is_an_artifact_under_its_short_and_its_long_name_6_5_6_6() {
    let registry = Registry::start();
    let provider = ProviderFixture::new("1.2.0+build.5");
    provider.publish(&registry);
    let name = format!("{}/{}", provider.namespace, provider.provider_type);
    assert_installable(&registry, &format!("providers/{name}"), &provider);
    let long = format!("providers/{}/{name}", registry.hostname());
    assert_installable(&registry, &long, &provider);
}

#[test]
fn a_mirrored_provider_is_an_artifact_6_6() {
    let registry = Registry::start();
    let fixture = MirrorFixture::new("1.0.0");
    fixture.publish(&registry);
    let repository = format!("providers/{}", fixture.address());
    assert_installable(&registry, &repository, &fixture.origin);
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
}

/// OpenTofu accepts only zips.
#[test]
fn a_module_that_is_not_a_zip_has_no_artifact() {
    let registry = Registry::start();
    let module = ModuleFixture::new("1.0.0");
    let module = module.with_tar_gz(tar_gz_of(&[("main.tf", b"# nothing\n")]));
    module.publish(&registry);
    let repository = format!("modules/{}", module.address);
    assert_eq!(tags(&registry, &repository), Vec::<String>::new());
    let missing = registry
        .get(&format!("/v2/{repository}/manifests/1.0.0"))
        .expect(404);
    assert_eq!(code(&missing), "MANIFEST_UNKNOWN");
}

#[test]
fn the_config_of_a_manifest_can_be_fetched() {
    let registry = Registry::start();
    let provider = ProviderFixture::new("1.0.0");
    provider.publish(&registry);
    let repository = format!("providers/{}/widget", provider.namespace);
    let (_, index) = resolve(&registry, &repository, "1.0.0");
    let digest = index["manifests"][0]["digest"].as_str().unwrap();
    let config = manifest(&registry, &repository, digest).json()["config"].clone();
    let path = format!(
        "/v2/{repository}/blobs/{}",
        config["digest"].as_str().unwrap()
    );
    let found = registry.get(&path).expect(200);
    assert_eq!(format!("sha256:{}", sha256(&found.body)), config["digest"]);
    assert_eq!(
        registry.head(&path).expect(200).header("content-length"),
        Some("2")
    );
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
fn an_unknown_repository_is_404_name_unknown_so_that_clients_look_elsewhere_6_4() {
    let registry = Registry::start();
    for repository in [
        "providers/nobody/nothing",
        "providers/registry.example.com/nobody/nothing",
        "modules/nobody/nothing/aws",
        "anything",
        "some/other/repository",
        "providers/acme/widget/with/more",
    ] {
        let missing = registry
            .get(&format!("/v2/{repository}/tags/list"))
            .expect(404);
        assert_eq!(code(&missing), "NAME_UNKNOWN", "{repository}");
        assert_eq!(missing.header("cache-control"), Some("no-store"));
    }
    for repository in [
        "Providers/acme/widget",
        "providers//widget",
        "a..b",
        "-a/b",
        "a___b",
    ] {
        let missing = registry
            .get(&format!("/v2/{repository}/tags/list"))
            .expect(404);
        assert_eq!(code(&missing), "NAME_INVALID", "{repository}");
    }
}

#[test]
fn a_missing_part_of_a_repository_has_the_error_code_of_its_kind() {
    let registry = Registry::start();
    let provider = ProviderFixture::new("1.0.0");
    provider.publish(&registry);
    let repository = format!("providers/{}/widget", provider.namespace);
    let nothing = format!("sha256:{}", "0".repeat(64));
    let zip = format!("sha256:{}", sha256(&provider.packages[0].3));
    let (_, index) = resolve(&registry, &repository, "1.0.0");
    let target = index["manifests"][0]["digest"].as_str().unwrap();
    for (path, wanted) in [
        (format!("manifests/{nothing}"), "MANIFEST_UNKNOWN"),
        (format!("manifests/{zip}"), "MANIFEST_UNKNOWN"),
        ("manifests/9.9.9".to_owned(), "MANIFEST_UNKNOWN"),
        ("manifests/latest".to_owned(), "MANIFEST_UNKNOWN"),
        ("manifests/v1.0.0".to_owned(), "MANIFEST_UNKNOWN"),
        ("manifests/1.0".to_owned(), "MANIFEST_UNKNOWN"),
        (format!("blobs/{nothing}"), "BLOB_UNKNOWN"),
        (format!("blobs/{target}"), "BLOB_UNKNOWN"),
    ] {
        let missing = registry
            .get(&format!("/v2/{repository}/{path}"))
            .expect(404);
        assert_eq!(code(&missing), wanted, "{path}");
        registry
            .head(&format!("/v2/{repository}/{path}"))
            .expect(404);
    }
    // A zip of one repository is not available in another.
    let other = ModuleFixture::new("1.0.0");
    other.publish(&registry);
    let missing = registry
        .get(&format!("/v2/modules/{}/blobs/{zip}", other.address))
        .expect(404);
    assert_eq!(code(&missing), "BLOB_UNKNOWN");
}

#[test]
fn a_malformed_digest_is_400_digest_invalid() {
    let registry = Registry::start();
    for digest in [
        "sha256:",
        "sha256:0",
        &format!("sha256:{}", "A".repeat(64)),
        &format!("sha256:{}", "g".repeat(64)),
        &format!("sha512:{}", "0".repeat(128)),
        &format!("md5:{}", "0".repeat(32)),
    ] {
        for kind in ["manifests", "blobs"] {
            let refused = registry
                .get(&format!("/v2/providers/acme/widget/{kind}/{digest}"))
                .expect(400);
            assert_eq!(code(&refused), "DIGEST_INVALID", "{kind}/{digest}");
        }
    }
}

#[test]
fn every_error_has_a_code() {
    let registry = Registry::start();
    for path in ["/v2/a", &format!("/v2/{}tags/list", "a/".repeat(600))] {
        let response = registry.get(path);
        assert!(code(&response).is_string(), "{}", response.text());
    }
}

#[test]
fn the_catalog_is_404_unsupported_with_the_alternative() {
    let registry = Registry::start();
    for path in ["/v2/_catalog", "/v2/_catalog?n=1000"] {
        let refused = registry.get(path).expect(404);
        assert_eq!(code(&refused), "UNSUPPORTED", "{path}");
        assert!(refused.text().contains("/tags/list"), "{}", refused.text());
        assert_eq!(registry.head(path).expect(404).text(), "");
    }
    let refused = registry.admin("POST", "/v2/_catalog", Some(b"{}"));
    let refused = refused.expect(405);
    assert_eq!(refused.header("allow"), Some("GET, HEAD"));
    assert_eq!(code(&refused), "UNSUPPORTED");
}

#[test]
fn a_published_manifest_has_no_referrers_11_7() {
    let registry = Registry::start();
    let path = format!(
        "/v2/providers/acme/widget/referrers/sha256:{}",
        "0".repeat(64)
    );
    let response = registry.get(&path).expect(200);
    assert_eq!(response.header("content-type"), Some(INDEX));
    assert_eq!(response.json()["manifests"], json!([]));
}

#[test]
fn a_repository_of_a_published_package_rejects_pushes() {
    let registry = Registry::start();
    let digest = format!("sha256:{}", "0".repeat(64));
    for (method, path) in [
        ("POST", "blobs/uploads/".to_owned()),
        ("POST", format!("blobs/uploads/?mount={digest}&from=other")),
        ("PUT", "manifests/1.0.0".to_owned()),
        ("DELETE", "manifests/1.0.0".to_owned()),
        ("DELETE", format!("blobs/{digest}")),
    ] {
        let target = format!("/v2/providers/acme/widget/{path}");
        let refused = registry.admin(method, &target, Some(b"{}")).expect(405);
        assert_eq!(code(&refused), "UNSUPPORTED", "{method} {path}");
    }
}

#[test]
fn an_unchanged_manifest_is_304() {
    let registry = Registry::start();
    let module = ModuleFixture::new("1.0.0");
    module.publish(&registry);
    let path = format!("/v2/modules/{}/manifests/1.0.0", module.address);
    let etag = registry.head(&path).header("etag").unwrap().to_owned();
    let sent = crate::support::registry::Sent::new("GET", &path).header("if-none-match", &etag);
    registry.send(&sent).expect(304);
}

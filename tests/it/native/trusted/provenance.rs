//! The verified claims of a job, from its token to the release, the indices and the audit log.

use serde_json::{Value, json};

use super::given;
use crate::support::chain::entries;
use crate::support::fixtures::upload;
use crate::support::issuer::{Claims, GITHUB, Issuers, genuine, github, with};
use crate::support::memory::Memory;
use crate::support::mirrored::MirrorFixture;
use crate::support::pushed::{PushedProvider, digest};
use crate::support::registry::Sent;
use crate::support::{ModuleFixture, ProviderFixture, Registry, Response};

pub const REPOSITORY: &str = "https://github.com/acme/terraform-aws-vpc";
const COMMIT: &str = "c1a5d0f13f4b4f0e9a535a5d4f6b7c8df1c2a5d0";

/// Returns a registry that trusts GitHub's jobs with everything that the tests publish.
fn trusting() -> (Memory, Registry) {
    trusting_with(&[])
}

/// Returns a registry that trusts GitHub's jobs, with further variables.
pub fn trusting_with(more: &[(&str, &str)]) -> (Memory, Registry) {
    let memory = Memory::new();
    Issuers::connected_to(&memory);
    let rules = json!([{
        "scopes": ["publish:acme", "publish:registry.example.com/acme", "publish:registry.opentofu.org/acme"],
        "issuer": GITHUB,
        "claims": { "repository": "acme/*" },
    }]);
    let rules = rules.to_string();
    let vars = [&[("TERRACE_TRUSTED_PUBLISHERS", &*rules)], more].concat();
    let registry = Registry::in_memory(&memory, &vars);
    (memory, registry)
}

/// Returns the token of a job.
pub fn job(registry: &Registry, claims: &Claims) -> String {
    given(registry, &genuine(claims))
}

/// The claims that a release of the usual job records.
fn recorded() -> Value {
    json!({
        "issuer": GITHUB,
        "repository": "acme/terraform-aws-vpc",
        "url": REPOSITORY,
        "commit": COMMIT,
        "ref": "refs/tags/v1.2.3",
        "workflow": "acme/terraform-aws-vpc/.github/workflows/release.yml@refs/tags/v1.2.3",
        "run": "4242",
    })
}

/// Sends a description with a token; uploads what is missing, and sends it again.
pub fn put(
    registry: &Registry,
    token: &str,
    path: &str,
    body: &Value,
    archives: &[&[u8]],
) -> Response {
    let send = || registry.send(&Sent::new("PUT", path).bearing(token).body(body.to_string()));
    let first = send();
    if first.status != 202 {
        return first;
    }
    upload(registry, &first, archives);
    send()
}

/// Publishes a module with a token; `more` are further fields of its description.
pub fn put_module(
    registry: &Registry,
    token: &str,
    fixture: &ModuleFixture,
    more: &Value,
) -> Response {
    let mut body = fixture.description();
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    let path = fixture.admin_path();
    put(registry, token, &path, &body, &[&fixture.archive])
}

fn document(memory: &Memory, key: &str) -> Value {
    serde_json::from_slice(&memory.object_bytes(key)).unwrap()
}

fn module() -> (ModuleFixture, String) {
    let fixture = ModuleFixture::of("acme", "1.0.0");
    let key = format!("releases/modules/{}/1.0.0", fixture.address);
    (fixture, key)
}

#[test]
fn a_release_and_its_audit_entry_record_the_job_that_published_it() {
    let (memory, registry) = trusting();
    let (fixture, key) = module();
    let token = job(&registry, &github());
    let answer = put_module(&registry, &token, &fixture, &json!({})).expect(201);
    assert_eq!(answer.json()["provenance"], recorded());
    let release = document(&memory, &key);
    assert_eq!(release["provenance"], recorded());
    // A source is published only if the publisher sends one.
    assert_eq!(release.get("source"), None);
    let entry = serde_json::to_value(entries(&memory).pop().unwrap()).unwrap();
    assert_eq!(entry["provenance"], recorded());
    let published = memory.metadata(&key).into_iter();
    let published: Vec<_> = published.filter(|(name, _)| name == "published").collect();
    let time = release["published_at"].to_string();
    assert_eq!(published, [("published".to_owned(), time)]);
}

#[test]
fn a_source_in_the_repository_of_the_job_is_verified_with_its_commit() {
    let (memory, registry) = trusting();
    let (fixture, key) = module();
    let fixture = fixture.with_zip(crate::support::fixtures::zip_of(&[("main.tf", b"")]));
    let token = job(&registry, &github());
    let source = format!("{REPOSITORY}/tree/main/modules/vpc");
    let sent = json!({ "source": source });
    put_module(&registry, &token, &fixture, &sent).expect(201);
    let stored = document(&memory, &key)["source"].clone();
    let verified = json!({ "url": source, "claimed": false, "commit": COMMIT });
    assert_eq!(stored, verified);
    let path = format!("/v2/modules/{}/manifests/1.0.0", fixture.address);
    let annotations = registry.read(&path)["annotations"].clone();
    assert_eq!(annotations["org.opencontainers.image.source"], source);
    assert_eq!(annotations["org.opencontainers.image.revision"], COMMIT);
    let list = registry.get(&format!("{}/versions", fixture.path()));
    assert_eq!(list.found()["modules"][0]["source"], source);
}

#[test]
fn a_request_cannot_claim_a_provenance() {
    let (memory, registry) = trusting();
    let (fixture, key) = module();
    let refused = put_module(
        &registry,
        registry.token(),
        &fixture,
        &json!({ "provenance": recorded() }),
    );
    assert!(refused.expect(400).errors().contains("provenance"));
    let sent = json!({ "source": REPOSITORY, "commit": COMMIT });
    put_module(&registry, registry.token(), &fixture, &sent).expect(201);
    let release = document(&memory, &key);
    assert_eq!(release["source"]["claimed"], true);
    assert_eq!(release.get("provenance"), None);
}

#[test]
fn the_first_publishers_provenance_stays() {
    for is_job_first in [true, false] {
        let (memory, registry) = trusting();
        let (fixture, key) = module();
        let other = with(github(), "run_id", "4343");
        let tokens = [job(&registry, &github()), registry.token().to_owned()];
        let [first, second] = match is_job_first {
            true => [&tokens[0], &job(&registry, &other)],
            false => [&tokens[1], &tokens[0]],
        };
        put_module(&registry, first, &fixture, &json!({})).expect(201);
        let stored = memory.object_bytes(&key);
        let again = put_module(&registry, second, &fixture, &json!({})).found();
        assert_eq!(memory.object_bytes(&key), stored);
        let expected = if is_job_first {
            recorded()
        } else {
            Value::Null
        };
        assert_eq!(again["provenance"], expected);
    }
}

#[test]
fn the_details_of_a_version_have_its_commit_and_provenance() {
    let (memory, registry) = trusting();
    let fixture = ProviderFixture::of("acme", "widget", "1.0.0");
    fixture.add_key(&registry);
    let zips = fixture.packages.iter();
    let zips: Vec<&[u8]> = zips.map(|package| package.3.as_slice()).collect();
    let mut body = fixture.description();
    body["source"] = json!(REPOSITORY);
    let token = job(&registry, &github());
    put(&registry, &token, &fixture.admin_path(), &body, &zips).expect(201);
    let source = json!({ "url": REPOSITORY, "claimed": false, "commit": COMMIT });
    let assert_described = || {
        let details = registry.get("/api/v1/providers/acme/widget/1.0.0");
        let details = details.found();
        assert_eq!(details["source"], source);
        assert_eq!(details["provenance"], recorded());
        let package = registry.get("/api/v1/providers/acme/widget");
        assert_eq!(package.found()["versions"][0]["source"], source);
    };
    assert_described();
    memory.lose_indices();
    assert_described();
    registry
        .get(&format!("{}/1.0.0/download/linux/amd64", fixture.path()))
        .expect(200);
}

#[test]
fn a_mirrored_release_keeps_the_job_that_mirrored_its_first_platform() {
    let (memory, registry) = trusting();
    let origin = || ProviderFixture::of("acme", "widget", "1.0.0");
    let key = "releases/providers/registry.example.com/acme/widget/1.0.0";
    let zips = origin();
    let zips: Vec<&[u8]> = zips
        .packages
        .iter()
        .map(|package| package.3.as_slice())
        .collect();
    for (architecture, run) in [("amd64", "4242"), ("arm64", "4343")] {
        let fixture = MirrorFixture::of(origin()).only(architecture);
        let token = job(&registry, &with(github(), "run_id", run));
        let (path, body) = (fixture.admin_path(), fixture.description());
        let answer = put(&registry, &token, &path, &body, &zips).expect(201);
        assert_eq!(answer.json()["provenance"], recorded());
    }
    let release = document(&memory, key);
    assert_eq!(release["packages"].as_array().unwrap().len(), 2);
    assert_eq!(release["provenance"], recorded());
}

#[test]
fn a_provider_that_a_job_pushes_by_oci_records_the_job() {
    let (memory, registry) = trusting();
    let provider = PushedProvider::of("acme", "1");
    let index = provider.prepare(&registry).to_string();
    let token = job(&registry, &github());
    // OCI clients exchange the token once more.
    let ask = Sent::new("GET", "/v2/token?service=x").bearing(&token);
    let session = registry.send(&ask).found()["token"].clone();
    let path = format!("/v2/{}/manifests/1.0.0", provider.repository());
    let push = Sent::new("PUT", &path).bearing(session.as_str().unwrap());
    let push = push.header("content-type", "application/vnd.oci.image.index.v1+json");
    registry.send(&push.body(index.clone())).expect(201);
    let release = document(
        &memory,
        "releases/providers/registry.opentofu.org/acme/widget/1.0.0",
    );
    assert_eq!(release["provenance"], recorded());
    let entry = serde_json::to_value(entries(&memory).pop().unwrap()).unwrap();
    assert_eq!(
        entry["sent"],
        digest(index.as_bytes()).trim_start_matches("sha256:")
    );
    assert_eq!(entry["provenance"], recorded());
}

#[test]
fn a_restored_release_keeps_its_provenance() {
    let (memory, registry) = trusting();
    let (fixture, key) = module();
    let token = job(&registry, &github());
    put_module(
        &registry,
        &token,
        &fixture,
        &json!({ "source": REPOSITORY }),
    )
    .expect(201);
    let (text, metadata) = (memory.object_bytes(&key), memory.metadata(&key));
    memory.remove_object(&key);
    let restored = String::from_utf8(text.clone()).unwrap();
    let body = json!({ "facts": [{ "key": key, "document": restored }] });
    let restored = registry.put("/admin/v1/facts", &body).found();
    assert_eq!(restored["created"], json!([key]));
    assert_eq!(memory.object_bytes(&key), text);
    assert_eq!(memory.metadata(&key), metadata);
}

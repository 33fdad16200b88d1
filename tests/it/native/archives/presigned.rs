//! Presigned URLs, without a bucket: their signer, their lifetime, and the signed fields.

use serde_json::Value;

use crate::support::fixtures::sha256;
use crate::support::memory::Memory;
use crate::support::{ModuleFixture, ProviderFixture, Registry};

const S3: [(&str, &str); 5] = [
    ("TERRACE_S3_ENDPOINT", "https://account.r2.example.com"),
    ("TERRACE_S3_BUCKET", "terrace"),
    ("TERRACE_S3_ACCESS_KEY_ID", "id"),
    ("TERRACE_S3_SECRET_ACCESS_KEY", "secret"),
    ("TERRACE_URL_LIFETIME", "120"),
];

fn published(fixture: &ProviderFixture) -> (Memory, Registry) {
    let memory = Memory::new();
    fixture.publish(&Registry::in_memory(&memory, &[]));
    let registry = Registry::in_memory(&memory, &S3);
    (memory, registry)
}

#[test]
fn a_download_names_the_bucket_the_lifetime_and_the_archive() {
    let fixture = ProviderFixture::new("1.0.0");
    let (_, registry) = published(&fixture);
    let json = registry.read(&format!("{}/1.0.0/download/linux/amd64", fixture.path()));
    let url = json["download_url"].as_str().unwrap();
    let digest = sha256(&fixture.packages[0].3);
    let start = format!("https://account.r2.example.com/terrace/archives/{digest}.zip?");
    assert!(url.starts_with(&start), "{url}");
    assert!(
        url.contains("X-Amz-Expires=120&") && url.contains("X-Amz-SignedHeaders=host"),
        "{url}"
    );
}

#[test]
fn an_upload_is_bound_to_the_digest_and_replaces_nothing() {
    let registry = Registry::in_memory(&Memory::new(), &S3);
    let fixture = ModuleFixture::new("1.0.0");
    let json = fixture.put(&registry).expect(202).json();
    let upload: &Value = &json["missing"][0]["upload"];
    let headers = upload["headers"].as_object().unwrap();
    assert_eq!(headers["if-none-match"], "*");
    assert!(headers.contains_key("x-amz-checksum-sha256") && headers.contains_key("content-type"));
    let signed = "X-Amz-SignedHeaders=content-type%3Bhost%3Bif-none-match%3Bx-amz-checksum-sha256%3Bx-amz-source-expected-bucket-owner";
    let url = upload["url"].as_str().unwrap();
    assert!(url.ends_with(signed), "{url}");
}

#[test]
fn worker_signed_urls_are_404_in_presigned_mode() {
    let fixture = ProviderFixture::new("1.0.0");
    let (memory, registry) = published(&fixture);
    let worker = Registry::in_memory(&memory, &[]);
    let json = worker.read(&format!("{}/1.0.0/download/linux/amd64", fixture.path()));
    let url = json["download_url"].as_str().unwrap();
    registry.get(url).expect(404);
}

#[test]
fn an_archive_that_is_too_large_to_upload_is_refused_with_a_solution() {
    let registry = Registry::in_memory(&Memory::new(), &[]);
    let fixture = ModuleFixture::new("1.0.0");
    let mut description = fixture.description();
    description["archive"]["size"] = 300_000_000.into();
    let put = |registry: &Registry| registry.put(&fixture.admin_path(), &description);
    put(&registry).refuses(422, "TERRACE_S3_");
    put(&Registry::in_memory(&Memory::new(), &S3)).expect(202);
}

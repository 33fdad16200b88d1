//! Zips: streamed from the origin, stored, and served from storage.

use std::rc::Rc;

use super::{Pulling, amd64};
use crate::native::fences::assert_fenced;
use crate::support::fixtures::{Signer, sha256, zip_of};
use crate::support::memory::second_bucket::{COPIES, FALLBACK};
use crate::support::registry::S3;
use crate::support::{MirrorFixture, ProviderFixture, Response};

#[test]
fn a_pulled_zip_is_served_from_storage() {
    let (pulling, fixture) = Pulling::listed();
    let pulled_by = pulling.url(&fixture);
    pulling.memory.forget_operations();
    assert_fenced(&pulling.registry.get(&pulled_by).expect(200), &pulled_by);
    let operations = pulling.memory.operations();
    assert!(
        operations.iter().any(|it| it.contains("releases/")),
        "{operations:?}"
    );
    // The read of a client is not audited.
    assert!(
        !operations.iter().any(|it| it.contains("audit")),
        "{operations:?}"
    );
    pulling.memory.disconnect();
    pulling.memory.forget_operations();
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    let url = pulling.url(&fixture);
    assert!(url.starts_with("https://registry.test/archives/"), "{url}");
    assert_eq!(pulling.registry.get(&url).expect(200).body, amd64(&fixture));
    // A client with the earlier URL is redirected to the stored zip.
    let led = pulling.registry.get(&pulled_by).expect(302);
    let to = led.header("location").unwrap();
    assert_eq!(pulling.registry.get(to).expect(200).body, amd64(&fixture));
    assert_eq!(pulling.asked(""), 0);
}

#[test]
fn a_pulled_zip_comes_from_the_second_bucket_in_an_isolate_that_has_read_no_state() {
    let settings = [&S3[..], &FALLBACK].concat();
    let pulling = Pulling::with(&settings);
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.versions(&fixture);
    let pulled_by = pulling.url(&fixture);
    pulling.registry.get(&pulled_by).expect(200);
    let body = br#"{"serving":"fallback","reason":"R2 is down","force":true}"#;
    let changed = pulling
        .registry
        .admin("PUT", "/admin/v1/failover", Some(body));
    changed.expect(200);
    let registry = super::pulling(&pulling.memory.elsewhere(), &settings);
    let led = registry.get(&pulled_by).expect(302);
    let to = led.header("location").unwrap();
    assert!(to.starts_with(COPIES), "{to}");
}

#[test]
fn a_version_older_than_the_stored_documents_passes_on_a_zip_and_stores_nothing() {
    let (pulling, fixture) = Pulling::listed();
    let url = pulling.url(&fixture);
    pulling
        .memory
        .put_object("format", br#"{"oldest_writer":"99.0.0"}"#);
    let memory = pulling.memory.elsewhere();
    let registry = super::pulling(&memory, &[]);
    let before = memory.objects();
    assert_eq!(registry.get(&url).expect(200).body, amd64(&fixture));
    memory.lose_indices();
    let listed = registry.read(&fixture.packages());
    assert!(listed["archives"]["linux_amd64"].is_object(), "{listed}");
    assert!(memory.objects() == before);
    assert_eq!(memory.indices().len(), 0);
}

#[test]
fn an_origin_that_names_the_digest_of_a_private_archive_gets_no_access_to_it() {
    let only_mirrored_is_public = [
        ("TERRACE_ACCESS", "private"),
        ("TERRACE_ACCESS_EXCEPT", "registry.example.com"),
    ];
    for (vars, status) in [(&only_mirrored_is_public[..], 502), (&[], 302)] {
        let pulling = Pulling::with(vars);
        let mut secret = ProviderFixture::of("acme", "widget", "1.0.0");
        secret.publish(&pulling.registry);
        secret.namespace = "evil".to_owned();
        let fixture = pulling.publish(&secret);
        pulling.versions(&fixture);
        let url = pulling.url(&fixture);
        pulling.fail(".zip", 404);
        pulling.registry.get(&url).expect(status);
    }
}

#[test]
fn bytes_that_the_origin_did_not_sign_are_not_stored() {
    let (pulling, fixture) = Pulling::one();
    let url = pulling.url(&fixture);
    let spoiled = |url: &str, mut response: Response| {
        if url.ends_with(".zip") {
            response.body[0] ^= 1;
        }
        response
    };
    pulling.tamper(Rc::new(spoiled));
    pulling.registry.get(&url).expect(200);
    assert!(pulling.logs("do not match the signed digest"));
    assert_eq!(pulling.memory.keys_with(".zip"), [""; 0]);
    assert!(pulling.url(&fixture).contains("/pull/"));
    pulling.registry.get(&url).expect(502);
    pulling.connect();
    pulling.advance(30);
    assert_eq!(pulling.registry.get(&url).expect(200).body, amd64(&fixture));
    pulling.registry.get(&url).expect(302);
}

#[test]
fn a_pull_url_is_valid_for_one_package_and_until_it_expires() {
    let (pulling, fixture) = Pulling::one();
    let url = pulling.url(&fixture);
    pulling.registry.head(&url).expect(405);
    let other = url.replace("linux_amd64", "linux_arm64");
    pulling.registry.get(&other).expect(403);
    for nothing in [
        url.replace(".zip", ".tar.gz"),
        url.replace("/pull/", "/pull/0"),
        url.replace("1.0.0", "1"),
    ] {
        pulling.registry.get(&nothing).expect(404);
    }
    pulling.advance(901);
    pulling.registry.get(&url).expect(403);
    assert_eq!(pulling.asked(".zip"), 0);
}

/// The origin has signed the zip, so clients get it; but it is not stored.
#[test]
fn a_zip_without_the_providers_executable_is_not_stored() {
    let pulling = Pulling::new();
    let mut provider = ProviderFixture::new("1.0.0");
    provider.packages.truncate(1);
    provider.sign(Signer::usual());
    let fixture = pulling.publish(&provider);
    let zip = zip_of(&[("README.md", b"hello")]);
    let bad = provider.clone().with_zip(zip.clone());
    pulling.tamper(Rc::new(move |url: &str, mut response: Response| {
        if url.ends_with(".sig") {
            response.body.clone_from(&bad.signature);
        } else if response.body == provider.shasums.as_bytes() {
            response.body = bad.shasums.clone().into_bytes();
        } else if url.ends_with(".zip") {
            response.status = 200;
            response.body.clone_from(&zip);
        } else {
            let text = String::from_utf8(response.body).unwrap();
            let digests = [&provider, &bad].map(|p| sha256(&p.packages[0].3));
            response.body = text.replace(&digests[0], &digests[1]).into_bytes();
        }
        response
    }));
    let url = pulling.url(&fixture);
    for _ in 0..2 {
        pulling.registry.get(&url).expect(200);
        assert!(pulling.logs("not stored: "), "{:?}", pulling.memory.log());
        assert!(pulling.url(&fixture).contains("/pull/"));
    }
}

/// A provider may list another provider's zip as its own, and fail to send it.
#[test]
fn a_provider_that_fails_does_not_block_another() {
    let pulling = Pulling::new();
    let good = ProviderFixture::new("1.0.0");
    let mut evil = ProviderFixture::new("1.0.0");
    evil.packages.clone_from(&good.packages);
    evil.sign(Signer::usual());
    let evil_namespace = evil.namespace.clone();
    let good = pulling.publish(&good);
    evil.add_key(&pulling.origin);
    evil.put(&pulling.origin).expect(201);
    let evil = MirrorFixture::of(evil);
    let (good_url, evil_url) = (pulling.url(&good), pulling.url(&evil));
    pulling.fail(&evil_namespace, 500);
    pulling.registry.get(&evil_url).expect(502);
    let zip = pulling.registry.get(&good_url).expect(200);
    assert_eq!(zip.body, amd64(&good));
}

#[test]
fn a_client_that_has_waited_long_gets_the_zip_from_its_origin() {
    let (pulling, fixture) = Pulling::one();
    let url = pulling.url(&fixture);
    let lease = format!("leases/packages/{}/1.0.0/linux_amd64", fixture.address());
    pulling.memory.put_object(&lease, b"1900000000");
    assert_eq!(pulling.registry.get(&url).expect(200).body, amd64(&fixture));
    assert_eq!(pulling.memory.keys_with(".zip"), [""; 0]);
}

#[test]
fn a_zip_with_an_invalid_length_is_refused() {
    for length in ["0", "5363390201984", "long"] {
        let pulling = Pulling::new();
        let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
        let url = pulling.url(&fixture);
        pulling.tamper(Rc::new(move |url: &str, mut response: Response| {
            if url.ends_with(".zip") {
                let told = ("told-length".to_owned(), length.to_owned());
                response.headers.push(told);
            }
            response
        }));
        pulling.registry.get(&url).expect(502);
        // The origin is not asked again for a while.
        pulling.memory.forget_operations();
        pulling.registry.get(&url).expect(502);
        assert_eq!(pulling.asked(""), 0, "{length}");
    }
}

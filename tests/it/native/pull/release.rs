//! Versions: their platforms and signed documents, and how an interrupted pull is completed.

use std::rc::Rc;

use terrace_core::upstream::pull::PULL_CHECK_SECONDS;

use super::{Pulling, Tamper, amd64};
use crate::support::faults::{Failure, Operations, When, at_each_write};
use crate::support::fixtures::{Signer, sha256, upload, zip_of};
use crate::support::memory::Memory;
use crate::support::registry::Sent;
use crate::support::tokens::create;
use crate::support::{MirrorFixture, ProviderFixture, Registry, Response};

/// Replaces the origin by one that has other bytes as the same version, signed by the same key.
fn recreate(pulling: &mut Pulling, fixture: &MirrorFixture, content: &str) -> MirrorFixture {
    let mut provider = fixture.origin.clone();
    for (_, _, arch, zip) in &mut provider.packages {
        let content = format!("{content} {arch}");
        *zip = zip_of(&[("terraform-provider-widget_v1.0.0", content.as_bytes())]);
    }
    provider.sign(Signer::usual());
    pulling.origin = Rc::new(Registry::in_memory(&Memory::new(), &[]));
    pulling.connect();
    pulling.publish(&provider)
}

/// Returns the description of a version that replaces what is stored.
fn anew(fixture: &MirrorFixture) -> serde_json::Value {
    let mut body = fixture.description();
    body["replace"] = "created anew".into();
    body
}

fn put_anew(registry: &Registry, fixture: &MirrorFixture) -> Response {
    registry.put(&fixture.admin_path(), &anew(fixture))
}

fn publish_anew(registry: &Registry, fixture: &MirrorFixture) {
    let zips = fixture.origin.packages.iter();
    let zips: Vec<&[u8]> = zips.map(|it| &it.3[..]).collect();
    upload(registry, &put_anew(registry, fixture).expect(202), &zips);
    put_anew(registry, fixture).expect(201);
}

fn arm64_url(pulling: &Pulling, fixture: &MirrorFixture) -> String {
    let archives = pulling.archives(fixture);
    archives["linux_arm64"]["url"].as_str().unwrap().to_owned()
}

#[test]
fn a_version_that_its_origin_creates_anew_follows_it_until_a_package_is_stored() {
    let mut pulling = Pulling::new();
    let first = pulling.publish(&ProviderFixture::new("1.0.0"));
    let url = pulling.url(&first);
    let second = recreate(&mut pulling, &first, "second");
    let told = pulling.registry.get(&url).expect(502).errors();
    for part in [
        &sha256(amd64(&first)),
        &sha256(amd64(&second)),
        "as its origin offered it on",
    ] {
        assert!(told.contains(part), "{told}");
    }
    pulling.advance(60);
    let url = pulling.url(&second);
    assert_eq!(pulling.registry.get(&url).expect(200).body, amd64(&second));
    assert!(pulling.url(&second).contains("/archives/"));
    // Somebody may have locked the digests of the second one.
    let third = recreate(&mut pulling, &first, "third");
    let url = arm64_url(&pulling, &second);
    pulling.registry.get(&url).refuses(502, "--replace");
    third.put(&pulling.registry).expect(409);
    let (_, token) = create(&pulling.registry, &["publish:registry.example.com"], None);
    let sent = Sent::new("PUT", &third.admin_path()).bearing(&token);
    let sent = sent.body(anew(&third).to_string());
    pulling.registry.send(&sent).refuses(403, "admin");
    publish_anew(&pulling.registry, &third);
    put_anew(&pulling.registry, &third).expect(200);
    let url = pulling.url(&third);
    assert_eq!(pulling.registry.get(&url).expect(200).body, amd64(&third));
    let audit = pulling
        .registry
        .admin("GET", "/admin/v1/audit", None)
        .text();
    assert!(
        audit.contains("replaced") && audit.contains("created anew"),
        "{audit}"
    );
}

#[test]
fn a_version_that_nobody_downloaded_is_mirrored_as_its_origin_has_it_now() {
    let mut pulling = Pulling::new();
    let first = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.archives(&first);
    let second = recreate(&mut pulling, &first, "second");
    let mut other_key = second.clone();
    other_key.origin.sign(Signer::other());
    other_key.key = Signer::other().public_armor();
    other_key.put(&pulling.registry).expect(409);
    second.clone().unsigned().put(&pulling.registry).expect(409);
    second.clone().only("amd64").publish(&pulling.registry);
    let archives = pulling.archives(&second);
    let platforms: Vec<&String> = archives.as_object().unwrap().keys().collect();
    assert_eq!(platforms, ["linux_amd64"]);
}

#[test]
fn a_platform_that_the_origin_does_not_have_for_a_while_is_served_afterwards() {
    let (pulling, fixture) = Pulling::one();
    pulling.fail("/linux/arm64", 404);
    let url = arm64_url(&pulling, &fixture);
    pulling.registry.get(&url).expect(404);
    pulling.registry.get(&pulling.url(&fixture)).expect(200);
    pulling.connect();
    pulling.advance(60);
    let url = arm64_url(&pulling, &fixture);
    let arm64 = &fixture.origin.packages[1].3;
    assert_eq!(&pulling.registry.get(&url).expect(200).body, arm64);
}

#[test]
fn the_requests_for_the_platforms_of_a_version_are_limited() {
    let pulling = Pulling::new();
    let mut provider = ProviderFixture::new("1.0.0");
    let more = "loong64 mips64le mips64 mipsle mips ppc64le ppc64 riscv64 s390x 386 arm wasm";
    for arch in more.split(' ') {
        let executable = ("terraform-provider-widget_v1.0.0", arch.as_bytes());
        let os = if arch == "wasm" { "js" } else { "linux" };
        provider.add_package(os, arch, zip_of(&[executable]));
    }
    provider.sign(Signer::usual());
    let fixture = pulling.publish(&provider);
    pulling.tamper(one_each(&fixture, ""));
    let archives = pulling.archives(&fixture);
    assert_eq!(archives.as_object().unwrap().len(), 13);
    assert_eq!(pulling.asked(""), 39 + 3);
    assert!(pulling.logs("too many requests to its origin: linux_s390x"));
}

#[test]
fn only_contents_that_are_replaced_are_recorded_as_such() {
    let (memory, registry) = Registry::with_memory(&[]);
    let fixture = MirrorFixture::new("1.0.0");
    let publish = |fixture: &MirrorFixture| publish_anew(&registry, fixture);
    let audit = || registry.admin("GET", "/admin/v1/audit", None).text();
    let contents = || {
        let keys = memory.indices().into_keys();
        keys.filter(|key| key.contains("/sha256/") && key.contains(&fixture.address()))
            .collect::<Vec<_>>()
    };
    let published_at = || {
        let mut objects = memory.objects().into_iter();
        let path = format!("{}/1.0.0", fixture.address());
        let release = objects.find(|(key, _)| key.starts_with("releases/") && key.contains(&path));
        let json: serde_json::Value = serde_json::from_slice(&release.unwrap().1).unwrap();
        json["published_at"].as_u64().unwrap()
    };
    let grown = MirrorFixture::new("1.0.0");
    publish(&grown.clone().only("amd64"));
    publish(&grown);
    publish(&fixture);
    assert!(!audit().contains("replaced"), "{}", audit());
    let (before, at) = (contents(), published_at());
    memory.advance(60);
    let mut second = fixture.clone();
    second.origin = (second.origin).with_files(&[("terraform-provider-widget_v1.0.0", b"second")]);
    publish(&second);
    assert!(audit().contains("replaced"), "{}", audit());
    assert_eq!(published_at(), at + 60);
    let after = contents();
    assert!(!after.is_empty());
    assert!(after.iter().all(|key| !before.contains(key)), "{after:#?}");
}

#[test]
fn a_platform_of_the_origin_is_not_replaced_by_a_mirrored_one() {
    let (pulling, fixture) = Pulling::one();
    pulling.archives(&fixture);
    let mut other = fixture.clone().only("amd64").unsigned();
    other.origin = other
        .origin
        .with_files(&[("terraform-provider-widget_v1.0.0", b"other")]);
    other
        .put(&pulling.registry)
        .refuses(409, "its origin offered");
    // The correct bytes are accepted, and then served from storage.
    fixture.clone().only("amd64").publish(&pulling.registry);
    assert!(pulling.url(&fixture).contains("/archives/"));
    let archives = pulling.archives(&fixture);
    let arm64 = archives["linux_arm64"]["url"].as_str().unwrap();
    assert!(arm64.contains("/pull/"), "{arm64}");
}

/// Breaks each write of a pull, before and after it takes effect: every later read succeeds, and the same
/// requests, sent again, end with everything stored.
#[test]
fn a_pull_that_fails_at_any_write_is_completed_by_the_next() {
    at_each_write(11, |at, when| {
        let pulling = Pulling::new();
        let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
        let fault = pulling
            .memory
            .fail(Operations::Writes, at, when, Failure::Error);
        let pull = || -> Option<()> {
            let ok = |response: Response| (response.status < 400).then_some(response);
            ok(pulling.registry.get(&fixture.index()))?;
            let json = ok(pulling.registry.get(&fixture.packages()))?.json();
            let url = json["archives"]["linux_amd64"]["url"].as_str()?.to_owned();
            let body = ok(pulling.registry.get(&url))?;
            assert!(body.status == 302 || body.body == amd64(&fixture));
            Some(())
        };
        let broken = pull();
        if !fault.lift() {
            assert!(broken.is_some());
            return false;
        }
        pulling.advance(60);
        pull().unwrap_or_else(|| panic!("write {at}, {when:?}"));
        pulling.advance(60);
        assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
        pull();
        let url = pulling.url(&fixture);
        assert!(url.contains("/archives/"), "write {at}, {when:?}: {url}");
        true
    });
}

/// The price of a provider in use (`docs/configuration.md`).
#[test]
fn a_list_without_a_new_version_costs_a_few_writes_and_lists() {
    let (pulling, fixture) = Pulling::one();
    for _ in 0..3 {
        pulling.advance(PULL_CHECK_SECONDS);
        pulling.memory.forget_operations();
        pulling.versions(&fixture);
    }
    let operations = pulling.memory.operations();
    let spent = ["R2 put ", "R2 list ", "KV put "].map(|kind| {
        let of_kind = operations.iter().filter(|line| line.starts_with(kind));
        of_kind.count()
    });
    assert_eq!(spent, [2, 4, 3], "{operations:#?}");
}

#[test]
fn the_response_does_not_wait_for_an_index() {
    let (pulling, fixture) = Pulling::one();
    pulling
        .memory
        .fail("KV put", 0..35, When::Before, Failure::Busy);
    pulling.archives(&fixture);
}

#[test]
fn an_origin_may_omit_platforms_from_its_list() {
    for platforms in [
        "[]",
        r#"[{"os":"aix","arch":"ppc64"},{"os":"linux","arch":"arm64"}]"#,
    ] {
        let pulling = Pulling::new();
        let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
        pulling.tamper(Rc::new(move |url: &str, mut response: Response| {
            if url.ends_with("/versions") {
                let mut json = response.json();
                json["versions"][0]["platforms"] = serde_json::from_str(platforms).unwrap();
                response.body = json.to_string().into_bytes();
            }
            response
        }));
        let archives = pulling.archives(&fixture);
        assert_eq!(archives.as_object().unwrap().len(), 2, "{platforms}");
    }
}

/// The origin of a provider that has one SHA256SUMS for each platform, which lists the zip under this name.
fn one_each(fixture: &MirrorFixture, name: &'static str) -> Tamper {
    let origin = fixture.origin.clone();
    Rc::new(move |url: &str, mut response: Response| {
        let package = |it: &&(String, String, String, Vec<u8>)| url.contains(&it.2);
        let text = origin.packages.iter().find(package).map(|it| {
            let name = if name.is_empty() { &it.0 } else { name };
            format!("{}  {name}\n", sha256(&it.3))
        });
        match text.map(String::into_bytes) {
            Some(_) if url.contains("/download/") => {
                let mut json = response.json();
                let arch = json["arch"].as_str().unwrap().to_owned();
                if !name.is_empty() {
                    json["filename"] = name.into();
                }
                json["shasums_url"] = format!("https://registry.example.com/{arch}.sums").into();
                json["shasums_signature_url"] =
                    format!("https://registry.example.com/{arch}.sig").into();
                response.body = json.to_string().into_bytes();
            }
            Some(text) if url.ends_with(".sums") => (response.status, response.body) = (200, text),
            Some(text) if url.ends_with(".sig") => {
                (response.status, response.body) = (200, Signer::usual().sign(&text));
            }
            _ => {}
        }
        response
    })
}

#[test]
fn an_origin_may_sign_one_sha256sums_for_each_platform() {
    for name in ["", "provider.zip"] {
        let pulling = Pulling::new();
        let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
        pulling.tamper(one_each(&fixture, name));
        let archives = pulling.archives(&fixture);
        assert_eq!(archives.as_object().unwrap().len(), 2, "{archives}");
        for platform in ["linux_amd64", "linux_arm64"] {
            let archives = pulling.archives(&fixture);
            let url = archives[platform]["url"].as_str().unwrap();
            pulling.registry.get(url).expect(200);
        }
        assert_eq!(pulling.memory.keys_with(".sig").len(), 2);
        assert!(pulling.url(&fixture).contains("/archives/"));
    }
}

/// One of several platforms has no package, or one that clients reject; the origin fails for a moment for another one.
#[test]
fn a_platform_that_cannot_be_installed_is_left_out() {
    let pulling = Pulling::new();
    let mut provider = ProviderFixture::new("1.0.0").with_v();
    for arch in ["386", "arm", "mips"] {
        let executable = ("terraform-provider-widget_v1.0.0", arch.as_bytes());
        provider.add_package("linux", arch, zip_of(&[executable]));
    }
    provider = provider.with_v();
    let fixture = pulling.publish(&provider);
    let tamper = |status: u16| -> Tamper {
        Rc::new(move |url: &str, mut response: Response| {
            if url.ends_with("/386") {
                response.status = 404;
            } else if url.ends_with("/arm") {
                response.body = response
                    .text()
                    .replace("\"arch\":\"arm\"", "\"arch\":\"x\"")
                    .into_bytes();
            } else if url.ends_with("/mips") {
                response.status = status;
            }
            response
        })
    };
    pulling.tamper(tamper(503));
    pulling.registry.get(&fixture.packages()).expect(502);
    pulling.tamper(tamper(200));
    pulling.advance(30);
    let archives = pulling.archives(&fixture);
    let platforms: Vec<&String> = archives.as_object().unwrap().keys().collect();
    assert_eq!(platforms, ["linux_amd64", "linux_arm64", "linux_mips"]);
    assert!(
        pulling.logs("linux_386: not available"),
        "{:?}",
        pulling.memory.log()
    );
}

#[test]
fn a_version_with_an_invalid_signature_is_not_committed_and_not_fetched_again_for_a_while() {
    let (pulling, fixture) = Pulling::one();
    pulling.tamper(Rc::new(|url: &str, mut response: Response| {
        if url.ends_with(".sig") {
            response.body = Signer::usual().sign(b"something else");
        }
        response
    }));
    let packages = || pulling.registry.get(&fixture.packages());
    packages().refuses(502, "signature");
    let stored = pulling.memory.keys();
    let is_release = |key: &String| key.starts_with("releases/");
    assert!(!stored.iter().any(is_release), "{stored:?}");
    pulling.memory.forget_operations();
    packages().expect(502);
    assert_eq!(pulling.asked(""), 0);
    pulling.connect();
    pulling.advance(30);
    pulling.archives(&fixture);
}

#[test]
fn a_version_that_is_mirrored_while_it_is_pulled_is_the_mirrored_one() {
    let (pulling, fixture) = Pulling::one();
    let other = super::pulling(&pulling.memory, &[]);
    let mirrored = fixture.clone();
    let meanwhile = move |url: &str, response: Response| {
        if url.ends_with(".sig") {
            mirrored.publish(&other);
        }
        response
    };
    pulling.tamper(Rc::new(meanwhile));
    let url = pulling.url(&fixture);
    assert!(url.contains("/archives/"), "{url}");
}

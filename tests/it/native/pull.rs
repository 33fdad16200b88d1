//! Pull-through: what is fetched from another registry, when, and what is not.

use std::rc::Rc;

use serde_json::Value;
use terrace_core::limits::{PULL_ABSENCE_SECONDS, PULL_CHECK_SECONDS, PULL_STALE_SECONDS};

use crate::support::faults::{Failure, Operations, When};
use crate::support::fixtures::{Signer, add_key, sha256, zip_of};
use crate::support::memory::Memory;
use crate::support::pushed::{Pushed, PushedProvider};
use crate::support::registry::Sent;
use crate::support::{MirrorFixture, ProviderFixture, Registry, Response};

const PATTERN: &str = "registry.example.com/*/* registry.opentofu.org/*/*";

/// What an origin's answer is changed into.
type Tamper = Rc<dyn Fn(&str, Response) -> Response>;

/// A registry that pulls from another one.
struct Pulling {
    memory: Memory,
    registry: Registry,
    origin_memory: Memory,
    origin: Rc<Registry>,
}

impl Pulling {
    fn new() -> Self {
        Self::with(&[])
    }

    /// With more variables.
    fn with(vars: &[(&str, &str)]) -> Self {
        let memory = Memory::new();
        let registry = pulling(&memory, vars);
        let origin_memory = Memory::new();
        let origin = Rc::new(Registry::in_memory(&origin_memory, &[]));
        let pulling = Self {
            memory,
            registry,
            origin_memory,
            origin,
        };
        pulling.connect();
        pulling
    }

    fn connect(&self) {
        self.tamper(Rc::new(|_: &str, response| response));
    }

    /// Changes what the origin answers, by URL.
    fn tamper(&self, tamper: Tamper) {
        let origin = Rc::clone(&self.origin);
        self.memory.connect(move |url| {
            let response = origin.get(&path_of(url));
            let mut response = tamper(url, response);
            let told = response.header("told-length").map(str::to_owned);
            let length = told.unwrap_or_else(|| response.body.len().to_string());
            response
                .headers
                .retain(|(name, _)| name != "content-length");
            response.headers.push(("content-length".to_owned(), length));
            Some(response)
        });
    }

    /// Publishes a version at the origin.
    fn publish(&self, provider: &ProviderFixture) -> MirrorFixture {
        provider.publish(&self.origin);
        MirrorFixture::of(provider.clone())
    }

    fn versions(&self, fixture: &MirrorFixture) -> Vec<String> {
        let json = self.registry.get(&fixture.index()).expect(200).json();
        json["versions"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    }

    fn archives(&self, fixture: &MirrorFixture) -> Value {
        let json = self.registry.get(&fixture.packages()).expect(200).json();
        json["archives"].clone()
    }

    /// The URL that the amd64 zip is to be had by.
    fn url(&self, fixture: &MirrorFixture) -> String {
        let archives = self.archives(fixture);
        archives["linux_amd64"]["url"].as_str().unwrap().to_owned()
    }

    /// The times another registry was asked for a URL with this in it.
    fn asked(&self, what: &str) -> usize {
        let operations = self.memory.operations();
        let is_it =
            |operation: &&String| operation.starts_with("fetch ") && operation.contains(what);
        operations.iter().filter(is_it).count()
    }

    fn logs(&self, what: &str) -> bool {
        self.memory.log().iter().any(|line| line.contains(what))
    }

    /// Lets both registries grow older.
    fn advance(&self, seconds: u64) {
        self.memory.advance(seconds);
        self.origin_memory.advance(seconds);
    }
}

fn path_of(url: &str) -> String {
    let rest = url.strip_prefix("https://").unwrap();
    format!("/{}", rest.split_once('/').unwrap().1)
}

fn pulling(memory: &Memory, vars: &[(&str, &str)]) -> Registry {
    let mut all = vec![("TERRACE_PULL_THROUGH", PATTERN)];
    all.extend(vars);
    Registry::in_memory(memory, &all)
}

fn amd64(fixture: &MirrorFixture) -> &[u8] {
    &fixture.origin.packages[0].3
}

fn another(provider: &ProviderFixture, version: &str) -> ProviderFixture {
    ProviderFixture::of(&provider.namespace, &provider.provider_type, version)
}

#[test]
fn what_is_listed_and_installed_is_what_the_origin_has() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    pulling.publish(&another(&first, "1.1.0-beta1"));
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0-beta1"]);
    let archives = pulling.archives(&fixture);
    for (place, platform) in ["linux_amd64", "linux_arm64"].into_iter().enumerate() {
        let zip = &fixture.origin.packages[place].3;
        let hash = format!("zh:{}", sha256(zip));
        assert_eq!(archives[platform]["hashes"], serde_json::json!([hash]));
        let url = archives[platform]["url"].as_str().unwrap();
        assert!(url.starts_with("https://registry.test/pull/"), "{url}");
        let response = pulling.registry.get(url).expect(200);
        assert_eq!(response.body, *zip);
        assert_eq!(response.header("content-type"), Some("application/zip"));
        assert_eq!(response.header("cache-control"), Some("no-store"));
    }
}

#[test]
fn what_was_pulled_is_served_from_here() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.versions(&fixture);
    let pulled_by = pulling.url(&fixture);
    pulling.registry.get(&pulled_by).expect(200);
    pulling.memory.disconnect();
    pulling.memory.forget_operations();
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    let url = pulling.url(&fixture);
    assert!(url.starts_with("https://registry.test/archives/"), "{url}");
    assert_eq!(pulling.registry.get(&url).expect(200).body, amd64(&fixture));
    // Who was given the other URL before is led there.
    let led = pulling.registry.get(&pulled_by).expect(302);
    let to = led.header("location").unwrap();
    assert_eq!(pulling.registry.get(to).expect(200).body, amd64(&fixture));
    assert_eq!(pulling.asked(""), 0);
}

#[test]
fn an_origin_that_names_the_digest_of_a_private_archive_does_not_get_at_it() {
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
        pulling.tamper(Rc::new(|url: &str, response| match url.contains(".zip") {
            true => Response {
                status: 404,
                ..response
            },
            false => response,
        }));
        pulling.registry.get(&url).expect(status);
    }
}

#[test]
fn a_read_of_what_is_known_makes_one_kv_read_and_asks_nobody() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.versions(&fixture);
    pulling.archives(&fixture);
    for path in [fixture.index(), fixture.packages()] {
        pulling.memory.forget_operations();
        pulling.registry.get(&path).expect(200);
        let operations = pulling.memory.operations();
        assert_eq!(operations.len(), 1, "{operations:?}");
        assert!(operations[0].starts_with("KV get "), "{operations:?}");
    }
}

#[test]
fn many_clients_at_once_cause_one_fetch() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.memory.interleave();
    let (lists, packages) = (fixture.index(), fixture.packages());
    for answer in pulling.registry.get_at_once(&lists, 32) {
        answer.expect(200);
    }
    assert_eq!(pulling.asked("/versions"), 1);
    let answers = pulling.registry.get_at_once(&packages, 32);
    let urls: Vec<String> = answers
        .into_iter()
        .map(|answer| {
            let json = answer.expect(200).json();
            json["archives"]["linux_amd64"]["url"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(pulling.asked("/download/"), 1);
    let answers = pulling.registry.get_at_once(&urls[0], 32);
    assert_eq!(pulling.asked(".zip"), 1);
    let streamed = answers.iter().filter(|answer| answer.status == 200);
    assert_eq!(streamed.count(), 1);
    for answer in answers {
        if answer.status != 200 {
            let to = answer.expect(302).header("location").unwrap().to_owned();
            let answers = pulling.registry.get_at_once(&to, 1);
            assert_eq!(answers[0].body, amd64(&fixture));
        }
    }
}

#[test]
fn nothing_is_asked_for_what_is_not_named() {
    let memory = Memory::new();
    let one = "registry.example.com/acme/widget";
    let registry = Registry::in_memory(&memory, &[("TERRACE_PULL_THROUGH", one)]);
    for path in [
        "/mirror/registry.example.com/acme/other/index.json",
        "/mirror/registry.example.com/acme/other/1.0.0.json",
        "/mirror/registry.example.com/other/widget/index.json",
        "/mirror/other.example.com/acme/widget/index.json",
    ] {
        registry.get(path).expect(404);
    }
    let operations = memory.operations();
    let is_fetch = |operation: &String| operation.starts_with("fetch");
    assert!(!operations.iter().any(is_fetch), "{operations:?}");
}

/// Dependency confusion: a name of this registry's own is asked of nobody else, whatever the patterns
/// say, and whether there is such a provider or not.
#[test]
fn the_registrys_own_hostnames_are_asked_of_nobody() {
    let memory = Memory::new();
    let vars = [
        (
            "TERRACE_PULL_THROUGH",
            "registry.test/*/* own.example.com/*/*",
        ),
        ("TERRACE_HOSTNAMES", "own.example.com"),
    ];
    let registry = Registry::in_memory(&memory, &vars);
    memory.connect(|url| panic!("asked for {url}"));
    for host in ["registry.test", "own.example.com"] {
        for file in ["index", "1.0.0"] {
            let path = format!("/mirror/{host}/acme/widget/{file}.json");
            registry.get(&path).expect(404);
            registry.head(&path).expect(404);
        }
    }
}

#[test]
fn what_the_origin_lacks_is_remembered_for_a_while() {
    let pulling = Pulling::new();
    let fixture = MirrorFixture::new("1.0.0");
    for _ in 0..3 {
        pulling.registry.get(&fixture.index()).expect(404);
        pulling.registry.get(&fixture.packages()).expect(404);
    }
    assert_eq!(pulling.asked("/versions"), 1);
    fixture.origin.publish(&pulling.origin);
    pulling.registry.get(&fixture.index()).expect(404);
    pulling.advance(PULL_ABSENCE_SECONDS);
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
}

#[test]
fn a_list_whose_origin_should_be_asked_is_not_answered_by_the_entry() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let list = Sent::new("GET", &fixture.index());
    let is_by_entry = || pulling.registry.by_entry(&list).is_some();
    pulling.registry.send(&list).expect(200);
    pulling.advance(PULL_CHECK_SECONDS - 1);
    assert!(is_by_entry());
    pulling.advance(1);
    assert!(!is_by_entry());
    pulling.registry.send(&list).expect(200);
    assert!(is_by_entry());
}

#[test]
fn a_new_version_is_listed_when_the_origin_is_asked_again() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    let second = pulling.publish(&another(&first, "1.1.0"));
    pulling.advance(PULL_CHECK_SECONDS - 1);
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    pulling.registry.get(&second.packages()).expect(404);
    pulling.advance(1);
    // The first one to see an old list is not kept waiting.
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0"]);
    pulling.registry.get(&second.packages()).expect(200);
    // Unless it is very old.
    pulling.publish(&another(&first, "1.2.0"));
    pulling.advance(PULL_STALE_SECONDS);
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0", "1.2.0"]);
}

#[test]
fn when_the_origin_is_down_what_is_stored_keeps_being_served() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.versions(&fixture);
    pulling.registry.get(&pulling.url(&fixture)).expect(200);
    pulling.memory.disconnect();
    for (age, is_told) in [
        (0, false),
        (PULL_CHECK_SECONDS, true),
        (PULL_STALE_SECONDS, true),
    ] {
        pulling.advance(age);
        assert_eq!(pulling.versions(&fixture), ["1.0.0"], "{age}");
        let url = pulling.url(&fixture);
        assert_eq!(pulling.registry.get(&url).expect(200).body, amd64(&fixture));
        let told = format!("was last listed by its origin {age} s ago");
        let log = pulling.memory.log();
        let told = log
            .iter()
            .any(|line| line.starts_with("stale: ") && line.contains(&told));
        assert_eq!(told || age == PULL_STALE_SECONDS, is_told, "{age}: {log:?}");
    }
    // Whatever is mirrored is served, even when the origin has never answered.
    let mirrored = MirrorFixture::new("1.0.0");
    mirrored.publish(&pulling.registry);
    pulling.memory.lose_indices();
    assert_eq!(pulling.versions(&mirrored), ["1.0.0"]);
}

/// Lists of an origin that has been down for days are made of R2 at each read: KV takes one write a
/// second, and each is paid.
#[test]
fn a_list_that_is_too_old_already_is_not_written_again() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.versions(&fixture);
    pulling.memory.disconnect();
    pulling.advance(PULL_STALE_SECONDS);
    pulling.memory.forget_operations();
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    let operations = pulling.memory.operations();
    let is_put = |operation: &String| operation.starts_with("KV put");
    assert!(!operations.iter().any(is_put), "{operations:?}");
}

#[test]
fn a_list_that_was_just_made_is_not_made_again_where_it_is_not_seen_yet() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.versions(&fixture);
    let key = format!("providers/{}/mirror", fixture.address());
    let old = pulling.memory.index(&key);
    pulling.advance(PULL_CHECK_SECONDS);
    pulling.versions(&fixture);
    pulling.memory.restore_index(&key, old);
    pulling.memory.forget_operations();
    pulling.versions(&fixture);
    let operations = pulling.memory.operations();
    assert_eq!(operations.len(), 2, "{operations:?}");
    assert!(
        operations[1].starts_with("R2 get origins/"),
        "{operations:?}"
    );
}

/// R2 takes one write a second for each key, and a lease that fails at once was just written.
#[test]
fn an_origin_that_fails_at_once_is_left_alone_too() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let memory = pulling.memory.clone();
    pulling.memory.connect(move |_| {
        memory.fail("R2 put", 0, When::Before, Failure::Busy);
        None
    });
    pulling.registry.get(&fixture.index()).expect(502);
    pulling.connect();
    pulling.registry.get(&fixture.index()).expect(502);
    pulling.advance(30);
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
}

#[test]
fn an_origin_that_fails_is_told_apart_from_one_that_has_nothing_and_left_alone_for_a_while() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.memory.disconnect();
    for _ in 0..3 {
        let refused = pulling.registry.get(&fixture.index()).expect(502).errors();
        assert!(refused.contains("registry.example.com"), "{refused}");
    }
    assert_eq!(pulling.asked("terraform.json"), 1);
    pulling.connect();
    pulling.advance(30);
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
}

#[test]
fn a_fetch_that_was_cut_off_holds_nobody_up_for_long() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    for lease in [
        format!("leases/versions/{}", fixture.address()),
        format!("leases/releases/{}/1.0.0", fixture.address()),
    ] {
        let until = 1_800_000_060;
        pulling
            .memory
            .put_object(&lease, until.to_string().as_bytes());
    }
    pulling.registry.get(&fixture.packages()).expect(502);
    pulling.advance(60);
    pulling.registry.get(&fixture.packages()).expect(200);
}

#[test]
fn bytes_that_the_origin_did_not_sign_are_not_stored() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let url = pulling.url(&fixture);
    let spoiled = |url: &str, mut response: Response| {
        if url.ends_with(".zip") {
            response.body[0] ^= 1;
        }
        response
    };
    pulling.tamper(Rc::new(spoiled));
    pulling.registry.get(&url).expect(200);
    assert!(pulling.logs("other bytes than it has signed"));
    let stored = pulling.memory.keys();
    assert!(
        !stored.iter().any(|key| key.ends_with(".zip")),
        "{stored:?}"
    );
    assert!(pulling.url(&fixture).contains("/pull/"));
    pulling.registry.get(&url).expect(502);
    pulling.connect();
    pulling.advance(30);
    assert_eq!(pulling.registry.get(&url).expect(200).body, amd64(&fixture));
    pulling.registry.get(&url).expect(302);
}

#[test]
fn an_origin_that_takes_back_what_it_has_signed_is_refused() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let url = pulling.url(&fixture);
    // The origin starts anew, and publishes other bytes as the same version.
    let mut other = fixture.origin.clone();
    other.packages.reverse();
    let zips = (other.packages[0].3.clone(), other.packages[1].3.clone());
    (other.packages[1].3, other.packages[0].3) = zips;
    let memory = Memory::new();
    let anew = Rc::new(Registry::in_memory(&memory, &[]));
    let changed = ProviderFixture::of(&fixture.origin.namespace, "widget", "1.0.0")
        .with_files(&[("terraform-provider-widget_v1.0.0", b"other")]);
    changed.publish(&anew);
    pulling
        .memory
        .connect(move |url| Some(anew.get(&path_of(url))));
    let refused = pulling.registry.get(&url).expect(502).errors();
    assert!(refused.contains("has signed"), "{refused}");
}

#[test]
fn a_signature_that_does_not_hold_is_refused_and_nothing_is_committed() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let spoiled = |url: &str, mut response: Response| {
        if url.ends_with(".sig") {
            response.body = Signer::usual().sign(b"something else");
        }
        response
    };
    pulling.tamper(Rc::new(spoiled));
    let refused = pulling
        .registry
        .get(&fixture.packages())
        .expect(502)
        .errors();
    assert!(refused.contains("signature"), "{refused}");
    let stored = pulling.memory.keys();
    assert!(
        !stored.iter().any(|key| key.starts_with("releases/")),
        "{stored:?}"
    );
}

#[test]
fn another_key_than_the_first_is_refused_until_an_administrator_vouches_for_it() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    pulling.archives(&fixture);
    add_key(&pulling.origin, &first.namespace, Signer::other());
    let mut others = Vec::new();
    for version in ["1.1.0", "1.2.0"] {
        let mut other = another(&first, version);
        other.sign(Signer::other());
        others.push(pulling.publish(&other));
    }
    pulling.advance(PULL_CHECK_SECONDS);
    let refused = pulling
        .registry
        .get(&others[0].packages())
        .expect(502)
        .errors();
    assert!(refused.contains("pinned"), "{refused}");
    assert!(pulling.logs("pinned"));
    // What the first key has signed is not concerned.
    pulling.publish(&another(&first, "1.3.0"));
    pulling.archives(&fixture);
    // By mirroring a version, its key is accepted.
    others[0].key = Signer::other().public_armor();
    others[0].publish(&pulling.registry);
    pulling.advance(30);
    pulling.archives(&others[1]);
}

#[test]
fn what_is_blocked_is_neither_listed_nor_described_nor_sent() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    let bad = pulling.publish(&another(&first, "1.1.0"));
    let url = pulling.url(&bad);
    let mirrored = MirrorFixture::of(another(&first, "1.2.0"));
    mirrored.publish(&pulling.registry);
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0", "1.2.0"]);
    let address = fixture.address();
    let blocked = format!("{address}@1.1.0, {address}@1.2.0");
    let blocking = self::pulling(&pulling.memory, &[("TERRACE_PULL_BLOCK", &blocked)]);
    let json = blocking.get(&fixture.index()).expect(200).json();
    assert_eq!(json["versions"], serde_json::json!({ "1.0.0": {} }));
    for path in [&bad.packages(), &mirrored.packages(), &url] {
        let refused = blocking.get(path).expect(404).errors();
        assert!(refused.contains("blocked"), "{refused}");
    }
    // And back again.
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0", "1.2.0"]);
}

#[test]
fn a_block_list_needs_no_pull_through() {
    let memory = Memory::new();
    let fixture = MirrorFixture::new("1.0.0");
    let blocked = fixture.address();
    let registry = Registry::in_memory(&memory, &[("TERRACE_PULL_BLOCK", &blocked)]);
    fixture.publish(&registry);
    registry.get(&fixture.index()).expect(404);
    registry.get(&fixture.packages()).expect(404);
    let unblocked = Registry::in_memory(&memory, &[]);
    unblocked.get(&fixture.index()).expect(200);
    unblocked.get(&fixture.packages()).expect(200);
}

#[test]
fn a_new_version_is_kept_back_until_it_is_old_enough() {
    let day = 86_400;
    let pulling = Pulling::with(&[("TERRACE_PULL_MINIMUM_AGE", &day.to_string())]);
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    // What was there at the first look is no news.
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    let second = pulling.publish(&another(&first, "1.1.0"));
    pulling.advance(PULL_CHECK_SECONDS);
    pulling.versions(&fixture);
    for _ in 0..2 {
        assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
        pulling.registry.get(&second.packages()).expect(404);
    }
    pulling.advance(day);
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0"]);
    pulling.registry.get(&second.packages()).expect(200);
}

#[test]
fn a_url_to_pull_by_is_good_for_one_package_and_a_while() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
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

#[test]
fn what_a_mirrored_version_has_at_its_origin_is_not_replaced() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.archives(&fixture);
    let mut other = fixture.clone().only("amd64").unsigned();
    other.origin = other
        .origin
        .with_files(&[("terraform-provider-widget_v1.0.0", b"other")]);
    let refused = other.put(&pulling.registry).expect(409).errors();
    assert!(refused.contains("at its origin"), "{refused}");
    // The right bytes are taken, and are served from here then.
    fixture.clone().only("amd64").publish(&pulling.registry);
    assert!(pulling.url(&fixture).contains("/archives/"));
    let archives = pulling.archives(&fixture);
    let arm64 = archives["linux_arm64"]["url"].as_str().unwrap();
    assert!(arm64.contains("/pull/"), "{arm64}");
}

/// The origin has signed it, so clients get it; but it is nothing to keep.
#[test]
fn a_zip_without_the_providers_executable_is_not_kept() {
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
        assert!(pulling.logs("not kept: "), "{:?}", pulling.memory.log());
        assert!(pulling.url(&fixture).contains("/pull/"));
    }
}

/// At each write of a pull, before and after it takes effect: every later read answers, and the same
/// requests again end with everything stored.
#[test]
fn a_pull_that_is_broken_at_any_write_is_finished_by_the_next() {
    for at in 0..40 {
        for when in [When::Before, When::After] {
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
                assert!(at > 10, "only {at} writes?");
                return;
            }
            pulling.advance(60);
            pull().unwrap_or_else(|| panic!("write {at}, {when:?}"));
            pulling.advance(60);
            assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
            pull();
            let url = pulling.url(&fixture);
            assert!(url.contains("/archives/"), "write {at}, {when:?}: {url}");
        }
    }
    panic!("more writes than 40");
}

/// What a pull writes and lists, since that is what costs (README, "Limits and prices").
#[test]
fn a_pull_costs_a_few_writes() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let spent = || {
        let operations = pulling.memory.operations();
        pulling.memory.forget_operations();
        ["fetch ", "R2 put ", "R2 list ", "KV put "].map(|kind| {
            let of_kind = operations.iter().filter(|line| line.starts_with(kind));
            of_kind.count()
        })
    };
    pulling.versions(&fixture);
    assert_eq!(spent(), [2, 2, 2, 2], "the first list");
    pulling.advance(PULL_CHECK_SECONDS);
    pulling.versions(&fixture);
    assert_eq!(spent(), [2, 2, 1, 2], "a list made anew");
    let url = pulling.url(&fixture);
    assert_eq!(spent(), [4, 5, 1, 1], "a version");
    pulling.registry.get(&url).expect(200);
    assert_eq!(spent(), [5, 5, 3, 7], "the first zip");
}

#[test]
fn what_is_not_allowed_any_more_is_not_fetched() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let stored = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.versions(&fixture);
    let url = pulling.url(&fixture);
    pulling.versions(&stored);
    let stored_url = pulling.url(&stored);
    pulling.registry.get(&stored_url).expect(200);
    pulling.memory.forget_operations();
    let own = [
        ("TERRACE_PULL_THROUGH", PATTERN),
        ("TERRACE_HOSTNAMES", "registry.example.com"),
    ];
    for registry in [
        Registry::in_memory(&pulling.memory, &[]),
        Registry::in_memory(&pulling.memory, &[("TERRACE_PULL_BLOCK", "a.test/b/*")]),
        Registry::in_memory(&pulling.memory, &own),
    ] {
        registry.get(&url).expect(404);
        registry.get(&fixture.packages()).expect(404);
        registry.get(&fixture.index()).expect(404);
        // What is stored is ours.
        registry.get(&stored_url).expect(302);
    }
    let left = Registry::in_memory(&pulling.memory, &[]);
    let json = left.get(&stored.packages()).expect(200).json();
    assert_eq!(json["archives"].as_object().unwrap().len(), 1);
    left.get(&stored.index()).expect(200);
    assert_eq!(pulling.asked(""), 0);
}

/// A provider may list another one's zip as its own, and fail to send it.
#[test]
fn a_provider_that_fails_stands_in_no_other_ones_way() {
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
    pulling.tamper(Rc::new(move |url: &str, mut response: Response| {
        if url.contains(&evil_namespace) {
            response.status = 500;
        }
        response
    }));
    pulling.registry.get(&evil_url).expect(502);
    assert_eq!(
        pulling.registry.get(&good_url).expect(200).body,
        amd64(&good)
    );
}

#[test]
fn the_answer_waits_for_no_index() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling
        .memory
        .fail("KV put", 0..35, When::Before, Failure::Busy);
    pulling.archives(&fixture);
}

#[test]
fn an_origin_need_not_say_which_platforms_there_are() {
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

#[test]
fn a_provider_that_is_gone_is_gone_from_the_list() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.versions(&fixture);
    pulling.tamper(Rc::new(|url: &str, mut response: Response| {
        if url.ends_with("/versions") {
            response.status = 404;
        }
        response
    }));
    pulling.advance(PULL_CHECK_SECONDS);
    pulling.versions(&fixture);
    pulling.registry.get(&fixture.index()).expect(404);
    pulling.memory.forget_operations();
    pulling.registry.get(&fixture.index()).expect(404);
    assert_eq!(pulling.memory.operations().len(), 1);
    // Until it is back.
    pulling.connect();
    pulling.advance(PULL_CHECK_SECONDS);
    pulling.registry.get(&fixture.index()).expect(404);
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
}

#[test]
fn what_an_origin_has_signed_is_kept() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.archives(&fixture);
    let shasums = sha256(fixture.origin.shasums.as_bytes());
    let signature = sha256(&fixture.origin.signature);
    for key in [
        format!("archives/{shasums}.SHA256SUMS"),
        format!("archives/{signature}.sig"),
    ] {
        assert!(pulling.memory.keys().contains(&key), "{key}");
    }
}

#[test]
fn of_two_keys_at_once_one_is_pinned() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let mut second = another(&first, "1.1.0");
    let first = pulling.publish(&first);
    add_key(&pulling.origin, &first.origin.namespace, Signer::other());
    second.sign(Signer::other());
    let second = pulling.publish(&second);
    pulling.memory.interleave();
    let paths = [first.packages(), second.packages()];
    let answers = pulling.registry.get_together(&paths);
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 502]);
}

#[test]
fn a_provider_that_was_signed_is_not_taken_without_a_signature() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let mut fixture = pulling.publish(&first);
    let mut second = pulling.publish(&another(&first, "1.1.0"));
    for fixture in [&mut fixture, &mut second] {
        fixture.hostname = "registry.opentofu.org".to_owned();
    }
    let unsigned = |url: &str, mut response: Response| {
        if url.contains("/download/") {
            let mut json = response.json();
            json["signing_keys"]["gpg_public_keys"] = serde_json::json!([]);
            response.body = json.to_string().into_bytes();
        }
        response
    };
    pulling.archives(&fixture);
    pulling.tamper(Rc::new(unsigned));
    let refused = pulling
        .registry
        .get(&second.packages())
        .expect(502)
        .errors();
    assert!(refused.contains("not signed"), "{refused}");
    // One that never was is taken from there, as clients do.
    let never = pulling.publish(&ProviderFixture::new("1.0.0"));
    let mut tofu = never.clone();
    tofu.hostname = "registry.opentofu.org".to_owned();
    pulling.archives(&tofu);
    pulling.registry.get(&never.packages()).expect(502);
}

#[test]
fn when_a_lease_has_ended_one_takes_it() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let lease = format!("leases/versions/{}", fixture.address());
    pulling.memory.put_object(&lease, b"1799999999");
    pulling.memory.interleave();
    for answer in pulling.registry.get_at_once(&fixture.index(), 32) {
        answer.expect(200);
    }
    assert_eq!(pulling.asked("/versions"), 1);
}

#[test]
fn who_has_waited_for_long_gets_the_zip_from_its_origin() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let url = pulling.url(&fixture);
    let lease = format!("leases/packages/{}/1.0.0/linux_amd64", fixture.address());
    pulling.memory.put_object(&lease, b"1900000000");
    assert_eq!(pulling.registry.get(&url).expect(200).body, amd64(&fixture));
    let stored = pulling.memory.keys();
    assert!(
        !stored.iter().any(|key| key.ends_with(".zip")),
        "{stored:?}"
    );
}

#[test]
fn a_zip_is_as_long_as_a_zip_may_be() {
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
        // And the origin is left alone.
        pulling.memory.forget_operations();
        pulling.registry.get(&url).expect(502);
        assert_eq!(pulling.asked(""), 0, "{length}");
    }
}

#[test]
fn a_version_that_was_refused_is_left_alone_for_a_while() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    pulling.tamper(Rc::new(|url: &str, mut response: Response| {
        if url.ends_with(".sig") {
            response.status = 500;
        }
        response
    }));
    pulling.registry.get(&fixture.packages()).expect(502);
    pulling.memory.forget_operations();
    pulling.registry.get(&fixture.packages()).expect(502);
    assert_eq!(pulling.asked(""), 0);
    pulling.connect();
    pulling.advance(30);
    pulling.archives(&fixture);
}

#[test]
fn what_was_seen_is_written_when_its_key_is_written_too_often() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let memory = pulling.memory.clone();
    let busy = move |url: &str, response: Response| {
        if url.ends_with("/versions") {
            memory.fail("R2 put", 0, When::Before, Failure::Busy);
        }
        response
    };
    pulling.tamper(Rc::new(busy));
    assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
}

#[test]
fn a_list_that_is_behind_what_was_seen_is_made_anew() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    pulling.versions(&fixture);
    let second = pulling.publish(&another(&first, "1.1.0"));
    pulling.advance(PULL_CHECK_SECONDS);
    // By its version, without a look at the list.
    pulling.archives(&second);
    assert_eq!(pulling.asked("/versions"), 2);
    pulling.advance(200);
    pulling.versions(&fixture);
    assert_eq!(pulling.versions(&fixture), ["1.0.0", "1.1.0"]);
    assert_eq!(pulling.asked("/versions"), 2);
}

#[test]
fn a_version_that_is_mirrored_while_it_is_pulled_is_the_mirrored_one() {
    let pulling = Pulling::new();
    let fixture = pulling.publish(&ProviderFixture::new("1.0.0"));
    let other = self::pulling(&pulling.memory, &[]);
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

#[test]
fn only_what_was_mirrored_vouches_for_its_key_and_only_where_it_is_pulled() {
    let is_seen = |memory: &Memory| memory.keys().iter().any(|key| key.starts_with("origins/"));
    let pulling = Pulling::new();
    let fixture = MirrorFixture::new("1.0.0");
    fixture.put(&pulling.registry).expect(202);
    assert!(!is_seen(&pulling.memory));
    fixture.publish(&pulling.registry);
    assert!(is_seen(&pulling.memory));
    let memory = Memory::new();
    fixture.publish(&Registry::in_memory(&memory, &[]));
    assert!(!is_seen(&memory));
}

/// The same zips, to be pushed: of so many platforms.
fn pushed(provider: &ProviderFixture, platforms: usize) -> PushedProvider {
    let zips = provider.packages.iter().take(platforms);
    let zips = zips.map(|(_, _, arch, zip)| match arch.as_str() {
        "amd64" => ("amd64", zip.clone()),
        _ => ("arm64", zip.clone()),
    });
    PushedProvider {
        namespace: provider.namespace.clone(),
        zips: zips.collect(),
    }
}

const PUSHED_HERE: (&str, &str) = (
    "TERRACE_OCI_PROVIDERS",
    "opentofu-providers=registry.example.com",
);

#[test]
fn what_is_pulled_can_be_pushed_too_as_its_origin_has_signed_it() {
    let pulling = Pulling::with(&[PUSHED_HERE]);
    let provider = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&provider);
    // Somebody has asked for it, and of its zips none is stored.
    assert!(pulling.url(&fixture).contains("/pull/"));
    let ours = pushed(&provider, 2);
    let index = ours.prepare(&pulling.registry);
    ours.tag(&pulling.registry, "1.0.0", &index).expect(201);
    assert!(pulling.url(&fixture).contains("/archives/"));
    let other = pushed(&another(&provider, "1.0.1"), 2);
    let index = other.prepare(&pulling.registry);
    other.tag(&pulling.registry, "1.0.0", &index).expect(409);
}

#[test]
fn a_push_of_one_platform_does_not_hide_the_others_of_its_origin() {
    let pulling = Pulling::with(&[PUSHED_HERE]);
    let provider = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&provider);
    let ours = pushed(&provider, 1);
    let index = ours.prepare(&pulling.registry);
    ours.tag(&pulling.registry, "1.0.0", &index).expect(201);
    let archives = pulling.archives(&fixture);
    assert_eq!(archives.as_object().unwrap().len(), 2, "{archives}");
    assert!(pulling.url(&fixture).contains("/archives/"));
    // What the origin does not have is only here.
    let own = another(&provider, "9.0.0");
    let ours = pushed(&own, 1);
    let index = ours.prepare(&pulling.registry);
    ours.tag(&pulling.registry, "9.0.0", &index).expect(201);
    let archives = pulling.archives(&MirrorFixture::of(own));
    assert_eq!(archives.as_object().unwrap().len(), 1);
}

#[test]
fn while_an_origin_is_down_nothing_is_pushed_that_it_might_contradict() {
    let pulling = Pulling::with(&[PUSHED_HERE]);
    let provider = ProviderFixture::new("1.0.0");
    let ours = pushed(&provider, 1);
    let index = ours.prepare(&pulling.registry);
    pulling.memory.disconnect();
    ours.tag(&pulling.registry, "1.0.0", &index).expect(502);
    let repository = Pushed::of(&pulling.registry, &ours.repository());
    repository.get("manifests/1.0.0").expect(404);
}

#[test]
fn the_lists_of_what_is_pulled_are_repaired_though_nothing_is_stored() {
    let pulling = Pulling::new();
    let first = ProviderFixture::new("1.0.0");
    let fixture = pulling.publish(&first);
    pulling.versions(&fixture);
    // Of another there is nothing, which is not kept.
    let nothing = MirrorFixture::new("1.0.0");
    pulling.registry.get(&nothing.index()).expect(404);
    let whole = pulling.memory.documents();
    assert!(!whole.is_empty());
    pulling.memory.lose_indices();
    let asked = pulling.asked("");
    pulling.registry.reconcile();
    let mut repaired = pulling.memory.documents();
    repaired.remove("revocations");
    assert_eq!(repaired, whole);
    assert_eq!(pulling.asked(""), asked, "nobody was asked for it");
    pulling.registry.reconcile();
    repaired = pulling.memory.documents();
    repaired.remove("revocations");
    assert_eq!(repaired, whole);
}

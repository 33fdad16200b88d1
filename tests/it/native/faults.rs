//! A publish that is broken at each of its writes, before the write takes effect and after it.

use crate::support::fixtures::{Signer, add_key};
use crate::support::memory::{Memory, When};
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry};
use terrace::store::Clock as _;

/// What both kinds of fixture can do.
trait Fixture {
    fn prepare(&self, registry: &Registry);
    fn put(&self, registry: &Registry) -> u16;
    fn list(&self) -> String;
    fn downloads(&self) -> Vec<String>;
    fn version(&self) -> &str;
}

impl Fixture for ProviderFixture {
    fn prepare(&self, registry: &Registry) {
        self.add_key(registry);
        self.upload(registry);
    }

    fn put(&self, registry: &Registry) -> u16 {
        self.put(registry).status
    }

    fn list(&self) -> String {
        format!("{}/versions", self.path())
    }

    fn downloads(&self) -> Vec<String> {
        let path = |arch| format!("{}/{}/download/linux/{arch}", self.path(), self.version);
        ["amd64", "arm64"].into_iter().map(path).collect()
    }

    fn version(&self) -> &str {
        &self.version
    }
}

impl Fixture for ModuleFixture {
    fn prepare(&self, registry: &Registry) {
        self.upload(registry);
    }

    fn put(&self, registry: &Registry) -> u16 {
        self.put(registry).status
    }

    fn list(&self) -> String {
        format!("{}/versions", self.path())
    }

    fn downloads(&self) -> Vec<String> {
        vec![format!("{}/{}/download", self.path(), self.version)]
    }

    fn version(&self) -> &str {
        &self.version
    }
}

impl Fixture for MirrorFixture {
    fn prepare(&self, registry: &Registry) {
        self.upload(registry);
    }

    fn put(&self, registry: &Registry) -> u16 {
        self.put(registry).status
    }

    fn list(&self) -> String {
        self.index()
    }

    fn downloads(&self) -> Vec<String> {
        vec![self.packages()]
    }

    fn version(&self) -> &str {
        &self.origin.version
    }
}

/// Whether a list names a version. A list that is not there names none.
fn lists(registry: &Registry, fixture: &dyn Fixture, version: &str) -> bool {
    let response = registry.get(&fixture.list());
    match response.status {
        200 => {
            let text = response.text();
            text.contains(&format!("\"version\":\"{version}\""))
                || text.contains(&format!("\"{version}\":{{}}"))
        }
        404 => false,
        other => panic!("a list answers {other}: {}", response.text()),
    }
}

/// All URLs in an answer can be fetched: nothing that is shown is half there.
fn is_whole(registry: &Registry, path: &str) -> bool {
    let response = registry.get(path);
    match response.status {
        404 => return false,
        200 => {}
        other => panic!("{path} answers {other}: {}", response.text()),
    }
    let json = response.json();
    for name in [
        "download_url",
        "shasums_url",
        "shasums_signature_url",
        "location",
    ] {
        if let Some(url) = json[name].as_str() {
            registry.get(url).expect(200);
        }
    }
    for archive in json["archives"].as_object().into_iter().flatten() {
        registry.get(archive.1["url"].as_str().unwrap()).expect(200);
    }
    true
}

/// Breaks the publish of `fixture` at write `at`. Returns false when it has fewer writes.
fn breaks_well(earlier: &[&dyn Fixture], fixture: &dyn Fixture, at: usize, when: When) -> bool {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    for earlier in earlier {
        earlier.prepare(&registry);
        assert_eq!(earlier.put(&registry), 201);
    }
    fixture.prepare(&registry);
    memory.fail_write(at, when);
    let status = fixture.put(&registry);
    if !memory.take_fault() {
        assert_eq!(status, 201);
        return false;
    }
    assert_eq!(status, 503, "a broken write is told (write {at}, {when:?})");

    // Reads still answer, what is listed is whole, and nothing earlier is lost.
    let listed = lists(&registry, fixture, fixture.version());
    for download in fixture.downloads() {
        let whole = is_whole(&registry, &download);
        assert!(
            whole || !listed,
            "what is listed can be fetched (write {at}, {when:?})"
        );
    }
    for earlier in earlier {
        assert!(
            lists(&registry, *earlier, earlier.version()),
            "write {at}, {when:?}"
        );
        for download in earlier.downloads() {
            assert!(is_whole(&registry, &download));
        }
    }

    // The same request again finishes it.
    let status = fixture.put(&registry);
    assert!(status == 201 || status == 200, "{status}");
    assert!(lists(&registry, fixture, fixture.version()));
    for download in fixture.downloads() {
        assert!(is_whole(&registry, &download));
    }
    // And leaves exactly what an unbroken publish would have.
    let whole = memory.indices();
    memory.lose_indices();
    registry.get(&fixture.list()).expect(200);
    for download in fixture.downloads() {
        registry.get(&download).expect(200);
    }
    for (key, text) in memory.indices() {
        assert_eq!(
            whole.get(&key),
            Some(&text),
            "{key} is a pure function of the facts"
        );
    }
    true
}

/// Breaks every write there is, so that a new one cannot be forgotten.
#[track_caller]
fn break_everywhere(earlier: &[&dyn Fixture], fixture: &dyn Fixture, at_least: usize) {
    for when in [When::Before, When::After] {
        let mut writes = 0;
        while breaks_well(earlier, fixture, writes, when) {
            writes += 1;
        }
        assert!(writes >= at_least, "only {writes} writes were broken");
    }
}

#[test]
fn a_first_provider_version_broken_at_each_write_heals() {
    break_everywhere(&[], &ProviderFixture::of("acme", "widget", "1.0.0"), 6);
}

#[test]
fn a_later_provider_version_broken_at_each_write_heals() {
    let first = ProviderFixture::of("acme", "widget", "1.0.0");
    break_everywhere(
        &[&first],
        &ProviderFixture::of("acme", "widget", "1.1.0"),
        6,
    );
}

#[test]
fn a_first_module_version_broken_at_each_write_heals() {
    break_everywhere(&[], &ModuleFixture::of("acme", "1.0.0"), 4);
}

#[test]
fn a_later_module_version_broken_at_each_write_heals() {
    let first = ModuleFixture::of("acme", "1.0.0");
    break_everywhere(&[&first], &ModuleFixture::of("acme", "1.1.0"), 4);
}

#[test]
fn a_first_mirrored_version_broken_at_each_write_heals() {
    let origin = ProviderFixture::of("acme", "widget", "1.0.0");
    break_everywhere(&[], &MirrorFixture::of(origin), 6);
}

#[test]
fn a_platform_that_a_mirrored_version_gains_broken_at_each_write_heals() {
    let whole = MirrorFixture::of(ProviderFixture::of("acme", "widget", "1.0.0"));
    break_everywhere(&[&whole.clone().only("amd64")], &whole.only("arm64"), 6);
}

#[test]
fn a_lost_or_corrupt_index_heals_with_the_next_read() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let fixture = ProviderFixture::of("acme", "widget", "1.0.0");
    fixture.publish(&registry);
    let whole = memory.indices();
    memory.lose_indices();
    memory.put_index(
        "providers/hosted/acme/widget/version/1.0.0",
        "{ not what was written",
    );
    registry.get(&fixture.list()).expect(200);
    for download in fixture.downloads() {
        registry.get(&download).expect(200);
    }
    assert_eq!(memory.indices(), whole);
    assert!(
        memory.log().iter().any(|line| line.contains("is corrupt")),
        "{:?}",
        memory.log()
    );
}

#[test]
fn a_fact_that_cannot_be_read_is_500_and_stays_what_it_is() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.publish(&registry);
    memory.lose_indices();
    let key = "releases/modules/acme/vpc/aws/1.0.0";
    memory.put_object(key, b"{ rot");
    let response = registry.get(&fixture.downloads()[0]).expect(500);
    assert_eq!(response.header("retry-after"), None);
    fixture.put(&registry).expect(500);
    assert_eq!(memory.object_bytes(key), b"{ rot");
}

#[test]
fn keys_that_are_changed_too_often_are_changed_a_little_later() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    memory.busy_fact_writes(3);
    add_key(&registry, "acme", Signer::usual());
    let keys = registry.admin("GET", "/admin/v1/namespaces/acme/keys", None);
    assert_eq!(keys.json()["keys"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_read_answers_even_when_the_index_cannot_be_written() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.publish(&registry);
    for path in [fixture.list(), fixture.downloads()[0].clone()] {
        memory.lose_indices();
        memory.fail_write(0, When::Before);
        registry.get(&path).expect(200);
    }
}

#[test]
fn a_copy_of_the_bucket_without_metadata_lists_the_same() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let fixture = ProviderFixture::of("acme", "widget", "1.0.0");
    fixture.publish(&registry);
    let whole = memory.indices();
    memory.lose_metadata();
    memory.lose_indices();
    registry.get(&fixture.list()).expect(200);
    let key = "providers/hosted/acme/widget/versions";
    assert_eq!(memory.indices().get(key), whole.get(key));
}

#[test]
fn a_reader_does_not_wait_for_a_list_that_is_written_too_often() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.publish(&registry);
    memory.lose_indices();
    memory.busy_index_writes(100);
    let before = memory.now();
    registry.get(&fixture.list()).expect(200);
    assert_eq!(memory.now(), before);
}

#[test]
fn bytes_that_are_not_what_their_key_says_are_asked_for_again() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    let key = format!(
        "archives/{}.zip",
        crate::support::fixtures::sha256(&fixture.archive)
    );
    memory.put_object(
        &key,
        b"other bytes, as a store without a digest check takes them",
    );
    Fixture::prepare(&fixture, &registry);
    assert_eq!(Fixture::put(&fixture, &registry), 201);
}

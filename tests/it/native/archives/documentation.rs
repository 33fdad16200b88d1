//! Documentation archives: who may refer to them, and what happens to them when requests meet or storage loses something.

use serde_json::{Value, json};
use terrace_core::limits::DOCUMENTATION_ABANDONED_SECONDS;
use terrace_core::maintenance::garbage::FENCE_SECONDS;
use terrace_core::storage::documentation::DOCUMENTATION_REMOVAL_SECONDS;

use super::garbage::marked;
use crate::support::ModuleFixture;
use crate::support::cases::in_both_outcomes;
use crate::support::chain;
use crate::support::documentation::{Documentation, path_of};
use crate::support::faults::{Failure, Operations, When};
use crate::support::fixtures::{sha256, upload};
use crate::support::memory::Memory;
use crate::support::registry::{Registry, Response, Sent, TOKEN};
use crate::support::reindexed::reindex;
use crate::support::tokens::{create, post};

const PATH: &str = "/admin/v1/modules/acme/vpc/aws/1.0.0/documentation";
const FACT: &str = "docs/modules/acme/vpc/aws/1.0.0";

/// Returns a registry with an uploaded archive that no version refers to.
fn uploaded() -> (Memory, Registry, Documentation) {
    let (memory, registry) = Registry::with_memory(&[]);
    let documentation = Documentation::of_module("# VPC");
    documentation.upload(&registry, PATH);
    (memory, registry, documentation)
}

/// Returns the same with documentation of the version.
fn added() -> (Memory, Registry, Documentation) {
    let (memory, registry, documentation) = uploaded();
    documentation.put(&registry, PATH).expect(201);
    (memory, registry, documentation)
}

fn state(registry: &Registry) -> Value {
    registry.read_as_admin(PATH)
}

fn is_stored(memory: &Memory) -> bool {
    memory.keys().contains(&FACT.to_owned())
}

fn sent(method: &str, path: &str, body: &Value) -> Sent {
    Sent::new(method, path)
        .bearing(TOKEN)
        .body(body.to_string())
}

/// Returns the request that adds documentation.
fn addition(documentation: &Documentation) -> Sent {
    sent("PUT", PATH, &documentation.description())
}

#[test]
fn a_change_is_audited_with_the_digest_of_the_archive() {
    let (memory, registry, documentation) = added();
    registry.admin("DELETE", PATH, None).expect(200);
    let entries = chain::entries(&memory);
    assert_eq!(entries.len(), 2);
    for (entry, method) in entries.iter().zip(["PUT", "DELETE"]) {
        assert_eq!(entry.what, format!("{method} {PATH}"));
        let sent = entry.sent.unwrap().to_string();
        assert_eq!(sent, sha256(&documentation.archive), "{method}");
    }
}

#[test]
fn documentation_keeps_a_marked_archive() {
    let (memory, registry, documentation) = uploaded();
    let key = documentation.key();
    let body = marked(&memory, &registry, &key);
    documentation.put(&registry, PATH).expect(201);
    let removed = post(&registry, "/admin/v1/garbage", &body).expect(200);
    assert_eq!(removed.json()["spared"][0], key.as_str());
    assert!(memory.keys().contains(&key));
}

#[test]
fn the_same_documentation_keeps_a_marked_archive_again() {
    let (memory, registry, documentation) = added();
    let key = documentation.key();
    // A collector that read the documents before this one was stored.
    let body = marked(&memory, &registry, &key);
    documentation.put(&registry, PATH).expect(200);
    post(&registry, "/admin/v1/garbage", &body).expect(200);
    assert!(memory.keys().contains(&key));
}

#[test]
fn documentation_is_not_committed_to_an_archive_that_is_being_removed() {
    let (memory, registry, documentation) = uploaded();
    let key = documentation.key();
    let body = marked(&memory, &registry, &key);
    memory.fail(Operations::Writes, 1, When::Before, Failure::Error);
    post(&registry, "/admin/v1/garbage", &body).expect(503);
    assert!(memory.keys().contains(&key));
    documentation.put(&registry, PATH).expect(503);
    assert!(!is_stored(&memory));
}

#[test]
fn documentation_is_not_committed_after_its_check_has_expired() {
    let (memory, registry, documentation) = uploaded();
    let late = memory.clone();
    memory.before("R2 inflate", move || late.advance(FENCE_SECONDS + 1));
    documentation.put(&registry, PATH).expect(503);
    assert!(!is_stored(&memory));
    documentation.put(&registry, PATH).expect(201);
}

/// Adds documentation and removes its archive concurrently, in many interleavings.
#[test]
fn documentation_never_lacks_its_archive() {
    in_both_outcomes(|delay| {
        let (memory, registry, documentation) = uploaded();
        let key = documentation.key();
        let body = marked(&memory, &registry, &key);
        memory.interleave();
        let remove = sent("POST", "/admin/v1/garbage", &body);
        registry.send_both([addition(&documentation), remove], delay);
        let has_archive = memory.keys().contains(&key);
        assert!(!is_stored(&memory) || has_archive, "{delay}");
        is_stored(&memory)
    });
}

#[test]
fn two_publishers_change_the_documentation_one_after_the_other() {
    let (memory, registry, first) = uploaded();
    let second = Documentation::of_module("# another");
    second.upload(&registry, PATH);
    let (other, late) = (Registry::in_memory(&memory, &[]), second.clone());
    memory.before("R2 put docs/", move || {
        late.put(&other, PATH).expect(201);
    });
    let changed = first.put(&registry, PATH).found();
    assert_eq!(
        (&changed["status"], &changed["sequence"]),
        (&json!("changed"), &json!(2))
    );
    let history = &state(&registry)["history"];
    assert_eq!(history[0]["archive"], sha256(&first.archive));
    assert_eq!(history[1]["archive"], sha256(&second.archive));
}

/// Documents and publishes a version concurrently. The later of the two writes the indices after both commits: the
/// publish, if its release is committed after the documentation, or else the documentation.
#[test]
fn the_later_of_a_publish_and_its_documentation_writes_the_indices() {
    in_both_outcomes(|delay| {
        let (memory, registry, documentation) = uploaded();
        let module = ModuleFixture::of("acme", "1.0.0");
        module.upload(&registry);
        memory.forget_operations();
        memory.interleave();
        let publish = sent("PUT", &module.admin_path(), &module.description());
        let answers = registry.send_both([addition(&documentation), publish], delay);
        assert!(answers.iter().all(|it| it.status == 201), "{answers:?}");
        let operations = memory.operations();
        let at = |start: &str| operations.iter().position(|it| it.starts_with(start));
        let is_first = at("R2 put docs/") < at("R2 put releases/");
        let is_published = answers[0].json()["is_published"] == true;
        assert!(is_first || is_published, "{delay}: {operations:?}");
        is_published
    });
}

#[test]
fn a_publisher_who_may_not_read_everything_uploads_the_archive() {
    let (memory, registry) = Registry::with_memory(&[("TERRACE_ACCESS", "private")]);
    let documentation = Documentation::of_module("# a secret");
    let acme = path_of("modules", "acme/vpc/aws", "1.0.0");
    documentation.add(&registry, &acme).expect(201);
    let (_, token) = create(&registry, &["publish:globex"], None);
    let globex = path_of("modules", "globex/vpc/aws", "1.0.0");
    let put = || {
        let body = documentation.description().to_string();
        registry.send(&Sent::new("PUT", &globex).bearing(&token).body(body))
    };
    // The digest alone opens nothing.
    put().expect(202);
    let asked = put().expect(202);
    registry.get_as(&token, &acme).expect(403);
    upload(&registry, &asked, &[&documentation.archive]);
    put().expect(201);
    let staged = memory.keys_with("incoming/");
    assert_eq!(staged, [""; 0], "the staged upload is removed");
    put().expect(200);
    let removal = Sent::new("DELETE", &globex).bearing(&token);
    registry.send(&removal).expect(200);
}

#[test]
fn documentation_of_another_registry_has_a_licence_and_an_origin_where_it_is_enabled() {
    let (_, registry) = Registry::with_memory(&[("TERRACE_MIRRORED_DOCS", "true")]);
    let documentation = Documentation::of_provider(&[("widget", "# widget")]);
    let path = path_of("mirror", "registry.example.com/acme/widget", "1.0.0");
    let errors = documentation.put(&registry, &path).expect(422).errors();
    assert!(errors.contains("license is missing") && errors.contains("origin is missing"));
    let mut body = documentation.description();
    body["license"] = "MPL-2.0".into();
    body["origin"] = "https://registry.example.com/providers/acme/widget".into();
    let put = |path: &str| registry.put(path, &body);
    let asked = put(&path).expect(202);
    upload(&registry, &asked, &[&documentation.archive]);
    put(&path).expect(201);
    let state = registry.read_as_admin(&path);
    assert_eq!(
        (&state["license"], &state["origin"]),
        (&body["license"], &body["origin"])
    );
    let own = path_of("mirror", "registry.test/acme/widget", "1.0.0");
    put(&own).refuses(400, "is this registry itself");
}

#[test]
fn the_same_documentation_is_no_change_if_its_archive_was_lost_or_it_waits_for_another_day() {
    let (memory, registry, documentation) = added();
    let first = state(&registry);
    memory.remove_object(&documentation.key());
    let again = documentation.add(&registry, PATH).found();
    assert_eq!(again["status"], "unchanged");
    assert!(memory.keys().contains(&documentation.key()));
    assert_eq!(state(&registry), first);
    memory.advance(DOCUMENTATION_ABANDONED_SECONDS);
    let again = documentation.put(&registry, PATH).found();
    assert_eq!(again["status"], "unchanged");
    let renewed = state(&registry);
    assert_eq!(renewed["sequence"], 1);
    assert_eq!(renewed["history"].as_array().unwrap().len(), 1);
    assert_ne!(renewed["history"][0]["at"], first["history"][0]["at"]);
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    let about = registry.read("/api/v1/modules/acme/vpc/aws/1.0.0");
    assert_eq!(about["documentation"]["changes"], 0);
}

#[test]
fn a_damaged_document_counts_as_none_and_can_be_removed() {
    let (memory, registry, documentation) = added();
    memory.put_object(FACT, b"{");
    registry.admin("GET", PATH, None).expect(404);
    memory.assert_logged("corrupt: docs/");
    documentation.put(&registry, PATH).expect(500);
    registry.admin("DELETE", PATH, None).expect(200);
    documentation.put(&registry, PATH).expect(201);
}

fn documented(registry: &Registry, after: &str) -> Value {
    let path = format!("/admin/v1/documentation?after={after}");
    registry.read_as_admin(&path)
}

#[test]
fn documented_versions_are_listed_by_one_operation() {
    let (memory, registry, documentation) = added();
    let other = Documentation::of_provider(&[]);
    let path = path_of("providers", "acme/widget", "1.0.0");
    other.add(&registry, &path).expect(201);
    memory.forget_operations();
    let listed = documented(&registry, "");
    assert_eq!(
        listed,
        json!({ "documented": [
            { "key": FACT, "archive": documentation.key() },
            { "key": "docs/providers/hosted/acme/widget/1.0.0", "archive": other.key() },
        ] })
    );
    assert_eq!(memory.operations(), ["R2 list docs/"]);
    let rest = documented(&registry, FACT)["documented"].clone();
    assert_eq!(rest.as_array().unwrap().len(), 1);
    let other = "/admin/v1/documentation?after=keys/acme";
    registry.admin("GET", other, None).expect(400);
}

#[test]
fn a_copy_without_metadata_is_listed_from_its_documents_in_bounded_pages() {
    let (memory, registry, documentation) = uploaded();
    for minor in 0..90 {
        let path = path_of("modules", "acme/vpc/aws", &format!("1.{minor}.0"));
        documentation.put(&registry, &path).expect(201);
    }
    memory.lose_metadata();
    memory.put_object("docs/modules/acme/vpc/aws/1.5.0", b"{");
    memory.put_object("docs/else", b"{}");
    let (mut after, mut archives, mut unknown, mut pages) = (String::new(), 0, Vec::new(), 0);
    loop {
        let page = documented(&registry, &after);
        for it in page["documented"].as_array().unwrap() {
            assert_eq!(it["archive"], documentation.key());
            archives += 1;
        }
        unknown.extend(page["unknown"].as_array().cloned().unwrap_or_default());
        pages += 1;
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert_eq!((archives, pages), (89, 3));
    assert_eq!(unknown, ["docs/else", "docs/modules/acme/vpc/aws/1.5.0"]);
}

/// Repairs everything, and returns the removed keys.
fn repair(registry: &Registry) -> Vec<String> {
    reindex(registry).removed
}

#[test]
fn documentation_without_a_release_is_removed_after_a_day() {
    for operations in ["40", "800"] {
        let vars = [("TERRACE_REPAIR_OPERATIONS", operations)];
        let (memory, registry) = Registry::with_memory(&vars);
        let documentation = Documentation::of_module("# VPC");
        let module = ModuleFixture::of("acme", "1.0.0");
        module.publish(&registry);
        documentation.add(&registry, PATH).expect(201);
        let mut waiting = Vec::new();
        for minor in 1..30 {
            let path = path_of("modules", "acme/vpc/aws", &format!("1.{minor}.0"));
            documentation.put(&registry, &path).expect(201);
            waiting.push(format!("docs/modules/acme/vpc/aws/1.{minor}.0"));
        }
        waiting.sort();
        memory.advance(DOCUMENTATION_ABANDONED_SECONDS);
        assert_eq!(repair(&registry), [""; 0]);
        memory.advance(1);
        let mut removed = repair(&registry);
        removed.sort();
        assert_eq!(removed, waiting);
        state(&registry);
    }
}

/// Returns a registry with documentation that has waited for its release for more than a day.
fn abandoned() -> (Memory, Registry, Documentation) {
    let added = added();
    added.0.advance(DOCUMENTATION_ABANDONED_SECONDS + 1);
    added
}

#[test]
fn abandoned_documentation_that_is_sent_again_during_its_removal_is_not_lost() {
    let (memory, registry, documentation) = abandoned();
    let (other, again) = (Registry::in_memory(&memory, &[]), documentation.clone());
    let fault = memory.before("R2 put docs/", move || {
        again.put(&other, PATH).expect(200);
    });
    assert_eq!(repair(&registry), [""; 0]);
    assert!(fault.is_reached());
    assert_eq!(state(&registry)["sequence"], 1);
    let (memory, registry, documentation) = abandoned();
    let (other, again) = (Registry::in_memory(&memory, &[]), documentation.clone());
    let fault = memory.before("R2 delete docs/", move || {
        let told = again.put(&other, PATH).expect(503).text();
        assert!(told.contains("is being removed"), "{told}");
    });
    assert_eq!(repair(&registry), [FACT]);
    assert!(fault.is_reached());
    documentation.put(&registry, PATH).expect(201);
}

#[test]
fn documentation_is_sent_again_a_minute_after_an_interrupted_removal() {
    let (memory, registry, documentation) = abandoned();
    memory.fail("R2 delete docs/", 0, When::Before, Failure::Error);
    assert_eq!(repair(&registry), [""; 0]);
    documentation.put(&registry, PATH).expect(503);
    memory.advance(DOCUMENTATION_REMOVAL_SECONDS + 1);
    let again = documentation.put(&registry, PATH).found();
    assert_eq!(again["sequence"], 1);
    assert_eq!(repair(&registry), [""; 0]);
    state(&registry);
}

#[test]
fn documentation_is_not_removed_long_after_its_mark() {
    let (memory, registry, _) = abandoned();
    let late = memory.clone();
    let mark = memory.run("R2 put docs/", 0, When::After, move || {
        late.advance(DOCUMENTATION_REMOVAL_SECONDS);
    });
    assert_eq!(repair(&registry), [""; 0]);
    assert!(mark.is_reached());
    state(&registry);
}

#[test]
fn a_version_that_is_published_during_the_removal_of_its_documentation_is_listed_without() {
    let (memory, registry, _) = abandoned();
    let other = Registry::in_memory(&memory, &[]);
    let fault = memory.before("R2 delete docs/", move || {
        ModuleFixture::of("acme", "1.0.0").publish(&other);
    });
    assert_eq!(repair(&registry), [FACT]);
    assert!(fault.is_reached());
    for index in ["overview", "about/1.0.0"] {
        let text = memory.index(&format!("modules/acme/vpc/aws/{index}")).text;
        let is_undocumented = !text.contains("documented") && !text.contains("documentation");
        assert!(is_undocumented, "{index}: {text}");
    }
}

/// Returns a registry with documentation, and an action that stores other documentation. The action expects this status.
fn replaced(status: u16) -> (Memory, Registry, Documentation, impl FnOnce() + 'static) {
    let (memory, registry, _) = added();
    let second = Documentation::of_module("# another");
    second.upload(&registry, PATH);
    let (other, late) = (Registry::in_memory(&memory, &[]), second.clone());
    let replace = move || {
        late.put(&other, PATH).expect(status);
    };
    (memory, registry, second, replace)
}

#[test]
fn documentation_that_another_publisher_stores_during_a_removal_is_kept() {
    let (memory, registry, second, replace) = replaced(200);
    let fault = memory.before("R2 put docs/", replace);
    let refused = registry.admin("DELETE", PATH, None);
    refused.refuses(409, "another request has changed");
    assert!(fault.is_reached());
    assert_eq!(state(&registry)["sha256"], sha256(&second.archive));
}

#[test]
fn a_publisher_repeats_a_request_that_came_during_a_removal() {
    let (memory, registry, second, replace) = replaced(503);
    let fault = memory.before("R2 delete docs/", replace);
    registry.admin("DELETE", PATH, None).expect(200);
    assert!(fault.is_reached());
    second.put(&registry, PATH).expect(201);
}

#[test]
fn an_interrupted_removal_is_repeated_a_minute_later() {
    let (memory, registry, _) = added();
    memory.fail("R2 delete docs/", 0, When::Before, Failure::Error);
    let remove = || registry.admin("DELETE", PATH, None);
    remove().expect(503);
    remove().refuses(503, "is being removed");
    memory.advance(DOCUMENTATION_REMOVAL_SECONDS + 1);
    remove().expect(200);
    assert!(!is_stored(&memory));
}

#[test]
fn documentation_is_not_removed_by_a_request_that_was_held_up_after_its_mark() {
    let (memory, registry, documentation) = added();
    let late = memory.clone();
    let mark = memory.run("R2 put docs/", 0, When::After, move || {
        late.advance(DOCUMENTATION_REMOVAL_SECONDS / 2 + 1);
    });
    let refused = registry.admin("DELETE", PATH, None);
    refused.refuses(503, "took too long");
    assert!(mark.is_reached());
    state(&registry);
    memory.advance(DOCUMENTATION_REMOVAL_SECONDS);
    documentation.put(&registry, PATH).expect(200);
}

/// Replaces documentation and removes the earlier one concurrently, in many interleavings.
#[test]
fn accepted_documentation_is_never_removed_with_an_earlier_one() {
    in_both_outcomes(|delay| {
        let (memory, registry, second, _) = replaced(200);
        let first = state(&registry)["sha256"].as_str().unwrap().to_owned();
        memory.interleave();
        let path = format!("{PATH}?sha256={first}");
        let remove = Sent::new("DELETE", &path).bearing(TOKEN);
        let answers = registry.send_both([addition(&second), remove], delay);
        assert_kept_if_accepted(&memory, &answers, delay)
    });
}

/// Asserts that the documentation of the first request is stored unless it was refused. Returns whether it is.
fn assert_kept_if_accepted(memory: &Memory, answers: &[Response; 2], delay: usize) -> bool {
    let [Response { status, .. }, _] = answers;
    assert_eq!(is_stored(memory), *status != 503, "{delay}: {status}");
    is_stored(memory)
}

/// Sends documentation again and repairs concurrently, in many interleavings.
#[test]
fn accepted_documentation_is_never_removed_as_abandoned() {
    in_both_outcomes(|delay| {
        let (memory, registry, documentation) = abandoned();
        memory.interleave();
        let repair = sent("POST", "/admin/v1/reindex", &json!({}));
        let answers = registry.send_both([addition(&documentation), repair], delay);
        assert_kept_if_accepted(&memory, &answers, delay)
    });
}

#[test]
fn a_document_is_imported_only_with_its_archive() {
    let (memory, _, documentation) = added();
    let document = String::from_utf8(memory.object_bytes(FACT)).unwrap();
    let (memory, registry) = Registry::with_memory(&[]);
    let body = json!({ "facts": [{ "key": FACT, "document": document }] });
    let import = || registry.put("/admin/v1/facts", &body).found();
    let refused = import();
    let reason = refused["refused"][0]["reason"].as_str().unwrap();
    assert!(reason.ends_with(".docs is not stored"), "{reason}");
    memory.put_object(&documentation.key(), &documentation.archive);
    assert_eq!(import()["created"][0], FACT);
    let digest = sha256(&documentation.archive);
    assert_eq!(memory.metadata(FACT), [("archive".to_owned(), digest)]);
    assert_eq!(import()["unchanged"][0], FACT);
}

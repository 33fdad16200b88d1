//! The audit log: every change, with its author.

use terrace_core::maintenance::audit::{AuditChain, AuditEntry, AuditError};

use crate::support::everything::fill;
use crate::support::faults::{Failure, Operations, When};
use crate::support::people::{People, exchanged};
use crate::support::pushed::{MANIFEST, Pushed};
use crate::support::registry::{Sent, TOKEN};
use crate::support::tokens::{create, revoke};
use crate::support::{ModuleFixture, ProviderFixture, Registry};

/// Returns the texts of all entries, page by page.
fn texts(registry: &Registry) -> Vec<String> {
    let mut texts = Vec::new();
    let mut path = "/admin/v1/audit".to_owned();
    loop {
        let page = registry.read_as_admin(&path);
        let entries = page["entries"].as_array().unwrap().iter();
        texts.extend(entries.map(|text| text.as_str().unwrap().to_owned()));
        match page["next"].as_u64() {
            Some(next) => path = format!("/admin/v1/audit?after={next}"),
            None => return texts,
        }
    }
}

fn walk(texts: &[String]) -> Result<Vec<AuditEntry>, AuditError> {
    let mut chain = AuditChain::default();
    texts.iter().map(|text| chain.follow(text)).collect()
}

#[test]
fn every_change_has_an_entry_with_its_author_time_and_address() {
    let (_, registry) = Registry::with_memory(&[]);
    let module = ModuleFixture::of("acme", "1.0.0");
    let (id, token) = create(&registry, &["publish:acme"], None);
    let body = module.description().to_string();
    let send = || {
        let sent = Sent::new("PUT", &module.admin_path()).bearing(&token);
        registry.send(
            &sent
                .header("cf-connecting-ip", "192.0.2.1")
                .body(body.clone()),
        )
    };
    // A described release without its archive is not a change yet.
    send().expect(202);
    module.upload(&registry);
    send().expect(201);
    send().expect(200);
    revoke(&registry, &id).expect(200);
    let entries = walk(&texts(&registry)).unwrap();
    let told: Vec<_> = entries
        .iter()
        .map(|it| (it.what.as_str(), it.status))
        .collect();
    let put = format!("PUT {}", module.admin_path());
    let delete = format!("DELETE /admin/v1/tokens/{id}");
    let made = format!("POST /admin/v1/tokens makes /admin/v1/tokens/{id}");
    assert_eq!(
        told,
        [
            (made.as_str(), 201),
            (put.as_str(), 201),
            (put.as_str(), 200),
            (delete.as_str(), 200)
        ]
    );
    // The audit log names the admin token, as its bearer is told.
    let own = registry.read_as_admin("/api/v1/token");
    let root = format!("root (key {})", own["key"].as_str().unwrap());
    assert_eq!(
        (entries[0].by.as_str(), entries[0].at.0),
        (root.as_str(), 1_800_000_000)
    );
    assert_eq!(
        (entries[1].by.as_str(), entries[1].from.as_str()),
        (&*format!("token {id} (a test)"), "192.0.2.1")
    );
    assert_eq!(
        entries[1].sent,
        Some(terrace_base::digest::Sha256::of(body.as_bytes()))
    );
    assert_eq!(entries[1].sent, entries[2].sent);
    assert_eq!(entries[3].sent, None);
}

#[test]
fn a_push_and_a_delete_by_oci_have_an_entry_each() {
    let (_, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, "acme/tools");
    pushed.artifact("latest", b"a layer", serde_json::json!({}));
    let latest = pushed.get("manifests/latest").expect(200);
    let digest = latest.header("docker-content-digest").unwrap();
    pushed
        .send("DELETE", &format!("manifests/{digest}"))
        .expect(202);
    let entries = walk(&texts(&registry)).unwrap();
    let told: Vec<&str> = entries.iter().map(|it| it.what.as_str()).collect();
    let deleted = format!("DELETE /v2/acme/tools/manifests/{digest}");
    assert_eq!(
        told,
        [
            "PUT /v2/acme/tools/manifests/latest tags latest",
            deleted.as_str()
        ]
    );
    assert_eq!(format!("sha256:{}", entries[0].sent.unwrap()), *digest);
}

#[test]
fn a_read_and_a_rejected_request_have_no_entry() {
    let (_, registry) = Registry::with_memory(&[]);
    registry.admin("GET", "/admin/v1/tokens", None).expect(200);
    registry
        .admin("POST", "/admin/v1/tokens", Some(b"{}"))
        .expect(400);
    let sent = Sent::new("DELETE", "/admin/v1/tokens/0123456789abcdef");
    registry.send(&sent.bearing("wrong")).expect(401);
    assert_eq!(texts(&registry), Vec::<String>::new());
}

#[test]
fn no_log_and_no_document_contains_a_secret() {
    let (memory, registry) = Registry::with_memory(&[]);
    let (_, token) = create(&registry, &["admin"], None);
    fill(&registry);
    let all = texts(&registry).join("\n");
    assert!(!all.contains(&token) && !all.contains(TOKEN), "{all}");
    for key in memory.keys() {
        let bytes = memory.object_bytes(&key);
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            !text.contains(&token) && !text.contains("terrace_") && !text.contains(TOKEN),
            "{key}"
        );
    }
}

#[test]
fn a_delete_of_a_missing_object_has_an_entry_so_that_no_delete_is_lost() {
    let (memory, registry) = Registry::with_memory(&[]);
    let provider = ProviderFixture::of("acme", "widget", "1.0.0");
    provider.add_key(&registry);
    let listed = registry.admin("GET", "/admin/v1/namespaces/acme/keys", None);
    let id = listed.json()["keys"][0]["key_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let key = format!("/admin/v1/namespaces/acme/keys/{id}");
    let pushed = Pushed::of(&registry, "acme/tools");
    pushed.artifact("latest", b"a layer", serde_json::json!({}));
    let before = texts(&registry).len();
    // The second write of a delete is that of its audit entry.
    let fault = memory.fail(Operations::Writes, 1, When::Before, Failure::Error);
    registry.admin("DELETE", &key, None).expect(503);
    assert!(fault.lift());
    registry.admin("DELETE", &key, None).expect(404);
    for status in [202, 404] {
        pushed.send("DELETE", "manifests/latest").expect(status);
    }
    let entries = walk(&texts(&registry)).unwrap();
    let told = entries.iter().skip(before).map(|it| it.status);
    assert_eq!(told.collect::<Vec<_>>(), [404, 202, 404]);
}

#[test]
fn a_log_without_a_valid_head_continues_after_its_last_entry() {
    let (memory, registry) = Registry::with_memory(&[]);
    for _ in 0..30 {
        create(&registry, &["read"], None);
    }
    let break_head: [&dyn Fn(); 4] = [
        &|| memory.put_object("audit-head", b"{\"number\":18446744073709551615}"),
        &|| memory.remove_object("audit-head"),
        &|| memory.put_object("audit-head", b"no JSON"),
        &|| memory.put_object("audit-head", b"{\"number\":3}"),
    ];
    for (at, break_head) in break_head.iter().enumerate() {
        break_head();
        memory.forget_operations();
        create(&registry, &["read"], None);
        let operations = memory.operations();
        assert!(operations.len() < 12, "{operations:?}");
        assert_eq!(walk(&texts(&registry)).unwrap().len(), 31 + at);
    }
}

#[test]
fn an_entry_that_is_written_while_others_are_listed_is_not_missed() {
    for operation in ["R2 list audit/", "R2 get audit-head"] {
        let (memory, registry) = Registry::with_memory(&[]);
        create(&registry, &["read"], None);
        let other = Registry::in_memory(&memory, &[]);
        memory.before(operation, move || {
            create(&other, &["read"], None);
        });
        let page = registry.admin("GET", "/admin/v1/audit", None);
        let page = page.found();
        let count = page["entries"].as_array().unwrap().len() as u64;
        assert!(page["newest"].as_u64().unwrap() <= count, "{page}");
    }
}

#[test]
fn an_interrupted_change_has_an_entry() {
    let (memory, registry) = Registry::with_memory(&[]);
    let module = ModuleFixture::of("acme", "1.0.0");
    module.upload(&registry);
    let before = texts(&registry).len();
    // The release is committed, and the next write fails.
    let fault = memory.fail(Operations::Writes, 1, When::Before, Failure::Error);
    module.put(&registry).expect(503);
    assert!(fault.lift());
    assert!(memory.keys().iter().any(|key| key.starts_with("releases/")));
    let entries = walk(&texts(&registry)).unwrap();
    assert_eq!(entries.len(), before + 1);
    assert_eq!(entries[before].status, 503);
}

#[test]
fn an_oci_change_that_fails_after_its_first_write_has_an_entry() {
    for method in ["DELETE", "PUT"] {
        let (memory, registry) = Registry::with_memory(&[]);
        let pushed = Pushed::of(&registry, "acme/tools");
        pushed.artifact("latest", b"a layer", serde_json::json!({}));
        let manifest = pushed.get("manifests/latest").expect(200).text();
        let before = texts(&registry).len();
        let mut sent = pushed.request(method, "manifests/latest");
        if method == "PUT" {
            sent = sent.header("content-type", MANIFEST).body(manifest);
        }
        // The tag or the manifest has been written, and the next write fails.
        let fault = memory.fail(Operations::Writes, 1, When::Before, Failure::Error);
        registry.send(&sent).expect(503);
        assert!(fault.lift());
        let entries = walk(&texts(&registry)).unwrap();
        assert_eq!(entries.len(), before + 1, "{method}");
        assert_eq!(entries[before].status, 503);
        let what = format!("{method} /v2/acme/tools/manifests/latest");
        assert_eq!(entries[before].what, what);
    }
}

#[test]
fn a_sign_in_that_fails_after_storing_a_token_has_an_entry() {
    let people = People::new();
    let code = people.allow();
    // The token is stored, and storage reports a failure.
    let fault = people
        .memory
        .fail(Operations::Writes, 0, When::After, Failure::Error);
    people.exchange(&exchanged(&code)).expect(503);
    assert!(fault.lift());
    let entries = walk(&texts(&people.registry)).unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].status, 503);
    assert_eq!(entries[0].by, "login as 248289761001");
    let tokens = people.memory.keys();
    let token = tokens.iter().find_map(|key| key.strip_prefix("tokens/"));
    let what = format!(
        "POST /oauth/token makes /admin/v1/tokens/{}",
        token.unwrap()
    );
    assert_eq!(entries[0].what, what);
}

#[test]
fn two_concurrent_changes_have_an_entry_each() {
    let (memory, registry) = Registry::with_memory(&[]);
    let other = memory.clone();
    memory.before(Operations::Commits, move || {
        create(&Registry::in_memory(&other, &[]), &["read"], None);
    });
    create(&registry, &["read"], None);
    assert_eq!(walk(&texts(&registry)).unwrap().len(), 2);
}

#[test]
fn a_long_log_is_listed_in_pages_and_from_a_given_time() {
    let (memory, registry) = Registry::with_memory(&[]);
    let path = "/admin/v1/tokens/0123456789abcdef";
    for _ in 0..201 {
        registry.admin("DELETE", path, None).expect(200);
        memory.advance(1);
    }
    assert_eq!(walk(&texts(&registry)).unwrap().len(), 201);
    let since = format!("/admin/v1/audit?after=150&since={}", 1_800_000_000 + 199);
    let page = registry.read_as_admin(&since);
    assert_eq!(page["entries"].as_array().unwrap().len(), 2);
    assert_eq!(page["newest"], 201);
}

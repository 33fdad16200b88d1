//! Operator routes: repair, verification, garbage collection, and copies.

use serde_json::{Value, json};

use crate::support::fixtures::{send_upload, sha256, zip_of};
use crate::support::registry::{Response, Sent, unique};
use crate::support::tokens::{create, post};
use crate::support::{ModuleFixture, ProviderFixture, Registry};

const ROUTES: [(&str, &str); 12] = [
    ("GET", "/admin/v1/doctor"),
    ("POST", "/admin/v1/reindex"),
    ("POST", "/admin/v1/verify"),
    ("GET", "/admin/v1/facts"),
    ("PUT", "/admin/v1/facts"),
    ("GET", "/admin/v1/archives"),
    ("POST", "/admin/v1/archives"),
    ("POST", "/admin/v1/garbage"),
    ("POST", "/admin/v1/erasures"),
    ("GET", "/admin/v1/failover"),
    ("PUT", "/admin/v1/failover"),
    ("POST", "/admin/v1/replication"),
];

fn restore(registry: &Registry, body: &Value) -> Response {
    registry.admin("PUT", "/admin/v1/facts", Some(body.to_string().as_bytes()))
}

/// Returns the only document with this key.
fn fact(registry: &Registry, key: &str) -> Option<Value> {
    let path = format!("/admin/v1/facts?prefix={key}");
    let page = registry.admin("GET", &path, None).expect(200).json();
    page["facts"].as_array().unwrap().first().cloned()
}

/// Returns an archive that nothing refers to, and its key.
fn archive() -> (Vec<u8>, String) {
    let zip = zip_of(&[("main.tf", unique("# ").as_bytes())]);
    let key = format!("archives/{}.zip", sha256(&zip));
    (zip, key)
}

#[test]
fn operator_routes_require_the_admin_scope() {
    let registry = Registry::start();
    let (_, token) = create(&registry, &["publish:acme", "read"], Some(600));
    for (method, path) in ROUTES {
        registry
            .send(&Sent::new(method, path).body("{}"))
            .expect(401);
        let sent = Sent::new(method, path).body("{}").bearing(&token);
        let refused = registry.send(&sent).expect(403);
        let errors = refused.errors();
        let scopes = ["scope admin;", "scope backup or admin;"];
        assert!(
            scopes.iter().any(|scope| errors.contains(scope)),
            "{errors}"
        );
    }
}

#[test]
fn a_registry_without_a_second_bucket_states_that() {
    let registry = Registry::start();
    let path = "/admin/v1/failover";
    let state = registry.admin("GET", path, None).expect(200).json();
    assert_eq!(
        state,
        json!({ "configured": false, "serving": "main", "recorded": true })
    );
    for (body, status, told) in [
        (
            json!({ "serving": "fallback", "reason": "a test" }),
            409,
            "TERRACE_S3_FALLBACK_",
        ),
        (
            json!({ "serving": "third", "reason": "a test" }),
            400,
            "third",
        ),
        (json!({ "serving": "fallback" }), 400, "reason"),
        (
            json!({ "serving": "fallback", "reason": "two\nlines" }),
            422,
            "one line",
        ),
    ] {
        let body = body.to_string();
        let refused = registry.admin("PUT", path, Some(body.as_bytes()));
        let errors = refused.expect(status).errors();
        assert!(errors.contains(told), "{errors}");
    }
    let compared = post(&registry, "/admin/v1/replication", &json!({})).expect(409);
    assert!(compared.errors().contains("TERRACE_S3_FALLBACK_"));
}

#[test]
fn an_invalid_request_is_rejected_with_the_value_and_the_rule() {
    let registry = Registry::start();
    let many = vec!["archives/x.zip"; 41];
    for (path, body, told) in [
        (
            "reindex",
            json!({ "package": "acme" }),
            vec!["\"acme\"", "namespace/type"],
        ),
        (
            "reindex",
            json!({ "after": "x y" }),
            vec!["\"x y\"", "`next`"],
        ),
        (
            "reindex",
            json!({ "from": 1 }),
            vec!["unknown field `from`", "`after`"],
        ),
        (
            "verify",
            json!({ "after": "keys/acme" }),
            vec!["\"keys/acme\"", "`next`"],
        ),
        ("verify", json!("x"), vec!["struct VerifyBody"]),
        (
            "archives",
            json!({ "archives": [{ "key": "x", "size": 1 }] }),
            vec!["\"x\"", "archives/<sha256>"],
        ),
        ("archives", json!({}), vec!["missing field `archives`"]),
        (
            "garbage",
            json!({ "mark": ["releases/x"] }),
            vec!["\"releases/x\"", "archives/<sha256>"],
        ),
        ("garbage", json!({ "mark": many }), vec!["41", "at most 40"]),
        (
            "garbage",
            json!({ "delete": [] }),
            vec!["unknown field `delete`", "`mark`"],
        ),
        ("erasures", json!({}), vec!["missing field `reason`"]),
        (
            "erasures",
            json!({ "reason": "x", "archives": ["releases/x"] }),
            vec!["\"releases/x\"", "archives/<sha256>"],
        ),
        (
            "erasures",
            json!({ "reason": "x", "archives": vec![archive().1; 81] }),
            vec!["81", "at most 80"],
        ),
        (
            "erasures",
            json!({ "reason": "x", "package": "acme", "version": "1.0.0" }),
            vec!["\"acme\"", "namespace/type"],
        ),
        (
            "erasures",
            json!({ "reason": "x", "package": "acme/widget", "version": "1" }),
            vec!["version"],
        ),
        (
            "erasures",
            json!({ "reason": "x", "everywhere": true }),
            vec!["unknown field `everywhere`"],
        ),
    ] {
        let answer = post(&registry, &format!("/admin/v1/{path}"), &body).expect(400);
        for text in told {
            assert!(answer.errors().contains(text), "{body}: {}", answer.text());
        }
    }
    for (query, told) in [
        ("facts?prefix=keys/&after=releases/x", "\"releases/x\""),
        ("archives?after=keys/acme", "\"keys/acme\""),
        ("archives?urls=yes", "\"yes\""),
        (
            "archives?limit=-1",
            "the parameter limit is -1: this path has no such parameter; it takes after, urls",
        ),
        (
            "audit?after=-1",
            "the parameter after is -1: it must be a number",
        ),
        ("audit?since=yesterday", "the parameter since is yesterday"),
        ("audit?n=-1", "it takes after, since"),
        (
            "rules?kind=x",
            "the parameter kind is x: this path has no such parameter; it takes no parameters",
        ),
        ("tokens?limit=-1", "it takes after"),
        ("webhooks?limit=1", "no such parameter"),
        ("documentation?kind=x", "it takes after"),
        ("namespaces/acme/keys?limit=-1", "no such parameter"),
    ] {
        let answer = registry.admin("GET", &format!("/admin/v1/{query}"), None);
        assert!(answer.expect(400).errors().contains(told), "{query}");
    }
    let fact = json!({ "key": "keys/acme", "document": "{}" });
    let refused = restore(&registry, &json!({ "facts": vec![fact; 21] })).expect(400);
    assert!(
        refused.errors().contains("at most 20"),
        "{}",
        refused.text()
    );
    let size = 6_000_000_000_u64;
    let (_, key) = archive();
    let large = json!({ "archives": [{ "key": key, "size": size }] });
    let refused = post(&registry, "/admin/v1/archives", &large).expect(422);
    assert!(
        refused.errors().contains("6000000000"),
        "{}",
        refused.text()
    );
    for (method, path) in ROUTES.into_iter().filter(|(method, _)| *method != "GET") {
        let sent = Sent::new(method, path).bearing(registry.token());
        registry.send(&sent.unsized_body("{}")).expect(411);
    }
}

#[test]
fn a_reindex_of_correct_indices_changes_nothing() {
    let registry = Registry::start();
    let fixture = ProviderFixture::new("1.0.0");
    fixture.publish(&registry);
    let body = json!({ "package": format!("{}/widget", fixture.namespace) });
    let step = post(&registry, "/admin/v1/reindex", &body)
        .expect(200)
        .json();
    assert_eq!(step["failed"], json!([]), "{step}");
    assert_eq!(step["rewritten"], json!([]), "{step}");
    assert_eq!(step["removed"], json!([]), "{step}");
    assert!(step["looked_at"].as_u64().unwrap() > 5, "{step}");
    assert!(step.get("next").is_none(), "{step}");
    let path = fixture.path();
    registry.get(&format!("{path}/versions")).expect(200);
    registry
        .get(&format!("{path}/1.0.0/download/linux/amd64"))
        .expect(200);
}

#[test]
fn stored_bytes_are_hashed_by_the_platform() {
    let registry = Registry::start();
    let fixture = ModuleFixture::new("1.0.0");
    fixture.publish(&registry);
    // The cursor is the key before that of the archive.
    let digest = sha256(&fixture.archive);
    let after = json!({ "after": format!("archives/{digest}") });
    let step = post(&registry, "/admin/v1/verify", &after)
        .expect(200)
        .json();
    assert!(step["looked_at"].as_u64().unwrap() >= 1, "{step}");
    assert!(step["bytes"].as_u64().unwrap() >= fixture.archive.len() as u64);
    assert_eq!(step["wrong"], json!([]), "{step}");
}

#[test]
fn stored_documents_and_bytes_are_listed_and_the_bytes_can_be_fetched() {
    let registry = Registry::start();
    let fixture = ModuleFixture::new("1.0.0");
    fixture.publish(&registry);
    let release = format!("releases/modules/{}/1.0.0", fixture.address);
    let fact = fact(&registry, &release).unwrap();
    assert_eq!(fact["key"], release);
    let document: Value = serde_json::from_str(fact["document"].as_str().unwrap()).unwrap();
    assert_eq!(document["version"], "1.0.0");
    let digest = sha256(&fixture.archive);
    let path = format!("/admin/v1/archives?urls=true&after=archives/{digest}");
    let page = registry.admin("GET", &path, None).expect(200).json();
    let stored = &page["archives"][0];
    assert_eq!(stored["key"], format!("archives/{digest}.zip"));
    assert_eq!(stored["size"], fixture.archive.len());
    assert!(stored["stored_at"].as_u64().unwrap() <= page["now"].as_u64().unwrap());
    let url = stored["url"].as_str().unwrap();
    assert_eq!(registry.get(url).expect(200).body, fixture.archive);
}

#[test]
fn a_restored_document_is_created_once_its_bytes_are_stored_and_never_replaced() {
    let registry = Registry::start();
    // The same registry is the source and the target of the copy: the release is restored under an unused
    // name.
    let fixture = ModuleFixture::new("1.0.0");
    fixture.publish(&registry);
    let other = ModuleFixture::new("1.0.0");
    let (zip, key) = archive();
    let document = fact(
        &registry,
        &format!("releases/modules/{}/1.0.0", fixture.address),
    );
    let document = document.unwrap()["document"].as_str().unwrap().to_owned();
    let document = document
        .replace(&fixture.address, &other.address)
        .replace(&sha256(&fixture.archive), &sha256(&zip))
        .replace(
            &format!("\"size\":{}", fixture.archive.len()),
            &format!("\"size\":{}", zip.len()),
        );
    let release = format!("releases/modules/{}/1.0.0", other.address);
    let body = json!({ "facts": [{ "key": release, "document": document }] });
    let early = restore(&registry, &body).expect(200).json();
    let reason = early["refused"][0]["reason"].as_str().unwrap();
    assert_eq!(reason, format!("{key} is not stored"));
    let ask = json!({ "archives": [{ "key": key, "size": zip.len() }] });
    let asked = post(&registry, "/admin/v1/archives", &ask)
        .expect(200)
        .json();
    let sent = send_upload(&registry, &asked["missing"][0], &zip);
    assert!(matches!(sent.status, 200 | 201), "{}", sent.text());
    let asked = post(&registry, "/admin/v1/archives", &ask)
        .expect(200)
        .json();
    assert_eq!(asked["missing"], json!([]));
    let restored = restore(&registry, &body).expect(200).json();
    assert_eq!(restored["created"], json!([release]), "{restored}");
    let again = restore(&registry, &body).expect(200).json();
    assert_eq!(again["unchanged"], json!([release]), "{again}");
    let changed = document.replace("\"published_at\":1", "\"published_at\":2");
    let changed = json!({ "facts": [{ "key": release, "document": changed }] });
    let changed = restore(&registry, &changed).expect(200).json();
    assert_eq!(changed["conflicts"], json!([release]), "{changed}");
    let list = registry.get(&format!("{}/versions", other.path()));
    assert!(list.expect(200).text().contains("1.0.0"));
}

#[test]
fn an_entry_of_an_audit_log_is_not_restored() {
    let registry = Registry::start();
    let entry = json!({ "key": "audit/999999999999", "document": "{}" });
    let refused = restore(&registry, &json!({ "facts": [entry] })).expect(200);
    let refused = refused.json()["refused"][0].clone();
    assert!(
        refused["reason"]
            .as_str()
            .unwrap()
            .contains("never restored"),
        "{refused}"
    );
}

#[test]
fn an_archive_is_removed_an_hour_after_it_was_marked_and_not_before() {
    let registry = Registry::start();
    let fixture = ModuleFixture::new("1.0.0");
    fixture.upload(&registry);
    let key = format!("archives/{}.zip", sha256(&fixture.archive));
    let garbage = |body: Value| {
        post(&registry, "/admin/v1/garbage", &body)
            .expect(200)
            .json()
    };
    assert_eq!(garbage(json!({ "mark": [key] }))["marked"], json!([key]));
    let mark = format!("garbage/{}.zip", sha256(&fixture.archive));
    let document = fact(&registry, &mark).unwrap()["document"].clone();
    let document: Value = serde_json::from_str(document.as_str().unwrap()).unwrap();
    assert_eq!(document["state"], "marked");
    let remove = json!({ "remove": [{ "key": key, "marked_at": document["since"] }] });
    assert_eq!(garbage(remove.clone())["spared"], json!([key]));
    // A publish that refers to the archive keeps it.
    fixture.put(&registry).expect(201);
    let kept = fact(&registry, &mark).unwrap()["document"].clone();
    assert!(kept.as_str().unwrap().contains("kept"), "{kept}");
    assert_eq!(garbage(remove)["spared"], json!([key]));
    assert_eq!(garbage(json!({ "keep": [key] }))["kept"], json!([key]));
    assert_eq!(fact(&registry, &mark), None);
}

#[test]
fn an_erasure_of_nothing_or_without_a_reason_is_rejected() {
    let registry = Registry::start();
    let (_, key) = archive();
    let erase = |body: Value| post(&registry, "/admin/v1/erasures", &body);
    for (body, told) in [
        (json!({ "reason": "x" }), "nothing to erase"),
        (json!({ "reason": "", "archives": [key] }), "1 to 390 bytes"),
        (
            json!({ "reason": "two\nlines", "archives": [key] }),
            "one line",
        ),
        (
            json!({ "reason": "x".repeat(391), "archives": [key] }),
            "390",
        ),
        (
            json!({ "reason": "x", "package": "acme/vpc/aws" }),
            "together",
        ),
        (
            json!({ "reason": "x", "version": "1.0.0", "archives": [key] }),
            "together",
        ),
    ] {
        let refused = erase(body.clone()).expect(422);
        assert!(
            refused.errors().contains(told),
            "{body}: {}",
            refused.text()
        );
    }
    let missing = ModuleFixture::new("1.0.0").address;
    let missing = erase(json!({ "reason": "x", "package": missing, "version": "1.0.0" }));
    assert!(
        missing
            .expect(404)
            .errors()
            .contains("has no version 1.0.0")
    );
}

#[test]
fn an_erased_version_answers_410_and_its_archive_is_gone() {
    let registry = Registry::start();
    let fixture = ModuleFixture::new("1.0.0");
    let fixture = fixture.with_zip(zip_of(&[("main.tf", unique("# ").as_bytes())]));
    fixture.publish(&registry);
    let key = format!("archives/{}.zip", sha256(&fixture.archive));
    let body = json!({
        "package": fixture.address,
        "version": "1.0.0",
        "reason": "a leaked key",
        "archives": [key],
    });
    let answer = post(&registry, "/admin/v1/erasures", &body)
        .expect(200)
        .json();
    assert_eq!(answer["erased"], json!([key]));
    assert_eq!(
        post(&registry, "/admin/v1/erasures", &body)
            .expect(200)
            .json(),
        answer
    );
    let release = format!("releases/modules/{}/1.0.0", fixture.address);
    let tombstone = fact(&registry, &release).unwrap();
    assert!(
        tombstone["document"]
            .as_str()
            .unwrap()
            .contains("\"erased\"")
    );
    let refused = fixture.put(&registry).expect(410);
    assert!(
        refused.errors().contains("a leaked key"),
        "{}",
        refused.text()
    );
    let after = key.strip_suffix(".zip").unwrap();
    let page = registry.admin("GET", &format!("/admin/v1/archives?after={after}"), None);
    assert!(!page.expect(200).text().contains(&key));
}

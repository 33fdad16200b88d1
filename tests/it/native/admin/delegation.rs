//! Administrators of a namespace: what they manage, what they see, and what they cannot reach.

use serde_json::{Value, json};

use crate::support::memory::Memory;
use crate::support::registry::{Response, Sent};
use crate::support::tokens::{create, revoke};
use crate::support::{ModuleFixture, ProviderFixture, Registry};

const TOKENS: &str = "/admin/v1/tokens";

/// A registry, and the token of an administrator of `acme`.
fn delegated() -> (Memory, Registry, String) {
    let (memory, registry) = Registry::with_memory(&[("TERRACE_ACCESS", "private")]);
    let admin = create(&registry, &["admin:acme"], None).1;
    (memory, registry, admin)
}

fn send(registry: &Registry, token: &str, method: &str, path: &str, body: &Value) -> Response {
    let sent = Sent::new(method, path).bearing(token);
    registry.send(&sent.body(body.to_string().as_str()))
}

/// Asks for a token with these scopes.
fn ask(registry: &Registry, token: &str, scopes: &[&str]) -> Response {
    let body = json!({ "name": "a test", "scopes": scopes });
    send(registry, token, "POST", TOKENS, &body)
}

#[test]
fn an_administrator_of_a_namespace_grants_at_most_its_own_scopes() {
    let (memory, registry, admin) = delegated();
    for scope in ["admin:acme", "publish:ACME", "read:acme"] {
        ask(&registry, &admin, &[scope]).expect(201);
    }
    let before = memory.keys();
    for scopes in [
        vec!["admin"],
        vec!["read"],
        vec!["admin:globex"],
        vec!["publish:acme-evil"],
        vec!["publish:registry.example.com/acme"],
        vec!["publish:acme", "read:globex"],
    ] {
        ask(&registry, &admin, &scopes).refuses(403, "the token has admin:acme");
    }
    assert_eq!(memory.keys(), before);
    // A publisher creates none.
    let publisher = create(&registry, &["publish:acme", "read"], None).1;
    ask(&registry, &publisher, &["read:acme"]).expect(403);
}

#[test]
fn an_administrator_of_a_namespace_sees_only_tokens_that_its_scopes_cover() {
    let (_, registry, admin) = delegated();
    let own = create(&registry, &["publish:acme"], None).0;
    for scopes in [
        &["admin"][..],
        &["read"],
        &["publish:globex"],
        &["publish:acme", "read:globex"],
    ] {
        create(&registry, scopes, None);
    }
    let listed = registry.get_as(&admin, TOKENS).found();
    let scopes = listed["tokens"].as_array().unwrap().iter();
    let mut scopes: Vec<_> = scopes.map(|it| it["scopes"][0].as_str().unwrap()).collect();
    scopes.sort_unstable();
    assert_eq!(scopes, ["admin:acme", "publish:acme"]);
    let path = format!("{TOKENS}/{own}");
    send(&registry, &admin, "DELETE", &path, &json!({})).expect(200);
    let own = registry.get_as(&admin, TOKENS).found();
    let is_revoked = |it: &Value| it["revoked"].is_string();
    assert!(own["tokens"].as_array().unwrap().iter().any(is_revoked));
}

#[test]
fn a_token_of_another_namespace_appears_not_to_exist() {
    let (memory, registry, admin) = delegated();
    let (other, text) = create(&registry, &["read:globex"], None);
    let absent = "0123456789abcdef";
    memory.forget_operations();
    let ask = |id: &str, method: &str, end: &str| {
        memory.forget_operations();
        let path = format!("{TOKENS}/{id}{end}");
        let answer = send(&registry, &admin, method, &path, &json!({}));
        let operations = memory.operations().join("\n").replace(id, "ID");
        (answer.status, answer.text().replace(id, "ID"), operations)
    };
    for (method, end) in [("DELETE", ""), ("POST", "/rotation")] {
        // The first request reads the list of revoked tokens.
        ask(absent, method, end);
        let answer = ask(&other, method, end);
        assert_eq!(answer, ask(absent, method, end), "{method}");
        assert_eq!(answer.0, 404);
    }
    registry.get_as(&text, "/v2/").expect(200);
    assert!(!memory.keys().iter().any(|key| key.contains("revocations/")));
    // The administrator of everything revokes both.
    revoke(&registry, absent).expect(200);
    revoke(&registry, &other).expect(200);
}

#[test]
fn a_rotated_token_of_a_namespace_keeps_its_scopes_and_names_who_rotated_it() {
    let (_, registry, admin) = delegated();
    let (id, _) = create(&registry, &["publish:acme"], None);
    let path = format!("{TOKENS}/{id}/rotation");
    let made = send(&registry, &admin, "POST", &path, &json!({}));
    let made = made.expect(201).json();
    assert_eq!(made["scopes"], json!(["publish:acme"]));
    let by = made["created_by"].as_str().unwrap();
    assert!(by.starts_with("token "), "{by}");
    let log = registry.admin("GET", "/admin/v1/audit", None).text();
    assert!(log.contains(&path) && log.contains(by), "{log}");
}

#[test]
fn a_revoked_administrator_of_a_namespace_manages_nothing() {
    let (memory, registry, _) = delegated();
    let (id, admin) = create(&registry, &["admin:acme"], None);
    let made = ask(&registry, &admin, &["publish:acme"]).expect(201).json();
    revoke(&registry, &id).expect(200);
    let elsewhere = Registry::in_memory(&memory.elsewhere(), &[("TERRACE_ACCESS", "private")]);
    ask(&elsewhere, &admin, &["publish:acme"]).expect(401);
    elsewhere.get_as(&admin, TOKENS).expect(401);
    // The tokens that it made stay valid.
    let text = made["token"].as_str().unwrap();
    elsewhere.get_as(text, "/v2/").expect(200);
}

#[test]
fn a_cursor_names_no_token_that_its_reader_may_not_see() {
    let (memory, registry, admin) = delegated();
    for _ in 0..40 {
        create(&registry, &["publish:acme"], None);
    }
    let ids = |page: &Value| -> Vec<String> {
        let tokens = page["tokens"].as_array().unwrap().iter();
        tokens
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let own = ids(&registry.get_as(&admin, TOKENS).found());
    assert_eq!(own.len(), 41);
    let hidden: Vec<String> = (0..2_000_u64)
        .map(|number| format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .filter(|id| !own.contains(id))
        .collect();
    let document = r#"{"name":"a test","scopes":"read:globex","created":1,"by":"root"}"#;
    for id in &hidden {
        memory.put_object(&format!("tokens/{id}"), document.as_bytes());
    }
    let (mut after, mut seen, mut pages) = (String::new(), Vec::new(), 0);
    loop {
        let path = format!("{TOKENS}?after={after}");
        let page = registry.get_as(&admin, &path).expect(200);
        assert!(!hidden.iter().any(|id| page.text().contains(id)));
        let page = page.json();
        seen.extend(ids(&page));
        pages += 1;
        match page["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    assert!((3..20).contains(&pages), "{pages}");
    assert_eq!(seen, own);
}

#[test]
fn an_administrator_of_a_namespace_manages_its_packages_and_keys_and_no_others() {
    let (_, registry, admin) = delegated();
    let [own, other] = ["acme", "globex"].map(|namespace| {
        ModuleFixture::of(namespace, "1.0.0").publish(&registry);
        ProviderFixture::of(namespace, "widget", "1.0.0").publish(&registry);
        namespace
    });
    let revoked = json!({ "state": "revoked", "reason": "a test" });
    let status = |namespace| format!("/admin/v1/providers/{namespace}/widget/1.0.0/status");
    send(&registry, &admin, "PUT", &status(own), &revoked).expect(200);
    send(&registry, &admin, "PUT", &status(other), &revoked).expect(403);
    let keys = registry.admin("GET", "/admin/v1/namespaces/acme/keys", None);
    let key = keys.json()["keys"][0]["key_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let key = |namespace| format!("/admin/v1/namespaces/{namespace}/keys/{key}");
    let retired = json!({ "state": "retired", "reason": "a test" });
    send(&registry, &admin, "PUT", &key(own), &retired).expect(200);
    let refused = send(&registry, &admin, "PUT", &key(other), &retired).expect(403);
    let unknown = send(&registry, &admin, "PUT", &key("emca"), &retired).expect(403);
    let text = refused.text().replace(other, "emca");
    assert_eq!(text, unknown.text());
    send(&registry, &admin, "DELETE", &key(other), &json!({})).expect(403);
    let path = format!("/admin/v1/providers/{other}/widget/1.0.1");
    let refused = send(&registry, &admin, "PUT", &path, &json!({})).expect(403);
    let scopes = format!("requires the scope publish:{other}, admin:{other} or admin;");
    assert!(refused.errors().contains(&scopes), "{refused:?}");
    send(&registry, &admin, "DELETE", &key(own), &json!({})).expect(200);
    // Reading is limited as well.
    let read = |namespace| format!("/v1/providers/{namespace}/widget/versions");
    registry.get_as(&admin, &read(own)).expect(200);
    registry.get_as(&admin, &read(other)).expect(404);
}

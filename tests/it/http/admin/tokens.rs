//! API tokens: created, listed, used, rotated and revoked.

use serde_json::{Value, json};

use crate::support::registry::{Sent, unique};
use crate::support::tokens::{create, post, revoke};
use crate::support::{ModuleFixture, ProviderFixture, Registry};

/// Returns all tokens with this id.
pub(super) fn listed(registry: &Registry, id: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut path = "/admin/v1/tokens".to_owned();
    loop {
        let page = registry.admin("GET", &path, None).expect(200).json();
        let tokens = page["tokens"].as_array().unwrap().clone();
        found.extend(tokens.into_iter().filter(|token| token["id"] == id));
        match page["next"].as_str() {
            Some(next) => path = format!("/admin/v1/tokens?after={next}"),
            None => return found,
        }
    }
}

/// Returns the status of a publish with an empty description and this token.
fn publish_status(registry: &Registry, token: &str, namespace: &str) -> u16 {
    let path = format!("/admin/v1/modules/{namespace}/vpc/aws/1.0.0");
    let sent = Sent::new("PUT", &path).bearing(token).body("{}");
    registry.send(&sent).status
}

#[test]
fn a_token_is_returned_once_and_listed_without_its_secret() {
    let registry = Registry::start();
    let body =
        json!({ "name": "Ana's laptop", "scopes": ["publish:Acme", "read"], "expires_in": 3600 });
    let made = post(&registry, "/admin/v1/tokens", &body).expect(201);
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let made = made.json();
    let id = made["id"].as_str().unwrap();
    let token = made["token"].as_str().unwrap();
    assert!(token.starts_with(&format!("terrace_{id}.")), "{token}");
    assert_eq!(made["scopes"], json!(["read", "publish:acme"]));
    assert_eq!(made["created_by"], "root");
    let [shown] = &listed(&registry, id)[..] else {
        panic!()
    };
    assert_eq!(shown["name"], "Ana's laptop");
    assert_eq!(shown["issued_under"], "current");
    assert_eq!(
        (&shown["expires"], &shown["token"]),
        (&made["expires"], &Value::Null)
    );
}

#[test]
fn a_token_publishes_where_its_scope_names_the_namespace_and_nowhere_else() {
    let registry = Registry::start();
    let fixture = ModuleFixture::new("1.0.0");
    let namespace = fixture.address.split('/').next().unwrap();
    let token = create(&registry, &[&format!("publish:{namespace}")], Some(3_600)).1;
    // The token is accepted, and then the body is invalid.
    assert_eq!(publish_status(&registry, &token, namespace), 400);
    assert_eq!(publish_status(&registry, &token, &unique("other")), 403);
    let path = "/admin/v1/tokens";
    registry
        .send(&Sent::new("GET", path).bearing(&token))
        .expect(403);
    let provider = ProviderFixture::of(namespace, "widget", "1.0.0");
    provider.add_key(&registry);
    let sent = Sent::new("PUT", &provider.admin_path()).bearing(&token);
    let sent = sent.body(provider.description().to_string());
    registry.send(&sent).expect(202);
    let keys = format!("/admin/v1/namespaces/{namespace}/keys");
    registry
        .send(&Sent::new("GET", &keys).bearing(&token))
        .expect(200);
    let refused = registry
        .send(&Sent::new("PUT", &keys).bearing(&token).body("x"))
        .expect(403);
    assert!(
        refused.errors().contains("requires the scope admin"),
        "{}",
        refused.text()
    );
}

#[test]
fn an_admin_token_creates_others_and_is_named_as_their_creator() {
    let registry = Registry::start();
    let (id, admin) = create(&registry, &["admin"], Some(3_600));
    let body = json!({ "name": "x", "scopes": ["read"] }).to_string();
    let sent = Sent::new("POST", "/admin/v1/tokens")
        .bearing(&admin)
        .body(body);
    let made = registry.send(&sent).expect(201).json();
    let by = made["created_by"].as_str().unwrap();
    assert!(by.contains(&id) && by.contains("a test"), "{by}");
}

#[test]
fn a_revoked_token_is_listed_as_such_and_revoking_it_again_changes_nothing() {
    let registry = Registry::start();
    let (id, _) = create(&registry, &["read"], None);
    revoke(&registry, &id).expect(200);
    let first = listed(&registry, &id);
    assert!(first[0]["revoked"].is_string(), "{first:?}");
    revoke(&registry, &id).expect(200);
    assert_eq!(listed(&registry, &id), first);
}

#[test]
fn a_token_is_rotated_with_an_overlap() {
    let registry = Registry::start();
    let namespace = unique("n");
    let (id, old) = create(&registry, &[&format!("publish:{namespace}")], Some(3_600));
    let path = format!("/admin/v1/tokens/{id}/rotation");
    let made = post(&registry, &path, &json!({ "overlap": 600 }))
        .expect(201)
        .json();
    let new = made["token"].as_str().unwrap();
    assert_ne!(made["id"], id.as_str());
    assert_eq!(made["name"], "a test");
    for token in [&old, new] {
        assert_eq!(publish_status(&registry, token, &namespace), 400);
    }
    let shown = listed(&registry, &id);
    assert!(shown[0]["revoked"].is_string(), "{shown:?}");
    // A token that was rotated without an overlap cannot be rotated again.
    let path = format!("/admin/v1/tokens/{}/rotation", made["id"].as_str().unwrap());
    post(&registry, &path, &json!({})).expect(201);
    let again = post(&registry, &path, &json!({})).expect(409);
    assert!(
        again.errors().contains("create a new one"),
        "{}",
        again.text()
    );
}

#[test]
fn a_token_that_is_rotated_twice_has_one_successor() {
    let registry = Registry::start();
    let (id, _) = create(&registry, &["read"], Some(3_600));
    let path = format!("/admin/v1/tokens/{id}/rotation");
    let rotate = |overlap: u64| post(&registry, &path, &json!({ "overlap": overlap }));
    let made = rotate(600).expect(201).json();
    let again = rotate(900).expect(201).json();
    assert_eq!(
        (&again["id"], &again["token"]),
        (&made["id"], &made["token"])
    );
    // A revocation is never postponed.
    let replaced = &made["replaced"];
    assert!(replaced["revoked"].is_string(), "{made}");
    assert_eq!(again["replaced"], *replaced);
    assert_eq!(
        (&replaced["id"], &replaced["successor"]),
        (&json!(id), &made["id"])
    );
    assert_eq!(listed(&registry, &id)[0], *replaced);
    // A successor that is revoked is replaced by another one.
    revoke(&registry, made["id"].as_str().unwrap()).expect(200);
    let other = rotate(600).expect(201).json();
    assert_ne!(other["id"], made["id"]);
    // One that has a successor of its own is not.
    let next = format!(
        "/admin/v1/tokens/{}/rotation",
        other["id"].as_str().unwrap()
    );
    let next = post(&registry, &next, &json!({ "overlap": 600 })).expect(201);
    let refused = rotate(600).expect(409).errors();
    let advice = format!("rotate {} instead", next.json()["id"].as_str().unwrap());
    assert!(refused.contains(&advice), "{refused}");
}

#[test]
fn the_error_about_a_revoked_token_names_its_successor() {
    let registry = Registry::start();
    let (id, _) = create(&registry, &["read"], Some(3_600));
    let path = format!("/admin/v1/tokens/{id}/rotation");
    let made = post(&registry, &path, &json!({})).expect(201).json();
    let refused = post(&registry, &path, &json!({})).expect(409).errors();
    let advice = format!("rotate {}, or create", made["id"].as_str().unwrap());
    assert!(refused.contains(&advice), "{refused}");
}

#[test]
fn an_invalid_token_request_is_rejected_with_the_reason() {
    let registry = Registry::start();
    for (body, status, told) in [
        (json!({}), 400, "name"),
        (json!({ "name": "x", "scopes": [] }), 422, "needs a scope"),
        (
            json!({ "name": "", "scopes": ["read"] }),
            422,
            "one printable line",
        ),
        (
            json!({ "name": "a\nb", "scopes": ["read"] }),
            422,
            "one printable line",
        ),
        (
            json!({ "name": "x", "scopes": ["publish"] }),
            422,
            "publish:<namespace>",
        ),
        (
            json!({ "name": "x", "scopes": ["publish:*"] }),
            422,
            "\"*\"",
        ),
        (
            json!({ "name": "x", "scopes": ["read"], "expires_in": 1 }),
            422,
            "60 to",
        ),
        (
            json!({ "name": "x", "scopes": ["read"], "expires_in": u64::MAX }),
            422,
            "60 to",
        ),
        (
            json!({ "name": "x", "scopes": ["read"], "expires_in": -1 }),
            400,
            "-1",
        ),
        (
            json!({ "name": "x", "scopes": ["read"], "token": "x" }),
            400,
            "token",
        ),
    ] {
        let refused = post(&registry, "/admin/v1/tokens", &body).expect(status);
        assert!(refused.errors().contains(told), "{}", refused.text());
    }
    for id in ["x", "0123456789ABCDEF", "0123456789abcdef0"] {
        revoke(&registry, id).expect(400);
    }
    // A token that was issued for an hour is stored nowhere, and can be revoked.
    revoke(&registry, "0123456789abcdef").expect(200);
    let path = "/admin/v1/tokens/fedcba9876543210/rotation";
    post(&registry, path, &json!({})).expect(404);
    let (id, _) = create(&registry, &["read"], None);
    let path = format!("/admin/v1/tokens/{id}/rotation");
    let refused = post(&registry, &path, &json!({ "overlap": u64::MAX })).expect(422);
    assert!(refused.errors().contains("at most"), "{}", refused.text());
}

#[test]
fn the_health_route_reports_that_kv_and_r2_are_ok() {
    let registry = Registry::start();
    let told = registry.get("/healthz").expect(200);
    assert_eq!(told.json(), json!({ "kv": "ok", "r2": "ok" }));
}

#[test]
fn a_list_starts_after_the_cursor_in_after_or_behind() {
    let registry = Registry::start();
    create(&registry, &["read"], None);
    create(&registry, &["read"], None);
    let first = |query: &str| {
        let path = format!("/admin/v1/tokens{query}");
        let page = registry.admin("GET", &path, None).expect(200).json();
        page["tokens"][0]["id"].as_str().unwrap().to_owned()
    };
    let id = first("");
    for query in [
        format!("?after={id}"),
        format!("?behind={id}"),
        format!("?after={id}&behind=0000000000000000"),
    ] {
        assert!(first(&query) > id, "{query}");
    }
}

//! API tokens: created, listed, used, rotated and revoked.

use serde_json::{Value, json};

use crate::support::Registry;
use crate::support::registry::{Sent, unique};
use crate::support::tokens::{create, post, revoke};

/// Returns all tokens with this id.
pub(super) fn listed(registry: &Registry, id: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut path = "/admin/v1/tokens".to_owned();
    loop {
        let page = registry.read_as_admin(&path);
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
fn a_token_that_is_rotated_twice_has_one_successor() {
    let registry = Registry::start();
    let namespace = unique("n");
    let (id, old) = create(&registry, &[&format!("publish:{namespace}")], Some(3_600));
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
    // Both are valid for as long as they overlap.
    for token in [&old, made["token"].as_str().unwrap()] {
        assert_eq!(publish_status(&registry, token, &namespace), 400);
    }
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
    // Without an overlap, the token is revoked at once. That is listed, and does not change.
    let (id, admin) = create(&registry, &["admin"], Some(3_600));
    let body = json!({ "name": "x", "scopes": ["read"] }).to_string();
    let sent = Sent::new("POST", "/admin/v1/tokens").bearing(&admin);
    let by = registry.send(&sent.body(body)).expect(201).json()["created_by"].clone();
    assert!(by.as_str().unwrap().contains(&id), "{by}");
    let path = format!("/admin/v1/tokens/{id}/rotation");
    let made = post(&registry, &path, &json!({})).expect(201).json();
    let refused = post(&registry, &path, &json!({})).expect(409).errors();
    let advice = format!("rotate {}, or create", made["id"].as_str().unwrap());
    assert!(refused.contains(&advice), "{refused}");
    let first = listed(&registry, &id);
    assert!(first[0]["revoked"].is_string(), "{first:?}");
    revoke(&registry, &id).expect(200);
    assert_eq!(listed(&registry, &id), first);
}

#[test]
fn an_invalid_token_request_is_rejected_with_the_reason() {
    let registry = Registry::start();
    for (member, value, status) in [
        ("name", Value::Null, 400),
        ("name", json!(""), 422),
        ("scopes", json!([]), 422),
        ("scopes", json!(["publish"]), 422),
        ("scopes", json!(["read admin"]), 422),
        ("expires_in", json!(u64::MAX), 422),
        ("expires_in", json!(-1), 400),
        ("token", json!("x"), 400),
    ] {
        let mut body = json!({ "name": "x", "scopes": ["read"] });
        body[member] = value;
        let answer = post(&registry, "/admin/v1/tokens", &body);
        assert_eq!(answer.status, status, "{body} {}", answer.text());
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
    post(&registry, &path, &json!({ "overlap": u64::MAX })).refuses(422, "at most");
}

//! People who sign in.

use crate::auth::oidc::LoginRules;
use serde_json::{Value, json};

/// Returns the scopes of Ann with one claim changed, or without it.
fn scopes(claim: &str, value: Value) -> Result<String, String> {
    let rules = json!([
        { "scopes": ["read"], "claims": { "groups": "staff" } },
        { "scopes": ["publish:acme"], "claims": { "groups": "platform" } },
        { "scopes": ["publish:tools"], "claims": { "email": "*@acme.example" } },
        { "scopes": ["admin"], "claims": { "email": "root@acme.example" } },
    ]);
    let rules: LoginRules = rules.to_string().parse().unwrap();
    let mut claims = json!({
        "email": "ann@acme.example",
        "email_verified": true,
        "groups": ["staff", "platform"],
    });
    claims[claim] = value;
    let granted = rules.scopes(claims.as_object().unwrap())?;
    Ok(granted.scopes.to_string())
}

#[test]
fn a_person_is_granted_the_scopes_of_their_groups_and_address() {
    for (groups, granted) in [
        (
            json!(["staff", "platform"]),
            "read publish:acme publish:tools",
        ),
        (json!("staff"), "read publish:tools"),
        (json!([]), "publish:tools"),
        (json!(["Staff"]), "publish:tools"),
        (json!(["staff-evil"]), "publish:tools"),
        (json!([["staff"]]), "publish:tools"),
        (json!({ "staff": true }), "publish:tools"),
        (json!("staff,platform"), "publish:tools"),
        (Value::Null, "publish:tools"),
    ] {
        assert_eq!(
            scopes("groups", groups.clone()).as_deref(),
            Ok(granted),
            "{groups}"
        );
    }
}

#[test]
fn an_unverified_address_grants_nothing() {
    for (claim, value, is_granted) in [
        ("email", json!("ann@ACME.Example"), true),
        ("email_verified", json!("true"), true),
        ("email_verified", json!(false), false),
        ("email_verified", json!("false"), false),
        ("email_verified", json!(1), false),
        ("email_verified", Value::Null, false),
        ("email", json!("ann@acme.example.evil.example"), false),
    ] {
        let granted = scopes(claim, value.clone()).unwrap();
        let all = match is_granted {
            true => "read publish:acme publish:tools",
            false => "read publish:acme",
        };
        assert_eq!(granted, all, "{claim}={value}");
    }
}

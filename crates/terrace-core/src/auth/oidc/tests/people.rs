//! People who sign in.

use crate::auth::oidc::LoginRules;
use serde_json::{Value, json};

/// Returns the scopes of Ann with one claim changed, or without it.
fn scopes(claim: &str, value: Option<Value>) -> Result<String, String> {
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
    let claims = claims.as_object_mut().unwrap();
    claims.remove(claim);
    claims.extend(value.map(|value| (claim.to_owned(), value)));
    let granted = rules.scopes(claims)?;
    Ok(granted.scopes.to_string())
}

#[test]
fn a_person_is_granted_the_scopes_of_their_groups_and_address() {
    for (groups, granted) in [
        (
            Some(json!(["staff", "platform"])),
            "read publish:acme publish:tools",
        ),
        (Some(json!("staff")), "read publish:tools"),
        (Some(json!([])), "publish:tools"),
        (Some(json!(["Staff"])), "publish:tools"),
        (Some(json!(["staff-evil"])), "publish:tools"),
        (Some(json!([["staff"]])), "publish:tools"),
        (Some(json!({ "staff": true })), "publish:tools"),
        (Some(json!("staff,platform")), "publish:tools"),
        (Some(Value::Null), "publish:tools"),
        (None, "publish:tools"),
    ] {
        assert_eq!(
            scopes("groups", groups.clone()).as_deref(),
            Ok(granted),
            "{groups:?}"
        );
    }
}

#[test]
fn an_unverified_address_grants_nothing() {
    for (claim, value, is_granted) in [
        ("email", Some(json!("ann@ACME.Example")), true),
        ("email_verified", Some(json!("true")), true),
        ("email_verified", Some(json!(false)), false),
        ("email_verified", Some(json!("false")), false),
        ("email_verified", Some(json!(1)), false),
        ("email_verified", Some(Value::Null), false),
        ("email_verified", None, false),
        ("email", Some(json!("ann@acme.example.evil.example")), false),
    ] {
        let granted = scopes(claim, value.clone()).unwrap();
        let all = match is_granted {
            true => "read publish:acme publish:tools",
            false => "read publish:acme",
        };
        assert_eq!(granted, all, "{claim}={value:?}");
    }
}

//! Sign-in with GitHub.

use serde_json::{Value, json};

use super::{logged, stopped};
use crate::support::people::{People, answer, exchanged, opened, parameter};
use crate::support::registry::Response;

/// Returns GitHub's response to a request.
fn github(url: &str) -> Option<Response> {
    let json = match url.split('#').next().unwrap() {
        "https://github.com/login/oauth/access_token" => {
            assert!(
                url.contains("client_secret=") && url.contains("code_verifier="),
                "{url}"
            );
            json!({ "access_token": "gho_x", "scope": "read:org", "token_type": "bearer" })
        }
        "https://api.github.com/user" => json!({ "login": "ann", "id": 1001 }),
        "https://api.github.com/user/orgs?per_page=100&page=1" => {
            json!([{ "login": "acme", "id": 1 }])
        }
        "https://api.github.com/user/teams?per_page=100&page=1" => {
            json!([{ "slug": "platform", "id": 7, "organization": { "login": "acme", "id": 1 } }])
        }
        _ => return None,
    };
    Some(answer(200, &json))
}

#[test]
fn people_of_github_sign_in_by_their_organisations_and_teams() {
    let rules = r#"[{"scopes": ["publish:acme"], "claims": {"teams": "acme/platform"}}]"#;
    let people = People::with(&[
        ("TERRACE_LOGIN_ISSUER", "https://github.com"),
        ("TERRACE_LOGIN_RULES", rules),
    ]);
    people.memory.connect(github);
    let response = people.open(&opened()).expect(303);
    let location = response.header("location").unwrap();
    assert!(
        location.starts_with("https://github.com/login/oauth/authorize?"),
        "{location}"
    );
    assert_eq!(parameter(location, "scope").as_deref(), Some("read:org"));
    assert_eq!(parameter(location, "nonce"), None);
    let code = people.allow();
    people.exchange(&exchanged(&code)).expect(200);
    let listed = people.registry.read_as_admin("/admin/v1/tokens");
    assert_eq!(listed["tokens"][0]["name"], "ann (1001)");
    assert_eq!(listed["tokens"][0]["scopes"], json!(["publish:acme"]));

    // For a person in more than 100 organisations, GitHub lists the last ones on a second page.
    let many: Vec<Value> = (0..100)
        .map(|n| json!({ "login": format!("o{n}"), "id": n }))
        .collect();
    people
        .memory
        .connect(move |url| match url.split('#').next() {
            Some("https://api.github.com/user/orgs?per_page=100&page=1") => {
                Some(answer(200, &Value::from(many.clone())))
            }
            Some("https://api.github.com/user/orgs?per_page=100&page=2") => {
                Some(answer(200, &json!([{ "login": "acme", "id": 1 }])))
            }
            _ => github(url),
        });
    people.sign_in().1.expect(200);
    let asked = people.memory.operations().join("\n");
    assert!(asked.contains("/user/orgs?per_page=100&page=2"), "{asked}");

    // GitHub answers an invalid code with status 200.
    people
        .memory
        .connect(|_| Some(answer(200, &json!({ "error": "bad_verification_code" }))));
    stopped(people.sign_in().1, 502, "returned an invalid response");
    logged(&people, "bad_verification_code");
    people.memory.connect(|url| match url.contains("/orgs") {
        true => Some(answer(403, &json!({ "message": "rate limit" }))),
        false => github(url),
    });
    stopped(people.sign_in().1, 502, "returned an invalid response");
}

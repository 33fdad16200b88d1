//! Trusted publishing: CI jobs exchange the tokens of their CI for tokens of the registry.

mod forgeries;
pub mod provenance;
mod stored;

use serde_json::{Value, json};

use terrace_app::host::LogLevel;

use crate::support::issuer::{
    AUDIENCE, GITHUB, Issuers, KEY, NOW, OTHER_KEY, by, genuine, github, gitlab, jwk, rules, with,
};
use crate::support::memory::Memory;
use crate::support::registry::{Sent, TOKEN};
use crate::support::tokens::revoke;
use crate::support::{ModuleFixture, Registry, Response};

const PATH: &str = "/oauth/exchange";
const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

/// Returns a registry that trusts jobs, and the issuers of their tokens.
fn trusting() -> (Memory, Registry, Issuers) {
    let memory = Memory::new();
    let issuers = Issuers::connected_to(&memory);
    let registry = Registry::in_memory(&memory, &[("TERRACE_TRUSTED_PUBLISHERS", &rules())]);
    (memory, registry, issuers)
}

fn form(parameters: &[(&str, &str)]) -> Sent {
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(parameters);
    Sent::new("POST", PATH)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body.finish())
}

fn exchange(token: &str) -> Sent {
    exchange_with(token, &[])
}

fn exchange_with(token: &str, more: &[(&str, &str)]) -> Sent {
    let usual = [
        ("grant_type", GRANT_TYPE),
        ("subject_token", token),
        ("subject_token_type", JWT),
    ];
    form(&[&usual, more].concat())
}

/// Returns the token that a job receives.
#[track_caller]
fn given(registry: &Registry, token: &str) -> String {
    let answer = registry.send(&exchange(token)).found();
    answer["access_token"].as_str().unwrap().to_owned()
}

/// Publishes a module with a token. Returns the last status.
fn publish(registry: &Registry, token: &str, namespace: &str) -> u16 {
    let fixture = ModuleFixture::of(namespace, "1.0.0");
    let put = || {
        let sent = Sent::new("PUT", &fixture.admin_path()).bearing(token);
        registry.send(&sent.body(fixture.description().to_string()))
    };
    let first = put();
    if first.status != 202 {
        return first.status;
    }
    crate::support::fixtures::upload(registry, &first, &[&fixture.archive]);
    put().status
}

fn fetches(memory: &Memory) -> Vec<String> {
    let operations = memory.operations().into_iter();
    let fetches = operations.filter(|operation| operation.starts_with("fetch "));
    memory.forget_operations();
    fetches.collect()
}

fn error(response: &Response) -> (String, String) {
    let body = response.json();
    let text = |name: &str| body[name].as_str().unwrap().to_owned();
    (text("error"), text("error_description"))
}

#[test]
fn a_job_of_github_publishes_with_its_token_and_nowhere_else() {
    let (memory, registry, _) = trusting();
    let answer = registry.send(&exchange(&genuine(&github()))).expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let body = answer.json();
    let token = body["access_token"].as_str().unwrap();
    assert_eq!(
        body,
        json!({
            "access_token": token,
            "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "token_type": "Bearer",
            "expires_in": 300,
            "scope": "publish:acme",
        })
    );
    assert_eq!(publish(&registry, token, "acme"), 201);
    assert_eq!(publish(&registry, token, "infra"), 403);
    let tokens = Sent::new("GET", "/admin/v1/tokens").bearing(token);
    registry.send(&tokens).refuses(403, "publish:acme");
    // The audit log contains the job's name.
    let audit = registry.admin("GET", "/admin/v1/audit", None).expect(200);
    let job = "job repo:acme/terraform-aws-vpc:environment:release";
    assert!(audit.text().contains(job), "{}", audit.text());
    // Only the logs contain the token's ID: the token is not stored.
    let stored = memory.keys();
    assert!(
        !stored.iter().any(|key| key.contains("token")),
        "{stored:?}"
    );
}

#[test]
fn a_job_of_gitlab_publishes_with_its_token_for_a_quarter_of_an_hour() {
    let (memory, registry, _) = trusting();
    let body = registry.send(&exchange(&genuine(&gitlab()))).found();
    assert_eq!(body["expires_in"], 900);
    assert_eq!(body["scope"], "read:acme publish:infra");
    let token = body["access_token"].as_str().unwrap();
    assert_eq!(publish(&registry, token, "infra"), 201);
    assert_eq!(publish(&registry, token, "acme"), 403);
    memory.advance(901);
    assert_eq!(publish(&registry, token, "infra"), 401);
    let again = given(&registry, &genuine(&gitlab()));
    assert_eq!(publish(&registry, &again, "infra"), 200);
}

#[test]
fn a_grant_is_logged_with_its_owner_and_without_its_token() {
    let (memory, registry, _) = trusting();
    let job = genuine(&with(github(), "sub", "repo:acme/x\n\u{1b}[2J\u{202e}"));
    let token = given(&registry, &job);
    let id = token.split(['_', '.']).nth(1).unwrap();
    assert_eq!(
        memory.log(),
        [format!(
            "access: token {id} issued to \"repo:acme/x\\n\\u{{1b}}[2J\\u{{202e}}\" of {GITHUB:?} for publish:acme"
        )]
    );
    assert_eq!(memory.log_at(LogLevel::Info), memory.log());
    // The job's name can be shown, too.
    assert_eq!(publish(&registry, &token, "acme"), 201);
}

#[test]
fn a_granted_token_is_revoked_by_its_id() {
    let (memory, registry, _) = trusting();
    let token = given(&registry, &genuine(&github()));
    let id = token.split(['_', '.']).nth(1).unwrap();
    revoke(&registry, id).expect(200);
    memory.advance(60);
    assert_eq!(publish(&registry, &token, "acme"), 401);
    // The job's own token is not revoked: to stop a job, change its rule or its CI.
    let again = given(&registry, &genuine(&github()));
    assert_eq!(publish(&registry, &again, "acme"), 201);
}

#[test]
fn a_granted_token_does_not_outlive_the_token_of_the_job() {
    let (memory, registry, _) = trusting();
    let job = genuine(&github());
    let expires_in = |status: u16| registry.send(&exchange(&job)).expect(status).json();
    assert_eq!(expires_in(200)["expires_in"], 300);
    memory.advance(299);
    let last = expires_in(200);
    assert_eq!(last["expires_in"], 1);
    // The clock tolerance would still accept the token, but it has no lifetime left to grant.
    for _ in 0..3 {
        memory.advance(1);
        expires_in(400);
        assert!(memory.log().last().unwrap().contains("expired"));
    }
    let token = last["access_token"].as_str().unwrap();
    assert_eq!(publish(&registry, token, "acme"), 401);
    memory.advance(100);
    expires_in(400);
}

#[test]
fn a_job_may_request_fewer_scopes_and_not_more() {
    let (memory, registry, _) = trusting();
    let job = genuine(&gitlab());
    let ask = |scope: &str| registry.send(&exchange_with(&job, &[("scope", scope)]));
    let body = ask("publish:infra").found();
    assert_eq!(body["scope"], "publish:infra");
    let body = ask("read:infra").found();
    assert_eq!(body["scope"], "read:infra");
    let token = body["access_token"].as_str().unwrap();
    assert_eq!(publish(&registry, token, "infra"), 403);
    let refused = ask("publish:infra admin").expect(400);
    assert_eq!(error(&refused).0, "invalid_scope");
    let told = "requested scopes other than those that its rules grant: read:acme publish:infra";
    let log = memory.log();
    assert!(log.last().unwrap().ends_with(told), "{log:?}");
}

#[test]
fn keys_are_fetched_once_and_again_for_a_new_key() {
    let (memory, registry, issuers) = trusting();
    let read_once = [
        format!("fetch {GITHUB}/.well-known/openid-configuration"),
        format!("fetch {GITHUB}/keys"),
    ];
    given(&registry, &genuine(&github()));
    assert_eq!(fetches(&memory), read_once);
    given(&registry, &genuine(&github()));
    assert_eq!(fetches(&memory), [""; 0]);
    // A minute later there is a new key.
    issuers.add_key(jwk(&OTHER_KEY, "new"));
    let new = by(
        &OTHER_KEY,
        &json!({ "alg": "EdDSA", "kid": "new" }),
        &github(),
    );
    memory.advance(60);
    given(&registry, &new);
    assert_eq!(fetches(&memory), read_once);
    given(&registry, &new);
    assert_eq!(fetches(&memory), [""; 0]);
}

#[test]
fn an_unknown_key_causes_one_request_to_the_issuer_a_minute() {
    let (memory, registry, _) = trusting();
    let unknown = |id: &str| {
        let claims = with(github(), "exp", NOW + 3_000);
        let token = by(&KEY, &json!({ "alg": "EdDSA", "kid": id }), &claims);
        registry.send(&exchange(&token)).expect(400);
        fetches(&memory).len()
    };
    assert_eq!(unknown("a"), 2);
    memory.advance(59);
    assert_eq!(unknown("b"), 0);
    memory.advance(1);
    assert_eq!(unknown("c"), 2);
    assert_eq!((unknown("d"), unknown("c")), (0, 0));
    // A known key is accepted without a request to the issuer.
    given(&registry, &genuine(&with(github(), "exp", NOW + 3_000)));
    assert_eq!(fetches(&memory), [""; 0]);
}

#[test]
fn keys_that_an_issuer_has_removed_are_accepted_for_at_most_an_hour() {
    let (memory, registry, issuers) = trusting();
    let job = genuine(&with(github(), "exp", NOW + 10_000));
    given(&registry, &job);
    let keys = json!({ "keys": [jwk(&OTHER_KEY, "k2")] });
    issuers.answer_instead(Response {
        status: 200,
        headers: Vec::new(),
        body: keys.to_string().into_bytes(),
    });
    memory.advance(3_600);
    registry.send(&exchange(&job)).expect(400);
    let log = memory.log();
    assert!(log.last().unwrap().contains("no key for EdDSA"), "{log:?}");
}

#[test]
fn an_issuer_that_does_not_answer_is_503_with_retry_after() {
    let (memory, registry, issuers) = trusting();
    issuers.go_down();
    let ask = || registry.send(&exchange(&genuine(&github())));
    let response = ask().expect(503);
    assert_eq!(response.header("retry-after"), Some("5"));
    assert_eq!(error(&response).0, "temporarily_unavailable");
    let log = memory.log();
    let told = format!("a job of {GITHUB:?} cannot be verified: {GITHUB}: no answer");
    assert!(log.last().unwrap().ends_with(&told), "{log:?}");
    // For a few seconds no client causes another request to the issuer.
    issuers.come_back();
    memory.forget_operations();
    ask().expect(503);
    assert_eq!(fetches(&memory), [""; 0]);
    memory.advance(5);
    ask().expect(200);
    // Cached keys are used while the issuers are down; an issuer without cached keys is unavailable.
    issuers.go_down();
    ask().expect(200);
    registry.send(&exchange(&genuine(&gitlab()))).expect(503);
}

#[test]
fn a_response_that_is_not_a_key_set_is_neither_followed_nor_trusted() {
    for (status, body, told) in [
        (302, "", "302"),
        (200, "<html>", "not valid JSON"),
        (200, &"x".repeat(200_000), "bytes"),
    ] {
        let (memory, registry, issuers) = trusting();
        let elsewhere = "https://evil.example/keys".to_owned();
        issuers.answer_instead(Response {
            status,
            headers: vec![("location".to_owned(), elsewhere)],
            body: body.as_bytes().to_vec(),
        });
        registry.send(&exchange(&genuine(&github()))).expect(503);
        let log = memory.log();
        assert!(log.last().unwrap().contains(told), "{log:?}");
        assert_eq!(fetches(&memory).len(), 2);
    }
}

#[test]
fn an_untrusted_client_that_fails_often_is_throttled_and_locks_out_no_other() {
    let (memory, registry, _) = trusting();
    let from = |address: &str, token: &str| {
        let sent = exchange(token).header("cf-connecting-ip", address);
        registry.send(&sent)
    };
    let (good, bad) = (
        genuine(&github()),
        genuine(&with(github(), "ref", "refs/heads/main")),
    );
    for _ in 0..20 {
        from("192.0.2.1", &bad).expect(400);
    }
    let told = from("192.0.2.1", &bad).expect(429);
    assert_eq!(told.header("retry-after"), Some("60"));
    assert_eq!(error(&told).0, "temporarily_unavailable");
    from("192.0.2.1", &good).expect(200);
    from("192.0.2.2", &bad).expect(400);
    let log = memory.log().join("\n");
    assert!(
        log.contains("POST \"/oauth/exchange\" from \"192.0.2.1\""),
        "{log}"
    );
    memory.advance(60);
    from("192.0.2.1", &bad).expect(400);
}

#[test]
fn a_refused_exchange_is_answered_by_the_specification_and_is_no_entry_of_the_audit() {
    let (memory, registry, _) = trusting();
    let refused = registry.send(&exchange("")).expect(400);
    let (code, description) = error(&refused);
    assert_eq!(code, "invalid_request");
    assert!(description.contains("subject_token"), "{description}");
    assert_eq!(refused.header("cache-control"), Some("no-store"));
    let large = exchange(&"x".repeat(33_000));
    registry.send(&large).expect(413);
    registry.send(&Sent::new("GET", PATH)).expect(405);
    assert_eq!(memory.log(), [""; 0]);
    let job = exchange_with(&genuine(&github()), &[("audience", AUDIENCE)]);
    registry.send(&job).expect(200);
    assert_eq!(memory.log().len(), 1);
}

#[test]
fn credentials_other_than_the_token_of_the_job_are_ignored() {
    let (_, registry, _) = trusting();
    let answer = |sent: Sent| {
        let response = registry.send(&sent);
        (response.status, response.json()["scope"].clone())
    };
    for shown in ["Bearer wrong", "Basic x", &format!("Bearer {TOKEN}")] {
        let good = exchange(&genuine(&github())).header("authorization", shown);
        assert_eq!(answer(good), (200, json!("publish:acme")));
        let bad = exchange("x").header("authorization", shown);
        assert_eq!(answer(bad), (400, Value::Null));
    }
}

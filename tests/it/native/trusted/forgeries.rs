//! Forged and misused tokens. The core's tests have tables of all known forgeries; these go through the whole
//! registry.

use serde_json::{Value, json};

use super::{exchange, fetches, trusting};
use crate::support::issuer::{
    AUDIENCE, Claims, ED25519, GITHUB, GITLAB, NOW, OTHER_P256, P256, RSA, by, compact, encode,
    genuine, github, gitlab, header, hs256, public_pem, with, without,
};
use crate::support::registry::Response;

/// Its name, the token, and a part of the logged reason.
type Forgery = (&'static str, String, &'static str);

fn header_with(name: &str, value: impl Into<Value>) -> Value {
    let mut header = header();
    header[name] = value.into();
    header
}

fn by_rsa(name: &str, value: impl Into<Value>) -> String {
    by(&RSA, &header_with(name, value), &github())
}

/// Returns a genuine token with one claim changed.
fn claiming(claim: &str, value: impl Into<Value>) -> String {
    genuine(&with(github(), claim, value))
}

fn resigned(change: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let header = json!({ "alg": "ES256", "kid": "p256" }).to_string();
    let claims = Value::from(github()).to_string();
    compact(&header, &claims, |message| change(P256.sign(message)))
}

fn signatures() -> Vec<Forgery> {
    let unsigned = |algorithm: &str| {
        let header = header_with("alg", algorithm).to_string();
        compact(&header, &Value::from(github()).to_string(), |_| Vec::new())
    };
    let pem = public_pem();
    let n = RSA.jwk("rsa-1")["n"].as_str().unwrap().to_owned();
    let of = |algorithm: &str, id: &str| json!({ "alg": algorithm, "kid": id });
    vec![
        ("alg none", unsigned("none"), "algorithm is \"none\""),
        ("alg nOnE", unsigned("nOnE"), "algorithm is \"nOnE\""),
        ("alg none, signed", by_rsa("alg", "none"), "algorithm"),
        ("alg empty", unsigned(""), "algorithm"),
        (
            "alg missing",
            by(&RSA, &json!({ "kid": "rsa-1" }), &github()),
            "algorithm is nothing",
        ),
        (
            "alg as a list",
            by_rsa("alg", json!(["RS256"])),
            "algorithm is a list",
        ),
        ("alg PS256", by_rsa("alg", "PS256"), "algorithm"),
        (
            "HS256 with the PEM",
            hs256(pem.as_bytes(), &github()),
            "algorithm is \"HS256\"",
        ),
        (
            "HS256 with the trimmed PEM",
            hs256(pem.trim().as_bytes(), &github()),
            "algorithm",
        ),
        (
            "HS256 with the modulus",
            hs256(n.as_bytes(), &github()),
            "algorithm",
        ),
        ("HS256 with nothing", hs256(b"", &github()), "algorithm"),
        (
            "another key with the same ID",
            by(&OTHER_P256, &of("ES256", "p256"), &github()),
            "signature is invalid",
        ),
        (
            "an unknown ID",
            by_rsa("kid", "rsa-2"),
            "no key for RS256 with the ID \"rsa-2\"",
        ),
        (
            "an ID with a path",
            by_rsa("kid", "../../dev/null"),
            "no key",
        ),
        (
            "an ID of another kind of key",
            by(&ED25519, &of("EdDSA", "p256"), &github()),
            "no key",
        ),
        ("an ID that is a number", by_rsa("kid", 1), "key ID"),
        (
            "a key in the header",
            by(
                &OTHER_P256,
                &json!({ "alg": "ES256", "kid": "mine", "jwk": OTHER_P256.jwk("mine") }),
                &github(),
            ),
            "no key",
        ),
        (
            "a URL of keys in the header",
            by(
                &OTHER_P256,
                &json!({ "alg": "ES256", "kid": "mine", "jku": "https://evil.example/keys" }),
                &github(),
            ),
            "no key",
        ),
        ("a demand", by_rsa("crit", json!(["exp"])), "crit"),
        (
            "the type of a logout token",
            by_rsa("typ", "logout+jwt"),
            "type is",
        ),
        (
            "an empty signature",
            resigned(|_| Vec::new()),
            "signature is invalid",
        ),
        (
            "a signature of zeros",
            resigned(|s| vec![0; s.len()]),
            "signature is invalid",
        ),
        (
            "a truncated signature",
            resigned(|s| s[..63].to_vec()),
            "signature is invalid",
        ),
        (
            "a signature with its halves exchanged",
            resigned(|s| [&s[32..], &s[..32]].concat()),
            "signature is invalid",
        ),
    ]
}

fn forms() -> Vec<Forgery> {
    let good = genuine(&github());
    let parts: Vec<&str> = good.split('.').collect();
    let [head, body, signature] = parts[..] else {
        panic!("it has three parts")
    };
    let claims = Value::from(github()).to_string();
    let twice = claims.replacen('{', r#"{"repository":"evil/evil","#, 1);
    let twice = compact(&header().to_string(), &twice, |m| RSA.sign(m));
    let others = encode(Value::from(with(github(), "run_id", "1")).to_string());
    vec![
        ("a word", "token".to_owned(), "three parts"),
        (
            "without a signature",
            format!("{head}.{body}"),
            "three parts",
        ),
        ("four parts", format!("{good}.{signature}"), "three parts"),
        ("with padding", format!("{good}=="), "base64url"),
        ("with a space", format!("{good} "), "base64url"),
        ("Bearer before it", format!("Bearer {good}"), "header"),
        ("a claim twice", twice, "distinct members"),
        (
            "claims of another token",
            format!("{head}.{others}.{signature}"),
            "signature is invalid",
        ),
        (
            "claims that are a list",
            compact(&header().to_string(), "[]", |m| RSA.sign(m)),
            "claims",
        ),
        ("20 KB", "a".repeat(20_000), "bytes long"),
    ]
}

fn misuses() -> Vec<Forgery> {
    let day = 24 * 3_600;
    let repository = |name: &str| claiming("repository", name);
    let of_ref = |name: &str| claiming("ref", name);
    vec![
        ("expired", claiming("exp", NOW - 60), "expired at"),
        ("expired just now", claiming("exp", NOW), "expired at"),
        (
            "exp missing",
            genuine(&without(github(), "exp")),
            "claim exp",
        ),
        ("exp as a text", claiming("exp", "2000000000"), "claim exp"),
        (
            "exp in milliseconds",
            claiming("exp", (NOW + 300) * 1_000),
            "claim exp",
        ),
        (
            "not valid yet",
            claiming("nbf", NOW + 61),
            "not valid before",
        ),
        (
            "issued in the future",
            claiming("iat", NOW + 61),
            "issued at",
        ),
        (
            "valid for a year",
            claiming("exp", NOW + 365 * day),
            "its lifetime is",
        ),
        (
            "another issuer with the same subject",
            claiming("iss", "https://evil.example"),
            "issuer is \"https://evil.example\"",
        ),
        (
            "an issuer with a trailing slash",
            claiming("iss", format!("{GITHUB}/")),
            "issuer",
        ),
        (
            "an issuer with a port",
            claiming("iss", format!("{GITHUB}:443")),
            "issuer",
        ),
        (
            "an issuer with http",
            claiming("iss", "http://token.actions.githubusercontent.com"),
            "issuer",
        ),
        (
            "an issuer that starts with the right one",
            claiming("iss", format!("{GITHUB}.evil.example")),
            "issuer",
        ),
        (
            "an issuer that is a list",
            claiming("iss", json!([GITHUB])),
            "issuer",
        ),
        (
            "no issuer",
            genuine(&without(github(), "iss")),
            "issuer is \"\"",
        ),
        (
            "the claims of one issuer by another",
            claiming("iss", GITLAB),
            "no rule",
        ),
        (
            "for another audience",
            claiming("aud", "https://other.example"),
            "audience",
        ),
        (
            "for the default audience of GitHub",
            claiming("aud", "https://github.com/acme"),
            "audience",
        ),
        (
            "for an audience with a trailing slash",
            claiming("aud", format!("{AUDIENCE}/")),
            "audience",
        ),
        (
            "for an audience that starts with the right one",
            claiming("aud", format!("{AUDIENCE}.evil.example")),
            "audience",
        ),
        ("for no audience", claiming("aud", json!([])), "audience"),
        (
            "without an audience",
            genuine(&without(github(), "aud")),
            "claim aud",
        ),
        (
            "without a subject",
            genuine(&without(github(), "sub")),
            "sub",
        ),
        (
            "a longer repository",
            repository("acme/terraform-aws-vpc-evil"),
            "no rule",
        ),
        (
            "a shorter repository",
            repository("acme/terraform-aws-vp"),
            "no rule",
        ),
        (
            "a repository of another owner",
            repository("evil/terraform-aws-vpc"),
            "no rule",
        ),
        (
            "a nested repository",
            repository("evil/acme/terraform-aws-vpc"),
            "no rule",
        ),
        (
            "a repository in upper case",
            repository("Acme/terraform-aws-vpc"),
            "no rule",
        ),
        (
            "a repository with a line break",
            repository("acme/terraform-aws-vpc\n"),
            "no rule",
        ),
        (
            "a repository with a zero",
            repository("acme/terraform-aws-vpc\0"),
            "no rule",
        ),
        (
            "a repository with a Cyrillic letter",
            repository("\u{430}cme/terraform-aws-vpc"),
            "\\u{430}cme",
        ),
        (
            "a repository with other dashes",
            repository("acme/terraform\u{2010}aws\u{2010}vpc"),
            "no rule",
        ),
        (
            "a repository with a zero-width space",
            repository("acme/terraform-aws-vpc\u{200b}"),
            "no rule",
        ),
        (
            "a repository that is a list",
            claiming("repository", json!(["acme/terraform-aws-vpc"])),
            "no rule",
        ),
        (
            "without a repository",
            genuine(&without(github(), "repository")),
            "no rule",
        ),
        ("a branch", of_ref("refs/heads/main"), "no rule"),
        (
            "a branch that is named like a tag",
            of_ref("refs/heads/refs/tags/v1"),
            "no rule",
        ),
        ("a pull request", of_ref("refs/pull/1/merge"), "no rule"),
        ("a tag with a slash", of_ref("refs/tags/v1/x"), "no rule"),
        (
            "a tag with a second line",
            of_ref("refs/tags/v1\nrefs/heads/main"),
            "no rule",
        ),
        (
            "another environment",
            claiming("environment", "staging"),
            "no rule",
        ),
        (
            "without an environment",
            genuine(&without(github(), "environment")),
            "no rule",
        ),
        (
            "GitLab's branch",
            claiming_by_gitlab("ref_type", "branch"),
            "no rule",
        ),
        (
            "an unprotected tag of GitLab",
            claiming_by_gitlab("ref_protected", "false"),
            "no rule",
        ),
        (
            "a nested project of GitLab",
            claiming_by_gitlab("project_path", "acme/infra/terraform-x/evil"),
            "no rule",
        ),
    ]
}

fn claiming_by_gitlab(claim: &str, value: &str) -> String {
    let claims: Claims = with(gitlab(), claim, value);
    genuine(&claims)
}

/// Returns everything that a caller sees of a response.
fn seen(response: &Response) -> (u16, Vec<(String, String)>, String) {
    (response.status, response.headers.clone(), response.text())
}

#[test]
fn a_forged_or_misused_token_gets_the_same_response_and_the_reason_is_logged() {
    let (memory, registry, _) = trusting();
    registry.send(&exchange(&genuine(&github()))).expect(200);
    let first = seen(&registry.send(&exchange("x")).expect(400));
    assert!(
        first
            .2
            .contains("no trusted-publishing rule matches this job, or its token is invalid"),
        "{}",
        first.2
    );
    let forgeries = [signatures(), forms(), misuses()].concat();
    assert!(forgeries.len() >= 40, "{}", forgeries.len());
    for (name, token, reason) in forgeries {
        let lines = memory.log().len();
        assert_eq!(seen(&registry.send(&exchange(&token))), first, "{name}");
        let log = memory.log();
        assert_eq!(log.len(), lines + 1, "{name}");
        let line = log.last().unwrap();
        assert!(line.contains(reason), "{name}: {line}");
        assert!(line.is_ascii() && line.len() < 2_000, "{name}: {line}");
        let parts = token.split('.').filter(|part| part.len() > 8);
        for part in parts.filter(|part| !part.starts_with("aaaa")) {
            assert!(!line.contains(part), "{name}: {line}");
        }
    }
}

#[test]
fn an_issuer_that_no_rule_names_is_not_asked_for_keys() {
    let (memory, registry, _) = trusting();
    let evil = "https://evil.example";
    for token in [
        claiming("iss", evil),
        claiming("iss", format!("{GITHUB}.evil.example")),
        by(
            &OTHER_P256,
            &json!({ "alg": "ES256", "kid": "x", "jku": evil, "x5u": evil }),
            &with(github(), "iss", evil),
        ),
        "x".to_owned(),
        hs256(b"", &github()),
    ] {
        registry.send(&exchange(&token)).expect(400);
        assert_eq!(fetches(&memory), [""; 0]);
    }
}

//! Tokens that are genuine and not for this, or of somebody with a similar name.

use super::forge::*;
use serde_json::{Map, Value, json};

type Claims = Map<String, Value>;

/// Genuine tokens with one claim changed.
fn changed<'n>(
    claim: &str,
    reason: &'static str,
    values: impl IntoIterator<Item = (&'n str, Value)>,
) -> Vec<(&'n str, String, &'static str)> {
    let token = |value| genuine(&with(github(), claim, value));
    let values = values.into_iter();
    values
        .map(|(name, value)| (name, token(value), reason))
        .collect()
}

fn texts<'n>(texts: &[&'n str]) -> Vec<(&'n str, Value)> {
    texts
        .iter()
        .map(|text| (*text, Value::from(*text)))
        .collect()
}

#[test]
fn other_issuers_are_refused_whatever_their_subject_is() {
    assert_refused(&changed(
        "iss",
        "Issuer",
        texts(&[
            "https://evil.example",
            "https://token.actions.githubusercontent.com/",
            "https://TOKEN.actions.githubusercontent.com",
            "https://token.actions.githubusercontent.com:443",
            "https://token.actions.githubusercontent.com/acme",
            "https://token.actions.githubusercontent.com.evil.example",
            "https://token.actions.githubusercontent.com@evil.example",
            "https://token.actions.githubusercontent.com?",
            "http://token.actions.githubusercontent.com",
            " https://token.actions.githubusercontent.com",
            "token.actions.githubusercontent.com",
            "",
        ]),
    ));
    assert_refused(&changed(
        "iss",
        "Issuer",
        [
            ("a number", json!(1)),
            ("a list", json!([GITHUB])),
            ("null", Value::Null),
        ],
    ));
    assert_refused(&[("no issuer", genuine(&without(github(), "iss")), "Issuer")]);
}

#[test]
fn the_keys_of_one_issuer_verify_no_token_of_another() {
    let text = genuine(&gitlab());
    let token = crate::auth::oidc::UnverifiedToken::parse(&text).unwrap();
    let refusal = publishers().grant(&token, &keys(GITHUB), AUDIENCE, NOW);
    let refusal = refusal.unwrap_err().to_string();
    assert!(
        refusal.contains("its issuer is \"https://gitlab.com\""),
        "{refusal}"
    );
}

#[test]
fn what_a_rule_of_one_issuer_asks_for_opens_nothing_for_another() {
    let claims = with(github(), "iss", GITLAB);
    assert_refused(&[("GitHub's claims by GitLab", genuine(&claims), "NoRule")]);
}

#[test]
fn other_audiences_are_refused() {
    assert_refused(&changed(
        "aud",
        "Audience",
        texts(&[
            "https://other.example",
            "https://registry.example.com/",
            "https://registry.example.co",
            "https://registry.example.com.evil.example",
            "https://REGISTRY.example.com",
            "https://github.com/acme",
            "*",
            "",
        ]),
    ));
    assert_refused(&changed(
        "aud",
        "Audience",
        [
            ("a list without it", json!(["https://other.example"])),
            ("an empty list", json!([])),
            (
                "a list with the beginning of it",
                json!(["https://registry"]),
            ),
        ],
    ));
    assert_refused(&changed(
        "aud",
        "Claim",
        [
            ("a number", json!(1)),
            ("null", Value::Null),
            ("an object", json!({ AUDIENCE: true })),
            ("a list with a number", json!([AUDIENCE, 1])),
            ("a list in a list", json!([[AUDIENCE]])),
        ],
    ));
    assert_refused(&[("no audience", genuine(&without(github(), "aud")), "Claim")]);
}

#[test]
fn tokens_out_of_their_time_are_refused() {
    let year = 365 * 24 * 3_600;
    let forgery = |name: &'static str, claims: Claims, reason| (name, genuine(&claims), reason);
    assert_refused(&[
        forgery("expired", with(github(), "exp", NOW.0 - 60), "Expired"),
        forgery("expired long ago", with(github(), "exp", 1), "Expired"),
        forgery("exp 0", with(github(), "exp", 0), "Expired"),
        forgery("exp missing", without(github(), "exp"), "Claim"),
        forgery("exp null", with(github(), "exp", Value::Null), "Claim"),
        forgery(
            "exp a text",
            with(github(), "exp", (NOW.0 + 300).to_string()),
            "Claim",
        ),
        forgery("exp negative", with(github(), "exp", -1), "Claim"),
        forgery("exp of 64 bits", with(github(), "exp", u64::MAX), "Claim"),
        forgery(
            "exp of 64 bits, signed",
            with(github(), "exp", i64::MAX),
            "Claim",
        ),
        forgery("exp 1e300", with(github(), "exp", 1e300), "Claim"),
        forgery(
            "exp in milliseconds",
            with(github(), "exp", (NOW.0 + 300) * 1_000),
            "Claim",
        ),
        forgery(
            "exp with a half",
            with(github(), "exp", NOW.0 as f64 + 0.5),
            "Claim",
        ),
        forgery("exp true", with(github(), "exp", true), "Claim"),
        forgery(
            "exp a list",
            with(github(), "exp", json!([NOW.0 + 300])),
            "Claim",
        ),
        forgery(
            "nbf in the future",
            with(github(), "nbf", NOW.0 + 61),
            "NotYet",
        ),
        forgery("nbf a text", with(github(), "nbf", "0"), "Claim"),
        forgery("nbf null", with(github(), "nbf", Value::Null), "Claim"),
        forgery(
            "iat in the future",
            with(github(), "iat", NOW.0 + 61),
            "IssuedInFuture",
        ),
        forgery("iat missing", without(github(), "iat"), "Claim"),
        forgery(
            "a life of a year",
            with(github(), "exp", NOW.0 + year),
            "LivesTooLong",
        ),
        forgery(
            "the last of a year",
            with(github(), "iat", NOW.0 + 300 - year),
            "LivesTooLong",
        ),
        forgery(
            "a day and a second",
            with(github(), "exp", NOW.0 - 9 + 24 * 3_600),
            "LivesTooLong",
        ),
        forgery("iat 0", with(github(), "iat", 0), "LivesTooLong"),
    ]);
    let claims = Value::from(github()).to_string();
    let exp = format!("\"exp\":{}", NOW.0 + 300);
    let beyond = claims.replace(&exp, "\"exp\":1e999");
    assert_ne!(beyond, claims);
    let token = compact(&header().to_string(), &beyond, |m| RSA.sign("RS256", m));
    assert_refused(&[("exp beyond any number", token, "Malformed")]);
}

#[test]
fn tokens_that_name_nobody_are_refused() {
    assert_refused(&changed(
        "sub",
        "NoSubject",
        [
            ("empty", json!("")),
            ("a space", json!(" ")),
            ("a number", json!(1)),
            ("null", Value::Null),
            ("a list", json!(["repo:acme/terraform-provider-widget"])),
        ],
    ));
    assert_refused(&[(
        "no subject",
        genuine(&without(github(), "sub")),
        "NoSubject",
    )]);
}

#[test]
fn repositories_with_similar_names_are_refused() {
    assert_refused(&changed(
        "repository",
        "NoRule",
        texts(&[
            "acme/terraform-provider-widget-evil",
            "acme/terraform-provider-widge",
            "acme/terraform-provider-",
            "acmee/terraform-provider-widget",
            "cme/terraform-provider-widget",
            "evil/acme/terraform-provider-widget",
            "evil/terraform-provider-widget",
            "Acme/terraform-provider-widget",
            "acme/Terraform-Provider-Widget",
            "acme/terraform-provider-widget ",
            " acme/terraform-provider-widget",
            "acme/terraform-provider-widget\n",
            "acme/terraform-provider-widget\0",
            "acme/terraform-provider-widget\0evil",
            "acme/terraform-provider-widget/",
            "acme//terraform-provider-widget",
            "acme/./terraform-provider-widget",
            "evil/../acme/terraform-provider-widget",
            "acme\\terraform-provider-widget",
            "acme%2Fterraform-provider-widget",
            "acme/terraform%2Dprovider%2Dwidget",
            "\u{430}cme/terraform-provider-widget",
            "acme\u{ff0f}terraform-provider-widget",
            "acme/terraform-provider-widget\u{200b}",
            "acme/terraform\u{2010}provider\u{2010}widget",
            "\u{feff}acme/terraform-provider-widget",
            "\u{202e}tegdiw-redivorp-mrofarret/emca",
            "*",
            "",
        ]),
    ));
}

#[test]
fn refs_beside_the_pattern_are_refused() {
    assert_refused(&changed(
        "ref",
        "NoRule",
        texts(&[
            "refs/heads/v1",
            "refs/heads/refs/tags/v1",
            "refs/heads/main",
            "refs/pull/1/merge",
            "refs/tags/1",
            "refs/tags/V1",
            "refs/tags/v1/x",
            "refs/tags/v1/../x",
            "refs/tags/v1\n",
            "refs/tags/v1\nrefs/heads/main",
            "refs/tags/v1\0",
            "refs/tags/v1\u{7f}",
            "refs/tags/v1\u{85}",
            " refs/tags/v1",
            "refs/tags//v1",
            "refs\u{2215}tags\u{2215}v1",
            "",
        ]),
    ));
}

#[test]
fn claims_of_another_type_or_missing_are_refused() {
    let repository = "acme/terraform-provider-widget";
    assert_refused(&changed(
        "repository",
        "NoRule",
        [
            ("a list", json!([repository])),
            ("a list with another", json!(["evil/evil", repository])),
            ("a list in a list", json!([[repository]])),
            ("an object", json!({ "name": repository })),
            ("null", Value::Null),
            ("true", json!(true)),
            ("a number", json!(7)),
        ],
    ));
    assert_refused(&[
        (
            "no repository",
            genuine(&without(github(), "repository")),
            "NoRule",
        ),
        (
            "no environment",
            genuine(&without(github(), "environment")),
            "NoRule",
        ),
        ("no ref", genuine(&without(github(), "ref")), "NoRule"),
        (
            "another environment",
            genuine(&with(github(), "environment", "staging")),
            "NoRule",
        ),
        (
            "an empty environment",
            genuine(&with(github(), "environment", "")),
            "NoRule",
        ),
        (
            "a subject alone",
            {
                let mut claims = github();
                claims
                    .retain(|name, _| ["iss", "aud", "sub", "exp", "iat"].contains(&name.as_str()));
                genuine(&claims)
            },
            "NoRule",
        ),
    ]);
}

#[test]
fn jobs_of_gitlab_beside_the_rule_are_refused() {
    let token = |claim: &str, value: &str| genuine(&with(gitlab(), claim, value));
    assert_refused(&[
        (
            "below",
            token("project_path", "acme/infra/terraform-aws/evil"),
            "NoRule",
        ),
        ("above", token("project_path", "acme/infra"), "NoRule"),
        (
            "another group",
            token("project_path", "acme/infrared/terraform-aws"),
            "NoRule",
        ),
        (
            "another root",
            token("project_path", "evil/infra/terraform-aws"),
            "NoRule",
        ),
        ("a branch", token("ref_type", "branch"), "NoRule"),
        ("not protected", token("ref_protected", "false"), "NoRule"),
        (
            "protected, in another case",
            token("ref_protected", "True"),
            "NoRule",
        ),
    ]);
}

#[test]
fn the_log_says_which_claim_differs_so_that_a_look_alike_is_seen() {
    let line = |claims: Claims| exchange(&genuine(&claims)).unwrap_err().to_string();
    let look_alike = "\u{430}cme/terraform-provider-widget\u{1b}[2J";
    assert_eq!(
        line(with(github(), "repository", look_alike)),
        concat!(
            "no rule is for it: in the nearest, rule 1, \"repository\" is ",
            "\"acme/terraform-provider-widget\", and here ",
            "\"\\u{430}cme/terraform-provider-widget\\u{1b}[2J\"",
        )
    );
    let missing = line(without(github(), "environment"));
    assert!(
        missing.ends_with(r#""environment" is "release", and here nothing"#),
        "{missing}"
    );
    let long = line(with(github(), "repository", "a".repeat(9_000)));
    assert!(long.len() < 400, "{long}");
}

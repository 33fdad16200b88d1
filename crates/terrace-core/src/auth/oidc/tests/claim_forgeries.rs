//! Genuine tokens that no rule matches, or with names that resemble trusted ones.

use super::forge::*;
use serde_json::{Map, Value, json};

type Claims = Map<String, Value>;

/// Returns genuine tokens with one claim changed.
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
fn the_claims_of_a_rule_grant_nothing_to_another_issuer() {
    let claims = with(github(), "iss", GITLAB);
    assert_refused(&[("GitHub's claims by GitLab", genuine(&claims), "NoRule")]);
}

#[test]
fn repositories_with_similar_names_are_rejected() {
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
fn refs_outside_the_pattern_are_rejected() {
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
fn missing_claims_and_claims_of_another_type_are_rejected() {
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
fn jobs_of_gitlab_that_do_not_match_the_rule_are_rejected() {
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
fn the_log_quotes_the_claim_that_differs_so_that_a_look_alike_is_visible() {
    let line = |claims: Claims| exchange(&genuine(&claims)).unwrap_err().to_string();
    let look_alike = "\u{430}cme/terraform-provider-widget\u{1b}[2J";
    assert_eq!(
        line(with(github(), "repository", look_alike)),
        concat!(
            "no rule matches it: the closest, rule 1, requires \"repository\" to be ",
            "\"acme/terraform-provider-widget\", and found ",
            "\"\\u{430}cme/terraform-provider-widget\\u{1b}[2J\"",
        )
    );
    let missing = line(without(github(), "environment"));
    assert!(
        missing.ends_with(r#""environment" to be "release", and found nothing"#),
        "{missing}"
    );
    let long = line(with(github(), "repository", "a".repeat(9_000)));
    assert!(long.len() < 400, "{long}");
}

#[test]
fn tokens_with_a_long_lifetime_are_rejected() {
    let year = 365 * 24 * 3_600;
    let forgery = |name: &'static str, claims: Claims, reason| (name, genuine(&claims), reason);
    assert_refused(&[
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
}

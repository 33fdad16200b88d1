//! Genuine tokens that no rule matches, or with names that resemble trusted ones.

use super::forge::*;
use serde_json::{Value, json};

const NO_RULE: &str = "no rule matches it: ";

#[test]
fn the_claims_of_a_rule_grant_nothing_to_another_issuer() {
    assert_refused(NO_RULE, &github(), "iss", [GITLAB]);
}

#[test]
fn repositories_with_similar_names_are_rejected() {
    assert_refused(
        NO_RULE,
        &github(),
        "repository",
        [
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
        ],
    );
}

#[test]
fn refs_outside_the_pattern_are_rejected() {
    assert_refused(
        NO_RULE,
        &github(),
        "ref",
        [
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
        ],
    );
}

#[test]
fn missing_claims_and_claims_of_another_type_are_rejected() {
    let repository = "acme/terraform-provider-widget";
    let others = [
        json!([repository]),
        json!(["evil/evil", repository]),
        json!([[repository]]),
        json!({ "name": repository }),
        Value::Null,
        json!(true),
        json!(7),
    ];
    assert_refused(NO_RULE, &github(), "repository", others);
    for claim in ["repository", "environment", "ref"] {
        let claims = without(github(), claim);
        assert_refused(NO_RULE, &claims, "other", [repository]);
    }
    assert_refused(NO_RULE, &github(), "environment", ["staging", ""]);
    let mut bare = github();
    bare.retain(|name, _| ["iss", "aud", "sub", "exp", "iat"].contains(&name.as_str()));
    assert_refused(NO_RULE, &bare, "other", [repository]);
}

#[test]
fn jobs_of_gitlab_that_do_not_match_the_rule_are_rejected() {
    let projects = [
        "acme/infra/terraform-aws/evil",
        "acme/infra",
        "acme/infrared/terraform-aws",
        "evil/infra/terraform-aws",
    ];
    assert_refused(NO_RULE, &gitlab(), "project_path", projects);
    assert_refused(NO_RULE, &gitlab(), "ref_type", ["branch"]);
    assert_refused(NO_RULE, &gitlab(), "ref_protected", ["false", "True"]);
}

#[test]
fn the_log_quotes_the_claim_that_differs_so_that_a_look_alike_is_visible() {
    let line = |claims| exchange(&genuine(&claims)).unwrap_err();
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
    let ends = [NOW.0 + year, NOW.0 - 9 + 24 * 3_600];
    assert_refused("its lifetime is", &github(), "exp", ends);
    let starts = [NOW.0 + 300 - year, 0];
    assert_refused("its lifetime is", &github(), "iat", starts);
}

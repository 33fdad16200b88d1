//! The claims that releases of a job record.

use serde_json::{Map, Value, json};

use super::forge::*;
use crate::auth::oidc::{TrustedPublishers, provenance};
use crate::limits;
use crate::model::provenance::Provenance;

/// Exchanges a token of any issuer, and returns the recorded claims as JSON.
fn recorded(claims: &Map<String, Value>) -> Value {
    serde_json::to_value(of(claims).unwrap()).unwrap()
}

fn of(claims: &Map<String, Value>) -> Option<Provenance> {
    let issuer = claims["iss"].as_str().unwrap();
    let rule = json!([{ "scopes": ["publish:acme"], "issuer": issuer, "claims": { "sub": claims["sub"] } }]);
    let publishers: TrustedPublishers = rule.to_string().parse().unwrap();
    provenance(&exchange_by(&publishers, &genuine(claims)).unwrap().0)
}

fn from(claims: Map<String, Value>, issuer: &str) -> Map<String, Value> {
    with(claims, "iss", issuer)
}

#[test]
fn a_job_of_github_is_recorded_with_its_repository_and_workflow() {
    let expected = json!({
        "issuer": GITHUB,
        "repository": "acme/terraform-provider-widget",
        "url": "https://github.com/acme/terraform-provider-widget",
        "commit": "c1a5d0f13f4b4f0e9a535a5d4f6b7c8df1c2a5d0",
        "ref": "refs/tags/v1.2.3",
        "workflow": "acme/terraform-provider-widget/.github/workflows/release.yml@refs/tags/v1.2.3",
        "run": "4242",
    });
    assert_eq!(recorded(&github()), expected);
}

#[test]
fn a_job_of_gitlab_is_recorded_with_its_project_and_pipeline() {
    let claims = with(gitlab(), "pipeline_id", 574);
    let project = "acme/infra/terraform-aws-network";
    let mut expected = json!({
        "issuer": GITLAB,
        "repository": project,
        "url": format!("https://gitlab.com/{project}"),
        "commit": "714a629c0b401fdce83e847fc9589983fc6f46bc",
        "ref": "refs/tags/v1.2.3",
        "workflow": "gitlab.com/acme/infra/terraform-aws-network//.gitlab-ci.yml@refs/tags/v1.2.3",
        "run": "574",
    });
    assert_eq!(recorded(&claims), expected);
    // A GitLab under a host name that does not reveal it, and with a path.
    let hidden = from(claims, "https://code.acme.example/git");
    expected["issuer"] = json!("https://code.acme.example/git");
    expected["url"] = json!(format!("https://code.acme.example/git/{project}"));
    assert_eq!(recorded(&hidden), expected);
}

#[test]
fn the_url_of_a_repository_follows_from_the_issuer() {
    for (issuer, web) in [
        (
            "https://token.actions.githubusercontent.com/acme",
            "https://github.com",
        ),
        ("https://token.actions.acme.ghe.com", "https://acme.ghe.com"),
        (
            "https://github.acme.example/_services/token",
            "https://github.acme.example",
        ),
        (
            "https://forge.acme.example:8443/git/api/actions",
            "https://forge.acme.example:8443/git",
        ),
    ] {
        let url = of(&from(github(), issuer)).unwrap().url.unwrap();
        let expected = format!("{web}/acme/terraform-provider-widget");
        assert_eq!(url.as_str(), expected, "{issuer}");
    }
}

#[test]
fn of_an_unknown_ci_system_only_the_issuer_is_recorded() {
    for claims in [github(), without(gitlab(), "pipeline_id")] {
        let issuer = "https://agent.buildkite.com";
        assert_eq!(recorded(&from(claims, issuer)), json!({ "issuer": issuer }));
    }
}

#[test]
fn a_claim_that_a_token_lacks_or_has_in_another_form_is_not_recorded() {
    let claims = without(without(github(), "workflow_ref"), "run_id");
    let claims = with(claims, "sha", "main");
    let claims = with(claims, "ref", json!(["refs/heads/main"]));
    let expected = json!({
        "issuer": GITHUB,
        "repository": "acme/terraform-provider-widget",
        "url": "https://github.com/acme/terraform-provider-widget",
        "workflow": "release",
    });
    assert_eq!(recorded(&claims), expected);
}

#[test]
fn hostile_claims_are_left_out_and_never_shortened() {
    for repository in [
        json!("acme/widget\nadmin"),
        json!("acme/\u{202e}tegdiw"),
        json!("a".repeat(limits::CLAIM_BYTES + 1)),
        json!(""),
        json!({ "name": "acme/widget" }),
    ] {
        let found = of(&with(github(), "repository", repository.clone())).unwrap();
        assert_eq!((found.repository, found.url), (None, None), "{repository}");
    }
    // A repository that is not a path of a URL has no URL.
    let found = of(&with(github(), "repository", "acme/widget?token=x")).unwrap();
    assert_eq!(found.url, None);
    let long = of(&with(github(), "ref", "r".repeat(limits::CLAIM_BYTES))).unwrap();
    let text = long.to_text().unwrap();
    assert!(text.as_str().len() <= limits::PROVENANCE_BYTES);
}

//! Tokens of jobs that match a rule.

use super::forge::*;

#[test]
fn a_job_of_github_is_granted_the_scopes_of_its_rule() {
    let grant = exchange(&genuine(&github())).unwrap();
    assert_eq!(grant.granted.scopes.to_string(), "publish:acme");
    let claims = &grant.claims;
    assert_eq!(claims.issuer().as_str(), GITHUB);
    assert_eq!(
        claims.subject(),
        "repo:acme/terraform-provider-widget:environment:release"
    );
    assert_eq!(claims.text("run_id"), Some("4242"));
    assert_eq!(
        claims.token_id(),
        Some("f1c2a5d0-3f4b-4f0e-9a53-5a5d4f6b7c8d")
    );
    assert_eq!(claims.expires().0, NOW.0 + 300);
    assert_eq!(claims.nonce(), None);
}

#[test]
fn a_job_of_gitlab_is_granted_the_scopes_of_its_rule() {
    let grant = exchange(&genuine(&gitlab())).unwrap();
    assert_eq!(grant.granted.scopes.to_string(), "publish:infra");
}

#[test]
fn a_token_may_be_valid_for_a_day() {
    let claims = with(github(), "exp", NOW.0 - 10 + 24 * 3_600);
    assert!(exchange(&genuine(&claims)).is_ok());
}

#[test]
fn a_number_or_a_boolean_is_compared_in_its_json_form() {
    let claims = with(gitlab(), "ref_protected", true);
    assert!(exchange(&genuine(&claims)).is_ok());
}

//! Operators' rules, and the scopes that they grant.

use super::forge::*;
use crate::auth::oidc::{LoginRules, RuleKind, StoredRule, TrustedPublishers, limits};
use serde_json::{Map, Value, json};

fn rule() -> Value {
    json!({
        "scopes": ["publish:acme"],
        "issuer": GITHUB,
        "claims": { "repository": "acme/terraform-provider-widget" },
    })
}

fn changed(name: &str, value: impl Into<Value>) -> Value {
    let mut rule = rule();
    rule[name] = value.into();
    rule
}

fn parse(rules: &Value) -> Result<TrustedPublishers, String> {
    let parsed: Result<TrustedPublishers, _> = rules.to_string().parse();
    parsed.map_err(|error| error.to_string())
}

/// Returns the scopes that these rules grant to a GitHub job with these claims.
fn scopes(rules: &Value, claims: &Map<String, Value>) -> Result<Vec<String>, String> {
    let (_, granted) = exchange_by(&parse(rules).unwrap(), &genuine(claims))?;
    Ok(granted.scopes.iter().map(ToString::to_string).collect())
}

#[test]
fn the_scopes_of_all_matching_rules_are_united() {
    let rules = json!([
        rule(),
        changed("scopes", ["publish:acme", "publish:tools"]),
        changed("claims", json!({ "repository_owner": "acme", "environment": "staging" })),
        {
            "scopes": ["publish:gitlab"],
            "issuer": GITLAB,
            "claims": { "project_path": "acme/terraform-provider-widget" },
        },
    ]);
    let granted = scopes(&rules, &github()).unwrap();
    assert_eq!(granted, ["publish:acme", "publish:tools"]);
}

#[test]
fn a_rule_with_an_audience_matches_only_tokens_for_that_audience() {
    let other = "https://other.example";
    let mut special = changed("audience", other);
    special["scopes"] = json!(["publish:special"]);
    let rules = json!([rule(), special]);
    assert_eq!(scopes(&rules, &github()).unwrap(), ["publish:acme"]);
    let claims = with(github(), "aud", other);
    assert_eq!(scopes(&rules, &claims).unwrap(), ["publish:special"]);
    let claims = with(github(), "aud", json!([other, AUDIENCE]));
    assert_eq!(
        scopes(&rules, &claims).unwrap(),
        ["publish:acme", "publish:special"]
    );
    let refusal = scopes(&json!([changed("audience", other)]), &github()).unwrap_err();
    assert_eq!(
        refusal,
        format!("its audience is {AUDIENCE:?}, not {other:?}")
    );
}

#[test]
fn a_token_of_a_day_and_a_boolean_claim_are_accepted() {
    let claims = with(github(), "exp", NOW.0 - 10 + 24 * 3_600);
    assert!(exchange(&genuine(&claims)).is_ok());
    let claims = with(gitlab(), "ref_protected", true);
    assert!(exchange(&genuine(&claims)).is_ok());
}

#[test]
fn the_error_describes_the_closest_rule() {
    let rules = json!([
        changed(
            "claims",
            json!({ "repository": "acme/other", "ref": "refs/heads/main" })
        ),
        changed(
            "claims",
            json!({
                "repository": "acme/terraform-provider-widget",
                "environment": "release",
                "ref": "refs/heads/main",
            })
        ),
    ]);
    let refusal = scopes(&rules, &github()).unwrap_err();
    assert_eq!(
        refusal,
        "no rule matches it: the closest, rule 2, requires \"ref\" to be \"refs/heads/main\", and found \"refs/tags/v1.2.3\""
    );
}

#[test]
fn a_rule_without_an_identifying_claim_is_rejected() {
    for claims in [
        json!({ "ref": "refs/tags/v1" }),
        json!({ "environment": "release", "ref_type": "tag", "event_name": "push" }),
        json!({ "job_workflow_ref": "acme/workflows/.github/workflows/publish.yml@refs/heads/main" }),
        json!({ "actor": "ann" }),
        json!({ "repo_property_team": "platform" }),
        json!({ "repository": "*" }),
        json!({ "repository": "*/terraform-provider-widget" }),
        json!({ "repository": "acme*/terraform-provider-widget" }),
        json!({ "repository_owner": "acme*" }),
        json!({ "repository_id": "2*" }),
        json!({ "sub": "repo:*" }),
        json!({ "sub": "environment:release" }),
    ] {
        let error = parse(&json!([changed("claims", claims.clone())])).unwrap_err();
        assert!(
            error.starts_with("rule 1 does not identify the jobs that it trusts"),
            "{claims}: {error}"
        );
    }
    for claims in [
        json!({ "repository": "acme/*", "ref": "refs/tags/v*" }),
        json!({ "repository_owner_id": "1001" }),
        json!({ "sub": "repo:acme/*" }),
        json!({ "enterprise": "acme", "repo_property_team": "platform" }),
        json!({ "workflow_ref": "acme/widget/.github/workflows/release.yml@refs/heads/main" }),
    ] {
        let parsed = parse(&json!([changed("claims", claims.clone())]));
        assert!(parsed.is_ok(), "{claims}: {parsed:?}");
    }
}

/// Returns a rule for an issuer, with these claims.
fn of(issuer: &str, claims: Value) -> Value {
    json!({ "scopes": ["publish:acme"], "issuer": issuer, "claims": claims })
}

const SELF_MANAGED: &str = "https://git.acme.example";
const BUILDKITE: &str = "https://agent.buildkite.com";

#[test]
fn a_rule_for_gitlab_without_an_identifying_claim_is_rejected() {
    for claims in [
        json!({ "job_source": "push" }),
        json!({ "job_policy_ref_uri": "gitlab.com/acme/policies//.gitlab-ci.yml@refs/heads/main" }),
        json!({ "job_project_path": "acme/widget" }),
        json!({ "job_project_id": "20", "ref_protected": "true" }),
        json!({ "job_namespace_path": "acme", "job_namespace_id": "72" }),
        json!({ "user_login": "ann", "user_id": "1", "user_email": "ann@acme.example" }),
        json!({ "ci_config_ref_uri": "gitlab.com/acme/widget//.gitlab-ci.yml@refs/heads/main" }),
        json!({ "project_path": "*/widget" }),
    ] {
        let error = parse(&json!([of(GITLAB, claims.clone())])).unwrap_err();
        let message = "rule 1 does not identify the jobs that it trusts";
        assert!(
            error.starts_with(message) && error.contains("project_path"),
            "{claims}: {error}"
        );
    }
    for issuer in [GITLAB, "https://gitlab.acme.example", SELF_MANAGED] {
        for claims in [
            json!({ "project_path": "acme/widget", "job_source": "push" }),
            json!({ "project_id": "20" }),
            json!({ "namespace_path": "acme", "ref_type": "tag" }),
            json!({ "namespace_id": "72" }),
            json!({ "sub": "project_path:acme/widget:ref_type:tag:ref:v*" }),
        ] {
            let parsed = parse(&json!([of(issuer, claims.clone())]));
            assert!(parsed.is_ok(), "{issuer} {claims}: {parsed:?}");
        }
    }
}

#[test]
fn a_rule_for_another_issuer_needs_the_subject_or_identifies() {
    let slugs = json!({ "organization_slug": "acme", "pipeline_slug": "*" });
    for claims in [
        slugs.clone(),
        json!({ "pipeline_slug": "release" }),
        json!({ "repository": "acme/widget" }),
        json!({ "email": "ci@acme.iam.gserviceaccount.com" }),
        json!({ "sub": "*" }),
    ] {
        let error = parse(&json!([of(BUILDKITE, claims.clone())])).unwrap_err();
        let message = "rule 1 does not identify the jobs that it trusts";
        assert!(
            error.starts_with(message) && error.contains("identifies"),
            "{claims}: {error}"
        );
    }
    let subject = json!({ "sub": "organization:acme:pipeline:release:ref:refs/tags/v1" });
    assert!(parse(&json!([of(BUILDKITE, subject)])).is_ok());
    let vouched = |issuer, claims, identifies: Value| {
        let mut rule = of(issuer, claims);
        rule["identifies"] = identifies;
        parse(&json!([rule]))
    };
    assert!(vouched(BUILDKITE, slugs.clone(), json!(true)).is_ok());
    let error = vouched(BUILDKITE, slugs.clone(), json!(false)).unwrap_err();
    assert!(
        error.contains("does not identify the jobs that it trusts"),
        "{error}"
    );
    let error = vouched(BUILDKITE, json!({ "pipeline_slug": "*" }), json!(true)).unwrap_err();
    assert!(
        error.contains("does not identify the jobs that it trusts"),
        "{error}"
    );
    let error = vouched(BUILDKITE, slugs, json!("yes")).unwrap_err();
    assert!(error.contains("must be true or false"), "{error}");
    for issuer in [GITHUB, GITLAB] {
        let error = vouched(issuer, json!({ "ref": "main" }), json!(true)).unwrap_err();
        assert!(
            error.contains("for issuers other than GitHub and GitLab"),
            "{error}"
        );
    }
}

/// Returns whether a warning about the rule contains this text.
fn warns(rule: Value, text: &str) -> bool {
    let rules = parse(&json!([rule])).unwrap();
    let warnings = rules.warnings(&|rule| format!("rule {rule}"));
    let mut warnings = warnings.iter();
    warnings.any(|it| it.starts_with("rule 1 ") && it.contains(text))
}

#[test]
fn a_rule_that_a_pull_request_from_a_fork_can_match_is_reported() {
    let open = |rule| warns(rule, "pull_request_target");
    for claims in [
        json!({ "repository": "acme/widget" }),
        json!({ "repository": "acme/widget", "ref": "refs/heads/main" }),
        json!({ "repository": "acme/widget", "ref_type": "branch", "ref_protected": "true" }),
        json!({ "repository_owner_id": "1001", "event_name": "pull_request*" }),
        json!({ "sub": "repo:acme/widget:ref:refs/heads/main" }),
        json!({ "repository": "acme/widget", "environment": "release-*" }),
        json!({ "workflow_ref": "acme/widget/.github/workflows/*@refs/heads/main" }),
        json!({ "sub": "repo:acme/widget:environment:*" }),
        json!({ "sub": "repo:acme/widget:job_workflow_ref:acme/*@refs/heads/main" }),
    ] {
        assert!(open(of(GITHUB, claims.clone())), "{claims}");
    }
    for claims in [
        json!({ "repository": "acme/widget", "ref": "refs/tags/v*" }),
        json!({ "repository": "acme/widget", "ref": "refs/merge-queue/*" }),
        json!({ "repository": "acme/widget", "ref_type": "tag" }),
        json!({ "repository": "acme/widget", "ref": "refs/heads/main", "event_name": "push" }),
        json!({ "repository": "acme/widget", "environment": "release" }),
        json!({ "sub": "repo:acme/*:environment:release:ref:*" }),
        json!({ "sub": "repo:acme/widget:ref:refs/tags/v*" }),
        json!({ "sub": "repo:acme/widget:job_workflow_ref:acme/ci/.github/workflows/release.yml@*" }),
        json!({ "workflow_ref": "acme/widget/.github/workflows/release.yml@refs/*" }),
    ] {
        assert!(!open(of(GITHUB, claims.clone())), "{claims}");
    }
    let project = json!({ "project_path": "acme/widget", "ref": "main" });
    assert!(!open(of(GITLAB, project)));
}

#[test]
fn a_subject_of_github_without_ids_is_reported() {
    for (subject, expected) in [
        ("repo:acme/widget:ref:refs/tags/v*", true),
        ("environment:release:repo:acme/widget", true),
        ("repo:acme@1001/widget@2002:ref:refs/tags/v*", false),
        ("repository_owner_id:1001:environment:release", false),
    ] {
        let rule = of(GITHUB, json!({ "sub": subject }));
        assert_eq!(warns(rule, "2026-07-15"), expected, "{subject}");
    }
}

#[test]
fn a_rule_for_every_branch_of_a_project_on_gitlab_is_reported_if_it_grants_more_than_reading() {
    let config = "gitlab.com/acme/widget//ci.yml@refs/heads/";
    let subject = "project_path:acme/widget:ref_type:branch:ref:";
    for (claim, pattern, expected) in [
        ("user_login", "ann", true),
        ("ref", "*", true),
        ("ref_type", "branch", true),
        ("environment", "*", true),
        ("ci_config_ref_uri", &format!("{config}*"), true),
        ("sub", &format!("{subject}*"), true),
        ("sub", "project_path:acme/widget:ref_type:branch*", true),
        ("ref", "main", false),
        ("ref_path", "refs/tags/*", false),
        ("ref_type", "tag", false),
        ("ref_protected", "true", false),
        ("ci_config_ref_uri", &format!("{config}main"), false),
        ("sub", &format!("{subject}main"), false),
        ("sub", &format!("{subject}release-*"), false),
    ] {
        for issuer in [GITLAB, SELF_MANAGED] {
            let claims = json!({ "project_path": "acme/widget", claim: pattern });
            let mut rule = of(issuer, claims);
            let is_reported = warns(rule.clone(), "every branch");
            assert_eq!(is_reported, expected, "{claim}={pattern}");
            rule["scopes"] = json!(["read:acme"]);
            assert!(!warns(rule, "every branch"), "{claim}={pattern}");
        }
    }
}

#[test]
fn an_error_names_the_rule() {
    let long = "a".repeat(limits::PATTERN_BYTES + 1);
    let many: Map<String, Value> = (0..=limits::RULE_CLAIMS)
        .map(|n| (format!("claim{n}"), json!("a")))
        .collect();
    for wrong in [
        json!("acme"),
        json!([]),
        changed("scope", "read"),
        changed("Claims", json!({})),
        json!({}),
        json!({ "scopes": ["read"] }),
        json!({ "scopes": ["read"], "claims": { "sub": "a" } }),
        changed("scopes", "read"),
        changed("scopes", json!([])),
        changed("scopes", [""]),
        changed("scopes", ["read all"]),
        changed("scopes", ["publish:acme", "admin"]),
        changed("scopes", [1]),
        changed("claims", json!([])),
        changed("claims", json!({})),
        changed("claims", many),
        changed("claims", json!({ "iss": "a" })),
        changed("claims", json!({ "aud": "a" })),
        changed("claims", json!({ "exp": "1" })),
        changed("claims", json!({ "": "1" })),
        changed("claims", json!({ "sub": 1 })),
        changed("claims", json!({ "sub": ["a"] })),
        changed("claims", json!({ "sub": "" })),
        changed("claims", json!({ "sub": "a/**" })),
        changed("claims", json!({ "sub": long })),
        changed("issuer", "http://a.example"),
        changed("issuer", 1),
        changed("audience", ""),
        changed("audience", " "),
        changed("audience", Value::Null),
    ] {
        let error = parse(&json!([rule(), wrong])).unwrap_err();
        assert!(error.starts_with("rule 2 "), "{error}");
        assert!(error.len() < 400, "{error}");
    }
}

#[test]
fn a_text_that_is_not_a_list_of_rules_is_rejected() {
    let parse = |text: &str| text.parse::<TrustedPublishers>().unwrap_err().to_string();
    for text in ["[]", "{}", "null", "\"acme\""] {
        assert!(
            parse(text).contains("must be a list of at least one object"),
            "{text}"
        );
    }
    for text in ["", "[", "[{\"scopes\":[],\"scopes\":[]}]", "[]x"] {
        assert!(parse(text).contains("cannot be parsed as JSON"), "{text}");
    }
    let twice = rule().to_string();
    let twice = twice.replace("\"repository\":", "\"repository\":\"a/b\",\"repository\":");
    assert!(parse(&format!("[{twice}]")).contains("\"repository\" appears twice"));
    let many = format!("[{}]", vec!["{}"; limits::RULES + 1].join(","));
    assert!(parse(&many).starts_with("there are 129 rules"));
    assert!(parse(&" ".repeat(limits::RULES_BYTES + 1)).contains("bytes long"));
}

#[test]
fn rules_for_people_have_no_issuer_and_may_match_everyone() {
    let parse = |rules: Value| {
        rules
            .to_string()
            .parse::<LoginRules>()
            .map_err(|e| e.to_string())
    };
    assert!(parse(json!([{ "scopes": ["read"], "claims": { "sub": "*" } }])).is_ok());
    assert!(
        parse(json!([{ "scopes": ["read"], "claims": { "email": "*@acme.example" } }])).is_ok()
    );
    assert!(parse(json!([{ "scopes": ["admin"], "claims": { "sub": "ann" } }])).is_ok());
    for (scope, claims) in [
        ("admin", json!({ "sub": "*" })),
        ("publish:acme", json!({ "sub": "*/*" })),
        ("admin", json!({ "email": "*" })),
        ("admin", json!({ "email": "*@*" })),
        ("admin", json!({ "email_verified": "true" })),
        ("publish:acme", json!({ "sub": "*", "acr": "2" })),
    ] {
        let rules = json!([{ "scopes": ["read", scope], "claims": claims }]);
        let error = parse(rules).unwrap_err();
        assert!(
            error.contains("grants write access to every account of the provider"),
            "{error}"
        );
    }
    for email in ["*e*", "ann@*", "*@*acme.example"] {
        let rule = |scope: &str, more: Value| {
            let mut claims = more;
            claims["email"] = json!(email);
            parse(json!([{ "scopes": [scope], "claims": claims }]))
        };
        let error = rule("publish:acme", json!({})).unwrap_err();
        assert!(error.contains("may grant only reading"), "{error}");
        assert!(rule("read:acme", json!({})).is_ok());
        assert!(rule("publish:acme", json!({ "groups": "platform" })).is_ok());
    }
    let error = parse(json!([rule()])).unwrap_err();
    assert_eq!(error, "rule 1 has the unknown member \"issuer\"");
    let error = parse(json!([{ "scopes": ["read"], "claims": {} }])).unwrap_err();
    assert!(error.starts_with("rule 1 has 0 claims"), "{error}");
}

#[test]
fn a_rule_that_lets_strangers_read_is_reported() {
    for (claims, expected) in [
        (json!({ "sub": "*" }), 1),
        (json!({ "email": "*acme.example" }), 1),
        (json!({ "email": "*@acme.example" }), 0),
        (json!({ "sub": "*", "groups": "staff" }), 0),
    ] {
        let rule = json!({ "scopes": ["read"], "claims": claims }).to_string();
        let warnings = StoredRule::parse(RuleKind::Role, &rule).unwrap().warnings();
        assert_eq!(warnings.len(), expected, "{rule}: {warnings:?}");
    }
}

//! Warnings about rules that are valid, but trust more than their author probably means, or nothing.

use terrace_base::spelling;
use terrace_jose::Quoted;

use super::ClaimPattern;
use super::ci_system::CiSystem;
use super::rule::Rule;

/// The claims of the usual providers of sign-in (docs/access.md lists these), and those of OpenID Connect Core, sections 2 and
/// 5.1.
const OF_PEOPLE: &[&str] = &[
    "acr",
    "amr",
    "auth_time",
    "azp",
    "email",
    "email_verified",
    "family_name",
    "given_name",
    "groups",
    "groups_direct",
    "hd",
    "id",
    "locale",
    "login",
    "name",
    "nickname",
    "oid",
    "org_ids",
    "orgs",
    "preferred_username",
    "roles",
    "sub",
    "team_ids",
    "teams",
    "tid",
    "typ",
    "uid",
    "upn",
    "username",
];

/// The name of a branch that stands for any branch.
const ANY_BRANCH: &str = "a-branch-of-any-name";

/// Returns warnings about the claims of a rule for jobs of a CI system. Each continues the name of the rule.
pub(super) fn of_jobs(system: CiSystem, rule: &Rule) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, pattern) in rule.claims() {
        if (system, name) == (CiSystem::GitLab, "ref") && pattern.to_string().starts_with("refs/") {
            warnings.push(format!(
                "requires ref to be {}, but a ref of GitLab is the name of the branch or tag alone: require ref_path \
                 instead",
                quoted(pattern)
            ));
        }
        if (system, name) == (CiSystem::GitHub, "sub") && is_without_ids(&pattern.to_string()) {
            warnings.push(format!(
                "requires sub to be {}, but the tokens of repositories that were created, renamed or moved since 2026-07-15 have IDs \
                 in sub, as in repo:acme@1001/widget@2002: require repository and repository_id instead",
                quoted(pattern)
            ));
        }
    }
    let is_limited = |(name, pattern): (&str, &ClaimPattern)| limits_branches(name, pattern);
    if system == CiSystem::GitLab
        && rule.grants_more_than_reading()
        && !rule.claims().any(is_limited)
    {
        warnings.push(
            "trusts the jobs of every branch, so anyone who may push one gets these scopes: also require ref_protected = \"true\", \
             a ref or an environment"
                .to_owned(),
        );
    }
    warnings
}

/// Returns warnings about the claims of a rule for people. Each continues the name of the rule.
pub(super) fn of_people(rule: &Rule) -> Vec<String> {
    let mut warnings = Vec::new();
    if rule.is_for_everybody() {
        warnings.push(
            "matches every account of the sign-in provider: where strangers can have one, as at Google, GitHub or GitLab, \
             require a domain, an organisation or a group"
                .to_owned(),
        );
    }
    for (name, pattern) in rule.claims() {
        // With another fault, this one would be said twice.
        let is_open = name == "email" && !pattern.is_anything() && !pattern.fixes_domain();
        if is_open && super::login::check(rule).is_ok() {
            warnings.push(format!(
                "requires email to be {}, which does not determine the domain of the address: write it after an @, such as \
                 *@acme.example",
                quoted(pattern)
            ));
        }
        if OF_PEOPLE.contains(&name) {
            continue;
        }
        if let Some(nearest) = spelling::nearest(name, OF_PEOPLE.iter().copied()) {
            warnings.push(format!(
                "requires the claim {}, and matches only people whose provider sets it; did you mean {nearest}?",
                Quoted::text(name)
            ));
        }
    }
    warnings
}

/// Returns whether a subject of GitHub names a repository without its ID
/// (<https://docs.github.com/en/actions/reference/security/oidc>).
fn is_without_ids(subject: &str) -> bool {
    let repository = subject.split_once("repo:").map(|(_, rest)| rest);
    repository.is_some_and(|rest| rest.split(':').next().is_some_and(|it| !it.contains('@')))
}

/// Returns whether a claim of GitLab excludes some branches, or leaves the choice to an environment.
fn limits_branches(name: &str, pattern: &ClaimPattern) -> bool {
    let text = pattern.to_string();
    let is_limited = |part: Option<&str>, branch: &str| {
        let pattern: Option<ClaimPattern> = part.and_then(|part| part.parse().ok());
        pattern.is_some_and(|pattern| !pattern.matches(branch))
    };
    let path = format!("refs/heads/{ANY_BRANCH}");
    match name {
        "ref" => !pattern.matches(ANY_BRANCH),
        "ref_path" => !pattern.matches(&path),
        "ref_type" => !pattern.matches("branch"),
        "ref_protected" | "environment_protected" => !pattern.matches("false"),
        "environment" => !pattern.is_anything(),
        "ci_config_ref_uri" => is_limited(text.rsplit_once('@').map(|(_, path)| path), &path),
        "sub" => is_limited(text.split_once(":ref:").map(|(_, name)| name), ANY_BRANCH),
        _ => false,
    }
}

fn quoted(pattern: &ClaimPattern) -> Quoted {
    Quoted::text(&pattern.to_string())
}

#[cfg(test)]
mod tests {
    use crate::auth::oidc::{RuleKind, StoredRule};
    use serde_json::{Value, json};

    const GITLAB: &str = "https://gitlab.com";

    fn of_job(issuer: &str, scope: &str, claims: &Value) -> Vec<String> {
        let rule = json!({ "scopes": [scope], "issuer": issuer, "claims": claims });
        let rule = StoredRule::parse(RuleKind::Trust, &rule.to_string());
        rule.unwrap().warnings()
    }

    fn of_person(claims: &Value) -> Vec<String> {
        let rule = json!({ "scopes": ["read"], "claims": claims });
        let rule = StoredRule::parse(RuleKind::Role, &rule.to_string());
        rule.unwrap().warnings()
    }

    #[test]
    fn a_path_as_the_ref_of_gitlab_warns() {
        let claims = json!({ "project_path": "acme/widget", "ref": "refs/tags/v1" });
        let warnings = of_job(GITLAB, "publish:acme", &claims);
        assert!(
            warnings[0].contains("require ref_path instead"),
            "{warnings:?}"
        );
    }

    #[test]
    fn a_rule_for_every_branch_of_a_project_on_gitlab_warns_if_it_grants_more_than_reading() {
        let project = json!({ "project_path": "acme/widget" });
        assert_eq!(of_job(GITLAB, "read:acme", &project), Vec::<String>::new());
        for (claim, pattern, warns) in [
            ("user_login", "ann", true),
            ("ref", "*", true),
            ("ref_path", "refs/heads/*", true),
            ("ref_type", "branch", true),
            ("ref_protected", "*", true),
            ("environment", "*", true),
            (
                "ci_config_ref_uri",
                "gitlab.com/acme/widget//ci.yml@refs/heads/*",
                true,
            ),
            ("ref", "main", false),
            ("ref_path", "refs/tags/*", false),
            ("ref_type", "tag", false),
            ("ref_protected", "true", false),
            ("environment", "release", false),
            (
                "ci_config_ref_uri",
                "gitlab.com/acme/widget//ci.yml@refs/heads/main",
                false,
            ),
            (
                "sub",
                "project_path:acme/widget:ref_type:branch:ref:main",
                false,
            ),
            (
                "sub",
                "project_path:acme/widget:ref_type:branch:ref:*",
                true,
            ),
        ] {
            let mut claims = project.clone();
            claims[claim] = json!(pattern);
            let warnings = of_job(GITLAB, "publish:acme", &claims);
            let has = warnings.iter().any(|it| it.contains("every branch"));
            assert_eq!(has, warns, "{claim}={pattern}: {warnings:?}");
        }
    }

    #[test]
    fn a_rule_that_matches_every_account_warns() {
        for claims in [
            json!({ "sub": "*" }),
            json!({ "email": "*" }),
            json!({ "email": "*@*" }),
        ] {
            let warnings = of_person(&claims);
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].contains("every account"), "{warnings:?}");
        }
    }

    #[test]
    fn a_pattern_for_addresses_of_any_domain_warns() {
        for (pattern, warns) in [
            ("ann*", true),
            ("ann@*", true),
            ("*@*acme.example", true),
            ("*@*.example", true),
            ("*@*.acme.example", false),
            ("*@acme.example", false),
            ("ann@acme.example", false),
        ] {
            let warnings = of_person(&json!({ "email": pattern }));
            let has = warnings
                .iter()
                .any(|it| it.contains("domain of the address"));
            assert_eq!(has, warns, "{pattern}: {warnings:?}");
        }
    }

    #[test]
    fn a_misspelt_claim_of_people_warns_and_one_of_the_organisation_does_not() {
        for (claim, nearest) in [
            ("emial", "email"),
            ("group", "groups"),
            ("prefered_username", "preferred_username"),
        ] {
            let warnings = of_person(&json!({ claim: "staff" }));
            let question = format!("did you mean {nearest}?");
            assert!(warnings[0].ends_with(&question), "{warnings:?}");
        }
        for claim in ["groups", "hd", "https://acme.example/roles", "cost_centre"] {
            assert_eq!(
                of_person(&json!({ claim: "staff" })),
                Vec::<String>::new(),
                "{claim}"
            );
        }
    }
}

//! Patterns that no token can match, by the forms of the values: names of repositories and refs in the tokens of CI systems,
//! addresses and domains in those of people.
//!
//! A rule of the configuration with such a pattern is accepted and grants nothing, because an invalid variable would stop a
//! registry that runs. A new rule is refused.

use terrace_base::spelling;
use terrace_jose::Quoted;

use super::ci_system::CiSystem;
use super::rule::Rule;
use super::{ClaimPattern, RuleError};

/// The namespaces of refs for which GitHub runs workflows
/// (<https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows>).
const REFS_OF_GITHUB: &[&str] = &["heads", "tags", "pull"];

/// The namespaces of refs for which GitLab runs pipelines: branches, tags, merge requests
/// (<https://docs.gitlab.com/ci/variables/predefined_variables/>, `CI_MERGE_REQUEST_REF_PATH`), and those that it keeps itself.
const REFS_OF_GITLAB: &[&str] = &["heads", "tags", "merge-requests", "pipelines", "workloads"];

/// Returns the first pattern of a rule for jobs that matches no token of its CI system.
pub(super) fn of_jobs(system: CiSystem, rule: &Rule) -> Option<RuleError> {
    rule.claims().find_map(|(name, pattern)| {
        let form = form_for_job(system, name, pattern)?;
        Some(error(name, pattern, "job", form))
    })
}

/// Returns the first pattern of a rule for people that matches no token.
pub(super) fn of_people(rule: &Rule) -> Option<RuleError> {
    rule.claims().find_map(|(name, pattern)| {
        let text = pattern.to_string();
        let form = match name {
            "email" => address(&text),
            "hd" => domain_of_workspace(&text),
            _ => blank(&text),
        };
        Some(error(name, pattern, "person", form?))
    })
}

fn error(name: &str, pattern: &ClaimPattern, whom: &'static str, form: String) -> RuleError {
    RuleError::Impossible {
        claim: Quoted::text(name),
        found: Quoted::text(&pattern.to_string()),
        whom,
        form,
    }
}

/// Returns the form of a claim's values if the pattern can match none of them.
fn form_for_job(system: CiSystem, name: &str, pattern: &ClaimPattern) -> Option<String> {
    let text = pattern.to_string();
    match (system, name) {
        (CiSystem::Other, _) => blank(&text),
        (CiSystem::GitHub, "repository") => repository(&text),
        (CiSystem::GitHub, "repository_owner") => owner(&text),
        (CiSystem::GitHub, "sub") => subject(&text),
        (CiSystem::GitHub, "ref") => path_of_ref(&text, REFS_OF_GITHUB),
        (CiSystem::GitLab, "project_path") => path(&text, "a project", 2, "acme/widget"),
        (CiSystem::GitLab, "namespace_path") => path(&text, "a namespace", 1, "acme"),
        (CiSystem::GitLab, "ref") => name_of_ref(&text),
        (CiSystem::GitLab, "ref_path") => path_of_ref(&text, REFS_OF_GITLAB),
        (_, "ref_type") => one_of(pattern, &["branch", "tag"]),
        (_, "ref_protected" | "environment_protected") => one_of(pattern, &["true", "false"]),
        (
            CiSystem::GitHub,
            "repository_id" | "repository_owner_id" | "actor_id" | "enterprise_id",
        )
        | (CiSystem::GitLab, "project_id" | "namespace_id" | "user_id") => number(&text),
        _ => blank(&text),
    }
}

/// No name consists of white space: a variable in the command line may have been empty.
fn blank(text: &str) -> Option<String> {
    let is_blank = text.trim().is_empty();
    is_blank.then(|| "it consists of white space; write the value that the claim has".to_owned())
}

/// A repository of GitHub has two parts, of letters, digits and `-._`, and never ends in `.git`.
fn repository(text: &str) -> Option<String> {
    let is_possible = |text: &str| is_path(text, 2) && text.split('/').count() == 2;
    match is_possible(text) {
        true => None,
        false => Some(written("a repository", text, is_possible, "acme/widget")),
    }
}

fn owner(text: &str) -> Option<String> {
    let is_possible = |text: &str| is_path(text, 1) && !text.contains('/');
    match is_possible(text) {
        true => None,
        false => Some(written("an owner", text, is_possible, "acme")),
    }
}

/// A subject consists of names and values.
fn subject(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split(':').collect();
    parts
        .chunks_exact(2)
        .find_map(|pair| match pair {
            // Names may be followed by their IDs: `acme@1001/widget@2002`.
            ["repo", value] => repository(&value.replace('@', "-")),
            ["ref", value] => path_of_ref(value, REFS_OF_GITHUB),
            _ => None,
        })
        .map(|form| format!("{form}; a subject is such as repo:acme/widget:ref:refs/tags/v1"))
}

/// A path of GitLab's has at least this number of parts.
fn path(text: &str, what: &str, parts: usize, example: &str) -> Option<String> {
    let is_possible = |text: &str| is_path(text, parts);
    match is_possible(text) {
        true => None,
        false => Some(written(what, text, is_possible, example)),
    }
}

fn is_path(text: &str, parts: usize) -> bool {
    let is_name = |part: &str| {
        let is_allowed =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'*');
        !part.is_empty() && part.bytes().all(is_allowed)
    };
    text.split('/').count() >= parts && text.split('/').all(is_name) && !text.ends_with(".git")
}

/// Returns the advice on a name, with the name that a URL or a Git address contains, if there is one.
fn written(what: &str, text: &str, is_possible: impl Fn(&str) -> bool, example: &str) -> String {
    let path = match (text.split_once("://"), text.split_once(':')) {
        (Some((_, rest)), _) => rest.split_once('/').map_or("", |(_, path)| path),
        // `git@github.com:acme/widget.git`
        (None, Some((host, path))) if host.contains('@') => path,
        _ => text.split_once('/').map_or(
            text,
            |(first, path)| {
                if first.contains('.') { path } else { text }
            },
        ),
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    match is_possible(path) {
        true => format!("write {what} without the rest of its URL: {path}"),
        false => format!("{what} is written as in {example}"),
    }
}

/// A path such as `refs/tags/v1`. A star matches no slash.
fn path_of_ref(text: &str, kinds: &[&str]) -> Option<String> {
    if let Some(wrong) = name_of_ref(text) {
        return Some(wrong);
    }
    let parts: Vec<&str> = text.split('/').collect();
    let (refs, kind) = match parts.as_slice() {
        [refs, kind, name, ..] if !name.is_empty() => (*refs, *kind),
        _ => return Some(FORM_OF_REF.to_owned()),
    };
    if !could_be(refs, &["refs"]) {
        return Some(FORM_OF_REF.to_owned());
    }
    if could_be(kind, kinds) {
        return None;
    }
    let meant = spelling::nearest(kind, kinds.iter().copied());
    Some(match meant {
        Some(meant) => {
            let corrected = text.replacen(&format!("/{kind}/"), &format!("/{meant}/"), 1);
            format!("did you mean {corrected}?")
        }
        None => FORM_OF_REF.to_owned(),
    })
}

const FORM_OF_REF: &str = "a ref is a path, such as refs/tags/v1 or refs/heads/main";

/// The name of a branch or tag (<https://git-scm.com/docs/git-check-ref-format>).
fn name_of_ref(text: &str) -> Option<String> {
    let wrong = text.chars().find(|c| " ~^:?[\\".contains(*c))?;
    Some(format!(
        "a ref contains no {wrong:?}, and the only wildcard is *"
    ))
}

fn one_of(pattern: &ClaimPattern, values: &[&str]) -> Option<String> {
    match values.iter().any(|value| pattern.matches(value)) {
        true => None,
        false => Some(format!("it is {}", values.join(" or "))),
    }
}

fn number(text: &str) -> Option<String> {
    let is_possible = |byte: u8| byte.is_ascii_digit() || byte == b'*';
    match text.bytes().all(is_possible) {
        true => None,
        false => Some("it is a number".to_owned()),
    }
}

fn could_be(part: &str, values: &[&str]) -> bool {
    let pattern: Result<ClaimPattern, _> = part.parse();
    pattern.is_ok_and(|pattern| values.iter().any(|value| pattern.matches(value)))
}

fn address(text: &str) -> Option<String> {
    let Some((local, domain)) = text.rsplit_once('@') else {
        let has_star = text.contains('*');
        return (!has_star).then(|| {
            let example = match is_domain(text) && text.contains('.') {
                true => format!("*@{text} for everyone in it"),
                false => "ann@acme.example, or *@acme.example for everyone in it".to_owned(),
            };
            format!("an address has an @ before its domain; write {example}")
        });
    };
    if local.contains('@') {
        let person = format!("{}@{domain}", local.rsplit('@').next().unwrap_or(local));
        return Some(format!(
            "an address has one @; write {person}, or *@{domain} for everyone in the domain"
        ));
    }
    match !local.is_empty() && is_domain(domain) {
        true => None,
        false => Some(
            "an address is written as ann@acme.example, or *@acme.example for everyone in a domain"
                .to_owned(),
        ),
    }
}

fn domain_of_workspace(text: &str) -> Option<String> {
    match is_domain(text) {
        true => None,
        false => {
            let domain = text.rsplit('@').next().filter(|domain| is_domain(domain));
            let domain = domain.unwrap_or("acme.example");
            Some(format!("a domain contains no @ and no /; write {domain}"))
        }
    }
}

/// Returns whether a pattern can match a domain. One may be written in any script.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '*' | '_');
        !label.is_empty() && label.chars().all(is_allowed)
    };
    text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use crate::auth::oidc::{RuleKind, StoredRule};
    use serde_json::{Value, json};

    const GITHUB: &str = "https://token.actions.githubusercontent.com";
    const GITLAB: &str = "https://gitlab.com";

    fn check(kind: RuleKind, rule: &Value) -> Result<(), String> {
        let rule = StoredRule::parse(kind, &rule.to_string()).unwrap();
        rule.check().map_err(|error| error.to_string())
    }

    fn of_job(issuer: &str, claim: &str, pattern: &str) -> Result<(), String> {
        let mut claims = match issuer {
            GITHUB => json!({ "repository": "acme/widget", "event_name": "push" }),
            _ => json!({ "project_path": "acme/widget", "ref_protected": "true" }),
        };
        // Without a claim that identifies the jobs, another error would come first.
        claims["sub"] = json!("repo:acme/widget:*");
        claims[claim] = json!(pattern);
        let rule = json!({ "scopes": ["publish:acme"], "issuer": issuer, "claims": claims });
        check(RuleKind::Trust, &rule)
    }

    fn of_person(scope: &str, claims: &Value) -> Result<(), String> {
        check(
            RuleKind::Role,
            &json!({ "scopes": [scope], "claims": claims }),
        )
    }

    #[test]
    fn a_pattern_that_no_job_can_match_is_refused_with_the_form_that_was_meant() {
        for (issuer, claim, pattern, advice) in [
            (GITHUB, "repository", "git@github.com:acme/x", "URL: acme/x"),
            (GITHUB, "repository", "acme/x.git", "URL: acme/x"),
            (
                GITHUB,
                "repository",
                "https://github.com/acme/x",
                "URL: acme/x",
            ),
            (GITHUB, "repository", "github.com/acme/x", "URL: acme/x"),
            (GITHUB, "repository", "acme", "as in acme/widget"),
            (GITHUB, "repository", "acme/", "as in acme/widget"),
            (GITHUB, "repository", "acme/a b", "as in acme/widget"),
            (
                GITHUB,
                "repository_owner",
                "https://github.com/acme",
                "URL: acme",
            ),
            (GITHUB, "repository_owner_id", "acme", "a number"),
            (GITHUB, "ref", "refs/tag/*", "did you mean refs/tags/*?"),
            (
                GITHUB,
                "ref",
                "refs/head/main",
                "did you mean refs/heads/main?",
            ),
            (GITHUB, "ref", "v*", "such as refs/tags/v1"),
            (GITHUB, "ref", "*", "such as refs/tags/v1"),
            (GITHUB, "ref", "tags/v1/x", "such as refs/tags/v1"),
            (GITHUB, "ref", "refs/tags/", "such as refs/tags/v1"),
            (GITHUB, "ref", "refs/tags/v[0-9]", "the only wildcard is *"),
            (GITHUB, "ref_type", "tags", "it is branch or tag"),
            (GITHUB, "sub", "repo:acme/x.git:ref:refs/tags/v1", "acme/x"),
            (GITHUB, "sub", "repo:acme/x:ref:refs/tag/v1", "refs/tags/v1"),
            (
                GITLAB,
                "project_path",
                "https://gitlab.com/acme/x/y.git",
                "URL: acme/x/y",
            ),
            (GITLAB, "project_path", "acme", "as in acme/widget"),
            (GITLAB, "namespace_path", "git@gitlab.com:acme", "URL: acme"),
            (GITLAB, "ref", "v?", "the only wildcard is *"),
            (
                GITLAB,
                "ref_path",
                "refs/tag/v*",
                "did you mean refs/tags/v*?",
            ),
            (GITLAB, "ref_protected", "yes", "it is true or false"),
            (GITHUB, "repository", "/", "as in acme/widget"),
            (GITHUB, "repository", "/widget", "as in acme/widget"),
            (GITHUB, "environment", " ", "white space"),
            (GITLAB, "namespace_path", "/", "as in acme"),
            (GITLAB, "environment", " ", "white space"),
            ("https://ci.acme.example", "queue", "  ", "white space"),
        ] {
            let error = of_job(issuer, claim, pattern).expect_err(pattern);
            assert!(error.contains(advice), "{claim}={pattern}: {error}");
            assert!(error.contains("matches no job"), "{error}");
        }
    }

    #[test]
    fn a_pattern_that_a_job_can_match_is_accepted() {
        for (issuer, claim, pattern) in [
            (GITHUB, "repository", "acme/*"),
            (GITHUB, "repository", "acme-corp_x/terraform.aws-vpc"),
            (GITHUB, "repository_owner", "acme"),
            (GITHUB, "repository_owner_id", "1001"),
            (GITHUB, "ref", "refs/tags/v*"),
            (GITHUB, "ref", "refs/*/v1"),
            (GITHUB, "ref", "*/tags/v1"),
            (GITHUB, "ref", "refs/pull/*/merge"),
            (
                GITHUB,
                "sub",
                "repo:acme@1001/widget@2002:environment:release",
            ),
            (GITHUB, "sub", "repo:acme/widget:ref:refs/tags/v*"),
            (
                GITHUB,
                "sub",
                "repository_owner:acme:repository_visibility:private",
            ),
            (GITHUB, "sub", "repo:acme/widget:pull_request"),
            (GITHUB, "environment", "any text: even this"),
            (GITLAB, "project_path", "acme/infra/*"),
            (GITLAB, "namespace_path", "acme"),
            (GITLAB, "ref", "release/1.x"),
            (GITLAB, "ref_path", "refs/merge-requests/*/head"),
            ("https://ci.acme.example", "ref", "any:thing"),
        ] {
            assert_eq!(of_job(issuer, claim, pattern), Ok(()), "{claim}={pattern}");
        }
    }

    #[test]
    fn an_address_or_domain_that_no_person_can_have_is_refused() {
        for (claim, pattern, advice) in [
            (
                "email",
                "*@ann@acme.example",
                "write ann@acme.example, or *@acme.example",
            ),
            ("email", "acme.example", "write *@acme.example"),
            ("email", "ann", "write ann@acme.example"),
            ("email", "@acme.example", "or *@acme.example"),
            ("email", "*@https://acme.example", "is written as"),
            ("email", "*@", "is written as"),
            ("email", "@", "is written as"),
            ("email", "*@*.", "is written as"),
            ("email", " ", "write ann@acme.example"),
            ("hd", ".", "write acme.example"),
            ("groups", " ", "white space"),
            ("email", "Ann <ann@acme.example>", "is written as"),
            ("hd", "ann@acme.example", "write acme.example"),
            ("hd", "https://acme.example", "write acme.example"),
        ] {
            let error = of_person("read", &json!({ claim: pattern })).expect_err(pattern);
            assert!(error.contains(advice), "{claim}={pattern}: {error}");
            assert!(error.contains("matches no person"), "{error}");
        }
        for (claim, pattern) in [
            ("email", "ann+x/y@acme.example"),
            ("email", "*@*.acme.example"),
            ("email", "*@b\u{fc}cher.example"),
            ("email", "*"),
            ("email", "*@*"),
            ("email", "*.acme.example"),
            ("groups", "*"),
            ("hd", "acme.example"),
            ("groups", "a@b@c"),
        ] {
            let claims = json!({ claim: pattern });
            assert_eq!(of_person("read", &claims), Ok(()), "{claim}={pattern}");
        }
    }

    #[test]
    fn an_address_of_any_domain_may_grant_only_reading_unless_another_claim_identifies_people() {
        for pattern in ["*e*", "ann@*", "*@*acme.example"] {
            let claims = json!({ "email": pattern });
            assert_eq!(of_person("read:acme", &claims), Ok(()), "{pattern}");
            let error = of_person("publish:acme", &claims).unwrap_err();
            assert!(error.contains("may grant only reading"), "{error}");
            let with_group = json!({ "email": pattern, "groups": "platform" });
            assert_eq!(of_person("publish:acme", &with_group), Ok(()), "{pattern}");
        }
        let fixed = json!({ "email": "*@acme.example" });
        assert_eq!(of_person("admin", &fixed), Ok(()));
    }
}

//! `terrace trust` and `terrace role`.

use serde_json::{Value, json};

use super::support::http::Response;
use super::support::registry::{Fault, Registry};
use super::support::{ended, run, terrace};

const RULES: &str = "/admin/v1/rules";
const ID: &str = "7f3a9c2e51b04d68";

/// Returns the rule that a command line describes.
fn dry(arguments: &[&str]) -> Value {
    let line = [arguments, &["--dry-run", "--json"]].concat();
    ended(&mut terrace(&line)).expect(0).json()["rule"].clone()
}

fn answer(kind: &str, rule: &Value, more: &Value) -> Value {
    let mut answer = json!({
        "id": ID, "kind": kind, "rule": rule, "created": "2026-01-01T00:00:00Z", "created_by": "root",
    });
    let members = more.as_object().unwrap().clone();
    answer.as_object_mut().unwrap().extend(members);
    answer
}

#[test]
fn a_dry_run_prints_the_rule_as_json() {
    let line = [
        "role",
        "add",
        "--scope",
        "read",
        "--email",
        "ann@acme.example",
        "--dry-run",
    ];
    let printed = ended(&mut terrace(&line)).expect(0).stdout;
    let rule: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(rule["claims"]["email"], "ann@acme.example");
    assert!(printed.lines().count() > 1, "{printed}");
}

#[test]
fn the_flags_of_a_rule_are_claims() {
    let trust = ["trust", "add", "--scope", "publish:acme"];
    let github = "https://token.actions.githubusercontent.com";
    for (flags, issuer, claims) in [
        (
            &["--github", "acme/infra", "--ref", "refs/tags/*"][..],
            github,
            json!({ "repository": "acme/infra", "ref": "refs/tags/*" }),
        ),
        (
            &["--github", "acme", "--environment", "release"],
            github,
            json!({ "repository_owner": "acme", "environment": "release" }),
        ),
        (
            &[
                "--gitlab",
                "acme/infra/vpc",
                "--ref",
                "refs/tags/*",
                "--claim",
                "ref_protected=true",
            ],
            "https://gitlab.com",
            json!({ "project_path": "acme/infra/vpc", "ref_path": "refs/tags/*", "ref_protected": "true" }),
        ),
        (
            &[
                "--gitlab",
                "acme/vpc",
                "--ref",
                "main",
                "--issuer",
                "https://gitlab.acme.example",
            ],
            "https://gitlab.acme.example",
            json!({ "project_path": "acme/vpc", "ref": "main" }),
        ),
        (
            &[
                "--issuer",
                "https://agent.buildkite.com",
                "--claim",
                "sub=organization:acme:pipeline:a=b",
            ],
            "https://agent.buildkite.com",
            json!({ "sub": "organization:acme:pipeline:a=b" }),
        ),
    ] {
        let rule = dry(&[&trust[..], flags].concat());
        let expected = json!({ "scopes": ["publish:acme"], "issuer": issuer, "claims": claims });
        assert_eq!(rule, expected, "{flags:?}");
    }
    let role = ["role", "add", "--scope", "read", "--scope", "publish:acme"];
    for (flags, claims) in [
        (
            &["--email", "ann@acme.example"][..],
            json!({ "email": "ann@acme.example" }),
        ),
        (
            &["--domain", "acme.example"],
            json!({ "email": "*@acme.example" }),
        ),
        (
            &["--claim", "groups=platform"],
            json!({ "groups": "platform" }),
        ),
    ] {
        let rule = dry(&[&role[..], flags].concat());
        assert_eq!(
            rule,
            json!({ "scopes": ["read", "publish:acme"], "claims": claims })
        );
    }
}

#[test]
fn an_invalid_rule_is_refused_before_anything_is_sent() {
    let registry = Registry::start();
    for (arguments, code, message) in [
        (
            &["trust", "add", "--scope", "admin", "--github", "acme/infra"][..],
            3,
            "jobs may never have",
        ),
        (
            &["trust", "add", "--scope", "read", "--github", "*"],
            3,
            "does not identify",
        ),
        (
            &[
                "trust",
                "add",
                "--scope",
                "read",
                "--issuer",
                "https://10.0.0.1",
                "--claim",
                "sub=a",
            ],
            3,
            "TERRACE_TRUSTED_PUBLISHERS",
        ),
        (
            &[
                "trust",
                "add",
                "--scope",
                "read",
                "--github",
                "a/b",
                "--claim",
                "repository=c/d",
            ],
            2,
            "given twice",
        ),
        (
            &["role", "add", "--scope", "admin", "--claim", "sub=*"],
            3,
            "write access",
        ),
        (
            &["role", "add", "--scope", "read", "--claim", "groups"],
            2,
            "NAME=VALUE",
        ),
        (&["role", "add", "--scope", "read"], 2, "required"),
        (
            &["trust", "add", "--scope", "read", "--ref", "main"],
            2,
            "required",
        ),
        (&["trust", "remove", "short"], 2, "16 hexadecimal digits"),
        (
            &[
                "trust",
                "add",
                "--scope",
                "publish:acme",
                "--github",
                "git@github.com:acme/x",
            ],
            2,
            "write a repository without the rest of its URL: acme/x",
        ),
        (
            &[
                "trust",
                "add",
                "--scope",
                "publish:acme",
                "--github",
                "acme/x",
                "--ref",
                "refs/tag/*",
            ],
            2,
            "did you mean refs/tags/*?",
        ),
        (
            &[
                "role",
                "add",
                "--scope",
                "read",
                "--domain",
                "ann@acme.example",
            ],
            2,
            "write --email ann@acme.example",
        ),
        (
            &[
                "role",
                "add",
                "--scope",
                "publish:acme",
                "--claim",
                "email=*e*",
            ],
            2,
            "may grant only reading",
        ),
    ] {
        let ended = run(&registry, arguments).expect(code);
        assert!(
            ended.errors().contains(message),
            "{arguments:?}: {}",
            ended.errors()
        );
    }
    assert_eq!(registry.requests(), Vec::<String>::new());
}

#[test]
fn a_rule_with_an_empty_part_is_refused_before_anything_is_sent() {
    let registry = Registry::start();
    let role = ["role", "add", "--scope", "read"];
    let trust = ["trust", "add", "--scope", "publish:acme"];
    let github = [&trust[..], &["--github", "acme/x"]].concat();
    let issuer = [&trust[..], &["--claim", "sub=a"]].concat();
    for (rule, part, value, code, message) in [
        (&role[..], "--domain", "", 2, "name the domain"),
        (&role, "--domain", "@", 2, "name the domain"),
        (&role, "--domain", " ", 2, "name the domain"),
        (&role, "--domain", "acme.", 2, "is written as"),
        (&role, "--email", "", 3, "it is empty"),
        (&role, "--email", "*@", 2, "is written as"),
        (&role, "--claim", "email=*@", 2, "is written as"),
        (&role, "--claim", "groups=", 3, "it is empty"),
        (&role, "--claim", "groups= ", 2, "white space"),
        (&role, "--claim", "=platform", 2, "NAME=VALUE"),
        (&trust, "--github", "", 3, "it is empty"),
        (&trust, "--github", "/", 3, "does not identify the jobs"),
        (&trust, "--github", "acme/", 2, "as in acme/widget"),
        (&trust, "--gitlab", "/vpc", 3, "does not identify the jobs"),
        (&issuer, "--issuer", "", 3, "as its issuer"),
        (&github, "--ref", "", 3, "it is empty"),
        (&github, "--environment", "", 3, "it is empty"),
        (&github, "--environment", " ", 2, "white space"),
        (&github, "--audience", "", 3, "as its audience"),
        (&github, "--audience", " ", 2, "as its audience"),
    ] {
        let line = [rule, &[part, value]].concat();
        let errors = run(&registry, &line).expect(code).errors();
        assert!(errors.contains(message), "{part} {value:?}: {errors}");
    }
    assert_eq!(registry.requests(), Vec::<String>::new());
}

#[test]
fn a_repository_on_another_server_is_refused_with_the_issuer_of_its_tokens() {
    let registry = Registry::start();
    let trust = ["trust", "add", "--scope", "publish:acme"];
    for (option, name, advice) in [
        (
            "--gitlab",
            "https://gitlab.corp.example/infra/vpc",
            "--gitlab infra/vpc --issuer https://gitlab.corp.example",
        ),
        (
            "--gitlab",
            "https://gitlab.corp.example:8443/infra/vpc/-/tree/main",
            "--gitlab infra/vpc --issuer https://gitlab.corp.example:8443",
        ),
        (
            "--gitlab",
            "git@gitlab.corp.example:infra/vpc.git",
            "--gitlab infra/vpc --issuer https://gitlab.corp.example",
        ),
        (
            "--github",
            "https://github.corp.example/acme/vpc",
            "--github acme/vpc --issuer https://github.corp.example/_services/token",
        ),
        (
            "--github",
            "https://acme.ghe.com/acme/vpc",
            "--github acme/vpc --issuer https://token.actions.acme.ghe.com",
        ),
        (
            "--gitlab",
            "https://gitlab.com/infra/vpc",
            "without the rest of its URL: infra/vpc",
        ),
    ] {
        let line = [&trust[..], &[option, name]].concat();
        let errors = run(&registry, &line).expect(2).errors();
        assert!(errors.contains(advice), "{name}: {errors}");
    }
    assert_eq!(registry.requests(), Vec::<String>::new());
}

#[test]
fn the_usage_shows_that_an_issuer_goes_with_a_project() {
    let registry = Registry::start();
    let help = run(&registry, &["trust", "add", "--help"]).expect(0).stdout;
    assert!(
        help.contains("--gitlab <GROUP[/PROJECT]>] [--issuer <URL>]"),
        "{help}"
    );
}

#[test]
fn a_rule_of_another_issuer_without_a_subject_is_refused_with_the_flag() {
    let registry = Registry::start();
    let rule = ["trust", "add", "--scope", "publish:acme"];
    let jobs = ["--issuer", "https://ci.example", "--claim", "team=acme"];
    let errors = run(&registry, &[&rule[..], &jobs].concat())
        .expect(3)
        .errors();
    assert!(errors.contains("--identifies"), "{errors}");
}

#[test]
fn a_rule_is_added_with_its_warnings() {
    let registry = Registry::start();
    let rule = json!({ "scopes": ["publish:acme"], "issuer": "https://gitlab.com", "claims": { "project_path": "acme/vpc" } });
    let made = answer(
        "trust",
        &rule,
        &json!({ "warnings": ["the rule is risky"] }),
    );
    registry.fail(
        "POST",
        RULES,
        Fault::Answer(Response::new(201, made.to_string())),
    );
    let add = [
        "trust",
        "add",
        "--scope",
        "publish:acme",
        "--gitlab",
        "acme/vpc",
    ];
    let document = run(&registry, &add).expect(0).json();
    assert_eq!(document["rule"]["id"], ID);
    assert!(
        document["warnings"]
            .to_string()
            .contains("the rule is risky")
    );
    assert_eq!(registry.requests(), [format!("POST {RULES}")]);
}

#[test]
fn rules_are_listed_by_their_kind() {
    let registry = Registry::start();
    let role = json!({ "scopes": ["read"], "claims": { "groups": "staff" } });
    let broken = json!({ "fault": "the rule has no scopes" });
    let list = json!({ "rules": [
        answer("role", &role, &json!({})),
        answer("trust", &json!({ "scopes": ["publish:acme"] }), &broken),
    ] });
    registry.set(RULES, Response::new(200, list.to_string()));
    let roles = run(&registry, &["role", "list"]).expect(0).json();
    assert_eq!(roles["rules"].as_array().unwrap().len(), 1);
    assert_eq!(roles["rules"][0]["rule"], role);
    let trust = run(&registry, &["trust", "list"]).expect(0).json();
    assert!(
        trust["warnings"]
            .to_string()
            .contains("grants nothing: the rule has no scopes")
    );
}

#[test]
fn rules_are_removed_by_their_ids() {
    let registry = Registry::start();
    let list =
        json!({ "rules": [answer("trust", &json!({ "scopes": ["publish:acme"] }), &json!({}))] });
    registry.set(RULES, Response::new(200, list.to_string()));
    let removed = json!({ "removed": ID }).to_string();
    registry.fail("DELETE", ID, Fault::Answer(Response::new(200, removed)));
    run(&registry, &["trust", "remove", ID]).expect(0);
    let expected = [format!("GET {RULES}"), format!("DELETE {RULES}/{ID}")];
    assert_eq!(registry.requests(), expected);
    let missing = json!({ "errors": ["there is no rule 0123456789abcdef"] }).to_string();
    registry.fail(
        "DELETE",
        "0123456789abcdef",
        Fault::Answer(Response::new(404, missing)),
    );
    let ended = run(&registry, &["role", "remove", "0123456789abcdef"]).expect(3);
    assert!(ended.errors().contains("there is no rule 0123456789abcdef"));
    registry.requests();
    let ended = run(&registry, &["role", "remove", ID]).expect(3);
    let advice = format!("{ID} is a rule for CI jobs: remove it with `terrace trust remove {ID}`");
    assert!(ended.errors().contains(&advice), "{}", ended.errors());
    let asked = format!("GET {RULES}");
    assert_eq!(registry.requests(), [asked], "nothing is removed");
}

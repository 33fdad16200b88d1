//! `terrace trust` and `terrace role`.

use serde_json::{Value, json};

use super::support::registry::Registry;
use super::support::{assert_has, ended, run, terrace, with, words};

const RULES: &str = "/admin/v1/rules";
const ID: &str = "7f3a9c2e51b04d68";

/// Returns the rule that a command line describes.
fn dry(line: &str) -> Value {
    let line = [&words(line)[..], &["--dry-run", "--json"]].concat();
    let described = ended(&mut terrace(&line)).expect(0).json();
    assert_eq!(described["status"], "dry_run");
    described["rule"].clone()
}

fn answer(kind: &str, rule: &Value, more: &Value) -> Value {
    let answer = json!({
        "id": ID, "kind": kind, "rule": rule, "created": "2026-01-01T00:00:00Z", "created_by": "root",
    });
    with(answer, more)
}

#[test]
fn the_flags_of_a_rule_are_claims() {
    let tags = "refs/tags/*";
    let github = "https://token.actions.githubusercontent.com";
    for (flags, issuer, claims) in [
        (
            "--github acme/infra --ref refs/tags/*",
            github,
            json!({ "repository": "acme/infra", "ref": tags }),
        ),
        (
            "--github acme --environment release",
            github,
            json!({ "repository_owner": "acme", "environment": "release" }),
        ),
        (
            "--gitlab acme/vpc --ref refs/tags/* --claim ref_protected=true --issuer https://gitlab.example",
            "https://gitlab.example",
            json!({ "project_path": "acme/vpc", "ref_path": tags, "ref_protected": "true" }),
        ),
    ] {
        let rule = dry(&format!("trust add --scope publish:acme {flags}"));
        let expected = json!({ "scopes": ["publish:acme"], "issuer": issuer, "claims": claims });
        assert_eq!(rule, expected, "{flags}");
    }
    for (flags, name, value) in [
        ("--email ann@acme.example", "email", "ann@acme.example"),
        ("--domain acme.example", "email", "*@acme.example"),
        ("--claim groups=platform", "groups", "platform"),
    ] {
        let rule = dry(&format!(
            "role add --scope read --scope publish:acme {flags}"
        ));
        let scopes = ["read", "publish:acme"];
        assert_eq!(rule, json!({ "scopes": scopes, "claims": { name: value } }));
    }
}

#[test]
fn an_invalid_rule_is_refused_before_anything_is_sent() {
    let registry = Registry::start();
    let (trust, role) = ("trust add --scope read", "role add --scope read");
    let other = "--github a/b --issuer https://github.corp.example";
    let of_git = "--gitlab git@gitlab.corp.example:infra/vpc.git";
    let twice = "--github a/b --claim repository=c/d";
    let admin = "--github acme/infra --scope admin";
    for (command, rest, code, part) in [
        (trust, admin, 3, "jobs may never have"),
        (trust, "--github *", 3, "does not identify"),
        (trust, twice, 2, "given twice"),
        (trust, other, 2, "--issuer"),
        (trust, of_git, 2, "--issuer"),
        (trust, "--ref main", 2, "required"),
        // An argument may be empty, as of a variable that is not set.
        (trust, "--github ", 3, "it is empty"),
        (trust, "--claim sub=a --issuer ", 3, "as its issuer"),
        (trust, "--github acme/x --ref ", 3, "it is empty"),
        (trust, "--github acme/x --ref main", 2, "refs/heads/NAME"),
        (trust, "--github acme/x --ref *", 2, "refs/heads/NAME"),
        (role, "--claim sub=* --scope admin", 3, "write access"),
        (role, "--quiet", 2, "required"),
        (role, "--claim groups", 2, "NAME=VALUE"),
        (role, "--domain ann@a.test", 2, "name the domain"),
        (role, "--domain ", 2, "name the domain"),
        ("trust remove", "short", 2, "16 hexadecimal digits"),
    ] {
        let line = [words(command), words(rest)].concat();
        run(&registry, &line).fails(code, part);
    }
    assert_eq!(registry.requests(), [""; 0]);
}

#[test]
fn a_rule_is_added_with_its_warnings() {
    let registry = Registry::start();
    let rule = json!({ "scopes": ["publish:acme"], "issuer": "https://gitlab.com", "claims": { "project_path": "acme/vpc" } });
    let warnings = json!({ "warnings": ["the rule is risky"] });
    let made = answer("trust", &rule, &warnings);
    registry.answer("POST", RULES, &made);
    let add = words("trust add --scope publish:acme --gitlab acme/vpc");
    let ended = run(&registry, &add).expect(0);
    assert_eq!(ended.json()["rule"]["id"], ID);
    assert_has!(ended.warnings(), "the rule is risky");
    assert_eq!(registry.requests(), [format!("POST {RULES}")]);
}

#[test]
fn rules_are_listed_by_their_kind_and_removed_by_their_ids() {
    let registry = Registry::start();
    let role = json!({ "scopes": ["read"], "claims": { "groups": "staff" } });
    let broken = json!({ "fault": "the rule has no scopes" });
    let list = json!({ "rules": [
        answer("role", &role, &json!({ "id": "0123456789abcdef" })),
        answer("trust", &json!({ "scopes": ["publish:acme"] }), &broken),
    ] });
    registry.set_json(RULES, &list);
    let roles = run(&registry, &["role", "list"]).expect(0).json();
    assert_eq!(roles["rules"].as_array().unwrap().len(), 1);
    assert_eq!(roles["rules"][0]["rule"], role);
    let trust = run(&registry, &["trust", "list"]).expect(0);
    assert_has!(trust.warnings(), "grants nothing: the rule has no scopes");
    registry.requests();

    registry.answer("DELETE", ID, &json!({ "removed": ID }));
    run(&registry, &["trust", "remove", ID]).expect(0);
    let expected = [format!("GET {RULES}"), format!("DELETE {RULES}/{ID}")];
    assert_eq!(registry.requests(), expected);
    run(&registry, &["role", "remove", ID]).fails(3, "`terrace trust remove`");
    assert_eq!(registry.changes(), [""; 0]);
}

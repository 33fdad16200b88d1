//! `terrace config check`.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use super::support::{BINDINGS, Ended, assert_has, assert_lacks, directory, ended, terrace};

/// The bindings that a registry cannot do without.
const FEW: &str = "[[r2_buckets]]\nbinding = \"FACTS\"\n[[kv_namespaces]]\nbinding = \"INDICES\"\n";

/// Checks a file with these variables, and returns the result.
fn check(vars: &str) -> Ended {
    check_file(&format!("{BINDINGS}[vars]\n{vars}"), &[])
}

fn check_file(text: &str, more: &[&str]) -> Ended {
    let folder: TempDir = directory(&[]);
    let file = folder.path().join("wrangler.toml");
    fs::write(&file, text).unwrap();
    let mut command = terrace(&["config", "check", "--json"]);
    ended(command.arg(&file).args(more))
}

/// Checks the configuration in a folder, which is found without an argument.
fn check_folder(folder: &Path) -> Ended {
    ended(terrace(&["config", "check"]).current_dir(folder))
}

#[test]
fn the_files_of_the_repository_and_of_the_deployment_folder_are_valid() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (folder, file) in [
        (top.clone(), "wrangler.toml"),
        (top.join("deploy"), "wrangler.jsonc"),
    ] {
        let ended = check_folder(&folder).expect(0);
        assert_has!(
            ended.stdout,
            format!("{file} is valid"),
            "TERRACE_ADMIN_TOKEN"
        );
        assert_eq!(ended.stderr, "");
    }
}

#[test]
fn the_file_is_chosen_and_read_as_by_wrangler() {
    let json = "{ // a comment\n \"vars\": { \"TERRACE_ACCESS\": \"x\", }, }";
    let chosen =
        check_folder(directory(&[("wrangler.toml", BINDINGS), ("wrangler.jsonc", json)]).path());
    let expected = "no binding FACTS: add one with this name to r2_buckets";
    assert_has!(
        chosen.expect(3).stderr,
        "wrangler.jsonc: TERRACE_ACCESS is \"x\"",
        expected
    );
    for (name, text) in [
        ("wrangler.toml", "[vars]\nTERRACE_ACCESS = \"x\"\n"),
        ("wrangler.json", r#"{ "vars": { "TERRACE_ACCESS": "x" } }"#),
    ] {
        let marked = check_folder(directory(&[(name, &format!("\u{feff}{text}"))]).path());
        assert_has!(marked.expect(3).stderr, "TERRACE_ACCESS is \"x\"");
    }
    let broken = "{\n  \"vars\": { TERRACE_ACCESS }\n}";
    let broken = check_folder(directory(&[("wrangler.jsonc", broken)]).path());
    assert_has!(broken.expect(3).stderr, "wrangler.jsonc: ", "on line 2");
    let none = check_folder(directory(&[]).path());
    assert_has!(none.expect(2).stderr, "none of wrangler.json, ");
    let missing = ended(&mut terrace(&["config", "check", "nowhere/wrangler.toml"]));
    assert_has!(missing.expect(2).stderr, "nowhere/wrangler.toml");
}

#[test]
fn a_cache_in_front_of_the_registry_is_an_error_and_none_in_front_of_archives_a_warning() {
    let cached = "\n[cache]\nenabled = true\n";
    let own = |default, archives| {
        format!(
            "\n[exports]\ndefault = {{ type = \"worker\", cache = {{ enabled = {default} }} }}\n\
             Archives = {{ type = \"worker\", cache = {{ enabled = {archives} }} }}\n"
        )
    };
    let edge = "TERRACE_DOWNLOADS = \"edge\"\n";
    for vars in [cached.to_owned(), own(true, true)] {
        check(&vars).fails(3, "\"default\" is cached");
    }
    for (vars, warnings) in [
        (format!("{edge}{}", own(false, true)), 0),
        (format!("{edge}{}", own(false, false)), 1),
        (edge.to_owned(), 1),
        (format!("{cached}{}", own(false, false)), 0),
    ] {
        let ended = check(&vars).expect(0).json();
        let found = ended["warnings"].as_array().unwrap();
        assert_eq!(found.len(), warnings, "{vars}: {found:?}");
    }
}

#[test]
fn the_examples_of_settings_are_valid() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/settings");
    let mut checked = 0;
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let vars = text.split_once("[vars]\n").unwrap().1;
        let ended = check(vars).expect(0);
        assert_eq!(ended.json()["warnings"], json!([]), "{vars}");
        checked += 1;
    }
    assert!(checked >= 4);
}

#[test]
fn the_needed_secrets_are_those_without_which_the_registry_would_not_start() {
    let sign_in = |issuer: &str, claim: &str| {
        let rules = format!(r#"[{{"scopes": ["read"], "claims": {{"{claim}": "acme"}}}}]"#);
        format!(
            "TERRACE_LOGIN_ISSUER = \"{issuer}\"\nTERRACE_LOGIN_CLIENT_ID = \"id\"\nTERRACE_LOGIN_RULES = '{rules}'"
        )
    };
    let bucket = |name: &str| {
        format!(
            "TERRACE_{name}_ENDPOINT = \"https://a.example.com\"\nTERRACE_{name}_BUCKET = \"terrace-facts\""
        )
    };
    for (vars, secrets) in [
        ("TERRACE_ACCESS = \"private\"", &[][..]),
        (
            &bucket("S3"),
            &["TERRACE_S3_ACCESS_KEY_ID", "TERRACE_S3_SECRET_ACCESS_KEY"],
        ),
        (
            &bucket("S3_FALLBACK"),
            &[
                "TERRACE_S3_FALLBACK_ACCESS_KEY_ID",
                "TERRACE_S3_FALLBACK_SECRET_ACCESS_KEY",
            ],
        ),
        (
            &sign_in("https://github.com", "organization"),
            &["TERRACE_LOGIN_CLIENT_SECRET"],
        ),
        (&sign_in("https://accounts.google.com", "hd"), &[]),
    ] {
        let expected = [&["TERRACE_ADMIN_TOKEN"], secrets].concat();
        assert_eq!(
            check(vars).expect(0).json()["secrets"],
            json!(expected),
            "{vars}"
        );
    }
}

#[test]
fn an_invalid_configuration_is_rejected_with_every_reason() {
    let trusted = "[[vars.TERRACE_TRUSTED_PUBLISHERS]]\nscopes = [\"publish:acme\"]\nissuer = \"https://gitlab.com\"\n\
                   claims = { project_path = \"acme/x\" }\nTERRACE_ACCESS = \"private\"";
    let many = "TERRACE_URL_LIFETIME = 0\nTERRACE_ACCESS = \"x\"\nTERRACE_LOG_REQUESTS = \"some\"\n\
                TERRACE_S3_BUCKET = \"terrace-facts\"\nTERRACE_REPAIR_OPERATIONS = 1\n\
                TERRACE_MAX_TOKEN_LIFETIME = \"90d\"";
    let long = format!("TERRACE_PULL_BLOCK = \"{}\"", "a".repeat(6_000));
    for (vars, reasons) in [
        (
            "TERRACE_ACCES = \"x\"",
            &["did you mean TERRACE_ACCESS?"][..],
        ),
        ("TERRACE_ADMIN_TOKEN = \"0123456789\"", &["is a secret"]),
        ("TERRACE_TOKEN = \"x\"", &["belongs to the terrace command"]),
        (trusted, &["TERRACE_TRUSTED_PUBLISHERS", "TERRACE_ACCESS"]),
        (
            many,
            &[
                "TERRACE_URL_LIFETIME",
                "TERRACE_ACCESS is \"x\"",
                "TERRACE_LOG_REQUESTS",
                "TERRACE_S3_ENDPOINT is not set",
                "TERRACE_REPAIR_OPERATIONS",
                "TERRACE_MAX_TOKEN_LIFETIME",
            ],
        ),
        (&long, &["6000 bytes"]),
        ("A = ", &["line 18"]),
    ] {
        let errors = check(vars).expect(3).errors();
        for reason in reasons {
            assert_has!(errors, reason);
        }
        assert_lacks!(errors, "0123456789");
    }
}

#[test]
fn a_setting_outside_of_the_variables_is_rejected_with_its_place() {
    let access = "TERRACE_ACCESS = \"private\"\n";
    for (text, place) in [
        (format!("{access}{FEW}"), "TERRACE_ACCESS is not a variable"),
        (format!("{FEW}[var]\n{access}"), "var.TERRACE_ACCESS "),
        (format!("{FEW}[a.logs]\n{access}"), "a.logs.TERRACE_ACCESS "),
        (format!("{FEW}{access}"), "kv_namespaces.TERRACE_ACCESS "),
    ] {
        check_file(&text, &[]).fails(3, place);
    }
}

#[test]
fn a_key_of_wrangler_among_the_variables_is_rejected_with_its_place() {
    let hostname = "routes = [{ pattern = \"registry.example.com\", custom_domain = true }]\nworkers_dev = false\n\
                    preview_urls = false\n";
    let errors = check(hostname).expect(3).errors();
    for key in ["routes", "workers_dev", "preview_urls"] {
        assert_has!(errors, format!("{key} is a key of wrangler"));
    }
    let staging = format!("{BINDINGS}[env.staging.vars]\n{hostname}");
    check_file(&staging, &STAGING).fails(3, "move it to env.staging.routes");
    let of_json = "{ \"vars\": { \"routes\": [] } }";
    let of_json = check_folder(directory(&[("wrangler.jsonc", of_json)]).path());
    assert_has!(of_json.expect(3).stderr, "move it to routes");
}

const STAGING: [&str; 2] = ["--env", "staging"];

#[test]
fn a_variable_that_an_environment_does_not_inherit_is_a_warning() {
    let staging = "[[env.staging.r2_buckets]]\nbinding = \"FACTS\"\n\
                   [[env.staging.kv_namespaces]]\nbinding = \"INDICES\"\n";
    let access = "[vars]\nTERRACE_ACCESS = \"private\"\n";
    let warning = "TERRACE_ACCESS is set below vars only";
    let ended = check_file(&format!("{access}{staging}"), &STAGING).expect(0);
    assert_has!(ended.stderr, warning);
    let own = "[env.staging.vars]\nTERRACE_ACCESS = \"public\"\n";
    let ended = check_file(&format!("{access}{staging}{own}"), &STAGING).expect(0);
    assert_lacks!(ended.stderr, warning);
}

#[test]
fn a_missing_binding_is_an_error_and_a_missing_rate_limiter_a_warning() {
    check_file("[[r2_buckets]]\nbinding = \"FACTS\"\n", &[]).fails(3, "no binding INDICES");
    let warnings = check_file(FEW, &[]).expect(0).warnings();
    assert_has!(warnings, "FAILURES", "SEARCHES", "no cron trigger");
    let open = format!("routes = [{{ pattern = \"a.example.com\" }}]\nworkers_dev = true\n{FEW}");
    let warnings = check_file(&open, &[]).expect(0).warnings();
    assert_has!(warnings, "workers_dev is true");
}

#[test]
fn an_environment_has_variables_and_bindings_of_its_own() {
    let text = format!(
        "{BINDINGS}[vars]\nTERRACE_ACCESS = \"public\"\n[env.staging.vars]\nTERRACE_ACCESS = \"privat\"\n"
    );
    check_file(&text, &[]).expect(0);
    let errors = check_file(&text, &STAGING).expect(3).errors();
    assert_has!(errors, "to env.staging.r2_buckets", "TERRACE_ACCESS ");
    check_file(&text, &["--env", "test"]).fails(3, "it has staging");
}

#[test]
fn the_documented_environment_for_trials_is_valid_without_a_warning() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/deploying.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("## Staging\n").unwrap();
    let (_, rest) = section.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let ended = check_file(&format!("{BINDINGS}{text}"), &STAGING).expect(0);
    assert_eq!(ended.json()["warnings"], json!([]));
}

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
        let valid = format!("{file} is valid");
        assert_has!(ended.stdout, valid, "TERRACE_ADMIN_TOKEN");
        assert_eq!(ended.stderr, "");
    }
}

#[test]
fn the_file_is_chosen_and_read_as_by_wrangler() {
    let toml = "\u{feff}[vars]\nTERRACE_ACCESS = \"x\"\n";
    let json = "{ // a comment\n \"vars\": { \"TERRACE_ACCESS\": \"x\", }, }";
    let is_x = "TERRACE_ACCESS is \"x\"";
    for (files, code, part) in [
        (&[("wrangler.toml", toml)][..], 3, is_x),
        (
            &[("wrangler.toml", BINDINGS), ("wrangler.jsonc", json)],
            3,
            is_x,
        ),
        (
            &[("wrangler.jsonc", "{\n\"vars\": { A }\n}")],
            3,
            "on line 2",
        ),
        (&[("wrangler.jsonc", "{ vars: {} }")], 3, "on line 1"),
        (&[], 2, "none of wrangler.json, "),
    ] {
        let checked = check_folder(directory(files).path()).expect(code);
        assert_has!(checked.stderr, part);
    }
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
    for (vars, is_warned) in [
        (format!("{edge}{}", own(false, true)), false),
        (format!("{edge}{}", own(false, false)), true),
        (edge.to_owned(), true),
        (format!("{cached}{}", own(false, false)), false),
    ] {
        let warnings = check(&vars).expect(0).warnings();
        assert_eq!(warnings != "[]", is_warned, "{vars}: {warnings}");
    }
}

#[test]
fn the_examples_of_settings_and_the_documented_environment_are_valid_without_a_warning() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(top.join("docs/deploying.md")).unwrap();
    let (_, section) = page.split_once("## Staging\n").unwrap();
    let (_, rest) = section.split_once("```toml\n").unwrap();
    let (staging, _) = rest.split_once("```").unwrap();
    let mut checked = vec![check_file(&format!("{BINDINGS}{staging}"), &STAGING)];
    for file in fs::read_dir(top.join("examples/settings")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        checked.push(check(text.split_once("[vars]\n").unwrap().1));
    }
    assert!(checked.len() >= 5);
    for ended in checked {
        assert_eq!(ended.expect(0).warnings(), "[]");
    }
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
        ("TERRACE_ACCESS = \"private\"", ""),
        (&bucket("S3"), "S3_ACCESS_KEY_ID S3_SECRET_ACCESS_KEY"),
        (
            &bucket("S3_FALLBACK"),
            "S3_FALLBACK_ACCESS_KEY_ID S3_FALLBACK_SECRET_ACCESS_KEY",
        ),
        (
            &sign_in("https://github.com", "organization"),
            "LOGIN_CLIENT_SECRET",
        ),
        (&sign_in("https://accounts.google.com", "hd"), ""),
    ] {
        let names = ["ADMIN_TOKEN"].into_iter();
        let names = names.chain(secrets.split_whitespace());
        let expected: Vec<String> = names.map(|it| format!("TERRACE_{it}")).collect();
        let found = check(vars).expect(0).json();
        assert_eq!(found["secrets"], json!(expected), "{vars}");
    }
}

#[test]
fn an_invalid_configuration_is_rejected_with_the_reason() {
    let many = "TERRACE_ACCESS = \"x\"\nTERRACE_ADMIN_TOKEN = \"0123456789\"";
    let long = format!("TERRACE_PULL_BLOCK = \"{}\"", "a".repeat(6_000));
    for (vars, reason) in [
        ("TERRACE_ACCES = \"x\"", "did you mean TERRACE_ACCESS?"),
        (many, "TERRACE_ADMIN_TOKEN is a secret"),
        (many, "TERRACE_ACCESS is \"x\""),
        ("TERRACE_TOKEN = \"x\"", "belongs to the terrace command"),
        (&long, "6000 bytes"),
        ("A = ", "line 18"),
    ] {
        assert_lacks!(check(vars).fails(3, reason), "0123456789");
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
    let staging = format!("{BINDINGS}[env.staging.vars]\nworkers_dev = false\n");
    check_file(&staging, &STAGING).fails(3, "move it to env.staging.workers_dev");
}

const STAGING: [&str; 2] = ["--env", "staging"];

#[test]
fn a_variable_that_an_environment_does_not_inherit_is_a_warning() {
    let staging = "[[env.staging.r2_buckets]]\nbinding = \"FACTS\"\n\
                   [[env.staging.kv_namespaces]]\nbinding = \"INDICES\"\n";
    let access = "[vars]\nTERRACE_ACCESS = \"private\"\n";
    let own = "[env.staging.vars]\nTERRACE_ACCESS = \"public\"\n";
    for (text, is_warned) in [
        (format!("{access}{staging}"), true),
        (format!("{access}{staging}{own}"), false),
    ] {
        let ended = check_file(&text, &STAGING).expect(0);
        let warning = "TERRACE_ACCESS is set below vars only";
        assert_eq!(ended.stderr.contains(warning), is_warned, "{ended:?}");
    }
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

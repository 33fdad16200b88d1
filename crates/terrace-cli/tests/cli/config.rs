//! `terrace config check`.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::support::{BINDINGS, Ended, directory, ended, terrace};

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

#[test]
fn the_file_of_the_repository_is_valid() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wrangler.toml");
    let ended = ended(&mut terrace(&["config", "check", file])).expect(0);
    assert!(ended.stdout.contains("is valid"), "{ended:?}");
    assert!(ended.stdout.contains("TERRACE_ADMIN_TOKEN"), "{ended:?}");
    assert_eq!(ended.stderr, "");
}

#[test]
fn the_file_of_the_deployment_folder_is_valid_and_found_without_an_argument() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
    let mut command = terrace(&["config", "check"]);
    let ended = ended(command.current_dir(folder)).expect(0);
    assert!(
        ended.stdout.contains("wrangler.jsonc is valid"),
        "{ended:?}"
    );
    assert_eq!(ended.stderr, "");
}

#[test]
fn the_file_is_chosen_in_the_order_of_wrangler() {
    let folder = directory(&[
        ("wrangler.toml", BINDINGS),
        (
            "wrangler.jsonc",
            "{ // a comment\n \"vars\": { \"TERRACE_ACCESS\": \"x\", }, }",
        ),
    ]);
    let mut command = terrace(&["config", "check"]);
    let chosen = ended(command.current_dir(folder.path())).expect(3);
    for part in [
        "wrangler.jsonc: TERRACE_ACCESS is \"x\"",
        "add \"r2_buckets\": [{ \"binding\": \"FACTS\" }]",
    ] {
        assert!(chosen.stderr.contains(part), "{chosen:?}");
    }

    let mut command = terrace(&["config", "check"]);
    let none = ended(command.current_dir(directory(&[]).path())).expect(2);
    assert!(none.stderr.contains("none of wrangler.json, "), "{none:?}");
}

#[test]
fn a_byte_order_mark_is_ignored_as_by_wrangler() {
    for (name, text) in [
        ("wrangler.toml", "[vars]\nTERRACE_ACCESS = \"x\"\n"),
        ("wrangler.json", r#"{ "vars": { "TERRACE_ACCESS": "x" } }"#),
        (
            "wrangler.jsonc",
            r#"{ "vars": { "TERRACE_ACCESS": "x" }, }"#,
        ),
    ] {
        let folder = directory(&[(name, &format!("\u{feff}{text}"))]);
        let mut command = terrace(&["config", "check"]);
        let read = ended(command.current_dir(folder.path())).expect(3);
        assert!(read.stderr.contains("TERRACE_ACCESS is \"x\""), "{read:?}");
    }
}

#[test]
fn json_with_an_error_of_syntax_is_rejected_with_its_place() {
    let folder = directory(&[("wrangler.jsonc", "{\n  \"vars\": { TERRACE_ACCESS }\n}")]);
    let mut command = terrace(&["config", "check"]);
    let ended = ended(command.current_dir(folder.path())).expect(3);
    assert!(
        ended.stderr.contains("wrangler.jsonc: line 2, "),
        "{ended:?}"
    );
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
        let errors = check(&vars).expect(3).errors();
        assert!(errors.contains("\"default\" is cached"), "{vars}: {errors}");
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
    let admin = json!(["TERRACE_ADMIN_TOKEN"]);
    let s3 = json!([
        "TERRACE_ADMIN_TOKEN",
        "TERRACE_S3_ACCESS_KEY_ID",
        "TERRACE_S3_SECRET_ACCESS_KEY"
    ]);
    let fallback = json!([
        "TERRACE_ADMIN_TOKEN",
        "TERRACE_S3_FALLBACK_ACCESS_KEY_ID",
        "TERRACE_S3_FALLBACK_SECRET_ACCESS_KEY"
    ]);
    let github = json!(["TERRACE_ADMIN_TOKEN", "TERRACE_LOGIN_CLIENT_SECRET"]);
    let rules = r#"TERRACE_LOGIN_CLIENT_ID = "id"
TERRACE_LOGIN_RULES = '[{"scopes": ["read"], "claims": {"ISSUED": "acme"}}]'"#;
    for (vars, secrets) in [
        (
            "TERRACE_ACCESS = \"private\"\nTERRACE_URL_LIFETIME = 3600",
            &admin,
        ),
        (
            "TERRACE_S3_ENDPOINT = \"https://a.example.com\"\nTERRACE_S3_BUCKET = \"terrace-facts\"",
            &s3,
        ),
        (
            "TERRACE_S3_FALLBACK_ENDPOINT = \"https://b.example.com\"\nTERRACE_S3_FALLBACK_BUCKET = \"copies\"",
            &fallback,
        ),
        (
            &format!(
                "TERRACE_LOGIN_ISSUER = \"https://github.com\"\n{}",
                rules.replace("ISSUED", "organization")
            ),
            &github,
        ),
        (
            &format!(
                "TERRACE_LOGIN_ISSUER = \"https://accounts.google.com\"\n{}",
                rules.replace("ISSUED", "hd")
            ),
            &admin,
        ),
    ] {
        let ended = check(vars).expect(0);
        assert_eq!(ended.json()["secrets"], *secrets, "{vars}: {ended:?}");
    }
}

#[test]
fn an_invalid_configuration_is_rejected_with_every_reason() {
    for (vars, reasons) in [
        (
            "TERRACE_ACCES = \"private\"",
            &["TERRACE_ACCES is not a setting of Terrace; did you mean TERRACE_ACCESS?"] as &[_],
        ),
        ("TERRACE_ACCESS = \"secret\"", &["TERRACE_ACCESS "]),
        (
            "TERRACE_ADMIN_TOKEN = \"0123456789abcdef\"",
            &["TERRACE_ADMIN_TOKEN is a secret"],
        ),
        (
            "TERRACE_URL_LIFETIME = 0\nTERRACE_ACESS = \"x\"",
            &["TERRACE_ACESS", "TERRACE_URL_LIFETIME"],
        ),
        (
            "TERRACE_S3_ENDPOINT = \"https://a.example.com\"",
            &["TERRACE_S3_BUCKET is not set"],
        ),
        (
            "TERRACE_MAX_TOKEN_LIFETIME = \"90d\"",
            &["TERRACE_MAX_TOKEN_LIFETIME is \"90d\": it must be a number of seconds"],
        ),
        ("TERRACE_TOKEN = \"x\"", &["belongs to the terrace command"]),
        (
            "[[vars.TERRACE_TRUSTED_PUBLISHERS]]\nscopes = [\"publish:acme\"]\nissuer = \"https://gitlab.com\"\n\
             claims = { project_path = \"acme/x\" }\nTERRACE_ACCESS = \"private\"",
            &["TERRACE_TRUSTED_PUBLISHERS", "TERRACE_ACCESS"],
        ),
        (
            "[[vars.TERRACE_TRUSTED_PUBLISHERS]]\nscopes = [\"publish:acme\"]\nissuer = \"https://gitlab.com\"\n\
             claims = { project_path = \"acme/x.git\", ref = \"main\" }",
            &[
                "TERRACE_TRUSTED_PUBLISHERS rule 1 requires",
                "rest of its URL: acme/x",
            ],
        ),
        (
            "TERRACE_LOGIN_ISSUER = \"https://idp.example\"\nTERRACE_LOGIN_CLIENT_ID = \"terrace\"\n\
             TERRACE_LOGIN_RULES = '''[{\"scopes\": [\"read\"], \"claims\": {\"email\": \"*@\"}}]'''",
            &[
                "TERRACE_LOGIN_RULES rule 1 requires",
                "\"*@\", which matches no person",
            ],
        ),
        (
            "TERRACE_URL_LIFETIME = 0\nTERRACE_ACCESS = \"x\"\nTERRACE_LOG_REQUESTS = \"some\"\n\
             TERRACE_S3_BUCKET = \"terrace-facts\"\nTERRACE_REPAIR_OPERATIONS = 1",
            &[
                "TERRACE_URL_LIFETIME",
                "TERRACE_ACCESS is \"x\"",
                "TERRACE_LOG_REQUESTS",
                "TERRACE_S3_ENDPOINT is not set",
                "TERRACE_REPAIR_OPERATIONS",
            ],
        ),
        ("A = ", &["line 18"]),
    ] {
        let ended = check(vars).expect(3);
        let errors = ended.errors();
        for reason in reasons {
            assert!(errors.contains(reason), "{vars}: {ended:?}");
        }
        assert!(!errors.contains("0123456789abcdef"), "{ended:?}");
    }
    let long = format!("TERRACE_PULL_BLOCK = \"{}\"", "a".repeat(6_000));
    assert!(check(&long).expect(3).errors().contains("6000 bytes"));
}

#[test]
fn a_rule_that_trusts_more_than_it_seems_to_is_a_warning() {
    let vars = "[[vars.TERRACE_TRUSTED_PUBLISHERS]]\nscopes = [\"publish:acme\"]\nissuer = \"https://gitlab.com\"\n\
                claims = { project_path = \"acme/x\" }";
    let warnings = check(vars).expect(0).json()["warnings"].to_string();
    assert!(
        warnings.contains("TERRACE_TRUSTED_PUBLISHERS rule 1 trusts the jobs of every branch"),
        "{warnings}"
    );
}

#[test]
fn a_setting_outside_of_the_variables_is_rejected_with_its_place() {
    let bindings =
        "[[r2_buckets]]\nbinding = \"FACTS\"\n[[kv_namespaces]]\nbinding = \"INDICES\"\n";
    let access = "TERRACE_ACCESS = \"private\"\n";
    for (text, place) in [
        (
            format!("{access}{bindings}"),
            "TERRACE_ACCESS is not a variable",
        ),
        (format!("{bindings}[var]\n{access}"), "var.TERRACE_ACCESS "),
        (
            format!("{bindings}[observability.logs]\n{access}"),
            "observability.logs.TERRACE_ACCESS ",
        ),
        (
            format!("{bindings}{access}"),
            "kv_namespaces.TERRACE_ACCESS ",
        ),
    ] {
        let ended = check_file(&text, &[]).expect(3);
        assert!(ended.errors().contains(place), "{text}: {ended:?}");
    }
}

#[test]
fn a_key_of_wrangler_among_the_variables_is_rejected_with_its_place() {
    let hostname = "routes = [{ pattern = \"registry.example.com\", custom_domain = true }]\nworkers_dev = false\n\
                    preview_urls = false\n";
    let errors = check(hostname).expect(3).errors();
    for key in ["routes", "workers_dev", "preview_urls"] {
        let expected = format!(
            "{key} is a key of wrangler, and in [vars] it is only a variable of this name: move it above the first table"
        );
        assert!(errors.contains(&expected), "{errors}");
    }

    let staging = format!("{BINDINGS}[env.staging.vars]\n{hostname}");
    let errors = check_file(&staging, &["--env", "staging"])
        .expect(3)
        .errors();
    assert!(
        errors.contains("move it directly below [env.staging]"),
        "{errors}"
    );

    let folder = directory(&[("wrangler.jsonc", "{ \"vars\": { \"routes\": [] } }")]);
    let mut command = terrace(&["config", "check"]);
    let of_json = ended(command.current_dir(folder.path())).expect(3);
    assert!(
        of_json
            .stderr
            .contains("move it out of it, to the top level"),
        "{of_json:?}"
    );
}

#[test]
fn a_variable_that_an_environment_does_not_inherit_is_a_warning() {
    let staging = "[[env.staging.r2_buckets]]\nbinding = \"FACTS\"\n\
                   [[env.staging.kv_namespaces]]\nbinding = \"INDICES\"\n";
    let access = "[vars]\nTERRACE_ACCESS = \"private\"\n";
    let warning = "TERRACE_ACCESS is set below [vars] only";
    let ended = check_file(&format!("{access}{staging}"), &["--env", "staging"]).expect(0);
    assert!(ended.stderr.contains(warning), "{ended:?}");
    let own = "[env.staging.vars]\nTERRACE_ACCESS = \"public\"\n";
    let ended = check_file(&format!("{access}{staging}{own}"), &["--env", "staging"]).expect(0);
    assert!(!ended.stderr.contains(warning), "{ended:?}");
}

#[test]
fn a_missing_binding_is_an_error_and_a_missing_rate_limiter_a_warning() {
    let ended = check_file("[[r2_buckets]]\nbinding = \"FACTS\"\n", &[]).expect(3);
    assert!(ended.errors().contains("no binding INDICES"), "{ended:?}");
    let few = "[[r2_buckets]]\nbinding = \"FACTS\"\n[[kv_namespaces]]\nbinding = \"INDICES\"\n";
    let ended = check_file(few, &[]).expect(0);
    let warnings = ended.json()["warnings"].to_string();
    for expected in ["FAILURES", "SEARCHES", "no cron trigger"] {
        assert!(warnings.contains(expected), "{warnings}");
    }
    let open = format!("routes = [{{ pattern = \"a.example.com\" }}]\nworkers_dev = true\n{few}");
    let warnings = check_file(&open, &[]).expect(0).json()["warnings"].to_string();
    assert!(warnings.contains("workers_dev = true"), "{warnings}");
}

#[test]
fn an_environment_has_variables_and_bindings_of_its_own() {
    let text = format!(
        "{BINDINGS}[vars]\nTERRACE_ACCESS = \"public\"\n[env.staging.vars]\nTERRACE_ACCESS = \"privat\"\n"
    );
    check_file(&text, &[]).expect(0);
    let ended = check_file(&text, &["--env", "staging"]).expect(3);
    for expected in ["add [[env.staging.r2_buckets]]", "TERRACE_ACCESS "] {
        assert!(ended.errors().contains(expected), "{ended:?}");
    }
    let ended = check_file(&text, &["--env", "test"]).expect(3);
    assert!(ended.errors().contains("it has staging"), "{ended:?}");
}

#[test]
fn the_documented_environment_for_trials_is_valid_without_a_warning() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/deploying.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("## Staging\n").unwrap();
    let (_, rest) = section.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let ended = check_file(&format!("{BINDINGS}{text}"), &["--env", "staging"]).expect(0);
    assert_eq!(ended.json()["warnings"], json!([]));
}

#[test]
fn a_missing_file_is_a_usage_error() {
    let ended = ended(&mut terrace(&["config", "check", "nowhere/wrangler.toml"])).expect(2);
    assert!(ended.stderr.contains("nowhere/wrangler.toml"), "{ended:?}");
}

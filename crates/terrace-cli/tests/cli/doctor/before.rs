//! The checks before the first deployment: one fault each. A program in place of wrangler prints what wrangler 4.155.0
//! printed for answers of Cloudflare's API; tests/clients/worker/wrangler.test.mjs runs the real one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::{checks, with_status};
use crate::support::{Ended, ended, terrace};

const ACCOUNT: &str = "0123456789abcdef0123456789abcdef";
const OTHER_ACCOUNT: &str = "ffffffffffffffffffffffffffffffff";

const BANNER: &str = "\n ⛅️ wrangler 4.155.0 (update available 4.164.0)\n───────────────────────────────────────────────\n";

const SIGNED_IN: &str = r#"{
    "loggedIn": true,
    "authType": "User API Token",
    "email": "dev@acme.example",
    "accounts": [
        {
            "id": "0123456789abcdef0123456789abcdef",
            "name": "Acme"
        }
    ]
}"#;

const CONFIGURATION: &str = r#"
name = "terrace"
main = "build/index.js"
compatibility_date = "2026-10-20"
routes = [{ pattern = "registry.acme.example", custom_domain = true }]
workers_dev = false

[[r2_buckets]]
binding = "FACTS"

[[kv_namespaces]]
binding = "INDICES"

[[ratelimits]]
name = "FAILURES"
namespace_id = "1001"
simple = { limit = 100, period = 60 }

[[ratelimits]]
name = "SEARCHES"
namespace_id = "1002"
simple = { limit = 100, period = 60 }

[triggers]
crons = ["* * * * *"]
"#;

/// An answer of wrangler: its exit code, standard output and standard error.
struct Answer(i32, String, String);

fn prints(text: impl Into<String>) -> Answer {
    Answer(0, text.into(), String::new())
}

/// An error, as wrangler prints it.
fn error(message: &str) -> Answer {
    let sign = "\u{1b}[31m✘ \u{1b}[41;31m[\u{1b}[41;97mERROR\u{1b}[41;31m]\u{1b}[0m \u{1b}[1m";
    let logs = "🪵  Logs were written to \"/home/dev/.config/.wrangler/logs/wrangler.log\"";
    Answer(
        1,
        BANNER.to_owned(),
        format!("{sign}{message}\n\n\n{logs}\n"),
    )
}

/// An error of Cloudflare's API, as wrangler prints it.
fn refused(path: &str, message: &str, code: u32) -> Answer {
    let report = "If you think this is a bug, please open an issue at: https://github.com/cloudflare/workers-sdk/issues/new/choose";
    error(&format!(
        "A request to the Cloudflare API ({path}) failed.\u{1b}[0m\n\n  {message} [code: {code}]\n  \n  {report}"
    ))
}

fn buckets(names: &[&str]) -> Answer {
    let of_bucket =
        |name: &&str| format!("name:           {name}\ncreation_date:  2026-01-02T03:04:05.678Z");
    let list: Vec<String> = names.iter().map(of_bucket).collect();
    prints(format!(
        "{BANNER}Listing buckets...\n{}\n",
        list.join("\n\n")
    ))
}

fn namespaces(list: &[(&str, &str)]) -> Answer {
    let of_namespace = |(id, title): &(&str, &str)| {
        format!(
            "  {{\n    \"id\": \"{id}\",\n    \"title\": \"{title}\",\n    \"supports_url_encoding\": true\n  }}"
        )
    };
    let list: Vec<String> = list.iter().map(of_namespace).collect();
    prints(format!("[\n{}\n]\n", list.join(",\n")))
}

fn no_worker() -> Answer {
    let path = format!("/accounts/{ACCOUNT}/workers/scripts/terrace/deployments");
    refused(&path, "This Worker does not exist on your account.", 10007)
}

fn deployed() -> Answer {
    prints(
        r#"[
  {
    "id": "d",
    "source": "wrangler",
    "strategy": "percentage",
    "author_email": "dev@acme.example",
    "created_on": "2026-01-02T03:04:05.678901Z",
    "annotations": { "workers/triggered_by": "upload" },
    "versions": [{ "version_id": "v", "percentage": 100 }]
  }
]"#,
    )
}

/// A directory with a configuration, and a program in place of wrangler.
struct Folder(TempDir);

impl Folder {
    /// A folder where nothing is wrong.
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("wrangler.toml", CONFIGURATION);
        let script = "#!/bin/sh\nfor words in \"$1 $2 $3 $4\" \"$1 $2 $3\" \"$1 $2\" \"$1\"; do\n  file=$(dirname \"$0\")/answers/$(printf %s \
                      \"$words\" | tr ' ' -)\n  if [ -f \"$file.out\" ]; then\n    cat \"$file.out\"; cat \"$file.err\" >&2; exit \"$(cat \
                      \"$file.code\")\"\n  fi\ndone\necho \"unexpected: $*\" >&2\nexit 99\n";
        fs::create_dir_all(folder.path().join("bin/answers")).unwrap();
        let program = folder.path().join("bin/wrangler");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        folder
            .answers("--version", prints("4.155.0\n"))
            .answers("whoami --json", prints(SIGNED_IN))
            .answers("r2 bucket list", buckets(&["other"]))
            .answers("kv namespace list", namespaces(&[("ab12", "other")]))
            .answers("deployments list", no_worker())
            .answers("versions view", error("unexpected"))
            .answers(
                "email routing settings acme.example",
                prints("Email Routing for acme.example:\n"),
            )
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// Sets the answer of a command.
    fn answers(self, command: &str, Answer(code, out, err): Answer) -> Self {
        let name = format!("bin/answers/{}", command.replace(' ', "-"));
        self.write(&format!("{name}.code"), &code.to_string());
        self.write(&format!("{name}.out"), &out);
        self.write(&format!("{name}.err"), &err);
        self
    }

    /// Changes the configuration.
    fn configured(self, from: &str, to: &str) -> Self {
        assert!(CONFIGURATION.contains(from), "{from}");
        self.write("wrangler.toml", &CONFIGURATION.replace(from, to));
        self
    }

    fn doctor(&self, arguments: &[&str]) -> Command {
        let mut command = terrace(&["doctor", "--pre", "--json"]);
        let path = format!("{}:/usr/bin:/bin", self.path().join("bin").display());
        command
            .args(arguments)
            .env("PATH", path)
            .current_dir(self.path());
        command
            .env_remove("CLOUDFLARE_ENV")
            .env_remove("CLOUDFLARE_ACCOUNT_ID");
        command
    }
}

/// Checks that exactly one check reports a problem, and that it says this. Returns the result.
#[track_caller]
fn found(id: &str, status: &str, text: &str, folder: &Folder) -> Ended {
    let code = if status == "fail" { 3 } else { 0 };
    let ended = ended(&mut folder.doctor(&[])).expect(code);
    let mut problems = with_status(&ended, "fail");
    problems.extend(with_status(&ended, "warn"));
    assert_eq!(problems, [id], "{ended:#?}");
    let check = &checks(&ended)[id];
    assert_eq!(check["status"], status, "{check}");
    for member in ["observed", "error", "fix"] {
        assert!(!check[member].as_str().unwrap().is_empty(), "{check}");
    }
    assert!(check.to_string().contains(text), "{text}: {check}");
    assert_eq!(
        check["hint"],
        format!("docs/doctor.md#{}", id.to_lowercase())
    );
    ended
}

#[test]
fn an_account_without_faults_passes_all_checks_and_no_others_are_made() {
    let ended = ended(&mut Folder::new().doctor(&[])).expect(0);
    let ids: Vec<String> = checks(&ended).into_keys().collect();
    assert_eq!(ids, ["B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9"]);
    assert_eq!(with_status(&ended, "pass").len(), 9, "{ended:#?}");
}

#[test]
fn the_result_for_people_names_the_configuration() {
    let folder = Folder::new();
    let mut command = terrace(&["doctor", "--pre"]);
    let path = format!("{}:/usr/bin:/bin", folder.path().join("bin").display());
    command.env("PATH", path).current_dir(folder.path());
    let ended = ended(&mut command).expect(0);
    let first = ended.stdout.lines().next().unwrap();
    assert_eq!(first, "Checking wrangler.toml, before it is deployed");
    assert!(
        ended.stdout.contains("terrace-facts will be created"),
        "{ended:#?}"
    );
}

#[test]
fn b1_an_invalid_an_old_and_an_incomplete_configuration_are_found() {
    let invalid = Folder::new().configured(
        "[triggers]",
        "[vars]\nTERRACE_ACESS = \"private\"\n[triggers]",
    );
    found("B1", "fail", "TERRACE_ACESS", &invalid);
    let old = Folder::new().configured("2026-10-20", "2024-01-01");
    found("B1", "fail", "compatibility_date", &old);
    let incomplete = Folder::new().configured("crons = [\"* * * * *\"]", "");
    found("B1", "warn", "cron", &incomplete);
    let absent = Folder::new();
    fs::remove_file(absent.path().join("wrangler.toml")).unwrap();
    let ended = found("B1", "fail", "--config", &absent);
    assert_eq!(
        with_status(&ended, "pass"),
        ["B2", "B3", "B4", "B5"],
        "{ended:#?}"
    );
}

#[test]
fn b2_an_absent_and_a_failing_wrangler_are_found() {
    let absent = Folder::new();
    fs::remove_file(absent.path().join("bin/wrangler")).unwrap();
    found("B2", "fail", "npm ci", &absent);
    let message = "Wrangler requires at least Node.js v22.12.0. You are using v20.20.2.";
    let failing = Folder::new().answers(
        "--version",
        Answer(1, String::new(), format!("{message}\n")),
    );
    found("B2", "fail", message, &failing);
}

#[test]
fn b3_absent_and_rejected_credentials_are_found() {
    let absent = Answer(1, "\n{\"loggedIn\":false}\n".to_owned(), String::new());
    let folder = Folder::new().answers("whoami --json", absent);
    let ended = found("B3", "fail", "wrangler login", &folder);
    assert_eq!(with_status(&ended, "pass"), ["B1", "B2"], "{ended:#?}");
    let rejected = refused("/user/tokens/verify", "Invalid access token", 9109);
    let folder = Folder::new().answers("whoami --json", rejected);
    found("B3", "fail", "Invalid access token", &folder);
    let unreachable = error("fetch failed");
    let folder = Folder::new().answers("whoami --json", unreachable);
    found("B3", "fail", "does not reach", &folder);
}

#[test]
fn b4_several_accounts_none_and_another_one_are_found() {
    let second = format!(
        ",\n        {{\n            \"id\": \"{OTHER_ACCOUNT}\",\n            \"name\": \"Other\"\n        }}\n    ]"
    );
    let several = SIGNED_IN.replace("\n    ]", &second);
    let question = error(
        "More than one account available but unable to select one in non-interactive mode.\nPlease set the appropriate `account_id`",
    );
    let folder = Folder::new().answers("whoami --json", prints(several));
    let folder = [
        "r2 bucket list",
        "kv namespace list",
        "deployments list",
        "email routing settings acme.example",
    ]
    .into_iter()
    .fold(folder, |folder, command| {
        let Answer(code, out, err) = &question;
        folder.answers(command, Answer(*code, out.clone(), err.clone()))
    });
    let ended = found("B4", "warn", "account_id", &folder);
    assert_eq!(
        with_status(&ended, "skip"),
        ["B5", "B6", "B7", "B8", "B9"],
        "{ended:#?}"
    );
    let none = r#"{"loggedIn":true,"authType":"User API Token","accounts":[]}"#;
    found(
        "B4",
        "fail",
        "no account",
        &Folder::new().answers("whoami --json", prints(none)),
    );
    let other = Folder::new().configured(
        "main = \"build",
        &format!("account_id = \"{OTHER_ACCOUNT}\"\nmain = \"build"),
    );
    found("B4", "fail", OTHER_ACCOUNT, &other);
}

#[test]
fn b5_an_account_without_r2_and_a_token_without_rights_are_found() {
    let path = format!("/accounts/{ACCOUNT}/r2/buckets");
    for code in [10042, 10136] {
        let off = refused(
            &path,
            "Please enable R2 through the Cloudflare Dashboard.",
            code,
        );
        let folder = Folder::new().answers("r2 bucket list", off);
        found("B5", "fail", "dash.cloudflare.com", &folder);
    }
    let forbidden = refused(&path, "Authentication error", 10000);
    let folder = Folder::new().answers("r2 bucket list", forbidden);
    found("B5", "fail", "Workers R2 Storage", &folder);
}

/// An answer of `wrangler versions view` about a Worker with these bindings.
fn version(bindings: &str) -> Answer {
    prints(format!(
        "{{ \"id\": \"v\", \"resources\": {{ \"bindings\": [{bindings}] }} }}"
    ))
}

#[test]
fn b6_another_worker_of_the_name_is_found_and_the_registry_itself_is_not() {
    let other = Folder::new()
        .answers("deployments list", deployed())
        .answers(
            "versions view",
            version(r#"{ "name": "CACHE", "type": "kv_namespace", "namespace_id": "cd" }"#),
        );
    found("B6", "fail", "dev@acme.example", &other);
    let own = r#"{ "name": "FACTS", "type": "r2_bucket", "bucket_name": "terrace-facts" },
                 { "name": "INDICES", "type": "kv_namespace", "namespace_id": "ab" },
                 { "name": "TERRACE_ADMIN_TOKEN", "type": "secret_text" }"#;
    let own = Folder::new()
        .answers("deployments list", deployed())
        .answers("versions view", version(own))
        .answers("r2 bucket list", buckets(&["terrace-facts"]))
        .answers(
            "kv namespace list",
            namespaces(&[("ab", "terrace-indices")]),
        );
    let ended = ended(&mut own.doctor(&["--strict"])).expect(0);
    assert_eq!(with_status(&ended, "pass").len(), 9, "{ended:#?}");
    let nameless = Folder::new().configured("name = \"terrace\"", "");
    let ended = self::ended(&mut nameless.doctor(&[])).expect(3);
    assert_eq!(with_status(&ended, "fail"), ["B6"], "{ended:#?}");
}

#[test]
fn b7_a_bucket_that_exists_or_is_not_the_signed_one_is_found() {
    let taken = Folder::new().answers("r2 bucket list", buckets(&["other", "terrace-facts"]));
    found("B7", "fail", "bucket_name", &taken);
    let named = taken.configured(
        "binding = \"FACTS\"",
        "binding = \"FACTS\"\nbucket_name = \"terrace-facts\"",
    );
    ended(&mut named.doctor(&["--strict"])).expect(0);
    let vars = "[vars]\nTERRACE_S3_ENDPOINT = \"https://0.r2.cloudflarestorage.com\"\nTERRACE_S3_BUCKET = \"other\"\n[triggers]";
    found(
        "B7",
        "fail",
        "TERRACE_S3_BUCKET",
        &Folder::new().configured("[triggers]", vars),
    );
}

#[test]
fn b8_a_namespace_that_exists_or_that_does_not_is_found() {
    let taken = Folder::new().answers(
        "kv namespace list",
        namespaces(&[("ab", "terrace-indices")]),
    );
    found("B8", "fail", "id = ", &taken);
    let with_id = "binding = \"INDICES\"\nid = \"cd\"";
    let absent = Folder::new().configured("binding = \"INDICES\"", with_id);
    found("B8", "fail", "has the ID cd", &absent);
    let present = absent.answers(
        "kv namespace list",
        namespaces(&[("cd", "indices of acme")]),
    );
    ended(&mut present.doctor(&["--strict"])).expect(0);
}

#[test]
fn b9_a_hostname_without_a_zone_is_found() {
    let unknown = |zone: &str| {
        error(&format!(
            "Could not find zone for `{zone}`. Make sure the domain exists in your account."
        ))
    };
    let folder = Folder::new()
        .answers(
            "email routing settings acme.example",
            unknown("acme.example"),
        )
        .answers(
            "email routing settings registry.acme.example",
            unknown("registry.acme.example"),
        );
    found("B9", "fail", "registry.acme.example", &folder);
    // The hostname on the command line counts.
    let below = refused("/zones/b/email/routing", "Authentication error", 10000);
    let folder = folder.answers("email routing settings example.com", below);
    ended(&mut folder.doctor(&["https://tf.example.com"])).expect(0);
    let unreadable = refused("/zones", "Authentication error", 10000);
    let folder = folder.answers("email routing settings acme.example", unreadable);
    let result = ended(&mut folder.doctor(&[])).expect(0);
    assert_eq!(with_status(&result, "skip"), ["B9"], "{result:#?}");
    let none = Folder::new().configured(
        "routes = [{ pattern = \"registry.acme.example\", custom_domain = true }]",
        "",
    );
    let result = ended(&mut none.doctor(&[])).expect(0);
    assert_eq!(with_status(&result, "skip"), ["B9"], "{result:#?}");
}

#[test]
fn the_checks_of_a_deployment_are_made_with_pre_only() {
    let folder = Folder::new();
    let with_others = ended(&mut folder.doctor(&["--only", "T"])).expect(2);
    assert!(with_others.errors().contains("--pre"), "{with_others:?}");
    let mut command = terrace(&["doctor", "--only", "B1", "--json"]);
    assert!(ended(&mut command).expect(2).errors().contains("--pre"));
    let mut command = terrace(&["doctor", "--config", "wrangler.toml"]);
    ended(&mut command).expect(2);
}

#[test]
fn the_packages_of_a_directory_above_are_preferred_to_the_path() {
    let folder = Folder::new();
    let packages = folder.path().join("node_modules");
    fs::create_dir_all(packages.join("wrangler/bin")).unwrap();
    fs::create_dir_all(packages.join("node/bin")).unwrap();
    fs::write(packages.join("wrangler/bin/wrangler.js"), "").unwrap();
    let node = packages.join("node/bin/node");
    fs::write(&node, "#!/bin/sh\necho '9.9.9, packaged'\n").unwrap();
    fs::set_permissions(&node, fs::Permissions::from_mode(0o755)).unwrap();
    let below = folder.path().join("below");
    fs::create_dir(&below).unwrap();
    let mut command = folder.doctor(&["--only", "B2"]);
    let ended = ended(command.current_dir(&below)).expect(0);
    assert_eq!(
        checks(&ended)["B2"]["observed"],
        "9.9.9, packaged",
        "{ended:#?}"
    );
}

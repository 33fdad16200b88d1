//! `terrace publish modules`.

mod packed;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::support::http::Response;
use super::support::registry::{Fault, Registry, errors};
use super::support::{Ended, TOKEN, directory, ended, run, terrace};

const MAIN: &str = "resource \"aws_vpc\" \"this\" {}\n";
const NAMED: [&str; 2] = ["--address", "acme/{name}/aws"];

#[track_caller]
fn git(place: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(place);
    for setting in [
        "user.name=Test",
        "user.email=test@example.com",
        "commit.gpgsign=false",
        "tag.gpgsign=false",
    ] {
        git.args(["-c", setting]);
    }
    let done = git.args(arguments).output().expect("git is on PATH");
    assert!(
        done.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

fn write(place: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = place.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Commits files, and sets tags.
fn commit(place: &Path, files: &[(&str, &str)], tags: &[&str]) {
    write(place, files);
    git(place, &["add", "--all", "--force"]);
    git(
        place,
        &["commit", "--quiet", "--allow-empty", "--message", "change"],
    );
    for tag in tags {
        git(place, &["tag", tag]);
    }
}

fn repository(files: &[(&str, &str)], tags: &[&str]) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    git(place.path(), &["init", "--quiet"]);
    commit(place.path(), files, tags);
    place
}

#[track_caller]
fn publish(registry: &Registry, place: &str, more: &[&str]) -> Ended {
    run(
        registry,
        &[&["publish", "modules", place][..], more].concat(),
    )
}

#[track_caller]
fn dry_run(place: &str, more: &[&str]) -> Ended {
    let mut command = terrace(&["publish", "modules", place, "--dry-run", "--json"]);
    ended(command.args(more))
}

fn path(place: &TempDir) -> &str {
    place.path().to_str().unwrap()
}

/// Returns the address, the version and the status of each version, sorted.
fn rows(document: &Value) -> Vec<String> {
    let rows = document["versions"].as_array().unwrap().iter();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or("-").to_owned();
    let mut rows: Vec<String> = rows
        .map(|row| {
            format!(
                "{} {} {}",
                text(row, "address"),
                text(row, "version"),
                text(row, "status")
            )
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn tags_of_single_modules_name_their_versions_in_every_usual_form() {
    for (vpc, dns) in [
        ("vpc/v1.0.0", "dns/2.0.0"),
        ("vpc-v1.0.0", "dns-2.0.0"),
        ("modules/vpc/1.0.0", "modules/dns/v2.0.0"),
        ("vpc@v1.0.0", "modules/dns@2.0.0"),
    ] {
        let files = [("modules/vpc/main.tf", MAIN), ("modules/dns/main.tf", MAIN)];
        let place = repository(&files, &[vpc, dns, "other", "v9.9.9"]);
        let document = dry_run(path(&place), &NAMED).expect(0).json();
        assert_eq!(
            rows(&document),
            ["acme/dns/aws 2.0.0 dry_run", "acme/vpc/aws 1.0.0 dry_run"]
        );
        assert_eq!(
            document["ignored_tags"],
            serde_json::json!(["other", "v9.9.9"])
        );
    }
}

#[test]
fn tags_of_the_repository_name_a_version_of_every_module_that_exists_then() {
    let registry = Registry::start();
    let place = repository(&[("aws/vpc/main.tf", MAIN)], &["v1.0.0"]);
    commit(
        place.path(),
        &[("aws/dns/main.tf", MAIN), ("azurerm/vpc/main.tf", "")],
        &["v1.1.0"],
    );
    let address = ["--address", "acme/{name}/{system}"];
    let document = publish(&registry, path(&place), &address).expect(0).json();
    assert_eq!(
        rows(&document),
        [
            "acme/dns/aws 1.1.0 created",
            "acme/vpc/aws 1.0.0 created",
            "acme/vpc/aws 1.1.0 created",
            "acme/vpc/azurerm 1.1.0 created",
        ]
    );
    let again = publish(&registry, path(&place), &address).expect(0).json();
    assert!(
        rows(&again).iter().all(|row| row.ends_with("unchanged")),
        "{again}"
    );
}

#[test]
fn a_directory_of_repositories_has_one_module_in_each() {
    let around = directory(&[("notes.txt", "")]);
    for (name, tags) in [
        ("terraform-aws-vpc", &["v1.0.0", "v1.1.0"][..]),
        ("terraform-google-vpc", &["2.0.0"]),
        ("website", &["v3.0.0"]),
    ] {
        let place = around.path().join(name);
        fs::create_dir(&place).unwrap();
        git(&place, &["init", "--quiet"]);
        commit(&place, &[("main.tf", "")], tags);
    }
    let more = [
        "--address",
        "acme/{name}/{system}",
        "--path",
        "terraform-{system}-{name}",
    ];
    let document = dry_run(path(&around), &more).expect(0).json();
    assert_eq!(
        rows(&document),
        [
            "acme/vpc/aws 1.0.0 dry_run",
            "acme/vpc/aws 1.1.0 dry_run",
            "acme/vpc/google 2.0.0 dry_run",
        ]
    );
}

#[test]
fn files_without_git_are_published_as_the_version_of_the_command_line() {
    let registry = Registry::start();
    let place = directory(&[("modules/vpc/main.tf", MAIN), ("modules/dns/main.tf", MAIN)]);
    let refused = publish(&registry, path(&place), &NAMED).expect(2);
    assert!(refused.errors().contains("--version"), "{refused:?}");
    let more = [&NAMED[..], &["--version", "1.2.3"]].concat();
    let document = publish(&registry, path(&place), &more).expect(0).json();
    assert_eq!(
        rows(&document),
        ["acme/dns/aws 1.2.3 created", "acme/vpc/aws 1.2.3 created"]
    );
}

#[test]
fn a_call_out_of_the_repository_is_refused_and_the_other_modules_are_published() {
    let registry = Registry::start();
    let call = "module \"x\" {\n  source = \"../../../common\"\n}\n";
    let place = repository(
        &[
            ("modules/vpc/main.tf", call),
            ("modules/dns/main.tf", MAIN),
            ("modules/dns/.env", ""),
        ],
        &["vpc/v1.0.0", "dns/v1.0.0"],
    );
    fs::remove_file(place.path().join("modules/dns/.env")).unwrap();
    commit(place.path(), &[], &["dns/v1.1.0"]);
    let ended = publish(&registry, path(&place), &NAMED).expect(3);
    assert_eq!(
        rows(&ended.json()),
        [
            "acme/dns/aws 1.0.0 refused",
            "acme/dns/aws 1.1.0 created",
            "acme/vpc/aws 1.0.0 refused",
        ]
    );
    let errors = ended.errors();
    for reason in [
        "acme/vpc/aws 1.0.0: modules/vpc/main.tf:2: the source \"../../../common\" leads out of the repository",
        "acme/dns/aws 1.0.0: \".env\" holds variables of an environment",
        "exclude them in .terraformignore under a new tag",
    ] {
        assert!(errors.contains(reason), "{errors}");
    }
    let allowed = [&NAMED[..], &["--only", "dns", "--allow-secrets", ".env"]].concat();
    let document = publish(&registry, path(&place), &allowed).expect(0).json();
    assert_eq!(
        rows(&document),
        ["acme/dns/aws 1.0.0 created", "acme/dns/aws 1.1.0 unchanged"]
    );
}

#[test]
fn the_table_fits_into_80_columns_with_the_failures_last() {
    let call = "module \"x\" {\n  source = \"../../../common\"\n}\n";
    let place = repository(
        &[
            ("modules/a-module/main.tf", call),
            (
                "modules/broken/main.tf",
                "resource \"aws_vpc\" \"x\" {\n  a = \n",
            ),
            ("modules/z/main.tf", MAIN),
            ("modules/z/README.md", ""),
        ],
        &["a-module/v1.0.0", "broken/v1.0.0", "z/v1.0.0", "other"],
    );
    let mut command = terrace(&["publish", "modules", path(&place), "--dry-run"]);
    let ended = ended(command.args(NAMED).env("COLUMNS", "80")).expect(3);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(
        lines[0],
        "MODULE             VERSION  STATUS   DIRECTORY         FILES  SIZE"
    );
    assert!(
        lines[1].starts_with("acme/z/aws         1.0.0    checked  modules/z         2      "),
        "{lines:?}"
    );
    assert_eq!(
        lines[2..],
        [
            "acme/a-module/aws  1.0.0    refused  modules/a-module",
            "acme/broken/aws    1.0.0    refused  modules/broken",
            "1 checked, 2 failed in a dry run: nothing was sent"
        ]
    );
    for line in [
        "ignored 1 tag without a version of a module: other\n",
        "error: acme/broken/aws 1.0.0: main.tf:1: ",
        "checked      acme/z/aws 1.0.0\n",
    ] {
        assert!(ended.stderr.contains(line), "{ended:?}");
    }
}

#[test]
fn a_version_with_other_bytes_is_a_conflict_that_does_not_stop_the_others() {
    let registry = Registry::start();
    let place = repository(&[("modules/vpc/main.tf", MAIN)], &["vpc/v1.0.0"]);
    publish(&registry, path(&place), &NAMED).expect(0);
    commit(
        place.path(),
        &[("modules/vpc/main.tf", "")],
        &["vpc/v1.1.0"],
    );
    git(place.path(), &["tag", "--force", "vpc/v1.0.0"]);
    let document = publish(&registry, path(&place), &NAMED).expect(4).json();
    assert_eq!(
        rows(&document),
        ["acme/vpc/aws 1.0.0 conflict", "acme/vpc/aws 1.1.0 created"]
    );
}

#[test]
fn an_erased_version_whose_tag_stays_is_skipped() {
    let registry = Registry::start();
    let place = repository(
        &[("modules/vpc/main.tf", MAIN)],
        &["vpc/v1.0.0", "vpc/v1.1.0"],
    );
    let reason = "acme/vpc/aws 1.0.0 was erased, and never returns: takedown";
    registry.fail("PUT", "1.0.0", Fault::Answer(errors(410, &[reason])));
    let document = publish(&registry, path(&place), &NAMED).expect(0).json();
    assert_eq!(
        rows(&document),
        ["acme/vpc/aws 1.0.0 skipped", "acme/vpc/aws 1.1.0 created"]
    );
    assert!(document.to_string().contains(reason), "{document}");
}

#[test]
fn an_interrupted_run_is_completed_by_another_one() {
    let registry = Registry::start();
    let tags = ["a/v1.0.0", "a/v1.1.0", "b/v1.0.0"];
    let place = repository(
        &[("modules/a/main.tf", MAIN), ("modules/b/main.tf", MAIN)],
        &tags,
    );
    let denied = Response::new(403, "{\"errors\": [\"the token lacks the scope\"]}");
    registry.fail("PUT", "/modules/acme/a/aws/1.1.0", Fault::Answer(denied));
    let more = [&NAMED[..], &["--jobs", "1"]].concat();
    let document = publish(&registry, path(&place), &more).expect(5).json();
    assert_eq!(
        rows(&document),
        [
            "acme/a/aws 1.0.0 created",
            "acme/a/aws 1.1.0 not_allowed",
            "acme/b/aws 1.0.0 not_tried",
        ]
    );
    let document = publish(&registry, path(&place), &more).expect(0).json();
    assert_eq!(
        rows(&document),
        [
            "acme/a/aws 1.0.0 unchanged",
            "acme/a/aws 1.1.0 created",
            "acme/b/aws 1.0.0 created",
        ]
    );
}

#[test]
fn documentation_is_not_sent_again_with_a_version_that_has_it() {
    let registry = Registry::start();
    let files = [
        ("modules/vpc/main.tf", MAIN),
        ("modules/vpc/README.md", "# VPC\n"),
    ];
    let place = repository(&files, &["vpc/v1.0.0"]);
    publish(&registry, path(&place), &NAMED).expect(0);
    let details = "{\"versions\": [{\"version\": \"1.0.0\", \"is_documented\": true}]}";
    registry.set("/api/v1/modules/acme/vpc/aws", Response::new(200, details));
    registry.all_requests();
    publish(&registry, path(&place), &NAMED).expect(0);
    assert_eq!(
        registry.all_requests(),
        [
            "GET /api/v1/modules/acme/vpc/aws",
            "PUT /admin/v1/modules/acme/vpc/aws/1.0.0",
            // The status of the version.
            "GET /api/v1/modules/acme/vpc/aws/1.0.0",
        ]
    );
}

#[test]
fn a_url_is_cloned_and_its_commits_are_recorded_with_the_source() {
    let registry = Registry::start();
    let place = repository(&[("modules/vpc/main.tf", MAIN)], &[]);
    git(
        place.path(),
        &["tag", "--annotate", "vpc/v1.0.0", "--message", "released"],
    );
    let url = format!("file://{}", path(&place));
    let source = "https://git.example.com/acme/modules";
    let more = [&NAMED[..], &["--source", source]].concat();
    let document = publish(&registry, &url, &more).expect(0).json();
    assert_eq!(rows(&document), ["acme/vpc/aws 1.0.0 created"]);
    let description = registry.description();
    assert_eq!(description["source"], source);
    assert_eq!(description["commit"], document["versions"][0]["commit"]);
    assert_eq!(description["directory"], "modules/vpc");
    for (url, code, part) in [
        ("ext::sh -c true://", 2, "only"),
        ("http://git.example.com/modules", 2, "only"),
        ("file:///nowhere/modules.git", 1, "git failed"),
    ] {
        let failed = publish(&registry, url, &NAMED).expect(code).errors();
        assert!(failed.contains(part), "{failed}");
    }
}

#[test]
fn the_system_is_that_of_the_only_required_provider() {
    let two = "resource \"aws_vpc\" \"a\" {}\nresource \"azurerm_vnet\" \"b\" {}\n";
    let utility = "resource \"google_x\" \"a\" {}\nresource \"random_id\" \"b\" {}\n";
    let files = [
        ("modules/vpc/main.tf", MAIN),
        ("modules/net/main.tf", two),
        ("modules/id/main.tf", utility),
        ("modules/none/main.tf", ""),
    ];
    let place = repository(&files, &["v1.0.0"]);
    let ended = dry_run(path(&place), &["--address", "acme/{name}/{system}"]).expect(3);
    assert_eq!(
        rows(&ended.json()),
        [
            "acme/id/google 1.0.0 dry_run",
            "acme/vpc/aws 1.0.0 dry_run",
            "modules/net - refused",
            "modules/none - refused",
        ]
    );
    assert!(
        ended.errors().contains("it requires aws, azurerm"),
        "{ended:?}"
    );
}

#[test]
fn an_address_that_no_module_can_have_is_an_error_of_usage() {
    for (address, part) in [
        ("acme/{name}", "namespace/name/system"),
        ("acme/{name}/{version}", "{name} and {system} only"),
        ("acme/{nam}/aws", "there is no field {nam}"),
    ] {
        let refused = dry_run(".", &["--address", address]).expect(2);
        assert!(refused.stderr.contains(part), "{refused:?}");
    }
}

#[test]
fn a_tag_may_name_the_system_and_patterns_describe_other_layouts() {
    let files = [("aws/vpc/main.tf", MAIN), ("google/vpc/main.tf", "")];
    let place = repository(&files, &["aws-vpc-1.0.0", "google-vpc-v2.0.0"]);
    let document = dry_run(path(&place), &["--address", "acme/{name}/{system}"])
        .expect(0)
        .json();
    assert_eq!(
        rows(&document),
        [
            "acme/vpc/aws 1.0.0 dry_run",
            "acme/vpc/google 2.0.0 dry_run"
        ]
    );
    let place = repository(
        &[("tf/aws/net/vpc/main.tf", MAIN)],
        &["release-vpc_1.0.0", "v2.0.0"],
    );
    let more = [
        "--address",
        "acme/net-{name}/{system}",
        "--path",
        "tf/{system}/net/{name}",
        "--tag",
        "release-{name}_{version}",
    ];
    let document = dry_run(path(&place), &more).expect(0).json();
    assert_eq!(rows(&document), ["acme/net-vpc/aws 1.0.0 dry_run"]);
}

#[test]
fn options_choose_modules_and_versions() {
    let place = repository(
        &[("modules/vpc/main.tf", MAIN), ("modules/dns/main.tf", MAIN)],
        &["v1.0.0", "v1.1.0", "v2.0.0-rc.1"],
    );
    let chosen = |more: &[&str]| {
        rows(
            &dry_run(path(&place), &[&NAMED, more].concat())
                .expect(0)
                .json(),
        )
    };
    assert_eq!(
        chosen(&["--latest"]),
        ["acme/dns/aws 1.1.0 dry_run", "acme/vpc/aws 1.1.0 dry_run"]
    );
    assert_eq!(
        chosen(&["--since", "1.1.0", "--only", "v*"]),
        [
            "acme/vpc/aws 1.1.0 dry_run",
            "acme/vpc/aws 2.0.0-rc.1 dry_run"
        ]
    );
    let none = dry_run(path(&place), &[&NAMED[..], &["--only", "x"]].concat()).expect(3);
    assert!(none.errors().contains("--only"), "{none:?}");
}

#[test]
fn a_version_that_two_tags_name_differently_is_refused() {
    let place = repository(
        &[("modules/vpc/main.tf", MAIN)],
        &["vpc/v1.0.0", "vpc/v2.0.0", "vpc/2.0.0"],
    );
    commit(place.path(), &[], &["vpc/1.0.0"]);
    let ended = dry_run(path(&place), &NAMED).expect(3);
    assert_eq!(
        rows(&ended.json()),
        ["acme/vpc/aws 1.0.0 refused", "acme/vpc/aws 2.0.0 dry_run"]
    );
    let errors = ended.errors();
    assert!(
        errors.contains("vpc/1.0.0") && errors.contains("vpc/v1.0.0"),
        "{errors}"
    );
}

#[test]
fn places_without_modules_or_versions_are_refused_with_what_was_found() {
    let untagged = repository(&[("modules/vpc/main.tf", MAIN)], &["release-7"]);
    let single = repository(&[("main.tf", ""), ("modules/x/main.tf", "")], &["v1.0.0"]);
    let empty = repository(&[("README.md", "")], &["v1.0.0"]);
    for (place, code, part) in [
        (
            path(&untagged),
            3,
            "1 module (modules/vpc): the tags are release-7",
        ),
        (
            path(&single),
            3,
            "the top of the repository is a module itself",
        ),
        (path(&empty), 3, "--path"),
        (
            &format!("{}/modules", path(&untagged)),
            2,
            "inside of a repository",
        ),
        ("/nowhere/modules", 3, "/nowhere/modules"),
    ] {
        let ended = dry_run(place, &NAMED).expect(code);
        assert!(ended.errors().contains(part), "{ended:?}");
    }
    let module = dry_run(path(&single), &["--address", "acme/vpc/aws"])
        .expect(0)
        .json();
    assert_eq!(rows(&module), ["acme/vpc/aws 1.0.0 dry_run"]);
}

#[test]
fn many_modules_are_published_by_one_command() {
    let names: Vec<String> = (0..200)
        .map(|number| format!("modules/m{number}/main.tf"))
        .collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), MAIN)).collect();
    let place = repository(&files, &["v1.0.0", "v1.1.0", "v1.2.0"]);
    let started = std::time::Instant::now();
    let document = dry_run(path(&place), &NAMED).expect(0).json();
    assert_eq!(rows(&document).len(), 600);
    let took = started.elapsed();
    assert!(took.as_secs() < 120, "{took:?}");
    println!("600 versions: {took:?}");
}

#[test]
fn a_missing_token_is_reported_before_the_repository_is_read() {
    let mut command = terrace(&["publish", "modules", "/nowhere", "--json"]);
    command.args(NAMED).env("TERRACE_URL", "http://127.0.0.1:1");
    let refused = ended(&mut command);
    assert!(refused.errors().contains("token"), "{refused:?}");
    assert!(!refused.errors().contains(TOKEN));
}

#[test]
fn the_source_is_the_collection_and_not_the_repository_of_a_hook_around_the_command() {
    let place = repository(&[("modules/vpc/main.tf", MAIN)], &["v1.0.0"]);
    let other = repository(&[], &[]);
    for (place, name) in [(&place, "modules"), (&other, "hook")] {
        let url = format!("https://git.example.com/acme/{name}.git");
        git(place.path(), &["remote", "add", "origin", &url]);
    }
    let mut command = terrace(&["publish", "modules", path(&place), "--dry-run"]);
    command.env("GIT_DIR", other.path().join(".git"));
    let ended = ended(command.args(NAMED)).expect(0);
    assert!(ended.stderr.contains("acme/modules,"), "{ended:?}");
    assert!(!ended.stderr.contains("acme/hook"), "{ended:?}");
}

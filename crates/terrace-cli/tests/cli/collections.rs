//! `terrace publish modules`.

mod packed;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::support::registry::Registry;
use super::support::{
    Ended, assert_has, assert_lacks, directory, ended, git, run, terrace, words, write,
};

const MAIN: &str = "resource \"aws_vpc\" \"this\" {}\n";
const NAMED: [&str; 2] = ["--address", "acme/{name}/aws"];
const BY_SYSTEM: [&str; 2] = ["--address", "acme/{name}/{system}"];

/// Commits files, and sets tags.
fn commit(place: &Path, files: &[(&str, &str)], tags: &[&str]) {
    write(place, files);
    git(place, &["add", "--all", "--force"]);
    let line = "commit --quiet --allow-empty --message change";
    git(place, &words(line));
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

/// Returns the address, the version and the status of each version, sorted and joined.
fn rows(document: &Value) -> String {
    let mut rows = super::support::rows(document, &["address", "version", "status"]);
    rows.sort();
    rows.join(", ")
}

#[test]
fn tags_of_the_repository_name_a_version_of_every_module_that_exists_then() {
    let registry = Registry::start();
    let place = repository(&[("aws/vpc/main.tf", MAIN)], &["v1.0.0"]);
    let more = [("aws/dns/main.tf", MAIN), ("azurerm/vpc/main.tf", "")];
    commit(place.path(), &more, &["v1.1.0"]);
    for status in ["created", "unchanged"] {
        let document = publish(&registry, path(&place), &BY_SYSTEM);
        let document = document.expect(0).json();
        let expected = [
            "dns/aws 1.1.0",
            "vpc/aws 1.0.0",
            "vpc/aws 1.1.0",
            "vpc/azurerm 1.1.0",
        ];
        let expected = expected.map(|it| format!("acme/{it} {status}"));
        assert_eq!(rows(&document), expected.join(", "));
    }
}

#[test]
fn a_directory_of_repositories_has_one_module_in_each() {
    let around = directory(&[("notes.txt", "")]);
    for (name, tags) in [
        ("terraform-aws-vpc", &["v1.0.0", "v1.1.0"][..]),
        ("terraform-google-vpc", &["2.0.0", "nightly"]),
        ("website", &["v3.0.0"]),
    ] {
        let place = around.path().join(name);
        fs::create_dir(&place).unwrap();
        git(&place, &["init", "--quiet"]);
        commit(&place, &[("main.tf", "")], tags);
    }
    let more = [&BY_SYSTEM[..], &["--path", "terraform-{system}-{name}"]].concat();
    let document = dry_run(path(&around), &more).expect(0).json();
    let ignored = json!(["terraform-google-vpc: nightly"]);
    assert_eq!(document["ignored_tags"], ignored);
    let expected = ["aws 1.0.0", "aws 1.1.0", "google 2.0.0"];
    let expected = expected.map(|it| format!("acme/vpc/{it} dry_run"));
    assert_eq!(rows(&document), expected.join(", "));
}

#[test]
fn files_without_git_are_published_as_the_version_of_the_command_line() {
    let registry = Registry::start();
    let place = directory(&[("modules/vpc/main.tf", MAIN), ("modules/dns/main.tf", MAIN)]);
    publish(&registry, path(&place), &NAMED).fails(2, "--version");
    let more = [&NAMED[..], &["--version", "1.2.3"]].concat();
    let document = publish(&registry, path(&place), &more).expect(0).json();
    let expected = "acme/dns/aws 1.2.3 created, acme/vpc/aws 1.2.3 created";
    assert_eq!(rows(&document), expected);
}

#[test]
fn a_call_out_of_the_repository_and_a_moved_tag_are_refused_and_the_others_are_published() {
    let registry = Registry::start();
    let call = "module \"x\" {\n  source = \"../../../common\"\n}\n";
    let files = [
        ("modules/vpc/main.tf", call),
        ("modules/dns/main.tf", MAIN),
        ("modules/dns/.env", ""),
    ];
    let place = repository(&files, &["vpc/v1.0.0", "dns/v1.0.0"]);
    fs::remove_file(place.path().join("modules/dns/.env")).unwrap();
    commit(place.path(), &[], &["dns/v1.1.0"]);
    let unneeded = [&NAMED[..], &words("--allow-secrets x.tfvars")].concat();
    let ended = publish(&registry, path(&place), &unneeded).expect(3);
    assert_lacks!(ended.stdout, "allows nothing");
    let expected =
        "acme/dns/aws 1.0.0 refused, acme/dns/aws 1.1.0 created, acme/vpc/aws 1.0.0 refused";
    assert_eq!(rows(&ended.json()), expected);
    assert_has!(
        ended.errors(),
        "acme/vpc/aws 1.0.0: modules/vpc/main.tf:2: the source \"../../../common\" leads out of the repository",
        "acme/dns/aws 1.0.0: \".env\" holds variables of an environment",
        "exclude them in .terraformignore under a new tag",
    );
    let allowed = [&NAMED[..], &words("--only dns --allow-secrets .env")].concat();
    // A published version whose tag was moved.
    write(place.path(), &[("modules/dns/new.tf", MAIN)]);
    commit(place.path(), &[], &[]);
    git(place.path(), &["tag", "--force", "dns/v1.1.0"]);
    let ended = publish(&registry, path(&place), &allowed).expect(4);
    let expected = "acme/dns/aws 1.0.0 created, acme/dns/aws 1.1.0 conflict";
    assert_eq!(rows(&ended.json()), expected);
}

#[test]
fn an_erased_version_whose_tag_stays_is_skipped() {
    let registry = Registry::start();
    let files = [("modules/vpc/main.tf", MAIN)];
    let place = repository(&files, &["vpc/v1.0.0", "vpc/v1.1.0"]);
    let reason = "acme/vpc/aws 1.0.0 was erased, and never returns: takedown";
    registry.refuse("PUT", "1.0.0", 410, &[reason]);
    let document = publish(&registry, path(&place), &NAMED).expect(0).json();
    let expected = "acme/vpc/aws 1.0.0 skipped, acme/vpc/aws 1.1.0 created";
    assert_eq!(rows(&document), expected);
    assert_has!(document.to_string(), reason);
}

#[test]
fn an_interrupted_run_is_completed_by_another_one() {
    let registry = Registry::start();
    let files = [("modules/a/main.tf", MAIN), ("modules/b/main.tf", MAIN)];
    let place = repository(&files, &["a/v1.0.0", "a/v1.1.0", "b/v1.0.0"]);
    let refused = "/modules/acme/a/aws/1.1.0";
    registry.refuse("PUT", refused, 403, &["the token lacks the scope"]);
    let more = [&NAMED[..], &words("--jobs 1 --allow-secrets .env")].concat();
    for (code, expected) in [
        (5, ["created", "not_allowed", "not_tried"]),
        (0, ["unchanged", "created", "created"]),
    ] {
        let document = publish(&registry, path(&place), &more).expect(code).json();
        // A version that was not tried may need the flag.
        let warned = document.to_string().contains("allows nothing");
        assert_eq!(warned, code == 0, "{document}");
        let [first, second, third] = expected;
        let expected = format!(
            "acme/a/aws 1.0.0 {first}, acme/a/aws 1.1.0 {second}, acme/b/aws 1.0.0 {third}"
        );
        assert_eq!(rows(&document), expected);
    }
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
    let documented = json!([{ "version": "1.0.0", "is_documented": true }]);
    registry.set_package("modules/acme/vpc/aws", &documented);
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
    let line = "tag --annotate vpc/v1.0.0 --message released";
    git(place.path(), &words(line));
    let url = format!("file://{}", path(&place));
    let source = "https://git.example.com/acme/modules";
    let more = [&NAMED[..], &["--source", source]].concat();
    let document = publish(&registry, &url, &more).expect(0).json();
    assert_eq!(rows(&document), "acme/vpc/aws 1.0.0 created");
    let description = registry.description();
    assert_eq!(description["source"], source);
    assert_eq!(description["commit"], document["versions"][0]["commit"]);
    assert_eq!(description["directory"], "modules/vpc");
    for (url, code, part) in [
        ("ext::sh -c true://", 2, "only"),
        ("http://git.example.com/modules", 2, "only"),
        ("file:///nowhere/modules.git", 1, "git failed"),
    ] {
        publish(&registry, url, &NAMED).fails(code, part);
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
    let ended = dry_run(path(&place), &BY_SYSTEM).expect(3);
    let expected = "acme/id/google 1.0.0 dry_run, acme/vpc/aws 1.0.0 dry_run, modules/net  refused, modules/none  refused";
    assert_eq!(rows(&ended.json()), expected);
    assert_has!(ended.errors(), "it requires aws, azurerm");
}

#[test]
fn a_tag_may_name_the_system_and_patterns_describe_other_layouts() {
    let files = [("aws/vpc/main.tf", MAIN), ("google/vpc/main.tf", "")];
    let place = repository(&files, &["aws-vpc-1.0.0", "google-vpc-v2.0.0"]);
    let document = dry_run(path(&place), &BY_SYSTEM).expect(0).json();
    let expected = "acme/vpc/aws 1.0.0 dry_run, acme/vpc/google 2.0.0 dry_run";
    assert_eq!(rows(&document), expected);
    let files = [("tf/aws/net/vpc/main.tf", MAIN)];
    let place = repository(&files, &["release-vpc_1.0.0", "v2.0.0"]);
    let patterns = "--address acme/net-{name}/{system} --path tf/{system}/net/{name} --tag release-{name}_{version}";
    let document = dry_run(path(&place), &words(patterns)).expect(0).json();
    assert_eq!(rows(&document), "acme/net-vpc/aws 1.0.0 dry_run");
}

#[test]
fn options_choose_modules_and_versions() {
    let files = [("modules/vpc/main.tf", MAIN), ("modules/dns/main.tf", MAIN)];
    let place = repository(&files, &["v1.0.0", "v1.1.0", "v2.0.0-rc.1"]);
    for (options, expected) in [
        (
            "--latest",
            "acme/dns/aws 1.1.0 dry_run, acme/vpc/aws 1.1.0 dry_run",
        ),
        (
            "--since 1.1.0 --only v*",
            "acme/vpc/aws 1.1.0 dry_run, acme/vpc/aws 2.0.0-rc.1 dry_run",
        ),
    ] {
        let line = [&NAMED[..], &words(options)].concat();
        let document = dry_run(path(&place), &line).expect(0).json();
        assert_eq!(rows(&document), expected);
    }
    dry_run(path(&place), &[&NAMED[..], &["--only", "x"]].concat()).fails(3, "--only");
}

#[test]
fn an_allowed_file_that_no_client_can_parse_is_a_warning_that_names_the_version() {
    let files = [
        ("modules/vpc/main.tf", MAIN),
        ("modules/vpc/broken.tf", "resource {\n"),
    ];
    let place = repository(&files, &["v1.0.0"]);
    let more = [&NAMED[..], &["--allow-unparsed", "broken.tf"]].concat();
    let warnings = dry_run(path(&place), &more).expect(0).warnings();
    assert_has!(warnings, "acme/vpc/aws 1.0.0: broken.tf:");
}

#[test]
fn a_version_that_two_tags_name_differently_is_refused() {
    let tags = ["vpc/v1.0.0", "vpc/v2.0.0", "vpc/2.0.0"];
    let place = repository(&[("modules/vpc/main.tf", MAIN)], &tags);
    commit(place.path(), &[], &["vpc/1.0.0"]);
    let ended = dry_run(path(&place), &NAMED).expect(3);
    let expected = "acme/vpc/aws 1.0.0 refused, acme/vpc/aws 2.0.0 dry_run";
    assert_eq!(rows(&ended.json()), expected);
    assert_has!(ended.errors(), "vpc/1.0.0", "vpc/v1.0.0");
}

#[test]
fn places_without_modules_or_versions_are_refused_with_what_was_found() {
    let untagged = repository(&[("modules/vpc/main.tf", MAIN)], &["release-7"]);
    let single = repository(&[("main.tf", ""), ("modules/x/main.tf", "")], &["v1.0.0"]);
    let empty = repository(&[("README.md", "")], &["v1.0.0"]);
    let inside = format!("{}/modules", path(&untagged));
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
        (&inside, 2, "the top of the repository"),
        ("/nowhere/modules", 3, "/nowhere/modules"),
    ] {
        dry_run(place, &NAMED).fails(code, part);
    }
    let module = dry_run(path(&single), &["--address", "acme/vpc/aws"]);
    assert_eq!(rows(&module.expect(0).json()), "acme/vpc/aws 1.0.0 dry_run");
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
    assert_has!(ended.stderr, "acme/modules,");
    assert_lacks!(ended.stderr, "acme/hook");
}

//! `terrace mirror add` and `terrace mirror sync` of modules. Repositories are served as files, without the protocol of git.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::command;
use crate::support::http::Response;
use crate::support::origin::{Origin, located};
use crate::support::registry::Registry;
use crate::support::{
    Ended, assert_has, assert_lacks, directory, ended, git, rows, run, run_for_people, tar_gz,
    write,
};

/// Files with their paths.
type Files<'f> = &'f [(&'f str, &'f str)];

/// A repository at an origin.
struct Repository<'o> {
    name: &'o str,
    place: TempDir,
    origin: &'o Origin,
}

impl<'o> Repository<'o> {
    fn new(origin: &'o Origin, name: &'o str, files: Files<'_>) -> Self {
        let place = tempfile::tempdir().unwrap();
        let repository = Self {
            name,
            place,
            origin,
        };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.commit(files);
        repository
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(self.place.path(), arguments)
    }

    /// Commits files, tags the commit as v1.0.0, and returns its ID.
    fn commit(&self, files: Files<'_>) -> String {
        write(self.place.path(), files);
        self.git(&["add", "--force", "."]);
        self.tag()
    }

    /// Commits what is staged.
    fn tag(&self) -> String {
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
        self.git(&["tag", "--force", "-a", "v1.0.0", "-m", "x"]);
        self.git(&["update-server-info"]);
        self.serve(&self.place.path().join(".git"), "");
        self.git(&["rev-parse", "HEAD"])
    }

    fn serve(&self, directory: &Path, below: &str) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{below}/{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() {
                self.serve(&path, &name);
                continue;
            }
            let target = format!("/git/{}.git{name}", self.name);
            let response = Response::new(200, fs::read(&path).unwrap());
            if name == "/info/refs" {
                let target = format!("{target}?service=git-upload-pack");
                self.origin.set(&target, response.clone());
            }
            self.origin.set(&target, response);
        }
    }

    fn location(&self) -> String {
        let Self { name, origin, .. } = self;
        format!("git::{}/git/{name}.git?ref=v1.0.0", origin.url())
    }
}

/// Lists the versions of the module `acme/NAME/null`, all at one location.
fn list(origin: &Origin, name: &str, versions: &[&str], location: &str) {
    let versions = versions.iter().map(|it| (*it, located(location)));
    origin.list_module(&format!("{name}/null"), &Vec::from_iter(versions));
}

fn call(name: &str, source: &str, version: &str) -> String {
    format!("module \"{name}\" {{\n  source = \"{source}\"\n  version = \"{version}\"\n}}\n")
}

fn mirror(origin: &Origin, registry: &Registry, arguments: &[&str]) -> Ended {
    let mut command = command(origin, registry, arguments);
    // Git trusts what the command trusts.
    command.env_remove("GIT_SSL_CAINFO");
    ended(command.args(["--default-host", "origin.example"]))
}

fn add(origin: &Origin, registry: &Registry, name: &str) -> Ended {
    let address = format!("origin.example/acme/{name}/null");
    mirror(origin, registry, &["add", &address])
}

/// Returns each version with its status.
fn statuses(report: &Value) -> Vec<String> {
    let rows = rows(report, &["address", "version", "status"]).into_iter();
    rows.map(|it| it.replace("origin.example/acme/", ""))
        .collect()
}

fn puts(registry: &Registry) -> Vec<String> {
    let requests = registry.requests().into_iter();
    requests.filter(|line| line.starts_with("PUT")).collect()
}

#[test]
fn called_modules_are_mirrored_first_and_nothing_is_sent_again() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let base = Repository::new(&origin, "base", &[("main.tf", "output \"a\" {}\n")]);
    list(
        &origin,
        "base",
        &["1.0.0", "1.1.0", "2.0.0"],
        &base.location(),
    );
    let git = format!(
        "module \"g\" {{\n  source = \"{}\"\n}}\nmodule \"x\" {{\n  source = var.x\n}}\n",
        base.location()
    );
    let calls = call("b", "acme/base/null", "~> 1.0") + &call("o", "acme/outer/null", "1.0.0");
    let outer = Repository::new(
        &origin,
        "outer",
        &[
            (
                "main.tf",
                &call("i", "./inner", "").replace("  version = \"\"\n", ""),
            ),
            ("inner/main.tf", &calls),
            ("modules/extra/main.tf", &git),
            (
                "examples/e/main.tf",
                &call("n", "acme/absent/null", "1.0.0"),
            ),
        ],
    );
    list(&origin, "outer", &["1.0.0"], &outer.location());
    let files = directory(&[(
        "main.tf",
        &call("o", "origin.example/acme/outer/null", ">= 1.0"),
    )]);
    let sync = || {
        mirror(
            &origin,
            &registry,
            &["sync", files.path().to_str().unwrap()],
        )
    };
    let report = sync().expect(0).json();
    let expected = ["base/null 1.1.0 created", "outer/null 1.0.0 created"];
    assert_eq!(statuses(&report), expected);
    let elsewhere = report["versions"][1]["elsewhere"].to_string();
    assert_has!(elsewhere, "modules/extra/main.tf:2: git::https", "var.x");
    let description = registry.description();
    assert_eq!(
        description["source"],
        format!("{}/git/outer.git", origin.url())
    );
    assert_eq!(description["commit"], outer.git(&["rev-parse", "HEAD"]));

    puts(&registry);
    let report = sync().expect(0).json();
    let expected = ["base/null 1.1.0 unchanged", "outer/null 1.0.0 unchanged"];
    assert_eq!(statuses(&report), expected);
    assert_eq!(puts(&registry), [""; 0]);

    let stored = "/modules/origin.example/acme/outer/null/1.0.0";
    for _ in ["the request", "its repetition"] {
        registry.refuse("GET", stored, 503, &["storage did not answer"]);
    }
    sync().fails(6, "storage did not answer");
    assert_eq!(puts(&registry), [""; 0]);

    let before = outer.git(&["rev-parse", "HEAD"]);
    let after = outer.commit(&[("new.tf", "")]);
    let errors = sync().fails(4, "nothing is replaced");
    assert_has!(errors, &before, &after);
    assert_eq!(puts(&registry), [""; 0]);
}

#[test]
fn a_version_whose_calls_cannot_be_mirrored_is_not_published() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let outer = call("a", "acme/absent/null", "1.0.0");
    let outer = Repository::new(&origin, "outer", &[("main.tf", &outer)]);
    list(&origin, "outer", &["1.0.0"], &outer.location());
    add(&origin, &registry, "outer").fails(3, "main.tf:2: acme/absent/null");
    for address in ["acme/vpc/aws", "a.example/acme/vpc/aws//x"] {
        let line = ["add", address];
        mirror(&origin, &registry, &line).fails(2, "hostname/namespace/name/system");
    }
    assert_eq!(puts(&registry), [""; 0]);
}

#[test]
fn a_package_is_that_of_a_clone_and_its_secrets_are_a_warning() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let files: Files<'_> = &[
        (".gitignore", "*.tfvars\n"),
        (
            "docs/movie.bin",
            "version https://git-lfs.github.com/spec/v1\n",
        ),
        ("modules/a/main.tf", "output \"a\" {}\n"),
        ("modules/a/terraform.tfvars", "a = 1\n"),
    ];
    let repository = Repository::new(&origin, "vpc", files);
    let location = repository.location().replace(".git?", ".git//modules/a?");
    list(&origin, "vpc", &["1.0.0"], &location);
    let ended = add(&origin, &registry, "vpc").expect(0);
    assert_has!(ended.warnings(), "terraform.tfvars");
    let description = registry.description();
    assert_eq!(description["subdir"], "modules/a");
    assert_eq!(description["directory"], "modules/a");
    let entries = terrace_archive::inspect_zip(&registry.last_archive()).unwrap();
    let names = Vec::from_iter(entries.iter().map(|entry| &*entry.name));
    assert_eq!(names, files.iter().map(|it| it.0).collect::<Vec<_>>());
}

#[test]
fn a_version_of_which_clients_would_lack_a_part_is_refused() {
    let lfs = "version https://git-lfs.github.com/spec/v1\n";
    let read = "locals {\n  a = file(\"${path.module}/files/${var.b}\")\n}\n";
    let outside = call("a", "../other", "").replace("  version = \"\"\n", "");
    let inside = call("a", "./sub", "").replace("  version = \"\"\n", "");
    let cases: [(Files<'_>, &str); 4] = [
        (&[("main.tf", lfs)], "stored by Git LFS"),
        (
            &[("main.tf", read), ("files/a.bin", lfs)],
            "main.tf:2: \"files/a.bin\" is stored by Git LFS",
        ),
        (&[("main.tf", &outside)], "leads out of the package"),
        (&[("main.tf", &inside)], "\"sub\" is a submodule of git"),
    ];
    for (files, message) in cases {
        let (origin, registry) = (Origin::start(), Registry::start());
        let repository = Repository::new(&origin, "vpc", files);
        if message.contains("submodule") {
            let submodule = format!("160000,{},sub", "a".repeat(40));
            repository.git(&["update-index", "--add", "--cacheinfo", &submodule]);
            repository.tag();
        }
        list(&origin, "vpc", &["1.0.0"], &repository.location());
        add(&origin, &registry, "vpc").fails(3, message);
        assert_eq!(puts(&registry), [""; 0], "{message}");
    }
}

#[test]
fn an_origin_that_names_no_valid_location_stores_nothing_and_reaches_no_private_host() {
    let storage = Origin::start();
    let private = format!("git::{}/vpc.git?ref=v1.0.0", storage.url());
    let cases = [
        (
            "git::https://10.0.0.1/vpc.git",
            "--archive-host 10.0.0.1:443",
        ),
        (
            "git::ssh://git@10.0.0.1/vpc.git",
            "--archive-host 10.0.0.1:22",
        ),
        (private.as_str(), "refusing to contact"),
        ("git::https://user:pa5s@git.example/vpc", "with a password"),
        ("/git/none.git", "status 404"),
        ("/files/vpc.zip", "status 404"),
        ("", "names no location"),
    ];
    for (location, message) in cases {
        let (origin, registry) = (Origin::start(), Registry::start());
        list(&origin, "vpc", &["1.0.0"], location);
        let errors = add(&origin, &registry, "vpc").fails(3, message);
        assert_lacks!(errors, "pa5s");
        assert_eq!(puts(&registry), [""; 0], "{location}");
    }
    assert!(storage.requests().is_empty());
}

#[test]
fn an_archive_is_unchanged_if_its_files_are() {
    let (origin, registry) = (Origin::start(), Registry::start());
    list(&origin, "vpc", &["1.0.0"], "/vpc.tar.gz//*?archive=tar.gz");
    let packed =
        |text: &str| Response::new(200, tar_gz(&[("vpc-1/main.tf", text), ("vpc-1/a", "")]));
    let first = packed("output \"a\" {}\n");
    let mut again = first.clone();
    // The same files in other bytes: an empty member of gzip follows.
    again.body.extend([
        31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ]);
    let add = |response: Response| {
        origin.set("/vpc.tar.gz", response);
        add(&origin, &registry, "vpc")
    };
    assert_eq!(
        statuses(&add(first).expect(0).json()),
        ["vpc/null 1.0.0 created"]
    );
    assert_eq!(registry.description()["tree"].as_str().unwrap().len(), 64);
    puts(&registry);
    assert_eq!(
        statuses(&add(again).expect(0).json()),
        ["vpc/null 1.0.0 unchanged"]
    );
    add(packed("output \"b\" {}\n")).fails(4, "files with the sha256");
    assert_eq!(puts(&registry), [""; 0]);
}

#[test]
fn installed_versions_and_ages_decide_which_version_a_call_takes() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let base = Repository::new(&origin, "base", &[("main.tf", "output \"a\" {}\n")]);
    list(
        &origin,
        "base",
        &["1.0.0", "1.1.0", "1.2.0", "1.3.0-rc.1"],
        &base.location(),
    );
    let outer = call("b", "acme/base/null", "~> 1");
    let outer = Repository::new(&origin, "outer", &[("main.tf", &outer)]);
    list(&origin, "outer", &["1.0.0"], &outer.location());
    let description = json!({ "version": "1.2.0", "published_at": "2099-01-01T00:00:00Z" });
    origin.set_json("/modules/acme/base/null/1.2.0", &description);
    let list = "[[module]]\naddress = \"origin.example/acme/outer/null\"\nversions = \"1.0.0\"\n";
    let files = directory(&[("modules.toml", list), ("installed/main.tf", "")]);
    let list = files.path().join("modules.toml");
    let line = [
        "sync",
        list.to_str().unwrap(),
        "--minimum-age",
        "3d",
        "--dry-run",
    ];
    let report = mirror(&origin, &registry, &line).expect(0).json();
    let expected = ["base/null 1.1.0 dry_run", "outer/null 1.0.0 dry_run"];
    assert_eq!(statuses(&report), expected);
    assert_eq!(puts(&registry), [""; 0]);

    let installed = json!({ "Modules": [
        { "Key": "", "Source": "", "Dir": "." },
        { "Key": "o", "Source": "registry.terraform.io/acme/outer/null", "Version": "1.0.0", "Dir": "x" },
        { "Key": "o.b", "Source": "registry.terraform.io/acme/base/null", "Version": "1.0.0", "Dir": "y" },
        { "Key": "g", "Source": "git::https://git.example/vpc", "Dir": "z" },
    ]});
    let place = files.path().join("installed/.terraform/modules");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("modules.json"), installed.to_string()).unwrap();
    let place = files.path().join("installed");
    let line = ["sync", place.to_str().unwrap(), "--minimum-age", "3d"];
    let description = json!({ "version": "1.0.0", "published_at": "2099-01-01T00:00:00Z" });
    origin.set_json("/modules/acme/base/null/1.0.0", &description);
    let errors = mirror(&origin, &registry, &line).fails(3, "outer/null");
    assert_has!(errors, "--minimum-age is 3d");
    assert_eq!(puts(&registry), [""; 0]);
    let report = mirror(&origin, &registry, &line[..2]).expect(0).json();
    let expected = ["base/null 1.0.0 created", "outer/null 1.0.0 created"];
    assert_eq!(statuses(&report), expected);
}

#[test]
fn a_module_of_either_public_registry_is_stored_by_one_name() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let base = Repository::new(&origin, "base", &[("main.tf", "output \"a\" {}\n")]);
    list(&origin, "base", &["1.0.0"], &base.location());
    let public = origin
        .place()
        .replace("origin.example", "registry.opentofu.org");
    let other = public.replace("opentofu.org", "terraform.io");
    let line = ["add", "registry.terraform.io/acme/base/null"];
    let add = |place: &str| {
        let mut command = command(&origin, &registry, &line);
        command.env_remove("GIT_SSL_CAINFO");
        ended(command.args(["--origin", place]))
    };
    for (place, status) in [(&public, "created"), (&other, "unchanged")] {
        let ended = add(place).expect(0);
        let version = &ended.json()["versions"][0];
        assert_eq!(version["address"], "registry.opentofu.org/acme/base/null");
        assert_eq!(version["status"], status, "{place}");
        assert_has!(ended.warnings(), "clients find by both names");
        assert_lacks!(ended.warnings(), "use --origin");
    }
    let block = [
        "mirror",
        "block",
        "registry.terraform.io",
        "--reason",
        "SEC-12",
    ];
    let blocked = run(&registry, &block).expect(0).json();
    let address = "registry.opentofu.org/acme/base/null";
    assert_eq!(blocked["stored"], json!([address]));
    assert_has!(add(&public).expect(0).warnings(), "is blocked", "SEC-12");
    let unblock = ["mirror", "unblock", "registry.opentofu.org"];
    let unblocked = run_for_people(&registry, &unblock).expect(0);
    assert_has!(unblocked.stdout, "but registry.terraform.io is blocked");
}

#[test]
fn mirrored_modules_are_listed_blocked_and_removed_like_providers() {
    let (origin, registry) = (Origin::start(), Registry::start());
    let base = Repository::new(&origin, "base", &[("main.tf", "output \"a\" {}\n")]);
    list(&origin, "base", &["1.0.0"], &base.location());
    add(&origin, &registry, "base").expect(0);
    let address = "origin.example/acme/base/null";
    let run = |arguments: &[&str]| run(&registry, &[&["mirror"], arguments].concat()).expect(0);
    for part in ["origin.example", "origin.example/ACME", address] {
        let listed = run(&["list", part]).json();
        assert_eq!(listed["versions"][0]["address"], address, "{part}");
        assert_eq!(listed["versions"][0]["state"], "active");
    }
    for other in ["other.example", "origin.example/acme/other/null"] {
        assert_eq!(run(&["list", other]).json()["versions"], json!([]));
    }
    let version = format!("{address}@1.0.0");
    run(&["block", &version, "--reason", "it leaks"]);
    assert_eq!(run(&["list"]).json()["versions"][0]["state"], "blocked");
    assert_eq!(run(&["blocks"]).json()["blocks"][0]["address"], address);
    let blocked = add(&origin, &registry, "base").expect(0);
    assert_eq!(statuses(&blocked.json()), ["base/null 1.0.0 unchanged"]);
    let shown = format!("{address} 1.0.0: the version is blocked");
    assert_has!(blocked.warnings(), shown, "it leaks");
    let listed = run_for_people(&registry, &["mirror", "list"]).stdout;
    assert_has!(listed, "blocked  -");
    run(&["remove", &version, "--reason", "a takedown", "--yes"]);
    assert_eq!(run(&["list"]).json()["versions"][0]["state"], "erased");
    let files = directory(&[("main.tf", &call("b", address, "1.0.0"))]);
    let line = ["sync", files.path().to_str().unwrap(), "--dry-run"];
    for line in [&line[..], &line[..2]] {
        let errors = mirror(&origin, &registry, line).fails(3, "never stores it again");
        assert_has!(errors, address);
    }
}

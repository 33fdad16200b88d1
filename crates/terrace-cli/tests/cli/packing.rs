//! The packing of a module's directory.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::support::registry::Registry;
use super::support::{Ended, assert_has, assert_lacks, directory, ended, run, terrace, words};

/// Publishes to a registry that keeps the archive, and lists its entries.
fn packed(path: &Path) -> Vec<String> {
    let registry = Registry::start();
    let line = words("publish module --address acme/vpc/aws --version 1.0.0");
    run(&registry, &[&line[..], &[path.to_str().unwrap()]].concat()).expect(0);
    let entries = terrace_archive::inspect_zip(&registry.last_archive()).unwrap();
    entries.into_iter().map(|entry| entry.name).collect()
}

fn dry_run(path: &Path) -> Ended {
    let line = "publish module --dry-run --json --address acme/vpc/aws --version 1.0.0";
    ended(terrace(&words(line)).arg(path))
}

fn digest(path: &Path) -> Value {
    dry_run(path).expect(0).json()["archives"][0]["sha256"].clone()
}

const FILES: [(&str, &str); 4] = [
    ("main.tf", "variable \"name\" {}\n"),
    ("modules/inner/main.tf", "output \"x\" { value = 1 }\n"),
    ("README.md", "# A module\n"),
    (".tflint.hcl", "\n"),
];

#[test]
fn the_same_files_make_the_same_bytes_on_any_day() {
    let module = directory(&FILES);
    let first = digest(module.path());
    // Pinned: an earlier version of the program packed this, and it must still be recognised as the same module.
    let pinned = "a83a6d78e866c29d0d9841ff676fd0d6d4a6d86b31b4b4e2f71af2414d8544f7";
    assert_eq!(first, pinned);
    let later = SystemTime::now() + Duration::from_secs(100_000);
    for (name, _) in FILES {
        let file = File::options().write(true).open(module.path().join(name));
        file.unwrap().set_modified(later).unwrap();
    }
    assert_eq!(digest(module.path()), first);
    let mut reversed = FILES;
    reversed.reverse();
    assert_eq!(digest(directory(&reversed).path()), first);
}

#[test]
fn only_the_executable_bit_of_the_mode_is_packed() {
    let module = directory(&FILES);
    let set = |mode: u32| {
        let file = module.path().join("README.md");
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        digest(module.path())
    };
    assert_eq!(set(0o644), set(0o600));
    assert_ne!(set(0o644), set(0o755));
    assert_eq!(set(0o755), set(0o6755));
}

#[test]
fn files_that_ignore_files_exclude_are_left_out() {
    let module = directory(&[
        ("main.tf", ""),
        (".gitignore", "*.log\n/build/\n!keep.log\n"),
        (".terraformignore", "examples/\n!build/\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("build/out.txt", ""),
        ("sub/build/out.txt", ""),
        ("sub/.gitignore", "secret.txt\n"),
        ("sub/secret.txt", ""),
        ("examples/main.tf", ""),
        ("sub/examples/main.tf", ""),
        (".ignore", "main.tf\n"),
    ]);
    // `.terraformignore` takes precedence.
    let expected = ".gitignore .ignore .terraformignore build/out.txt keep.log main.tf sub/.gitignore sub/build/out.txt";
    assert_eq!(packed(module.path()), words(expected));
}

#[test]
fn the_ignore_files_of_a_repository_count_up_to_its_top() {
    let around = directory(&[
        (".gitignore", "*.tf\n"),
        ("repository/.git/HEAD", ""),
        ("repository/.gitignore", "*.log\n"),
        ("repository/modules/vpc/main.tf", ""),
        ("repository/modules/vpc/a.log", ""),
    ]);
    let module = around.path().join("repository/modules/vpc");
    assert_eq!(packed(&module), ["main.tf"]);
    fs::remove_dir_all(around.path().join("repository/.git")).unwrap();
    assert_eq!(packed(&module), ["a.log", "main.tf"]);
}

#[test]
fn files_that_may_contain_secrets_are_never_packed() {
    let module = directory(&[
        ("main.tf", ""),
        (".gitignore", "!.terraform/\n!terraform.tfstate\n"),
        (".git/config", ""),
        ("sub/.git", "gitdir: ../.git/modules/sub"),
        (".terraform/modules/modules.json", ""),
        ("sub/.terraform/x", ""),
        ("terraform.tfstate", ""),
        ("terraform.tfstate.backup", ""),
        (".terraformrc", ""),
        ("terraform.rc", ""),
        (".terraform.lock.hcl", ""),
    ]);
    assert_eq!(
        packed(module.path()),
        [".gitignore", ".terraform.lock.hcl", "main.tf"]
    );
    let message = dry_run(module.path()).stderr;
    assert_has!(message, "terraform.tfstate.backup: it may contain secrets");
}

#[test]
fn a_link_is_packed_as_its_target_unless_that_is_never_packed() {
    let module = directory(&[
        ("main.tf", ""),
        ("shared/x.txt", "x"),
        ("terraform.tfstate", "secret"),
        ("TERRAFORM.TFSTATE.d/x", "secret"),
        ("terraform.tfstate_bak", "secret"),
        (".git/config", "secret"),
        (".GIT/config", "secret"),
    ]);
    for (target, name) in [
        ("shared", "linked"),
        ("shared/x.txt", "y.txt"),
        ("terraform.tfstate", "state.json"),
        (".git", "history"),
        (".git/config", "config"),
    ] {
        symlink(target, module.path().join(name)).unwrap();
    }
    let names = packed(module.path());
    assert_eq!(names, ["linked/x.txt", "main.tf", "shared/x.txt", "y.txt"]);
    let message = dry_run(module.path()).stderr;
    assert_has!(message, "state.json: it may contain secrets");
}

#[test]
fn links_that_multiply_end_the_walk_with_a_reason() {
    let module = directory(&[("main.tf", "")]);
    for depth in 0..20 {
        let place = module.path().join(format!("d{depth}"));
        fs::create_dir(&place).unwrap();
        for name in ["a", "b"] {
            symlink(format!("../d{}", depth + 1), place.join(name)).unwrap();
        }
    }
    fs::create_dir(module.path().join("d20")).unwrap();
    dry_run(module.path()).fails(3, "more than 25000");
}

#[test]
fn a_link_is_refused_with_its_target_and_nothing_is_read_through_it() {
    let around = directory(&[
        ("outside/first-secret", ""),
        ("outside/known", ""),
        ("outside/deeper/second-secret", ""),
        ("module/main.tf", ""),
        ("module/a/b/x.tf", ""),
    ]);
    let (module, outside) = (around.path().join("module"), around.path().join("outside"));
    let outside = outside.canonicalize().unwrap().display().to_string();
    let links = [
        ("root", "/"),
        ("absolute", &outside),
        ("relative", "../outside"),
        ("a/relative", "../../outside/deeper"),
        ("file", "../outside/known"),
        ("chain-1", "chain-2"),
        ("chain-2", "absolute"),
        ("above", ".."),
        ("self", "."),
        ("a/b/parent", ".."),
        ("circle-1", "circle-2"),
        ("circle-2", "circle-1"),
        ("broken", "nowhere"),
    ];
    for (name, target) in links {
        symlink(target, module.join(name)).unwrap();
    }
    let started = std::time::Instant::now();
    let errors = dry_run(&module).expect(3).errors();
    assert!(started.elapsed() < Duration::from_secs(20));
    let top = module.canonicalize().unwrap();
    for (name, target) in links {
        let place = top.join(name).display().to_string();
        let start = format!("{place}: this link leads to {target}, ");
        assert_has!(errors, start);
    }
    assert_eq!(errors.lines().count(), links.len(), "{errors}");
    assert_lacks!(errors, "secret");
    // A circle inside of the module is refused where it closes.
    let module = directory(&[("main.tf", ""), ("a/x", ""), ("b/x", "")]);
    symlink("../b", module.path().join("a/b")).unwrap();
    symlink("../a", module.path().join("b/a")).unwrap();
    let errors = dry_run(module.path()).expect(3).errors();
    for place in ["a/b/a", "b/a/b"] {
        assert_has!(errors, format!("{place}: this link leads to"));
    }
}

#[test]
fn an_ignored_link_may_lead_anywhere() {
    let module = directory(&[("main.tf", ""), (".terraformignore", "root\n")]);
    symlink("/", module.path().join("root")).unwrap();
    symlink("/nowhere", module.path().join(".terraform")).unwrap();
    assert_eq!(packed(module.path()), [".terraformignore", "main.tf"]);
}

#[test]
fn an_ignore_file_outside_of_the_module_is_not_read() {
    for (place, name) in [("", ".gitignore"), ("sub", ".terraformignore")] {
        let module = directory(&[("main.tf", ""), ("sub/main.tf", "")]);
        // The file is endless.
        symlink("/dev/zero", module.path().join(place).join(name)).unwrap();
        let errors = dry_run(module.path()).expect(3).errors();
        let message = format!("{name}: this link leads to /dev/zero, ");
        assert_has!(errors, &message);
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

#[test]
fn a_directory_with_nothing_to_pack_is_refused() {
    let module = directory(&[(".gitignore", "*\n"), ("main.tf", "")]);
    dry_run(module.path()).fails(3, "no files to pack");
    dry_run(directory(&[("README.md", "")]).path()).fails(3, ".tf");
}

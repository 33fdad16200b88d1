//! The packing of a module's directory.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::support::registry::Registry;
use super::support::{Ended, directory, ended, terrace};

/// Publishes to a registry that keeps the archive, and lists its entries.
fn packed(path: &Path) -> Vec<String> {
    let registry = Registry::start();
    let path = path.to_str().unwrap();
    let arguments = [
        "publish",
        "module",
        path,
        "--address",
        "acme/vpc/aws",
        "--version",
        "1.0.0",
    ];
    super::support::run(&registry, &arguments).expect(0);
    let archive = registry.last_archive();
    let entries = terrace_archive::inspect_zip(&archive).unwrap();
    entries.into_iter().map(|entry| entry.name).collect()
}

fn dry_run(path: &Path) -> Ended {
    let mut command = terrace(&["publish", "module", "--dry-run", "--json"]);
    command.args(["--address", "acme/vpc/aws", "--version", "1.0.0"]);
    ended(command.arg(path))
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
    // Pinned: an earlier version of the program packed this, and it must still be recognised as the same
    // module.
    assert_eq!(
        first,
        "a83a6d78e866c29d0d9841ff676fd0d6d4a6d86b31b4b4e2f71af2414d8544f7"
    );
    let later = SystemTime::now() + Duration::from_secs(100_000);
    for (name, _) in FILES {
        let file = File::options()
            .write(true)
            .open(module.path().join(name))
            .unwrap();
        file.set_modified(later).unwrap();
    }
    assert_eq!(digest(module.path()), first);
    let mut reversed = FILES;
    reversed.reverse();
    assert_eq!(digest(directory(&reversed).path()), first);
    fs::write(module.path().join("README.md"), "# Another\n").unwrap();
    assert_ne!(digest(module.path()), first);
}

#[cfg(unix)]
#[test]
fn only_the_executable_bit_of_the_mode_is_packed() {
    use std::os::unix::fs::PermissionsExt as _;
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
fn files_are_sorted_and_directories_have_no_entries() {
    let names = packed(directory(&FILES).path());
    assert_eq!(
        names,
        [
            ".tflint.hcl",
            "README.md",
            "main.tf",
            "modules/inner/main.tf"
        ]
    );
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
    let names = packed(module.path());
    assert_eq!(
        names,
        [
            ".gitignore",
            ".ignore",
            ".terraformignore",
            // `.terraformignore` takes precedence.
            "build/out.txt",
            "keep.log",
            "main.tf",
            "sub/.gitignore",
            "sub/build/out.txt",
        ]
    );
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
    assert_eq!(
        packed(&around.path().join("repository/modules/vpc")),
        ["main.tf"]
    );
    let without = directory(&[
        (".gitignore", "*.log\n"),
        ("vpc/main.tf", ""),
        ("vpc/a.log", ""),
    ]);
    assert_eq!(packed(&without.path().join("vpc")), ["a.log", "main.tf"]);
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
    assert!(
        message.contains("terraform.tfstate.backup: it may contain secrets"),
        "{message}"
    );
}

#[cfg(unix)]
#[test]
fn files_that_may_contain_secrets_are_not_packed_under_another_name() {
    use std::os::unix::fs::symlink;
    let module = directory(&[
        ("main.tf", ""),
        ("terraform.tfstate", "secret"),
        ("TERRAFORM.TFSTATE.d/x", "secret"),
        ("terraform.tfstate_bak", "secret"),
        (".git/config", "secret"),
        (".GIT/config", "secret"),
    ]);
    symlink("terraform.tfstate", module.path().join("state.json")).unwrap();
    symlink(".git", module.path().join("history")).unwrap();
    symlink(".git/config", module.path().join("config")).unwrap();
    assert_eq!(packed(module.path()), ["main.tf"]);
    let message = dry_run(module.path()).stderr;
    assert!(
        message.contains("state.json: it may contain secrets"),
        "{message}"
    );
}

#[cfg(unix)]
#[test]
fn a_link_is_packed_as_its_target() {
    use std::os::unix::fs::symlink;
    let module = directory(&[("main.tf", ""), ("shared/x.txt", "x")]);
    symlink("shared", module.path().join("linked")).unwrap();
    symlink("shared/x.txt", module.path().join("y.txt")).unwrap();
    let names = packed(module.path());
    assert_eq!(names, ["linked/x.txt", "main.tf", "shared/x.txt", "y.txt"]);
}

#[cfg(unix)]
#[test]
fn links_that_multiply_end_the_walk_with_a_reason() {
    use std::os::unix::fs::symlink;
    let module = directory(&[("main.tf", "")]);
    for depth in 0..20 {
        let place = module.path().join(format!("d{depth}"));
        fs::create_dir(&place).unwrap();
        for name in ["a", "b"] {
            symlink(format!("../d{}", depth + 1), place.join(name)).unwrap();
        }
    }
    fs::create_dir(module.path().join("d20")).unwrap();
    let refused = dry_run(module.path()).expect(3).errors();
    assert!(refused.contains("more than 25000"), "{refused}");
}

#[cfg(unix)]
#[test]
fn links_that_cannot_be_packed_are_all_reported() {
    use std::os::unix::fs::symlink;
    let outside = directory(&[("secret", ""), ("place/x", "")]);
    let module = directory(&[("main.tf", "")]);
    let link = |target: &Path, name: &str| symlink(target, module.path().join(name)).unwrap();
    link(&outside.path().join("secret"), "file");
    link(&outside.path().join("place"), "place");
    link(Path::new("nowhere"), "broken");
    link(Path::new("."), "loop");
    let errors = dry_run(module.path()).expect(3).errors();
    for name in ["file", "place", "broken", "loop"] {
        let path = module.path().canonicalize().unwrap().join(name);
        assert!(
            errors.contains(path.to_str().unwrap()),
            "{name} is not in {errors}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_refused_with_its_target_and_nothing_is_read_through_it() {
    use std::os::unix::fs::symlink;
    let around = directory(&[
        ("outside/first-secret", ""),
        ("outside/deeper/second-secret", ""),
        ("module/main.tf", ""),
        ("module/a/b/x.tf", ""),
    ]);
    let (module, outside) = (around.path().join("module"), around.path().join("outside"));
    let outside = outside.canonicalize().unwrap();
    let link = |target: &Path, name: &str| symlink(target, module.join(name)).unwrap();
    link(Path::new("/"), "root");
    link(&outside, "absolute");
    link(Path::new("../outside"), "relative");
    link(Path::new("../../outside/deeper"), "a/relative");
    link(Path::new("chain-2"), "chain-1");
    link(Path::new("absolute"), "chain-2");
    link(Path::new(".."), "above");
    link(Path::new("."), "self");
    link(Path::new(".."), "a/b/parent");
    link(Path::new("circle-2"), "circle-1");
    link(Path::new("circle-1"), "circle-2");
    link(Path::new("nowhere"), "broken");
    let started = std::time::Instant::now();
    let errors = dry_run(&module).expect(3).errors();
    assert!(started.elapsed() < Duration::from_secs(20));
    let real = |path: &Path| path.display().to_string();
    let top = module.canonicalize().unwrap();
    for (name, target, why) in [
        ("root", "/".to_owned(), "outside of the module"),
        ("absolute", real(&outside), "outside of the module"),
        (
            "relative",
            "../outside".to_owned(),
            &format!("which is {}, outside", real(&outside)),
        ),
        (
            "a/relative",
            "../../outside/deeper".to_owned(),
            "outside of the module",
        ),
        (
            "chain-1",
            "chain-2".to_owned(),
            &format!("which is {}, outside", real(&outside)),
        ),
        ("chain-2", "absolute".to_owned(), "outside of the module"),
        ("above", "..".to_owned(), "outside of the module"),
        ("self", ".".to_owned(), "contains the link itself"),
        ("a/b/parent", "..".to_owned(), "contains the link itself"),
        ("circle-1", "circle-2".to_owned(), "cannot be followed"),
        ("circle-2", "circle-1".to_owned(), "cannot be followed"),
        ("broken", "nowhere".to_owned(), "cannot be followed"),
    ] {
        let start = format!(
            "{}: this link leads to {target}, ",
            top.join(name).display()
        );
        let line = errors.lines().find(|line| line.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("{start:?} is not in {errors}"));
        assert!(line.contains(why), "{line}");
    }
    assert_eq!(errors.lines().count(), 12, "{errors}");
    assert!(!errors.contains("secret"), "{errors}");
}

#[cfg(unix)]
#[test]
fn a_circle_of_links_inside_the_module_is_refused_where_it_closes() {
    use std::os::unix::fs::symlink;
    let module = directory(&[("main.tf", ""), ("a/x", ""), ("b/x", "")]);
    symlink("../b", module.path().join("a/b")).unwrap();
    symlink("../a", module.path().join("b/a")).unwrap();
    let errors = dry_run(module.path()).expect(3).errors();
    let top = module.path().canonicalize().unwrap();
    for (place, target) in [("a/b/a", "../a"), ("b/a/b", "../b")] {
        let place = top.join(place);
        let start = format!("{}: this link leads to {target}, ", place.display());
        assert!(errors.contains(&start), "{start:?} is not in {errors}");
    }
    assert_eq!(errors.lines().count(), 2, "{errors}");
}

#[cfg(unix)]
#[test]
fn an_ignored_link_may_lead_anywhere() {
    use std::os::unix::fs::symlink;
    let module = directory(&[("main.tf", ""), (".terraformignore", "root\n")]);
    symlink("/", module.path().join("root")).unwrap();
    symlink("/nowhere", module.path().join(".terraform")).unwrap();
    assert_eq!(packed(module.path()), [".terraformignore", "main.tf"]);
}

#[cfg(unix)]
#[test]
fn an_ignore_file_outside_of_the_module_is_not_read() {
    use std::os::unix::fs::symlink;
    for (place, name) in [("", ".gitignore"), ("sub", ".terraformignore")] {
        let module = directory(&[("main.tf", ""), ("sub/main.tf", "")]);
        // The file is endless.
        symlink("/dev/zero", module.path().join(place).join(name)).unwrap();
        let errors = dry_run(module.path()).expect(3).errors();
        let message = format!("{name}: this link leads to /dev/zero, outside of the module");
        assert!(errors.contains(&message), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

#[test]
fn a_directory_with_nothing_to_pack_is_refused() {
    let module = directory(&[(".gitignore", "*\n"), ("main.tf", "")]);
    let errors = dry_run(module.path()).expect(3).errors();
    assert!(errors.contains("no files to pack"), "{errors}");
    let errors = dry_run(directory(&[("README.md", "")]).path())
        .expect(3)
        .errors();
    assert!(errors.contains(".tf"), "{errors}");
}

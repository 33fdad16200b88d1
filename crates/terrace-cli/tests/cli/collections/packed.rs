//! The packages of a collection's modules: which files of which directories they have.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{MAIN, NAMED, commit, dry_run, path, publish, repository, write};
use crate::support::registry::Registry;
use crate::support::{ended, terrace};

#[test]
fn the_contents_are_those_of_the_tag_and_the_same_as_of_a_checkout() {
    let files = [
        ("modules/vpc/main.tf", MAIN),
        ("modules/vpc/run.sh", "#!/bin/sh\n"),
        ("modules/vpc/ignored.log", "tracked"),
        (".gitignore", "*.log\n"),
    ];
    let place = repository(&files, &[]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let module = place.path().join("modules/vpc");
        fs::set_permissions(module.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("run.sh", module.join("link.sh")).unwrap();
    }
    commit(place.path(), &[], &["vpc/v1.0.0"]);
    let module = place.path().join("modules/vpc");
    let mut single = terrace(&["publish", "module", "--dry-run", "--json"]);
    single
        .args(["--address", "acme/vpc/aws", "--version", "1.0.0"])
        .arg(&module);
    let single = ended(&mut single).expect(0).json()["archives"][0]["sha256"].clone();
    // Neither later commits nor the working tree count.
    write(
        place.path(),
        &[
            ("modules/vpc/main.tf", "changed"),
            ("modules/vpc/new.tf", ""),
        ],
    );
    let document = dry_run(path(&place), &NAMED).expect(0).json();
    assert_eq!(document["versions"][0]["archive"]["sha256"], single);
    assert_eq!(dry_run(path(&place), &NAMED).expect(0).json(), document);
}

#[test]
fn a_module_that_leaves_its_directory_is_packed_with_the_modules_that_it_calls() {
    let registry = Registry::start();
    let call = "module \"x\" {\n  source = \"../common\"\n}\n";
    let place = repository(
        &[
            ("modules/vpc/main.tf", call),
            ("modules/common/main.tf", MAIN),
        ],
        &["vpc/v1.0.0", "common/v1.0.0"],
    );
    let document = publish(&registry, path(&place), &NAMED).expect(0).json();
    let row = |address: &str| {
        let rows = document["versions"].as_array().unwrap();
        rows.iter()
            .find(|row| row["address"] == address)
            .unwrap()
            .clone()
    };
    let vpc = row("acme/vpc/aws");
    assert_eq!(
        (&vpc["package"], &vpc["subdir"]),
        (&"modules".into(), &"vpc".into())
    );
    assert_eq!(vpc["directories"], serde_json::json!(["common", "vpc"]));
    assert_eq!(row("acme/common/aws")["package"], "modules/common");
    let mut shown = terrace(&["publish", "modules", path(&place), "--dry-run"]);
    let shown = ended(shown.args(NAMED)).expect(0).stdout;
    assert!(shown.contains("modules//vpc"), "{shown}");
    assert!(
        shown.contains("2 checked in a dry run: nothing was sent"),
        "{shown}"
    );
}

#[test]
fn files_of_modules_that_are_not_called_are_no_part_of_the_package() {
    let call = "module \"x\" {\n  source = \"../../shared/common\"\n}\n\
                locals {\n  text = file(\"${path.module}/../../shared/text.txt\")\n}\n";
    let place = repository(
        &[
            ("modules/vpc/main.tf", call),
            ("modules/vpc/files/a.txt", "a"),
            ("modules/vpc/b.log", ""),
            ("modules/other/main.tf", MAIN),
            ("modules/other/prod.tfvars", "password = \"x\""),
            ("modules/.gitignore", "*.log\n"),
            ("shared/common/main.tf", MAIN),
            ("shared/text.txt", "text"),
            ("README.md", ""),
        ],
        &["v1.0.0"],
    );
    let more = [&NAMED[..], &["--only", "vpc"]].concat();
    let of_tag = dry_run(path(&place), &more).expect(0);
    let row = &of_tag.json()["versions"][0];
    assert_eq!(row["archive"]["files"], 3, "{row}");
    assert_eq!(row["subdir"], "modules/vpc");
    assert_eq!(
        row["directories"],
        serde_json::json!(["modules/vpc", "shared/common"])
    );
    let warning =
        "modules/vpc/main.tf:5: \"${path.module}/../../shared/text.txt\" is outside of the package";
    assert!(of_tag.stderr.contains(warning), "{of_tag:?}");
    // A working tree has the same package.
    let more = [&more[..], &["--version", "1.0.0"]].concat();
    let of_files = dry_run(path(&place), &more).expect(0).json();
    assert_eq!(of_files["versions"][0]["archive"], row["archive"]);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_file_beside_the_packed_directories_is_packed_as_its_target() {
    let call = "module \"x\" {\n  source = \"../common\"\n}\n";
    let place = repository(
        &[
            ("modules/vpc/main.tf", call),
            ("modules/common/main.tf", MAIN),
            ("modules/versions.tf", MAIN),
            ("modules/files/a.txt", "a"),
            ("elsewhere/far.tf", MAIN),
        ],
        &[],
    );
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, place.path().join("modules/vpc").join(name)).unwrap();
    };
    link("../versions.tf", "versions.tf");
    link("../files", "files");
    commit(place.path(), &[], &["v1.0.0"]);
    let more = [&NAMED[..], &["--only", "vpc"]].concat();
    let of_tag = dry_run(path(&place), &more).expect(0).json()["versions"][0]["archive"].clone();
    assert_eq!(of_tag["files"], 4);
    let version = [&more[..], &["--version", "1.0.0"]].concat();
    let of_files = dry_run(path(&place), &version).expect(0).json();
    assert_eq!(of_files["versions"][0]["archive"], of_tag);
    link("../../elsewhere/far.tf", "far.tf");
    commit(place.path(), &[], &["v2.0.0"]);
    let refused = dry_run(path(&place), &[&more[..], &["--since", "2.0.0"]].concat()).expect(3);
    assert!(
        refused
            .errors()
            .contains("this link leads to ../../elsewhere/far.tf"),
        "{refused:?}"
    );
}

#[test]
fn a_file_that_the_repository_does_not_have_is_refused() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let place = repository(
        &[
            ("modules/vpc/main.tf", MAIN),
            ("modules/vpc/image.png", pointer),
        ],
        &["v1.0.0"],
    );
    let errors = dry_run(path(&place), &NAMED).expect(3).errors();
    assert!(
        errors.contains("image.png is stored by Git LFS"),
        "{errors}"
    );
}

/// Writes an object without git's own checks, and returns its ID.
fn object(place: &Path, kind: &str, bytes: &[u8]) -> String {
    let mut git = Command::new("git");
    git.arg("-C")
        .arg(place)
        .args(["hash-object", "-w", "--stdin", "--literally", "-t", kind]);
    git.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut git = git.spawn().expect("git is on PATH");
    git.stdin.take().unwrap().write_all(bytes).unwrap();
    let done = git.wait_with_output().unwrap();
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Writes a tree with these modes, names and objects.
fn tree(place: &Path, entries: &[(&str, &str, &str)]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend(format!("{mode} {name}\0").bytes());
        let digits = id
            .as_bytes()
            .chunks(2)
            .map(|it| str::from_utf8(it).unwrap());
        bytes.extend(digits.map(|it| u8::from_str_radix(it, 16).unwrap()));
    }
    object(place, "tree", &bytes)
}

#[test]
fn trees_whose_names_lead_to_other_places_are_refused() {
    let place = repository(&[("README.md", "")], &[]);
    let target = tempfile::tempdir().unwrap();
    let top = place.path();
    let main = object(top, "blob", MAIN.as_bytes());
    let link = object(top, "blob", path(&target).as_bytes());
    let inner = tree(top, &[("100644", "evil", &main)]);
    for (number, entries, part) in [
        (
            1,
            &[("100644", "../evil", main.as_str())][..],
            "leads to another place",
        ),
        (
            2,
            &[("40000", "..", inner.as_str())],
            "leads to another place",
        ),
        (
            3,
            &[
                ("120000", "a", link.as_str()),
                ("40000", "a", inner.as_str()),
            ],
            "a: ",
        ),
        (
            4,
            &[
                ("40000", "a", inner.as_str()),
                ("40000", "a", inner.as_str()),
            ],
            "a: ",
        ),
    ] {
        let entries = [&[("100644", "main.tf", main.as_str())][..], entries].concat();
        let module = tree(top, &entries);
        let modules = tree(top, &[("40000", "vpc", &module)]);
        let root = tree(top, &[("40000", "modules", &modules)]);
        let author = "Test <test@example.com> 1700000000 +0000";
        let text = format!("tree {root}\nauthor {author}\ncommitter {author}\n\nx\n");
        let commit = object(top, "commit", text.as_bytes());
        let tag = format!("vpc/v{number}.0.0");
        fs::create_dir_all(top.join(".git/refs/tags/vpc")).unwrap();
        fs::write(top.join(".git/refs/tags").join(&tag), format!("{commit}\n")).unwrap();
        let version = format!("{number}.0.0");
        let more = [
            &NAMED[..],
            &["--path", "modules/{name}", "--since", &version],
        ]
        .concat();
        let errors = dry_run(path(&place), &more).expect(3).errors();
        assert!(errors.contains(part), "{tag}: {errors}");
    }
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_directory_that_is_packed_in_part_is_refused() {
    let call = "module \"x\" {\n  source = \"../shared/common\"\n}\n";
    let place = repository(
        &[
            ("modules/vpc/main.tf", call),
            ("modules/shared/common/main.tf", MAIN),
            ("modules/shared/other.txt", ""),
        ],
        &[],
    );
    std::os::unix::fs::symlink("../shared", place.path().join("modules/vpc/all")).unwrap();
    commit(place.path(), &[], &["v1.0.0"]);
    let more = [&NAMED[..], &["--only", "vpc"]].concat();
    let errors = dry_run(path(&place), &more).expect(3).errors();
    let expected =
        "modules/vpc/all: this link leads to modules/shared, of which only a part is packed";
    assert!(errors.contains(expected), "{errors}");
}

//! The packages of a collection's modules: which files of which directories they have.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::{MAIN, NAMED, commit, dry_run, path, repository};
use crate::support::{assert_has, ended, terrace, words};

#[test]
fn the_contents_are_those_of_the_tag_and_the_same_as_of_a_checkout() {
    let files = [
        ("modules/vpc/main.tf", MAIN),
        ("modules/vpc/run.sh", "#!/bin/sh\n"),
        ("modules/vpc/ignored.log", "tracked"),
        (".gitignore", "*.log\n"),
    ];
    let place = repository(&files, &[]);
    let module = place.path().join("modules/vpc");
    fs::set_permissions(module.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("run.sh", module.join("link.sh")).unwrap();
    commit(place.path(), &[], &["vpc/v1.0.0"]);
    let single = "publish module --dry-run --json --address acme/vpc/aws --version 1.0.0";
    let single = ended(terrace(&words(single)).arg(&module)).expect(0).json();
    // Neither later commits nor the working tree count.
    fs::write(module.join("main.tf"), "changed").unwrap();
    fs::write(module.join("new.tf"), "").unwrap();
    let document = dry_run(path(&place), &NAMED).expect(0).json();
    let sha256 = &document["versions"][0]["archive"]["sha256"];
    assert_eq!(*sha256, single["archives"][0]["sha256"]);
    assert_eq!(dry_run(path(&place), &NAMED).expect(0).json(), document);
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
    assert_eq!(row["package"], "");
    assert_eq!(row["subdir"], "modules/vpc");
    assert_eq!(row["directories"], json!(["modules/vpc", "shared/common"]));
    let warning =
        "modules/vpc/main.tf:5: \"${path.module}/../../shared/text.txt\" is outside of the package";
    assert_has!(of_tag.stderr, warning);
    // A working tree has the same package.
    let more = [&more[..], &["--version", "1.0.0"]].concat();
    let of_files = dry_run(path(&place), &more).expect(0).json();
    assert_eq!(of_files["versions"][0]["archive"], row["archive"]);
    let mut shown = terrace(&["publish", "modules", path(&place), "--dry-run"]);
    let shown = ended(shown.args(&more)).expect(0).stdout;
    assert_has!(shown, ".//modules/vpc", "nothing was sent");
}

#[test]
fn a_link_to_a_file_beside_the_packed_directories_is_packed_as_its_target() {
    let call = "module \"x\" {\n  source = \"../shared/common\"\n}\n";
    let files = [
        ("modules/vpc/main.tf", call),
        ("modules/shared/common/main.tf", MAIN),
        ("modules/shared/other.txt", ""),
        ("modules/versions.tf", MAIN),
        ("modules/files/a.txt", "a"),
        ("elsewhere/far.tf", MAIN),
    ];
    let place = repository(&files, &[]);
    let link = |target: &str, name: &str| {
        symlink(target, place.path().join("modules/vpc").join(name)).unwrap();
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
    // A directory of which only a part is packed otherwise.
    link("../shared", "all");
    commit(place.path(), &[], &["v2.0.0"]);
    let since = [&more[..], &["--since", "2.0.0"]].concat();
    let linked = dry_run(path(&place), &since).expect(0).json();
    assert_eq!(linked["versions"][0]["archive"]["files"], 6);
    link("../../elsewhere/far.tf", "far.tf");
    commit(place.path(), &[], &["v3.0.0"]);
    let since = [&more[..], &["--since", "3.0.0"]].concat();
    dry_run(path(&place), &since).fails(
        3,
        "modules/vpc/far.tf is a link that leads out of the package",
    );
}

#[test]
fn a_file_that_the_repository_does_not_have_is_refused() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let files = [
        ("modules/vpc/main.tf", MAIN),
        ("modules/vpc/image.png", pointer),
    ];
    let place = repository(&files, &["v1.0.0"]);
    dry_run(path(&place), &NAMED).fails(3, "image.png is stored by Git LFS");
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
    let tree_of = |name: &'static str| ("40000", name, inner.as_str());
    for (number, entries, part) in [
        (
            1,
            &[("100644", "../evil", &*main)][..],
            "leads to another place",
        ),
        (2, &[tree_of("..")], "leads to another place"),
        (3, &[("120000", "a", &*link), tree_of("a")], "a is a link"),
        (4, &[tree_of("a"), tree_of("a")], "a/evil: "),
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
        let since = ["--path", "modules/{name}", "--since", &version];
        let more = [&NAMED[..], &since].concat();
        dry_run(path(&place), &more).fails(3, part);
    }
    assert_eq!(fs::read_dir(target.path()).unwrap().count(), 0);
}

//! Directories as programs write them, and with errors that people make.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use super::*;

const ACME: &str = "a.example/acme/widget";
const ZIP: &str = "a.example/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip";
const H1: &str = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    directory
}

/// Writes the files that `terraform providers mirror` writes for one version and one platform.
fn mirror(archives: &str) -> TempDir {
    directory(&[
        (
            &format!("{ACME}/index.json"),
            r#"{"versions":{"1.0.0":{}}}"#,
        ),
        (&format!("{ACME}/1.0.0.json"), archives),
        (ZIP, "zip"),
    ])
}

fn archive(url: &str, hashes: &str) -> String {
    format!(r#"{{"archives":{{"linux_amd64":{{"url":"{url}","hashes":{hashes}}}}}}}"#)
}

fn name() -> &'static str {
    ZIP.rsplit('/').next().unwrap()
}

fn read(directory: &TempDir) -> Directory {
    Directory::read(directory.path(), None).unwrap()
}

/// Returns the errors in the only version.
#[track_caller]
fn reasons(directory: &TempDir) -> String {
    let found = read(directory);
    assert_eq!(found.versions.len(), 1, "{found:?}");
    found.versions[0].reasons.join("\n")
}

/// Returns the skipped paths, each with the end of its path and the reason.
fn skipped(found: &Directory, top: &Path) -> Vec<(String, String)> {
    let tail = |skipped: &Skipped| {
        let path = Path::new(&skipped.path).strip_prefix(top).unwrap();
        (path.to_str().unwrap().to_owned(), skipped.reason.clone())
    };
    found.skipped.iter().map(tail).collect()
}

#[test]
fn zips_that_no_json_lists_are_accepted_in_order() {
    let found = read(&directory(&[
        (ZIP, "zip"),
        (&ZIP.replace("linux", "darwin"), "zip"),
        (&ZIP.replace("1.0.0", "1.10.0"), "zip"),
        (&ZIP.replace("1.0.0", "1.9.0"), "zip"),
    ]));
    let versions = found.versions.iter();
    let numbers: Vec<String> = versions.map(|it| it.version.to_string()).collect();
    assert_eq!(numbers, ["1.0.0", "1.9.0", "1.10.0"]);
    assert_eq!(found.versions[0].packages.len(), 2);
    assert_eq!(found.versions[0].reasons, [""; 0]);
}

#[test]
fn a_second_zip_for_a_listed_platform_is_skipped() {
    let directory = mirror(&archive("widget.zip", "[]"));
    fs::write(directory.path().join(ACME).join("widget.zip"), "zip").unwrap();
    let found = read(&directory);
    assert_eq!(found.versions[0].reasons, [""; 0]);
    assert_eq!(found.versions[0].packages.len(), 1);
    let skipped = skipped(&found, directory.path());
    assert_eq!(skipped[0].0, ZIP);
    assert!(skipped[0].1.contains("widget.zip"), "{skipped:?}");
}

#[test]
fn foreign_files_are_skipped_at_every_level() {
    let directory = mirror(&archive(name(), "[]"));
    let files = [
        ".git/config",
        "README.md",
        "a.example/acme/notes.txt",
        "a.example/acme/widget/.terraform-provider-widget_1.0.0_linux_amd64.zip",
        "a.example/acme/widget/1.0.0/linux_amd64/terraform-provider-widget",
        "a.example/acme/widget/latest.json",
        "a.example/notes.txt",
    ];
    for file in files {
        let path = directory.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let found = read(&directory);
    assert_eq!(found.versions[0].reasons, [""; 0]);
    assert_eq!(found.versions[0].packages.len(), 1);
    let skipped = skipped(&found, directory.path());
    assert_eq!(skipped.len(), files.len());
    for ((path, _), file) in skipped.iter().zip(files) {
        assert!(file.starts_with(path), "{path}, {file}");
    }
}

#[test]
fn a_zip_that_clients_would_not_find_is_an_error() {
    for name in [
        "terraform-provider-widget_v1.0.0_linux_amd64.zip",
        "terraform-provider-gadget_1.0.0_linux_amd64.zip",
        "widget.zip",
    ] {
        let directory = mirror(&archive(self::name(), "[]"));
        let path = directory.path().join("a.example/acme/widget").join(name);
        fs::write(path, "zip").unwrap();
        let found = read(&directory);
        let reasons = &found.reasons;
        assert!(
            reasons[0].contains(name) && reasons[0].contains("rename it"),
            "{reasons:?}"
        );
        assert!(found.skipped.is_empty(), "{found:?}");
    }
}

#[test]
fn a_version_that_the_index_lists_must_exist_5_4() {
    let directory = mirror(&archive(name(), "[]"));
    let index = directory.path().join(ACME).join("index.json");
    fs::write(&index, r#"{"versions":{"1.0.0":{},"1.1.0":{},"1":{}}}"#).unwrap();
    let found = read(&directory);
    assert_eq!(found.versions[0].reasons, [""; 0]);
    let reasons = found.versions[1].reasons.join("\n");
    assert!(
        reasons.contains("neither 1.1.0.json nor a zip"),
        "{reasons}"
    );
}

#[test]
fn an_index_that_is_missing_incomplete_or_damaged_hides_no_version() {
    let directory = mirror(&archive(name(), "[]"));
    let index = directory.path().join(ACME).join("index.json");
    for (text, is_error) in [(r#"{"versions":{}}"#, false), ("{", true)] {
        fs::write(&index, text).unwrap();
        let found = read(&directory);
        assert_eq!(found.reasons.len(), usize::from(is_error), "{found:?}");
        assert_eq!(found.versions.len(), 1);
    }
    fs::remove_file(&index).unwrap();
    assert_eq!(reasons(&directory), "");
}

#[test]
fn an_error_in_the_json_of_a_version_is_reported_with_its_path() {
    let platform = archive(name(), "[]").replace("linux_amd64\"", "Linux\"");
    let long = format!("{}{}", archive(name(), "[]"), " ".repeat(5_000_000));
    let mut cases = vec![
        (String::new(), "1.0.0.json"),
        ("[]".to_owned(), "1.0.0.json"),
        (r#"{"archives":{}}"#.to_owned(), "lists no archives"),
        (r#"{"archives":{"linux_amd64":{}}}"#.to_owned(), "url"),
        (platform, r#"platform "Linux""#),
        (long, "larger than"),
        (archive("absent.zip", "[]"), "absent.zip does not exist"),
    ];
    // A URL that leads out of the directory.
    for url in [
        "https://releases.example.com/x.zip",
        "/etc/passwd",
        "../../../../x.zip",
        "..%2f..%2f..%2f..%2fx.zip",
    ] {
        cases.push((archive(url, "[]"), url));
    }
    for (text, part) in cases {
        let reasons = reasons(&mirror(&text));
        assert!(reasons.contains(part), "{part}: {reasons}");
        assert!(reasons.contains("1.0.0.json"), "{reasons}");
    }
}

#[test]
fn hashes_of_unknown_schemes_are_ignored_and_malformed_ones_rejected_5_8() {
    let directory = mirror(&archive(name(), &format!(r#"["h9:abc","{H1}"]"#)));
    assert_eq!(read(&directory).versions[0].packages[0].hashes.len(), 1);
    for wrong in ["abc", "h1:abc", "zh:ABC", ""] {
        let reasons = reasons(&mirror(&archive(name(), &format!(r#"["{wrong}"]"#))));
        assert!(reasons.contains(&format!("{wrong:?}")), "{reasons}");
        assert!(reasons.contains(name()), "{reasons}");
    }
}

#[test]
fn links_that_stay_inside_are_followed_and_those_that_lead_out_refused() {
    let outside = directory(&[("widget.zip", "zip"), ("acme/x.zip", "zip")]);
    let directory = mirror(&archive(name(), "[]"));
    let (zip, kept) = (directory.path().join(ZIP), directory.path().join("kept"));
    fs::rename(&zip, &kept).unwrap();
    symlink(&kept, &zip).unwrap();
    assert_eq!(reasons(&directory), "");

    for (target, reason) in [("widget.zip", "leads out"), ("nothing", "does not exist")] {
        fs::remove_file(&zip).unwrap();
        symlink(outside.path().join(target), &zip).unwrap();
        let listed = reasons(&directory);
        assert!(listed.contains(reason) && listed.contains(ZIP), "{listed}");
    }

    fs::remove_file(directory.path().join(ACME).join("1.0.0.json")).unwrap();
    let unlisted = reasons(&directory);
    assert!(unlisted.contains("does not exist"), "{unlisted}");

    symlink(outside.path(), directory.path().join("b.example")).unwrap();
    let found = read(&directory);
    assert!(
        found.reasons[0].contains("b.example is a link"),
        "{found:?}"
    );
}

#[test]
fn a_host_with_a_port_and_that_of_the_registry_itself_are_left_out_with_the_reason_5_6() {
    let own = OwnHosts::new("https://a.example", &[]);
    for (host, part) in [("a.example:8443", "port"), ("a.example", "registry's own")] {
        let directory = directory(&[(&ZIP.replace("a.example", host), "zip")]);
        let found = Directory::read(directory.path(), Some(own)).unwrap();
        assert!(found.versions.is_empty());
        let [(path, reason)] = &skipped(&found, directory.path())[..] else {
            panic!("{found:?}");
        };
        assert_eq!(path, host);
        assert!(reason.contains(part), "{reason}");
    }
}

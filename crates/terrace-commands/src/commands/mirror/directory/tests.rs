//! Directories as programs write them, and with errors that people make.

use std::fs;
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
fn the_layout_of_terraform_and_tofu_is_read_5_11() {
    for hashes in [
        format!(r#"["{H1}"]"#),
        format!(r#"["zh:{}"]"#, "0".repeat(64)),
        format!(r#"["{H1}","zh:{}"]"#, "0".repeat(64)),
    ] {
        let directory = mirror(&archive(name(), &hashes));
        let found = read(&directory);
        assert_eq!(found.versions.len(), 1);
        let version = &found.versions[0];
        assert_eq!(version.address.to_string(), ACME);
        assert_eq!(version.version.to_string(), "1.0.0");
        assert_eq!(version.reasons, [""; 0]);
        let package = &version.packages[0];
        assert_eq!(package.platform.to_string(), "linux_amd64");
        assert_eq!(package.path, directory.path().join(ZIP));
        assert_eq!(package.hashes.len(), hashes.split(',').count());
        assert!(found.skipped.is_empty(), "{found:?}");
        assert!(found.reasons.is_empty(), "{found:?}");
    }
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

#[cfg(unix)] // Elsewhere no name of a file has a colon.
#[test]
fn a_hostname_with_a_port_is_skipped_with_the_reason_5_6() {
    let directory = directory(&[(&ZIP.replace("a.example", "a.example:8443"), "zip")]);
    let found = read(&directory);
    assert!(found.versions.is_empty());
    let [(path, reason)] = &skipped(&found, directory.path())[..] else {
        panic!("{found:?}");
    };
    assert_eq!(path, "a.example:8443");
    assert!(reason.contains("port"), "{reason}");
}

#[test]
fn a_listed_zip_that_is_missing_is_reported_with_its_path() {
    let directory = mirror(&archive(name(), "[]"));
    fs::remove_file(directory.path().join(ZIP)).unwrap();
    let reasons = reasons(&directory);
    assert!(reasons.contains("1.0.0.json: "), "{reasons}");
    assert!(reasons.contains(ZIP), "{reasons}");
    assert!(reasons.contains("does not exist"), "{reasons}");
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
fn json_that_is_not_of_a_mirror_is_reported_with_its_path() {
    let platform = archive(name(), "[]").replace("linux_amd64\"", "Linux\"");
    let long = format!("{}{}", archive(name(), "[]"), " ".repeat(5_000_000));
    for (text, part) in [
        ("", "1.0.0.json"),
        ("[]", "1.0.0.json"),
        (r#"{"archives":{}}"#, "1.0.0.json"),
        (r#"{"archives":{"linux_amd64":{}}}"#, "1.0.0.json"),
        (&platform, r#"platform "Linux""#),
        (&long, "larger than"),
    ] {
        let reasons = reasons(&mirror(text));
        assert!(reasons.contains(part), "{part}: {reasons}");
    }
}

#[test]
fn a_url_that_leads_out_of_the_directory_is_refused() {
    for url in [
        "https://releases.example.com/x.zip",
        "/etc/passwd",
        "../../../../x.zip",
        "..%2f..%2f..%2f..%2fx.zip",
    ] {
        let reasons = reasons(&mirror(&archive(url, "[]")));
        assert!(reasons.contains(url), "{reasons}");
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

#[cfg(unix)]
#[test]
fn links_that_stay_inside_are_followed_and_those_that_lead_out_refused() {
    use std::os::unix::fs::symlink;

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
fn a_missing_directory_is_reported_with_advice() {
    let error = Directory::read(Path::new("/nowhere/at/all"), None).unwrap_err();
    assert!(error.contains("/nowhere/at/all"), "{error}");
    assert!(error.contains("providers mirror"), "{error}");
}

#[test]
fn the_registrys_own_providers_are_left_out() {
    let directory = mirror(&archive(name(), "[]"));
    let own = OwnHosts::new("https://a.example", &[]);
    let found = Directory::read(directory.path(), Some(own)).unwrap();
    assert!(found.versions.is_empty());
    let skipped = skipped(&found, directory.path());
    assert_eq!(skipped[0].0, "a.example");
}

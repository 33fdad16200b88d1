//! `terrace publish provider`.

use std::fs;
use std::io::{Cursor, Write as _};
use std::path::Path;

use terrace_base::digest::Sha256;

use super::support::http::Response;
use super::support::registry::{Fault, Registry, errors};
use super::support::{Dist, Ended, NAME, ended, fixture, run, terrace};

#[track_caller]
fn publish(registry: &Registry, dist: &Dist) -> Ended {
    run(
        registry,
        &["publish", "provider", &dist.path(), "--namespace", "acme"],
    )
}

#[track_caller]
fn dry_run(registry: &Registry, dist: &Dist) -> Ended {
    let line = ["publish", "provider", &dist.path(), "--namespace", "acme"];
    run(registry, &[&line[..], &["--dry-run"]].concat())
}

/// Runs the command and checks that it fails before any request.
#[track_caller]
fn refused(dist: &Dist) -> String {
    let registry = Registry::start();
    let errors = publish(&registry, dist).expect(3).errors();
    assert_eq!(registry.requests(), [""; 0], "nothing may be asked");
    errors
}

fn lines_without(text: &str, part: &str) -> String {
    let kept = text.lines().filter(|line| !line.contains(part));
    kept.map(|line| format!("{line}\n")).collect()
}

const RELEASE: &str = "PUT /admin/v1/providers/acme/hello/1.2.3";
const KEYS: &str = "GET /admin/v1/namespaces/acme/keys";

#[test]
fn a_release_is_described_its_archives_are_sent_and_it_is_described_again() {
    let registry = Registry::start();
    let ended = publish(&registry, &Dist::new()).expect(0);
    let report = ended.json();
    assert_eq!(report["status"], "created");
    assert_eq!(
        (&report["address"], &report["version"]),
        (&"acme/hello".into(), &"1.2.3".into())
    );
    assert_eq!(report["uploaded"].as_array().unwrap().len(), 6);
    // The key of the release is an Ed25519 one.
    let warnings = report["warnings"].as_array().unwrap();
    assert!(
        warnings[0]
            .as_str()
            .unwrap()
            .contains("Terraform before 1.6.0")
    );
    assert_eq!(warnings.len(), 1, "{ended:?}");
    let requests = registry.requests();
    assert_eq!(requests[..2], [RELEASE, KEYS]);
    assert!(
        requests[2..8]
            .iter()
            .all(|line| line.starts_with("PUT /bucket/"))
    );
    assert_eq!(requests[8..], [RELEASE]);
}

#[test]
fn the_description_is_complete() {
    let registry = Registry::start();
    publish(&registry, &Dist::new()).expect(0);
    let description = registry.description();
    assert_eq!(description["protocols"], serde_json::json!(["6.0"]));
    let shasums = fs::read_to_string(Dist::new().file("SHA256SUMS")).unwrap();
    assert_eq!(description["shasums"], shasums);
    let packages = description["packages"].as_array().unwrap();
    let platform = |package: &serde_json::Value| {
        format!(
            "{}_{}",
            package["os"].as_str().unwrap(),
            package["arch"].as_str().unwrap()
        )
    };
    let platforms: Vec<String> = packages.iter().map(platform).collect();
    assert_eq!(
        platforms,
        [
            "darwin_amd64",
            "darwin_arm64",
            "freebsd_amd64",
            "linux_amd64",
            "linux_arm64",
            "windows_amd64"
        ]
    );
    let linux = &packages[3];
    assert_eq!(linux["filename"], format!("{NAME}_linux_amd64.zip"));
    assert_eq!(linux["size"], 299);
    // Computed by Go's dirhash.Hash1, independently.
    assert_eq!(
        linux["h1"],
        "h1:pxtubu1FkPTGFvdPiX+uqyiDco+HPe04ej1tnFf4rso="
    );
}

#[test]
fn uploads_have_the_signed_headers_a_length_and_no_token() {
    let registry = Registry::start();
    publish(&registry, &Dist::new()).expect(0);
    let uploads = registry.uploads();
    assert_eq!(uploads.len(), 6);
    for upload in uploads {
        let header = |name: &str| upload.headers.get(name).map(String::as_str);
        assert_eq!(header("content-type"), Some("application/zip"));
        assert_eq!(header("if-none-match"), Some("*"));
        assert!(header("x-amz-checksum-sha256").is_some());
        assert!(upload.content_length() > 0);
        assert_eq!(header("transfer-encoding"), None);
        assert_eq!(header("authorization"), None);
    }
}

#[test]
fn four_archives_are_sent_at_once_and_no_more() {
    let registry = Registry::start();
    publish(&registry, &Dist::new()).expect(0);
    assert_eq!(registry.most_uploads_at_once(), 4);
}

#[test]
fn the_same_release_again_is_unchanged_and_sends_nothing() {
    let registry = Registry::start();
    let dist = Dist::new();
    publish(&registry, &dist).expect(0);
    registry.requests();
    let report = publish(&registry, &dist).expect(0).json();
    assert_eq!(report["status"], "unchanged");
    let status = "GET /api/v1/providers/acme/hello/1.2.3";
    assert_eq!(registry.requests(), [RELEASE, status]);
}

#[test]
fn a_published_release_stays_unchanged_when_its_key_was_removed() {
    let registry = Registry::start();
    let dist = Dist::new();
    publish(&registry, &dist).expect(0);
    run(&registry, &["key", "remove", "acme", "61C051AC9CA350D4"]).expect(0);
    assert_eq!(
        publish(&registry, &dist).expect(0).json()["status"],
        "unchanged"
    );
}

#[test]
fn other_bytes_for_a_published_version_are_a_conflict() {
    let registry = Registry::start();
    let dist = Dist::new();
    publish(&registry, &dist).expect(0);
    let manifest = r#"{"metadata":{"protocol_versions":["5.0"]}}"#;
    fs::write(dist.file("manifest.json"), manifest).unwrap();
    dist.edit_shasums(|text| lines_without(text, "manifest"));
    let ended = publish(&registry, &dist).expect(4);
    assert_eq!(ended.json()["status"], "conflict");
    assert!(ended.errors().contains("other bytes"), "{ended:?}");
}

#[test]
fn a_conflict_names_the_packages_that_differ() {
    let registry = Registry::start();
    let dist = Dist::new();
    let different = "linux_amd64 has the sha256 aaaa and 7 bytes";
    let conflict = errors(409, &["acme/hello 1.2.3 is already published", different]);
    registry.fail("PUT", "/providers/", Fault::Answer(conflict));
    let arguments = ["publish", "provider", &dist.path(), "--namespace", "acme"];
    let message = run(&registry, &arguments).expect(4).errors();
    assert_eq!(message.lines().count(), 1, "{message}");
    let (_, mine) = message.split_once(". Of yours: ").unwrap();
    assert!(
        mine.starts_with("terraform-provider-hello_1.2.3_linux_amd64.zip has "),
        "{message}"
    );
    assert!(!mine.contains("darwin"), "{message}");
}

#[test]
fn a_rejection_by_the_registry_is_reported_with_all_reasons() {
    let registry = Registry::start();
    let body = r#"{"status":"invalid","errors":["one reason","another"]}"#;
    registry.fail("PUT", "/admin/", Fault::Answer(Response::new(422, body)));
    let ended = publish(&registry, &Dist::new()).expect(3);
    assert_eq!(ended.errors(), "one reason\nanother");
    assert_eq!(registry.requests(), [RELEASE]);
}

#[test]
fn a_wrong_key_is_reported_before_archives_are_sent() {
    let registry = Registry::without_keys();
    let ended = publish(&registry, &Dist::new()).expect(3);
    assert!(ended.errors().contains("terrace key add acme"), "{ended:?}");
    registry.add_key("other.asc");
    let ended = publish(&registry, &Dist::new()).expect(3);
    assert!(ended.errors().contains("61C051AC9CA350D4"), "{ended:?}");
    assert!(registry.uploads().is_empty());
}

#[test]
fn a_signature_of_another_text_is_reported_before_archives_are_sent() {
    let registry = Registry::start();
    let dist = Dist::new();
    // Clients accept this text as well, but it is not the signed one.
    dist.edit_shasums(|text| text.replace("  ", " "));
    let ended = publish(&registry, &dist).expect(3);
    assert!(ended.errors().contains("signature"), "{ended:?}");
    assert!(registry.uploads().is_empty());
}

#[test]
fn a_dry_run_needs_no_registry_and_shows_the_request() {
    let dist = Dist::new();
    let arguments = [
        "publish",
        "provider",
        &dist.path(),
        "--namespace",
        "acme",
        "--dry-run",
    ];
    let text = ended(&mut terrace(&arguments)).expect(0);
    assert!(text.stdout.contains("Nothing was sent"), "{text:?}");
    let registry = Registry::start();
    let report = run(&registry, &arguments).expect(0).json();
    assert_eq!(report["status"], "dry_run");
    assert_eq!(
        report["request"]["path"],
        "/admin/v1/providers/acme/hello/1.2.3"
    );
    assert_eq!(
        report["request"]["body"]["packages"]
            .as_array()
            .unwrap()
            .len(),
        6
    );
    assert_eq!(registry.requests(), [""; 0]);
}

#[test]
fn dist_is_the_default() {
    let dist = Dist::new();
    let mut command = terrace(&["publish", "provider", "--namespace", "acme", "--dry-run"]);
    ended(command.current_dir(dist.outside())).expect(0);
}

#[test]
fn a_wrong_digest_in_sha256sums_is_rejected() {
    let dist = Dist::new();
    let digest = |end| Sha256::of(&fs::read(dist.file(end)).unwrap()).to_string();
    let (right, wrong) = (digest("linux_amd64.zip"), digest("manifest.json"));
    dist.edit_shasums(|text| text.replace(&right, &wrong));
    let errors = refused(&dist);
    assert!(
        errors.contains("linux_amd64.zip: SHA256SUMS lists the sha256"),
        "{errors}"
    );
}

#[test]
fn a_blank_line_in_sha256sums_is_refused() {
    let dist = Dist::new();
    dist.edit_shasums(|text| format!("{text}\n"));
    let errors = refused(&dist);
    assert_eq!(
        errors,
        "SHA256SUMS line 8 is blank, which crashes terraform and tofu: remove it and sign again"
    );
}

#[test]
fn a_missing_zip_is_rejected_once() {
    let dist = Dist::new();
    fs::remove_file(dist.file("linux_amd64.zip")).unwrap();
    let errors = refused(&dist);
    let expected = format!(
        "SHA256SUMS lists {NAME}_linux_amd64.zip, but it is not in {}",
        dist.path()
    );
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines[0], expected);
    // The reason, and the ways to publish a part.
    for part in [
        "it can gain none later",
        "terrace mirror add",
        "of your own",
    ] {
        assert!(lines[1].contains(part), "{errors}");
    }
    assert_eq!(lines.len(), 2, "{errors}");
}

#[test]
fn a_zip_that_is_not_listed_is_refused() {
    let dist = Dist::new();
    dist.edit_shasums(|text| lines_without(text, "linux_amd64"));
    let errors = refused(&dist);
    assert!(
        errors.contains(&format!("SHA256SUMS does not list {NAME}_linux_amd64.zip")),
        "{errors}"
    );
}

/// Writes a zip of a release, and lists it, so that only its signature is missing. Each file has a mode, unless DOS wrote it.
fn pack(dist: &Dist, end: &str, files: &[(&str, Option<u32>, &[u8])]) {
    use ::zip::write::SimpleFileOptions;
    let mut zip = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, mode, content) in files {
        let options = SimpleFileOptions::default().system(match mode {
            Some(_) => ::zip::System::Unix,
            None => ::zip::System::Dos,
        });
        let options = mode.map_or(options, |mode| options.unix_permissions(mode));
        zip.start_file(*name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    let bytes = zip.finish().unwrap().into_inner();
    let name = format!("{NAME}_{end}");
    let digest = Sha256::of(&bytes);
    fs::write(dist.file(end), bytes).unwrap();
    dist.edit_shasums(|text| format!("{}{digest}  {name}\n", lines_without(text, &name)));
}

const EXECUTABLE: &str = "terraform-provider-hello_v1.2.3";

/// The first bytes of an executable for linux_amd64, and of one for darwin_amd64.
const ELF: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0";
const MACH: &[u8] = b"\xcf\xfa\xed\xfe\x07\0\0\x01";

#[test]
fn a_provider_that_installs_and_cannot_start_is_refused() {
    let sbom = "terraform-provider-hello.sbom.json";
    let exe = "terraform-provider-hello_v1.2.3.exe";
    let run = Some(0o755);
    for (end, files, parts) in [
        (
            "linux_amd64.zip",
            &[(EXECUTABLE, Some(0o644), ELF)][..],
            &["not marked executable"][..],
        ),
        (
            "linux_amd64.zip",
            &[(EXECUTABLE, None, ELF)],
            &["not marked executable"],
        ),
        (
            "linux_amd64.zip",
            &[(EXECUTABLE, run, ELF), (sbom, run, b"{}")],
            &[sbom, EXECUTABLE],
        ),
        (
            "linux_amd64.zip",
            &[(EXECUTABLE, run, MACH)],
            &["Mach-O (macOS) for amd64", "linux_amd64"],
        ),
        (
            "darwin_arm64.zip",
            &[(EXECUTABLE, run, ELF)],
            &["ELF for amd64", "darwin_arm64"],
        ),
        (
            "linux_arm64.zip",
            &[(EXECUTABLE, run, ELF)],
            &["ELF for amd64", "linux_arm64"],
        ),
        ("windows_amd64.zip", &[(EXECUTABLE, run, b"MZ")], &[".exe"]),
        (
            "windows_amd64.zip",
            &[(exe, None, ELF)],
            &["ELF for amd64", "windows_amd64"],
        ),
    ] {
        let dist = Dist::new();
        pack(&dist, end, files);
        let errors = refused(&dist);
        for part in parts {
            assert!(errors.contains(part), "{part:?} is not in {errors}");
        }
        let lines = errors.lines().filter(|line| line.starts_with(NAME));
        assert_eq!(lines.count(), 1, "{errors}");
    }
}

#[test]
fn an_executable_for_another_machine_is_published_where_its_publisher_confirms_it() {
    let dist = Dist::new();
    pack(
        &dist,
        "darwin_arm64.zip",
        &[(EXECUTABLE, Some(0o755), MACH)],
    );
    let flag = "--allow-platform darwin_arm64";
    assert!(refused(&dist).ends_with(flag));
    let registry = Registry::start();
    let mut arguments = vec!["publish", "provider", "--namespace", "acme", "--dry-run"];
    let path = dist.path();
    arguments.push(&path);
    arguments.extend(flag.split(' '));
    run(&registry, &arguments).expect(0);
}

#[test]
fn a_platform_that_no_client_asks_for_is_refused_with_the_one_that_is_meant() {
    for (end, parts) in [
        (
            "macos_amd64.zip",
            ["they ask for darwin_amd64:", "archives.name_template"],
        ),
        (
            "linux_amd64_v1.zip",
            ["they ask for linux_amd64:", "archives.name_template"],
        ),
        (
            "Linux_x86_64.zip",
            ["they ask for linux_amd64:", "archives.name_template"],
        ),
        (
            "darwin_all.zip",
            ["darwin_amd64 and darwin_arm64", "universal_binaries"],
        ),
        ("linux_sparc64.zip", ["none of Go's", "leave it out"]),
    ] {
        let dist = Dist::new();
        fs::rename(dist.file("linux_amd64.zip"), dist.file(end)).unwrap();
        dist.edit_shasums(|text| text.replace("linux_amd64.zip", end));
        let errors = refused(&dist);
        for part in parts {
            assert!(errors.contains(part), "{part:?} is not in {errors}");
        }
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

#[test]
fn zips_without_the_name_of_a_package_are_other_files() {
    let registry = Registry::start();
    let dist = Dist::new();
    for end in ["src.zip", "linux_amd64.spdx.zip", "installer.zip"] {
        fs::write(dist.file(end), "no zip").unwrap();
    }
    let digest = Sha256::of(b"x");
    dist.edit_shasums(|text| {
        format!("{text}{digest}  terraform-provider-hello-1.2.3.zip\n{digest}  {NAME}_src.zip\n")
    });
    let report = dry_run(&registry, &dist).expect(0).json();
    let packages = report["request"]["body"]["packages"].as_array().unwrap();
    assert_eq!(packages.len(), 6);
}

#[test]
fn a_release_without_packages_names_the_file_that_is_meant_and_the_setting() {
    for (from, to, part) in [
        (
            NAME,
            "terraform-provider-hello_v1.2.3",
            "archives.name_template",
        ),
        (".zip", ".tar.gz", "archives.formats: [zip]"),
    ] {
        let dist = Dist::new();
        for entry in fs::read_dir(dist.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "zip") {
                let name = path
                    .file_name()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .replace(from, to);
                fs::rename(&path, path.with_file_name(name)).unwrap();
            }
        }
        let renamed = |line: &str| match line.ends_with(".zip") {
            true => format!("{}\n", line.replace(from, to)),
            false => format!("{line}\n"),
        };
        dist.edit_shasums(|text| text.lines().map(renamed).collect());
        let errors = refused(&dist);
        assert!(
            errors.contains("but there is terraform-provider-hello_"),
            "{errors}"
        );
        assert!(
            errors.contains(part) && errors.lines().count() == 1,
            "{errors}"
        );
    }
}

#[test]
fn a_list_that_has_its_own_signature_is_refused_with_the_cause() {
    let dist = Dist::new();
    let digest = Sha256::of(&fs::read(dist.file("SHA256SUMS.sig")).unwrap());
    dist.edit_shasums(|text| format!("{text}{digest}  {NAME}_SHA256SUMS.sig\n"));
    let errors = refused(&dist);
    assert!(
        errors.contains("its own signature") && errors.contains("GoReleaser 2.15.0"),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn several_releases_in_one_directory_are_rejected() {
    let dist = Dist::new();
    let other = dist
        .file("SHA256SUMS")
        .with_file_name("terraform-provider-hello_1.2.4_SHA256SUMS");
    fs::copy(dist.file("SHA256SUMS"), other).unwrap();
    let errors = refused(&dist);
    assert!(
        errors.contains("1.2.3") && errors.contains("1.2.4"),
        "{errors}"
    );
}

#[test]
fn a_directory_without_a_release_is_reported_with_the_expected_files() {
    let dist = Dist::new();
    fs::rename(dist.file("SHA256SUMS"), dist.file("checksums.txt")).unwrap();
    let errors = refused(&dist);
    assert!(
        errors.contains("_SHA256SUMS") && errors.contains("checksum.name_template"),
        "{errors}"
    );
    let dashed = "terraform-provider-hello-1.2.3-SHASUMS";
    fs::rename(
        dist.file("checksums.txt"),
        Path::new(&dist.path()).join(dashed),
    )
    .unwrap();
    assert!(refused(&dist).contains(dashed));
    fs::remove_dir_all(dist.path()).unwrap();
    let errors = refused(&dist);
    assert!(errors.contains("GoReleaser"), "{errors}");
}

#[test]
fn a_damaged_zip_is_refused_even_if_it_was_signed_so() {
    let dist = Dist::new();
    let path = dist.file("linux_amd64.zip");
    let mut bytes = fs::read(&path).unwrap();
    // In the middle of the first entry's content.
    bytes[70] ^= 0xff;
    let digest = Sha256::of(&bytes).to_string();
    let before = Sha256::of(&fs::read(&path).unwrap()).to_string();
    fs::write(&path, bytes).unwrap();
    dist.edit_shasums(|text| text.replace(&before, &digest));
    let errors = refused(&dist);
    assert!(
        errors.contains("linux_amd64.zip: entry \"terraform-provider-hello_v1.2.3\""),
        "{errors}"
    );
}

#[test]
fn a_signature_may_be_armoured_under_either_name() {
    let armored = fs::read_to_string(fixture("armored.sig")).unwrap();
    for name in ["SHA256SUMS.sig", "SHA256SUMS.asc"] {
        let registry = Registry::start();
        let dist = Dist::new();
        fs::remove_file(dist.file("SHA256SUMS.sig")).unwrap();
        fs::write(dist.file(name), &armored).unwrap();
        publish(&registry, &dist).expect(0);
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let dist = Dist::new();
    fs::remove_file(dist.file("SHA256SUMS.sig")).unwrap();
    fs::remove_file(dist.file("linux_amd64.zip")).unwrap();
    fs::write(dist.file("windows_amd64.zip"), "no zip").unwrap();
    fs::write(dist.file("manifest.json"), "{}").unwrap();
    let errors = refused(&dist);
    for expected in [
        "SHA256SUMS.sig is missing",
        "linux_amd64.zip, but it is not in",
        "windows_amd64.zip: not a zip",
        "windows_amd64.zip: SHA256SUMS lists the sha256",
        "manifest.json: its sha256 is",
    ] {
        assert!(errors.contains(expected), "{expected:?} is not in {errors}");
    }
    // With the advice about the first of them.
    assert_eq!(errors.lines().count(), 6, "{errors}");
}

#[test]
fn a_missing_manifest_means_protocol_five_with_a_warning() {
    let registry = Registry::start();
    let dist = Dist::new();
    fs::remove_file(dist.file("manifest.json")).unwrap();
    dist.edit_shasums(|text| lines_without(text, "manifest"));
    let ended = dry_run(&registry, &dist).expect(0);
    let report = ended.json();
    assert_eq!(
        report["request"]["body"]["protocols"],
        serde_json::json!(["5.0"])
    );
    assert!(
        report["warnings"][0].as_str().unwrap().contains("5.0"),
        "{ended:?}"
    );
}

#[test]
fn a_manifest_without_protocols_means_protocol_five_with_a_warning() {
    let registry = Registry::start();
    let dist = Dist::new();
    let manifest = b"\xef\xbb\xbf{\"version\": 1, \"metadata\": {}}";
    fs::write(dist.file("manifest.json"), manifest).unwrap();
    dist.edit_shasums(|text| lines_without(text, "manifest"));
    let report = dry_run(&registry, &dist).expect(0).json();
    assert_eq!(
        report["request"]["body"]["protocols"],
        serde_json::json!(["5.0"])
    );
    let warning = report["warnings"][0].as_str().unwrap();
    assert!(warning.contains("no protocol_versions"), "{warning}");
}

#[test]
fn the_manifest_that_goreleaser_used_is_found_next_to_dist() {
    let registry = Registry::start();
    let dist = Dist::new();
    let beside = dist.outside().join("terraform-registry-manifest.json");
    fs::rename(dist.file("manifest.json"), &beside).unwrap();
    publish(&registry, &dist).expect(0);
    assert_eq!(
        registry.description()["protocols"],
        serde_json::json!(["6.0"])
    );
    fs::write(&beside, r#"{"metadata":{"protocol_versions":["5.0"]}}"#).unwrap();
    assert!(refused(&dist).contains("SHA256SUMS"));
}

#[test]
fn a_listed_manifest_that_is_missing_is_an_error() {
    let dist = Dist::new();
    fs::remove_file(dist.file("manifest.json")).unwrap();
    let errors = refused(&dist);
    assert!(
        errors.contains("terraform-registry-manifest.json"),
        "{errors}"
    );
    // Under the name that it has in the repository, too.
    dist.edit_shasums(|text| {
        text.replace(
            &format!("{NAME}_manifest.json"),
            "terraform-registry-manifest.json",
        )
    });
    assert!(refused(&dist).contains("SHA256SUMS lists terraform-registry-manifest.json"));
}

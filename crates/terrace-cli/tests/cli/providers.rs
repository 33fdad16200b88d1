//! `terrace publish provider`.

use std::fs;
use std::io::{Cursor, Write as _};

use serde_json::json;
use terrace_base::digest::Sha256;

use super::support::registry::Registry;
use super::support::{Dist, Ended, NAME, assert_has, ended, fixture, run, terrace, words};

#[track_caller]
fn publish(registry: &Registry, dist: &Dist) -> Ended {
    publish_with(registry, dist, &[])
}

#[track_caller]
fn publish_with(registry: &Registry, dist: &Dist, more: &[&str]) -> Ended {
    let line = ["publish", "provider", &dist.path(), "--namespace", "acme"];
    run(registry, &[&line[..], more].concat())
}

#[track_caller]
fn dry_run(registry: &Registry, dist: &Dist) -> Ended {
    publish_with(registry, dist, &["--dry-run"])
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
    let dist = Dist::new();
    let ended = publish(&registry, &dist).expect(0);
    let report = ended.json();
    assert_eq!(report["status"], "created");
    assert_eq!(report["address"], "acme/hello");
    assert_eq!(report["version"], "1.2.3");
    assert_eq!(report["uploaded"].as_array().unwrap().len(), 6);
    // The key of the release is an Ed25519 one.
    assert_has!(ended.warnings(), "Terraform before 1.6.0");
    assert_eq!(report["warnings"].as_array().unwrap().len(), 1, "{ended:?}");
    for upload in registry.uploads() {
        let header = |name: &str| upload.headers.get(name).map(String::as_str);
        assert_eq!(header("content-type"), Some("application/zip"));
        assert!(upload.content_length() > 0);
        assert_eq!(header("transfer-encoding"), None);
        assert_eq!(header("authorization"), None);
    }
    let requests = registry.requests();
    assert_eq!(requests[..2], [RELEASE, KEYS]);
    let is_upload = |line: &String| line.starts_with("PUT /bucket/");
    assert!(requests[2..8].iter().all(is_upload), "{requests:?}");
    assert_eq!(requests[8..], [RELEASE]);
    assert_eq!(registry.most_uploads_at_once(), 4);
    let description = registry.description();
    assert_eq!(description["protocols"], json!(["6.0"]));
    let linux = &description["packages"][3];
    assert_eq!(linux["filename"], format!("{NAME}_linux_amd64.zip"));
    // Computed by Go's dirhash.Hash1, independently.
    let h1 = "h1:pxtubu1FkPTGFvdPiX+uqyiDco+HPe04ej1tnFf4rso=";
    assert_eq!((&linux["size"], &linux["h1"]), (&json!(299), &json!(h1)));

    // The same release again is unchanged, also if its key was removed.
    run(&registry, &["key", "remove", "acme", "61C051AC9CA350D4"]).expect(0);
    registry.requests();
    let report = publish(&registry, &dist).expect(0).json();
    assert_eq!(report["status"], "unchanged");
    let status = "GET /api/v1/providers/acme/hello/1.2.3";
    assert_eq!(registry.requests(), [RELEASE, status]);
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
    assert_has!(ended.errors(), "never changes");
}

#[test]
fn a_wrong_key_or_signature_is_reported_before_archives_are_sent() {
    let registry = Registry::without_keys();
    publish(&registry, &Dist::new()).fails(3, "terrace key add acme");
    registry.add_key("other.asc");
    publish(&registry, &Dist::new()).fails(3, "61C051AC9CA350D4");
    registry.add_key("publisher.asc");
    let dist = Dist::new();
    // Clients accept this text as well, but it is not the signed one.
    dist.edit_shasums(|text| text.replace("  ", " "));
    publish(&registry, &dist).fails(3, "signature");
    assert!(registry.uploads().is_empty());
}

#[test]
fn a_dry_run_needs_no_registry_and_shows_the_request() {
    let dist = Dist::new();
    // `dist` is the default.
    let mut command = terrace(&words("publish provider --namespace acme --dry-run"));
    let text = ended(command.current_dir(dist.outside())).expect(0);
    assert_has!(text.stdout, "Nothing was sent");
    let registry = Registry::start();
    let report = dry_run(&registry, &dist).expect(0).json();
    assert_eq!(report["status"], "dry_run");
    let request = &report["request"];
    assert_eq!(request["path"], "/admin/v1/providers/acme/hello/1.2.3");
    assert_eq!(request["body"]["packages"].as_array().unwrap().len(), 6);
    assert_eq!(registry.requests(), [""; 0]);
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
    let run = Some(0o755);
    for (end, files, parts) in [
        (
            "linux_amd64.zip",
            &[(EXECUTABLE, Some(0o644), ELF)][..],
            &["not marked executable"][..],
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
        ("windows_amd64.zip", &[(EXECUTABLE, run, b"MZ")], &[".exe"]),
    ] {
        let dist = Dist::new();
        pack(&dist, end, files);
        let errors = refused(&dist);
        for part in parts {
            assert_has!(errors, part);
        }
        let lines = errors.lines().filter(|line| line.starts_with(NAME));
        assert_eq!(lines.count(), 1, "{errors}");
    }
}

#[test]
fn an_executable_for_another_machine_is_published_where_its_publisher_confirms_it() {
    let dist = Dist::new();
    let files = [(EXECUTABLE, Some(0o755), MACH)];
    pack(&dist, "darwin_arm64.zip", &files);
    let flag = "--allow-platform darwin_arm64";
    assert!(refused(&dist).ends_with(flag));
    let line = [&words(flag)[..], &["--dry-run"]].concat();
    publish_with(&Registry::start(), &dist, &line).expect(0);
}

#[test]
fn a_platform_that_no_client_asks_for_is_refused_with_its_remedies() {
    for (end, parts) in [
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
        assert_has!(errors, parts[0], parts[1]);
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
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.ends_with(".zip") {
                fs::rename(&path, path.with_file_name(name.replace(from, to))).unwrap();
            }
        }
        let renamed = |line: &str| match line.ends_with(".zip") {
            true => format!("{}\n", line.replace(from, to)),
            false => format!("{line}\n"),
        };
        dist.edit_shasums(|text| text.lines().map(renamed).collect());
        let errors = refused(&dist);
        assert_has!(errors, "but there is terraform-provider-hello_", part);
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

#[test]
fn a_list_that_has_its_own_signature_is_refused_with_the_cause() {
    let dist = Dist::new();
    let digest = Sha256::of(&fs::read(dist.file("SHA256SUMS.sig")).unwrap());
    dist.edit_shasums(|text| format!("{text}{digest}  {NAME}_SHA256SUMS.sig\n"));
    let errors = refused(&dist);
    assert_has!(errors, "its own signature", "GoReleaser 2.15.0");
    assert_eq!(errors.lines().count(), 1, "{errors}");
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
    assert_has!(
        errors,
        "SHA256SUMS.sig is missing",
        format!(
            "SHA256SUMS lists {NAME}_linux_amd64.zip, but it is not in {}",
            dist.path()
        ),
        "windows_amd64.zip: not a zip",
        "manifest.json: its sha256 is",
        // The ways to publish a part.
        "terrace mirror add",
    );
    assert_eq!(errors.lines().count(), 5, "{errors}");
    let dist = Dist::new();
    fs::write(dist.file("linux_amd64.zip"), "no zip").unwrap();
    let listed = "linux_amd64.zip: SHA256SUMS lists the sha256";
    assert_has!(refused(&dist), listed, "linux_amd64.zip: not a zip");
    let sums = dist.file("SHA256SUMS");
    fs::copy(
        &sums,
        sums.with_file_name("terraform-provider-hello_1.2.4_SHA256SUMS"),
    )
    .unwrap();
    assert_has!(refused(&dist), "1.2.3", "1.2.4");
}

#[test]
fn a_missing_manifest_and_one_without_protocols_mean_protocol_five_with_a_warning() {
    let empty = b"\xef\xbb\xbf{\"version\": 1, \"metadata\": {}}";
    for (manifest, warning) in [(None, "5.0"), (Some(empty), "no protocol_versions")] {
        let dist = Dist::new();
        dist.edit_shasums(|text| lines_without(text, "manifest"));
        match manifest {
            None => fs::remove_file(dist.file("manifest.json")).unwrap(),
            Some(text) => fs::write(dist.file("manifest.json"), text).unwrap(),
        }
        let ended = dry_run(&Registry::start(), &dist).expect(0);
        let protocols = &ended.json()["request"]["body"]["protocols"];
        assert_eq!(*protocols, json!(["5.0"]));
        assert_has!(ended.json()["warnings"][0].to_string(), warning);
    }
}

#[test]
fn the_manifest_that_goreleaser_used_is_found_next_to_dist_and_has_to_be_the_listed_one() {
    let dist = Dist::new();
    let beside = dist.outside().join("terraform-registry-manifest.json");
    fs::rename(dist.file("manifest.json"), &beside).unwrap();
    let report = dry_run(&Registry::start(), &dist).expect(0).json();
    assert_eq!(report["request"]["body"]["protocols"], json!(["6.0"]));
    fs::write(&beside, r#"{"metadata":{"protocol_versions":["5.0"]}}"#).unwrap();
    assert_has!(refused(&dist), "its sha256 is");
    fs::remove_file(&beside).unwrap();
    assert_has!(refused(&dist), "terraform-registry-manifest.json");
}

//! The checks of a module's package that only its publisher can make: secrets, and calls that leave the package.

use std::fs;
use std::io::{Cursor, Write as _};
use std::path::Path;

use super::support::http::Response;
use super::support::registry::{Fault, Registry};
use super::support::{Ended, directory, ended, run, terrace};

const ADDRESS: [&str; 4] = ["--address", "acme/vpc/aws", "--version", "1.0.0"];

const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\n\
                   MIIEpAIBAAKCAQEAwq7Yh0bGm0bq3Xb3Zs1nTn2q9pY1kZ0b9xk3m5Zt\n\
                   -----END RSA PRIVATE KEY-----\n";

#[track_caller]
fn publish(registry: &Registry, path: &Path, more: &[&str]) -> Ended {
    let fixed = ["publish", "module", path.to_str().unwrap()];
    run(registry, &[&fixed[..], &ADDRESS, more].concat())
}

#[test]
fn files_that_hold_secrets_are_all_refused_with_the_flag_and_the_ignore_file() {
    let registry = Registry::start();
    let module = directory(&[
        ("main.tf", ""),
        ("prod.tfvars", "password = 1"),
        ("examples/simple/terraform.tfvars", "region = \"eu\""),
        ("tests/fixtures.tfvars", KEY),
        ("sub/.env.production", ""),
        ("certificates/server.pem", KEY),
        ("plan.out", "PK\x03\x04--------------------------tfplan"),
        ("credentials.tfrc.json", "{}"),
        (".netrc", ""),
        (
            ".yarnrc",
            "//registry.npmjs.org/:_authToken=aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6\n",
        ),
        (".npmrc", "engine-strict=true\n"),
        ("example.tfvars", "password = \"…\""),
        ("terraform.tfvars.example", ""),
        ("certificates/public.pem", "-----BEGIN CERTIFICATE-----\n"),
    ]);
    let errors = publish(&registry, module.path(), &[]).expect(3).errors();
    let lines: Vec<&str> = errors.lines().collect();
    let expected = [
        "\".netrc\" holds credentials",
        "\".yarnrc\" holds credentials",
        "\"certificates/server.pem\" holds a private key",
        "\"credentials.tfrc.json\" holds credentials",
        "\"plan.out\" holds a plan",
        "\"prod.tfvars\" holds values of variables",
        "\"sub/.env.production\" holds variables of an environment",
        "\"tests/fixtures.tfvars\" holds a private key",
    ];
    assert_eq!(lines[..expected.len()], expected);
    let advice = lines.last().unwrap();
    for word in ["--allow-secrets .netrc", ".terraformignore", "erased"] {
        assert!(advice.contains(word), "{advice}");
    }
    assert_eq!(lines.len(), expected.len() + 1, "{errors}");
    assert!(registry.requests().is_empty());
}

#[test]
fn a_file_that_is_allowed_by_its_exact_path_is_published() {
    let registry = Registry::start();
    let module = directory(&[
        ("main.tf", ""),
        ("fixtures/a.tfvars", "x = 1"),
        ("fixtures/b.tfvars", "x = 1"),
    ]);
    let one = ["--allow-secrets", "fixtures/a.tfvars"];
    let errors = publish(&registry, module.path(), &one).expect(3).errors();
    assert!(!errors.contains("fixtures/a.tfvars"), "{errors}");
    assert!(errors.contains("fixtures/b.tfvars"), "{errors}");
    let both = [one[0], one[1], "--allow-secrets", "./fixtures/b.tfvars"];
    publish(&registry, module.path(), &both).expect(0);
    let ignored = module.path().join(".terraformignore");
    fs::write(ignored, "fixtures/\n").unwrap();
    publish(&registry, module.path(), &["--dry-run"]).expect(0);
}

#[test]
fn an_archive_with_secrets_is_refused_like_a_directory() {
    let mut zip = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [
        ("main.tf", ""),
        (".git/config", ""),
        ("terraform.tfstate", ""),
        ("key.txt", KEY),
    ] {
        zip.start_file(name, ::zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut tar = tar::Builder::new(gzip);
    for (name, content) in [
        ("./main.tf", ""),
        ("./.git/config", ""),
        ("./terraform.tfstate", ""),
        ("./key.txt", KEY),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, content.as_bytes())
            .unwrap();
    }
    let around = directory(&[]);
    for (name, bytes) in [
        ("m.zip", zip.finish().unwrap().into_inner()),
        ("m.tgz", tar.into_inner().unwrap().finish().unwrap()),
    ] {
        let registry = Registry::start();
        let path = around.path().join(name);
        fs::write(&path, bytes).unwrap();
        let errors = publish(&registry, &path, &[]).expect(3).errors();
        for reason in [
            "\".git/config\" holds the history of a repository",
            "\"terraform.tfstate\" holds state",
            "\"key.txt\" holds a private key",
        ] {
            assert!(errors.contains(reason), "{name}: {errors}");
        }
        assert!(registry.requests().is_empty());
        let allowed = [".git/config", "terraform.tfstate", "key.txt"];
        let allowed: Vec<&str> = allowed
            .iter()
            .flat_map(|it| ["--allow-secrets", it])
            .collect();
        publish(&registry, &path, &allowed).expect(0);
    }
}

#[test]
fn a_package_without_a_module_at_its_top_is_refused_with_the_directories_that_have_one() {
    let registry = Registry::start();
    let module = directory(&[
        ("acme-vpc-9ab14eb/main.tf", ""),
        ("acme-vpc-9ab14eb/modules/a/main.tf", ""),
        ("acme-vpc-9ab14eb/examples/b/main.tf", ""),
    ]);
    let errors = publish(&registry, module.path(), &[]).expect(3).errors();
    assert!(
        errors.ends_with("such as --subdir acme-vpc-9ab14eb"),
        "{errors}"
    );
    assert!(
        !errors.contains("examples") && errors.lines().count() == 1,
        "{errors}"
    );
    let subdir = ["--subdir", "acme-vpc-9ab14eb", "--dry-run"];
    publish(&registry, module.path(), &subdir).expect(0);
    // Submodules alone are a package.
    let collection = directory(&[("modules/a/main.tf", ""), ("README.md", "")]);
    publish(&registry, collection.path(), &["--dry-run"]).expect(0);
}

#[test]
fn a_file_that_no_client_can_parse_is_refused_where_consumers_load_it() {
    let registry = Registry::start();
    let module = directory(&[
        ("main.tf", "module \"a\" {\n  source = \"./lib/a\"\n}\n"),
        ("lib/a/versions.tf", "../../versions.tf"),
        ("lib/unused/main.tf", "variable \"a\" {"),
        ("modules/b/main.tf.json", "{"),
        ("examples/c/main.tf", "locals {"),
        ("broken.tf", "\n<<<<<<< HEAD\n"),
    ]);
    let errors = publish(&registry, module.path(), &[]).expect(3).errors();
    let lines: Vec<&str> = errors.lines().collect();
    for (line, start) in lines.iter().zip([
        "broken.tf:2: ",
        "lib/a/versions.tf:1: ",
        "modules/b/main.tf.json:1: ",
    ]) {
        assert!(line.starts_with(start), "{errors}");
    }
    assert!(lines[3].ends_with("--allow-unparsed broken.tf"), "{errors}");
    assert_eq!(lines.len(), 4, "{errors}");
    let files = ["broken.tf", "./lib/a/versions.tf", "modules/b/main.tf.json"];
    let allowed: Vec<&str> = files
        .iter()
        .flat_map(|it| ["--allow-unparsed", it])
        .collect();
    publish(
        &registry,
        module.path(),
        &[&allowed[..], &["--dry-run"]].concat(),
    )
    .expect(0);
}

#[test]
fn a_module_that_leaves_its_package_is_refused_with_the_command_that_publishes_it() {
    let registry = Registry::start();
    let around = directory(&[
        (
            "modules/vpc/main.tf",
            "module \"a\" {\n  source = \"../common\"\n}\n",
        ),
        (
            "modules/vpc/modules/inner/x.tf.json",
            "{\"module\": {\"b\": {\"source\": \"../../../../shared\"}}}",
        ),
        ("modules/common/main.tf", ""),
        ("shared/main.tf", ""),
    ]);
    let publish_in = |place: &str, path: &str| {
        let mut command = terrace(&["publish", "module", path, "--json"]);
        command.args(ADDRESS).current_dir(around.path().join(place));
        command
            .env("TERRACE_URL", registry.url())
            .env("TERRACE_TOKEN", super::support::TOKEN);
        command
    };
    let errors = ended(&mut publish_in("", "modules/vpc")).expect(3).errors();
    let lines: Vec<&str> = errors.lines().collect();
    assert!(
        lines[0].starts_with("main.tf:2: the source \"../common\" leads out of the package"),
        "{errors}"
    );
    assert!(
        lines[1].starts_with("modules/inner/x.tf.json:1: the source \"../../../../shared\""),
        "{errors}"
    );
    let advice =
        "terrace publish module . --subdir modules/vpc --address acme/vpc/aws --version 1.0.0";
    assert!(lines[2].ends_with(advice), "{errors}");
    assert_eq!(lines.len(), 3, "{errors}");
    assert!(registry.requests().is_empty());
    // The command of the message publishes the module.
    let mut command = publish_in("", ".");
    ended(command.args(["--subdir", "modules/vpc"])).expect(0);
    assert_eq!(registry.description()["subdir"], "modules/vpc");
    for (place, path, advice) in [
        (
            "modules/vpc",
            ".",
            "terrace publish module ../.. --subdir modules/vpc ",
        ),
        (
            "modules",
            "./vpc",
            "terrace publish module vpc/../.. --subdir modules/vpc ",
        ),
        (
            "modules",
            "../modules/vpc",
            "terrace publish module .. --subdir modules/vpc ",
        ),
    ] {
        let errors = ended(&mut publish_in(place, path)).expect(3).errors();
        assert!(errors.contains(advice), "{path}: {errors}");
    }
}

#[test]
fn calls_inside_of_the_package_and_to_registries_are_accepted() {
    let registry = Registry::start();
    let module = directory(&[
        (
            "main.tf",
            "module \"a\" {\n  source = \"./modules/a\"\n}\nmodule \"r\" {\n  source = \"acme/b/aws\"\n}\n",
        ),
        (
            "modules/a/main.tf",
            "module \"b\" {\n  source = \"../b\"\n}\n",
        ),
        ("modules/b/main.tf", ""),
        (
            "examples/simple/main.tf",
            "module \"vpc\" {\n  source = \"../../\"\n}\n",
        ),
    ]);
    let published = publish(&registry, module.path(), &[]).expect(0);
    assert!(!published.stderr.contains("leads out"), "{published:?}");
}

#[test]
fn paths_out_of_examples_and_of_files_are_warnings() {
    let registry = Registry::start();
    let module = directory(&[
        (
            "main.tf",
            "locals {\n  x = file(\"${path.module}/../x.txt\")\n}\n",
        ),
        (
            "examples/simple/main.tf",
            "module \"other\" {\n  source = \"../../../other\"\n}\n",
        ),
    ]);
    let warnings = publish(&registry, module.path(), &[]).expect(0).json()["warnings"].to_string();
    for warning in [
        "main.tf:2: \\\"${path.module}/../x.txt\\\" is outside of the package",
        "examples/simple/main.tf:2: the source \\\"../../../other\\\" leads out of the package",
    ] {
        assert!(warnings.contains(warning), "{warnings}");
    }
}

#[test]
fn secrets_and_calls_that_leave_the_package_are_reported_together() {
    let registry = Registry::start();
    let module = directory(&[
        ("main.tf", "module \"a\" {\n  source = \"../a\"\n}\n"),
        (".env", ""),
    ]);
    let errors = publish(&registry, module.path(), &[]).expect(3).errors();
    assert!(errors.contains("\".env\" holds"), "{errors}");
    assert!(errors.contains("main.tf:2: "), "{errors}");
}

#[test]
fn a_configuration_file_in_a_tar_that_is_a_link_is_refused() {
    let packed = |links: &[&str]| {
        let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        let mut tar = tar::Builder::new(gzip);
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_mode(0o644);
        tar.append_data(&mut header, "main.tf", &b""[..]).unwrap();
        for link in links {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_size(0);
            header.set_mode(0o777);
            tar.append_link(&mut header, link, "main.tf").unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    };
    let registry = Registry::start();
    let around = directory(&[]);
    let path = around.path().join("m.tgz");
    fs::write(&path, packed(&["other.tf", "NOTES.md"])).unwrap();
    let errors = publish(&registry, &path, &[]).expect(3).errors();
    assert!(
        errors.contains("\"other.tf\" is a symbolic link"),
        "{errors}"
    );
    assert!(!errors.contains("NOTES.md"), "{errors}");
    fs::write(&path, packed(&["NOTES.md"])).unwrap();
    let warnings = publish(&registry, &path, &[]).expect(0).json()["warnings"].to_string();
    assert!(warnings.contains("NOTES.md"), "{warnings}");
}

#[test]
fn a_secret_in_a_contiguous_file_of_a_tar_is_refused() {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut tar = tar::Builder::new(gzip);
    for (name, kind) in [
        ("main.tf", tar::EntryType::Regular),
        (".env", tar::EntryType::Continuous),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, &b""[..]).unwrap();
    }
    let around = directory(&[]);
    let path = around.path().join("m.tgz");
    fs::write(&path, tar.into_inner().unwrap().finish().unwrap()).unwrap();
    let registry = Registry::start();
    let errors = publish(&registry, &path, &[]).expect(3).errors();
    assert!(errors.contains("\".env\" holds"), "{errors}");
}

#[test]
fn a_warning_that_the_registry_repeats_is_printed_once() {
    let registry = Registry::start();
    let module = directory(&[("main.tf", ""), ("ca.pem", "a certificate")]);
    let checked = publish(&registry, module.path(), &["--dry-run"])
        .expect(0)
        .json();
    let warning = checked["warnings"][0].as_str().unwrap();
    assert!(warning.contains("\"ca.pem\""), "{warning}");
    let answer = serde_json::json!({
        "status": "created", "address": "acme/vpc/aws", "version": "1.0.0", "warnings": [warning],
    });
    let answer = Response::new(200, answer.to_string());
    registry.fail("PUT", "/modules/acme/vpc/aws/1.0.0", Fault::Answer(answer));
    let published = publish(&registry, module.path(), &["--no-docs"]).expect(0);
    assert_eq!(published.json()["warnings"], serde_json::json!([warning]));
    assert_eq!(
        published.stderr.matches(warning).count(),
        1,
        "{published:?}"
    );
}

#[test]
fn a_secret_that_refuses_a_module_is_named_once() {
    let registry = Registry::start();
    let module = directory(&[("main.tf", ""), (".env", "")]);
    let refused = publish(&registry, module.path(), &[]).expect(3);
    assert!(refused.errors().contains("\".env\" holds"), "{refused:?}");
    assert!(!refused.stderr.contains("warning: "), "{refused:?}");
}

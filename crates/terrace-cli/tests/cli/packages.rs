//! The checks of a module's package that only its publisher can make: secrets, and calls that leave the package.

use std::fs;
use std::path::Path;

use super::support::registry::Registry;
use super::support::{
    Ended, TOKEN, assert_has, assert_lacks, directory, ended, run, tar_gz_of, terrace, zip,
};

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
        (".netrc", ""),
        (".npmrc", "engine-strict=true\n"),
        ("example.tfvars", "password = \"…\""),
        ("terraform.tfvars.example", ""),
        ("certificates/public.pem", "-----BEGIN CERTIFICATE-----\n"),
    ]);
    let errors = publish(&registry, module.path(), &[]).expect(3).errors();
    let lines: Vec<&str> = errors.lines().collect();
    let expected = [
        "\".netrc\" holds credentials",
        "\"certificates/server.pem\" holds a private key",
        "\"plan.out\" holds a plan",
        "\"prod.tfvars\" holds values of variables",
        "\"sub/.env.production\" holds variables of an environment",
        "\"tests/fixtures.tfvars\" holds a private key",
    ];
    assert_eq!(lines[..expected.len()], expected);
    let advice = lines[expected.len()];
    assert_has!(
        advice,
        "--allow-secrets .netrc",
        ".terraformignore",
        "erased"
    );
    assert_eq!(registry.requests(), [""; 0]);
}

#[test]
fn a_file_that_is_allowed_by_its_exact_path_is_published() {
    let registry = Registry::start();
    let module = directory(&[
        ("main.tf", ""),
        ("fixtures/a.tfvars", "x = 1"),
        ("fixtures/b.tfvars", "x = 1"),
    ]);
    // A secret that refuses a module is no warning as well.
    let refused = publish(&registry, module.path(), &[]).expect(3);
    assert_lacks!(refused.stderr, "warning: ");
    let one = ["--allow-secrets", "fixtures/a.tfvars"];
    let errors = publish(&registry, module.path(), &one).fails(3, "fixtures/b.tfvars");
    assert_lacks!(errors, "fixtures/a.tfvars");
    let both = [&one[..], &["--allow-secrets", "./fixtures/b.tfvars"]].concat();
    let published = publish(&registry, module.path(), &both).expect(0);
    assert_lacks!(published.warnings(), "allows nothing");
    fs::write(module.path().join(".terraformignore"), "fixtures/\n").unwrap();
    let unneeded = [&one[..], &["--dry-run"]].concat();
    let published = publish(&registry, module.path(), &unneeded).expect(0);
    assert_has!(
        published.warnings(),
        "--allow-secrets fixtures/a.tfvars allows nothing"
    );
}

#[test]
fn an_archive_with_secrets_is_refused_like_a_directory() {
    use tar::EntryType::{Continuous, Regular};
    let files = [
        ("main.tf", ""),
        (".git/config", ""),
        ("terraform.tfstate", ""),
        ("key.txt", KEY),
    ];
    let packed = [
        (Regular, "./main.tf", ""),
        (Regular, "./.git/config", ""),
        (Continuous, "./terraform.tfstate", ""),
        (Regular, "./key.txt", KEY),
    ];
    let around = directory(&[]);
    for (name, bytes) in [("m.zip", zip(&files)), ("m.tgz", tar_gz_of(&packed))] {
        let registry = Registry::start();
        let path = around.path().join(name);
        fs::write(&path, bytes).unwrap();
        assert_has!(
            publish(&registry, &path, &[]).expect(3).errors(),
            "\".git/config\" holds the history of a repository",
            "\"terraform.tfstate\" holds state",
            "\"key.txt\" holds a private key",
        );
        assert_eq!(registry.requests(), [""; 0]);
        let allowed = [".git/config", "terraform.tfstate", "key.txt"];
        let allowed = allowed.map(|it| ["--allow-secrets", it]).concat();
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
    let advice = "such as --subdir acme-vpc-9ab14eb";
    let errors = publish(&registry, module.path(), &[]).fails(3, advice);
    assert_lacks!(errors, "examples");
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
    let starts = [
        "broken.tf:2: ",
        "lib/a/versions.tf:1: ",
        "modules/b/main.tf.json:1: ",
    ];
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{errors}");
    }
    assert!(lines[3].ends_with("--allow-unparsed broken.tf"), "{errors}");
    let allowed = ["broken.tf", "./lib/a/versions.tf", "modules/b/main.tf.json"];
    let allowed = allowed.map(|it| ["--allow-unparsed", it]).concat();
    let dry = [&allowed[..], &["--dry-run"]].concat();
    publish(&registry, module.path(), &dry).expect(0);
}

#[test]
fn a_module_that_leaves_its_package_is_refused_with_the_command_that_publishes_it() {
    let registry = Registry::start();
    let call = "module \"a\" {\n  source = \"../common\"\n}\n";
    let inner = r#"{"module": {"b": {"source": "../../../../shared"}}}"#;
    let around = directory(&[
        ("modules/vpc/main.tf", call),
        ("modules/vpc/modules/inner/x.tf.json", inner),
        ("modules/vpc/.env", ""),
        ("modules/common/main.tf", ""),
        ("shared/main.tf", ""),
    ]);
    let publish_in = |place: &str, path: &str, more: &[&str]| {
        let mut command = terrace(&["publish", "module", path, "--json"]);
        command.args(ADDRESS).args(more);
        command.current_dir(around.path().join(place));
        command.env("TERRACE_URL", registry.url());
        ended(command.env("TERRACE_TOKEN", TOKEN))
    };
    assert_has!(
        publish_in("", "modules/vpc", &[]).expect(3).errors(),
        "\".env\" holds",
        "main.tf:2: the source \"../common\" leads out of the package",
        "modules/inner/x.tf.json:1: the source \"../../../../shared\"",
        "name the directory of the module in it with --subdir",
    );
    assert_eq!(registry.requests(), [""; 0]);
    fs::remove_file(around.path().join("modules/vpc/.env")).unwrap();
    publish_in("", ".", &["--subdir", "modules/vpc"]).expect(0);
    assert_eq!(registry.description()["subdir"], "modules/vpc");
}

#[test]
fn a_configuration_file_in_a_tar_that_is_a_link_is_refused() {
    use tar::EntryType::{Regular, Symlink};
    let registry = Registry::start();
    let around = directory(&[]);
    let path = around.path().join("m.tgz");
    let harmless = [(Regular, "main.tf", ""), (Symlink, "NOTES.md", "main.tf")];
    let link = [(Symlink, "other.tf", "main.tf")];
    fs::write(&path, tar_gz_of(&[&harmless[..], &link].concat())).unwrap();
    let refused = publish(&registry, &path, &[]);
    let errors = refused.fails(3, "\"other.tf\" is a symbolic link");
    assert_lacks!(errors, "NOTES.md");
    fs::write(&path, tar_gz_of(&harmless)).unwrap();
    assert_has!(
        publish(&registry, &path, &[]).expect(0).warnings(),
        "NOTES.md"
    );
}

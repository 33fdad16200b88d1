//! The documentation of `terrace publish module`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use terrace_base::digest::Sha256;

use super::module_details;
use crate::support::http::Response;
use crate::support::registry::{Fault, Registry, errors};
use crate::support::{Ended, assert_has, assert_lacks, directory, run, run_at, tar_gz, words};

const RELEASE: &str = "/admin/v1/modules/acme/vpc/aws/1.0.0";

const MAIN: &str = r#"
variable "cidr" {
  type        = string
  description = "The range"
}
output "id" {
  value = 1
}
"#;

fn module() -> TempDir {
    directory(&[
        ("main.tf", MAIN),
        ("README.md", "# VPC"),
        (
            "examples/small/main.tf",
            "module \"vpc\" { source = \"../..\" }",
        ),
    ])
}

#[track_caller]
fn publish(registry: &Registry, path: &Path, more: &[&str]) -> Ended {
    let fixed = words("publish module --address acme/vpc/aws --version 1.0.0");
    let path = path.to_str().unwrap();
    run(registry, &[&fixed[..], &[path], more].concat())
}

/// A registry that has the archives of another version with the same bytes, so that a publish uploads none.
fn with_archives(module: &Path) -> Registry {
    let registry = Registry::start();
    let line = words("publish module --address acme/vpc/aws --version 0.9.0");
    let line = [&line[..], &[module.to_str().unwrap()]].concat();
    run(&registry, &line).expect(0);
    registry.all_requests();
    registry
}

fn put(rest: &str) -> String {
    format!("PUT {RELEASE}{rest}")
}

fn get(rest: &str) -> String {
    format!("GET {RELEASE}{rest}")
}

/// Lets another publisher add documentation to the version before it is published.
fn interpose_documentation(registry: &Registry) {
    registry.interpose(|url| {
        let other = directory(&[("README.md", "# Another publisher")]);
        let path = other.path().to_str().unwrap();
        let line = ["docs", "add", "acme/vpc/aws", "1.0.0", path];
        run_at(url, &[&line[..], &["--before-publish"]].concat()).expect(0);
    });
}

#[test]
fn the_documentation_is_sent_before_the_release() {
    let registry = Registry::start();
    let report = publish(&registry, module().path(), &[]).expect(0).json();
    let before = put("/documentation?unpublished=true");
    let uploads = ["PUT /docs-bucket".to_owned(), "PUT /bucket".to_owned()];
    let begun = [before.clone(), put(""), uploads[0].clone(), before];
    let ended = [uploads[1].clone(), put(""), get("/documentation")];
    assert_eq!(registry.all_requests(), [&begun[..], &ended].concat());
    assert_eq!(
        report["documentation"],
        json!({ "status": "created", "inputs": 1, "outputs": 1, "submodules": 0, "examples": 1 })
    );
    assert_eq!(report["warnings"], json!([]));
    let details = module_details(registry.documentation_head("acme/vpc/aws"));
    assert_eq!(details.root.readme.as_deref(), Some("# VPC"));
    assert_eq!(details.root.inputs[0].constraint.as_deref(), Some("string"));
    assert_eq!(details.examples[0].files[0].name.as_str(), "main.tf");
}

#[test]
fn files_that_are_not_packed_are_not_documented() {
    let registry = Registry::start();
    let module = directory(&[
        ("main.tf", MAIN),
        (".gitignore", "secret.tf\n"),
        ("secret.tf", "variable \"hidden\" {}"),
        (".terraform/modules/x/main.tf", "variable \"cached\" {}"),
    ]);
    publish(&registry, module.path(), &[]).expect(0);
    let details = module_details(registry.documentation_head("acme/vpc/aws"));
    let inputs: Vec<&str> = details.root.inputs.iter().map(|it| &*it.name).collect();
    assert_eq!(inputs, ["cidr"]);
}

#[test]
fn an_archive_is_documented_from_its_subdirectory() {
    let files = [
        ("repo/main.tf", "variable \"outer\" {}"),
        ("repo/inner/main.tf", MAIN),
        ("repo/inner/README.md", "# Inner"),
    ];
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("vpc.tar.gz");
    fs::write(&path, tar_gz(&files)).unwrap();
    let registry = Registry::start();
    publish(&registry, &path, &["--subdir", "repo/inner"]).expect(0);
    let details = module_details(registry.documentation_head("acme/vpc/aws"));
    assert_eq!(details.root.readme.as_deref(), Some("# Inner"));
    assert_eq!(details.root.inputs[0].name, "cidr");
}

#[test]
fn documentation_can_come_from_another_directory_or_be_left_out_and_added_later() {
    let registry = Registry::start();
    let module = module();
    publish(&registry, module.path(), &["--no-docs"]).expect(0);
    let expected = [put(""), "PUT /bucket".into(), put("")];
    assert_eq!(registry.all_requests(), expected);
    assert_eq!(registry.documentation(RELEASE), None);
    let report = publish(&registry, module.path(), &[]).expect(0).json();
    assert_eq!(report["status"], "unchanged");
    assert_eq!(report["documentation"]["status"], "created");
    assert_eq!(
        registry.all_requests(),
        [
            put("/documentation?unpublished=true"),
            put(""),
            "GET /api/v1/modules/acme/vpc/aws/1.0.0".to_owned(),
            put("/documentation"),
            "PUT /docs-bucket".to_owned(),
            put("/documentation"),
        ]
    );
    let again = publish(&registry, module.path(), &[]).expect(0).json();
    assert_eq!(again["documentation"]["status"], "unchanged");
    let other = directory(&[("README.md", "# Other")]);
    let other = ["--docs", other.path().to_str().unwrap()];
    publish(&registry, module.path(), &other).expect(0);
    let details = module_details(registry.documentation_head("acme/vpc/aws"));
    assert_eq!(details.root.readme.as_deref(), Some("# Other"));
    let both = [&other[..], &["--no-docs"]].concat();
    publish(&registry, module.path(), &both).expect(2);
}

#[test]
fn documentation_that_another_publisher_has_replaced_is_sent_again_after_the_release() {
    let module = module();
    let registry = with_archives(module.path());
    interpose_documentation(&registry);
    let report = publish(&registry, module.path(), &[]).expect(0).json();
    assert_eq!(report["documentation"]["status"], "changed");
    let requests = registry.all_requests();
    let last = [put(""), get("/documentation"), put("/documentation")];
    assert!(requests.ends_with(&last), "{requests:?}");
    let details = module_details(registry.documentation_head("acme/vpc/aws"));
    assert_eq!(details.root.readme.as_deref(), Some("# VPC"));
}

#[test]
fn documentation_is_sent_again_if_the_registry_does_not_show_its_state() {
    let registry = Registry::start();
    registry.refuse("GET", "/documentation", 503, &["storage is busy"]);
    let report = publish(&registry, module().path(), &["--retries", "0"])
        .expect(0)
        .json();
    assert_eq!(report["documentation"]["status"], "unchanged");
    assert_eq!(report["warnings"], json!([]));
}

#[test]
fn the_documentation_of_a_refused_release_is_not_sent() {
    for (status, code) in [(410, 3), (403, 5), (409, 4)] {
        let registry = Registry::start();
        registry.refuse("PUT", RELEASE, status, &["archives/1.zip was erased"]);
        let ended = publish(&registry, module().path(), &[]).expect(code);
        assert!(ended.errors().ends_with("archives/1.zip was erased"));
        assert_lacks!(ended.stderr, "warning:");
        let expected = [put("/documentation?unpublished=true"), put("")];
        assert_eq!(registry.all_requests(), expected);
    }
}

#[test]
fn the_documentation_of_a_release_that_needs_no_upload_is_sent_after_it() {
    let module = module();
    let registry = with_archives(module.path());
    let other = directory(&[("README.md", "# Other")]);
    let docs = ["--docs", other.path().to_str().unwrap(), "--require-docs"];
    let report = publish(&registry, module.path(), &docs).expect(0).json();
    assert_eq!(report["documentation"]["status"], "created");
    let sent = "PUT /docs-bucket".to_owned();
    let before = put("/documentation?unpublished=true");
    let after = [sent, put("/documentation"), get("/documentation")];
    assert_eq!(
        registry.all_requests(),
        [&[before, put("")][..], &after].concat()
    );
}

#[test]
fn the_documentation_of_a_rejected_release_is_removed_and_that_of_a_delayed_one_kept() {
    let removed = format!("DELETE {RELEASE}/documentation?unpublished=true&sha256=");
    let published = put("");
    for (status, code, last, is_kept) in [
        (422, 3, &removed, false),
        (403, 5, &removed, false),
        (503, 6, &published, true),
    ] {
        let module = module();
        let registry = with_archives(module.path());
        registry.refuse("PUT", RELEASE, status, &["not now"]);
        let ended = publish(&registry, module.path(), &["--retries", "0"]).expect(code);
        assert_lacks!(ended.stderr, "warning:");
        assert_eq!(registry.documentation(RELEASE).is_some(), is_kept);
        let requests = registry.all_requests();
        assert!(
            requests.last().unwrap().starts_with(last.as_str()),
            "{requests:?}"
        );
    }
}

#[test]
fn the_documentation_of_another_publisher_is_kept_after_a_rejected_release() {
    let module = module();
    let registry = with_archives(module.path());
    interpose_documentation(&registry);
    registry.refuse("PUT", RELEASE, 422, &["no such release"]);
    publish(&registry, module.path(), &[]).expect(3);
    let own = Sha256::of(&registry.last_documentation()).to_string();
    assert_ne!(registry.documentation(RELEASE).unwrap()["sha256"], own);
}

#[test]
fn a_conflict_with_a_release_that_came_in_between_warns_about_the_documentation() {
    let module = module();
    let registry = with_archives(module.path());
    registry.interpose(|url| {
        let other = directory(&[("main.tf", "# another publisher")]);
        let path = other.path().to_str().unwrap();
        let line = words("publish module --address acme/vpc/aws --version 1.0.0 --no-docs");
        run_at(url, &[&line[..], &[path]].concat()).expect(0);
    });
    let ended = publish(&registry, module.path(), &[]).expect(4);
    assert_has!(ended.stderr, "another publisher");
    assert!(registry.documentation(RELEASE).is_some());
}

#[test]
fn documentation_that_cannot_be_removed_after_a_rejection_is_a_warning() {
    let module = module();
    let registry = with_archives(module.path());
    registry.refuse("PUT", RELEASE, 422, &["no such release"]);
    registry.refuse("DELETE", "/documentation", 503, &["storage is busy"]);
    let ended = publish(&registry, module.path(), &["--retries", "0"]).expect(3);
    assert_eq!(ended.errors(), "no such release");
    assert_has!(ended.stderr, "keeps it for a day", "storage is busy");
}

#[test]
fn a_failure_of_the_documentation_is_only_a_warning() {
    let module = module();
    for (answer, text) in [
        (errors(422, &["not valid"]), "not valid"),
        (errors(404, &["no such path"]), "too old"),
        (errors(503, &["storage is busy"]), "storage is busy"),
        (Response::new(200, "{}"), "malformed"),
    ] {
        let registry = Registry::start();
        registry.fail("PUT", "/documentation", Fault::Answer(answer));
        let report = publish(&registry, module.path(), &["--retries", "0"]);
        let report = report.expect(0).json();
        assert_eq!(report["status"], "created");
        assert_eq!(report["documentation"]["status"], "failed");
        let warnings = report["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let warning = warnings[0].as_str().unwrap();
        assert_has!(warning, "without documentation: ", text);
    }
    let registry = Registry::start();
    let report = publish(&registry, module.path(), &["--docs", "/nonexistent"]);
    assert_eq!(report.json()["documentation"], Value::Null);
    assert_has!(report.expect(0).warnings(), "/nonexistent");
}

#[test]
fn required_documentation_that_is_rejected_prevents_the_publish() {
    let registry = Registry::start();
    registry.refuse("PUT", "/documentation", 422, &["the head is not valid"]);
    let ended = publish(&registry, module().path(), &["--require-docs"]).expect(3);
    assert_eq!(ended.errors(), "the head is not valid");
    assert_eq!(registry.requests(), [""; 0]);
    let unreadable = ["--require-docs", "--docs", "/nonexistent"];
    publish(&registry, module().path(), &unreadable).fails(3, "/nonexistent");
    assert_eq!(registry.all_requests().len(), 0);
}

#[test]
fn required_documentation_that_fails_after_the_release_fails_the_command_once() {
    let registry = Registry::start();
    let module = module();
    publish(&registry, module.path(), &["--no-docs"]).expect(0);
    registry.refuse("PUT", "/documentation", 409, &["the version is published"]);
    registry.refuse("PUT", "/documentation", 422, &["the head is not valid"]);
    let ended = publish(&registry, module.path(), &["--require-docs"]).expect(3);
    assert_eq!(ended.errors(), "the head is not valid");
    let document = ended.json();
    assert_eq!(document["address"], "acme/vpc/aws");
    assert_eq!(document["documentation"]["status"], "failed");
}

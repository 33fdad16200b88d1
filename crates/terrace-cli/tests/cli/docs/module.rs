//! The documentation of `terrace publish module`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use terrace_base::digest::Sha256;

use super::module_details;
use crate::support::http::Response;
use crate::support::registry::{Fault, Registry, errors};
use crate::support::{Ended, TOKEN, directory, ended, run, terrace};

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
    let fixed = [
        "publish",
        "module",
        path.to_str().unwrap(),
        "--address",
        "acme/vpc/aws",
        "--version",
        "1.0.0",
    ];
    run(registry, &[&fixed, more].concat())
}

fn put(rest: &str) -> String {
    format!("PUT {RELEASE}{rest}")
}

fn get(rest: &str) -> String {
    format!("GET {RELEASE}{rest}")
}

fn delete(rest: &str) -> String {
    format!("DELETE {RELEASE}{rest}")
}

/// Returns the description of the documentation of another publisher.
fn other_documentation() -> Value {
    let sha256 = Sha256::of(b"the documentation of another publisher").to_string();
    json!({ "sha256": sha256, "size": 38, "head_length": 38 })
}

#[test]
fn the_documentation_is_sent_before_the_release() {
    let registry = Registry::start();
    let report = publish(&registry, module().path(), &[]).expect(0).json();
    let before = put("/documentation?unpublished=true");
    let uploads = ["PUT /docs-bucket".to_owned(), "PUT /bucket".to_owned()];
    assert_eq!(
        registry.all_requests(),
        [
            before.clone(),
            put(""),
            uploads[0].clone(),
            before,
            uploads[1].clone(),
            put(""),
            get("/documentation"),
        ]
    );
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
fn the_result_has_a_line_about_the_documentation() {
    for (module, line) in [
        (module(), "1 input, 1 output, 1 example"),
        (
            directory(&[("main.tf", ""), ("README.md", "# VPC")]),
            "README",
        ),
        (
            directory(&[("main.tf", "resource \"aws_vpc\" \"this\" {}")]),
            "no inputs, no outputs and no README",
        ),
    ] {
        let registry = Registry::start();
        let path = module.path().to_str().unwrap();
        let mut command = terrace(&["publish", "module", path, "--address", "acme/vpc/aws"]);
        command.args(["--version", "1.0.0", "--url", registry.url()]);
        let ended = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(0);
        let line = format!("\ndocumentation: {line}\n");
        assert!(ended.stdout.ends_with(&line), "{ended:?}");
    }
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
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("vpc.tar.gz");
    let gzip = flate2::write::GzEncoder::new(
        fs::File::create(&path).unwrap(),
        flate2::Compression::default(),
    );
    let mut tar = tar::Builder::new(gzip);
    for (name, text) in [
        ("repo/main.tf", "variable \"outer\" {}"),
        ("repo/inner/main.tf", MAIN),
        ("repo/inner/README.md", "# Inner"),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap();
    let registry = Registry::start();
    publish(&registry, &path, &["--subdir", "repo/inner"]).expect(0);
    let details = module_details(registry.documentation_head("acme/vpc/aws"));
    assert_eq!(details.root.readme.as_deref(), Some("# Inner"));
    assert_eq!(details.root.inputs[0].name, "cidr");
}

#[test]
fn documentation_can_come_from_another_directory_or_be_left_out() {
    let registry = Registry::start();
    let module = module();
    publish(&registry, module.path(), &["--no-docs"]).expect(0);
    assert_eq!(
        registry.all_requests(),
        [put(""), "PUT /bucket".into(), put("")]
    );
    assert_eq!(registry.documentation(RELEASE), None);
    let other = directory(&[("README.md", "# Other")]);
    let other = other.path().to_str().unwrap();
    publish(&registry, module.path(), &["--docs", other]).expect(0);
    let details = module_details(registry.documentation_head("acme/vpc/aws"));
    assert_eq!(details.root.readme.as_deref(), Some("# Other"));
    let both = publish(&registry, module.path(), &["--docs", other, "--no-docs"]).expect(2);
    assert!(both.stderr.contains("cannot be used with"), "{both:?}");
}

#[test]
fn the_documentation_of_a_published_version_is_added_after_its_release() {
    let registry = Registry::start();
    let module = module();
    publish(&registry, module.path(), &["--no-docs"]).expect(0);
    registry.all_requests();
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
}

#[test]
fn a_conflict_leaves_the_documentation_of_the_version_unchanged() {
    let registry = Registry::start();
    let module = module();
    publish(&registry, module.path(), &[]).expect(0);
    let before = registry.documentation(RELEASE);
    fs::write(module.path().join("README.md"), "# Other").unwrap();
    publish(&registry, module.path(), &[]).expect(4);
    assert_eq!(registry.documentation(RELEASE), before);
    assert!(before.is_some());
}

#[test]
fn documentation_that_another_publisher_has_replaced_is_sent_again_after_the_release() {
    let module = module();
    let registry = with_archives(module.path());
    registry.interpose_documentation(RELEASE, other_documentation());
    let report = publish(&registry, module.path(), &[]).expect(0).json();
    assert_eq!(report["documentation"]["status"], "changed");
    let requests = registry.all_requests();
    let last = [put(""), get("/documentation"), put("/documentation")];
    assert!(requests.ends_with(&last), "{requests:?}");
    let details = module_details(registry.documentation_head("acme/vpc/aws"));
    assert_eq!(details.root.readme.as_deref(), Some("# VPC"));
    assert_ne!(registry.documentation(RELEASE), Some(other_documentation()));
}

#[test]
fn documentation_is_sent_again_if_the_registry_does_not_show_its_state() {
    let registry = Registry::start();
    let busy = errors(503, &["storage is busy"]);
    registry.fail("GET", "/documentation", Fault::Answer(busy));
    let report = publish(&registry, module().path(), &["--retries", "0"])
        .expect(0)
        .json();
    assert_eq!(report["documentation"]["status"], "unchanged");
    assert_eq!(report["warnings"], json!([]));
}

/// A registry that has the archives of another version with the same bytes, so that a publish uploads none.
fn with_archives(module: &Path) -> Registry {
    let registry = Registry::start();
    let path = module.to_str().unwrap();
    let other = [
        "publish",
        "module",
        path,
        "--address",
        "acme/vpc/aws",
        "--version",
        "0.9.0",
    ];
    run(&registry, &other).expect(0);
    registry.all_requests();
    registry
}

#[test]
fn the_documentation_of_a_refused_release_is_not_sent() {
    for (status, code) in [(410, 3), (422, 3), (403, 5), (409, 4)] {
        let registry = Registry::start();
        let refusal = errors(status, &["archives/1.zip was erased"]);
        registry.fail("PUT", RELEASE, Fault::Answer(refusal));
        let ended = publish(&registry, module().path(), &[]).expect(code);
        assert!(ended.errors().ends_with("archives/1.zip was erased"));
        assert!(!ended.stderr.contains("warning:"), "{ended:?}");
        let expected = [put("/documentation?unpublished=true"), put("")];
        assert_eq!(registry.all_requests(), expected);
        assert_eq!(registry.documentation(RELEASE), None);
    }
}

#[test]
fn the_documentation_of_a_release_that_needs_no_upload_is_sent_after_it() {
    let module = module();
    let registry = with_archives(module.path());
    let other = directory(&[("README.md", "# Other")]);
    let docs = ["--docs", other.path().to_str().unwrap(), "--require-docs"];
    let report = publish(&registry, module.path(), &docs).expect(0).json();
    assert_eq!(report["status"], "created");
    assert_eq!(report["documentation"]["status"], "created");
    assert_eq!(
        registry.all_requests(),
        [
            put("/documentation?unpublished=true"),
            put(""),
            "PUT /docs-bucket".to_owned(),
            put("/documentation"),
            get("/documentation"),
        ]
    );
}

#[test]
fn the_documentation_of_a_rejected_release_is_removed() {
    for (status, code) in [(422, 3), (403, 5)] {
        let module = module();
        let registry = with_archives(module.path());
        registry.fail(
            "PUT",
            RELEASE,
            Fault::Answer(errors(status, &["no such release"])),
        );
        let ended = publish(&registry, module.path(), &[]).expect(code);
        assert_eq!(registry.documentation(RELEASE), None, "{ended:?}");
        let requests = registry.all_requests();
        let [.., publish, removal] = requests.as_slice() else {
            panic!("{requests:?}");
        };
        assert_eq!(*publish, put(""));
        let removed = delete("/documentation?unpublished=true&sha256=");
        assert!(removal.starts_with(&removed), "{requests:?}");
        assert!(!ended.stderr.contains("warning:"), "{ended:?}");
    }
}

#[test]
fn the_documentation_of_a_release_that_may_be_retried_is_kept() {
    let module = module();
    let registry = with_archives(module.path());
    let busy = errors(503, &["storage is busy"]);
    registry.fail("PUT", RELEASE, Fault::Answer(busy));
    publish(&registry, module.path(), &["--retries", "0"]).expect(6);
    assert!(registry.documentation(RELEASE).is_some());
    let requests = registry.all_requests();
    assert_eq!(requests.last(), Some(&put("")));
}

#[test]
fn the_documentation_of_another_publisher_is_kept_after_a_rejected_release() {
    let module = module();
    let registry = with_archives(module.path());
    registry.interpose_documentation(RELEASE, other_documentation());
    let invalid = errors(422, &["no such release"]);
    registry.fail("PUT", RELEASE, Fault::Answer(invalid));
    publish(&registry, module.path(), &[]).expect(3);
    assert_eq!(registry.documentation(RELEASE), Some(other_documentation()));
}

#[test]
fn a_conflict_with_a_release_that_came_in_between_warns_about_the_documentation() {
    let module = module();
    let registry = with_archives(module.path());
    let archive = json!({ "format": "zip", "sha256": Sha256::of(b"other").to_string(), "size": 5 });
    registry.interpose_release(RELEASE, json!({ "archive": archive }));
    let ended = publish(&registry, module.path(), &[]).expect(4);
    assert!(
        ended.stderr.contains("warning: another publisher"),
        "{ended:?}"
    );
    assert!(registry.documentation(RELEASE).is_some());
}

#[test]
fn documentation_that_cannot_be_removed_after_a_rejection_is_a_warning() {
    let module = module();
    let registry = with_archives(module.path());
    let invalid = errors(422, &["no such release"]);
    registry.fail("PUT", RELEASE, Fault::Answer(invalid));
    let busy = errors(503, &["storage is busy"]);
    registry.fail("DELETE", "/documentation", Fault::Answer(busy));
    let ended = publish(&registry, module.path(), &["--retries", "0"]).expect(3);
    assert_eq!(ended.errors(), "no such release");
    let warning = "and the registry keeps it for a day: ";
    assert!(ended.stderr.contains(warning), "{ended:?}");
    assert!(ended.stderr.contains("storage is busy"), "{ended:?}");
}

#[test]
fn a_failure_of_the_documentation_is_only_a_warning() {
    let module = module();
    for (answer, text) in [
        (
            errors(422, &["the head is not valid"]),
            "the head is not valid",
        ),
        (errors(404, &["no such path"]), "too old"),
        (errors(405, &["no such method"]), "too old"),
        (
            errors(503, &["storage is busy"]),
            "run the same command again",
        ),
        (Response::new(200, "{}"), "malformed"),
    ] {
        let registry = Registry::start();
        registry.fail("PUT", "/documentation", Fault::Answer(answer));
        let ended = publish(&registry, module.path(), &["--retries", "0"]).expect(0);
        let report = ended.json();
        assert_eq!(report["status"], "created", "{ended:?}");
        assert_eq!(report["documentation"]["status"], "failed", "{ended:?}");
        let warnings = report["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), 1, "{ended:?}");
        let warning = warnings[0].as_str().unwrap();
        assert!(warning.starts_with("without documentation: "), "{warning}");
        assert!(warning.contains(text), "{warning}");
    }
}

#[test]
fn required_documentation_that_is_rejected_prevents_the_publish() {
    let registry = Registry::start();
    let answer = errors(422, &["the head is not valid"]);
    registry.fail("PUT", "/documentation", Fault::Answer(answer));
    let ended = publish(&registry, module().path(), &["--require-docs"]).expect(3);
    assert_eq!(ended.errors(), "the head is not valid");
    assert_eq!(registry.requests(), [""; 0]);
    let unreadable = ["--require-docs", "--docs", "/nonexistent"];
    let ended = publish(&registry, module().path(), &unreadable).expect(3);
    assert!(ended.errors().contains("/nonexistent"), "{ended:?}");
    assert_eq!(registry.all_requests(), [""; 0]);
}

#[test]
fn required_documentation_that_fails_after_the_release_fails_the_command_once() {
    let registry = Registry::start();
    let module = module();
    publish(&registry, module.path(), &["--no-docs"]).expect(0);
    for answer in [
        errors(409, &["the version is published"]),
        errors(422, &["the head is not valid"]),
    ] {
        registry.fail("PUT", "/documentation", Fault::Answer(answer));
    }
    let ended = publish(&registry, module.path(), &["--require-docs"]).expect(3);
    let document = ended.json();
    assert_eq!(ended.errors(), "the head is not valid");
    assert_eq!(document["address"], "acme/vpc/aws");
    assert_eq!(document["documentation"]["status"], "failed");
}

#[test]
fn an_unreadable_directory_of_documentation_is_only_a_warning() {
    let registry = Registry::start();
    let report = publish(&registry, module().path(), &["--docs", "/nonexistent"]);
    let report = report.expect(0).json();
    assert_eq!(report["status"], "created");
    assert_eq!(report["documentation"], Value::Null);
    let warning = report["warnings"][0].as_str().unwrap();
    assert!(warning.contains("/nonexistent"), "{warning}");
}

#[test]
fn a_dry_run_shows_the_documentation_and_sends_nothing() {
    let registry = Registry::start();
    let report = publish(&registry, module().path(), &["--dry-run"])
        .expect(0)
        .json();
    assert_eq!(report["documentation"]["status"], "dry_run");
    assert_eq!(report["documentation"]["inputs"], 1);
    assert_eq!(registry.all_requests(), [""; 0]);
}

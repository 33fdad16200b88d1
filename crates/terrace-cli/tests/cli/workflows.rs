//! The workflows of this repository, and those of other CI systems in `docs/access.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::Value;

use super::support::assert_has;

/// Programs that run code of other parties: build scripts, and scripts of packages.
const BUILDERS: [&str; 5] = ["cargo ", "npm ", "go ", "pip ", "make "];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn parsed(text: &str) -> Value {
    let documents = Yaml::load_from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(documents.len(), 1, "{text}");
    json(&documents[0])
}

fn json(yaml: &Yaml<'_>) -> Value {
    match yaml {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(value)) => (*value).into(),
        Yaml::Value(Scalar::Integer(value)) => (*value).into(),
        Yaml::Value(Scalar::String(value)) => value.as_ref().into(),
        Yaml::Sequence(values) => values.iter().map(json).collect(),
        Yaml::Mapping(entries) => {
            let entries = entries.iter();
            Value::Object(
                entries
                    .map(|(key, value)| (key.as_str().unwrap().to_owned(), json(value)))
                    .collect(),
            )
        }
        other => panic!("{other:?}"),
    }
}

fn workflow(name: &str) -> Value {
    let path = top().join(".github/workflows").join(name);
    parsed(&fs::read_to_string(path).unwrap())
}

/// Returns the YAML documents of `docs/access.md`.
fn documented() -> Vec<Value> {
    let text = fs::read_to_string(top().join("docs/access.md")).unwrap();
    let blocks = text.split("```yaml\n").skip(1);
    let found: Vec<Value> = blocks
        .map(|block| parsed(block.split("```").next().unwrap()))
        .collect();
    assert!(found.len() >= 4, "{found:?}");
    found
}

/// Returns the jobs of GitHub Actions or of GitLab.
fn jobs(document: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let jobs = document["jobs"].as_object().or(document.as_object());
    jobs.unwrap().iter().filter(|(_, job)| job.is_object())
}

#[test]
fn no_job_that_can_prove_its_identity_builds_code_of_others() {
    let entries = fs::read_dir(top().join(".github/workflows")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let ours: Vec<Value> = names.map(|name| workflow(&name)).collect();
    let mut checked = 0;
    for (name, job) in ours.iter().chain(&documented()).flat_map(jobs) {
        if job["permissions"]["id-token"] != "write" && job["id_tokens"].is_null() {
            continue;
        }
        let steps = job["steps"].as_array().into_iter().flatten();
        for code in steps.map(|step| &step["run"]).chain([&job["script"]]) {
            let code = code.to_string();
            assert!(!BUILDERS.iter().any(|it| code.contains(it)), "{name}");
        }
        checked += 1;
    }
    assert!(checked >= 7, "{checked}");
}

#[test]
fn documented_callers_give_the_inputs_that_the_reusable_workflows_have() {
    let mut called = BTreeSet::new();
    for (_, job) in documented().iter().flat_map(jobs) {
        let Some(uses) = job["uses"].as_str() else {
            continue;
        };
        let mut parts = uses.split(['/', '@']);
        let file = parts.find(|part| part.ends_with(".yml")).unwrap();
        let callee = workflow(file);
        let inputs = callee["on"]["workflow_call"]["inputs"].as_object().unwrap();
        let given = job["with"].as_object().unwrap();
        assert!(given.keys().all(|it| inputs.contains_key(it)), "{file}");
        let mut required = inputs.iter().filter(|(_, it)| it["required"] == true);
        assert!(required.all(|(it, _)| given.contains_key(it)), "{file}");
        // A called workflow has no more permissions than its caller.
        assert_eq!(job["permissions"], callee["jobs"]["publish"]["permissions"]);
        called.insert(file.to_owned());
    }
    assert_eq!(called.len(), 2, "{called:?}");
}

#[test]
fn the_reusable_workflows_pass_every_input_to_the_action() {
    let action = fs::read_to_string(top().join("terrace-action/action.yml")).unwrap();
    let action = parsed(&action);
    for name in ["publish-modules.yml", "publish-provider.yml"] {
        let callee = workflow(name);
        let steps = callee["jobs"]["publish"]["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["id"] == "publish").unwrap();
        assert_eq!(step["uses"], "$/terrace-action");
        for input in step["with"].as_object().unwrap().keys() {
            assert!(action["inputs"].get(input).is_some(), "{name}: {input}");
        }
        let inputs = callee["on"]["workflow_call"]["inputs"].as_object().unwrap();
        let whole = callee["jobs"]["publish"].to_string();
        for input in inputs.keys() {
            assert_has!(whole, &format!("inputs.{input} "));
        }
    }
}

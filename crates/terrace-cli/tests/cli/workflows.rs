//! The workflows of this repository, and those of other CI systems in `docs/access.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Map, Value};

use super::support::assert_has;

/// Programs that run code of other parties: build scripts, and scripts of packages.
const BUILDERS: [&str; 5] = ["cargo ", "npm ", "go ", "pip ", "make "];

const WORKFLOWS: [&str; 5] = [
    "ci.yml",
    "compatibility.yml",
    "publish-modules.yml",
    "publish-provider.yml",
    "release.yml",
];

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

/// Returns every job of GitHub Actions with its name.
fn jobs(documents: &[Value]) -> Vec<(String, Map<String, Value>)> {
    let jobs = documents.iter().filter_map(|it| it["jobs"].as_object());
    let job = |(name, job): (&String, &Value)| (name.clone(), job.as_object().unwrap().clone());
    jobs.flatten().map(job).collect()
}

fn all() -> Vec<Value> {
    let ours = WORKFLOWS.map(workflow).into_iter();
    ours.chain(documented()).collect()
}

#[test]
fn no_job_that_can_prove_its_identity_builds_code_of_others() {
    let mut checked = BTreeSet::new();
    for (name, job) in jobs(&all()) {
        if job
            .get("permissions")
            .is_none_or(|it| it["id-token"] != "write")
        {
            continue;
        }
        let steps = job.get("steps").and_then(Value::as_array);
        for step in steps.into_iter().flatten() {
            let run = step["run"].as_str().unwrap_or_default();
            assert!(!BUILDERS.iter().any(|it| run.contains(it)), "{name}: {run}");
        }
        checked.insert(name);
    }
    for document in documented() {
        for (name, job) in document.as_object().unwrap() {
            if job.get("id_tokens").is_some() {
                let script = job["script"].to_string();
                assert!(
                    !BUILDERS.iter().any(|it| script.contains(it)),
                    "{name}: {script}"
                );
                checked.insert(format!("GitLab: {name}"));
            }
        }
    }
    let expected = "GitLab: publish, attest, image, mirror, npm, plan, publish";
    assert_eq!(Vec::from_iter(checked).join(", "), expected);
}

#[test]
fn the_workflows_of_this_repository_are_all_tested() {
    let entries = fs::read_dir(top().join(".github/workflows")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: BTreeSet<String> = names.collect();
    assert_eq!(names, WORKFLOWS.map(str::to_owned).into());
}

#[test]
fn documented_callers_give_the_inputs_that_the_reusable_workflows_have() {
    let mut called = BTreeSet::new();
    for (_, job) in jobs(&documented()) {
        let Some(uses) = job.get("uses").and_then(Value::as_str) else {
            continue;
        };
        let file = uses
            .split(['/', '@'])
            .find(|part| part.ends_with(".yml"))
            .unwrap();
        let callee = workflow(file);
        let inputs = callee["on"]["workflow_call"]["inputs"].as_object().unwrap();
        let given = job["with"].as_object().unwrap();
        for name in given.keys() {
            assert!(inputs.contains_key(name), "{file} has no input {name}");
        }
        for (name, input) in inputs {
            assert!(
                input["required"] != true || given.contains_key(name),
                "{file} needs {name}"
            );
        }
        // A called workflow has no more permissions than its caller.
        assert_eq!(job["permissions"], callee["jobs"]["publish"]["permissions"]);
        called.insert(file.to_owned());
    }
    let both = ["publish-modules.yml", "publish-provider.yml"];
    assert_eq!(called, both.map(str::to_owned).into());
}

/// Returns the inputs that the reusable workflow passes to the action.
fn passed_to_the_action(name: &str) -> Map<String, Value> {
    let workflow = workflow(name);
    let steps = workflow["jobs"]["publish"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["id"] == "publish").unwrap();
    assert_eq!(step["uses"], "$/terrace-action");
    step["with"].as_object().unwrap().clone()
}

#[test]
fn the_reusable_workflows_pass_every_input_to_the_action() {
    let action = fs::read_to_string(top().join("terrace-action/action.yml")).unwrap();
    let action = parsed(&action);
    for name in ["publish-modules.yml", "publish-provider.yml"] {
        let passed = passed_to_the_action(name);
        for input in passed.keys() {
            assert!(action["inputs"].get(input).is_some(), "{name}: {input}");
        }
        let callee = workflow(name);
        let inputs = callee["on"]["workflow_call"]["inputs"].as_object().unwrap();
        let whole = callee["jobs"]["publish"].to_string();
        for input in inputs.keys() {
            assert_has!(whole, &format!("inputs.{input} "));
        }
    }
}

//! The workflows of this repository, and those of other CI systems in `docs/ci.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Map, Value};

use super::support::registry::Registry;
use super::support::{TOKEN, directory};

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

/// Returns the YAML documents of `docs/ci.md`.
fn documented() -> Vec<Value> {
    let text = fs::read_to_string(top().join("docs/ci.md")).unwrap();
    let blocks = text.split("```yaml\n").skip(1);
    let found: Vec<Value> = blocks
        .map(|block| parsed(block.split("```").next().unwrap()))
        .collect();
    assert!(found.len() >= 4, "{found:?}");
    found
}

/// Returns every job of GitHub Actions with its name.
fn jobs(documents: &[Value]) -> Vec<(String, Map<String, Value>)> {
    let jobs = documents
        .iter()
        .filter_map(|document| document["jobs"].as_object());
    jobs.flatten()
        .map(|(name, job)| (name.clone(), job.as_object().unwrap().clone()))
        .collect()
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
    let expected = [
        "GitLab: publish",
        "attest",
        "image",
        "mirror",
        "npm",
        "plan",
        "publish",
    ];
    assert_eq!(checked, expected.map(str::to_owned).into());
}

#[test]
fn the_workflows_of_this_repository_are_all_tested() {
    let entries = fs::read_dir(top().join(".github/workflows")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: BTreeSet<String> = names.collect();
    assert_eq!(names, WORKFLOWS.map(str::to_owned).into());
}

#[test]
fn the_actions_of_this_repository_are_pinned_by_commits() {
    for name in WORKFLOWS {
        for (_, job) in jobs(&[workflow(name)]) {
            let steps = job.get("steps").and_then(Value::as_array);
            let uses = job.get("uses").and_then(Value::as_str);
            let of_steps = steps
                .into_iter()
                .flatten()
                .filter_map(|it| it["uses"].as_str());
            for action in of_steps.chain(uses) {
                // Of the commit that runs.
                if action.starts_with("$/") {
                    continue;
                }
                let (_, commit) = action.split_once('@').unwrap();
                let is_commit =
                    commit.len() == 40 && commit.bytes().all(|it| it.is_ascii_hexdigit());
                assert!(is_commit, "{name}: {action}");
            }
        }
    }
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
            assert!(
                whole.contains(&format!("inputs.{input} ")),
                "{name}: {input}"
            );
        }
    }
}

/// Runs the script of the action that publishes, in a directory with a tagged repository. Returns the outputs of the step.
#[cfg(unix)]
fn publish_step(registry: &Registry, inputs: &[(&str, &str)]) -> String {
    let action = fs::read_to_string(top().join("terrace-action/action.yml")).unwrap();
    let action = parsed(&action);
    let steps = action["runs"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["id"] == "publish").unwrap();
    let place = directory(&[("modules/terraform/vpc/main.tf", "")]);
    let outputs = place.path().join("outputs");
    fs::write(&outputs, "").unwrap();
    let programs = place.path().join("programs");
    fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_terrace"), programs.join("terrace")).unwrap();
    let script = "cd modules && git init --quiet && git add . && \
                  git -c user.name=T -c user.email=t@example.com -c commit.gpgsign=false commit --quiet -m x && \
                  git -c tag.gpgsign=false tag release-vpc_1.0.0 && cd ..";
    let run = step["run"].as_str().unwrap();
    let mut path = vec![programs];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    let mut bash = Command::new("bash");
    bash.args(["-e", "-o", "pipefail", "-c", &format!("{script}\n{run}")]);
    bash.current_dir(place.path());
    for name in step["env"].as_object().unwrap().keys() {
        bash.env(name, "");
    }
    bash.env("PATH", std::env::join_paths(path).unwrap())
        .env("GITHUB_ACTION_PATH", top().join("terrace-action"))
        .env("GITHUB_OUTPUT", &outputs)
        .env("HOME", place.path())
        .env("TERRACE_URL", registry.url())
        .env("TERRACE_TOKEN", TOKEN)
        .envs(inputs.iter().copied());
    let done = bash.output().expect("bash is on PATH");
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    fs::read_to_string(outputs).unwrap()
}

#[cfg(unix)]
#[test]
fn the_step_that_publishes_modules_passes_its_inputs_to_the_command() {
    let registry = Registry::start();
    let mut inputs = vec![
        ("ADDRESS", "acme/{name}/aws"),
        ("PLACE", "modules"),
        ("DIRECTORIES", "terraform/{name}"),
        ("TAG", "release-{name}_{version}"),
        ("DRY_RUN", "true"),
    ];
    let outputs = publish_step(&registry, &inputs);
    assert_eq!(outputs, "status=dry_run\nversion=\n");
    assert!(registry.requests().is_empty());
    inputs.pop();
    inputs.push(("LATEST", "true"));
    let outputs = publish_step(&registry, &inputs);
    assert_eq!(outputs, "status=ok\nversion=\n");
    let requests = registry.requests();
    assert!(
        requests
            .iter()
            .any(|it| it.contains("/modules/acme/vpc/aws/1.0.0")),
        "{requests:?}"
    );
}

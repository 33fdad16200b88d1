//! The `required_providers` of a terraform configuration.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use terrace_core::model::name::Hostname;
use terrace_core::upstream::origin::Constraints;
use terrace_metadata::native_as_json;

use super::selection::{ProviderSelection, Selections, VersionSelection};

const SHAPE: &str = "terraform and required_providers must be objects, or arrays of objects";

#[derive(Deserialize)]
struct Configuration {
    #[serde(default)]
    terraform: Blocks<Terraform>,
}

#[derive(Deserialize, Default)]
struct Terraform {
    #[serde(default)]
    required_providers: Blocks<BTreeMap<String, Value>>,
}

/// The blocks of a type: a single one is an object, several are an array of objects.
#[derive(Deserialize, Default)]
#[serde(untagged)]
enum Blocks<T> {
    #[default]
    None,
    // Before the single one: serde also reads an object from a sequence.
    Several(Vec<T>),
    One(T),
}

/// An entry of `required_providers`: an object or, in old configurations, a version only.
#[derive(Deserialize)]
#[serde(untagged)]
enum Requirement {
    Version(String),
    Provider {
        source: Option<String>,
        version: Option<String>,
    },
}

impl<T> Blocks<T> {
    fn into_vec(self) -> Vec<T> {
        match self {
            Self::None => Vec::new(),
            Self::One(block) => vec![block],
            Self::Several(blocks) => blocks,
        }
    }
}

/// Reads the files of one module, each with its name. Selects the newest version of each provider that every
/// constraint in them allows, as `init` does.
///
/// # Errors
/// The first error in the files.
pub(crate) fn read(
    files: &[(String, String)],
    default_host: &Hostname,
) -> Result<Selections, String> {
    let mut sources: BTreeMap<String, Option<Constraints>> = BTreeMap::new();
    for (name, text) in files {
        let about = |reason: String| format!("{name}: {reason}");
        let root = match name.ends_with(".json") {
            true => serde_json::from_str(text).map_err(|error| error.to_string()),
            false => native(text),
        };
        let root: Blocks<Configuration> =
            serde_json::from_value(root.map_err(about)?).map_err(|_| about(SHAPE.to_owned()))?;
        let root = root.into_vec().into_iter();
        let terraform = root.flat_map(|it| it.terraform.into_vec());
        let required = terraform.flat_map(|it| it.required_providers.into_vec());
        for (local_name, value) in required.flatten().filter(|(name, _)| name != "//") {
            let about = |reason: String| about(format!("{local_name}: {reason}"));
            let (source, version) = match serde_json::from_value(value) {
                Ok(Requirement::Version(version)) => (None, Some(version)),
                Ok(Requirement::Provider { source, version }) => (source, version),
                Err(_) => {
                    let reason = "write it as { source = \"…\", version = \"…\" }";
                    return Err(about(reason.to_owned()));
                }
            };
            let source = whole(source.as_deref().unwrap_or(&local_name), default_host);
            let constraints: Option<Constraints> = version
                .map(|it| it.parse())
                .transpose()
                .map_err(|error| about(format!("{error}")))?;
            let known = sources.entry(source).or_default();
            *known = match (known.take(), constraints) {
                (Some(known), Some(more)) => Some(known.and(more)),
                (known, more) => known.or(more),
            };
        }
    }
    let mut found = Selections::default();
    for (source, constraints) in sources {
        found.add(&source, |address| ProviderSelection {
            address,
            versions: VersionSelection::Newest(constraints),
            platforms: Vec::new(),
            lock: None,
        })?;
    }
    Ok(found)
}

/// Reads the native syntax as JSON.
pub(super) fn native(text: &str) -> Result<Value, String> {
    native_as_json(text).map_err(|(line, message)| format!("line {line}: {message}"))
}

/// Returns the source with all three parts. A source without a namespace belongs to HashiCorp's.
fn whole(source: &str, default_host: &Hostname) -> String {
    match source.split('/').count() {
        1 => format!("{default_host}/hashicorp/{source}"),
        2 => format!("{default_host}/{source}"),
        _ => source.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_one(name: &str, text: &str) -> Result<Selections, String> {
        let host = "registry.terraform.io".parse().unwrap();
        read(&[(name.to_owned(), text.to_owned())], &host)
    }

    fn texts(found: &Selections) -> Vec<String> {
        let text = |selection: &ProviderSelection| match selection.versions.constraints() {
            Some(constraints) => format!("{} {constraints}", selection.address),
            None => selection.address.to_string(),
        };
        found.providers.iter().map(text).collect()
    }

    #[test]
    fn both_syntaxes_are_read_and_sources_are_completed() {
        let native = r#"
            terraform {
              required_version = ">= 1.6"
              required_providers {
                random = { source = "hashicorp/random", version = "~> 3.6" }
                widget = {
                  "source" = "registry.example.com/acme/widget"
                  configuration_aliases = [widget.other]
                }
                null   = "~> 3.0"
                time   = {}
                terraform = { source = "terraform.io/builtin/terraform" }
              }
            }
            resource "random_id" "id" { byte_length = var.length + 1 }
            "#;
        let found = read_one("main.tf", native).unwrap();
        let expected = [
            "registry.example.com/acme/widget",
            "registry.terraform.io/hashicorp/null ~> 3.0",
            "registry.terraform.io/hashicorp/random ~> 3.6",
            "registry.terraform.io/hashicorp/time",
        ];
        assert_eq!(texts(&found), expected);
        assert_eq!(found.skipped.len(), 1);
        let random = r#""random": { "source": "hashicorp/random", "version": "~> 3.6" }"#;
        let required =
            format!(r#"{{ "//": "a comment", "null": "~> 3.0", "time": {{}}, {random} }}"#);
        let json = format!(r#"{{ "terraform": [{{ "required_providers": {required} }}] }}"#);
        for text in [&json, &format!("[{json}]")] {
            let found = read_one("main.tf.json", text).unwrap();
            assert_eq!(texts(&found), expected[1..]);
        }
    }

    #[test]
    fn the_constraints_of_all_files_must_be_met() {
        let require = |version: &str| {
            let text = format!(
                "terraform {{\n required_providers {{\n a = {{ source = \"b/c\", version = {version:?} }}\n }}\n}}"
            );
            ("x.tf".to_owned(), text)
        };
        let host = "registry.opentofu.org".parse().unwrap();
        let found = read(&[require(">= 1.0"), require("< 2.0")], &host).unwrap();
        assert_eq!(texts(&found), ["registry.opentofu.org/b/c >= 1.0, < 2.0"]);
    }

    #[test]
    fn errors_are_reported_with_their_reason() {
        let native = |text: &str| format!("terraform {{\n required_providers {{\n {text}\n }}\n}}");
        let json =
            |text: &str| format!("{{\"terraform\": {{\"required_providers\": {{ {text} }} }} }}");
        let (tf, tf_json) = ("main.tf", "main.tf.json");
        for (name, text, message) in [
            (tf, "terraform {".to_owned(), "main.tf: line 1"),
            (tf, native("a = []"), "source"),
            (tf, native("a = { source = [] }"), "a: write it as"),
            (tf, native("a = { source = var.x }"), "${var.x}"),
            (
                tf,
                native("a = { version = \"x\" }"),
                "not a version constraint",
            ),
            (tf, native("a = { source = \"../b\" }"), "namespace"),
            (tf_json, "{".to_owned(), "main.tf.json"),
            (tf_json, "1".to_owned(), "main.tf.json"),
            (tf_json, "{\"terraform\": 1}".to_owned(), SHAPE),
            (tf_json, json("\"a\": 1"), "source"),
            (tf_json, json("\"a\": {\"source\": 1}"), "a: write it as"),
        ] {
            let error = read_one(name, &text).unwrap_err();
            assert!(error.contains(message), "{text:?}: {error}");
        }
    }
}

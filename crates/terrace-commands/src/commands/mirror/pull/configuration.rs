//! The `required_providers` of a terraform configuration.

mod json;
mod native;

use std::collections::BTreeMap;

use terrace_core::model::name::Hostname;
use terrace_core::upstream::origin::Constraints;

use super::selection::{ProviderSelection, Selections, VersionSelection};

/// An entry of `required_providers`.
struct Requirement {
    local_name: String,
    source: Option<String>,
    version: Option<String>,
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
        let requirements = if name.ends_with(".json") {
            json::requirements(text)
        } else {
            native::requirements(text)
        };
        for requirement in requirements.map_err(about)? {
            let Requirement {
                local_name,
                source,
                version,
            } = requirement;
            let about = |reason: String| about(format!("{local_name}: {reason}"));
            let source = whole(source.as_deref().unwrap_or(&local_name), default_host);
            let constraints: Option<Constraints> = version
                .map(|text| text.parse())
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

    fn read_one(text: &str) -> Result<Selections, String> {
        let host = "registry.terraform.io".parse().unwrap();
        read(&[("main.tf".to_owned(), text.to_owned())], &host)
    }

    fn texts(found: &Selections) -> Vec<String> {
        let text = |selection: &ProviderSelection| match selection.versions.constraints() {
            Some(constraints) => format!("{} {constraints}", selection.address),
            None => selection.address.to_string(),
        };
        found.providers.iter().map(text).collect()
    }

    #[test]
    fn sources_are_completed_and_constraints_are_parsed() {
        let found = read_one(
            r#"
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
            "#,
        )
        .unwrap();
        assert_eq!(
            texts(&found),
            [
                "registry.example.com/acme/widget",
                "registry.terraform.io/hashicorp/null ~> 3.0",
                "registry.terraform.io/hashicorp/random ~> 3.6",
                "registry.terraform.io/hashicorp/time",
            ]
        );
        assert_eq!(found.skipped.len(), 1);
    }

    #[test]
    fn json_is_read_as_the_native_syntax_is() {
        let host = "registry.terraform.io".parse().unwrap();
        let text = r#"{
            "//": "written by a program",
            "terraform": [{
                "required_version": ">= 1.6",
                "required_providers": {
                    "//": "a comment",
                    "random": { "source": "hashicorp/random", "version": "~> 3.6" },
                    "widget": {
                        "source": "registry.example.com/acme/widget",
                        "configuration_aliases": ["widget.other"]
                    },
                    "null": "~> 3.0",
                    "time": {},
                    "terraform": { "source": "terraform.io/builtin/terraform" }
                }
            }],
            "resource": { "random_id": { "id": { "byte_length": 8 } } }
        }"#;
        let found = read(&[("main.tf.json".to_owned(), text.to_owned())], &host).unwrap();
        assert_eq!(
            texts(&found),
            [
                "registry.example.com/acme/widget",
                "registry.terraform.io/hashicorp/null ~> 3.0",
                "registry.terraform.io/hashicorp/random ~> 3.6",
                "registry.terraform.io/hashicorp/time",
            ]
        );
        assert_eq!(found.skipped.len(), 1);
    }

    #[test]
    fn errors_in_json_are_reported() {
        let host = "registry.terraform.io".parse().unwrap();
        let required =
            |text: &str| format!("{{\"terraform\": {{\"required_providers\": {{ {text} }} }} }}");
        for (text, message) in [
            ("{".to_owned(), "main.tf.json"),
            ("1".to_owned(), "an object"),
            ("{\"terraform\": 1}".to_owned(), "terraform must be"),
            (required("\"a\": 1"), "source"),
            (required("\"a\": {\"source\": 1}"), "source must be"),
            (required("\"a\": {\"version\": \"x\"}"), "not a number"),
        ] {
            let files = [("main.tf.json".to_owned(), text.clone())];
            let error = read(&files, &host).unwrap_err();
            assert!(error.contains(message), "{text:?}: {error}");
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
        let required =
            |text: &str| format!("terraform {{\n required_providers {{\n {text}\n }}\n}}");
        for (text, message) in [
            ("terraform {".to_owned(), "main.tf"),
            (required("a = 1"), "source"),
            (required("a = { source = var.x }"), "source must be"),
            (required("a = { version = \"x\" }"), "not a number"),
            (required("a = { source = \"../b\" }"), "namespace"),
        ] {
            let error = read_one(&text).unwrap_err();
            assert!(error.contains(message), "{text:?}: {error}");
        }
    }
}

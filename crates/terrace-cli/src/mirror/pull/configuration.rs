//! The `required_providers` of a terraform configuration.

use std::collections::BTreeMap;

use hcl::{Body, Expression, ObjectKey};
use terrace_core::name::Hostname;

use super::wanted::{Choice, Found, Wanted};
use crate::constraint::Constraints;

/// Reads the files of one module, each with its name. Of each provider the newest version is
/// wanted that every constraint in them admits, as `init` would choose it.
///
/// # Errors
/// The first thing in them that is wrong.
pub(crate) fn read(files: &[(String, String)], default_host: &Hostname) -> Result<Found, String> {
    let mut sources: BTreeMap<String, Option<Constraints>> = BTreeMap::new();
    for (name, text) in files {
        let about = |reason: String| format!("{name}: {reason}");
        let body: Body = hcl::parse(text).map_err(|error| about(error.to_string()))?;
        for (local_name, requirement) in requirements(&body) {
            let about = |reason: String| about(format!("{local_name}: {reason}"));
            let (source, version) = read_requirement(&requirement).map_err(about)?;
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
    let mut found = Found::default();
    for (source, constraints) in sources {
        found.add(&source, |address| Wanted {
            address,
            choice: Choice::Newest(constraints),
            platforms: Vec::new(),
            zips: Vec::new(),
        })?;
    }
    Ok(found)
}

/// The elements of every `terraform { required_providers { … } }`.
fn requirements(body: &Body) -> Vec<(String, Expression)> {
    let blocks = body
        .blocks()
        .filter(|block| block.identifier() == "terraform");
    let inner = blocks.flat_map(|block| block.body().blocks());
    let required = inner.filter(|block| block.identifier() == "required_providers");
    required
        .flat_map(|block| block.body().attributes())
        .map(|attribute| (attribute.key().to_owned(), attribute.expr().clone()))
        .collect()
}

/// The source and the version of an element: an object, or in old configurations a version alone.
fn read_requirement(expression: &Expression) -> Result<(Option<String>, Option<String>), String> {
    let object = match expression {
        Expression::String(version) => return Ok((None, Some(version.clone()))),
        Expression::Object(object) => object,
        _ => return Err("write it as { source = \"…\", version = \"…\" }".to_owned()),
    };
    let member = |name: &str| {
        let is_it = |key: &ObjectKey| match key {
            ObjectKey::Identifier(identifier) => identifier.as_str() == name,
            ObjectKey::Expression(Expression::String(text)) => text == name,
            _ => false,
        };
        match object.iter().find(|(key, _)| is_it(key)) {
            None => Ok(None),
            Some((_, Expression::String(text))) => Ok(Some(text.clone())),
            Some(_) => Err(format!("{name} must be a text in quotes")),
        }
    };
    Ok((member("source")?, member("version")?))
}

/// A source with all its three parts. Without a namespace it is one of HashiCorp's.
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

    fn read_one(text: &str) -> Result<Found, String> {
        let host = "registry.terraform.io".parse().unwrap();
        read(&[("main.tf".to_owned(), text.to_owned())], &host)
    }

    fn texts(found: &Found) -> Vec<String> {
        let text = |wanted: &Wanted| match wanted.choice.constraints() {
            Some(constraints) => format!("{} {constraints}", wanted.address),
            None => wanted.address.to_string(),
        };
        found.wanted.iter().map(text).collect()
    }

    #[test]
    fn sources_are_completed_and_constraints_read() {
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
        assert_eq!(found.passed_over.len(), 1);
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
    fn what_is_wrong_is_told() {
        let required =
            |text: &str| format!("terraform {{\n required_providers {{\n {text}\n }}\n}}");
        for (text, told) in [
            ("terraform {".to_owned(), "main.tf"),
            (required("a = 1"), "source"),
            (required("a = { source = var.x }"), "source must be"),
            (required("a = { version = \"x\" }"), "no number"),
            (required("a = { source = \"../b\" }"), "namespace"),
        ] {
            let error = read_one(&text).unwrap_err();
            assert!(error.contains(told), "{text:?}: {error}");
        }
    }
}

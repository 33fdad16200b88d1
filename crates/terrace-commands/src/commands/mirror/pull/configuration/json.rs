//! `required_providers` in the JSON syntax.

use serde_json::{Map, Value};

use super::Requirement;

/// Returns the members of every `terraform.required_providers`.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    let root: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut requirements = Vec::new();
    for body in bodies(&root, "the file")? {
        for terraform in nested(body, "terraform")? {
            for required in nested(terraform, "required_providers")? {
                let providers = required.iter().filter(|(name, _)| *name != "//");
                for (local_name, value) in providers {
                    requirements.push(requirement(local_name, value)?);
                }
            }
        }
    }
    Ok(requirements)
}

/// Returns the blocks of this type.
fn nested<'v>(
    body: &'v Map<String, Value>,
    name: &str,
) -> Result<Vec<&'v Map<String, Value>>, String> {
    body.get(name)
        .map_or(Ok(Vec::new()), |value| bodies(value, name))
}

/// Returns the bodies of a block type: a single block is an object, several are an array of objects.
fn bodies<'v>(value: &'v Value, what: &str) -> Result<Vec<&'v Map<String, Value>>, String> {
    let body = |value: &'v Value| {
        let shape = || format!("{what} must be an object, or an array of objects");
        value.as_object().ok_or_else(shape)
    };
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(values) => values.iter().map(body).collect(),
        value => Ok(vec![body(value)?]),
    }
}

/// Parses an entry: an object or, in old configurations, a version only.
fn requirement(local_name: &str, value: &Value) -> Result<Requirement, String> {
    let about = |reason: String| format!("{local_name}: {reason}");
    let (source, version) = match value {
        Value::String(version) => (None, Some(version.clone())),
        Value::Object(object) => {
            let member = |name| member(object, name).map_err(about);
            (member("source")?, member("version")?)
        }
        _ => {
            let shape = r#"write it as { "source": "…", "version": "…" }"#;
            return Err(about(shape.to_owned()));
        }
    };
    Ok(Requirement {
        local_name: local_name.to_owned(),
        source,
        version,
    })
}

fn member(object: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("{name} must be a text in quotes")),
    }
}

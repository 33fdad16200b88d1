//! `required_providers` in the native syntax.

use hcl::{Body, Expression, ObjectKey};

use super::Requirement;
use crate::source::syntax;

/// Returns the entries of every `terraform { required_providers { … } }`.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    let body: Body = hcl::parse(text).map_err(|error| syntax::hcl(&error))?;
    let blocks = body
        .blocks()
        .filter(|block| block.identifier() == "terraform");
    let inner = blocks.flat_map(|block| block.body().blocks());
    let required = inner.filter(|block| block.identifier() == "required_providers");
    required
        .flat_map(|block| block.body().attributes())
        .map(|attribute| requirement(attribute.key(), attribute.expr()))
        .collect()
}

/// Parses an entry: an object or, in old configurations, a version only.
fn requirement(local_name: &str, expression: &Expression) -> Result<Requirement, String> {
    let about = |reason: String| format!("{local_name}: {reason}");
    let (source, version) = match expression {
        Expression::String(version) => (None, Some(version.clone())),
        Expression::Object(object) => {
            let member = |name| member(object, name).map_err(about);
            (member("source")?, member("version")?)
        }
        _ => {
            let shape = "write it as { source = \"…\", version = \"…\" }";
            return Err(about(shape.to_owned()));
        }
    };
    Ok(Requirement {
        local_name: local_name.to_owned(),
        source,
        version,
    })
}

fn member(
    object: &hcl::Object<ObjectKey, Expression>,
    name: &str,
) -> Result<Option<String>, String> {
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
}

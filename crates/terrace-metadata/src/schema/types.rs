//! Types, in the words of `tfplugindocs`.

use serde_json::{Map, Value};

/// Returns the name of a type for tables, such as `List of String`.
pub(super) fn title(value_type: &Value) -> String {
    match value_type {
        Value::String(name) => match name.as_str() {
            "string" => "String".to_owned(),
            "bool" => "Boolean".to_owned(),
            "number" => "Number".to_owned(),
            "dynamic" => "Dynamic".to_owned(),
            other => other.to_owned(),
        },
        Value::Array(parts) => match parts.as_slice() {
            [Value::String(kind), inner] => match kind.as_str() {
                "list" => format!("List of {}", title(inner)),
                "set" => format!("Set of {}", title(inner)),
                "map" => format!("Map of {}", title(inner)),
                "object" => "Object".to_owned(),
                "tuple" => "Tuple".to_owned(),
                other => other.to_owned(),
            },
            _ => "Object".to_owned(),
        },
        _ => "Dynamic".to_owned(),
    }
}

/// Returns the name of a type for signatures, such as `list of string`.
pub(super) fn signature(value_type: &Value) -> String {
    title(value_type).to_lowercase().replace("boolean", "bool")
}

/// Returns the attributes of an object, or of the objects in a list, a set or a map.
pub(super) fn object(value_type: &Value) -> Option<&Map<String, Value>> {
    match value_type.as_array()?.as_slice() {
        [Value::String(kind), Value::Object(attributes)] if kind == "object" => Some(attributes),
        [Value::String(kind), inner] if matches!(kind.as_str(), "list" | "set" | "map") => {
            // Deeper collections are named only, as `tfplugindocs` does.
            match inner.as_array()?.as_slice() {
                [Value::String(kind), Value::Object(attributes)] if kind == "object" => {
                    Some(attributes)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

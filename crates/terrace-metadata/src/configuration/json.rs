//! The JSON syntax. Clients evaluate expressions inside its texts; here they stay text.

use serde_json::{Map, Value as Json};

use crate::configuration::{Attribute, Block, Fault, Parsed, Value};

/// The kinds of blocks that are read, and how many labels they have.
const KINDS: [(&str, usize); 8] = [
    ("data", 2),
    ("ephemeral", 2),
    ("module", 1),
    ("output", 1),
    ("provider", 1),
    ("resource", 2),
    ("terraform", 0),
    ("variable", 1),
];

/// Parses a file.
pub(super) fn parse<'s>(text: &str) -> Parsed<'s> {
    let mut parsed = Parsed::default();
    match serde_json::from_str::<Json>(text) {
        Ok(json) => read(json, &mut parsed),
        Err(error) => parsed.faults.push(Fault {
            line: Some(error.line().max(1)),
            message: format!("the file is left out, because it cannot be read as JSON: {error}"),
            // `serde_json` limits the depth to 128, and has no other sign of that.
            is_limit: error.to_string().starts_with("recursion limit"),
        }),
    }
    parsed
}

fn read(json: Json, parsed: &mut Parsed<'_>) {
    for body in each(json) {
        let Json::Object(entries) = body else {
            parsed.faults.push(Fault {
                line: None,
                message: "the file must contain a JSON object, or an array of objects".to_owned(),
                is_limit: false,
            });
            continue;
        };
        for (kind, value) in entries {
            let Some((kind, labels)) = KINDS.into_iter().find(|it| it.0 == kind) else {
                continue;
            };
            expand(kind, value, labels, &mut Vec::new(), parsed);
        }
    }
}

/// Adds the blocks of a value that has `missing` levels of labels.
fn expand(
    kind: &str,
    value: Json,
    missing: usize,
    labels: &mut Vec<String>,
    parsed: &mut Parsed<'_>,
) {
    for value in each(value) {
        let Json::Object(entries) = value else {
            parsed.faults.push(Fault {
                line: None,
                message: format!("{kind} must be a JSON object, or an array of objects"),
                is_limit: false,
            });
            continue;
        };
        if missing == 0 {
            parsed.blocks.push(block(kind, labels.clone(), entries));
            continue;
        }
        for (label, value) in entries.into_iter().filter(|(key, _)| key != "//") {
            labels.push(label);
            expand(kind, value, missing - 1, labels, parsed);
            labels.pop();
        }
    }
}

fn block<'s>(kind: &str, labels: Vec<String>, entries: Map<String, Json>) -> Block<'s> {
    let mut found = Block::new(kind.to_owned(), labels, None);
    for (key, value) in entries {
        // The only block inside another one that is read.
        if kind == "terraform" && key == "required_providers" {
            for value in each(value) {
                if let Json::Object(entries) = value {
                    let inner = block(&key, Vec::new(), entries);
                    found.blocks.push(inner);
                }
            }
        } else if key != "//" {
            let value = Value::Json(value);
            let attribute = Attribute { value, line: None };
            found.attributes.insert(key, attribute);
        }
    }
    found
}

/// Returns a literal as text.
pub(super) fn literal(value: &Json) -> Option<String> {
    match value {
        Json::Bool(flag) => Some(flag.to_string()),
        Json::Number(number) => Some(number.to_string()),
        Json::String(text) => Some(text.clone()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Returns the items of an array, or the value itself.
fn each(value: Json) -> Vec<Json> {
    match value {
        Json::Array(items) => items,
        // Clients take it for no block.
        Json::Null => Vec::new(),
        other => vec![other],
    }
}

//! The JSON syntax. Clients evaluate expressions inside its texts; here they stay text.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

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

/// A JSON value that keeps the order of its keys, and repeated ones: they are blocks of the same kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

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
    for body in json.each() {
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
    for value in value.each() {
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

fn block<'s>(kind: &str, labels: Vec<String>, entries: Vec<(String, Json)>) -> Block<'s> {
    let mut found = Block::new(kind.to_owned(), labels, None);
    for (key, value) in entries {
        // The only block inside another one that is read.
        if kind == "terraform" && key == "required_providers" {
            for value in value.each() {
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

impl Json {
    /// Returns a literal as text.
    pub(super) fn literal(&self) -> Option<String> {
        match self {
            Self::Bool(flag) => Some(flag.to_string()),
            Self::Number(number) => Some(number.to_string()),
            Self::Text(text) => Some(text.clone()),
            Self::Null | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// Returns the items of an array, or the value itself.
    fn each(self) -> Vec<Self> {
        match self {
            Self::Array(items) => items,
            // Clients take it for no block.
            Self::Null => Vec::new(),
            other => vec![other],
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Object(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Json::Object(entries))
    }
}

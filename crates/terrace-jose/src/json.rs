//! JSON with unique member names.
//!
//! Parsers differ in which of two members counts (RFC 8259, section 4), and the signer of a token may use
//! another parser than its verifier; so JSON Web Signatures and Tokens forbid duplicates (RFC 7515, section 4;
//! RFC 7519, section 4).

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use terrace_base::untrusted::line;

/// Parses one JSON value, with nothing after it.
///
/// # Errors
/// The fault and its position.
pub fn parse(text: &[u8]) -> Result<Value, String> {
    match serde_json::from_slice(text) {
        Ok(Distinct(value)) => Ok(value),
        Err(error) => Err(line(&error.to_string()).at_most(MESSAGE_CHARS).to_string()),
    }
}

/// Parses a JSON object; `None` for any other input.
pub(super) fn parse_object(text: &[u8]) -> Option<Map<String, Value>> {
    match parse(text) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    }
}

/// The maximum length of a parser's message in characters: it contains names of members as they were written.
const MESSAGE_CHARS: usize = 300;

/// A value without duplicate members, at any depth.
struct Distinct(Value);

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DistinctVisitor).map(Self)
    }
}

struct DistinctVisitor;

impl<'de> Visitor<'de> for DistinctVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Distinct(element)) = elements.next_element()? {
            all.push(element);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some((name, Distinct(value))) = members.next_entry::<String, _>()? {
            if all.contains_key(&name) {
                return Err(A::Error::custom(format_args!("{name:?} appears twice")));
            }
            all.insert(name, value);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn duplicate_members_are_refused_at_any_depth_and_in_any_spelling() {
        for twice in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"[{"b":{"a":1,"c":2,"a":3}}]"#,
        ] {
            let error = parse(twice.as_bytes()).unwrap_err();
            assert!(error.contains("\"a\" appears twice"), "{error}");
        }
        assert!(parse(br#"{"a":{"a":1},"b":[{"a":1},{"a":1}]}"#).is_ok());
    }

    #[test]
    fn invalid_json_is_refused() {
        let deep = "[".repeat(10_000);
        for wrong in [
            "",
            "{",
            "{} {}",
            "{}\0",
            "{a:1}",
            "{\"a\":1e999}",
            "\u{feff}{}",
            &deep,
        ] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong:.10}");
        }
        assert!(parse(b"\"\xff\"").is_err());
        assert_eq!(parse_object(b"[]"), None);
    }

    proptest! {
        #[test]
        fn everything_else_reads_as_serde_json_reads_it(text in "[\\[\\]{}\",:0-9a-c. -]{0,30}") {
            if let Ok(value) = parse(text.as_bytes()) {
                prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
            }
        }
    }
}

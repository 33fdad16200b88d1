//! The difference between a document in a copy and the one that a registry has under the same key.

use std::collections::BTreeSet;

use serde_json::Value;
use terrace_base::time::UnixTime;
use terrace_base::untrusted::quoted;
use terrace_core::maintenance::restore::Restored;
use terrace_core::storage::key::FactKey;

use crate::output::plural;

/// The maximum number of members that a message names.
const NAMED_MEMBERS: usize = 3;

/// Describes how the registry's document differs from the copy's. If the registry's cannot be read, the
/// description only states that they differ.
pub(super) fn describe(key: &str, there: Option<&str>, copied: &str) -> String {
    let members = there.and_then(|there| members(there, copied));
    let members = members.map_or_else(String::new, |members| format!(": {members}"));
    let what = match there.and_then(|there| has_same_bytes(key, there, copied)) {
        Some(true) => "with other metadata, but the same archives",
        Some(false) => "with other bytes",
        None => "with other contents",
    };
    format!("the registry already has {key} {what}{members}. It stays unchanged")
}

/// Returns whether two releases consist of the same archives; `None` if the documents are not releases.
pub(super) fn has_same_bytes(key: &str, there: &str, copied: &str) -> Option<bool> {
    let key = FactKey::parse(key)?;
    let bytes = |document: &str| -> Option<BTreeSet<String>> {
        let restored = Restored::parse(&key, document).ok()?;
        Some(
            restored
                .bytes
                .iter()
                .map(|needed| needed.key.to_string())
                .collect(),
        )
    };
    let (there, copied) = (bytes(there)?, bytes(copied)?);
    (!there.is_empty() || !copied.is_empty()).then_some(there == copied)
}

/// Lists the members that differ, such as
/// `published_at (2026-01-01T00:00:00Z in the registry, 2026-02-01T00:00:00Z in the copy)`.
fn members(there: &str, copied: &str) -> Option<String> {
    let (there, copied): (Value, Value) = (
        serde_json::from_str(there).ok()?,
        serde_json::from_str(copied).ok()?,
    );
    let mut found = Vec::new();
    compare("", Some(&there), Some(&copied), &mut found);
    let more = found.len().saturating_sub(NAMED_MEMBERS);
    found.truncate(NAMED_MEMBERS);
    if more > 0 {
        found.push(plural(more, "more member"));
    }
    (!found.is_empty()).then(|| found.join(", "))
}

fn compare(path: &str, there: Option<&Value>, copied: Option<&Value>, found: &mut Vec<String>) {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match (there, copied) {
        (one, other) if one == other => {}
        (Some(Value::Object(there)), Some(Value::Object(copied))) => {
            let names: BTreeSet<&String> = there.keys().chain(copied.keys()).collect();
            for name in names {
                compare(&below(name), there.get(name), copied.get(name), found);
            }
        }
        (Some(Value::Array(there)), Some(Value::Array(copied))) if there.len() == copied.len() => {
            for (index, (there, copied)) in there.iter().zip(copied).enumerate() {
                compare(&below(&index.to_string()), Some(there), Some(copied), found);
            }
        }
        (there, copied) => {
            let (there, copied) = (shown(path, there), shown(path, copied));
            found.push(format!(
                "{path} ({there} in the registry, {copied} in the copy)"
            ));
        }
    }
}

fn shown(path: &str, value: Option<&Value>) -> String {
    let is_time = path == "published_at";
    match value {
        None => "nothing".to_owned(),
        Some(Value::Number(number)) => match number.as_u64().filter(|_| is_time) {
            Some(seconds) => UnixTime(seconds).to_string(),
            None => number.to_string(),
        },
        Some(Value::String(text)) => quoted(text).to_string(),
        Some(value @ (Value::Null | Value::Bool(_))) => value.to_string(),
        Some(Value::Array(items)) => plural(items.len(), "item"),
        Some(Value::Object(members)) => plural(members.len(), "member"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "releases/modules/acme/vpc/aws/1.0.0";

    fn release(published_at: u64, digit: &str) -> String {
        let archive = format!(
            r#"{{"format":"zip","sha256":"{}","size":7}}"#,
            digit.repeat(64)
        );
        let start = r#""kind":"module","schema":1,"address":"acme/vpc/aws","version":"1.0.0""#;
        format!(r#"{{{start},"published_at":{published_at},"archive":{archive}}}"#)
    }

    #[test]
    fn a_release_of_another_day_has_the_same_bytes() {
        let message = describe(KEY, Some(&release(0, "a")), &release(86_400, "a"));
        assert_eq!(
            message,
            format!(
                "the registry already has {KEY} with other metadata, but the same archives: published_at \
                 (1970-01-01T00:00:00Z in the registry, 1970-01-02T00:00:00Z in the copy). It stays unchanged"
            )
        );
    }

    #[test]
    fn a_release_with_another_archive_has_other_bytes() {
        let message = describe(KEY, Some(&release(0, "a")), &release(0, "b"));
        let start =
            format!("the registry already has {KEY} with other bytes: archive.sha256 (\"aaaa");
        assert!(message.starts_with(&start), "{message}");
    }

    #[test]
    fn other_documents_have_other_contents() {
        let told_of = |there| {
            describe(
                "keys/acme",
                there,
                r#"{"keys":[1,{"a":"x"}],"b":1,"c":1,"d":1}"#,
            )
        };
        assert_eq!(
            told_of(Some(r#"{"keys":[1,{"a":"y\u202e"}]}"#)),
            "the registry already has keys/acme with other contents: b (nothing in the registry, 1 in the copy), \
             c (nothing in the registry, 1 in the copy), d (nothing in the registry, 1 in the copy), 1 more member. \
             It stays unchanged"
        );
        let plain = "the registry already has keys/acme with other contents. It stays unchanged";
        assert_eq!(told_of(None), plain);
        assert_eq!(told_of(Some("{")), plain);
    }
}

//! Times in the documents that programs read.

use serde::Serialize;
use serde_json::Value;
use terrace_base::time::UnixTime;

/// The members of documents that hold a time, in seconds since 1970.
const NAMES: [&str; 2] = ["at", "expires"];

/// Returns a stored document for programs: its times are texts as in RFC 3339, as all times of this command are.
pub(crate) fn with_times(document: &impl Serialize) -> Value {
    let mut document = serde_json::to_value(document).unwrap_or_default();
    replace(&mut document);
    document
}

fn replace(document: &mut Value) {
    match document {
        Value::Array(items) => items.iter_mut().for_each(replace),
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_u64() {
                    Some(seconds) if NAMES.contains(&name.as_str()) => {
                        *value = UnixTime(seconds).to_string().into()
                    }
                    _ => replace(value),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

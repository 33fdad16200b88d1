//! JSON of our own types.

use serde::Serialize;

/// Returns a value as JSON.
///
/// Writing into memory cannot fail, and our types have no map whose keys are not texts and no serialiser that gives up:
/// so there is no error to handle.
#[expect(
    clippy::expect_used,
    reason = "only a serialiser that gives up, and a key of a map that is no text, are errors"
)]
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("a value of our own types")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_as_serde_json_writes_it() {
        let value = std::collections::BTreeMap::from([("a", vec![1, 2]), ("b\n", vec![])]);
        assert_eq!(to_string(&value), r#"{"a":[1,2],"b\n":[]}"#);
    }
}

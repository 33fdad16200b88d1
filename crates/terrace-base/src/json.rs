//! JSON of the project's own types.

use serde::Serialize;

/// Serialises a value to JSON.
///
/// There is no error to handle: writing into memory cannot fail, and the project's types have neither maps with
/// non-string keys nor serialisers that return an error.
#[expect(
    clippy::expect_used,
    reason = "serde_json fails only if a serialiser returns an error or a map key is not a string"
)]
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("values of the project's own types always serialise")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_serialised_as_serde_json_does() {
        let value = std::collections::BTreeMap::from([("a", vec![1, 2]), ("b\n", vec![])]);
        assert_eq!(to_string(&value), r#"{"a":[1,2],"b\n":[]}"#);
    }
}

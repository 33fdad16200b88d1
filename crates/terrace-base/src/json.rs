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

/// Appends text that stands between quotes in JSON. A serialiser writes it in many small pieces, with a call
/// for each.
pub fn push_escaped(json: &mut String, text: &str) {
    let is_special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    let mut rest = text;
    while let Some(at) = rest.bytes().position(is_special) {
        let (plain, special) = rest.split_at(at);
        json.push_str(plain);
        let (special, following) = special.split_at(1);
        match special {
            "\"" => json.push_str("\\\""),
            "\\" => json.push_str("\\\\"),
            control => {
                let code = control.bytes().next().unwrap_or_default();
                json.push_str(&format!("\\u{code:04x}"));
            }
        }
        rest = following;
    }
    json.push_str(rest);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_escaped_as_json_wants_it(text in any::<String>()) {
            let mut json = String::from("\"");
            push_escaped(&mut json, &text);
            json.push('"');
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}

//! The paths of documents in a copy.

const FACTS: &str = "facts/";
const JSON: &str = ".json";

/// The maximum bytes in a segment of a path. File systems allow 255, including the prefix and the suffix.
const SEGMENT_BYTES: usize = 200;

/// Returns the path of a document.
pub(in crate::commands::admin) fn path_of_fact(key: &str) -> String {
    let mut path = FACTS.to_owned();
    let mut length = 0;
    for byte in key.bytes() {
        let part = match byte {
            b'/' => {
                length = 0;
                path.push('/');
                continue;
            }
            byte if byte.is_ascii_alphanumeric() || b"._+-".contains(&byte) => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        };
        if length + part.len() > SEGMENT_BYTES {
            path.push_str("%/");
            length = 0;
        }
        length += part.len();
        path.push_str(&part);
    }
    path.push_str(JSON);
    path
}

/// Returns the key of the document at a path; `None` if it is not the path of a document.
pub(in crate::commands::admin) fn fact_at(path: &str) -> Option<String> {
    let name = path.strip_prefix(FACTS)?.strip_suffix(JSON)?;
    let mut key = Vec::new();
    let name = name.replace("%/", "");
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        key.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    let key = String::from_utf8(key).ok()?;
    (path_of_fact(&key) == path).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_path_and_a_path_is_a_key() {
        for (key, path) in [
            (
                "releases/providers/hosted/acme/widget/1.0.0-RC.1+b",
                "facts/releases/providers/hosted/acme/widget/1.0.0-RC.1+b.json",
            ),
            (
                "oci/tags/team/app:Latest",
                "facts/oci/tags/team/app%3ALatest.json",
            ),
        ] {
            assert_eq!(path_of_fact(key), path);
            assert_eq!(fact_at(path).as_deref(), Some(key));
        }
        let long = format!(
            "oci/links/team/{}:sha512:{}",
            "a".repeat(190),
            "b".repeat(128)
        );
        let path = path_of_fact(&long);
        assert!(path.split('/').all(|segment| segment.len() < 230), "{path}");
        assert_eq!(fact_at(&path), Some(long));
        for path in [
            "facts/a",
            "a.json",
            "facts/%zz.json",
            "facts/%3a.json",
            "facts/a%41.json",
            "facts/a%/b.json",
        ] {
            assert_eq!(fact_at(path), None, "{path}");
        }
    }
}

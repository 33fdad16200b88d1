//! The paths of documents in a directory: a copy of a registry, or the data of one that is served from a disk.
//!
//! Any character of a key but a letter, a digit and `. _ + - /` is escaped, as in `%3A`, and `%/` splits a long segment.

/// The directory of the documents, with its slash.
pub const FACTS: &str = "facts/";

const JSON: &str = ".json";

/// The maximum bytes in a segment of a path. File systems allow 255, including the prefix and the suffix.
const SEGMENT_BYTES: usize = 200;

/// The prefix of the keys that may continue with those of others: the markers of the repositories `team` and `team.json/app`.
/// The directory of the latter must not have the name of the file of the former. No copy contains them.
const NESTED: &str = "oci/changes/";

/// Returns the path of a document.
pub fn path_of_fact(key: &str) -> String {
    let mut path = FACTS.to_owned();
    let mut length = 0;
    for byte in key.bytes() {
        let part = match byte {
            b'/' => {
                length = 0;
                if key.starts_with(NESTED) && path.ends_with(JSON) {
                    path.truncate(path.len() - JSON.len());
                    path.push_str("%2Ejson");
                }
                path.push('/');
                continue;
            }
            byte if byte.is_ascii_alphanumeric() || b"._+-".contains(&byte) => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        };
        let part = match length + part.len() > SEGMENT_BYTES {
            true => {
                path.push_str("%/");
                length = 0;
                // The rest of a segment must not be `.` or `..`.
                match byte {
                    b'.' => "%2E".to_owned(),
                    _ => part,
                }
            }
            false => part,
        };
        length += part.len();
        path.push_str(&part);
    }
    path.push_str(JSON);
    path
}

/// Returns the key of the document at a path; `None` if it is not the path of a document.
pub fn fact_at(path: &str) -> Option<String> {
    let name = path.strip_prefix(FACTS)?.strip_suffix(JSON)?;
    let key = unescaped(name)?;
    (path_of_fact(&key) == path).then_some(key)
}

/// Returns the beginning of the keys of all documents below a directory, and of no other key next to it; `None` if no
/// document can be there. The directory ends with a slash.
pub fn prefix_at(directory: &str) -> Option<String> {
    unescaped(directory.strip_prefix(FACTS)?)
}

/// Returns a directory, with its slash, that contains all documents with keys that begin with `prefix`.
pub fn directory_of(prefix: &str) -> String {
    let end = prefix.rfind('/').map_or(0, |slash| slash + 1);
    // The shortest key in it.
    let mut path = path_of_fact(prefix.get(..end).unwrap_or_default());
    path.truncate(path.len() - JSON.len());
    path
}

fn unescaped(path: &str) -> Option<String> {
    let mut key = Vec::new();
    let path = path.replace("%/", "");
    let mut rest = path.bytes();
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
    String::from_utf8(key).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_long_segment_is_a_dot() {
        for end in [".", "..", ".a"] {
            let key = format!("releases/{}{end}", "a".repeat(SEGMENT_BYTES));
            let path = path_of_fact(&key);
            assert!(path.contains("%/%2E"), "{path}");
            assert_eq!(fact_at(&path).as_deref(), Some(key.as_str()));
        }
    }

    #[test]
    fn a_key_is_a_path_and_a_path_is_a_key() {
        for (key, path) in [
            (
                "releases/providers/hosted/acme/widget/1.0.0-RC.1+b",
                "facts/releases/providers/hosted/acme/widget/1.0.0-RC.1+b.json",
            ),
            (
                "oci/tags/team.json/app:Latest",
                "facts/oci/tags/team.json/app%3ALatest.json",
            ),
            ("oci/changes/team", "facts/oci/changes/team.json"),
            (
                "oci/changes/team.json/app",
                "facts/oci/changes/team%2Ejson/app.json",
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

    #[test]
    fn a_directory_begins_the_keys_of_its_documents() {
        for (prefix, directory, begins) in [
            ("", "facts/", ""),
            (
                "oci/tags/team/app:v",
                "facts/oci/tags/team/",
                "oci/tags/team/",
            ),
            ("releases/a:b/", "facts/releases/a%3Ab/", "releases/a:b/"),
            (
                "oci/changes/a.json/",
                "facts/oci/changes/a%2Ejson/",
                "oci/changes/a.json/",
            ),
        ] {
            assert_eq!(directory_of(prefix), directory);
            assert_eq!(prefix_at(directory).as_deref(), Some(begins));
        }
        let long = format!("a/{}", "b".repeat(250));
        let path = path_of_fact(&long);
        let (directory, _) = path.rsplit_once('/').unwrap();
        let begins = prefix_at(&format!("{directory}/"));
        assert_eq!(begins, Some(format!("a/{}", "b".repeat(200))));
        assert_eq!(prefix_at("facts/%zz/"), None);
        assert_eq!(prefix_at("archives/"), None);
    }
}

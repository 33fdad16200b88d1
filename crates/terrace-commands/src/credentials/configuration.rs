//! The `credentials` blocks of a configuration file: `credentials "registry.example.com" { token = "…" }`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use terrace_metadata::native_as_json;

use super::{TokenHost, shown};

/// The size of a configuration file above which it is not read. Those of clients have a few lines.
const MOST_BYTES: u64 = 1024 * 1024;

/// The text of a token and the path of its file, by the host that the token is for.
pub(super) type Configured = BTreeMap<TokenHost, (String, PathBuf)>;

/// Reads the files, of which a later one takes precedence. Returns the tokens, and why files were skipped.
pub(super) fn read(files: Vec<PathBuf>) -> (Configured, Vec<String>) {
    let (mut configured, mut problems) = (Configured::new(), Vec::new());
    for path in files {
        match read_file(&path).and_then(|text| tokens(&text)) {
            Ok(tokens) => {
                for (host, token) in tokens {
                    // A block without a token hides one in an earlier file, as in the clients.
                    match token {
                        Some(token) => configured.insert(host, (token, path.clone())),
                        None => configured.remove(&host),
                    };
                }
            }
            Err(reason) => problems.push(format!(
                "{} is skipped, and a token in it is not used: {reason}",
                shown(&path)
            )),
        }
    }
    (configured, problems)
}

/// Returns whether a configuration file names a credentials helper.
pub(super) fn has_helper(path: &Path) -> bool {
    let root = read_file(path).and_then(|text| parse(&text));
    root.is_ok_and(|root| members(&root).any(|(name, _)| name == "credentials_helper"))
}

pub(super) fn read_file(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text);
    match read.map_err(|error| error.to_string())? {
        bytes if bytes as u64 > MOST_BYTES => Err(format!("it is larger than {MOST_BYTES} bytes")),
        _ => Ok(text),
    }
}

/// Returns the hosts of the `credentials` blocks, each with its token if it has one.
///
/// # Errors
/// The place of the error, without the text there: it may be a token.
fn tokens(text: &str) -> Result<Vec<(TokenHost, Option<String>)>, String> {
    let root = parse(text)?;
    let blocks = members(&root).filter(|(name, _)| *name == "credentials");
    let hosts = blocks.flat_map(|(_, block)| members(block));
    let token = |body: &Value| {
        let token = members(body).filter(|(name, _)| *name == "token").last();
        token.and_then(|(_, token)| token.as_str().map(|token| token.trim().to_owned()))
    };
    Ok(hosts
        .filter_map(|(host, body)| Some((TokenHost::parse(host)?, token(body))))
        .collect())
}

/// Parses either syntax. As in the clients, the first character decides which it is.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("line {line}, column {column} is not valid JSON")
        });
    }
    native_as_json(text).map_err(|(line, _)| format!("line {line} is not valid HCL"))
}

/// Returns the members of an object, or of all objects in a list: several blocks of a type are a list.
pub(super) fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let objects: Vec<&Map<String, Value>> = match value {
        Value::Object(object) => vec![object],
        Value::Array(values) => values.iter().filter_map(Value::as_object).collect(),
        _ => Vec::new(),
    };
    let members = objects.into_iter().flatten();
    members.map(|(name, value)| (name.as_str(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, Option<String>)> {
        let tokens = tokens(text).unwrap().into_iter();
        tokens
            .map(|(host, token)| (host.to_string(), token))
            .collect()
    }

    fn one(host: &str, token: &str) -> (String, Option<String>) {
        (host.to_owned(), Some(token.to_owned()))
    }

    #[test]
    fn blocks_in_both_syntaxes_are_read_among_other_settings() {
        let native = r#"
          # credentials "commented.example.com" { token = "x" }
          credentials "Registry.Example.com" {
            token = "terrace_a"
          }
          credentials "empty.example.com" {}
          credentials "not a host" { token = "c" }
          host "registry.example.com" {
            services = { "modules.v1" = "https://r.example.com/v1/modules/" }
          }
        "#;
        let mut expected = vec![
            ("empty.example.com".to_owned(), None),
            one("registry.example.com", "terrace_a"),
        ];
        let mut found_in_native = found(native);
        expected.sort();
        found_in_native.sort();
        assert_eq!(found_in_native, expected);
        for text in [
            r#"{ "credentials": { "a.example": { "token": "x" } } }"#,
            r#"{ "credentials": [{ "a.example": [{ "token": "x" }] }] }"#,
            r#"credentials = { "a.example" = { token = "x" } }"#,
        ] {
            assert_eq!(found(text), [one("a.example", "x")], "{text}");
        }
    }

    #[test]
    fn an_invalid_file_is_reported_by_place_and_without_its_text() {
        for (text, place) in [
            ("credentials \"a\" {\n  token = \"sekret\n}", "line 2 "),
            ("{ \"credentials\": {\n \"a\": sekret", "line 2, column "),
            ("credentials \"a\" { token = sekret sekret }", "line 1 "),
        ] {
            let reason = tokens(text).unwrap_err();
            assert!(reason.starts_with(place), "{reason}");
            assert!(!reason.contains("sekret"), "{reason}");
        }
    }

    #[test]
    fn a_later_file_takes_precedence_and_an_unreadable_one_is_skipped() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let block = |host: &str, token: &str| format!("credentials \"{host}\" {{ {token} }}\n");
        let both = block("a.example", "token = \"one\"") + &block("b.example", "token = \"two\"");
        let later = block("a.example", "token = \"three\"") + &block("b.example", "");
        let files = vec![
            file("1", both.as_bytes()),
            file("2", later.as_bytes()),
            file("3", &[0xff]),
            file("4", &vec![b'#'; 1024 * 1024 + 1]),
            directory.path().join("absent"),
        ];
        let (configured, problems) = read(files.clone());
        let found: Vec<_> = configured.iter().collect();
        let host = TokenHost::parse("a.example").unwrap();
        assert_eq!(found, [(&host, &("three".to_owned(), files[1].clone()))]);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(
            problems[1].contains("larger than 1048576 bytes"),
            "{problems:?}"
        );
    }
}

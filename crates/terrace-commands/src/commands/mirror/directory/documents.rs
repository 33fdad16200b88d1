//! The JSON of a mirror: `index.json`, and `{version}.json` with the URLs in it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::root::Root;

/// The maximum size of a JSON document in bytes: an index of 5,000 versions has 150 KB.
const DOCUMENT_BYTES: u64 = 4 * 1024 * 1024;

/// The depth of a provider's directory below the root: hostname, namespace and type.
const DEPTH: usize = 3;

/// The contents of `index.json`.
#[derive(Debug, Deserialize)]
pub(super) struct Index {
    pub(super) versions: BTreeMap<String, IgnoredAny>,
}

/// The contents of `{version}.json`.
#[derive(Debug, Deserialize)]
pub(super) struct VersionDocument {
    /// The archives by platform.
    pub(super) archives: BTreeMap<String, ArchiveDocument>,
}

/// The zip of one platform.
#[derive(Debug, Deserialize)]
pub(super) struct ArchiveDocument {
    pub(super) url: String,
    pub(super) hashes: Option<Vec<String>>,
}

/// The reason that a URL is not that of a file in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum UrlError {
    #[error("is absolute, so its target is not in the directory")]
    Absolute,
    #[error("names no file")]
    Empty,
    #[error("leads out of the directory")]
    Leaves,
    #[error("has a part that is not a file name")]
    Name,
    #[error("has a query or a fragment, but must be the path of a file")]
    Query,
}

/// Reads a JSON document, which must be below the root.
pub(super) fn read<T: DeserializeOwned>(path: &Path, root: &Root) -> Result<T, String> {
    root.check_file(path)?;
    let refused = |reason: String| format!("{}: {reason}", path.display());
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(DOCUMENT_BYTES + 1).read_to_string(&mut text))
        .map_err(|error| refused(error.to_string()))?;
    if u64::try_from(text.len()).is_ok_and(|length| length > DOCUMENT_BYTES) {
        return Err(refused(format!("is larger than {DOCUMENT_BYTES} bytes")));
    }
    serde_json::from_str(&text)
        .map_err(|error| refused(format!("not a JSON document of a mirror: {error}")))
}

/// Returns the file that a URL in a provider's directory refers to, as clients resolve it (clients.md 5.4).
pub(super) fn resolve(url: &str, directory: &Path) -> Result<PathBuf, UrlError> {
    let first = url.split('/').next().unwrap_or_default();
    if url.starts_with('/') || first.contains(':') {
        return Err(UrlError::Absolute);
    }
    if url.contains(['?', '#']) {
        return Err(UrlError::Query);
    }
    let mut path = directory.to_owned();
    let mut depth = DEPTH;
    let mut ends_in_name = false;
    for part in url.split('/') {
        ends_in_name = false;
        match part {
            "" | "." => {}
            ".." => {
                depth = depth.checked_sub(1).ok_or(UrlError::Leaves)?;
                path.pop();
            }
            name => {
                path.push(file_name(name)?);
                depth += 1;
                ends_in_name = true;
            }
        }
    }
    if ends_in_name {
        Ok(path)
    } else {
        Err(UrlError::Empty)
    }
}

/// Decodes one part of a path. The result must be a plain file name on any system.
fn file_name(part: &str) -> Result<String, UrlError> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let code = digit(rest.next()).zip(digit(rest.next()));
        let byte = code.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(byte.ok_or(UrlError::Name)?);
    }
    let name = String::from_utf8(bytes).map_err(|_| UrlError::Name)?;
    let is_more = |c: char| matches!(c, '/' | '\\' | ':') || c.is_control();
    if matches!(name.as_str(), "." | "..") || name.contains(is_more) {
        Err(UrlError::Name)
    } else {
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "mirror/a.example/acme/widget";

    #[test]
    fn a_url_is_resolved_as_clients_resolve_it_5_4() {
        for (url, path) in [
            ("x.zip", "mirror/a.example/acme/widget/x.zip"),
            ("./x%2B1.zip", "mirror/a.example/acme/widget/x+1.zip"),
            ("../gadget//x.zip", "mirror/a.example/acme/gadget/x.zip"),
            ("../../../zips/x.zip", "mirror/zips/x.zip"),
        ] {
            assert_eq!(resolve(url, Path::new(HERE)), Ok(path.into()), "{url}");
        }
    }

    #[test]
    fn a_url_that_leaves_the_directory_is_refused() {
        for (url, error) in [
            ("https://example.com/x.zip", UrlError::Absolute),
            ("//example.com/x.zip", UrlError::Absolute),
            ("/x.zip", UrlError::Absolute),
            ("C:x.zip", UrlError::Absolute),
            ("../../../../x.zip", UrlError::Leaves),
            ("a/../../../../../x.zip", UrlError::Leaves),
            ("%2e%2e/x.zip", UrlError::Name),
            ("..%2fx.zip", UrlError::Name),
            ("..\\x.zip", UrlError::Name),
            ("a/b:c.zip", UrlError::Name),
            ("%zz.zip", UrlError::Name),
            ("%", UrlError::Name),
            ("%00", UrlError::Name),
            ("%ff", UrlError::Name),
            ("x.zip?a", UrlError::Query),
            ("x.zip#a", UrlError::Query),
            ("", UrlError::Empty),
            ("x/", UrlError::Empty),
            ("x/..", UrlError::Empty),
        ] {
            assert_eq!(resolve(url, Path::new(HERE)), Err(error), "{url}");
        }
    }
}

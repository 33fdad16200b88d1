//! A path below a directory, as its author named it.

use std::str::FromStr;

use crate::limits;
use terrace_base::percent::{self, Plus};
use terrace_base::untrusted::{self, is_unprintable};

/// A relative path such as `permissions/A` or `github+tf_oss`: the directory of a module in its repository, or that of a
/// submodule or an example. It has no part with a meaning of its own, and no character that hides what is shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativePath(String);

/// The error for a text that is not a relative path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{path} is not a relative path: up to {max} bytes with \"/\" between its parts, without empty, \".\" or \"..\" parts, \
     backslashes, and control or invisible characters",
    path = untrusted::quoted(.0).at_most(120),
    max = limits::FILENAME_BYTES
)]
pub struct RelativePathError(String);

impl RelativePath {
    /// Returns the path, with `/` between its parts and none at its ends.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the segments of a URL. Only the spelling of [`in_url`](Self::in_url) is accepted.
    pub fn from_url(segments: &[&str]) -> Option<Self> {
        let written = segments.join("/");
        let path: Self = percent::decoded(&written, Plus::Plus)?.parse().ok()?;
        (path.in_url() == written).then_some(path)
    }

    /// Returns the path as segments of a URL.
    pub fn in_url(&self) -> String {
        percent::encode_segments(&self.0)
    }

    /// Returns the path of a path below this one.
    #[must_use]
    pub fn joined(&self, below: &Self) -> Self {
        Self(format!("{self}/{below}"))
    }
}

crate::model::text_display!(RelativePath);

impl FromStr for RelativePath {
    type Err = RelativePathError;

    fn from_str(text: &str) -> Result<Self, RelativePathError> {
        let is_refused = |c: char| c == '\\' || is_unprintable(c);
        let is_path = text.len() <= limits::FILENAME_BYTES
            && !text.contains(is_refused)
            && text.split('/').all(|part| !matches!(part, "" | "." | ".."));
        match is_path {
            true => Ok(Self(text.to_owned())),
            false => Err(RelativePathError(text.to_owned())),
        }
    }
}

terrace_base::text_serde!(RelativePath);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_spelling_in_a_url() {
        for (text, url) in [
            ("permissions/A", "permissions/A"),
            ("github+tf_oss", "github+tf_oss"),
            ("a b/c#d?e%2f", "a%20b/c%23d%3Fe%252f"),
            ("größe/[x]", "gr%C3%B6%C3%9Fe/%5Bx%5D"),
            (".github/a@b,(c)=d!", ".github/a@b,(c)=d!"),
        ] {
            let path: RelativePath = text.parse().unwrap();
            assert_eq!(path.in_url(), url);
            let segments: Vec<&str> = url.split('/').collect();
            assert_eq!(RelativePath::from_url(&segments), Some(path));
        }
        for url in ["%61", "a%2Fb", "%2e%2e", "a%5cb", "a b", "%", "a%2b", ""] {
            let segments: Vec<&str> = url.split('/').collect();
            assert_eq!(RelativePath::from_url(&segments), None, "{url}");
        }
    }

    #[test]
    fn a_text_that_leads_elsewhere_or_hides_something_is_no_path() {
        let long = "a".repeat(limits::FILENAME_BYTES + 1);
        for text in [
            "",
            "/a",
            "a/",
            "a//b",
            "..",
            "a/../b",
            "./a",
            "a\\b",
            "a\nb",
            "a\0",
            "a\u{202e}b",
            &long,
        ] {
            assert!(text.parse::<RelativePath>().is_err(), "{text:?}");
        }
    }
}

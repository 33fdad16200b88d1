//! The page to which a sign-in returns.

use std::fmt;
use std::str::FromStr;

use terrace_base::percent::is_unreserved;

/// Maximum length of the path and query of the page to which a sign-in returns. It travels to the provider and back in a
/// URL, next to a code of its own.
const RETURN_PATH_BYTES: usize = 512;

/// A path of this registry with its query, as it stands in the header `Location`. It never leads to another host: the
/// text has no scheme and no authority, and nothing in it that browsers read as the beginning of one
/// (<https://url.spec.whatwg.org/#url-parsing>).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnPath(String);

impl ReturnPath {
    /// Returns the path without its query.
    pub fn path(&self) -> &str {
        self.0.split_once('?').map_or(&self.0, |(path, _)| path)
    }
}

impl Default for ReturnPath {
    /// Returns the path of the start page.
    fn default() -> Self {
        Self("/".to_owned())
    }
}

impl FromStr for ReturnPath {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let is_short = text.len() <= RETURN_PATH_BYTES;
        (is_short && is_path(path) && query.bytes().all(is_of_query))
            .then(|| Self(text.to_owned()))
            .ok_or("must be a path of this registry")
    }
}

/// Returns whether a text is an absolute path without empty segments, dot segments and escapes.
fn is_path(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else {
        return false;
    };
    let is_segment =
        |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(is_of_segment);
    rest.is_empty() || rest.split('/').all(is_segment)
}

/// Whether a path of a page may contain this byte: those of names, versions and documents.
fn is_of_segment(byte: u8) -> bool {
    is_unreserved(byte) || byte == b'+'
}

/// Whether a query may contain this byte (RFC 3986, section 3.4).
fn is_of_query(byte: u8) -> bool {
    is_of_segment(byte) || b"!$%&'()*,/:;=?@".contains(&byte)
}

impl fmt::Display for ReturnPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_of_a_page_with_its_query_is_accepted() {
        for text in [
            "/",
            "/search?q=a+b%20c&kind=module",
            "/modules/acme/vpc/aws/1.0.0-rc.1+x",
            "/modules/acme/vpc/aws/compare/1.0.0...2.0.0",
            "/namespaces/registry.example.com/acme/feed.atom",
        ] {
            let path: ReturnPath = text.parse().expect(text);
            assert_eq!(path.to_string(), text);
        }
        let path: ReturnPath = "/search?q=/a".parse().unwrap();
        assert_eq!(path.path(), "/search");
        assert_eq!("/".parse(), Ok(ReturnPath::default()));
    }

    #[test]
    fn a_text_that_could_lead_elsewhere_is_rejected() {
        for text in [
            "",
            "search",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "/a\r\nset-cookie: x=y",
            "/a/../..//evil.example",
            "/./a",
            "/..",
            "/a//b",
            "/a/",
            "/%2f%2fevil.example",
            "/%2e%2e/a",
            "/%5cevil.example",
            "https://evil.example/",
            "https:evil.example",
            "javascript:alert(1)",
            "/javascript:alert(1)",
            "/a@evil.example",
            "/a#b",
            "/search?q=#b",
            "/search?q=\\",
            "/search?q=a b",
            "/search?q=\"<script>",
            "/search?q=\u{e4}",
            "/\u{ff0f}evil.example",
            "?q=a",
            &format!("/search?q={}", "a".repeat(RETURN_PATH_BYTES)),
        ] {
            assert!(text.parse::<ReturnPath>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_text_stays_on_its_host(text in "/[/\\\\a.%?#:@ \t\n-]{0,12}|\\PC{0,20}") {
            if let Ok(path) = text.parse::<ReturnPath>() {
                let base = url::Url::parse("https://registry.test/sign-in").unwrap();
                let text = path.to_string();
                let led = base.join(&text).unwrap();
                prop_assert_eq!(led.origin(), base.origin());
                let after_host = led.as_str().strip_prefix("https://registry.test");
                prop_assert_eq!(after_host, Some(text.as_str()));
            }
        }
    }
}

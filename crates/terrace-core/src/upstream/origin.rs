//! The provider protocol of another registry, from the client's side: the requests, and the validation of the
//! responses.
//!
//! # In scope
//! Finding the provider service of a host ([`Service`]), its list of versions ([`OriginVersions`]), the
//! requested versions among them ([`Constraints`]), and one package with all its signed documents
//! ([`PackageInquiry`]). A package is accepted exactly if `terraform` and `tofu` would accept it, so a mirror
//! serves nothing that its clients would have rejected from the origin.
//!
//! # Out of scope
//! The requests themselves. Each is described by a [`Fetch`], and the driver
//! 1. resolves the reference against the base,
//! 2. asks the [`Guard`](crate::http::guard::Guard) before it connects, and again before it follows each of at most
//!    [`limits::ORIGIN_REDIRECTS`] redirects,
//! 3. and returns the response as [`Fetched`].

mod constraint;
mod discovery;
mod error;
mod offer;
mod package;
mod pin;
mod published;
#[cfg(test)]
#[path = "origin/tests/testing.rs"]
mod testing;
mod versions;

use serde::de::DeserializeOwned;

use crate::limits;
use terrace_base::untrusted;

pub use constraint::{ConstraintError, Constraints};
pub use discovery::Service;
pub use error::OriginError;
pub use offer::{distinct, offered};
pub use package::{OriginPackage, PackageInquiry, SignedDocuments};
pub use pin::check_pin;
pub use published::PublishedVersion;
pub use versions::{OriginVersion, OriginVersions};

/// Maximum size of another registry's version list. The largest known list has 1,000 versions of 30 platforms
/// each and is about 1.5 MB. This leaves room to grow, and fits into wasm memory.
pub const ORIGIN_VERSIONS_BYTES: u64 = 8 * 1024 * 1024;

/// Maximum size of another registry's description of one package: a few URLs, and keys of at most 64 KiB
/// each.
pub const ORIGIN_PACKAGE_BYTES: u64 = 1024 * 1024;

/// One GET request for the driver to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// The absolute URL that `reference` is relative to; `None` if it is absolute itself.
    pub base: Option<String>,
    /// The URL, absolute or relative.
    pub reference: String,
    /// The longest useful body, in bytes. A driver may stop one byte later.
    pub max_bytes: u64,
    /// Whether the request may carry the token for the registry, to the registry's own host only. Requests
    /// for archives never carry it (clients.md 2.2.6).
    pub with_token: bool,
    /// The name of the fetched resource, for messages.
    pub what: &'static str,
}

/// The response to a [`Fetch`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The status of the last response, which is not a redirect.
    pub status: u16,
    /// The absolute URL of the response, after all redirects: relative URLs in the body are relative to it.
    pub final_url: String,
    /// Its `Content-Type` header, if it has one.
    pub content_type: Option<String>,
    /// Its body. Only the body of a 200 is read; any other may be left empty.
    pub body: Vec<u8>,
}

impl Fetch {
    /// Returns the whole body of a 200, and an error for every other status.
    fn take<'f>(&self, fetched: &'f Fetched) -> Result<&'f [u8], OriginError> {
        let (what, status) = (self.what, fetched.status);
        match status {
            200 if fetched.body.len() as u64 > self.max_bytes => {
                let max = self.max_bytes;
                let reason = format!("{what} is longer than {max} bytes");
                Err(OriginError::Unusable(reason))
            }
            200 => Ok(&fetched.body),
            _ => Err(OriginError::Status { what, status }),
        }
    }

    /// Parses the body of a 200 as one JSON object. Unknown members are ignored, as clients do.
    fn take_json<T: DeserializeOwned>(&self, fetched: &Fetched) -> Result<T, OriginError> {
        let body = self.take(fetched)?;
        // Serde would also accept an array, with the members in order.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(self.unparsed("it is not a JSON object"));
        }
        serde_json::from_slice(body).map_err(|error| self.unparsed(&plain(&error.to_string())))
    }

    /// Returns the error about a body that is not of the form that clients parse.
    fn unparsed(&self, reason: &str) -> OriginError {
        let what = self.what;
        OriginError::Unusable(format!(
            "{what} is not a document that clients can parse: {reason}"
        ))
    }
}

/// Returns the error about a field of a document.
fn invalid(field: &'static str, value: &str, rule: &'static str) -> OriginError {
    let value = shortened(value);
    OriginError::Unusable(format!("{field} is {value:?}; {rule}"))
}

/// The rule for URLs in documents.
const URL_RULE: &str = "it must be an https URL, or a path, of visible ASCII characters";

/// Returns a bounded part of an origin's text, to be quoted and escaped by `{:?}`.
fn shortened(text: &str) -> String {
    text.chars().take(limits::ORIGIN_TEXT_CHARS).collect()
}

/// Returns a bounded part of an origin's text in readable form.
fn plain(text: &str) -> String {
    let limit = 2 * limits::ORIGIN_TEXT_CHARS;
    untrusted::line(text).at_most(limit).to_string()
}

#[cfg(test)]
mod tests {
    use super::testing::{answer, fetch};
    use super::*;

    #[test]
    fn only_200_has_a_body_and_other_statuses_are_distinguished() {
        let status = |status: u16| {
            let fetched = Fetched {
                status,
                ..answer("{}")
            };
            fetch().take(&fetched).unwrap_err()
        };
        for (number, is_denied, is_temporary) in [
            (401, true, false),
            (403, true, false),
            (429, false, true),
            (503, false, true),
            (404, false, false),
            (204, false, false),
            (301, false, false),
        ] {
            let error = status(number);
            assert_eq!(error.is_denied(), is_denied, "{number}");
            assert_eq!(error.is_temporary(), is_temporary, "{number}");
        }
    }

    #[test]
    fn a_body_longer_than_the_limit_is_rejected() {
        let max = fetch().max_bytes;
        let fetched = answer(" ".repeat(usize::try_from(max).unwrap() + 1));
        let error = fetch().take(&fetched).unwrap_err();
        assert!(error.to_string().contains(&max.to_string()), "{error}");
    }

    #[test]
    fn json_is_one_object_of_limited_depth_and_errors_have_no_control_characters() {
        #[derive(Debug, serde::Deserialize)]
        struct Anything {
            #[serde(rename = "a")]
            _a: Option<serde::de::IgnoredAny>,
        }
        let read = |body: &str| fetch().take_json::<Anything>(&answer(body));
        assert!(read(" {\"a\": [{}], \"b\": 1}").is_ok());
        let deep = format!("{{\"a\":{}", "[".repeat(10_000));
        for body in [
            "",
            "null",
            "[1]",
            "\"a\"",
            "{",
            "{} {}",
            "\u{1b}[31m",
            &deep,
        ] {
            let error = read(body).unwrap_err().to_string();
            assert!(!error.contains(char::is_control), "{error:?}");
            assert!(error.len() < 400, "{error:?}");
        }
    }
}

//! Another registry's provider protocol, from the client's side: what to ask, and what an answer
//! is worth.
//!
//! # In scope
//! Finding the provider service of a host ([`Service`]), its list of versions
//! ([`OriginVersions`]), those of them that someone wants ([`Constraints`]), and one package with
//! everything that is signed about it ([`PackageInquiry`]). A package is accepted exactly where
//! `terraform` and `tofu` would accept it, so that whoever mirrors it hands out nothing that they
//! would not have taken themselves.
//!
//! # Out of scope
//! The requests. Each is named by a [`Fetch`], and the driver
//! 1. resolves the reference against the base (RFC 3986, section 5.2),
//! 2. asks the [`Guard`](crate::http::guard::Guard) before it connects, and again before it follows each of at most
//!    [`limits::ORIGIN_REDIRECTS`] redirects,
//! 3. and gives back what came as [`Fetched`].

mod constraint;
mod discovery;
mod error;
mod offer;
mod package;
mod pin;
#[cfg(test)]
mod testing;
mod versions;

use serde::de::DeserializeOwned;

use crate::limits;
use terrace_base::untrusted;

pub use constraint::{ConstraintError, Constraints};
pub use discovery::Service;
pub use error::OriginError;
pub use package::{OriginPackage, PackageInquiry, Signed, Step};
pub use pin::check_pin;
pub use versions::{OriginVersion, OriginVersions};

/// One GET request for the driver to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// The absolute URL that `reference` counts from; there is none if it is absolute itself.
    pub base: Option<String>,
    /// The URL, absolute or relative.
    pub reference: String,
    /// The longest body in bytes that is of use. A driver may stop one byte later.
    pub max_bytes: u64,
    /// Whether the token of the registry may go along, to the registry's own host only. It never
    /// goes to archives (clients.md 2.2.6).
    pub with_token: bool,
    /// What is fetched, for messages.
    pub what: &'static str,
}

/// What came of a [`Fetch`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The status of the last answer, which is no redirect.
    pub status: u16,
    /// The absolute URL that gave it, after all redirects: relative URLs in the body count from it.
    pub final_url: String,
    /// Its `Content-Type`, if it has one.
    pub content_type: Option<String>,
    /// Its body. That of anything but a 200 is not read and may be left empty.
    pub body: Vec<u8>,
}

impl Fetch {
    /// Takes a whole answer of 200, and makes an error of every other.
    fn take<'f>(&self, fetched: &'f Fetched) -> Result<&'f [u8], OriginError> {
        let (what, status) = (self.what, fetched.status);
        match status {
            200 if fetched.body.len() as u64 > self.max_bytes => Err(OriginError::TooLong {
                what,
                max: self.max_bytes,
            }),
            200 => Ok(&fetched.body),
            404 => Err(OriginError::NotFound { what }),
            401 | 403 => Err(OriginError::NotAllowed { what, status }),
            429 | 500..=599 => Err(OriginError::Unavailable { what, status }),
            _ => Err(OriginError::Status { what, status }),
        }
    }

    /// The same, read as one JSON object. Unknown members are passed over, as clients do.
    fn take_json<T: DeserializeOwned>(&self, fetched: &Fetched) -> Result<T, OriginError> {
        let body = self.take(fetched)?;
        let json = |reason: String| OriginError::Json {
            what: self.what,
            reason,
        };
        // Serde would also read an array, as the members in their order.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(json("it is no JSON object".to_owned()));
        }
        serde_json::from_slice(body).map_err(|error| json(plain(&error.to_string())))
    }
}

/// A bounded piece of an origin's text, to be quoted and escaped by `{:?}`.
fn shortened(text: &str) -> String {
    text.chars().take(limits::ORIGIN_TEXT_CHARS).collect()
}

/// A bounded piece of an origin's text, to be read by people.
fn plain(text: &str) -> String {
    let most = 2 * limits::ORIGIN_TEXT_CHARS;
    untrusted::line(text).at_most(most).to_string()
}

#[cfg(test)]
mod tests {
    use super::testing::{answer, fetch};
    use super::*;

    #[test]
    fn only_200_has_a_body_and_every_other_status_is_told_apart() {
        let status = |status: u16| {
            let fetched = Fetched {
                status,
                ..answer("{}")
            };
            fetch().take(&fetched).unwrap_err()
        };
        let what = "the test";
        assert_eq!(status(404), OriginError::NotFound { what });
        for refused in [401, 403] {
            let expected = OriginError::NotAllowed {
                what,
                status: refused,
            };
            assert_eq!(status(refused), expected);
        }
        for passing in [429, 500, 503] {
            let expected = OriginError::Unavailable {
                what,
                status: passing,
            };
            assert_eq!(status(passing), expected);
        }
        for odd in [0, 204, 206, 301, 400, 410] {
            assert_eq!(status(odd), OriginError::Status { what, status: odd });
        }
    }

    #[test]
    fn a_body_longer_than_asked_for_is_refused() {
        let max = fetch().max_bytes;
        let fetched = answer(" ".repeat(usize::try_from(max).unwrap() + 1));
        let error = fetch().take(&fetched).unwrap_err();
        assert!(error.to_string().contains(&max.to_string()), "{error}");
    }

    #[test]
    fn json_is_one_object_of_sane_depth_and_errors_hold_no_control_characters() {
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

//! URLs of issuers: https, compared as they are written.

use std::fmt;
use std::str::FromStr;

use terrace_base::url::{self, HttpsUrl, Url};

/// The issuer of tokens, as in `iss`: an https URL without a query (OpenID Connect Core, section 2).
///
/// Issuers are compared byte for byte (OpenID Connect Discovery, section 4.3): one with a trailing slash,
/// with its host in upper case or with `:443` is another issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerUrl(HttpsUrl);

/// A reason why a text is not a URL that can be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// A URL longer than the limit.
    #[error("it is {0} bytes long, at most {max} are allowed", max = url::MAX_BYTES)]
    TooLong(usize),
    /// A missing scheme, or one other than https.
    #[error("it must start with https://")]
    Scheme,
    /// A missing or invalid host, or one with credentials before it.
    #[error(
        "\"https://\" must be followed by a host and an optional port, without a user name or password"
    )]
    Host,
    /// A URL with a fragment, a query where none is allowed, a space, or a part that a URL parser would
    /// change.
    #[error(
        "its path may not contain spaces, quotes, backslashes, \"..\", a fragment, or characters outside ASCII, and an issuer may not have a query"
    )]
    Path,
}

impl From<url::UrlError> for UrlError {
    fn from(error: url::UrlError) -> Self {
        match error {
            url::UrlError::TooLong(bytes) => Self::TooLong(bytes),
            url::UrlError::Scheme(_) => Self::Scheme,
            url::UrlError::Host => Self::Host,
            url::UrlError::Path => Self::Path,
        }
    }
}

impl IssuerUrl {
    /// Returns the issuer as it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the issuer as a URL.
    pub fn as_url(&self) -> &Url {
        self.0.as_url()
    }

    /// Returns the URL of the metadata document: its well-known path after the issuer's path without a
    /// trailing slash (OpenID Connect Discovery, section 4.1). RFC 8414 puts it before the path; no provider
    /// of tokens does.
    pub fn discovery_url(&self) -> String {
        let base = self.as_str();
        let base = base.strip_suffix('/').unwrap_or(base);
        format!("{base}/.well-known/openid-configuration")
    }
}

impl FromStr for IssuerUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let url: HttpsUrl = text.parse()?;
        if url.as_url().query().is_some() {
            return Err(UrlError::Path);
        }
        Ok(Self(url))
    }
}

impl fmt::Display for IssuerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn issuer(text: &str) -> Result<IssuerUrl, UrlError> {
        text.parse()
    }

    #[test]
    fn the_discovery_url_extends_the_path_without_its_trailing_slash() {
        for (text, expected) in [
            (
                "https://gitlab.com",
                "https://gitlab.com/.well-known/openid-configuration",
            ),
            (
                "https://a.auth0.com/",
                "https://a.auth0.com/.well-known/openid-configuration",
            ),
            (
                "https://login.example.com:8443/realms/acme/",
                "https://login.example.com:8443/realms/acme/.well-known/openid-configuration",
            ),
        ] {
            assert_eq!(issuer(text).unwrap().discovery_url(), expected);
        }
    }

    #[test]
    fn other_urls_are_refused() {
        for (text, error) in [
            ("", UrlError::Scheme),
            ("http://localhost", UrlError::Scheme),
            ("HTTPS://a.example", UrlError::Scheme),
            ("https://", UrlError::Host),
            ("https:///path", UrlError::Host),
            ("https://user@a.example", UrlError::Host),
            ("https://a.example:", UrlError::Host),
            ("https://a.example:0", UrlError::Host),
            ("https://a.example:+1", UrlError::Host),
            ("https://a.example:65536", UrlError::Host),
            ("https://a..example", UrlError::Host),
            ("https://[::1", UrlError::Host),
            ("https://[a.example]", UrlError::Host),
            ("https://\u{430}.example", UrlError::Host),
            ("https://a.example\\b", UrlError::Host),
            ("https://a.example/b?c", UrlError::Path),
            ("https://a.example?c", UrlError::Path),
            ("https://a.example/#c", UrlError::Path),
            ("https://a.example#c", UrlError::Path),
            ("https://a.example/b c", UrlError::Path),
            ("https://a.example/b\n", UrlError::Path),
            ("https://a.example/b/../c", UrlError::Path),
            ("https://a.example/b/%2E%2e/c", UrlError::Path),
            ("https://a.example/\u{430}", UrlError::Path),
        ] {
            assert_eq!(issuer(text), Err(error), "{text:?}");
        }
        let long = format!("https://a.example/{}", "b".repeat(url::MAX_BYTES));
        assert_eq!(issuer(&long), Err(UrlError::TooLong(long.len())));
    }

    proptest! {
        #[test]
        fn an_accepted_url_stays_unchanged(text in "https://[\\PC]{0,40}") {
            if let Ok(issuer) = issuer(&text) {
                prop_assert_eq!(issuer.as_str(), &text);
                prop_assert!(!issuer.as_url().host().is_empty());
            }
        }
    }
}

//! URLs of issuers: https, compared as they are written.

use std::fmt;
use std::str::FromStr;

use terrace_base::url::{HttpsUrl, Url, UrlError};

/// The issuer of tokens, as in `iss`: an https URL without a query (OpenID Connect Core, section 2).
///
/// Issuers are compared byte for byte (OpenID Connect Discovery, section 4.3): one with a trailing slash,
/// with its host in upper case or with `:443` is another issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerUrl(HttpsUrl);

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
            return Err(UrlError::Query);
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

    fn issuer(text: &str) -> Result<IssuerUrl, UrlError> {
        text.parse()
    }

    #[test]
    fn the_discovery_url_extends_the_path_without_its_trailing_slash() {
        for (text, base) in [
            ("https://gitlab.com", "https://gitlab.com"),
            ("https://a.auth0.com/", "https://a.auth0.com"),
            ("https://a.example:8443/b/c/", "https://a.example:8443/b/c"),
        ] {
            let expected = format!("{base}/.well-known/openid-configuration");
            assert_eq!(issuer(text).unwrap().discovery_url(), expected);
        }
    }

    #[test]
    fn an_issuer_is_an_https_url_without_a_query() {
        for (text, error) in [
            ("http://localhost", UrlError::Scheme("https://")),
            ("https://user@a.example", UrlError::Host),
            ("https://a.example/b?c", UrlError::Query),
            ("https://a.example?c", UrlError::Query),
            ("https://a.example/#c", UrlError::Path),
        ] {
            assert_eq!(issuer(text), Err(error), "{text:?}");
        }
    }
}

//! The URL of a registry: a scheme, a host, and optionally a port.

use std::fmt;

use terrace_core::http::guard;
use url::Url;

/// An `http` or `https` URL of a host and optionally a port, and nothing else.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl {
    url: Url,
    /// The URL as given, without a trailing slash.
    given: String,
}

/// A text that is not the URL of a host. The message never quotes the text, which may contain a password or a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a URL is https:// or http://, an ASCII host name or an IP address, and optionally a port, and nothing before or after them"
)]
pub(crate) struct BaseUrlError;

impl BaseUrl {
    /// Parses a URL. Nothing in it is corrected, unlike in a browser.
    pub(crate) fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let given = text.strip_suffix('/').unwrap_or(text);
        let (scheme, rest) = given.split_once("://").ok_or(BaseUrlError)?;
        let scheme = scheme.to_ascii_lowercase();
        let is_of_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        let url = Url::parse(text).map_err(|_| BaseUrlError)?;
        let is_base = matches!(&*scheme, "https" | "http") && rest.bytes().all(is_of_host);
        match is_base && url.port() != Some(0) {
            true => Ok(Self {
                url,
                given: format!("{scheme}://{rest}"),
            }),
            false => Err(BaseUrlError),
        }
    }

    /// Returns the URL as given, without a trailing slash, as messages show it.
    pub(crate) fn as_str(&self) -> &str {
        &self.given
    }

    /// Returns the origin as the server sees it: in lower case, without the default port of its scheme.
    pub(crate) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Returns the host, with the port unless it is that of the scheme, as addresses begin with it.
    pub(crate) fn authority(&self) -> String {
        match self.url.port() {
            Some(port) => format!("{}:{port}", self.host()),
            None => self.host().to_owned(),
        }
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Returns the host; an IPv6 address is in brackets.
    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Returns the port, which is that of the scheme if none was given.
    pub(crate) fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.given)
    }
}

/// Returns whether a URL is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(guard::is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_shown_as_given_and_sent_in_its_normal_form() {
        for (text, shown, origin) in [
            ("https://R.test/", "https://R.test", "https://r.test"),
            ("https://r.test:443", "https://r.test:443", "https://r.test"),
            (
                "HTTP://127.0.0.1:80",
                "http://127.0.0.1:80",
                "http://127.0.0.1",
            ),
            (
                "http://[::1]:8787/",
                "http://[::1]:8787",
                "http://[::1]:8787",
            ),
        ] {
            let url = BaseUrl::parse(text).unwrap();
            assert_eq!((url.as_str(), url.origin().as_str()), (shown, origin));
        }
    }

    #[test]
    fn a_url_that_is_more_or_less_than_a_host_is_refused() {
        for text in [
            "",
            "r.example.com",
            "r.example.com:8787",
            "ftp://r.example.com",
            "https://:443",
            "https://10.0.0.1:99999",
            "https://r.example.com:0",
            "https://user:secret@r.example.com",
            "https://@r.example.com",
            "https://r.example.com/v1",
            "https://r.example.com//",
            " https://r.example.com",
            "https://r.example.com?",
            "https://r.example.com/#a",
            "https://b\u{fc}cher.example",
            "https://r%2eexample.com",
            "https:\\\\r.example.com",
            "https://r.exa\tmple.com",
        ] {
            assert!(BaseUrl::parse(text).is_err(), "{text:?}");
        }
    }
}

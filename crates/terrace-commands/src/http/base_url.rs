//! The URL of a registry: a scheme, a host, and optionally a port.

use std::fmt;

use url::{Host, ParseError, Url};

/// An `http` or `https` URL of a host and optionally a port, and nothing else.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl {
    url: Url,
    /// The URL as given, without a trailing slash.
    given: String,
}

/// The reason that a text is not the URL of a host. It never quotes the text, which may contain a password or a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BaseUrlError(&'static str);

fn describe(error: ParseError) -> BaseUrlError {
    BaseUrlError(match error {
        ParseError::EmptyHost => "its host is missing",
        ParseError::InvalidPort => "its port is not a number up to 65535",
        ParseError::RelativeUrlWithoutBase => "its scheme is missing",
        _ => "its host is neither a host name nor an IP address",
    })
}

impl BaseUrl {
    /// Parses a URL. Nothing in it is corrected, unlike in a browser.
    pub(crate) fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let url = Url::parse(text).map_err(describe)?;
        let given = text.strip_suffix('/').unwrap_or(text);
        let Some((scheme, rest)) = given.split_once("://") else {
            return Err(BaseUrlError("no // follows its scheme"));
        };
        let scheme = scheme.to_ascii_lowercase();
        let fault = if !matches!(&*scheme, "https" | "http") {
            "its scheme is neither https nor http"
        } else if rest.contains('@') {
            "it has a user name or a password before the host"
        } else if rest.contains(['/', '\\', '?', '#']) {
            "something follows the host and the port"
        } else if !rest
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'%')
        {
            "its host has a character that is not ASCII, or an escape; an international name begins with xn--"
        } else if url.port() == Some(0) {
            "port 0 cannot be connected to"
        } else {
            let given = format!("{scheme}://{rest}");
            return Ok(Self { url, given });
        };
        Err(BaseUrlError(fault))
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
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_shown_as_given_and_sent_in_its_normal_form() {
        for (text, shown, origin) in [
            (
                "https://R.Example.com/",
                "https://R.Example.com",
                "https://r.example.com",
            ),
            (
                "https://r.example:443",
                "https://r.example:443",
                "https://r.example",
            ),
            (
                "https://r.example:80",
                "https://r.example:80",
                "https://r.example:80",
            ),
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
    fn a_url_that_is_more_or_less_than_a_host_is_refused_with_the_reason() {
        for (text, error) in [
            ("", "scheme is missing"),
            ("r.example.com", "scheme is missing"),
            ("r.example.com:8787", "//"),
            ("ftp://r.example.com", "scheme"),
            ("https://:443", "host is missing"),
            ("https://10.0.0.1:99999", "65535"),
            ("https://2001:db8::1", "65535"),
            ("https://r.example.com:0", "port 0"),
            ("https://user:secret@r.example.com", "password"),
            ("https://@r.example.com", "password"),
            ("https://r.example.com/v1", "follows the host"),
            ("https://r.example.com/.", "follows the host"),
            ("https://r.example.com//", "follows the host"),
            (" https://r.example.com", "scheme"),
            ("https://r.example.com?", "follows the host"),
            ("https://r.example.com/#a", "follows the host"),
            ("https://b\u{fc}cher.example", "ASCII"),
            ("https://r%2eexample.com", "escape"),
            ("https:r.example.com", "//"),
            ("https:\\\\r.example.com", "//"),
            ("https://r.exa\tmple.com", "ASCII"),
        ] {
            let message = BaseUrl::parse(text).unwrap_err().to_string();
            assert!(message.contains(error), "{text:?}: {message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }
}

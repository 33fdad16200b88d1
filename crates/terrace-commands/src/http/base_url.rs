//! The URL of a registry: a scheme, a host, and optionally a port.

use std::cell::Cell;
use std::fmt;

use url::{Host, ParseError, SyntaxViolation, Url};

/// An `http` or `https` URL of a host and optionally a port, and nothing else.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl {
    url: Url,
    /// The URL as given, without a trailing slash.
    given: String,
}

/// The reason that a text is not the URL of a host. None of them quotes the text, which may contain a
/// password or a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BaseUrlError {
    /// A character is not allowed, or would be read as another one.
    #[error(
        "its host has a character that is not ASCII, or an escape; an international name begins with xn--"
    )]
    Character,
    /// The text is not a URL.
    #[error("{}", describe(*.0))]
    Parse(ParseError),
    /// The text is a URL only after a correction.
    #[error("a URL parser would have to correct it ({})", .0.description())]
    Violation(SyntaxViolation),
    /// The scheme is neither `http` nor `https`.
    #[error("its scheme is neither https nor http")]
    Scheme,
    /// A user name or a password precedes the host.
    #[error("it has a user name or a password before the host")]
    Userinfo,
    /// No connection to the port is possible.
    #[error("port 0 cannot be connected to")]
    PortZero,
    /// A path, a query or a fragment follows the host.
    #[error("something follows the host and the port")]
    Rest,
}

fn describe(error: ParseError) -> &'static str {
    match error {
        ParseError::EmptyHost => "its host is missing",
        ParseError::InvalidPort => "its port is not a number up to 65535",
        ParseError::InvalidIpv4Address | ParseError::InvalidIpv6Address => {
            "its host looks like an IP address, but is not one"
        }
        ParseError::RelativeUrlWithoutBase => "its scheme is missing",
        _ => "its host is not a valid host name",
    }
}

impl BaseUrl {
    /// Parses a URL. Nothing in it is corrected, unlike in a browser.
    pub(crate) fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let violation = Cell::new(None);
        let note = |found| violation.set(violation.get().or(Some(found)));
        let url = Url::options()
            .syntax_violation_callback(Some(&note))
            .parse(text)
            .map_err(BaseUrlError::Parse)?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(BaseUrlError::Scheme);
        }
        match violation.get() {
            Some(SyntaxViolation::EmbeddedCredentials) => return Err(BaseUrlError::Userinfo),
            Some(violation) => return Err(BaseUrlError::Violation(violation)),
            None => {}
        }
        // `url` no longer contains a path such as `/.`.
        let given = text.trim_end_matches('/');
        let has_path = url.path() != "/" || given.matches('/').count() > 2;
        if has_path || url.query().is_some() || url.fragment().is_some() {
            return Err(BaseUrlError::Rest);
        }
        if !text.is_ascii() || text.contains('%') {
            return Err(BaseUrlError::Character);
        }
        if url.port() == Some(0) {
            return Err(BaseUrlError::PortZero);
        }
        let rest = given.get(url.scheme().len()..).unwrap_or_default();
        let given = format!("{}{rest}", url.scheme());
        Ok(Self { url, given })
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
                "https://r.example.com",
                "https://r.example.com",
                "https://r.example.com",
            ),
            (
                "https://Registry.Example.com/",
                "https://Registry.Example.com",
                "https://registry.example.com",
            ),
            (
                "https://r.example.com:443",
                "https://r.example.com:443",
                "https://r.example.com",
            ),
            (
                "https://r.example.com:80",
                "https://r.example.com:80",
                "https://r.example.com:80",
            ),
            (
                "HTTP://127.0.0.1:80",
                "http://127.0.0.1:80",
                "http://127.0.0.1",
            ),
            (
                "http://127.0.0.1:8787",
                "http://127.0.0.1:8787",
                "http://127.0.0.1:8787",
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
            ("", BaseUrlError::Parse(ParseError::RelativeUrlWithoutBase)),
            (
                "r.example.com",
                BaseUrlError::Parse(ParseError::RelativeUrlWithoutBase),
            ),
            ("r.example.com:8787", BaseUrlError::Scheme),
            ("ftp://r.example.com", BaseUrlError::Scheme),
            ("https://", BaseUrlError::Parse(ParseError::EmptyHost)),
            ("https://:443", BaseUrlError::Parse(ParseError::EmptyHost)),
            ("https://]:[", BaseUrlError::Parse(ParseError::IdnaError)),
            (
                "https://10.0.0.1:99999",
                BaseUrlError::Parse(ParseError::InvalidPort),
            ),
            (
                "https://10.0.0.1:-1",
                BaseUrlError::Parse(ParseError::InvalidPort),
            ),
            (
                "https://2001:db8::1",
                BaseUrlError::Parse(ParseError::InvalidPort),
            ),
            (
                "https://[2001:db8::1",
                BaseUrlError::Parse(ParseError::InvalidIpv6Address),
            ),
            (
                "https://256.0.0.1",
                BaseUrlError::Parse(ParseError::InvalidIpv4Address),
            ),
            (
                "https://r example.com",
                BaseUrlError::Parse(ParseError::IdnaError),
            ),
            ("https://r.example.com:0", BaseUrlError::PortZero),
            ("https://user:secret@r.example.com", BaseUrlError::Userinfo),
            ("https://@r.example.com", BaseUrlError::Userinfo),
            ("https://r.example.com/v1", BaseUrlError::Rest),
            ("https://r.example.com/.", BaseUrlError::Rest),
            ("https://r.example.com//", BaseUrlError::Rest),
            ("https://r.example.com?", BaseUrlError::Rest),
            ("https://r.example.com/?a=b", BaseUrlError::Rest),
            ("https://r.example.com/#a", BaseUrlError::Rest),
            ("https://b\u{fc}cher.example", BaseUrlError::Character),
            ("https://r%2eexample.com", BaseUrlError::Character),
            (
                "https:r.example.com",
                BaseUrlError::Violation(SyntaxViolation::ExpectedDoubleSlash),
            ),
            (
                "https:\\\\r.example.com",
                BaseUrlError::Violation(SyntaxViolation::ExpectedDoubleSlash),
            ),
            (
                "https://r.exa\tmple.com",
                BaseUrlError::Violation(SyntaxViolation::TabOrNewlineIgnored),
            ),
        ] {
            assert_eq!(BaseUrl::parse(text).unwrap_err(), error, "{text:?}");
        }
    }

    #[test]
    fn an_error_names_the_rule_and_not_the_text() {
        let message = |text| BaseUrl::parse(text).unwrap_err().to_string();
        assert!(message("https://h:99999").contains("65535"));
        assert!(message("https://:443").contains("host is missing"));
        for text in ["https://sekret:99999", "sekret://h", "https://h/sekret"] {
            assert!(!message(text).contains("sekret"), "{text}");
        }
    }
}

//! Where issuers are: URLs with TLS, compared as they are written.

use std::fmt;
use std::str::FromStr;

use super::limits;
use crate::http::guard::{Guard, UrlParts};

/// An absolute https URL without a fragment, a user name or a password, and of characters that no
/// URL parser changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpsUrl(String);

/// Who issues tokens, as `iss` has it: an https URL without a query (OpenID Connect Core, section 2).
///
/// It is compared byte for byte (OpenID Connect Discovery, section 4.3): one with a trailing slash,
/// with its host in upper case or with `:443` is another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerUrl(HttpsUrl);

/// Why a text is not a URL to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It is longer than the limit.
    #[error("it is {0} bytes long, at most {max} are allowed", max = limits::URL_BYTES)]
    TooLong(usize),
    /// Another scheme, or none.
    #[error("it must start with https://")]
    Scheme,
    /// There is no host, or it is none, or there are credentials before it.
    #[error("what follows https:// must be a host, with a port if need be and nothing else")]
    Host,
    /// There is a fragment, a query where none may be, a space, or what a URL parser would change.
    #[error(
        "its path may not hold spaces, backslashes, \"..\", what is not ASCII, a fragment, nor an issuer's a query"
    )]
    Path,
}

impl HttpsUrl {
    /// The URL, as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What a [`Guard`] looks at.
    pub fn parts(&self) -> UrlParts<'_> {
        let (host, port) = host_and_port(split(&self.0).0).unwrap_or_default();
        UrlParts {
            scheme: "https",
            has_userinfo: false,
            host,
            port,
        }
    }

    fn path(&self) -> &str {
        split(&self.0).1
    }
}

impl IssuerUrl {
    /// The issuer, as it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(super) fn host(&self) -> &str {
        self.0.parts().host
    }

    pub(super) fn path(&self) -> &str {
        self.0.path()
    }

    /// Where it says what it is: behind its path, whose trailing slash does not count (OpenID Connect
    /// Discovery, section 4.1). RFC 8414 puts it before the path; no provider of tokens does.
    pub fn discovery_url(&self) -> String {
        let base = self.as_str();
        let base = base.strip_suffix('/').unwrap_or(base);
        format!("{base}/.well-known/openid-configuration")
    }

    /// Where requests for it may go: to public hosts, and to its own, which the operator has named
    /// and which may be private.
    pub fn guard(&self) -> Guard {
        let UrlParts { host, port, .. } = self.0.parts();
        Guard::public().naming(host, port.unwrap_or(HTTPS_PORT))
    }
}

const SCHEME: &str = "https://";

const HTTPS_PORT: u16 = 443;

/// The authority, and what follows it.
fn split(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix(SCHEME).unwrap_or_default();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    rest.split_at_checked(end).unwrap_or((rest, ""))
}

/// A host that is a name or an address, and a port.
fn host_and_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let end = authority.rfind(']').unwrap_or_default();
    let (host, port) = match authority.rfind(':').filter(|colon| *colon > end) {
        Some(colon) => (authority.get(..colon)?, authority.get(colon + 1..)?),
        None => (authority, "443"),
    };
    let is_port = port.bytes().all(|b| b.is_ascii_digit());
    let number: u16 = port.parse().ok().filter(|port| *port > 0)?;
    let has_port = host.len() < authority.len();
    (is_port && is_host(host)).then_some((host, has_port.then_some(number)))
}

fn is_host(host: &str) -> bool {
    match host.strip_prefix('[') {
        Some(rest) => rest
            .strip_suffix(']')
            .is_some_and(|address| address.parse::<core::net::Ipv6Addr>().is_ok()),
        None => host.split('.').all(|label| {
            let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
            !label.is_empty() && label.bytes().all(is_plain)
        }),
    }
}

/// What a URL parser leaves as it is.
fn is_plain_path(path: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&b);
    let is_dots = |segment: &str| {
        let dots = segment.to_ascii_lowercase().replace("%2e", ".");
        dots == "." || dots == ".."
    };
    let before_query = path.split('?').next().unwrap_or_default();
    path.bytes().all(is_plain) && !before_query.split('/').any(is_dots)
}

impl FromStr for HttpsUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if text.len() > limits::URL_BYTES {
            return Err(UrlError::TooLong(text.len()));
        }
        if !text.starts_with(SCHEME) {
            return Err(UrlError::Scheme);
        }
        let (authority, path) = split(text);
        if host_and_port(authority).is_none() {
            return Err(UrlError::Host);
        }
        if !is_plain_path(path) {
            return Err(UrlError::Path);
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for IssuerUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let url: HttpsUrl = text.parse()?;
        if url.path().contains('?') {
            return Err(UrlError::Path);
        }
        Ok(Self(url))
    }
}

impl fmt::Display for HttpsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
    fn the_document_lies_behind_the_path_without_a_trailing_slash() {
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
    fn hosts_and_ports_are_read() {
        for (text, host, port) in [
            ("https://localhost:8443", "localhost", Some(8443)),
            ("https://127.0.0.1:1/x", "127.0.0.1", Some(1)),
            ("https://[::1]:9", "[::1]", Some(9)),
            ("https://[::1]", "[::1]", None),
            ("https://accounts.google.com", "accounts.google.com", None),
        ] {
            let url: HttpsUrl = text.parse().unwrap();
            assert_eq!((url.parts().host, url.parts().port), (host, port), "{text}");
        }
    }

    #[test]
    fn a_private_issuer_may_be_asked_because_it_is_named_and_no_other_private_host() {
        let guard = issuer("https://localhost:8443/oidc").unwrap().guard();
        let check = |url: &str| guard.check(url.parse::<HttpsUrl>().unwrap().parts());
        assert!(check("https://localhost:8443/jwks").is_ok());
        assert!(check("https://www.googleapis.com/oauth2/v3/certs").is_ok());
        assert!(check("https://localhost:8444/jwks").is_err());
        assert!(check("https://169.254.169.254/jwks").is_err());
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
        let long = format!("https://a.example/{}", "b".repeat(limits::URL_BYTES));
        assert_eq!(issuer(&long), Err(UrlError::TooLong(long.len())));
        assert!("https://a.example/b?c=../d".parse::<HttpsUrl>().is_ok());
    }

    proptest! {
        #[test]
        fn what_is_taken_stays_as_it_is(text in "https://[\\PC]{0,40}") {
            if let Ok(issuer) = issuer(&text) {
                prop_assert_eq!(issuer.as_str(), &text);
                prop_assert!(!issuer.0.parts().host.is_empty());
            }
        }
    }
}

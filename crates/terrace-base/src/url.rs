//! Absolute URLs, in the one spelling that all URL parsers agree on.
//!
//! # In scope
//! `http(s)://host[:port][/path][?query]`, in ASCII only. The `url` crate parses every URL that this module
//! accepts into the same host, port, path and query; its Unicode tables are the reason why it is not a
//! dependency of the Worker. Whether the Punycode of a label that begins with `xn--` decodes is not checked.
//!
//! # Out of scope
//! Relative references, other schemes, user names and passwords, and fragments. The caller decides which
//! hosts may be contacted.

// Only the address types: no pure crate opens sockets.
use core::net::{Ipv4Addr, Ipv6Addr};
use std::fmt;
use std::str::FromStr;

/// The maximum length of a URL in bytes. Every browser and server accepts at least this many.
pub const MAX_BYTES: usize = 2_000;

/// The scheme of a [`Url`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `http`, without TLS.
    Http,
    /// `https`, with TLS.
    Https,
}

/// An absolute URL, in its original spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    text: String,
    scheme: Scheme,
    /// The byte offset of the end of the host.
    host_end: usize,
    port: Option<u16>,
    /// The byte offset of the end of the host and port.
    authority_end: usize,
}

/// A [`Url`] with the scheme https.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpsUrl(Url);

/// The error for a text that is not an accepted URL. It does not repeat the text, which may contain a
/// password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The text is longer than the limit.
    #[error("it is {0} bytes long, at most {max} are allowed", max = MAX_BYTES)]
    TooLong(usize),
    /// The scheme is missing or not allowed; the field names the allowed ones.
    #[error("it must start with {0}")]
    Scheme(&'static str),
    /// The host or the port is missing or invalid, or the host follows credentials.
    #[error(
        "\"://\" must be followed by a host and an optional port, without a user name or password"
    )]
    Host,
    /// The path or query contains a fragment, or characters or segments that URL parsers normalise.
    #[error(
        "its path and query may not contain spaces, quotes, backslashes, \"..\", a fragment, or characters outside ASCII"
    )]
    Path,
    /// The URL has a query, where none is allowed.
    #[error("it may not have a query")]
    Query,
    /// The path contains characters that are not signed unchanged.
    #[error("its path may contain only letters, digits, \"-\", \".\", \"_\", \"~\" and \"/\"")]
    Escape,
}

impl Scheme {
    /// Returns the scheme without its `:`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// Returns the default port of the scheme, for URLs that name none.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// Splits a URL into its scheme and what follows the `://`.
    fn split(text: &str) -> Option<(Self, &str)> {
        let all = [Self::Https, Self::Http];
        let (name, rest) = text.split_once("://")?;
        let scheme = all.into_iter().find(|scheme| scheme.as_str() == name)?;
        Some((scheme, rest))
    }
}

impl Url {
    /// Returns the URL in its original spelling.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the host in its original spelling; an IPv6 address is in brackets.
    pub fn host(&self) -> &str {
        let host = self.text.get(..self.host_end).unwrap_or_default();
        authority(host)
    }

    /// Returns the port, if the URL names one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Returns the port, or the default port of the scheme if the URL names none.
    pub fn port_or_default(&self) -> u16 {
        self.port.unwrap_or(self.scheme.default_port())
    }

    /// Returns the host and port as in a `Host` header: in lower case, and without the default port of the
    /// scheme.
    pub fn host_header(&self) -> String {
        let host = self.host().to_ascii_lowercase();
        match self.port.filter(|port| *port != self.scheme.default_port()) {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }

    /// Returns the scheme, host and port, in lower case and without the default port of the scheme:
    /// `https://host[:port]`.
    pub fn origin(&self) -> String {
        format!("{}://{}", self.scheme.as_str(), self.host_header())
    }

    /// Returns the path in its original spelling; it may be empty.
    pub fn path(&self) -> &str {
        let (path, _) = self.path_and_query();
        path
    }

    /// Returns the query without its `?`, if there is one.
    pub fn query(&self) -> Option<&str> {
        let (_, query) = self.path_and_query();
        query
    }

    fn path_and_query(&self) -> (&str, Option<&str>) {
        let rest = self.text.get(self.authority_end..).unwrap_or_default();
        split_query(rest)
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        if text.len() > MAX_BYTES {
            return Err(UrlError::TooLong(text.len()));
        }
        const SCHEME: UrlError = UrlError::Scheme("https:// or http://");
        let (scheme, rest) = Scheme::split(text).ok_or(SCHEME)?;
        let start = text.len() - rest.len();
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at_checked(end).ok_or(UrlError::Host)?;
        let (host, port) = split_port(authority);
        let port = port.map(|port| read_port(port).ok_or(UrlError::Host));
        let port = port.transpose()?;
        if !is_host(host) {
            return Err(UrlError::Host);
        }
        if !is_plain(rest) {
            return Err(UrlError::Path);
        }
        Ok(Self {
            text: text.to_owned(),
            scheme,
            host_end: start + host.len(),
            port,
            authority_end: start + end,
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl HttpsUrl {
    /// Returns the URL in its original spelling.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the URL as a [`Url`], which gives access to its parts.
    pub fn as_url(&self) -> &Url {
        &self.0
    }
}

impl FromStr for HttpsUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        const SCHEME: UrlError = UrlError::Scheme("https://");
        match text.parse::<Url>() {
            Ok(url) if url.scheme == Scheme::Https => Ok(Self(url)),
            Ok(_) | Err(UrlError::Scheme(_)) => Err(SCHEME),
            Err(other) => Err(other),
        }
    }
}

crate::text_serde!(HttpsUrl);

impl fmt::Display for HttpsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns `host[:port]` of an origin such as `https://host[:port]`, without validating it.
pub fn authority(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, rest)| rest)
}

/// Splits `host[:port]`. A colon within the brackets of an IPv6 address does not start a port.
pub fn split_port(authority: &str) -> (&str, Option<&str>) {
    let bracket = authority.rfind(']').unwrap_or_default();
    match authority.rsplit_once(':') {
        Some((host, port)) if host.len() > bracket => (host, Some(port)),
        _ => (authority, None),
    }
}

/// Returns whether URL parsers take a host with this last label for an IPv4 address (WHATWG URL, "ends in a
/// number").
pub fn is_number(label: &str) -> bool {
    let digits = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    let hexadecimal = label
        .strip_prefix("0x")
        .or_else(|| label.strip_prefix("0X"));
    digits || hexadecimal.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn read_port(port: &str) -> Option<u16> {
    // The standard library's parser also accepts a sign.
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    port.parse().ok().filter(|port| is_number && *port > 0)
}

/// Returns whether a host is a name of ASCII labels with an optional final dot, an IPv4 address of four
/// decimal numbers, or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        let address = rest.strip_suffix(']');
        return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or_default();
    match is_number(last) {
        true => host.parse::<Ipv4Addr>().is_ok(),
        false => is_name(name),
    }
}

/// Returns whether a text consists of ASCII labels separated by dots, as names and IPv4 addresses do.
pub fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        !label.is_empty() && label.bytes().all(is_plain)
    };
    text.split('.').all(is_label)
}

/// Returns whether URL parsers leave a path and query unchanged.
fn is_plain(rest: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&b);
    let is_dots = |segment: &str| {
        let dots = segment.to_ascii_lowercase().replace("%2e", ".");
        dots == "." || dots == ".."
    };
    let (path, query) = split_query(rest);
    rest.bytes().all(is_plain)
        && !path.split('/').any(is_dots)
        && !query.is_some_and(|query| query.contains('\''))
}

fn split_query(rest: &str) -> (&str, Option<&str>) {
    match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Url, UrlError> {
        text.parse()
    }

    #[test]
    fn a_url_keeps_its_parts_in_their_original_spelling() {
        for (text, host, port, path, query) in [
            ("https://a.example", "a.example", None, "", None),
            ("http://A.example./", "A.example.", None, "/", None),
            (
                "https://localhost:8443?a",
                "localhost",
                Some(8443),
                "",
                Some("a"),
            ),
            ("https://127.0.0.1:1/x", "127.0.0.1", Some(1), "/x", None),
            (
                "https://[2001:DB8::1]:443/x?y=../z?",
                "[2001:DB8::1]",
                Some(443),
                "/x",
                Some("y=../z?"),
            ),
            ("https://[::1]", "[::1]", None, "", None),
            (
                "https://a_b.xn--nser-0ra.example/%2F",
                "a_b.xn--nser-0ra.example",
                None,
                "/%2F",
                None,
            ),
        ] {
            let url = parse(text).unwrap();
            assert_eq!(url.as_str(), text);
            assert_eq!((url.host(), url.port()), (host, port), "{text}");
            assert_eq!((url.path(), url.query()), (path, query), "{text}");
        }
    }

    #[test]
    fn a_host_header_omits_the_default_port() {
        for (text, header) in [
            ("https://A.example:443/", "a.example"),
            ("http://a.example:80", "a.example"),
            ("https://a.example:80", "a.example:80"),
            ("http://[::A]:443", "[::a]:443"),
        ] {
            let url = parse(text).unwrap();
            assert_eq!(url.host_header(), header);
            assert_eq!(
                url.origin(),
                format!("{}://{header}", url.scheme().as_str())
            );
        }
    }

    #[test]
    fn invalid_urls_are_rejected_with_the_rule() {
        const SCHEME: UrlError = UrlError::Scheme("https:// or http://");
        for (text, error) in [
            ("", SCHEME),
            ("a.example", SCHEME),
            ("//a.example", SCHEME),
            ("ftp://a.example", SCHEME),
            ("HTTPS://a.example", SCHEME),
            (" https://a.example", SCHEME),
            ("https://", UrlError::Host),
            ("https:///path", UrlError::Host),
            ("https://:443", UrlError::Host),
            ("https://]:[", UrlError::Host),
            ("https://[]", UrlError::Host),
            ("https://[::1", UrlError::Host),
            ("https://[::1]x", UrlError::Host),
            ("https://[fe80::1%25eth0]", UrlError::Host),
            ("https://[a.example]", UrlError::Host),
            ("https://2001:db8::1", UrlError::Host),
            ("https://user@a.example", UrlError::Host),
            ("https://user:password@a.example", UrlError::Host),
            ("https://a.example:", UrlError::Host),
            ("https://a.example:0", UrlError::Host),
            ("https://a.example:+1", UrlError::Host),
            ("https://a.example:65536", UrlError::Host),
            ("https://10.0.0.1:99999", UrlError::Host),
            ("https://10.0.0.256", UrlError::Host),
            ("https://10.1", UrlError::Host),
            ("https://010.0.0.1", UrlError::Host),
            ("https://0x7f000001", UrlError::Host),
            ("https://a.0X", UrlError::Host),
            ("https://10.0.0.1.", UrlError::Host),
            ("https://.", UrlError::Host),
            ("https://a..example", UrlError::Host),
            ("https://.a.example", UrlError::Host),
            ("https://\u{430}.example", UrlError::Host),
            ("https://a%2e.example", UrlError::Host),
            ("https://a.example\\b", UrlError::Host),
            ("https://a.example/#c", UrlError::Path),
            ("https://a.example#c", UrlError::Path),
            ("https://a.example/b c", UrlError::Path),
            ("https://a.example/b\n", UrlError::Path),
            ("https://a.example/b\\c", UrlError::Path),
            ("https://a.example/b/../c", UrlError::Path),
            ("https://a.example/b/%2E%2e/c", UrlError::Path),
            ("https://a.example/b/.", UrlError::Path),
            ("https://a.example/?'", UrlError::Path),
            ("https://a.example/\u{430}", UrlError::Path),
        ] {
            assert_eq!(parse(text), Err(error), "{text:?}");
        }
        let long = format!("https://a.example/{}", "b".repeat(MAX_BYTES));
        assert_eq!(parse(&long), Err(UrlError::TooLong(long.len())));
    }

    #[test]
    fn an_https_url_rejects_other_schemes() {
        const SCHEME: UrlError = UrlError::Scheme("https://");
        for text in ["http://a.example", "ftp://a.example", ""] {
            assert_eq!(text.parse::<HttpsUrl>(), Err(SCHEME), "{text}");
        }
        let url: HttpsUrl = "https://a.example:8443".parse().unwrap();
        assert_eq!(url.as_url().port(), Some(8443));
        assert_eq!("https://a b".parse::<HttpsUrl>(), Err(UrlError::Host));
    }

    /// Generates texts that are URLs or nearly URLs. None has a label in Punycode.
    fn nearly_urls() -> impl Strategy<Value = String> {
        let host = prop_oneof![
            "[a-zA-Z0-9_.-]{0,12}",
            "[a-z]{1,3}(\\.[0-9a-fxX]{1,4}){1,4}\\.?",
            "[0-9]{1,3}(\\.[0-9]{1,3}){0,4}",
            "\\[[0-9a-fA-F:.]{0,20}\\]",
            "[!-~]{0,6}",
            "[a-z]{70}(\\.[a-z]{63}){4}",
        ];
        let port = prop_oneof![Just(String::new()), ":[0-9]{0,6}", "[:+0-9]{0,4}"];
        let path = prop_oneof![
            Just(String::new()),
            "(/(\\.|%2[eE]|[!-~]){0,4}){0,4}",
            "/[ -~\\n\u{e4}]{0,20}",
        ];
        let query = prop_oneof![Just(String::new()), "[?#][ -~]{0,12}"];
        (
            prop_oneof![4 => Just("https"), 1 => Just("http")],
            host,
            port,
            path,
            query,
        )
            .prop_map(|(scheme, host, port, path, query)| {
                format!("{scheme}://{host}{port}{path}{query}")
            })
            .prop_filter("Punycode", |text| {
                !text.to_ascii_lowercase().contains("xn--")
            })
    }

    fn same_host(ours: &str, theirs: url::Host<&str>) -> bool {
        match theirs {
            url::Host::Domain(name) => ours.eq_ignore_ascii_case(name),
            url::Host::Ipv4(address) => ours.parse() == Ok(address),
            url::Host::Ipv6(address) => {
                let bare = ours.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
                bare.is_some_and(|bare| bare.parse() == Ok(address))
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn the_url_crate_accepts_every_accepted_url_with_the_same_parts(text in nearly_urls()) {
            let Ok(ours) = parse(&text) else { return Ok(()) };
            let theirs = url::Url::parse(&text);
            let theirs = theirs.map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
            prop_assert_eq!(ours.scheme().as_str(), theirs.scheme());
            prop_assert!(same_host(ours.host(), theirs.host().unwrap()), "{}", text);
            prop_assert_eq!(Some(ours.port_or_default()), theirs.port_or_known_default());
            let path = if ours.path().is_empty() { "/" } else { ours.path() };
            prop_assert_eq!(path, theirs.path());
            prop_assert_eq!(ours.query(), theirs.query());
        }
    }

    #[test]
    fn the_generated_texts_are_often_urls() {
        use proptest::strategy::ValueTree as _;
        use proptest::test_runner::TestRunner;
        let mut runner = TestRunner::deterministic();
        let accepted = (0..1_000).filter(|_| {
            let text = nearly_urls().new_tree(&mut runner).unwrap().current();
            parse(&text).is_ok()
        });
        assert!(accepted.count() > 100);
    }
}

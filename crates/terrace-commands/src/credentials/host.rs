//! The host that a token belongs to.

use std::fmt;

use terrace_core::model::name::Hostname;
use url::Host;

use crate::http::BaseUrl;

/// The port that a host without one means.
const DEFAULT_PORT: u16 = 443;

/// A host, in lower case and its ASCII form, with its port unless that is 443.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TokenHost(String);

impl TokenHost {
    /// Parses a host as users of `terraform` write it: optionally with a port, and with an international name in either
    /// form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                (host, port.parse().ok()?)
            }
            Some(_) => return None,
            None => (text, DEFAULT_PORT),
        };
        if host.contains('%') {
            return None;
        }
        let host = Host::parse(host).ok()?.to_string();
        Some(Self::new(&host, port))
    }

    /// Returns the host of a registry. Tokens of a host without a port are for HTTPS, and never match plain HTTP.
    pub(crate) fn of(url: &BaseUrl) -> Self {
        if url.is_https() {
            Self::new(url.host(), url.port())
        } else {
            Self(format!("{}:{}", url.host(), url.port()))
        }
    }

    fn new(host: &str, port: u16) -> Self {
        match port {
            DEFAULT_PORT => Self(host.to_owned()),
            port => Self(format!("{host}:{port}")),
        }
    }
}

impl From<&Hostname> for TokenHost {
    fn from(hostname: &Hostname) -> Self {
        Self::new(hostname.as_str(), DEFAULT_PORT)
    }
}

impl fmt::Display for TokenHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_belongs_to_its_own_host_and_port_only() {
        for (url, host, belongs) in [
            ("https://r.example.com:443/", "R.example.com", true),
            ("https://r.example.com:8443", "r.example.com:8443", true),
            ("http://localhost:8787", "localhost:8787", true),
            ("https://r.example.com:8443", "r.example.com", false),
            ("https://r.example.com", "example.com", false),
            ("http://r.example.com:443", "r.example.com", false),
            ("http://127.0.0.1:8787", "127.0.0.1", false),
            ("http://127.0.0.1:8787", "127.0.0.1:1", false),
            ("http://127.0.0.1:8787", "127.0.0.2:8787", false),
            ("http://127.0.0.1:8787", "localhost:8787", false),
        ] {
            let of_url = TokenHost::of(&BaseUrl::parse(url).unwrap());
            assert_eq!(
                of_url == TokenHost::parse(host).unwrap(),
                belongs,
                "{url} {host}"
            );
        }
    }
}

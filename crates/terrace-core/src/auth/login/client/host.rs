//! The hosts from which the documents of clients may be fetched.

use std::fmt;
use std::str::FromStr;

use super::ClientId;
use crate::http::guard::Guard;
use crate::model::name::check_labels;
use terrace_base::url::{HttpsUrl, split_port};

/// A host that the operator has named, with a port if that is not 443.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientHost(HttpsUrl);

/// The error for a text that is not the host of documents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not the host of client metadata documents: it {rule}")]
pub struct ClientHostError {
    text: String,
    rule: &'static str,
}

impl ClientHostError {
    /// Returns the violated rule.
    pub(super) fn rule(&self) -> &'static str {
        self.rule
    }
}

impl ClientHost {
    /// Returns whether the document of a client is at this host. The client must spell it in the same way.
    pub fn is_of(&self, id: &ClientId) -> bool {
        id.host() == authority(&self.0)
    }

    /// Returns the guard for requests to this host, which the operator has named and which may be private.
    pub fn guard(&self) -> Guard {
        let url = self.0.as_url();
        Guard::public().naming(url.host(), url.port_or_default())
    }
}

/// Returns `host[:port]` in its original spelling.
pub(super) fn authority(url: &HttpsUrl) -> &str {
    let rest = terrace_base::url::authority(url.as_str());
    rest.split(['/', '?']).next().unwrap_or_default()
}

impl FromStr for ClientHost {
    type Err = ClientHostError;

    fn from_str(text: &str) -> Result<Self, ClientHostError> {
        parse(text).map(Self).map_err(|rule| ClientHostError {
            text: text.to_owned(),
            rule,
        })
    }
}

/// Parses `host[:port]` in the spelling that the IDs of clients must have. The error is the violated rule.
fn parse(text: &str) -> Result<HttpsUrl, &'static str> {
    if text.is_empty() || text.contains(['/', '?', '@', '#']) {
        return Err(
            "must be the name alone, such as app.example.com, without https:// and without a path",
        );
    }
    let (host, port) = split_port(text);
    check_labels(host)?;
    let spelled_as = |text: &str| {
        let url: Option<HttpsUrl> = format!("https://{text}").parse().ok();
        url.filter(|url| url.as_url().host_header() == text)
    };
    match (spelled_as(host), port) {
        (None, _) => Err("must be in lower case, and an address must have four numbers"),
        (Some(url), None) => Ok(url),
        (Some(_), Some(_)) => {
            spelled_as(text).ok_or("must have no port, or one from 1 to 65535 other than 443")
        }
    }
}

impl fmt::Display for ClientHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(authority(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_compared_exactly() {
        let host: ClientHost = "app.example.com".parse().unwrap();
        assert_eq!(host.to_string(), "app.example.com");
        let private: ClientHost = "localhost:8443".parse().unwrap();
        for (url, is_of) in [
            ("https://app.example.com/client.json", [true, false]),
            ("https://localhost:8443/client.json", [false, true]),
            ("https://localhost/client.json", [false, false]),
            ("https://app.example.com:443/client.json", [false, false]),
            ("https://App.example.com/client.json", [false, false]),
            ("https://app.example.com./client.json", [false, false]),
            ("https://www.app.example.com/client.json", [false, false]),
            ("https://example.com/app.example.com", [false, false]),
        ] {
            let id: ClientId = url.parse().unwrap();
            assert_eq!([host.is_of(&id), private.is_of(&id)], is_of, "{url}");
        }
    }

    #[test]
    fn anything_but_a_host_is_rejected_with_the_rule() {
        for (text, rule) in [
            ("https://app.example.com", "without https://"),
            ("app.example.com/", "without a path"),
            ("ann@app.example.com", "the name alone"),
            ("app.example.com?x", "the name alone"),
            ("", "the name alone"),
            ("App.example.com", "lower case"),
            ("App.example.com:8443", "lower case"),
            ("1.2.3:8443", "four numbers"),
            ("app.example.com:443", "other than 443"),
            ("app.example.com:0", "from 1 to 65535"),
            ("app.example.com:99999", "from 1 to 65535"),
            ("app.example.com:", "from 1 to 65535"),
            ("*.example.com", "only letters, digits, dashes and dots"),
            ("[::1]:8443", "only letters, digits, dashes and dots"),
            ("app.example.com.", "1 to 63 characters"),
            (&"a".repeat(64), "1 to 63 characters"),
            (&"a.".repeat(127), "longer than 253"),
            ("-a.example.com", "starts or ends with a dash"),
            ("1.2.3", "four numbers"),
        ] {
            let error = text.parse::<ClientHost>().unwrap_err().to_string();
            assert!(error.contains(rule), "{text}: {error}");
        }
    }

    #[test]
    fn requests_go_to_this_host_even_if_it_is_private() {
        let host: ClientHost = "localhost:8443".parse().unwrap();
        let check = |url: &str| {
            let url: HttpsUrl = url.parse().unwrap();
            host.guard().check(url.as_url().into()).is_ok()
        };
        assert!(check("https://localhost:8443/client.json"));
        assert!(!check("https://localhost/client.json"));
        assert!(!check("https://169.254.169.254/client.json"));
    }
}

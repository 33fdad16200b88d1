//! The hosts from which the documents of clients may be fetched.

use std::fmt;
use std::str::FromStr;

use super::ClientId;
use crate::http::guard::Guard;
use terrace_base::url::HttpsUrl;

/// A host that the operator has named, with a port if that is not 443.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientHost(HttpsUrl);

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
    type Err = String;

    /// Parses `host[:port]` in the spelling that the IDs of clients must have.
    fn from_str(text: &str) -> Result<Self, String> {
        let url: Option<HttpsUrl> = format!("https://{text}").parse().ok();
        let url = url.filter(|url| url.as_url().host_header() == text);
        url.map(Self).ok_or_else(|| {
            format!(
                "{text:?} is not the host of client metadata documents: it must be a name in lower case, such as \
                 app.example.com, with a port if that is not 443"
            )
        })
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
    fn anything_but_a_host_is_rejected() {
        for text in [
            "",
            "https://app.example.com",
            "app.example.com/",
            "ann@app.example.com",
            "app.example.com?x",
            "app.example.com#x",
            "App.example.com",
            "1.2.3:8443",
            "app.example.com:443",
            "app.example.com:0",
            "app.example.com:99999",
            "app.example.com:",
            "*.example.com",
        ] {
            assert!(text.parse::<ClientHost>().is_err(), "{text}");
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

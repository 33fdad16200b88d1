//! The URL at which a client waits for its code, on its person's own machine.

use std::fmt;
use std::str::FromStr;

use super::CLIENT_URL_BYTES;
use terrace_base::url::{Scheme, Url};

/// The hosts that are the person's own machine (RFC 8252, sections 7.3 and 8.3).
const LOOPBACK: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];

/// A redirect URI on the person's own machine: `http://` with `127.0.0.1`, `[::1]` or `localhost`, any port, and any path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopbackRedirect(Url);

impl LoopbackRedirect {
    /// Returns the URI as it was sent.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns whether a client may wait here that has registered `registered`: the URI itself, or one that differs in
    /// its port, which the operating system chooses (RFC 8252, section 7.3).
    pub fn is_registered_as(&self, registered: &str) -> bool {
        let registered: Result<Self, _> = registered.parse();
        registered.is_ok_and(|registered| registered.without_port() == self.without_port())
    }

    /// Returns the source expression that allows the redirect of a form in a content security policy. It cannot name an
    /// IPv6 address (<https://www.w3.org/TR/CSP3/#grammardef-host-source>).
    pub(in crate::auth::login) fn form_source(&self) -> String {
        match self.0.host() {
            "[::1]" => "http:".to_owned(),
            _ => self.0.origin(),
        }
    }

    /// Returns the port, if the URI has one.
    pub fn port(&self) -> Option<u16> {
        self.0.port()
    }

    /// Returns the URI with further parameters.
    pub(in crate::auth::login) fn with_query(&self, parameters: &str) -> String {
        let joint = match self.0.query() {
            Some(_) => '&',
            None => '?',
        };
        format!("{}{joint}{parameters}", self.0)
    }

    fn without_port(&self) -> (&str, &str, Option<&str>) {
        (self.0.host(), self.0.path(), self.0.query())
    }
}

impl FromStr for LoopbackRedirect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url: Option<Url> = text.parse().ok();
        let is_here = |url: &Url| url.scheme() == Scheme::Http && LOOPBACK.contains(&url.host());
        let url = url.filter(|url| is_here(url) && url.port() != Some(0));
        let url = url.filter(|_| text.len() <= CLIENT_URL_BYTES);
        url.map(Self).ok_or_else(|| {
            format!(
                "must be http:// with 127.0.0.1, [::1] or localhost, without a user name or a fragment, in at most \
                 {CLIENT_URL_BYTES} bytes: codes go to the user's own machine only"
            )
        })
    }
}

impl fmt::Display for LoopbackRedirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn redirect(text: &str) -> LoopbackRedirect {
        text.parse().expect(text)
    }

    #[test]
    fn only_the_port_may_differ_from_the_registered_uri() {
        let asked = redirect("http://127.0.0.1:33418/callback");
        for (registered, expected) in [
            ("http://127.0.0.1:33418/callback", true),
            ("http://127.0.0.1:3000/callback", true),
            ("http://127.0.0.1/callback", true),
            ("http://127.0.0.1/callback/", false),
            ("http://127.0.0.1/callback?a=b", false),
            ("http://127.0.0.1/Callback", false),
            ("http://127.0.0.1", false),
            ("http://localhost:33418/callback", false),
            ("http://[::1]:33418/callback", false),
            ("https://127.0.0.1:33418/callback", false),
            ("https://app.example.com/callback", false),
            ("app://callback", false),
            ("", false),
        ] {
            assert_eq!(asked.is_registered_as(registered), expected, "{registered}");
        }
    }

    #[test]
    fn parameters_follow_those_of_the_uri() {
        for (uri, expected) in [
            ("http://localhost", "http://localhost?a=b"),
            ("http://localhost:1/x", "http://localhost:1/x?a=b"),
            ("http://[::1]:1/x?y=z", "http://[::1]:1/x?y=z&a=b"),
        ] {
            assert_eq!(redirect(uri).with_query("a=b"), expected);
        }
    }

    #[test]
    fn a_form_may_redirect_to_the_client_only() {
        for (uri, source) in [
            ("http://127.0.0.1:33418/callback", "http://127.0.0.1:33418"),
            ("http://localhost/callback", "http://localhost"),
            ("http://[::1]:33418/callback", "http:"),
        ] {
            assert_eq!(redirect(uri).form_source(), source);
        }
    }

    proptest! {
        #[test]
        fn a_redirect_leads_to_this_machine_by_every_parser(text in "(http|https|HTTP|app)://(127.0.0.1|localhost|\\[::1\\]|127.1|LOCALHOST|evil.example)(:[0-9]{1,5})?(@evil.example)?[/?#@a-z.%\\\\]{0,12}") {
            if let Ok(redirect) = text.parse::<LoopbackRedirect>() {
                let url = url::Url::parse(redirect.as_str()).unwrap();
                prop_assert!(LOOPBACK.contains(&url.host_str().unwrap()));
            }
        }
    }
}

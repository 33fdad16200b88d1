//! The URL of the source repository of a release.

use std::str::FromStr;

use crate::limits;
use terrace_base::url;

/// The URL of a repository, such as `https://github.com/acme/terraform-provider-widget`.
///
/// The URL becomes a field of version lists and an annotation of OCI manifests, where Renovate and Dependabot
/// look for release notes. So it contains no credentials, and no characters that need escaping in JSON or in
/// a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceUrl(String);

/// The error for a text that is not the URL of a repository. If the text may contain a credential, the
/// message omits it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceUrlError {
    /// The URL is too long for the metadata of a release.
    #[error("the source URL has {0} bytes, at most {max} are allowed", max = limits::SOURCE_BYTES)]
    TooLong(usize),
    /// The scheme is not http or https.
    #[error(
        "the source {0:?} does not begin with https:// or http://: give the URL of the repository in a browser, \
         such as https://github.com/acme/terraform-provider-widget"
    )]
    Scheme(String),
    /// The URL contains a user name or a password, which would be published with it.
    #[error(
        "the source URL has a user name or a password before its host, which anyone could read: remove it"
    )]
    Credentials,
    /// The URL contains a query or a fragment, which may contain a credential too.
    #[error(
        "the source URL has a query or a fragment: give the URL of the repository without them"
    )]
    Query,
    /// The host is missing or invalid.
    #[error("the host {0:?} of the source URL is not a host name with an optional port")]
    Host(String),
    /// The path contains a character that must be percent-encoded in a URL.
    #[error("the source URL contains the character {0:?}, which must be percent-encoded")]
    Character(char),
}

impl SourceUrl {
    /// Returns the URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the URL of a repository or of a path in it. CI systems ignore the case of
    /// names.
    pub fn is_within(&self, repository: &Self) -> bool {
        let (own, whole) = (self.0.as_bytes(), repository.0.as_bytes());
        let Some((start, rest)) = own.split_at_checked(whole.len()) else {
            return false;
        };
        let rest = std::str::from_utf8(rest).unwrap_or("?");
        // A parent directory, whether escaped or not, may lead to another repository.
        let stays_inside = !rest.contains("..") && !rest.contains('%');
        let is_path = matches!(rest, "" | ".git") || rest.starts_with('/');
        start.eq_ignore_ascii_case(whole) && is_path && stays_inside
    }
}

crate::model::text_display!(SourceUrl);

impl FromStr for SourceUrl {
    type Err = SourceUrlError;

    fn from_str(text: &str) -> Result<Self, SourceUrlError> {
        if text.len() > limits::SOURCE_BYTES {
            return Err(SourceUrlError::TooLong(text.len()));
        }
        if text.contains('@') && authority(text).is_none_or(|it| it.contains('@')) {
            return Err(SourceUrlError::Credentials);
        }
        let authority = authority(text).ok_or_else(|| SourceUrlError::Scheme(text.to_owned()))?;
        if text.contains(['?', '#']) {
            return Err(SourceUrlError::Query);
        }
        if !is_host(authority) {
            return Err(SourceUrlError::Host(authority.to_owned()));
        }
        match text.chars().find(|c| !is_plain(*c)) {
            Some(c) => Err(SourceUrlError::Character(c)),
            None => Ok(Self(text.to_owned())),
        }
    }
}

/// Returns the part between the scheme and the path.
fn authority(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("https://");
    let rest = rest.or_else(|| text.strip_prefix("http://"))?;
    rest.split(['/', '?', '#']).next()
}

fn is_host(authority: &str) -> bool {
    let (host, port) = url::split_port(authority);
    url::is_name(host) && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

/// The characters of RFC 3986 that also need no escape in JSON.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~:/@!$&'()*+,;=%".contains(c)
}

terrace_base::text_serde!(SourceUrl);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_url_of_a_repository_is_accepted_unchanged() {
        for text in [
            "https://github.com/acme/terraform-provider-widget",
            "https://gitlab.example.com:8443/acme/infra/modules/-/tree/main/vpc",
            "http://git.internal/acme/%7Evpc",
            "https://dev.azure.com/acme/_git/vpc",
        ] {
            assert_eq!(text.parse::<SourceUrl>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn a_credential_is_rejected_and_not_repeated() {
        for text in [
            "https://user:hunter2@github.com/acme/vpc",
            "https://hunter2@github.com/acme/vpc",
            "git@github.com:acme/hunter2",
            "https://github.com/acme/vpc?token=hunter2",
            "https://github.com/acme/vpc#hunter2",
        ] {
            let error = text.parse::<SourceUrl>().unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_text_that_is_not_a_url_is_rejected_with_the_rule() {
        for (text, rule) in [
            ("", "https://"),
            ("github.com/acme/vpc", "https://"),
            ("ssh://github.com/acme/vpc", "https://"),
            ("HTTPS://github.com/acme/vpc", "https://"),
            ("https://", "host"),
            ("https:///acme", "host"),
            ("https://a..b/acme", "host"),
            ("https://github.com:port/acme", "host"),
            ("https://github.com:70000/acme", "host"),
            ("https://github.com/a b", "percent-encoded"),
            ("https://github.com/a\"b", "percent-encoded"),
            ("https://github.com/a\\b", "percent-encoded"),
            ("https://github.com/é", "percent-encoded"),
        ] {
            let error = text.parse::<SourceUrl>().unwrap_err().to_string();
            assert!(error.contains(rule), "{text}: {error}");
        }
        let long = format!("https://github.com/{}", "a".repeat(limits::SOURCE_BYTES));
        assert!(matches!(
            long.parse::<SourceUrl>(),
            Err(SourceUrlError::TooLong(_))
        ));
    }

    proptest! {
        #[test]
        fn a_source_needs_no_escape_in_json_or_in_a_header(text in "https?://[ -~]{0,60}") {
            if let Ok(source) = text.parse::<SourceUrl>() {
                prop_assert_eq!(serde_json::to_string(&source).unwrap(), format!("\"{text}\""));
                prop_assert!(source.as_str().bytes().all(|b| b.is_ascii_graphic()));
            }
        }
    }
}

//! The ID of a client: the URL of its document.

use std::fmt;
use std::str::FromStr;

use super::CLIENT_URL_BYTES;
use super::host::authority;
use crate::auth::login::CLIENT_HOSTS;
use terrace_base::untrusted::quoted;
use terrace_base::url::HttpsUrl;

/// The ID of a client: an https URL with a path (draft-ietf-oauth-client-id-metadata-document, section 3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientId(HttpsUrl);

impl ClientId {
    /// Returns the URL in its original spelling: clients are compared byte by byte.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns `host[:port]` of the URL in its original spelling.
    pub fn host(&self) -> &str {
        authority(&self.0)
    }

    /// Returns the rule that an ID at an unknown host violates.
    pub(in crate::auth::login) fn unknown_host(&self) -> String {
        let host = quoted(self.host());
        format!(
            "is at the host {host}, which {CLIENT_HOSTS} of this registry does not name: ask its operator to add it"
        )
    }
}

impl FromStr for ClientId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_id = |url: &HttpsUrl| {
            let url = url.as_url();
            !url.path().trim_start_matches('/').is_empty() && url.query().is_none()
        };
        let url = text.parse().ok().filter(is_id);
        let url = url.filter(|_| text.len() <= CLIENT_URL_BYTES);
        url.map(Self).ok_or_else(|| {
            format!(
                "must be the https URL of a document, with a path and without a query, of at most {CLIENT_URL_BYTES} bytes"
            )
        })
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

//! OAuth clients with documents of metadata: assistants and editors, which the Model Context Protocol lets sign people in
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization>).
//!
//! The ID of such a client is the URL of a document that describes it
//! (<https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/>). The registry fetches it only from the
//! hosts that its operator names, and only for a person who is signed in. A code goes only to the person's own machine.

mod document;
mod host;
mod redirect;

use std::fmt;
use std::str::FromStr;

pub use document::ClientDocument;
pub use host::ClientHost;
pub use redirect::LoopbackRedirect;

use host::authority;

use super::CLIENT_HOSTS;
use terrace_base::untrusted::quoted;
use terrace_base::url::HttpsUrl;

/// Maximum length of the URL of an OAuth client: its ID, or the one at which it waits. Both travel to the sign-in provider and
/// back in a URL, next to a code of its own.
const CLIENT_URL_BYTES: usize = 512;

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

//! The ID of a client: the URL of its document.

use std::fmt;
use std::str::FromStr;

use super::host::authority;
use super::{CLIENT_URL_BYTES, ClientHost};
use crate::auth::login::CLIENT_HOSTS;
use terrace_base::untrusted::quoted;
use terrace_base::url::{HttpsUrl, UrlError};

/// The ID of a client: an https URL with a path (draft-ietf-oauth-client-id-metadata-document, section 3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientId(HttpsUrl);

/// The error for a text that is not such a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClientIdError {
    /// The text is not an https URL.
    #[error("must be the URL of a document: {0}")]
    Url(UrlError),
    /// The URL has no path.
    #[error("must be the URL of a document, with a path after the host")]
    Path,
    /// The URL has a query.
    #[error("must be the URL of a document, without a query")]
    Query,
    /// The URL is too long.
    #[error("must be the URL of a document of at most {} bytes", CLIENT_URL_BYTES)]
    TooLong,
}

impl ClientId {
    /// Returns the URL in its original spelling: clients are compared byte by byte.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns `host[:port]` of the URL in its original spelling.
    pub fn host(&self) -> &str {
        authority(&self.0)
    }

    /// Returns the rule that an ID at an unknown host violates. If the operator could not name the host in this spelling either,
    /// that is the rule of the setting.
    pub(in crate::auth::login) fn unknown_host(&self) -> String {
        let host = quoted(self.host());
        if let Err(error) = self.host().parse::<ClientHost>() {
            return format!("is at the host {host}, which {}", error.rule());
        }
        format!(
            "is at the host {host}, which {} of this registry does not name: ask its operator to add it",
            CLIENT_HOSTS
        )
    }
}

impl FromStr for ClientId {
    type Err = ClientIdError;

    fn from_str(text: &str) -> Result<Self, ClientIdError> {
        if text.len() > CLIENT_URL_BYTES {
            return Err(ClientIdError::TooLong);
        }
        let url: HttpsUrl = text.parse().map_err(ClientIdError::Url)?;
        if url.as_url().path().trim_start_matches('/').is_empty() {
            return Err(ClientIdError::Path);
        }
        if url.as_url().query().is_some() {
            return Err(ClientIdError::Query);
        }
        Ok(Self(url))
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

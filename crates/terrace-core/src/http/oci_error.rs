//! Errors for OCI clients: `{"errors":[{"code":"…","message":"…"}]}` (clients.md 6.4).

use serde::Serialize;

/// An error response to an OCI client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciError {
    code: OciCode,
    status: u16,
    message: String,
    headers: Vec<(&'static str, String)>,
}

/// The error codes of the specification that Terrace uses (OCI Distribution 1.1, "Error Codes").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OciCode {
    /// The repository has no such blob.
    BlobUnknown,
    /// A chunk does not start where the upload ends.
    BlobUploadInvalid,
    /// The upload does not exist, or no longer exists.
    BlobUploadUnknown,
    /// The request contradicts mirrored content, or cannot be pushed here at all.
    Denied,
    /// A digest is malformed, or uses another algorithm.
    DigestInvalid,
    /// The repository lacks content that a manifest refers to.
    ManifestBlobUnknown,
    /// A manifest is malformed.
    ManifestInvalid,
    /// The repository has no such manifest.
    ManifestUnknown,
    /// A repository name is malformed.
    NameInvalid,
    /// The registry has no such repository.
    NameUnknown,
    /// The content is longer or shorter than allowed or announced.
    SizeInvalid,
    /// The client sent too many requests.
    #[serde(rename = "TOOMANYREQUESTS")]
    TooManyRequests,
    /// The token is missing or invalid.
    Unauthorized,
    /// The specification has no code for the error.
    Unknown,
    /// The operation is not supported here.
    Unsupported,
}

impl OciCode {
    /// Returns the default HTTP status. An invalid name is a 404: with any other status OpenTofu stops
    /// instead of looking elsewhere (clients.md 6.4).
    fn status(self) -> u16 {
        match self {
            Self::BlobUnknown
            | Self::BlobUploadUnknown
            | Self::ManifestUnknown
            | Self::NameInvalid
            | Self::NameUnknown => 404,
            Self::BlobUploadInvalid
            | Self::DigestInvalid
            | Self::ManifestBlobUnknown
            | Self::ManifestInvalid
            | Self::SizeInvalid => 400,
            Self::Denied => 403,
            Self::Unauthorized => 401,
            Self::Unsupported => 405,
            Self::TooManyRequests => 429,
            Self::Unknown => 500,
        }
    }
}

impl OciError {
    /// Creates an error with this code and message.
    pub fn new(code: OciCode, message: impl Into<String>) -> Self {
        Self {
            code,
            status: code.status(),
            message: message.into(),
            headers: Vec::new(),
        }
    }

    /// Replaces the default status of the code.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Returns the code.
    pub(super) fn code(&self) -> OciCode {
        self.code
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the additional headers of the response.
    pub(crate) fn headers(&self) -> &[(&'static str, String)] {
        &self.headers
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }
}

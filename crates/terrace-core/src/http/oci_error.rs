//! What an OCI client is told: `{"errors":[{"code":"…","message":"…"}]}` (clients.md 6.4).

/// A request of an OCI client that is not answered with what it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciError {
    code: OciCode,
    status: u16,
    message: String,
    headers: Vec<(&'static str, String)>,
}

/// The error codes of the specification that are used here (OCI Distribution 1.1, "Error Codes").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OciCode {
    /// The registry has no such blob in this repository.
    BlobUnknown,
    /// What is sent does not go on where the upload is.
    BlobUploadInvalid,
    /// There is no such upload, or no more.
    BlobUploadUnknown,
    /// It contradicts what is mirrored, or cannot be pushed here at all.
    Denied,
    /// A digest is none, or of another algorithm.
    DigestInvalid,
    /// What a manifest refers to is not in this repository.
    ManifestBlobUnknown,
    /// A manifest is none.
    ManifestInvalid,
    /// The registry has no such manifest in this repository.
    ManifestUnknown,
    /// The name of a repository is none.
    NameInvalid,
    /// The registry has no such repository.
    NameUnknown,
    /// There is more, or less, than may be or was announced.
    SizeInvalid,
    /// A token is missing or wrong.
    Unauthorized,
    /// The operation is not possible here.
    Unsupported,
}

impl OciCode {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::BlobUnknown => "BLOB_UNKNOWN",
            Self::BlobUploadInvalid => "BLOB_UPLOAD_INVALID",
            Self::BlobUploadUnknown => "BLOB_UPLOAD_UNKNOWN",
            Self::Denied => "DENIED",
            Self::DigestInvalid => "DIGEST_INVALID",
            Self::ManifestBlobUnknown => "MANIFEST_BLOB_UNKNOWN",
            Self::ManifestInvalid => "MANIFEST_INVALID",
            Self::ManifestUnknown => "MANIFEST_UNKNOWN",
            Self::NameInvalid => "NAME_INVALID",
            Self::NameUnknown => "NAME_UNKNOWN",
            Self::SizeInvalid => "SIZE_INVALID",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Unsupported => "UNSUPPORTED",
        }
    }

    /// The HTTP status, unless it is another. A name that cannot be is not there: with anything but
    /// a 404 OpenTofu ends instead of looking elsewhere (clients.md 6.4).
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
        }
    }
}

impl OciError {
    /// An error with this code, told in these words.
    pub fn new(code: OciCode, message: impl Into<String>) -> Self {
        Self {
            code,
            status: code.status(),
            message: message.into(),
            headers: Vec::new(),
        }
    }

    /// The same with another status than the one of its code.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The same with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The code.
    pub(super) fn code(&self) -> OciCode {
        self.code
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// What else the answer tells.
    pub(crate) fn headers(&self) -> &[(&'static str, String)] {
        &self.headers
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }
}

//! What an OCI client is told: `{"errors":[{"code":"…","message":"…"}]}` (clients.md 6.4).

use serde::Serialize;

use crate::problem::Problem;
use crate::reply::{CachePolicy, Reply};

/// A request of an OCI client that is not answered with what it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciError {
    code: OciCode,
    message: String,
}

/// The error codes of the specification that are used here (OCI Distribution 1.1, "Error Codes").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OciCode {
    /// The registry has no such blob in this repository.
    BlobUnknown,
    /// A digest is none, or of another algorithm.
    DigestInvalid,
    /// The registry has no such manifest in this repository.
    ManifestUnknown,
    /// The name of a repository is none.
    NameInvalid,
    /// The registry has no such repository.
    NameUnknown,
    /// The operation is not possible here.
    Unsupported,
}

#[derive(Serialize)]
struct Body<'a> {
    errors: [Entry<'a>; 1],
}

#[derive(Serialize)]
struct Entry<'a> {
    code: &'a str,
    message: &'a str,
}

impl OciCode {
    fn as_str(self) -> &'static str {
        match self {
            Self::BlobUnknown => "BLOB_UNKNOWN",
            Self::DigestInvalid => "DIGEST_INVALID",
            Self::ManifestUnknown => "MANIFEST_UNKNOWN",
            Self::NameInvalid => "NAME_INVALID",
            Self::NameUnknown => "NAME_UNKNOWN",
            Self::Unsupported => "UNSUPPORTED",
        }
    }
}

impl OciError {
    /// An error with this code, told in these words.
    pub fn new(code: OciCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    /// The HTTP status. A name that cannot be is not there: with anything but a 404 OpenTofu ends
    /// instead of looking elsewhere (clients.md 6.4).
    pub fn status(&self) -> u16 {
        match self.code {
            OciCode::BlobUnknown
            | OciCode::ManifestUnknown
            | OciCode::NameInvalid
            | OciCode::NameUnknown => 404,
            OciCode::DigestInvalid => 400,
            OciCode::Unsupported => 405,
        }
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl Problem {
    /// The answer as OCI clients read it. Of what is wrong inside, the specification knows nothing.
    pub fn oci_reply<S>(&self) -> Reply<S> {
        let code = match self {
            Self::Oci(error) => error.code.as_str(),
            Self::NotFound(_) => OciCode::NameUnknown.as_str(),
            Self::MethodNotAllowed(_) => OciCode::Unsupported.as_str(),
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Forbidden(_) => "DENIED",
            _ => "UNKNOWN",
        };
        let body = Body {
            errors: [Entry {
                code,
                message: &self.messages().join("; "),
            }],
        };
        let text = serde_json::to_string(&body).unwrap_or_default();
        self.with_headers(Reply::json(self.status(), CachePolicy::NoStore, text))
    }
}

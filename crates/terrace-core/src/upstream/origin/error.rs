//! Errors from the responses of another registry.

use super::PackageInquiry;
use crate::limits;
use crate::model::platform::Platform;
use crate::model::shasums::{FILE_NAME_RULE, ShasumsError};
use terrace_base::digest::Sha256;
use terrace_openpgp::OpenPgpError;

/// Reasons why a response of an origin cannot be used. Quotations from it are escaped and short.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// The origin returned 404.
    #[error("{what}: not available from the origin (status 404)")]
    NotFound {
        /// The name of the fetched resource.
        what: &'static str,
    },
    /// The origin returned 401 or 403.
    #[error("{what}: the origin denies access (status {status})")]
    NotAllowed {
        /// The name of the fetched resource.
        what: &'static str,
        /// The status of the response.
        status: u16,
    },
    /// The origin returned 429 or 5xx.
    #[error("{what}: the origin is temporarily unavailable (status {status}); try again later")]
    Unavailable {
        /// The name of the fetched resource.
        what: &'static str,
        /// The status of the response.
        status: u16,
    },
    /// The origin returned another status than 200.
    #[error("{what}: the origin returned the unexpected status {status}")]
    Status {
        /// The name of the fetched resource.
        what: &'static str,
        /// The status of the response.
        status: u16,
    },
    /// The body is larger than the limit.
    #[error("{what} is longer than {max} bytes")]
    TooLong {
        /// The name of the fetched resource.
        what: &'static str,
        /// The limit in bytes.
        max: u64,
    },
    /// The discovery document has another media type.
    #[error(
        "the discovery document has the media type {0:?}; clients accept only application/json"
    )]
    MediaType(String),
    /// The body is not JSON of the shape that clients parse.
    #[error("{what} is not a document that clients can parse: {reason}")]
    Json {
        /// The name of the fetched resource.
        what: &'static str,
        /// The error of the parser.
        reason: String,
    },
    /// The discovery document has no `providers.v1`.
    #[error("the host serves no providers: its discovery document has no \"providers.v1\"")]
    NoProviders,
    /// `providers.v1` is not a URL that can be requested.
    #[error(
        "\"providers.v1\" is {0:?}; it must be an https URL, or a path, of visible ASCII characters"
    )]
    ServiceUrl(String),
    /// A URL of the package is not one that can be requested.
    #[error(
        "{field} is {value:?}; it must be an https URL, or a path, of visible ASCII characters"
    )]
    Url {
        /// The name of the field.
        field: &'static str,
        /// The value of the field.
        value: String,
    },

    /// The package is for another platform than requested (clients.md 2.2.1).
    #[error(
        "{wanted} was requested, but the origin returned a package for os {os:?} and arch {arch:?}"
    )]
    OtherPlatform {
        /// The requested platform.
        wanted: Platform,
        /// The operating system in the response.
        os: String,
        /// The architecture in the response.
        arch: String,
    },
    /// The file name of the zip is none that SHA256SUMS can list (clients.md 2.3.1).
    #[error("the file name is {0:?}; {FILE_NAME_RULE}")]
    Filename(String),
    /// A protocol version is malformed (clients.md 2.2.3).
    #[error("protocols holds {0:?}, which is not of the form MAJOR.MINOR")]
    Protocol(String),
    /// There are too many protocols.
    #[error("protocols has {0} elements, at most {max} are allowed", max = limits::PROTOCOLS)]
    TooManyProtocols(usize),
    /// None of the protocols is one that clients run (clients.md 2.2.3).
    #[error(
        "none of the protocols {0} is at least 5.0 and below 7.0, the range that terraform and tofu support"
    )]
    NoProtocol(String),
    /// `shasum` is not a digest (clients.md 2.2.5).
    #[error("shasum is {0:?}, not a SHA-256 digest of 64 hexadecimal digits")]
    Shasum(String),
    /// SHA256SUMS is not text.
    #[error("SHA256SUMS is not UTF-8")]
    ShasumsEncoding,
    /// SHA256SUMS has errors for clients (clients.md 2.3.1, 2.3.2).
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Shasums(Vec<ShasumsError>),
    /// SHA256SUMS does not list the zip (clients.md 2.3.1).
    #[error("SHA256SUMS does not list {0}")]
    NotListed(String),
    /// SHA256SUMS lists the zip with another digest (clients.md 2.3.1).
    #[error("{filename}: SHA256SUMS lists the sha256 {listed}, but the origin states {stated}")]
    OtherDigest {
        /// The file name of the zip.
        filename: String,
        /// Its digest in SHA256SUMS.
        listed: Sha256,
        /// Its digest in the description of the package.
        stated: Sha256,
    },

    /// The origin lists no key to verify the signature with (clients.md 2.3.6).
    #[error(
        "the origin lists no signing keys, which clients accept only from registry.opentofu.org"
    )]
    NoKeys,
    /// The origin lists more keys than any publisher has.
    #[error("the origin lists {0} signing keys, at most {max} are allowed", max = limits::KEYS)]
    TooManyKeys(usize),
    /// A key at which clients fail before they reach the right one (clients.md 2.3.5).
    #[error("signing key number {place}: {error}")]
    Key {
        /// The key's position in the list, from 1.
        place: usize,
        /// The error of the key.
        error: OpenPgpError,
    },
    /// The signature was made by a key that the origin does not list (clients.md 2.3.7).
    #[error("SHA256SUMS is signed by {issuers}, but the origin lists only the keys {named}")]
    Issuer {
        /// The ids of the keys that made the signature.
        issuers: String,
        /// The listed keys.
        named: String,
    },
    /// The signature does not verify (clients.md 2.3.3 to 2.3.7).
    #[error("signature of SHA256SUMS: {0}")]
    Signature(OpenPgpError),
    /// The signing key is not one of the pinned keys.
    #[error(
        "the version is signed by key {fingerprint}, and the pinned signing keys of this provider are {pinned}: if its publisher has changed keys, pin the new one first"
    )]
    OtherKey {
        /// The fingerprint of the key that signed.
        fingerprint: String,
        /// The pinned fingerprints.
        pinned: String,
    },
    /// The version is not signed, although earlier versions were.
    #[error("the version is not signed, and the pinned signing keys of this provider are {pinned}")]
    NoLongerSigned {
        /// The pinned fingerprints.
        pinned: String,
    },
    /// The driver fed an unrequested response, or finished too early.
    #[error("internal error: a response arrived out of order")]
    Unfinished,
}

impl OriginError {
    /// Returns whether the origin has no package for the platform that was asked for.
    pub fn is_no_package(&self) -> bool {
        matches!(self, Self::NotFound { what } if *what == PackageInquiry::DESCRIPTION)
    }

    /// Returns whether the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}

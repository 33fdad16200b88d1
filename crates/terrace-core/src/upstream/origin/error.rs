//! Errors from the responses of another registry.

use super::PackageInquiry;
use crate::model::platform::Platform;
use crate::model::shasums::ShasumsError;
use terrace_base::digest::Sha256;
use terrace_openpgp::OpenPgpError;

/// Reasons why a response of an origin cannot be used. Quotations from it are escaped and short.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// The origin returned another status than 200.
    #[error("{what}: the origin answers with status {status}")]
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
    /// The body is not of the form that clients parse.
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
    /// A field has a value that clients or the registry cannot use.
    #[error("{field} is {value:?}; {rule}")]
    Field {
        /// The name of the field.
        field: &'static str,
        /// The value of the field.
        value: String,
        /// The rule.
        rule: &'static str,
    },
    /// A list is longer than that of any publisher.
    #[error("the origin lists {number} {what}, at most {max} are allowed")]
    TooMany {
        /// The things in the list.
        what: &'static str,
        /// Their number.
        number: usize,
        /// The limit.
        max: usize,
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
    /// None of the protocols is one that clients run (clients.md 2.2.3).
    #[error(
        "none of the protocols {0} is at least 5.0 and below 7.0, the range that terraform and tofu support"
    )]
    NoProtocol(String),
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
        matches!(
            self,
            Self::Status {
                what: PackageInquiry::DESCRIPTION,
                status: 404
            }
        )
    }

    /// Returns whether the origin denies access.
    pub fn is_denied(&self) -> bool {
        matches!(
            self,
            Self::Status {
                status: 401 | 403,
                ..
            }
        )
    }

    /// Returns whether the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Status {
                status: 429 | 500..=599,
                ..
            }
        )
    }
}

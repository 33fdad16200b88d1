//! Every way in which another registry's answer is of no use.

use crate::limits;
use crate::model::platform::Platform;
use crate::model::shasums::ShasumsError;
use terrace_base::digest::Sha256;
use terrace_openpgp::OpenPgpError;

/// Why nothing can be taken from an origin. What is quoted of its text is escaped and short.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// 404.
    #[error("{what}: the origin has it not (status 404)")]
    NotFound {
        /// What was fetched.
        what: &'static str,
    },
    /// 401 or 403.
    #[error("{what}: the origin refuses it with status {status}")]
    NotAllowed {
        /// What was fetched.
        what: &'static str,
        /// The status.
        status: u16,
    },
    /// 429 or 5xx.
    #[error("{what}: the origin answers {status} for now; try again later")]
    Unavailable {
        /// What was fetched.
        what: &'static str,
        /// The status.
        status: u16,
    },
    /// Any other status than 200.
    #[error("{what}: the origin answers {status}, and only 200 is of use")]
    Status {
        /// What was fetched.
        what: &'static str,
        /// The status.
        status: u16,
    },
    /// Larger than the limit.
    #[error("{what} is longer than {max} bytes")]
    TooLong {
        /// What was fetched.
        what: &'static str,
        /// The limit.
        max: u64,
    },
    /// The discovery document is labelled as something else.
    #[error("the discovery document has the media type {0:?}; clients take only application/json")]
    MediaType(String),
    /// It is not JSON of the shape that clients read.
    #[error("{what} is not what clients read: {reason}")]
    Json {
        /// What was fetched.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no `providers.v1`.
    #[error("the host serves no providers: its discovery document has no \"providers.v1\"")]
    NoProviders,
    /// `providers.v1` is no URL that can be asked.
    #[error(
        "\"providers.v1\" is {0:?}; it must be an https URL, or a path, of visible ASCII characters"
    )]
    ServiceUrl(String),
    /// A URL of the package is none that can be asked.
    #[error(
        "{field} is {value:?}; it must be an https URL, or a path, of visible ASCII characters"
    )]
    Url {
        /// Of which field.
        field: &'static str,
        /// What it says.
        value: String,
    },

    /// The package is for another platform than asked for (clients.md 2.2.1).
    #[error("asked for {wanted}, the origin answers for os {os:?} and arch {arch:?}")]
    OtherPlatform {
        /// What was asked for.
        wanted: Platform,
        /// What it says.
        os: String,
        /// What it says.
        arch: String,
    },
    /// The zip has another name than every client and mirror expects (clients.md 5.11).
    #[error("the file name is {name:?}; it must be {expected}")]
    Filename {
        /// What it is called.
        name: String,
        /// What it should be called.
        expected: String,
    },
    /// A protocol is not one (clients.md 2.2.3).
    #[error("protocols holds {0:?}, which is not of the form MAJOR.MINOR")]
    Protocol(String),
    /// Too many of them.
    #[error("protocols has {0} elements, at most {max} are allowed", max = limits::PROTOCOLS)]
    TooManyProtocols(usize),
    /// None of the protocols is one that clients run (clients.md 2.2.3).
    #[error(
        "none of the protocols {0} is at least 5.0 and below 7.0, the range that terraform and tofu support"
    )]
    NoProtocol(String),
    /// `shasum` is no digest (clients.md 2.2.5).
    #[error("shasum is {0:?}, not a SHA-256 digest of 64 hexadecimal digits")]
    Shasum(String),
    /// SHA256SUMS is not text.
    #[error("SHA256SUMS is not UTF-8")]
    ShasumsEncoding,
    /// SHA256SUMS would not work for clients (clients.md 2.3.1, 2.3.2).
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Shasums(Vec<ShasumsError>),
    /// The zip is not in it (clients.md 2.3.1).
    #[error("SHA256SUMS does not list {0}")]
    NotListed(String),
    /// The zip is in it with another digest (clients.md 2.3.1).
    #[error("{filename}: SHA256SUMS lists the sha256 {listed}, but the origin states {stated}")]
    OtherDigest {
        /// The zip.
        filename: String,
        /// Its digest by SHA256SUMS.
        listed: Sha256,
        /// Its digest by the origin.
        stated: Sha256,
    },

    /// There is no key to check the signature with (clients.md 2.3.6).
    #[error("the origin names no signing keys, which clients accept of registry.opentofu.org only")]
    NoKeys,
    /// More than anyone has.
    #[error("the origin names {0} signing keys, at most {max} are allowed", max = limits::KEYS)]
    TooManyKeys(usize),
    /// A key that clients stumble on before they find the right one (clients.md 2.3.5).
    #[error("signing key number {place}: {error}")]
    Key {
        /// Its place, from 1.
        place: usize,
        /// What is wrong with it.
        error: OpenPgpError,
    },
    /// The signature is by a key that the origin does not name (clients.md 2.3.7).
    #[error("SHA256SUMS is signed by {issuers}, and the origin names the keys {named}")]
    Issuer {
        /// Who made it.
        issuers: String,
        /// Who might have.
        named: String,
    },
    /// The signature does not verify (clients.md 2.3.3 to 2.3.7).
    #[error("signature of SHA256SUMS: {0}")]
    Signature(OpenPgpError),
    /// The signing key is another one than before.
    #[error(
        "the version is signed by key {fingerprint}, and the pinned signing keys of this provider are {pinned}: if its publisher has changed keys, pin the new one first"
    )]
    OtherKey {
        /// The fingerprint of the key that signed.
        fingerprint: String,
        /// The fingerprints that are pinned.
        pinned: String,
    },
    /// Earlier versions were signed.
    #[error("the version is not signed, and the pinned signing keys of this provider are {pinned}")]
    NoLongerSigned {
        /// The fingerprints that are pinned.
        pinned: String,
    },
    /// The driver fed what it was not asked for, or did not feed what it was.
    #[error("the inquiry is not at its end, or was past it")]
    Unfinished,
}

//! Reasons why clients would not accept a key or a signature.

use super::{KeyId, limits};
use terrace_base::time::UnixTime;

/// A reason why a key is not registered, or a signature not accepted, with its fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenPgpError {
    /// A text that is not a key ID.
    #[error(
        "{0:?} is not a key ID: write its 16 hexadecimal digits, as `gpg --list-keys --keyid-format long` shows them"
    )]
    KeyId(String),

    /// More text than the limit.
    #[error("the keys are {0} bytes long, but at most {max} are allowed: export them with `gpg --armor --export-options export-minimal --export KEYID`", max = limits::KEYS_BYTES)]
    KeysTooLong(usize),
    /// A text without an armoured block.
    #[error(
        "no public key found: send what `gpg --armor --export KEYID` prints, from \"-----BEGIN PGP PUBLIC KEY BLOCK-----\" to its end"
    )]
    NoKey,
    /// A block with other contents.
    #[error(
        "a public key was expected, not \"{0}\": send what `gpg --armor --export KEYID` prints"
    )]
    NotAKey(String),
    /// A secret key.
    #[error(
        "this is a SECRET key, which must never be sent to a server: consider it exposed if it has no passphrase, and send the public key that `gpg --armor --export KEYID` prints"
    )]
    SecretKey,
    /// Damaged armour around a key.
    #[error("the key's ASCII armour is damaged ({0}): send the file whole and unchanged")]
    KeyArmor(&'static str),
    /// Too many certificates.
    #[error("{0} keys were sent, but at most {max} are allowed in one request", max = limits::CERTIFICATES)]
    TooManyKeys(usize),
    /// A key with malformed packets, or with packets in an order that clients refuse.
    #[error(
        "key {key} cannot be read by terraform and tofu: {reason}. Export it again with `gpg --armor --export-options export-minimal --export {key}`"
    )]
    MalformedKey {
        /// The affected key.
        key: KeyName,
        /// The fault.
        reason: String,
    },
    /// A self-signature of the key does not verify.
    #[error(
        "key {key} is damaged or forged: a {of} self-signature does not verify, and terraform and tofu refuse the whole key. Export it again from the key ring that created it"
    )]
    SelfSignature {
        /// The affected key.
        key: KeyName,
        /// The part of the key that the self-signature covers.
        of: &'static str,
    },
    /// A key of a version or algorithm that clients do not support.
    #[error(
        "terraform and tofu do not support key {key}: {reason}. Sign with an RSA or Ed25519 key"
    )]
    UnknownKey {
        /// The affected key.
        key: KeyName,
        /// The unsupported feature.
        reason: String,
    },
    /// A key of an algorithm that clients support and this registry does not.
    #[error(
        "key {key} uses {algorithm}, which this registry cannot check: sign with an RSA, Ed25519, or ECDSA (P-256, P-384) key, and SHA-2"
    )]
    UncheckableKey {
        /// The affected key.
        key: KeyName,
        /// The algorithm.
        algorithm: &'static str,
    },
    /// A revoked key, or one with a revoked primary user ID.
    #[error(
        "key {0} is revoked, and terraform and tofu refuse its signatures: register another key"
    )]
    RevokedKey(KeyId),
    /// A key without a primary key or subkey that may sign.
    #[error(
        "key {0} has no key or subkey with key flags that allow signing; terraform and tofu require the explicit flag, although gpg does not. Add a signing subkey with `gpg --quick-add-key FINGERPRINT rsa4096 sign`, or create a new key"
    )]
    NoSigningKey(KeyId),

    /// More bytes than the limit.
    #[error("the signature is {0} bytes long, but at most {max} are allowed: send the detached signature that `gpg --detach-sign` writes", max = limits::SIGNATURE_BYTES)]
    SignatureTooLong(usize),
    /// An empty signature.
    #[error("the signature is empty: send the file that `gpg --detach-sign` writes")]
    NoSignature,
    /// Input that is neither a binary signature nor armour.
    #[error(
        "this is neither a binary nor an armoured signature: send the file that `gpg --detach-sign` writes"
    )]
    NotASignature,
    /// A cleartext or inline signed message, or another kind of block.
    #[error(
        "a detached signature was expected, not {0}: sign with `gpg --detach-sign`, not `--sign` or `--clear-sign`"
    )]
    NotDetached(String),
    /// Damaged armour around a signature.
    #[error(
        "the signature's ASCII armour is damaged ({0}): send the file whole and unchanged, with nothing before or after it"
    )]
    SignatureArmor(&'static str),
    /// A signature with malformed packets.
    #[error(
        "the signature cannot be read by terraform and tofu: {0}. Sign again with `gpg --detach-sign`"
    )]
    MalformedSignature(String),
    /// Input without a signature that clients consider.
    #[error(
        "terraform and tofu would ignore this signature: {0}. Sign with a current gpg and `--digest-algo SHA512`"
    )]
    SkippedSignature(String),
    /// A signature that does not name its issuer.
    #[error(
        "the signature does not name the key that made it, which terraform and tofu require: sign again with `gpg --detach-sign`"
    )]
    NoIssuer,
    /// A signature of a type that does not sign files.
    #[error(
        "the signature is of type {0:#04x}, which does not sign a file: sign with `gpg --detach-sign`"
    )]
    SignatureType(u8),

    /// A signature by keys that are not registered.
    #[error(
        "the signature was made by {}, which is not registered for this namespace; registered: {}. Sign with a registered key, or register that one. If it is a new subkey of a registered key, export that key and register it again",
        list(issuers),
        list(registered)
    )]
    UnknownIssuer {
        /// The keys named as issuers.
        issuers: Vec<KeyId>,
        /// The registered keys.
        registered: Vec<KeyId>,
    },
    /// A signature by a primary key or subkey of a registered key that may not sign.
    #[error(
        "the signature was made by {issuer}, which belongs to the registered key {key}, but its key flags do not allow signing, so terraform and tofu refuse it: sign with a signing subkey, `gpg --local-user SUBKEYID! --detach-sign`"
    )]
    NotASigner {
        /// The primary key or subkey that made it.
        issuer: KeyId,
        /// The registered key that it belongs to.
        key: KeyId,
    },
    /// A signature over other bytes, or a damaged one.
    #[error(
        "the signature by {0} does not match the file: the file was changed after signing, or the signature was made with another key of the same ID. Sign exactly the bytes that you publish"
    )]
    WrongSignature(KeyId),
    /// A signature that names a key of another algorithm.
    #[error("the signature was made with {signature}, but its key {issuer} uses {key}: sign again")]
    AlgorithmMismatch {
        /// The key named as the issuer.
        issuer: KeyId,
        /// The algorithm of that key.
        key: String,
        /// The algorithm of the signature.
        signature: String,
    },
    /// A signature with a feature that clients can verify and this registry cannot.
    #[error(
        "the signature by {issuer} uses {algorithm}, which this registry cannot check: sign with `--digest-algo SHA512` and an RSA, Ed25519, or ECDSA (P-256, P-384) key"
    )]
    UncheckableSignature {
        /// The key that made the signature.
        issuer: KeyId,
        /// The algorithm that the signature uses.
        algorithm: &'static str,
    },
    /// An unknown critical notation.
    #[error(
        "the signature by {issuer}, or a self-signature of its key, has the critical notation {name:?}, which terraform and tofu do not know and therefore refuse: sign without it"
    )]
    CriticalNotation {
        /// The key that made the signature.
        issuer: KeyId,
        /// The notation's name.
        name: String,
    },
    /// A signature by a revoked subkey.
    #[error("the signature was made by {subkey}, a revoked subkey of {key}: sign with another key")]
    RevokedSubkey {
        /// The ID of the subkey.
        subkey: KeyId,
        /// The key that it belongs to.
        key: KeyId,
    },
    /// An expired signature, or one by a key with an expired self-signature.
    #[error(
        "the signature by {issuer}, or a self-signature of its key, expired at {at}, which terraform treats as fatal: sign without an expiry date for signatures"
    )]
    ExpiredSignature {
        /// The key that made the signature.
        issuer: KeyId,
        /// The time of expiry.
        at: UnixTime,
    },
    /// A signature dated in the future, or one by a key with such a self-signature.
    #[error(
        "the signature by {issuer}, or a self-signature of its key, is dated {seconds} seconds in the future, which terraform treats as fatal: check the clock of the machine that signed it, or publish again in {seconds} seconds"
    )]
    FutureSignature {
        /// The key that made the signature.
        issuer: KeyId,
        /// The seconds until the date.
        seconds: u64,
    },
}

/// A key by its ID, or by its position if it is too damaged to have an ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyName {
    /// The ID of the primary key.
    Id(KeyId),
    /// The position among the keys that were sent, from 1.
    Place(usize),
}

impl std::fmt::Display for KeyName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Place(place) => write!(f, "number {place}"),
        }
    }
}

fn list(keys: &[KeyId]) -> String {
    let keys: Vec<String> = keys.iter().map(KeyId::to_string).collect();
    if keys.is_empty() {
        "none".to_owned()
    } else {
        keys.join(", ")
    }
}

//! Every way in which a key or a signature is not one that clients accept.

use super::KeyId;
use super::limits;
use terrace_base::time::UnixTime;

/// Why a key is not registered, or a signature not accepted, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenPgpError {
    /// The text is no key ID.
    #[error(
        "{0:?} is not a key ID: write its 16 hexadecimal digits, as `gpg --list-keys --keyid-format long` shows them"
    )]
    KeyId(String),

    /// More text than the limit.
    #[error("the keys are {0} bytes long, at most {max} are allowed: export them with `gpg --armor --export-options export-minimal --export KEYID`", max = limits::KEYS_BYTES)]
    KeysTooLong(usize),
    /// No armoured block in it.
    #[error(
        "no public key found: send what `gpg --armor --export KEYID` prints, from \"-----BEGIN PGP PUBLIC KEY BLOCK-----\" to its end"
    )]
    NoKey,
    /// A block that holds something else.
    #[error(
        "a public key was expected, not \"{0}\": send what `gpg --armor --export KEYID` prints"
    )]
    NotAKey(String),
    /// A secret key.
    #[error(
        "this is a SECRET key, which belongs on no server: consider it exposed if it has no passphrase, and send the public key that `gpg --armor --export KEYID` prints"
    )]
    SecretKey,
    /// Bad armour around a key.
    #[error("the key's ASCII armour is damaged ({0}): send the file whole and unchanged")]
    KeyArmor(&'static str),
    /// Too many certificates.
    #[error("{0} keys were sent, at most {max} are allowed at once", max = limits::CERTIFICATES)]
    TooManyKeys(usize),
    /// The packets of a key are broken, or not in the order clients demand.
    #[error(
        "key {key} cannot be read by terraform and tofu: {reason}. Export it again with `gpg --armor --export-options export-minimal --export {key}`"
    )]
    MalformedKey {
        /// Which.
        key: KeyName,
        /// What is wrong with it.
        reason: String,
    },
    /// A self-signature of the key does not verify.
    #[error(
        "key {key} is damaged or forged: a {of} self-signature does not verify, and terraform and tofu refuse the whole key. Export it again from the key ring it was made in"
    )]
    SelfSignature {
        /// Which.
        key: KeyName,
        /// What the self-signature is over.
        of: &'static str,
    },
    /// Of a version or algorithm that clients do not know.
    #[error(
        "key {key} is of a kind that terraform and tofu do not know: {reason}. Sign with an RSA or Ed25519 key"
    )]
    UnknownKey {
        /// Which.
        key: KeyName,
        /// What they do not know.
        reason: String,
    },
    /// Of an algorithm that clients know and this registry does not.
    #[error(
        "key {key} uses {algorithm}, which this registry cannot check: sign with an RSA, Ed25519, or ECDSA (P-256, P-384) key, and SHA-2"
    )]
    UncheckableKey {
        /// Which.
        key: KeyName,
        /// What it uses.
        algorithm: &'static str,
    },
    /// The key was revoked, or its primary user ID.
    #[error(
        "key {0} is revoked, and terraform and tofu refuse what it signs: register another key"
    )]
    RevokedKey(KeyId),
    /// No key or subkey of it may sign.
    #[error(
        "key {0} has no key or subkey whose key flags allow signing; terraform and tofu demand the explicit flag, gpg does not. Give it one with `gpg --quick-add-key FINGERPRINT rsa4096 sign`, or make a new key"
    )]
    NoSigningKey(KeyId),

    /// More bytes than the limit.
    #[error("the signature is {0} bytes long, at most {max} are allowed: send the detached signature that `gpg --detach-sign` writes", max = limits::SIGNATURE_BYTES)]
    SignatureTooLong(usize),
    /// Nothing was sent.
    #[error("the signature is empty: send the file that `gpg --detach-sign` writes")]
    NoSignature,
    /// Neither binary nor armour.
    #[error(
        "this is neither a binary nor an armoured signature: send the file that `gpg --detach-sign` writes"
    )]
    NotASignature,
    /// A cleartext or inline signed message, or another kind of block.
    #[error(
        "a detached signature was expected, not {0}: sign with `gpg --detach-sign`, not --sign or --clear-sign"
    )]
    NotDetached(String),
    /// Bad armour around a signature.
    #[error(
        "the signature's ASCII armour is damaged ({0}): send the file whole and unchanged, with nothing before or after it"
    )]
    SignatureArmor(&'static str),
    /// The packets are broken.
    #[error(
        "the signature cannot be read by terraform and tofu: {0}. Sign again with `gpg --detach-sign`"
    )]
    MalformedSignature(String),
    /// Nothing in it that clients look at.
    #[error(
        "terraform and tofu would pass over this signature: {0}. Sign with a current gpg and `--digest-algo SHA512`"
    )]
    SkippedSignature(String),
    /// It does not say who made it.
    #[error(
        "the signature does not name the key that made it, which terraform and tofu demand: sign again with `gpg --detach-sign`"
    )]
    NoIssuer,
    /// Of a type that does not sign files.
    #[error(
        "the signature is of type {0:#04x}, which does not sign a file: sign with `gpg --detach-sign`"
    )]
    SignatureType(u8),

    /// Made by other keys.
    #[error(
        "the signature was made by {}, which is not registered for this namespace; registered: {}. Sign with a registered key, or register that one",
        list(issuers),
        list(registered)
    )]
    UnknownIssuer {
        /// Who made it.
        issuers: Vec<KeyId>,
        /// Who might have.
        registered: Vec<KeyId>,
    },
    /// Made by a part of a registered key that may not sign.
    #[error(
        "the signature was made by {issuer}, a part of the registered key {key} whose key flags do not allow signing, so terraform and tofu refuse it: sign with a signing subkey, `gpg --local-user SUBKEYID! --detach-sign`"
    )]
    NotASigner {
        /// The primary key or subkey that made it.
        issuer: KeyId,
        /// The certificate it belongs to.
        key: KeyId,
    },
    /// It is not over these bytes, or damaged.
    #[error(
        "the signature by {0} does not fit the file: it was changed after it was signed, or signed with another key of that name. Sign exactly the bytes you publish"
    )]
    WrongSignature(KeyId),
    /// It names a key of another algorithm.
    #[error(
        "the signature says it was made with {signature}, but its key {issuer} is of algorithm {key}: sign again"
    )]
    AlgorithmMismatch {
        /// Who is said to have made it.
        issuer: KeyId,
        /// What that key is.
        key: String,
        /// What the signature is.
        signature: String,
    },
    /// It uses something that clients can check and this registry cannot.
    #[error(
        "the signature by {issuer} uses {algorithm}, which this registry cannot check: sign with `--digest-algo SHA512` and an RSA, Ed25519, or ECDSA (P-256, P-384) key"
    )]
    UncheckableSignature {
        /// Who made it.
        issuer: KeyId,
        /// What it uses.
        algorithm: &'static str,
    },
    /// A notation that must be understood, and is not.
    #[error(
        "the signature by {issuer}, or a self-signature of its key, has the critical notation {name:?}, which terraform and tofu do not know and therefore refuse: sign without it"
    )]
    CriticalNotation {
        /// Who made it.
        issuer: KeyId,
        /// The notation's name.
        name: String,
    },
    /// The subkey that made it is revoked.
    #[error("the signature was made by {subkey}, a revoked subkey of {key}: sign with another one")]
    RevokedSubkey {
        /// The subkey.
        subkey: KeyId,
        /// The certificate it belongs to.
        key: KeyId,
    },
    /// It, or a self-signature of its key, is expired.
    #[error(
        "the signature by {issuer}, or a self-signature of its key, expired at {at}, which terraform treats as fatal: sign without an expiry date for signatures"
    )]
    ExpiredSignature {
        /// Who made it.
        issuer: KeyId,
        /// When.
        at: UnixTime,
    },
    /// It, or a self-signature of its key, is of the future.
    #[error(
        "the signature by {issuer}, or a self-signature of its key, is dated {seconds} seconds in the future, which terraform treats as fatal: check the clock it was signed by, or publish again in {seconds} seconds"
    )]
    FutureSignature {
        /// Who made it.
        issuer: KeyId,
        /// How far.
        seconds: u64,
    },
}

/// A key by its ID, or by its place when it is too broken to have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyName {
    /// Its ID.
    Id(KeyId),
    /// Its place among the keys that were sent, from 1.
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

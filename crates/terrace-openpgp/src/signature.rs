//! Signature packets (RFC 9580, section 5.2), read as go-crypto's `packet/signature.go` reads them, including
//! the subpackets that it skips.

use terrace_base::time::UnixTime;
use terrace_signature::Hash;

use super::bytes::Bytes;
use super::limits;
use super::packet::{PacketError, subpacket};
use super::public_key::algorithm;

/// A signature of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) version: u8,
    /// The type of the signature, one of [`kind`].
    pub(super) kind: u8,
    pub(super) algorithm: u8,
    /// The hash function; `None` for SHA-3, which gpg does not use and which would add its code to every deployment.
    pub(super) hash: Option<Hash>,
    /// The bytes hashed after the signed data.
    pub(super) hash_suffix: Vec<u8>,
    /// The first two octets of the digest.
    pub(super) hash_tag: [u8; 2],
    /// The bytes hashed before the signed data, in version 6 only.
    pub(super) salt: Vec<u8>,
    pub(super) values: Values,
    pub(super) subpackets: Subpackets,
}

/// The contents of the subpackets that clients use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Subpackets {
    /// The time of creation, in seconds since 1970. Always present in a parsed signature.
    pub(super) created: Option<u32>,
    /// The lifetime in seconds after `created`; 0 means unlimited.
    pub(super) lifetime: Option<u32>,
    /// The key's lifetime in seconds after the *key's* creation; 0 means unlimited.
    pub(super) key_lifetime: Option<u32>,
    pub(super) issuer: Option<u64>,
    pub(super) issuer_fingerprint: Option<Vec<u8>>,
    pub(super) is_primary_user_id: bool,
    /// The key flags. `None` without a key flags subpacket, which differs from an empty set of flags.
    pub(super) key_flags: Option<u8>,
    pub(super) critical_notations: Vec<String>,
    pub(super) revocation_reason: Option<u8>,
    pub(super) embedded: Option<Box<Signature>>,
}

/// The numbers of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Values {
    One(Vec<u8>),
    Two(Vec<u8>, Vec<u8>),
}

/// Signature types (RFC 9580, section 5.2.1).
pub(super) mod kind {
    pub(crate) const BINARY: u8 = 0x00;
    pub(crate) const TEXT: u8 = 0x01;
    pub(crate) const GENERIC_CERTIFICATION: u8 = 0x10;
    pub(crate) const POSITIVE_CERTIFICATION: u8 = 0x13;
    pub(crate) const SUBKEY_BINDING: u8 = 0x18;
    pub(crate) const PRIMARY_KEY_BINDING: u8 = 0x19;
    pub(crate) const DIRECT_KEY: u8 = 0x1F;
    pub(crate) const KEY_REVOCATION: u8 = 0x20;
    pub(crate) const SUBKEY_REVOCATION: u8 = 0x28;
    pub(crate) const CERTIFICATION_REVOCATION: u8 = 0x30;
}

/// The key flag "may be used to sign data" (RFC 9580, section 5.2.3.29).
const FLAG_SIGN: u8 = 0x02;

/// The reason "key material has been compromised" (RFC 9580, section 5.2.3.31).
const REASON_COMPROMISED: u8 = 2;

impl Signature {
    /// Reads the body of a signature packet.
    pub(super) fn parse(body: &[u8]) -> Result<Self, PacketError> {
        Self::parse_at(body, 1)
    }

    fn parse_at(body: &[u8], depth: usize) -> Result<Self, PacketError> {
        if depth > limits::SIGNATURE_DEPTH {
            return Err(PacketError::malformed("signatures are nested too deeply"));
        }
        let mut bytes = Bytes::new(body);
        let version = bytes.u8().ok_or_else(PacketError::cut_off)?;
        // As for keys, no client is built with version 5.
        if version != 4 && version != 6 {
            return Err(PacketError::Skipped(format!(
                "clients skip signatures of version {version}"
            )));
        }
        let [kind, algorithm, hash_id] = bytes.array().ok_or_else(PacketError::cut_off)?;
        let area_length = area_length(version, &mut bytes).ok_or_else(PacketError::cut_off)?;
        if !algorithm::can_sign(algorithm) {
            let name = algorithm::name(algorithm);
            return Err(PacketError::Skipped(format!(
                "clients skip signatures by algorithm {name}"
            )));
        }
        let (hash, salt_length) =
            hash_of(hash_id, version).ok_or_else(|| PacketError::Skipped(unknown_hash(hash_id)))?;
        let hashed_area = bytes.take(area_length).ok_or_else(PacketError::cut_off)?;

        let mut subpackets = Subpackets::default();
        subpackets.read(hashed_area, Area::Hashed, version, depth)?;
        let unhashed_area = self::area_length(version, &mut bytes)
            .and_then(|length| bytes.take(length))
            .ok_or_else(PacketError::cut_off)?;
        subpackets.read(unhashed_area, Area::Unhashed, version, depth)?;

        let hash_tag = bytes.array().ok_or_else(PacketError::cut_off)?;
        let salt = match version {
            6 => salt(salt_length, &mut bytes)?,
            _ => Vec::new(),
        };
        let values = Values::read(algorithm, &mut bytes).ok_or_else(PacketError::cut_off)?;
        if !bytes.is_empty() {
            return Err(PacketError::malformed(
                "bytes follow a signature within its packet",
            ));
        }
        let hash_suffix = hash_suffix(version, [kind, algorithm, hash_id], hashed_area);
        Ok(Self {
            version,
            kind,
            algorithm,
            hash,
            hash_suffix,
            hash_tag,
            salt,
            values,
            subpackets,
        })
    }

    /// Returns whether the signature names `key_id` or `fingerprint` as its issuer
    /// (`CheckKeyIdOrFingerprint`).
    pub(super) fn names_issuer(&self, key_id: u64, fingerprint: &[u8]) -> bool {
        match &self.subpackets.issuer_fingerprint {
            Some(issuer) => issuer == fingerprint,
            None => self.subpackets.issuer == Some(key_id),
        }
    }

    /// Returns whether this self-signature allows its key to sign data. Without explicit key flags, clients
    /// do not allow it, although gpg does (`KeysByIdUsage`, `FlagsValid`).
    pub(super) fn allows_signing(&self) -> bool {
        self.subpackets
            .key_flags
            .is_some_and(|flags| flags & FLAG_SIGN != 0)
    }

    /// Returns whether the signature is expired or not yet valid (`SigExpired`).
    pub(super) fn expired(&self, now: u64) -> bool {
        let created = self.created();
        created > now || ends_before(created, self.subpackets.lifetime, now)
    }

    /// Returns whether the signed key, created at `key_created`, is expired or not yet valid (`KeyExpired`).
    pub(super) fn key_expired(&self, key_created: u32, now: u64) -> bool {
        let created = u64::from(key_created);
        created > now || ends_before(created, self.subpackets.key_lifetime, now)
    }

    /// Returns the time at which the signed key, created at `key_created`, expires, if it does.
    pub(super) fn key_expiry(&self, key_created: u32) -> Option<UnixTime> {
        let lifetime = self.subpackets.key_lifetime.filter(|it| *it > 0)?;
        Some(UnixTime(u64::from(key_created) + u64::from(lifetime)))
    }

    /// Returns whether this revocation is effective (`revoked` in `keys.go`).
    pub(super) fn revokes(&self, now: u64) -> bool {
        self.subpackets.revocation_reason == Some(REASON_COMPROMISED) || !self.expired(now)
    }

    pub(super) fn created(&self) -> u64 {
        self.subpackets.created.map_or(0, u64::from)
    }
}

fn ends_before(created: u64, lifetime: Option<u32>, now: u64) -> bool {
    match lifetime {
        None | Some(0) => false,
        Some(lifetime) => now > created + u64::from(lifetime),
    }
}

/// Reads the length of a subpacket area.
fn area_length(version: u8, bytes: &mut Bytes<'_>) -> Option<usize> {
    if version == 6 {
        bytes.u32().and_then(|length| usize::try_from(length).ok())
    } else {
        bytes.u16().map(usize::from)
    }
}

fn unknown_hash(id: u8) -> String {
    let name = match id {
        1 => "MD5".to_owned(),
        2 => "SHA-1".to_owned(),
        3 => "RIPEMD-160".to_owned(),
        other => format!("hash function {other}"),
    };
    format!("clients skip signatures with {name} in this version")
}

fn salt(length: u8, bytes: &mut Bytes<'_>) -> Result<Vec<u8>, PacketError> {
    if bytes.u8().ok_or_else(PacketError::cut_off)? != length {
        return Err(PacketError::malformed(
            "the salt of a signature has the wrong length",
        ));
    }
    let salt = bytes
        .take(usize::from(length))
        .ok_or_else(PacketError::cut_off)?;
    Ok(salt.to_vec())
}

/// Returns the trailer of the hashed data (RFC 9580, section 5.2.4).
fn hash_suffix(version: u8, fields: [u8; 3], hashed_area: &[u8]) -> Vec<u8> {
    let mut suffix = vec![version];
    suffix.extend_from_slice(&fields);
    let length = u32::try_from(hashed_area.len())
        .unwrap_or(u32::MAX)
        .to_be_bytes();
    let [_, _, short_length @ ..] = length;
    match version {
        6 => suffix.extend_from_slice(&length),
        _ => suffix.extend_from_slice(&short_length),
    }
    suffix.extend_from_slice(hashed_area);
    let length = u32::try_from(suffix.len()).unwrap_or(u32::MAX);
    suffix.extend_from_slice(&[version, 0xff]);
    suffix.extend_from_slice(&length.to_be_bytes());
    suffix
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Area {
    Hashed,
    Unhashed,
}

/// Subpacket types (RFC 9580, section 5.2.3.7).
mod subpacket_type {
    pub(super) const CREATION_TIME: u8 = 2;
    pub(super) const SIGNATURE_EXPIRATION: u8 = 3;
    pub(super) const EXPORTABLE: u8 = 4;
    pub(super) const TRUST: u8 = 5;
    pub(super) const REGULAR_EXPRESSION: u8 = 6;
    pub(super) const KEY_EXPIRATION: u8 = 9;
    pub(super) const PREFERRED_CIPHERS: u8 = 11;
    pub(super) const ISSUER: u8 = 16;
    pub(super) const NOTATION: u8 = 20;
    pub(super) const PREFERRED_HASHES: u8 = 21;
    pub(super) const PREFERRED_COMPRESSION: u8 = 22;
    pub(super) const KEYSERVER_PREFERENCES: u8 = 23;
    pub(super) const PREFERRED_KEYSERVER: u8 = 24;
    pub(super) const PRIMARY_USER_ID: u8 = 25;
    pub(super) const POLICY_URI: u8 = 26;
    pub(super) const KEY_FLAGS: u8 = 27;
    pub(super) const SIGNERS_USER_ID: u8 = 28;
    pub(super) const REVOCATION_REASON: u8 = 29;
    pub(super) const FEATURES: u8 = 30;
    pub(super) const EMBEDDED_SIGNATURE: u8 = 32;
    pub(super) const ISSUER_FINGERPRINT: u8 = 33;
    pub(super) const INTENDED_RECIPIENT: u8 = 35;
    pub(super) const PREFERRED_AEAD: u8 = 39;
}

impl Subpackets {
    fn read(
        &mut self,
        area: &[u8],
        side: Area,
        version: u8,
        depth: usize,
    ) -> Result<(), PacketError> {
        let mut bytes = Bytes::new(area);
        while !bytes.is_empty() {
            let (type_octet, content) = subpacket(&mut bytes)?;
            self.read_one(type_octet, content, side, version, depth)?;
        }
        match self.created {
            Some(_) => Ok(()),
            None => Err(PacketError::malformed("a signature has no creation time")),
        }
    }

    fn read_one(
        &mut self,
        type_octet: u8,
        content: &[u8],
        side: Area,
        version: u8,
        depth: usize,
    ) -> Result<(), PacketError> {
        use subpacket_type as kind;
        let (subpacket_type, critical) = (type_octet & 0x7f, type_octet & 0x80 != 0);
        // The unhashed area is not signed, so clients ignore everything else in it.
        let self_proving = [
            kind::ISSUER,
            kind::ISSUER_FINGERPRINT,
            kind::EMBEDDED_SIGNATURE,
        ];
        if side == Area::Unhashed && !self_proving.contains(&subpacket_type) {
            return Ok(());
        }
        match subpacket_type {
            kind::CREATION_TIME => self.created = Some(seconds(content)?),
            kind::SIGNATURE_EXPIRATION => self.lifetime = Some(seconds(content)?),
            kind::KEY_EXPIRATION => self.key_lifetime = Some(seconds(content)?),
            kind::EXPORTABLE => exportable(content)?,
            kind::TRUST if content.len() != 2 => return Err(bad("trust")),
            kind::REGULAR_EXPRESSION if content.last() != Some(&0) => {
                return Err(bad("regular expression"));
            }
            kind::ISSUER => self.read_issuer(content, side, version)?,
            kind::NOTATION => self.read_notation(content, critical)?,
            kind::PRIMARY_USER_ID => match content {
                [flag] => self.is_primary_user_id = *flag > 0,
                _ => return Err(bad("primary user ID")),
            },
            kind::KEY_FLAGS => {
                let flags = content.first().copied().unwrap_or_default();
                *self.key_flags.get_or_insert_default() |= flags;
            }
            kind::REVOCATION_REASON => match content.first() {
                Some(reason) => self.revocation_reason = Some(*reason),
                None => return Err(bad("revocation reason")),
            },
            kind::EMBEDDED_SIGNATURE => self.read_embedded(content, depth)?,
            kind::ISSUER_FINGERPRINT => {
                let (fingerprint, key_id) = versioned_fingerprint(content)?;
                self.issuer_fingerprint = Some(fingerprint);
                self.issuer = Some(key_id);
            }
            kind::INTENDED_RECIPIENT => {
                versioned_fingerprint(content)?;
            }
            kind::PREFERRED_AEAD if !content.len().is_multiple_of(2) => {
                return Err(bad("cipher suites"));
            }
            kind::TRUST
            | kind::REGULAR_EXPRESSION
            | kind::PREFERRED_CIPHERS
            | kind::PREFERRED_HASHES
            | kind::PREFERRED_COMPRESSION
            | kind::KEYSERVER_PREFERENCES
            | kind::PREFERRED_KEYSERVER
            | kind::POLICY_URI
            | kind::SIGNERS_USER_ID
            | kind::FEATURES
            | kind::PREFERRED_AEAD => {}
            unknown if critical => {
                return Err(PacketError::Skipped(format!(
                    "clients skip signatures with the critical subpacket {unknown}, which they do not support"
                )));
            }
            _ => {}
        }
        Ok(())
    }

    fn read_issuer(&mut self, content: &[u8], side: Area, version: u8) -> Result<(), PacketError> {
        let key_id = <[u8; 8]>::try_from(content).map_err(|_| bad("issuer"))?;
        match (version, side) {
            (6, Area::Hashed) => return Err(bad("issuer")),
            (6, Area::Unhashed) => {}
            _ => self.issuer = Some(u64::from_be_bytes(key_id)),
        }
        Ok(())
    }

    fn read_notation(&mut self, content: &[u8], critical: bool) -> Result<(), PacketError> {
        let mut bytes = Bytes::new(content);
        let (name, value_length) = notation(&mut bytes).ok_or_else(|| bad("notation"))?;
        if bytes.len() != value_length {
            return Err(bad("notation"));
        }
        if critical {
            self.critical_notations
                .push(String::from_utf8_lossy(name).into_owned());
        }
        Ok(())
    }

    fn read_embedded(&mut self, content: &[u8], depth: usize) -> Result<(), PacketError> {
        if self.embedded.is_some() {
            return Err(PacketError::malformed(
                "a signature has two embedded signatures",
            ));
        }
        let embedded = Signature::parse_at(content, depth + 1)?;
        if embedded.kind != kind::PRIMARY_KEY_BINDING {
            return Err(PacketError::malformed(
                "an embedded signature is not a cross-signature",
            ));
        }
        self.embedded = Some(Box::new(embedded));
        Ok(())
    }
}

fn bad(what: &str) -> PacketError {
    PacketError::Malformed(format!("the {what} subpacket of a signature is malformed"))
}

fn seconds(content: &[u8]) -> Result<u32, PacketError> {
    content
        .try_into()
        .map(u32::from_be_bytes)
        .map_err(|_| bad("time"))
}

/// Checks that the subpacket is not empty, because go-crypto 1.4.1 panics on an empty one.
fn exportable(content: &[u8]) -> Result<(), PacketError> {
    match content.first() {
        Some(0) => Err(PacketError::Skipped(
            "clients skip non-exportable signatures".to_owned(),
        )),
        Some(_) => Ok(()),
        None => Err(bad("exportable certification")),
    }
}

fn notation<'a>(bytes: &mut Bytes<'a>) -> Option<(&'a [u8], usize)> {
    let _flags = bytes.u32()?;
    let (name_length, value_length) = (bytes.u16()?, bytes.u16()?);
    let name = bytes.take(usize::from(name_length))?;
    Some((name, usize::from(value_length)))
}

/// Reads a key version and that version's fingerprint, and derives the key ID from it.
fn versioned_fingerprint(content: &[u8]) -> Result<(Vec<u8>, u64), PacketError> {
    let malformed = || bad("fingerprint");
    let (version, fingerprint) = content.split_first().ok_or_else(malformed)?;
    let mut bytes = Bytes::new(fingerprint);
    let key_id = match (version, fingerprint.len()) {
        (5.., 32) => bytes.u64(),
        (..5, 20) => bytes.take(12).and_then(|_| bytes.u64()),
        _ => None,
    };
    Ok((fingerprint.to_vec(), key_id.ok_or_else(malformed)?))
}

impl Values {
    fn read(algorithm: u8, bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(match algorithm {
            algorithm::RSA | algorithm::RSA_SIGN => Self::One(bytes.mpi()?.to_vec()),
            algorithm::ED25519 => Self::One(bytes.take(64)?.to_vec()),
            algorithm::ED448 => Self::One(bytes.take(114)?.to_vec()),
            _ => Self::Two(bytes.mpi()?.to_vec(), bytes.mpi()?.to_vec()),
        })
    }
}

/// Returns the hash function of an ID as in [`Signature::hash`], and the length of its salt (RFC 9580, section 9.5), if clients
/// support it (`internal/algorithm/hash.go`). SHA-1 is accepted in version 4 signatures only.
fn hash_of(id: u8, version: u8) -> Option<(Option<Hash>, u8)> {
    Some(match id {
        2 if version == 4 => (Some(Hash::Sha1), 16),
        8 => (Some(Hash::Sha256), 16),
        9 => (Some(Hash::Sha384), 24),
        10 => (Some(Hash::Sha512), 32),
        11 => (Some(Hash::Sha224), 16),
        12 => (None, 16),
        14 => (None, 32),
        _ => return None,
    })
}

//! A certificate: a primary key with its user IDs, subkeys and self-signatures.
//!
//! This is go-crypto's `ReadEntity`, `addUserID` and `addSubkey` (`openpgp/keys.go`), which every
//! client runs over a registered key before it reads a signature. Certificates that they refuse must
//! never be registered: a key that does not decode is fatal to clients.

use terrace_base::time::UnixTime;

use super::bytes::Bytes;
use super::error::KeyName;
use super::packet::{Packet, PacketError, subpacket, tag};
use super::public_key::{PublicKey, algorithm};
use super::signature::{Signature, kind};
use super::verify::{VerificationError, verify};
use super::{KeyId, OpenPgpError, limits};

/// The state that clients keep of a certificate after reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Certificate {
    pub(super) primary: PublicKey,
    pub(super) revocations: Vec<Signature>,
    pub(super) user_ids: Vec<UserId>,
    /// The newest self-signature over the key alone, which takes effect in version 6.
    pub(super) direct_signature: Option<Signature>,
    pub(super) subkeys: Vec<Subkey>,
}

/// A user ID with its effective self-signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserId {
    pub(super) id: Vec<u8>,
    /// `None` only for a revoked user ID: gpg leaves the self-signature out of minimal exports.
    pub(super) self_signature: Option<Signature>,
    pub(super) revocations: Vec<Signature>,
}

/// A subkey with its effective binding signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subkey {
    pub(super) key: PublicKey,
    pub(super) binding: Signature,
    pub(super) revocations: Vec<Signature>,
}

/// A key of a certificate with flags that allow it to sign data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signer<'a> {
    pub(super) key: &'a PublicKey,
    /// `None` for the primary key.
    pub(super) subkey: Option<&'a Subkey>,
}

/// The source of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Anyone: every self-signature is verified.
    Sent,
    /// The registry, which verified every self-signature before.
    Stored,
}

/// The packets of a certificate that matter.
#[derive(Debug)]
pub(super) enum Part {
    Signature(Signature),
    Subkey(PublicKey),
    UserId(Vec<u8>),
    /// A packet without meaning that still ends the signatures of the packet before it.
    Other,
}

impl Certificate {
    /// Reads the packets of the certificate `name`, starting with the primary key.
    pub(super) fn parse(
        packets: &[Packet<'_>],
        name: KeyName,
        origin: Origin,
    ) -> Result<Self, OpenPgpError> {
        let named = |fault: PacketError| fault.of_key(name);
        let first = packets.first().ok_or_else(PacketError::cut_off);
        let primary = first.and_then(|first| PublicKey::parse(first.body));
        let primary = primary.map_err(named)?;
        if !algorithm::can_sign(primary.algorithm) {
            let algorithm = algorithm::name(primary.algorithm);
            let reason = format!("its primary key is of algorithm {algorithm}, which cannot sign");
            return Err(malformed(name, reason));
        }
        let mut parts = Vec::new();
        for packet in packets.iter().skip(1) {
            parts.extend(part(packet).map_err(named)?);
        }
        Reader {
            name,
            primary,
            origin,
            self_signatures: 0,
            parts: parts.into_iter().peekable(),
        }
        .read()
    }

    /// Returns the key with this ID that may sign (`KeysByIdUsage`).
    ///
    /// Of several, clients effectively try only the first: for the others they reuse a finished hash.
    pub(super) fn signer(&self, key_id: u64) -> Option<Signer<'_>> {
        self.signers().find(|signer| signer.key.key_id == key_id)
    }

    /// Returns whether one of its keys has this ID, allowed to sign or not.
    pub(super) fn has_key(&self, key_id: u64) -> bool {
        self.primary.key_id == key_id
            || self
                .subkeys
                .iter()
                .any(|subkey| subkey.key.key_id == key_id)
    }

    /// Returns every key with flags that allow it to sign.
    pub(super) fn signers(&self) -> impl Iterator<Item = Signer<'_>> {
        let mut self_signatures = self.primary_self_signatures().peekable();
        let allowed = self_signatures.peek().is_some()
            && self_signatures.all(|signature| signature.allows_signing());
        let primary = allowed.then_some(Signer {
            key: &self.primary,
            subkey: None,
        });
        let subkeys = self
            .subkeys
            .iter()
            .filter(|subkey| subkey.binding.allows_signing())
            .map(|subkey| Signer {
                key: &subkey.key,
                subkey: Some(subkey),
            });
        primary.into_iter().chain(subkeys)
    }

    /// Returns the effective self-signature of the primary key (`PrimarySelfSignature`): in version 6 the
    /// direct one, otherwise that of the primary user ID.
    pub(super) fn primary_self_signatures(&self) -> impl Iterator<Item = &Signature> {
        let user_ids = self
            .primary_user_ids()
            .filter_map(|user_id| user_id.self_signature.as_ref());
        self.direct_signature.iter().chain(user_ids)
    }

    /// Returns whether clients accept with this copy of a key every signature that they accept with the copy `published`.
    pub(super) fn supersedes(&self, published: &Self) -> bool {
        let signers = |it: &'_ Self| -> Vec<u64> {
            let valid = it.signers().filter(|signer| !signer.is_revoked());
            valid.map(|signer| signer.key.key_id).collect()
        };
        let (mine, bindings) = (
            signers(self),
            self.subkeys.iter().map(|subkey| &subkey.binding),
        );
        let is_plain = |it: &Signature| {
            it.subpackets.critical_notations.is_empty() && it.subpackets.lifetime.is_none()
        };
        signers(published).iter().all(|id| mine.contains(id))
            && self.primary_self_signatures().chain(bindings).all(is_plain)
    }

    /// Returns the warning about a signer that is expired or not yet valid, or whose primary key is.
    pub(super) fn expiry_warning(&self, signer: Signer<'_>, now: u64) -> Option<String> {
        let primary = &self.primary;
        let primary_expired = self
            .primary_self_signatures()
            .find(|signature| signature.key_expired(primary.created, now))
            .map(|signature| (primary, signature));
        let subkey_expired = signer
            .subkey
            .filter(|subkey| subkey.binding.key_expired(subkey.key.created, now))
            .map(|subkey| (&subkey.key, &subkey.binding));
        let (key, self_signature) = primary_expired.or(subkey_expired)?;
        let (key_id, created) = (KeyId(key.key_id), u64::from(key.created));
        let (state, fix) = if created > now {
            let state = format!("key {key_id} is dated in the future, {}", UnixTime(created));
            let fix = "create a new key on a machine with the correct time";
            (state, fix)
        } else {
            let expired = self_signature.key_expiry(key.created).unwrap_or_default();
            let fix = "extend its expiry date (gpg --quick-set-expire)";
            (format!("key {key_id} expired at {expired}"), fix)
        };
        Some(format!(
            "{state}: terraform and tofu still accept it, tofu with a warning, and tofu refuses it under \
             OPENTOFU_ENFORCE_GPG_EXPIRATION=true; {fix} and register it again"
        ))
    }

    /// Returns the primary user ID: the least revoked, then one marked as primary, then the newest.
    ///
    /// Go walks its map of user IDs in random order, so among equal candidates it takes any. All of them
    /// are returned, and each must be acceptable. Version 6 has none.
    pub(super) fn primary_user_ids(&self) -> impl Iterator<Item = &UserId> {
        let user_ids = match self.direct_signature {
            Some(_) => [].as_slice(),
            None => self.user_ids.as_slice(),
        };
        let best = user_ids.iter().map(UserId::rank).max();
        user_ids
            .iter()
            .filter(move |user_id| Some(user_id.rank()) == best)
    }
}

impl Signer<'_> {
    pub(super) fn is_revoked(&self) -> bool {
        self.subkey
            .is_some_and(|subkey| !subkey.revocations.is_empty())
    }
}

impl UserId {
    /// Returns the sort key of [`Certificate::primary_user_ids`] (`shouldPreferIdentity`).
    fn rank(&self) -> (std::cmp::Reverse<usize>, bool, u64) {
        let self_signature = self.self_signature.as_ref();
        (
            std::cmp::Reverse(self.revocations.len()),
            self_signature.is_some_and(|signature| signature.subpackets.is_primary_user_id),
            self_signature.map_or(0, Signature::created),
        )
    }

    /// Returns whether go-crypto would follow a nil pointer when it compares the two.
    fn crashes_clients_beside(&self, other: &Self) -> bool {
        self.revocations.len() == other.revocations.len()
            && self.self_signature.is_some() != other.self_signature.is_some()
    }
}

/// Interprets a packet after the primary key; `None` if clients skip it.
pub(super) fn part(packet: &Packet<'_>) -> Result<Option<Part>, PacketError> {
    let part = match packet.tag {
        tag::SIGNATURE => Signature::parse(packet.body).map(Part::Signature),
        tag::PUBLIC_SUBKEY => PublicKey::parse(packet.body).map(Part::Subkey),
        tag::USER_ID => Ok(Part::UserId(packet.body.to_vec())),
        tag::USER_ATTRIBUTE => user_attribute(packet.body),
        tag::PADDING => Ok(Part::Other),
        tag::MARKER if packet.body == b"PGP" => return Ok(None),
        tag::TRUST | tag::FIRST_NON_CRITICAL.. => return Ok(None),
        other => {
            let reason = format!("a packet with tag {other} is not allowed in a public key");
            Err(PacketError::Malformed(reason))
        }
    };
    match part {
        Err(PacketError::Skipped(_)) => Ok(None),
        part => part.map(Some),
    }
}

fn user_attribute(body: &[u8]) -> Result<Part, PacketError> {
    let mut bytes = Bytes::new(body);
    while !bytes.is_empty() {
        subpacket(&mut bytes)?;
    }
    Ok(Part::Other)
}

fn malformed(key: KeyName, reason: impl Into<String>) -> OpenPgpError {
    let reason = reason.into();
    OpenPgpError::MalformedKey { key, reason }
}

struct Reader<I: Iterator<Item = Part>> {
    name: KeyName,
    primary: PublicKey,
    origin: Origin,
    self_signatures: usize,
    parts: std::iter::Peekable<I>,
}

impl<I: Iterator<Item = Part>> Reader<I> {
    fn read(mut self) -> Result<Certificate, OpenPgpError> {
        let mut user_ids: Vec<UserId> = Vec::new();
        let mut subkeys = Vec::new();
        let mut revocations = Vec::new();
        let mut direct_signatures = Vec::new();
        while let Some(part) = self.parts.next() {
            match part {
                Part::UserId(id) => {
                    if let Some(user_id) = self.user_id(id)? {
                        // The last of equal user IDs replaces the earlier ones, as in Go's map.
                        user_ids.retain(|other| other.id != user_id.id);
                        user_ids.push(user_id);
                    }
                }
                Part::Subkey(key) => subkeys.push(self.subkey(key)?),
                Part::Signature(signature) => match signature.kind {
                    kind::KEY_REVOCATION => revocations.push(signature),
                    kind::DIRECT_KEY => direct_signatures.push(signature),
                    _ => {}
                },
                Part::Other => {}
            }
        }
        if user_ids.is_empty() && self.primary.version != 6 {
            return Err(self.malformed("it has no user ID with a self-signature"));
        }
        let crashes = |one: &UserId| {
            user_ids
                .iter()
                .any(|other| one.crashes_clients_beside(other))
        };
        if user_ids.iter().any(crashes) {
            return Err(self.malformed(
                "of two revoked user IDs only one has a self-signature, which crashes terraform and tofu",
            ));
        }
        let direct_signature = self.direct_signature(direct_signatures)?;
        let hashed = self.primary.hashed();
        for revocation in &revocations {
            self.check("key revocation", revocation, &[&hashed])?;
        }
        Ok(Certificate {
            primary: self.primary,
            revocations,
            user_ids,
            direct_signature,
            subkeys,
        })
    }

    fn malformed(&self, reason: impl Into<String>) -> OpenPgpError {
        malformed(self.name, reason)
    }

    fn out_of_place(&self, after: &str, kind: u8) -> OpenPgpError {
        self.malformed(format!(
            "a signature of type {kind:#04x} follows a {after}, where it is not allowed"
        ))
    }

    /// Returns the next signature after a user ID or a subkey.
    fn next_signature(&mut self) -> Option<Signature> {
        match self
            .parts
            .next_if(|part| matches!(part, Part::Signature(_)))?
        {
            Part::Signature(signature) => Some(signature),
            _ => None,
        }
    }

    /// Reads a user ID. `None` if the primary key has not signed it: clients ignore such a user ID.
    fn user_id(&mut self, id: Vec<u8>) -> Result<Option<UserId>, OpenPgpError> {
        let hashed = self.hashed_user_id(&id);
        let mut self_signature: Option<Signature> = None;
        let mut revocations = Vec::new();
        while let Some(signature) = self.next_signature() {
            let revokes = signature.kind == kind::CERTIFICATION_REVOCATION;
            let certifies = (kind::GENERIC_CERTIFICATION..=kind::POSITIVE_CERTIFICATION)
                .contains(&signature.kind);
            if !revokes && !certifies {
                return Err(self.out_of_place("user ID", signature.kind));
            }
            if !signature.names_issuer(self.primary.key_id, &self.primary.fingerprint) {
                continue;
            }
            self.check("user ID", &signature, &[&hashed])?;
            if revokes {
                revocations.push(signature);
            } else {
                keep_newer(&mut self_signature, signature);
            }
        }
        if self_signature.is_none() && revocations.is_empty() {
            return Ok(None);
        }
        Ok(Some(UserId {
            id,
            self_signature,
            revocations,
        }))
    }

    fn hashed_user_id(&self, id: &[u8]) -> Vec<u8> {
        let length = u32::try_from(id.len()).unwrap_or(u32::MAX);
        [
            self.primary.hashed().as_slice(),
            &[0xB4],
            &length.to_be_bytes(),
            id,
        ]
        .concat()
    }

    fn subkey(&mut self, key: PublicKey) -> Result<Subkey, OpenPgpError> {
        let hashed = [self.primary.hashed(), key.hashed()].concat();
        let mut binding: Option<Signature> = None;
        let mut revocations = Vec::new();
        while let Some(signature) = self.next_signature() {
            if !matches!(
                signature.kind,
                kind::SUBKEY_BINDING | kind::SUBKEY_REVOCATION
            ) {
                return Err(self.out_of_place("subkey", signature.kind));
            }
            self.check("subkey", &signature, &[&hashed])?;
            if signature.allows_signing() {
                self.check_cross_signature(&key, &signature, &hashed)?;
            }
            if signature.kind == kind::SUBKEY_REVOCATION {
                revocations.push(signature);
            } else {
                keep_newer(&mut binding, signature);
            }
        }
        let unbound = || self.malformed("a subkey has no binding signature that clients can use");
        Ok(Subkey {
            key,
            binding: binding.ok_or_else(unbound)?,
            revocations,
        })
    }

    /// Checks that a signing subkey has itself signed its binding to the primary key (`VerifyKeySignature`).
    fn check_cross_signature(
        &mut self,
        key: &PublicKey,
        binding: &Signature,
        hashed: &[u8],
    ) -> Result<(), OpenPgpError> {
        let Some(embedded) = &binding.subpackets.embedded else {
            return Err(self.malformed("a signing subkey has no cross-signature"));
        };
        self.verify("cross-certification", key, embedded, &[hashed])
    }

    /// Requires a signature over the key alone for version 6.
    fn direct_signature(
        &mut self,
        signatures: Vec<Signature>,
    ) -> Result<Option<Signature>, OpenPgpError> {
        if self.primary.version != 6 {
            return Ok(None);
        }
        let mut newest = None;
        for signature in signatures {
            if signature.names_issuer(self.primary.key_id, &self.primary.fingerprint) {
                keep_newer(&mut newest, signature);
            }
        }
        let Some(newest) = newest else {
            return Err(self.malformed("a version 6 key has no direct-key self-signature"));
        };
        let hashed = self.primary.hashed();
        self.check("direct-key", &newest, &[&hashed])?;
        Ok(Some(newest))
    }

    /// Checks a signature that must be by the primary key.
    fn check(
        &mut self,
        of: &'static str,
        signature: &Signature,
        parts: &[&[u8]],
    ) -> Result<(), OpenPgpError> {
        let primary = self.primary.clone();
        self.verify(of, &primary, signature, parts)
    }

    fn verify(
        &mut self,
        of: &'static str,
        key: &PublicKey,
        signature: &Signature,
        parts: &[&[u8]],
    ) -> Result<(), OpenPgpError> {
        if self.origin == Origin::Stored {
            return Ok(());
        }
        self.self_signatures += 1;
        if self.self_signatures > limits::SELF_SIGNATURES {
            let limit = limits::SELF_SIGNATURES;
            return Err(self.malformed(format!("it has more than {limit} self-signatures")));
        }
        let key_name = self.name;
        verify(key, signature, parts).map_err(|refusal| match refusal {
            VerificationError::Unverifiable(algorithm) => OpenPgpError::UncheckableKey {
                key: key_name,
                algorithm,
            },
            _ => OpenPgpError::SelfSignature { key: key_name, of },
        })
    }
}

/// Keeps the newest signature; of equally old ones the first.
fn keep_newer(kept: &mut Option<Signature>, signature: Signature) {
    if kept
        .as_ref()
        .is_none_or(|kept| signature.created() > kept.created())
    {
        *kept = Some(signature);
    }
}

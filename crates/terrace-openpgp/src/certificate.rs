//! A certificate: a primary key with its user IDs, subkeys and self-signatures.
//!
//! This is go-crypto's `ReadEntity`, `addUserID` and `addSubkey` (`openpgp/keys.go`), which every
//! client runs over a registered key before it reads a signature. Certificates that they refuse must
//! never be registered: a key that does not decode is fatal to clients.

use super::bytes::Bytes;
use super::limits;
use super::packet::{Packet, PacketError, subpacket, tag};
use super::public_key::{PublicKey, algorithm};
use super::signature::{Signature, kind};
use super::verify::{VerificationError, verify};

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

/// A reason why clients would not read a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CertificateError {
    /// A malformed or misplaced packet.
    Malformed(String),
    /// A secret key in the certificate.
    Secret,
    /// A self-signature that does not verify.
    SelfSignature {
        of: &'static str,
        refusal: VerificationError,
    },
    /// A primary key of a kind that clients do not support.
    Unknown(String),
}

impl From<PacketError> for CertificateError {
    fn from(fault: PacketError) -> Self {
        match fault {
            PacketError::Skipped(reason) => Self::Unknown(reason),
            PacketError::Malformed(reason) => Self::Malformed(reason),
        }
    }
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
    /// Reads the packets of one certificate, starting with the primary key.
    pub(super) fn parse(packets: &[Packet<'_>], origin: Origin) -> Result<Self, CertificateError> {
        let (first, rest) = packets.split_first().ok_or_else(PacketError::cut_off)?;
        let primary = PublicKey::parse(first.body)?;
        if !algorithm::can_sign(primary.algorithm) {
            let name = algorithm::name(primary.algorithm);
            let reason = format!("its primary key is of algorithm {name}, which cannot sign");
            return Err(CertificateError::Malformed(reason));
        }
        let mut parts = Vec::new();
        for packet in rest {
            parts.extend(part(packet)?);
        }
        Reader {
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
pub(super) fn part(packet: &Packet<'_>) -> Result<Option<Part>, CertificateError> {
    let part = match packet.tag {
        tag::SECRET_KEY | tag::SECRET_SUBKEY => return Err(CertificateError::Secret),
        tag::SIGNATURE => Signature::parse(packet.body).map(Part::Signature),
        tag::PUBLIC_SUBKEY => PublicKey::parse(packet.body).map(Part::Subkey),
        tag::USER_ID => Ok(Part::UserId(packet.body.to_vec())),
        tag::USER_ATTRIBUTE => user_attribute(packet.body),
        tag::PADDING => Ok(Part::Other),
        tag::MARKER if packet.body == b"PGP" => return Ok(None),
        tag::TRUST | tag::FIRST_NON_CRITICAL.. => return Ok(None),
        other => {
            let reason = format!("a packet with tag {other} is not allowed in a public key");
            return Err(CertificateError::Malformed(reason));
        }
    };
    match part {
        Ok(part) => Ok(Some(part)),
        Err(PacketError::Skipped(_)) => Ok(None),
        Err(PacketError::Malformed(reason)) => Err(CertificateError::Malformed(reason)),
    }
}

fn user_attribute(body: &[u8]) -> Result<Part, PacketError> {
    let mut bytes = Bytes::new(body);
    while !bytes.is_empty() {
        subpacket(&mut bytes)?;
    }
    Ok(Part::Other)
}

struct Reader<I: Iterator<Item = Part>> {
    primary: PublicKey,
    origin: Origin,
    self_signatures: usize,
    parts: std::iter::Peekable<I>,
}

impl<I: Iterator<Item = Part>> Reader<I> {
    fn read(mut self) -> Result<Certificate, CertificateError> {
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
            let reason = "it has no user ID with a self-signature".to_owned();
            return Err(CertificateError::Malformed(reason));
        }
        let crashes = |one: &UserId| {
            user_ids
                .iter()
                .any(|other| one.crashes_clients_beside(other))
        };
        if user_ids.iter().any(crashes) {
            let reason = "of two revoked user IDs only one has a self-signature, \
                          which crashes terraform and tofu"
                .to_owned();
            return Err(CertificateError::Malformed(reason));
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
    fn user_id(&mut self, id: Vec<u8>) -> Result<Option<UserId>, CertificateError> {
        let hashed = self.hashed_user_id(&id);
        let mut self_signature: Option<Signature> = None;
        let mut revocations = Vec::new();
        while let Some(signature) = self.next_signature() {
            let revokes = signature.kind == kind::CERTIFICATION_REVOCATION;
            let certifies = (kind::GENERIC_CERTIFICATION..=kind::POSITIVE_CERTIFICATION)
                .contains(&signature.kind);
            if !revokes && !certifies {
                return Err(out_of_place("user ID", signature.kind));
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

    fn subkey(&mut self, key: PublicKey) -> Result<Subkey, CertificateError> {
        let hashed = [self.primary.hashed(), key.hashed()].concat();
        let mut binding: Option<Signature> = None;
        let mut revocations = Vec::new();
        while let Some(signature) = self.next_signature() {
            if !matches!(
                signature.kind,
                kind::SUBKEY_BINDING | kind::SUBKEY_REVOCATION
            ) {
                return Err(out_of_place("subkey", signature.kind));
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
        match binding {
            Some(binding) => Ok(Subkey {
                key,
                binding,
                revocations,
            }),
            None => {
                let reason = "a subkey has no binding signature that clients can use".to_owned();
                Err(CertificateError::Malformed(reason))
            }
        }
    }

    /// Checks that a signing subkey has itself signed its binding to the primary key (`VerifyKeySignature`).
    fn check_cross_signature(
        &mut self,
        key: &PublicKey,
        binding: &Signature,
        hashed: &[u8],
    ) -> Result<(), CertificateError> {
        let Some(embedded) = &binding.subpackets.embedded else {
            let reason = "a signing subkey has no cross-signature".to_owned();
            return Err(CertificateError::Malformed(reason));
        };
        self.verify("cross-certification", key, embedded, &[hashed])
    }

    /// Requires a signature over the key alone for version 6.
    fn direct_signature(
        &mut self,
        signatures: Vec<Signature>,
    ) -> Result<Option<Signature>, CertificateError> {
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
            let reason = "a version 6 key has no direct-key self-signature".to_owned();
            return Err(CertificateError::Malformed(reason));
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
    ) -> Result<(), CertificateError> {
        let primary = self.primary.clone();
        self.verify(of, &primary, signature, parts)
    }

    fn verify(
        &mut self,
        of: &'static str,
        key: &PublicKey,
        signature: &Signature,
        parts: &[&[u8]],
    ) -> Result<(), CertificateError> {
        if self.origin == Origin::Stored {
            return Ok(());
        }
        self.count_self_signature()?;
        verify(key, signature, parts)
            .map_err(|refusal| CertificateError::SelfSignature { of, refusal })
    }

    fn count_self_signature(&mut self) -> Result<(), CertificateError> {
        self.self_signatures += 1;
        if self.self_signatures > limits::SELF_SIGNATURES {
            let limit = limits::SELF_SIGNATURES;
            let reason = format!("it has more than {limit} self-signatures");
            return Err(CertificateError::Malformed(reason));
        }
        Ok(())
    }
}

fn out_of_place(after: &str, kind: u8) -> CertificateError {
    CertificateError::Malformed(format!(
        "a signature of type {kind:#04x} follows a {after}, where it is not allowed"
    ))
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

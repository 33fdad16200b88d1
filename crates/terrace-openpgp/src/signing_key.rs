//! Reads registered keys from a text.

use terrace_base::time::UnixTime;

use super::armor;
use super::certificate::{Certificate, Origin, Subkey};
use super::clients;
use super::error::KeyName;
use super::merge::merge;
use super::packet::{Packet, packets, tag};
use super::public_key::PublicKey;
use super::signature::Signature;
use super::{KeyId, OpenPgpError, limits};

const PUBLIC_KEY_LABEL: &str = "PGP PUBLIC KEY BLOCK";
const SECRET_KEY_LABEL: &str = "PGP PRIVATE KEY BLOCK";

/// A public key that clients accept signatures from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey {
    fingerprint: String,
    ascii_armor: String,
    /// The binary form.
    bytes: Vec<u8>,
    pub(super) certificate: Certificate,
}

impl SigningKey {
    /// Reads a key as the registry has stored it, without verifying its self-signatures again.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn from_stored(text: &str) -> Result<Self, OpenPgpError> {
        let first = read(text, Origin::Stored)?.into_iter().next();
        first.ok_or(OpenPgpError::NoKey)
    }

    /// Returns the union of this copy of a key and another one: every signing subkey of either, and the user IDs of the one that was
    /// certified last, each with its newest self-signature and all of its revocations. Certifications by others are dropped.
    ///
    /// # Errors
    /// The reason why clients would not accept the union.
    pub fn merged(&self, other: &Self) -> Result<Self, OpenPgpError> {
        if self.ascii_armor == other.ascii_armor {
            return Ok(self.clone());
        }
        let (newer, older) = match self.certified_at() < other.certified_at() {
            true => (other, self),
            false => (self, other),
        };
        let name = KeyName::Id(self.key_id());
        let copies = [newer, older].map(|key| packets(&key.bytes));
        let [newer, older] = copies.map(|it| it.map_err(|fault| fault.of_key(name)));
        let union = merge([&newer?, &older?], &self.certificate.primary);
        // Both copies were verified, and the union has no other signatures.
        Self::new(&union, name, Origin::Stored)
    }

    /// Returns the time of the newest self-signature over the key or one of its user IDs.
    fn certified_at(&self) -> u64 {
        let user_ids = self.certificate.user_ids.iter();
        let certifications = user_ids.filter_map(|user_id| user_id.self_signature.as_ref());
        let all = certifications.chain(&self.certificate.direct_signature);
        all.map(Signature::created).max().unwrap_or_default()
    }

    /// Returns whether every client accepts with this copy of a key the signatures that it accepts with the copy `published`.
    pub fn supersedes(&self, published: &Self) -> bool {
        self.certificate.supersedes(&published.certificate)
            && (self.too_old().is_none() || published.too_old().is_some())
    }

    /// Checks that no self-signature is dated in the future: it would hide all corrections until then.
    ///
    /// # Errors
    /// The time until its date.
    pub fn check_dates(&self, now: UnixTime) -> Result<(), OpenPgpError> {
        let subkeys = self.certificate.subkeys.iter();
        let bindings = subkeys.map(|subkey| subkey.binding.created());
        let newest = bindings.fold(self.certified_at(), u64::max);
        match newest.checked_sub(now.0) {
            Some(seconds @ 1..) => Err(OpenPgpError::FutureSignature {
                issuer: self.key_id(),
                seconds,
            }),
            _ => Ok(()),
        }
    }

    /// Returns the time at which the primary key expires, and with it its subkeys.
    pub fn expires(&self) -> Option<UnixTime> {
        let certificate = &self.certificate;
        let created = certificate.primary.created;
        let signatures = certificate.primary_self_signatures();
        let expiries = signatures.filter_map(|it| it.key_expiry(created));
        expiries.min()
    }

    /// Returns the subkeys that may sign and are not revoked, each with the time at which it expires, if it does.
    pub fn signing_subkeys(&self) -> Vec<(KeyId, Option<UnixTime>)> {
        let valid = self
            .certificate
            .signers()
            .filter(|signer| !signer.is_revoked());
        let subkeys = valid.filter_map(|signer| signer.subkey);
        let described = |it: &Subkey| (KeyId(it.key.key_id), it.binding.key_expiry(it.key.created));
        subkeys.map(described).collect()
    }

    /// Returns the warning about a key that has expired, or of which everything that may sign has.
    pub fn expiry_warning(&self, now: UnixTime) -> Option<String> {
        let signers = self.certificate.signers();
        let valid = signers.filter(|signer| !signer.is_revoked());
        let mut warnings = valid.map(|signer| self.certificate.expiry_warning(signer, now.0));
        let first = warnings.next()??;
        warnings.all(|it| it.is_some()).then_some(first)
    }

    /// Returns the ID of the primary key.
    pub fn key_id(&self) -> KeyId {
        KeyId(self.certificate.primary.key_id)
    }

    /// Returns the fingerprint of the primary key, in lower-case hexadecimal.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Returns this key alone, in one armoured block: of several blocks, clients read only the first.
    pub fn ascii_armor(&self) -> &str {
        &self.ascii_armor
    }

    /// Returns the clients that cannot verify its signatures, and the reason, as a sentence.
    pub fn too_old(&self) -> Option<String> {
        clients::too_old_for_key(&packets(&self.bytes).ok()?, &self.certificate)
    }

    fn new(packets: &[Packet<'_>], name: KeyName, origin: Origin) -> Result<Self, OpenPgpError> {
        let certificate = Certificate::parse(packets, name, origin)?;
        let key_id = KeyId(certificate.primary.key_id);
        let revoked_user_id = certificate
            .primary_user_ids()
            .any(|user_id| !user_id.revocations.is_empty());
        if !certificate.revocations.is_empty() || revoked_user_id {
            return Err(OpenPgpError::RevokedKey(key_id));
        }
        // A revoked subkey can no longer sign, but other subkeys may.
        let can_sign = certificate.signers().any(|signer| !signer.is_revoked());
        if !can_sign {
            return Err(OpenPgpError::NoSigningKey(key_id));
        }
        let bytes: Vec<u8> = packets
            .iter()
            .flat_map(|packet| packet.whole)
            .copied()
            .collect();
        let ascii_armor = armor::write(PUBLIC_KEY_LABEL, &bytes);
        // The stored text must be readable again, and line breaks may have made it longer than the input.
        if ascii_armor.len() > limits::KEYS_BYTES {
            return Err(OpenPgpError::KeysTooLong(ascii_armor.len()));
        }
        Ok(Self {
            fingerprint: hexadecimal(&certificate.primary.fingerprint),
            ascii_armor,
            bytes,
            certificate,
        })
    }
}

/// Reads every public key in `text`: one or more armoured blocks, each of one or more keys.
///
/// # Errors
/// The first reason why clients would not accept one of the keys.
pub fn parse_signing_keys(text: &str) -> Result<Vec<SigningKey>, OpenPgpError> {
    read(text, Origin::Sent)
}

fn read(text: &str, origin: Origin) -> Result<Vec<SigningKey>, OpenPgpError> {
    if text.len() > limits::KEYS_BYTES {
        return Err(OpenPgpError::KeysTooLong(text.len()));
    }
    if text.lines().any(|line| line.contains(SECRET_KEY_LABEL)) {
        return Err(OpenPgpError::SecretKey);
    }
    // Text around the blocks is ignored, as clients and gpg do: it is not served.
    let blocks = armor::read(text).map_err(OpenPgpError::KeyArmor)?.blocks;
    if blocks.is_empty() {
        return Err(OpenPgpError::NoKey);
    }
    let mut keys: Vec<SigningKey> = Vec::new();
    for block in blocks {
        if block.label != PUBLIC_KEY_LABEL {
            return Err(OpenPgpError::NotAKey(
                block.label.chars().take(40).collect(),
            ));
        }
        let place = KeyName::Place(keys.len() + 1);
        let packets = packets(&block.bytes).map_err(|fault| fault.of_key(place))?;
        for packets in certificates(&packets, keys.len())? {
            let key = SigningKey::new(packets, name(packets, keys.len()), origin)?;
            match keys.iter_mut().find(|it| it.fingerprint == key.fingerprint) {
                Some(known) => *known = known.merged(&key)?,
                None => keys.push(key),
            }
        }
    }
    Ok(keys)
}

/// Splits the packets into certificates: a primary key and the packets up to the next one.
fn certificates<'a, 'p>(
    packets: &'p [Packet<'a>],
    already: usize,
) -> Result<Vec<&'p [Packet<'a>]>, OpenPgpError> {
    if packets
        .iter()
        .any(|packet| matches!(packet.tag, tag::SECRET_KEY | tag::SECRET_SUBKEY))
    {
        return Err(OpenPgpError::SecretKey);
    }
    let is_start = |packet: &Packet<'_>| packet.tag == tag::PUBLIC_KEY;
    if !packets.first().is_some_and(is_start) {
        return Err(OpenPgpError::MalformedKey {
            key: KeyName::Place(already + 1),
            reason: "it does not begin with a public key".to_owned(),
        });
    }
    let certificates: Vec<_> = packets.chunk_by(|_, next| !is_start(next)).collect();
    let count = already + certificates.len();
    if count > limits::CERTIFICATES {
        return Err(OpenPgpError::TooManyKeys(count));
    }
    Ok(certificates)
}

fn name(packets: &[Packet<'_>], already: usize) -> KeyName {
    packets
        .first()
        .and_then(|packet| PublicKey::parse(packet.body).ok())
        .map_or(KeyName::Place(already + 1), |key| {
            KeyName::Id(KeyId(key.key_id))
        })
}

/// Returns the text of a file with keys: UTF-8, or UTF-16 as PowerShell writes what a program prints, with or without a byte order mark.
/// `None` for binary data.
pub fn key_text(file: &[u8]) -> Option<String> {
    let unit = match file {
        [0xFF, 0xFE, ..] => u16::from_le_bytes,
        [0xFE, 0xFF, ..] => u16::from_be_bytes,
        _ => {
            let text = str::from_utf8(file).ok()?;
            return Some(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned());
        }
    };
    let (units, rest) = file.as_chunks();
    let units = units.iter().skip(1).map(|bytes| unit(*bytes));
    let text = char::decode_utf16(units).collect::<Result<_, _>>().ok();
    text.filter(|_| rest.is_empty())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

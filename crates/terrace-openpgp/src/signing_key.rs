//! Reads registered keys from a text.

use super::armor::{self, ArmorError};
use super::certificate::{Certificate, CertificateError};
use super::clients::TooOld;
use super::error::KeyName;
use super::limits;
use super::packet::{Packet, packets, tag};
use super::public_key::PublicKey;
use super::verify::VerificationError;
use super::{KeyId, OpenPgpError};

const PUBLIC_KEY_LABEL: &str = "PGP PUBLIC KEY BLOCK";
const SECRET_KEY_LABEL: &str = "PGP PRIVATE KEY BLOCK";

/// A public key that clients accept signatures from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey {
    fingerprint: String,
    ascii_armor: String,
    pub(super) certificate: Certificate,
}

impl SigningKey {
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

    /// Returns the clients that cannot verify its signatures.
    pub fn too_old(&self) -> Option<TooOld> {
        let armored = armor::read(&self.ascii_armor).ok()?;
        let bytes = &armored.blocks.first()?.bytes;
        TooOld::for_key(&packets(bytes).ok()?, &self.certificate)
    }

    fn new(packets: &[Packet<'_>], name: KeyName) -> Result<Self, OpenPgpError> {
        let certificate = Certificate::parse(packets).map_err(|fault| named(fault, name))?;
        let key_id = KeyId(certificate.primary.key_id);
        let revoked_user_id = certificate
            .primary_user_ids()
            .any(|user_id| !user_id.revocations.is_empty());
        if !certificate.revocations.is_empty() || revoked_user_id {
            return Err(OpenPgpError::RevokedKey(key_id));
        }
        // A revoked subkey can no longer sign, but other subkeys may.
        let can_sign = certificate.signers().any(|signer| {
            signer
                .subkey
                .is_none_or(|subkey| subkey.revocations.is_empty())
        });
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
            certificate,
        })
    }
}

/// Reads every public key in `text`: one or more armoured blocks, each of one or more keys.
///
/// # Errors
/// The first reason why clients would not accept one of the keys.
pub fn parse_signing_keys(text: &str) -> Result<Vec<SigningKey>, OpenPgpError> {
    if text.len() > limits::KEYS_BYTES {
        return Err(OpenPgpError::KeysTooLong(text.len()));
    }
    if text.lines().any(|line| line.contains(SECRET_KEY_LABEL)) {
        return Err(OpenPgpError::SecretKey);
    }
    // Text around the blocks is ignored, as clients and gpg do: it is not served.
    let blocks = armor::read(text)
        .map_err(|fault| OpenPgpError::KeyArmor(damage(fault)))?
        .blocks;
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
        let packets = packets(&block.bytes).map_err(|fault| named(fault.into(), place))?;
        for packets in certificates(&packets, keys.len())? {
            let key = SigningKey::new(packets, name(packets, keys.len()))?;
            // Of a key sent twice, the later copy counts: its owner may have extended its lifetime in
            // between.
            keys.retain(|other| other.fingerprint != key.fingerprint);
            keys.push(key);
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

fn named(fault: CertificateError, key: KeyName) -> OpenPgpError {
    match fault {
        CertificateError::Malformed(reason) => OpenPgpError::MalformedKey { key, reason },
        CertificateError::Secret => OpenPgpError::SecretKey,
        CertificateError::SelfSignature {
            refusal: VerificationError::Unverifiable(algorithm),
            ..
        } => OpenPgpError::UncheckableKey { key, algorithm },
        CertificateError::SelfSignature { of, .. } => OpenPgpError::SelfSignature { key, of },
        CertificateError::Unknown(reason) => OpenPgpError::UnknownKey { key, reason },
    }
}

pub(super) fn damage(fault: ArmorError) -> &'static str {
    match fault {
        ArmorError::Headers => "a line between BEGIN and the blank line is not \"Key: value\"",
        ArmorError::Base64 => "it is not base64",
        ArmorError::Checksum => "the checksum does not match",
        ArmorError::Unfinished => "the END line is missing or has another label",
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! Detached signatures: parsing, and verification as every client does it.

use super::certificate::{Certificate, Signer};
use super::packet::{PacketError, first_tag, packets, tag};
use super::public_key::algorithm;
use super::signature::{Signature, kind};
use super::signing_key::SigningKey;
use super::verify::{VerificationError, verify};
use super::{KeyId, OpenPgpError, armor, limits};
use terrace_base::time::UnixTime;
use terrace_signature::Hash;

const SIGNATURE_LABEL: &str = "PGP SIGNATURE";

/// A signature that clients accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified<'k> {
    /// The key that made the signature.
    pub key: &'k SigningKey,
    /// Problems that clients may report later.
    pub warnings: Vec<String>,
}

/// Reads a detached signature, binary or in ASCII armour, and returns the binary form, which is the only one
/// that clients read. Returns binary input unchanged.
///
/// # Errors
/// The reason why clients would not read it.
pub fn detached_signature(input: &[u8]) -> Result<Vec<u8>, OpenPgpError> {
    if input.len() > limits::SIGNATURE_BYTES {
        return Err(OpenPgpError::SignatureTooLong(input.len()));
    }
    let binary = match input.first() {
        None => return Err(OpenPgpError::NoSignature),
        Some(0x80..) => input.to_vec(),
        Some(_) => dearmor(input)?,
    };
    signatures(&binary)?;
    Ok(binary)
}

fn dearmor(input: &[u8]) -> Result<Vec<u8>, OpenPgpError> {
    let text = str::from_utf8(input).map_err(|_| OpenPgpError::NotASignature)?;
    match armor::first_label(text) {
        None if text.trim().is_empty() => return Err(OpenPgpError::NoSignature),
        None => return Err(OpenPgpError::NotASignature),
        Some(SIGNATURE_LABEL) => {}
        Some(other) => {
            let label: String = other.chars().take(40).collect();
            return Err(OpenPgpError::NotDetached(format!("a \"{label}\"")));
        }
    }
    let armored = armor::read(text).map_err(OpenPgpError::SignatureArmor)?;
    if armored.other_text {
        return Err(OpenPgpError::SignatureArmor(
            "there is other text around it",
        ));
    }
    match <[armor::Block<'_>; 1]>::try_from(armored.blocks) {
        Ok([block]) => Ok(block.bytes),
        Err(_) => Err(OpenPgpError::SignatureArmor("there is more than one block")),
    }
}

/// Reads the signatures that clients consider, each with its issuer.
fn signatures(binary: &[u8]) -> Result<Vec<(u64, Signature)>, OpenPgpError> {
    let malformed = |fault| match fault {
        PacketError::Skipped(reason) | PacketError::Malformed(reason) => {
            OpenPgpError::MalformedSignature(reason)
        }
    };
    // This check comes first, because messages have lengths of another form.
    if let Some(other) = first_tag(binary).filter(|first| *first != tag::SIGNATURE) {
        return Err(not_detached(other));
    }
    let mut signatures = Vec::new();
    let mut skipped = None;
    for packet in packets(binary).map_err(malformed)? {
        if packet.tag != tag::SIGNATURE {
            return Err(not_detached(packet.tag));
        }
        match Signature::parse(packet.body) {
            Ok(signature) => match signature.subpackets.issuer {
                Some(issuer) => signatures.push((issuer, signature)),
                None => return Err(OpenPgpError::NoIssuer),
            },
            Err(PacketError::Skipped(reason)) => skipped = Some(reason),
            Err(fault) => return Err(malformed(fault)),
        }
    }
    match skipped {
        Some(reason) if signatures.is_empty() => Err(OpenPgpError::SkippedSignature(reason)),
        None if signatures.is_empty() => Err(OpenPgpError::NoSignature),
        _ => Ok(signatures),
    }
}

fn not_detached(tag: u8) -> OpenPgpError {
    OpenPgpError::NotDetached(match tag {
        tag::ONE_PASS_SIGNATURE | tag::COMPRESSED | tag::LITERAL => {
            "a message with its signature inside".to_owned()
        }
        tag::PUBLIC_KEY | tag::PUBLIC_SUBKEY => "a public key".to_owned(),
        tag::SECRET_KEY | tag::SECRET_SUBKEY => "a SECRET key".to_owned(),
        other => format!("a packet with tag {other}"),
    })
}

/// Verifies a detached signature over `signed` as terraform and tofu do. They try the keys in the order
/// in which they are served, and for each key the first signature in the file that names one of its
/// signing keys as the issuer. The verdict on that signature is final.
///
/// This is go-crypto's `verifyDetachedSignature` and `checkMessageSignatureDetails`
/// (`openpgp/read.go`) within Terraform's `findSigningKey`
/// (`internal/getproviders/package_authentication.go`).
///
/// # Errors
/// The reason why a client would refuse it.
pub fn verify_detached<'k>(
    keys: &'k [SigningKey],
    signed: &[u8],
    signature: &[u8],
    now_unix: u64,
) -> Result<Verified<'k>, OpenPgpError> {
    if signature.len() > limits::SIGNATURE_BYTES {
        return Err(OpenPgpError::SignatureTooLong(signature.len()));
    }
    let signatures = signatures(signature)?;
    for key in keys {
        let certificate = &key.certificate;
        let made = signatures
            .iter()
            .find_map(|(issuer, signature)| Some((certificate.signer(*issuer)?, signature)));
        if let Some((signer, signature)) = made {
            let check = Check {
                certificate,
                signer,
                signature,
                now: now_unix,
            };
            return Ok(Verified {
                key,
                warnings: check.run(signed)?,
            });
        }
    }
    Err(unknown_issuer(
        keys,
        signatures.iter().map(|(issuer, _)| *issuer),
    ))
}

fn unknown_issuer(keys: &[SigningKey], issuers: impl Iterator<Item = u64>) -> OpenPgpError {
    let issuers: Vec<u64> = issuers.collect();
    let unfit = keys.iter().find_map(|key| {
        let mut own = issuers.iter().filter(|it| key.certificate.has_key(**it));
        Some(OpenPgpError::NotASigner {
            issuer: KeyId(*own.next()?),
            key: key.key_id(),
        })
    });
    unfit.unwrap_or_else(|| OpenPgpError::UnknownIssuer {
        issuers: issuers.iter().copied().map(KeyId).collect(),
        registered: keys.iter().map(SigningKey::key_id).collect(),
    })
}

/// A signature with the key that it names as its issuer.
struct Check<'a> {
    certificate: &'a Certificate,
    signer: Signer<'a>,
    signature: &'a Signature,
    now: u64,
}

impl Check<'_> {
    /// Runs the checks in the order of the clients, because an expired key, which they accept with a warning,
    /// hides the results of later checks.
    fn run(&self, signed: &[u8]) -> Result<Vec<String>, OpenPgpError> {
        self.check_numbers(signed)?;
        self.check_notations()?;
        self.check_revocations()?;
        let mut warnings: Vec<String> = self.weak_hash_warning().into_iter().collect();
        match self.certificate.expiry_warning(self.signer, self.now) {
            Some(warning) => warnings.push(warning),
            None => self.check_expiry()?,
        }
        Ok(warnings)
    }

    fn check_numbers(&self, signed: &[u8]) -> Result<(), OpenPgpError> {
        let canonical;
        let signed = match self.signature.kind {
            kind::BINARY => signed,
            kind::TEXT => {
                canonical = canonical_text(signed);
                canonical.as_slice()
            }
            other => return Err(OpenPgpError::SignatureType(other)),
        };
        let issuer = self.issuer();
        verify(self.signer.key, self.signature, &[signed]).map_err(|refusal| match refusal {
            VerificationError::Wrong => OpenPgpError::WrongSignature(issuer),
            VerificationError::Algorithm { key, signature } => OpenPgpError::AlgorithmMismatch {
                issuer,
                key: algorithm::name(key),
                signature: algorithm::name(signature),
            },
            VerificationError::Unverifiable(algorithm) => {
                OpenPgpError::UncheckableSignature { issuer, algorithm }
            }
        })
    }

    fn check_notations(&self) -> Result<(), OpenPgpError> {
        for signature in self.signatures_that_count() {
            if let Some(name) = signature.subpackets.critical_notations.first() {
                let (issuer, name) = (self.issuer(), name.clone());
                return Err(OpenPgpError::CriticalNotation { issuer, name });
            }
        }
        Ok(())
    }

    fn check_revocations(&self) -> Result<(), OpenPgpError> {
        let revoked = |revocations: &[Signature]| {
            revocations
                .iter()
                .any(|revocation| revocation.revokes(self.now))
        };
        let key = KeyId(self.certificate.primary.key_id);
        let revoked_user_id = || {
            self.certificate
                .primary_user_ids()
                .any(|user_id| revoked(&user_id.revocations))
        };
        if revoked(&self.certificate.revocations) || revoked_user_id() {
            return Err(OpenPgpError::RevokedKey(key));
        }
        if self
            .signer
            .subkey
            .is_some_and(|subkey| revoked(&subkey.revocations))
        {
            return Err(OpenPgpError::RevokedSubkey {
                subkey: self.issuer(),
                key,
            });
        }
        Ok(())
    }

    fn weak_hash_warning(&self) -> Option<String> {
        (self.signature.hash == Some(Hash::Sha1)).then(|| {
            let issuer = self.issuer();
            format!(
                "the signature by {issuer} is over SHA-1, which clients may stop accepting: \
                 sign with `--digest-algo SHA512`"
            )
        })
    }

    fn check_expiry(&self) -> Result<(), OpenPgpError> {
        let issuer = self.issuer();
        let expired = |signature: &&Signature| signature.expired(self.now);
        let Some(signature) = self.signatures_that_count().find(expired) else {
            return Ok(());
        };
        Err(match signature.created().checked_sub(self.now) {
            Some(seconds @ 1..) => OpenPgpError::FutureSignature { issuer, seconds },
            _ => {
                let lifetime = signature.subpackets.lifetime.unwrap_or_default();
                let at = UnixTime(signature.created() + u64::from(lifetime));
                OpenPgpError::ExpiredSignature { issuer, at }
            }
        })
    }

    /// Returns the signature itself, and the self-signatures that allow its key to sign.
    fn signatures_that_count(&self) -> impl Iterator<Item = &Signature> {
        let bindings = self.signer.subkey.into_iter().flat_map(|subkey| {
            let embedded = subkey.binding.subpackets.embedded.as_deref();
            std::iter::once(&subkey.binding).chain(embedded)
        });
        std::iter::once(self.signature)
            .chain(self.certificate.primary_self_signatures())
            .chain(bindings)
    }

    fn issuer(&self) -> KeyId {
        KeyId(self.signer.key.key_id)
    }
}

/// Normalises line endings for a text signature (`canonical_text.go`): a bare LF becomes CR LF, and the octet
/// after a CR stays unchanged.
fn canonical_text(text: &[u8]) -> Vec<u8> {
    let mut canonical = Vec::with_capacity(text.len());
    let mut after_cr = false;
    for byte in text {
        if *byte == b'\n' && !after_cr {
            canonical.push(b'\r');
        }
        canonical.push(*byte);
        after_cr = *byte == b'\r' && !after_cr;
    }
    canonical
}

//! Keys and signatures of every shape, including those that no tool creates.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer as _;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

// The tests of the registry include this file, too.
pub(super) use super::kind;

pub(super) const CREATED: u32 = 1_704_067_200;

pub(super) const CERTIFY: u8 = 0x01;
pub(super) const SIGN: u8 = 0x02;

/// An Ed25519 key: EdDSA in version 4, Ed25519 in version 6.
pub(super) struct Key {
    version: u8,
    created: u32,
    secret: ed25519_dalek::SigningKey,
}

/// A signature to create: its type and its subpackets.
pub(super) struct Draft {
    pub(super) kind: u8,
    pub(super) hashed: Vec<u8>,
    pub(super) unhashed: Vec<u8>,
}

impl Key {
    pub(super) fn v4(seed: u8) -> Self {
        Self::new(4, seed)
    }

    pub(super) fn v6(seed: u8) -> Self {
        Self::new(6, seed)
    }

    fn new(version: u8, seed: u8) -> Self {
        let secret = ed25519_dalek::SigningKey::from_bytes(&[seed; 32]);
        Self {
            version,
            created: CREATED,
            secret,
        }
    }

    pub(super) fn created(self, created: u32) -> Self {
        Self { created, ..self }
    }

    pub(super) fn body(&self) -> Vec<u8> {
        let point = self.secret.verifying_key().to_bytes();
        let start = [&[self.version], self.created.to_be_bytes().as_slice()].concat();
        if self.version == 6 {
            return [&start, [27, 0, 0, 0, 32].as_slice(), &point].concat();
        }
        let oid = [9, 0x2B, 0x06, 0x01, 0x04, 0x01, 0xDA, 0x47, 0x0F, 0x01];
        // An MPI of 263 bits: 0x40 and the point.
        let mpi = [0x01, 0x07, 0x40];
        [&start, [22].as_slice(), &oid, &mpi, &point].concat()
    }

    /// Returns the bytes of the key that enter hashes.
    pub(super) fn hashed(&self) -> Vec<u8> {
        let body = self.body();
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        let prefix = match self.version {
            6 => [&[0x9B], length.as_slice()].concat(),
            _ => [&[0x99], &length[2..]].concat(),
        };
        [prefix, body].concat()
    }

    pub(super) fn fingerprint(&self) -> Vec<u8> {
        match self.version {
            6 => Sha256::digest(self.hashed()).to_vec(),
            _ => Sha1::digest(self.hashed()).to_vec(),
        }
    }

    /// Returns the body of a signature over `data`.
    pub(super) fn sign(&self, draft: &Draft, data: &[u8]) -> Vec<u8> {
        let algorithm = if self.version == 6 { 27 } else { 22 };
        let start = [self.version, draft.kind, algorithm, 8];
        let fields = [&start, self.area(&draft.hashed).as_slice()].concat();
        let length = u32::try_from(fields.len()).unwrap().to_be_bytes();
        let salt = &[7; 16][..if self.version == 6 { 16 } else { 0 }];
        let suffix = [&fields, [self.version, 0xff].as_slice(), &length].concat();
        let digest = Sha256::digest([salt, data, &suffix].concat());
        let values = self.secret.sign(&digest).to_bytes();
        let mut body = [&fields, self.area(&draft.unhashed).as_slice(), &digest[..2]].concat();
        if self.version == 6 {
            body.push(16);
            body.extend_from_slice(salt);
            body.extend_from_slice(&values);
        } else {
            body.extend(mpi(&values[..32]));
            body.extend(mpi(&values[32..]));
        }
        body
    }

    /// Returns the subpacket that names this key as the issuer.
    pub(super) fn issuer(&self) -> Vec<u8> {
        let version = [self.version];
        subpacket(33, &[&version, &self.fingerprint()[..]].concat())
    }

    fn area(&self, subpackets: &[u8]) -> Vec<u8> {
        let length = u32::try_from(subpackets.len()).unwrap().to_be_bytes();
        let start = if self.version == 6 { 0 } else { 2 };
        [&length[start..], subpackets].concat()
    }
}

/// Returns a draft with the subpackets of every signature, a creation time and an issuer, and more.
pub(super) fn draft(kind: u8, issuer: &Key, more: &[Vec<u8>]) -> Draft {
    let every = [created(CREATED), issuer.issuer()];
    Draft {
        kind,
        hashed: [&every, more].concat().concat(),
        unhashed: Vec::new(),
    }
}

pub(super) fn created(at: u32) -> Vec<u8> {
    subpacket(2, &at.to_be_bytes())
}

pub(super) fn key_flags(flags: u8) -> Vec<u8> {
    subpacket(27, &[flags])
}

pub(super) fn critical(mut subpacket: Vec<u8>) -> Vec<u8> {
    subpacket[1] |= 0x80;
    subpacket
}

pub(super) fn notation(name: &str) -> Vec<u8> {
    let length = u16::try_from(name.len()).unwrap().to_be_bytes();
    let start = [&[0x80, 0, 0, 0], length.as_slice(), &[0, 1]].concat();
    subpacket(20, &[&start, name.as_bytes(), b"1"].concat())
}

/// Writes a subpacket. The content must be shorter than 191 bytes.
pub(super) fn subpacket(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len() + 1).unwrap();
    assert!(length < 192);
    [&[length, kind], content].concat()
}

fn mpi(number: &[u8]) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let number = &number[zeros..];
    let bits = number.len() * 8 - number[0].leading_zeros() as usize;
    [&u16::try_from(bits).unwrap().to_be_bytes(), number].concat()
}

pub(super) fn packet(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[0xC0 | tag, 255], length.as_slice(), body].concat()
}

pub(super) fn primary(key: &Key) -> Vec<u8> {
    packet(6, &key.body())
}

/// Returns a user ID and the self-signature over it.
pub(super) fn user_id(key: &Key, id: &str, more: &[Vec<u8>]) -> Vec<u8> {
    let signature = certification(key, id, &draft(0x13, key, more));
    [packet(13, id.as_bytes()), signature].concat()
}

/// Returns a signature over a user ID, without the user ID.
pub(super) fn certification(key: &Key, id: &str, draft: &Draft) -> Vec<u8> {
    let length = u32::try_from(id.len()).unwrap().to_be_bytes();
    let data = [key.hashed().as_slice(), &[0xB4], &length, id.as_bytes()].concat();
    packet(2, &key.sign(draft, &data))
}

/// Returns a signature over the key alone: a revocation, or a direct-key signature.
pub(super) fn key_signature(key: &Key, draft: &Draft) -> Vec<u8> {
    packet(2, &key.sign(draft, &key.hashed()))
}

/// Returns a subkey and its binding signature, with a cross-signature.
pub(super) fn subkey(primary: &Key, subkey: &Key, more: &[Vec<u8>]) -> Vec<u8> {
    let more = [&[cross_signature(primary, subkey, &[])], more].concat();
    let draft = draft(kind::SUBKEY_BINDING, primary, &more);
    let signature = binding(primary, subkey, &draft);
    [packet(14, &subkey.body()), signature].concat()
}

/// Returns a signature of the primary key over a subkey, without the subkey.
pub(super) fn binding(primary: &Key, subkey: &Key, draft: &Draft) -> Vec<u8> {
    let data = [primary.hashed(), subkey.hashed()].concat();
    packet(2, &primary.sign(draft, &data))
}

/// Returns the subpacket in which a subkey confirms that it belongs to the primary key.
pub(super) fn cross_signature(primary: &Key, sub: &Key, more: &[Vec<u8>]) -> Vec<u8> {
    let data = [primary.hashed(), sub.hashed()].concat();
    let body = sub.sign(&draft(kind::PRIMARY_KEY_BINDING, sub, more), &data);
    subpacket(32, &body)
}

/// Returns an ordinary certificate whose primary key signs.
pub(super) fn certificate(key: &Key) -> Vec<u8> {
    let user_id = user_id(key, "forged", &[key_flags(CERTIFY | SIGN)]);
    [primary(key), user_id].concat()
}

/// Returns a detached signature.
pub(super) fn detached(key: &Key, data: &[u8], more: &[Vec<u8>]) -> Vec<u8> {
    packet(2, &key.sign(&draft(kind::BINARY, key, more), data))
}

/// Returns a certificate in ASCII armour, without the optional checksum.
pub(super) fn armored(packets: &[u8]) -> String {
    let lines: Vec<String> = packets.chunks(48).map(|it| STANDARD.encode(it)).collect();
    let digits = lines.join("\n");
    format!(
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{digits}\n-----END PGP PUBLIC KEY BLOCK-----\n"
    )
}

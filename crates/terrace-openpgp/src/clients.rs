//! Clients with a library too old for a key or a signature that current clients accept.
//!
//! | | library | lacks |
//! |---|---|---|
//! | Terraform before 1.6.0 | `golang.org/x/crypto/openpgp` (v0.1.0 in 1.5.7) | EdDSA, curves other than P-256, P-384 and P-521, SHA-3, version 6 |
//! | Terraform 1.6 to 1.11, OpenTofu before 1.11.0 | go-crypto up to 1.0.0 (1.1.3 in Terraform 1.12.0, 1.3.0 in OpenTofu 1.11.0) | RFC 9580: version 6, and Ed25519 under its new number |
//!
//! The first library refuses a whole key if it does not know one packet in it (`ReadEntity` in
//! `openpgp/keys.go`), even a subkey that only encrypts or a third party's signature. The second skips such a
//! packet. The network mirror serves no signatures, so its users are not affected.

use super::certificate::Certificate;
use super::packet::{Packet, packets, tag};
use super::public_key::{algorithm, has_nist_curve};

/// The clients with `golang.org/x/crypto/openpgp`.
const BEFORE_GO_CRYPTO: &str = "Terraform before 1.6.0";
/// The clients with that library or with a go-crypto older than RFC 9580.
const BEFORE_RFC_9580: &str = "Terraform before 1.12.0 and OpenTofu before 1.11.0";

/// Returns the clients that cannot read a key, and the reason.
pub(super) fn too_old_for_key(key: &[Packet<'_>], certificate: &Certificate) -> Option<String> {
    let of_key = |kind: String| {
        format!("because it is {kind}: sign with an RSA key while such clients are in use")
    };
    let mut signers = certificate.signers().map(|signer| signer.key).peekable();
    let first = signers.peek().copied();
    let first = first.filter(|_| signers.all(|key| is_rfc9580(key.version, key.algorithm)));
    let (clients, reason) = match first {
        Some(first) => (
            BEFORE_RFC_9580,
            of_key(kind(first.version, first.algorithm)),
        ),
        None => {
            let mut reasons = key.iter().filter_map(|packet| match packet.tag {
                tag::PUBLIC_KEY => unknown_key(packet.body).map(of_key),
                tag::PUBLIC_SUBKEY => unknown_key(packet.body).map(|kind| {
                    let algorithm = packet.body.get(5).copied().unwrap_or_default();
                    format!(
                        "because it has {kind} as a subkey, and they refuse the whole key: export it without that subkey \
                         (gpg --armor --export-filter drop-subkey='key_algo = {algorithm}' --export KEYID)"
                    )
                }),
                tag::SIGNATURE => unknown_signature(packet.body).map(|kind| {
                    format!(
                        "because another key has certified it with {kind}, and they refuse the whole key: export it \
                         without such signatures (gpg --armor --export-options export-minimal --export KEYID)"
                    )
                }),
                _ => None,
            });
            (BEFORE_GO_CRYPTO, reasons.next()?)
        }
    };
    Some(format!("{clients} cannot verify its signatures, {reason}"))
}

/// Returns the clients that cannot read a detached signature in binary form, and the reason, as a sentence. Its first signature
/// decides.
pub fn too_old_for_signature(signature: &[u8]) -> Option<String> {
    let packets = packets(signature).ok()?;
    let body = packets.first()?.body;
    let kind = unknown_signature(body)?;
    let clients = match body {
        [version, _, algorithm, ..] if is_rfc9580(*version, *algorithm) => BEFORE_RFC_9580,
        _ => BEFORE_GO_CRYPTO,
    };
    Some(format!(
        "{clients} cannot verify it, because it is {kind}: sign with an RSA key and SHA-2 while such clients are in use"
    ))
}

/// Returns whether only RFC 9580 defines this version or algorithm.
fn is_rfc9580(version: u8, algorithm: u8) -> bool {
    version > 4 || matches!(algorithm, algorithm::ED25519 | algorithm::ED448)
}

/// Describes a key that `golang.org/x/crypto/openpgp` does not support (`PublicKey.parse`).
fn unknown_key(body: &[u8]) -> Option<String> {
    let (version, algorithm) = match body {
        [version, _, _, _, _, algorithm, ..] => (*version, *algorithm),
        _ => return None,
    };
    let is_known = version == 4
        && match algorithm {
            algorithm::RSA
            | algorithm::RSA_ENCRYPT
            | algorithm::RSA_SIGN
            | algorithm::ELGAMAL
            | algorithm::DSA => true,
            algorithm::ECDH | algorithm::ECDSA => has_nist_curve(body),
            _ => false,
        };
    (!is_known).then(|| kind(version, algorithm))
}

/// Describes a signature that `golang.org/x/crypto/openpgp` does not support (`Signature.parse`).
fn unknown_signature(body: &[u8]) -> Option<String> {
    let (version, algorithm, hash) = match body {
        // Older versions have another layout.
        [version, _, algorithm, hash, ..] if *version >= 4 => (*version, *algorithm, *hash),
        _ => return None,
    };
    let knows_algorithm = matches!(
        algorithm,
        algorithm::RSA | algorithm::RSA_SIGN | algorithm::DSA | algorithm::ECDSA
    );
    // These are MD5, SHA-1, RIPEMD-160, and the four hashes of SHA-2 (`s2k.HashIdToHash`).
    let knows_hash = matches!(hash, 1..=3 | 8..=11);
    if version == 4 && knows_algorithm && !knows_hash {
        return Some(format!("a signature over hash function {hash}"));
    }
    (version != 4 || !knows_algorithm)
        .then(|| format!("a signature of {}", kind(version, algorithm)))
}

/// Describes a kind of key, such as `an EdDSA key`.
fn kind(version: u8, algorithm: u8) -> String {
    let name = algorithm::name(algorithm);
    let article = match name.chars().next() {
        Some('A' | 'E' | 'R' | 'X') => "an",
        _ => "a",
    };
    match version {
        4 => format!("{article} {name} key (algorithm {algorithm})"),
        version => format!("{article} {name} key of version {version}"),
    }
}

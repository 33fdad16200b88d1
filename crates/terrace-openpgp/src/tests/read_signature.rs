//! Parsing of detached signatures.

use super::fixture::{assert_refused, binary};
use super::forge::{self, Key};
use crate::{armor, detached_signature, limits};

fn draft(more: &[Vec<u8>]) -> forge::Draft {
    forge::draft(0, &Key::v4(1), more)
}

/// Returns the packet of a signature with these subpackets in its signed and in its unsigned area.
fn forged(hashed: Vec<u8>, unhashed: Vec<u8>) -> Vec<u8> {
    let draft = forge::Draft {
        kind: 0,
        hashed,
        unhashed,
    };
    forge::packet(2, &Key::v4(1).sign(&draft, b""))
}

/// Returns the packet of a signature with a further subpacket.
fn with(subpacket: &[u8]) -> Vec<u8> {
    forge::detached(&Key::v4(1), b"", &[subpacket.to_vec()])
}

#[test]
fn a_binary_or_armoured_signature_is_returned_in_binary() {
    for signature in [
        binary!("rsa2048.sig"),
        binary!("dsa2048.sig"),
        binary!("text.sig"),
        binary!("two-signers.sig"),
    ] {
        assert_eq!(detached_signature(signature).unwrap(), signature);
        let armored = armor::write("PGP SIGNATURE", signature);
        for text in [armored.replace('\n', "\r\n"), armored] {
            assert_eq!(detached_signature(text.as_bytes()).unwrap(), signature);
        }
    }
    let signature = detached_signature(binary!("default-armored.asc")).unwrap();
    assert_eq!(detached_signature(&signature).unwrap(), signature);
}

#[test]
fn bytes_that_are_no_detached_signature_are_refused() {
    let (small, armored) = (
        binary!("ed25519.sig"),
        str::from_utf8(binary!("default-armored.asc")).unwrap(),
    );
    let followed = |garbage: &[u8]| [small, garbage].concat();
    let body = Key::v4(1).sign(&draft(&[]), b"");
    let indeterminate = [&[0x80 | 2 << 2 | 3], body.as_slice()].concat();
    let rest = u8::try_from(body.len() - 64).unwrap();
    let partial = [&[0xC2, 0xE0 | 6], &body[..64], &[rest], &body[64..]].concat();
    let numbered = forge::packet(2, &[body, vec![0]].concat());
    let empty = "-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n";
    let key = forge::certificate(&Key::v4(1));
    for (bytes, refusal) in [
        (b"".to_vec(), "NoSignature"),
        (b"\n".to_vec(), "NoSignature"),
        (empty.into(), "NoSignature"),
        (b"signature".to_vec(), "NotASignature"),
        (b"\x01\xff\xff".to_vec(), "NotASignature"),
        (
            binary!("ed25519.asc").to_vec(),
            "NotDetached(\"a \\\"PGP PUBLIC KEY BLOCK\\\"\")",
        ),
        (key, "NotDetached(\"a public key\")"),
        (followed(b"\n"), "MalformedSignature"),
        (followed(b"\0"), "MalformedSignature"),
        (followed(b"\x88"), "MalformedSignature"),
        (followed(b"trailing"), "MalformedSignature"),
        (followed(&forge::packet(60, b"")), "NotDetached"),
        (format!("x\n{armored}").into(), "SignatureArmor"),
        (format!("{armored}x").into(), "SignatureArmor"),
        (armored.repeat(2).into(), "SignatureArmor"),
        // Lengths that are meant for streams.
        (indeterminate, "MalformedSignature"),
        (partial, "MalformedSignature"),
        (numbered, "MalformedSignature(\"bytes follow a signature"),
        (
            vec![0; limits::SIGNATURE_BYTES + 1],
            "SignatureTooLong(16385)",
        ),
    ] {
        assert_refused(detached_signature(&bytes), refusal);
    }
    for end in 1..small.len() {
        assert_refused(detached_signature(&small[..end]), "MalformedSignature");
    }
}

#[test]
fn inline_signed_messages_are_refused() {
    for message in [binary!("inline.gpg"), binary!("clear.asc")] {
        assert_refused(detached_signature(message), "NotDetached");
    }
}

#[test]
fn a_signature_without_issuer_is_refused() {
    let (created, key) = (forge::created(forge::CREATED), Key::v4(1));
    let no_time = "MalformedSignature(\"a signature has no creation time";
    for (hashed, unhashed, refusal) in [
        (created.clone(), vec![], "NoIssuer"),
        // The time is signed.
        (key.issuer(), vec![], no_time),
        (key.issuer(), created.clone(), no_time),
    ] {
        assert_refused(detached_signature(&forged(hashed, unhashed)), refusal);
    }
    let unsigned_issuer = forged(created, forge::subpacket(16, &[1; 8]));
    assert!(detached_signature(&unsigned_issuer).is_ok());
}

#[test]
fn an_unknown_subpacket_is_ignored_unless_it_is_critical() {
    let unknown = forge::subpacket(100, &[]);
    assert!(detached_signature(&with(&unknown)).is_ok());
    let skipped = with(&forge::critical(unknown));
    let refusal = "SkippedSignature(\"clients skip signatures with the critical subpacket 100";
    assert_refused(detached_signature(&skipped), refusal);
    // Beside a signature that clients read.
    assert!(detached_signature(&[&skipped, binary!("ed25519.sig")].concat()).is_ok());
}

#[test]
fn malformed_subpackets_are_refused() {
    for (kind, content) in [
        (2, &[0, 0, 0][..]),
        (3, &[0; 5]),
        (4, &[]),
        (5, &[1]),
        (6, &[]),
        (6, b"no zero"),
        (9, &[]),
        (16, &[0; 7]),
        (20, &[0; 7]),
        (20, &[0, 0, 0, 0, 0, 9, 0, 0]),
        (25, &[]),
        (29, &[]),
        (32, &[4]),
        (33, &[4; 20]),
        (33, &[]),
        (35, &[4]),
        (39, &[0]),
    ] {
        let bytes = with(&forge::subpacket(kind, content));
        assert_refused(detached_signature(&bytes), "MalformedSignature");
    }
    // Longer than their area.
    for length in [
        &[2][..],
        &[192, 0],
        &[192],
        &[255, 0, 0, 1, 0],
        &[255, 0],
        &[0],
    ] {
        assert_refused(detached_signature(&with(length)), "MalformedSignature");
    }
}

#[test]
fn versions_and_algorithms_that_clients_skip_are_refused() {
    let body = Key::v4(1).sign(&draft(&[]), b"");
    // These are versions 3 and 5, encryption algorithms, MD5 and RIPEMD-160.
    for (place, value) in [(0, 3), (0, 5), (2, 2), (2, 16), (2, 25), (3, 1), (3, 3)] {
        let mut changed = body.clone();
        changed[place] = value;
        let signature = forge::packet(2, &changed);
        assert_refused(detached_signature(&signature), "SkippedSignature");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let inner = forge::subpacket(32, &sub.sign(&forge::draft(0x19, &sub, &[]), b""));
    assert!(detached_signature(&with(&forge::cross_signature(&key, &sub, &[]))).is_ok());
    let outer = forge::Draft {
        unhashed: inner,
        ..forge::draft(0x19, &sub, &[])
    };
    let outer = sub.sign(&outer, b"");
    let length = (u32::try_from(outer.len()).unwrap() + 1).to_be_bytes();
    let outer = [&[255], &length[..], &[32], &outer].concat();
    let refusal = "MalformedSignature(\"signatures are nested too deeply";
    assert_refused(detached_signature(&with(&outer)), refusal);
}

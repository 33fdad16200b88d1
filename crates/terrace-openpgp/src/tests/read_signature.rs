//! Parsing of detached signatures.

use super::fixture::{assert_refused, binary};
use super::forge::{self, Key};
use crate::{OpenPgpError, armor, detached_signature, limits};

fn forged(draft: &forge::Draft) -> Result<Vec<u8>, OpenPgpError> {
    detached_signature(&forge::packet(2, &Key::v4(1).sign(draft, b"")))
}

fn draft(more: &[Vec<u8>]) -> forge::Draft {
    forge::draft(0, &Key::v4(1), more)
}

#[test]
fn a_binary_signature_is_returned_as_it_is() {
    for signature in [
        binary!("rsa2048.sig"),
        binary!("dsa2048.sig"),
        binary!("ed25519.sig"),
        binary!("nistp256.sig"),
        binary!("text.sig"),
        binary!("two-signers.sig"),
    ] {
        assert_eq!(detached_signature(signature).unwrap(), signature);
    }
}

#[test]
fn an_armoured_signature_is_returned_in_binary() {
    let binary = armor::read(str::from_utf8(binary!("default-armored.asc")).unwrap()).unwrap();
    let signature = detached_signature(binary!("default-armored.asc")).unwrap();
    assert_eq!(signature, binary.blocks[0].bytes);
    assert_eq!(detached_signature(&signature).unwrap(), signature);
}

#[test]
fn armour_and_binary_of_one_signature_are_the_same() {
    let armored = armor::write("PGP SIGNATURE", binary!("rsa2048.sig"));
    let windows = armored.replace('\n', "\r\n");
    assert_eq!(
        detached_signature(armored.as_bytes()).unwrap(),
        binary!("rsa2048.sig")
    );
    assert_eq!(
        detached_signature(windows.as_bytes()).unwrap(),
        binary!("rsa2048.sig")
    );
}

#[test]
fn an_empty_signature_is_refused() {
    for nothing in [
        "",
        "\n",
        "-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n",
    ] {
        assert_eq!(
            detached_signature(nothing.as_bytes()),
            Err(OpenPgpError::NoSignature)
        );
    }
}

#[test]
fn bytes_that_are_not_a_signature_are_refused() {
    assert_eq!(
        detached_signature(b"signature"),
        Err(OpenPgpError::NotASignature)
    );
    assert_eq!(
        detached_signature(b"\x01\xff\xff"),
        Err(OpenPgpError::NotASignature)
    );
}

#[test]
fn inline_signed_messages_are_refused() {
    for message in [binary!("inline.gpg"), binary!("clear.asc")] {
        let error = detached_signature(message).unwrap_err();
        assert!(matches!(error, OpenPgpError::NotDetached(_)), "{error}");
        assert!(error.to_string().contains("gpg --detach-sign"), "{error}");
    }
}

#[test]
fn a_key_is_refused_as_a_signature() {
    let error = detached_signature(binary!("ed25519.asc")).unwrap_err();
    assert_eq!(
        error,
        OpenPgpError::NotDetached("a \"PGP PUBLIC KEY BLOCK\"".to_owned())
    );
    let error = detached_signature(&forge::certificate(&Key::v4(1))).unwrap_err();
    assert_eq!(error, OpenPgpError::NotDetached("a public key".to_owned()));
}

#[test]
fn a_signature_with_anything_after_it_is_refused() {
    for garbage in [
        &b"\n"[..],
        b"\0",
        b"\x88",
        b"trailing",
        &forge::packet(60, b""),
    ] {
        let signature = [binary!("ed25519.sig"), garbage].concat();
        detached_signature(&signature).unwrap_err();
    }
}

#[test]
fn armour_with_anything_around_it_is_refused() {
    let armored = str::from_utf8(binary!("default-armored.asc")).unwrap();
    for text in [
        format!("x\n{armored}"),
        format!("{armored}x"),
        armored.repeat(2),
    ] {
        assert_refused(detached_signature(text.as_bytes()), "SignatureArmor");
    }
}

#[test]
fn a_truncated_signature_is_refused() {
    let whole = binary!("ed25519.sig");
    for end in 1..whole.len() {
        assert_refused(detached_signature(&whole[..end]), "MalformedSignature");
    }
}

#[test]
fn a_signature_without_issuer_is_refused() {
    let hashed = forge::created(forge::CREATED);
    let error = forged(&forge::Draft {
        kind: 0,
        hashed,
        unhashed: Vec::new(),
    })
    .unwrap_err();
    assert_eq!(error, OpenPgpError::NoIssuer);
}

#[test]
fn an_issuer_in_the_unsigned_area_is_enough() {
    let hashed = forge::created(forge::CREATED);
    let unhashed = forge::subpacket(16, &[1; 8]);
    assert!(
        forged(&forge::Draft {
            kind: 0,
            hashed,
            unhashed
        })
        .is_ok()
    );
}

#[test]
fn a_signature_without_creation_time_is_refused() {
    let hashed = Key::v4(1).issuer();
    let error = forged(&forge::Draft {
        kind: 0,
        hashed,
        unhashed: Vec::new(),
    })
    .unwrap_err();
    assert!(error.to_string().contains("no creation time"), "{error}");
}

#[test]
fn a_creation_time_in_the_unsigned_area_is_ignored() {
    let (hashed, unhashed) = (Key::v4(1).issuer(), forge::created(forge::CREATED));
    let error = forged(&forge::Draft {
        kind: 0,
        hashed,
        unhashed,
    })
    .unwrap_err();
    assert!(error.to_string().contains("no creation time"), "{error}");
}

#[test]
fn an_unknown_critical_subpacket_is_refused() {
    let unknown = forge::critical(forge::subpacket(100, &[]));
    let error = forged(&draft(&[unknown])).unwrap_err();
    assert!(
        matches!(error, OpenPgpError::SkippedSignature(_)),
        "{error}"
    );
    assert!(
        error.to_string().contains("critical subpacket 100"),
        "{error}"
    );
}

#[test]
fn an_unknown_non_critical_subpacket_is_ignored() {
    assert!(forged(&draft(&[forge::subpacket(100, &[])])).is_ok());
}

#[test]
fn a_signature_that_clients_skip_is_ignored_beside_one_that_they_read() {
    let unknown = forge::critical(forge::subpacket(100, &[]));
    let skipped = forge::detached(&Key::v4(1), b"", &[unknown]);
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
        let error = forged(&draft(&[forge::subpacket(kind, content)])).unwrap_err();
        assert!(
            matches!(error, OpenPgpError::MalformedSignature(_)),
            "{kind} {error}"
        );
    }
}

#[test]
fn a_subpacket_longer_than_its_area_is_refused() {
    for length in [
        &[2][..],
        &[192, 0],
        &[192],
        &[255, 0, 0, 1, 0],
        &[255, 0],
        &[0],
    ] {
        assert_refused(forged(&draft(&[length.to_vec()])), "MalformedSignature");
    }
}

#[test]
fn versions_and_algorithms_that_clients_skip_are_refused() {
    let body = Key::v4(1).sign(&draft(&[]), b"");
    // These are versions 3 and 5, encryption algorithms, MD5 and RIPEMD-160.
    for (place, value) in [(0, 3), (0, 5), (2, 2), (2, 16), (2, 25), (3, 1), (3, 3)] {
        let mut changed = body.clone();
        changed[place] = value;
        assert_refused(
            detached_signature(&forge::packet(2, &changed)),
            "SkippedSignature",
        );
    }
}

#[test]
fn deep_nesting_is_refused() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let inner = forge::subpacket(32, &sub.sign(&forge::draft(0x19, &sub, &[]), b""));
    let error = forged(&draft(&[forge::cross_signature(&key, &sub, &[])])).map(|_| ());
    assert_eq!(error, Ok(()));
    let outer = sub.sign(
        &forge::Draft {
            unhashed: inner,
            ..forge::draft(0x19, &sub, &[])
        },
        b"",
    );
    let outer = [
        &[255],
        &(u32::try_from(outer.len()).unwrap() + 1).to_be_bytes()[..],
        &[32],
        &outer,
    ];
    let error = forged(&draft(&[outer.concat()])).unwrap_err();
    assert!(error.to_string().contains("nested too deeply"), "{error}");
}

#[test]
fn lengths_meant_for_streams_are_refused() {
    let body = Key::v4(1).sign(&draft(&[]), b"");
    let indeterminate = [&[0x80 | 2 << 2 | 3], body.as_slice()].concat();
    let partial = [
        &[0xC2, 0xE0 | 6],
        &body[..64],
        &[u8::try_from(body.len() - 64).unwrap()],
        &body[64..],
    ];
    for signature in [indeterminate, partial.concat()] {
        assert_refused(detached_signature(&signature), "MalformedSignature");
    }
}

#[test]
fn bytes_after_the_numbers_of_a_signature_are_refused() {
    let body = [Key::v4(1).sign(&draft(&[]), b""), vec![0]].concat();
    let error = detached_signature(&forge::packet(2, &body)).unwrap_err();
    assert!(error.to_string().contains("within its packet"), "{error}");
}

#[test]
fn more_bytes_than_the_limit_are_refused() {
    let error = detached_signature(&vec![0; limits::SIGNATURE_BYTES + 1]).unwrap_err();
    assert_eq!(
        error,
        OpenPgpError::SignatureTooLong(limits::SIGNATURE_BYTES + 1)
    );
}

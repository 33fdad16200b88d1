//! Verification of signatures.

use super::fixture::{NEXT_DAY, SIGNED, YEARS_LATER, assert_refused, binary, keys, text};
use super::forge::{self, CERTIFY, CREATED, Key, SIGN, kind};
use crate::{OpenPgpError, SigningKey, verify_detached};

fn check(key: &str, signature: &[u8]) -> Result<Vec<String>, OpenPgpError> {
    check_at(key, signature, NEXT_DAY)
}

fn check_at(key: &str, signature: &[u8], now: u64) -> Result<Vec<String>, OpenPgpError> {
    verify_detached(&keys(key), SIGNED, signature, now).map(|verified| verified.warnings)
}

fn check_forged(certificate: &[u8], signature: &[u8]) -> Result<Vec<String>, OpenPgpError> {
    check(&forge::armored(certificate), signature)
}

fn ids(keys: &[SigningKey]) -> Vec<crate::KeyId> {
    keys.iter().map(SigningKey::key_id).collect()
}

/// A key of each algorithm, with a signature by it.
const ALGORITHMS: [(&str, &[u8]); 5] = [
    (text!("rsa2048.asc"), binary!("rsa2048.sig")),
    (text!("dsa2048.asc"), binary!("dsa2048.sig")),
    (text!("ed25519.asc"), binary!("ed25519.sig")),
    (text!("nistp256.asc"), binary!("nistp256.sig")),
    (text!("nistp384.asc"), binary!("nistp384.sig")),
];

#[test]
fn signatures_of_every_checkable_algorithm_are_accepted() {
    let others = [
        (text!("default.asc"), binary!("default.sig")),
        (text!("default.asc"), binary!("sha224.sig")),
        (text!("default.asc"), binary!("sha384.sig")),
        (text!("default.asc"), binary!("text.sig")),
        (text!("subkey.asc"), binary!("subkey.sig")),
        (text!("two-names.asc"), binary!("two-names.sig")),
        (text!("certified.asc"), binary!("ed25519.sig")),
    ];
    for (key, signature) in ALGORITHMS.into_iter().chain(others) {
        assert_eq!(check_at(key, signature, YEARS_LATER), Ok(Vec::new()));
    }
}

#[test]
fn sha1_is_accepted_with_a_warning() {
    let warnings = check(text!("default.asc"), binary!("sha1.sig")).unwrap();
    assert!(warnings[0].contains("SHA-1"), "{warnings:?}");
}

#[test]
fn one_of_several_signatures_is_enough_2_3_4() {
    for key in [text!("rsa2048.asc"), text!("default.asc")] {
        assert_eq!(check(key, binary!("two-signers.sig")), Ok(Vec::new()));
    }
}

#[test]
fn the_first_signature_by_a_registered_key_is_final() {
    let key = Key::v4(1);
    let wrong = forge::detached(&key, b"other data", &[]);
    let right = forge::detached(&key, SIGNED, &[]);
    let certificate = forge::certificate(&key);
    assert!(check_forged(&certificate, &[right.clone(), wrong.clone()].concat()).is_ok());
    assert_refused(
        check_forged(&certificate, &[wrong, right].concat()),
        "WrongSignature",
    );
}

#[test]
fn the_first_registered_key_among_the_signers_is_final() {
    let (first, second) = (Key::v4(1), Key::v4(2));
    let signatures = [
        forge::detached(&first, b"other data", &[]),
        forge::detached(&second, SIGNED, &[]),
    ]
    .concat();
    let key = |key| keys(&forge::armored(&forge::certificate(key)));
    let (first, second, unrelated) = (key(&first), key(&second), key(&Key::v4(3)));
    let in_order = [unrelated, second.clone(), first.clone()].concat();
    let verified = verify_detached(&in_order, SIGNED, &signatures, NEXT_DAY).unwrap();
    assert_eq!(verified.key, &in_order[1]);
    let reversed = [first, second].concat();
    verify_detached(&reversed, SIGNED, &signatures, NEXT_DAY).unwrap_err();
}

#[test]
fn an_unregistered_key_is_refused_and_both_keys_are_reported() {
    for registered in [keys(text!("two-keys.asc")), Vec::new()] {
        let verified = verify_detached(&registered, SIGNED, binary!("default.sig"), NEXT_DAY);
        let (issuers, registered) = (ids(&keys(text!("default.asc"))), ids(&registered));
        let error = OpenPgpError::UnknownIssuer {
            issuers,
            registered,
        };
        assert_eq!(verified, Err(error));
    }
}

#[test]
fn changed_data_and_changed_numbers_are_refused() {
    for (key, signature) in ALGORITHMS {
        let registered = keys(key);
        let refused = |data: &[u8], signature: &[u8]| {
            let verified = verify_detached(&registered, data, signature, NEXT_DAY);
            assert_refused(verified, "WrongSignature");
        };
        refused(&[SIGNED, b" "].concat(), signature);
        // The last octets are those of the last number.
        for place in signature.len() - 24..signature.len() {
            let mut changed = signature.to_vec();
            changed[place] ^= 1;
            refused(SIGNED, &changed);
        }
    }
}

#[test]
fn line_endings_matter_only_to_binary_signatures() {
    let windows = str::from_utf8(SIGNED).unwrap().replace('\n', "\r\n");
    let key = keys(text!("default.asc"));
    let check = |signature| verify_detached(&key, windows.as_bytes(), signature, NEXT_DAY);
    assert!(check(binary!("text.sig")).is_ok());
    check(binary!("default.sig")).unwrap_err();
    let spaced = [SIGNED, b" "].concat();
    let verified = verify_detached(&key, &spaced, binary!("text.sig"), NEXT_DAY);
    assert_refused(verified, "WrongSignature");
}

#[test]
fn a_signature_that_names_another_registered_key_is_refused() {
    let (key, other) = (Key::v4(1), Key::v4(2));
    let draft = forge::draft(kind::BINARY, &other, &[]);
    let signature = forge::packet(2, &key.sign(&draft, SIGNED));
    assert_refused(
        check_forged(&forge::certificate(&other), &signature),
        "WrongSignature",
    );
}

#[test]
fn a_subkey_without_key_flags_cannot_sign_files() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let certificate = |of_key, of_sub: &[Vec<u8>]| {
        let user_id = forge::user_id(&key, "a", &[forge::key_flags(of_key)]);
        let subkey = forge::subkey(&key, &sub, of_sub);
        [forge::primary(&key), user_id, subkey].concat()
    };
    let flagged = certificate(CERTIFY, &[forge::key_flags(SIGN)]);
    assert!(check_forged(&flagged, &forge::detached(&sub, SIGNED, &[])).is_ok());
    // Nor can a primary key that only certifies.
    for (certificate, signer) in [(flagged, &key), (certificate(SIGN, &[]), &sub)] {
        let signature = forge::detached(signer, SIGNED, &[]);
        assert_refused(check_forged(&certificate, &signature), "NotASigner");
    }
}

#[test]
fn a_revoked_subkey_is_refused() {
    let at = |now| {
        check_at(
            text!("revoked-subkey.asc"),
            binary!("revoked-subkey.sig"),
            now,
        )
    };
    // The subkey was revoked the day after it signed, and clients accept the signature until then.
    assert_eq!(at(NEXT_DAY), Ok(Vec::new()));
    assert_refused(at(YEARS_LATER), "RevokedSubkey");
    // One that is compromised, even before its revocation.
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let compromised = forge::subpacket(29, &[2]);
    let mut draft = forge::draft(kind::SUBKEY_REVOCATION, &key, &[]);
    draft.hashed = [forge::created(u32::MAX), key.issuer(), compromised].concat();
    let certificate = [
        forge::certificate(&key),
        forge::subkey(&key, &sub, &[forge::key_flags(SIGN)]),
        forge::binding(&key, &sub, &draft),
    ]
    .concat();
    let signature = forge::detached(&sub, SIGNED, &[]);
    assert_refused(check_forged(&certificate, &signature), "RevokedSubkey");
}

#[test]
fn an_expired_key_is_accepted_with_a_warning() {
    let at = |now| check_at(text!("expiring.asc"), binary!("expiring-key.sig"), now);
    assert_eq!(at(NEXT_DAY), Ok(Vec::new()));
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let one_second = forge::subpacket(9, &1u32.to_be_bytes());
    let subkey = forge::subkey(&key, &sub, &[forge::key_flags(SIGN), one_second]);
    let certificate = [forge::certificate(&key), subkey].concat();
    let future = Key::v4(1).created(CREATED + 1_000_000);
    for (warnings, text) in [
        (at(YEARS_LATER), "expired at 2024-12-31T"),
        (
            check_forged(&certificate, &forge::detached(&sub, SIGNED, &[])),
            "expired at 2024-01-01T00:00:01Z",
        ),
        (
            check_forged(
                &forge::certificate(&future),
                &forge::detached(&future, SIGNED, &[]),
            ),
            "dated in the future",
        ),
    ] {
        let warnings = warnings.unwrap();
        assert!(warnings[0].contains(text), "{warnings:?}");
        assert!(warnings[0].contains("OPENTOFU_ENFORCE_GPG_EXPIRATION"));
    }
}

#[test]
fn an_expired_signature_is_refused() {
    let at = |now| check_at(text!("default.asc"), binary!("expiring.sig"), now);
    let end = 1_704_157_200;
    assert_eq!(at(end), Ok(Vec::new()));
    for now in [end + 1, YEARS_LATER] {
        let error = at(now).unwrap_err();
        assert!(matches!(error, OpenPgpError::ExpiredSignature { at, .. } if at.0 == end));
    }
}

#[test]
fn a_signature_of_the_future_is_refused() {
    let signed_at = 1_704_070_800;
    let at = |now| check_at(text!("ed25519.asc"), binary!("ed25519.sig"), now);
    assert!(at(signed_at).is_ok());
    let error = at(signed_at - 5).unwrap_err();
    assert!(matches!(
        error,
        OpenPgpError::FutureSignature { seconds: 5, .. }
    ));
}

#[test]
fn an_expired_self_signature_or_cross_signature_is_refused() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let one_second = || forge::subpacket(3, &1u32.to_be_bytes());
    let user_id = forge::user_id(&key, "a", &[forge::key_flags(SIGN), one_second()]);
    let cross = forge::cross_signature(&key, &sub, &[one_second()]);
    let draft = forge::draft(kind::SUBKEY_BINDING, &key, &[cross, forge::key_flags(SIGN)]);
    let subkey = [
        forge::packet(14, &sub.body()),
        forge::binding(&key, &sub, &draft),
    ]
    .concat();
    for (certificate, signer) in [
        ([forge::primary(&key), user_id].concat(), &key),
        ([forge::certificate(&key), subkey].concat(), &sub),
    ] {
        let signature = forge::detached(signer, SIGNED, &[]);
        assert_refused(check_forged(&certificate, &signature), "ExpiredSignature");
    }
}

#[test]
fn an_unknown_critical_notation_is_refused() {
    let error = check(text!("default.asc"), binary!("notation.sig")).unwrap_err();
    assert!(
        matches!(&error, OpenPgpError::CriticalNotation { name, .. } if name == "unknown@example.com"),
        "{error}"
    );
    // Also one of the key. Others are ignored.
    let key = Key::v4(1);
    let notation = forge::notation("a@example.com");
    let signature = forge::detached(&key, SIGNED, std::slice::from_ref(&notation));
    let certificate = forge::certificate(&key);
    assert_eq!(check_forged(&certificate, &signature), Ok(Vec::new()));
    let flags = [forge::key_flags(SIGN), forge::critical(notation)];
    let certificate = [forge::primary(&key), forge::user_id(&key, "a", &flags)].concat();
    assert_refused(check_forged(&certificate, &signature), "CriticalNotation");
}

#[test]
fn signatures_of_other_types_are_refused() {
    let key = Key::v4(1);
    for kind in [0x02, 0x10, 0x18, 0x1F, 0x20, 0x40, 0x50] {
        let signature = forge::packet(2, &key.sign(&forge::draft(kind, &key, &[]), SIGNED));
        let error = check_forged(&forge::certificate(&key), &signature).unwrap_err();
        assert_eq!(error, OpenPgpError::SignatureType(kind));
    }
}

#[test]
fn a_signature_of_another_algorithm_than_its_key_or_over_sha3_is_refused_by_name() {
    let key = Key::v4(1);
    for (at, value, name) in [(2, 19, "ECDSA"), (3, 12, "uses SHA-3")] {
        let mut body = key.sign(&forge::draft(kind::BINARY, &key, &[]), SIGNED);
        body[at] = value;
        let error = check_forged(&forge::certificate(&key), &forge::packet(2, &body)).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_version_6_key_signs_with_the_right_tag() {
    let key = Key::v6(1);
    let flags = forge::key_flags(SIGN);
    let direct = forge::key_signature(&key, &forge::draft(kind::DIRECT_KEY, &key, &[flags]));
    let certificate = [forge::primary(&key), direct].concat();
    let mut signature = forge::detached(&key, SIGNED, &[]);
    assert_eq!(check_forged(&certificate, &signature), Ok(Vec::new()));
    let tag = signature.len() - 64 - 16 - 1 - 2;
    signature[tag] ^= 1;
    assert_refused(check_forged(&certificate, &signature), "WrongSignature");
}

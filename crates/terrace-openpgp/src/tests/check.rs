//! Verification of signatures.

use super::fixture::{NEXT_DAY, SIGNED, YEARS_LATER, assert_refused, binary, keys, text};
use super::forge::{self, CERTIFY, CREATED, Key, SIGN, kind};
use crate::{OpenPgpError, SigningKey, parse_signing_keys, verify_detached};

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

#[test]
fn signatures_of_every_checkable_algorithm_are_accepted() {
    for (key, signature) in [
        (text!("rsa2048.asc"), binary!("rsa2048.sig")),
        (text!("dsa2048.asc"), binary!("dsa2048.sig")),
        (text!("ed25519.asc"), binary!("ed25519.sig")),
        (text!("nistp256.asc"), binary!("nistp256.sig")),
        (text!("nistp384.asc"), binary!("nistp384.sig")),
        (text!("default.asc"), binary!("default.sig")),
        (text!("default.asc"), binary!("sha224.sig")),
        (text!("default.asc"), binary!("sha384.sig")),
        (text!("default.asc"), binary!("text.sig")),
        (text!("subkey.asc"), binary!("subkey.sig")),
        (text!("two-names.asc"), binary!("two-names.sig")),
        (text!("certified.asc"), binary!("ed25519.sig")),
    ] {
        assert_eq!(check_at(key, signature, YEARS_LATER), Ok(Vec::new()));
    }
}

#[test]
fn sha1_is_accepted_with_a_warning() {
    let warnings = check(text!("default.asc"), binary!("sha1.sig")).unwrap();
    assert!(warnings[0].contains("SHA-1"), "{warnings:?}");
}

#[test]
fn the_key_that_made_the_signature_is_reported() {
    let registered = [keys(text!("rsa2048.asc")), keys(text!("ed25519.asc"))].concat();
    let verified = verify_detached(&registered, SIGNED, binary!("ed25519.sig"), NEXT_DAY).unwrap();
    assert_eq!(verified.key, &registered[1]);
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
    let (first, second) = (key(&first), key(&second));
    let in_order = [second.clone(), first.clone()].concat();
    assert!(verify_detached(&in_order, SIGNED, &signatures, NEXT_DAY).is_ok());
    let reversed = [first, second].concat();
    verify_detached(&reversed, SIGNED, &signatures, NEXT_DAY).unwrap_err();
}

#[test]
fn an_unregistered_key_is_refused_and_both_keys_are_reported() {
    let registered = keys(text!("two-keys.asc"));
    let error = verify_detached(&registered, SIGNED, binary!("default.sig"), NEXT_DAY).unwrap_err();
    let issuers = ids(&keys(text!("default.asc")));
    let message = error.to_string();
    assert_eq!(
        error,
        OpenPgpError::UnknownIssuer {
            issuers,
            registered: ids(&registered)
        }
    );
    assert!(
        message.contains(&ids(&registered)[1].to_string()),
        "{message}"
    );
}

#[test]
fn no_signature_is_accepted_without_registered_keys() {
    let error = verify_detached(&[], SIGNED, binary!("default.sig"), NEXT_DAY).unwrap_err();
    assert!(error.to_string().contains("registered: none"), "{error}");
}

#[test]
fn changed_data_is_refused() {
    for (key, signature) in [
        (text!("rsa2048.asc"), binary!("rsa2048.sig")),
        (text!("dsa2048.asc"), binary!("dsa2048.sig")),
        (text!("ed25519.asc"), binary!("ed25519.sig")),
        (text!("nistp256.asc"), binary!("nistp256.sig")),
        (text!("nistp384.asc"), binary!("nistp384.sig")),
        (text!("default.asc"), binary!("text.sig")),
    ] {
        let changed = [SIGNED, b" "].concat();
        assert_refused(
            verify_detached(&keys(key), &changed, signature, NEXT_DAY),
            "WrongSignature",
        );
    }
}

#[test]
fn a_signature_with_any_changed_number_is_refused() {
    for (key, signature) in [
        (text!("rsa2048.asc"), binary!("rsa2048.sig")),
        (text!("dsa2048.asc"), binary!("dsa2048.sig")),
        (text!("ed25519.asc"), binary!("ed25519.sig")),
        (text!("nistp256.asc"), binary!("nistp256.sig")),
    ] {
        let registered = keys(key);
        // The last octets are those of the last number.
        for place in signature.len() - 24..signature.len() {
            let mut changed = signature.to_vec();
            changed[place] ^= 1;
            assert_refused(
                verify_detached(&registered, SIGNED, &changed, NEXT_DAY),
                "WrongSignature",
            );
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
fn a_certify_only_primary_key_cannot_sign_files() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let certificate = [
        forge::primary(&key),
        forge::user_id(&key, "a", &[forge::key_flags(CERTIFY)]),
        forge::subkey(&key, &sub, &[forge::key_flags(SIGN)]),
    ]
    .concat();
    assert!(check_forged(&certificate, &forge::detached(&sub, SIGNED, &[])).is_ok());
    assert_refused(
        check_forged(&certificate, &forge::detached(&key, SIGNED, &[])),
        "NotASigner",
    );
}

#[test]
fn a_subkey_without_key_flags_cannot_sign_files() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let certificate = [forge::certificate(&key), forge::subkey(&key, &sub, &[])].concat();
    assert_refused(
        check_forged(&certificate, &forge::detached(&sub, SIGNED, &[])),
        "NotASigner",
    );
}

#[test]
fn a_revoked_subkey_is_refused() {
    let error = check(text!("revoked-subkey.asc"), binary!("revoked-subkey.sig")).map(|_| ());
    // The subkey was revoked the day after it signed, and clients accept the signature until then.
    assert_eq!(error, Ok(()));
    assert_refused(
        check_at(
            text!("revoked-subkey.asc"),
            binary!("revoked-subkey.sig"),
            YEARS_LATER,
        ),
        "RevokedSubkey",
    );
}

#[test]
fn a_compromised_subkey_is_refused_even_before_its_revocation() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let hashed = [
        forge::created(u32::MAX),
        key.issuer(),
        forge::subpacket(29, &[2]),
    ]
    .concat();
    let draft = forge::Draft {
        kind: kind::SUBKEY_REVOCATION,
        hashed,
        unhashed: Vec::new(),
    };
    let certificate = [
        forge::certificate(&key),
        forge::subkey(&key, &sub, &[forge::key_flags(SIGN)]),
        forge::binding(&key, &sub, &draft),
    ]
    .concat();
    assert_refused(
        check_forged(&certificate, &forge::detached(&sub, SIGNED, &[])),
        "RevokedSubkey",
    );
}

#[test]
fn an_expired_key_is_accepted_with_a_warning() {
    assert_eq!(
        check(text!("expiring.asc"), binary!("expiring-key.sig")),
        Ok(Vec::new())
    );
    let warnings = check_at(
        text!("expiring.asc"),
        binary!("expiring-key.sig"),
        YEARS_LATER,
    )
    .unwrap();
    assert!(
        warnings[0].contains("expired at 2024-12-31T"),
        "{warnings:?}"
    );
    assert!(
        warnings[0].contains("OPENTOFU_ENFORCE_GPG_EXPIRATION"),
        "{warnings:?}"
    );
}

#[test]
fn an_expired_subkey_is_accepted_with_a_warning() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let one_second = forge::subpacket(9, &1u32.to_be_bytes());
    let subkey = forge::subkey(&key, &sub, &[forge::key_flags(SIGN), one_second]);
    let certificate = [forge::certificate(&key), subkey].concat();
    let warnings = check_forged(&certificate, &forge::detached(&sub, SIGNED, &[])).unwrap();
    assert!(
        warnings[0].contains("expired at 2024-01-01T00:00:01Z"),
        "{warnings:?}"
    );
}

#[test]
fn a_key_of_the_future_is_accepted_with_a_warning() {
    let key = Key::v4(1).created(CREATED + 1_000_000);
    let warnings = check_forged(
        &forge::certificate(&key),
        &forge::detached(&key, SIGNED, &[]),
    )
    .unwrap();
    assert!(warnings[0].contains("dated in the future"), "{warnings:?}");
}

#[test]
fn an_expired_signature_is_refused() {
    let at = |now| check_at(text!("default.asc"), binary!("expiring.sig"), now);
    assert_eq!(at(NEXT_DAY), Ok(Vec::new()));
    let error = at(YEARS_LATER).unwrap_err();
    assert!(
        matches!(error, OpenPgpError::ExpiredSignature { .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("2024-01-02T01:00:00Z"),
        "{error}"
    );
}

#[test]
fn a_signature_lasts_to_the_last_second() {
    let at = |now| check_at(text!("default.asc"), binary!("expiring.sig"), now);
    let end = 1_704_157_200;
    assert!(at(end).is_ok());
    assert!(at(end + 1).is_err());
}

#[test]
fn a_signature_of_the_future_is_refused() {
    let signed_at = 1_704_070_800;
    let at = |now| check_at(text!("ed25519.asc"), binary!("ed25519.sig"), now);
    assert!(at(signed_at).is_ok());
    let error = at(signed_at - 5).unwrap_err();
    let OpenPgpError::FutureSignature { seconds, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(seconds, 5);
}

#[test]
fn an_expired_self_signature_is_refused() {
    let key = Key::v4(1);
    let one_second = forge::subpacket(3, &1u32.to_be_bytes());
    let user_id = forge::user_id(&key, "a", &[forge::key_flags(SIGN), one_second]);
    let certificate = [forge::primary(&key), user_id].concat();
    assert_refused(
        check_forged(&certificate, &forge::detached(&key, SIGNED, &[])),
        "ExpiredSignature",
    );
}

#[test]
fn an_expired_cross_signature_is_refused() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let one_second = forge::subpacket(3, &1u32.to_be_bytes());
    let cross = forge::cross_signature(&key, &sub, &[one_second]);
    let draft = forge::draft(kind::SUBKEY_BINDING, &key, &[cross, forge::key_flags(SIGN)]);
    let subkey = [
        forge::packet(14, &sub.body()),
        forge::binding(&key, &sub, &draft),
    ]
    .concat();
    let certificate = [forge::certificate(&key), subkey].concat();
    assert_refused(
        check_forged(&certificate, &forge::detached(&sub, SIGNED, &[])),
        "ExpiredSignature",
    );
}

#[test]
fn an_unknown_critical_notation_is_refused() {
    let error = check(text!("default.asc"), binary!("notation.sig")).unwrap_err();
    let OpenPgpError::CriticalNotation { name, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(name, "unknown@example.com");
}

#[test]
fn an_unknown_critical_notation_of_the_key_is_refused() {
    let key = Key::v4(1);
    let notation = forge::critical(forge::notation("a@example.com"));
    let user_id = forge::user_id(&key, "a", &[forge::key_flags(SIGN), notation]);
    let certificate = [forge::primary(&key), user_id].concat();
    assert_refused(
        check_forged(&certificate, &forge::detached(&key, SIGNED, &[])),
        "CriticalNotation",
    );
}

#[test]
fn a_non_critical_notation_is_ignored() {
    let key = Key::v4(1);
    let signature = forge::detached(&key, SIGNED, &[forge::notation("a@example.com")]);
    assert_eq!(
        check_forged(&forge::certificate(&key), &signature),
        Ok(Vec::new())
    );
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

#[test]
fn a_registered_key_verifies_the_same_signatures_after_storage() {
    let stored = keys(text!("two-keys.asc"))
        .iter()
        .flat_map(|key| parse_signing_keys(key.ascii_armor()).unwrap())
        .collect::<Vec<_>>();
    assert!(verify_detached(&stored, SIGNED, binary!("ed25519.sig"), NEXT_DAY).is_ok());
}

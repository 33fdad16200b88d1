//! Parsing of keys.

use super::fixture::{keys, text};
use super::forge::{self, CERTIFY, Key, SIGN, kind};
use crate::{KeyId, KeyName, OpenPgpError, armor, limits, parse_signing_keys};

fn parse_forged(packets: &[Vec<u8>]) -> Result<usize, OpenPgpError> {
    parse_signing_keys(&forge::armored(&packets.concat())).map(|keys| keys.len())
}

fn malformed(packets: &[Vec<u8>]) -> String {
    match parse_forged(packets) {
        Err(OpenPgpError::MalformedKey { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_has_no_signing_key(packets: &[Vec<u8>]) {
    let error = parse_forged(packets).unwrap_err();
    assert!(matches!(error, OpenPgpError::NoSigningKey(_)), "{error}");
}

fn signing() -> Vec<u8> {
    forge::key_flags(CERTIFY | SIGN)
}

#[test]
fn keys_of_every_checkable_algorithm_are_accepted() {
    for text in [
        text!("rsa2048.asc"),
        text!("dsa2048.asc"),
        text!("ed25519.asc"),
        text!("nistp256.asc"),
        text!("nistp384.asc"),
        text!("default.asc"),
        text!("subkey.asc"),
        // A third party has certified it; it has expired; a subkey or a user ID beside a valid one is revoked.
        text!("certified.asc"),
        text!("expiring.asc"),
        text!("revoked-subkey.asc"),
        text!("two-names.asc"),
    ] {
        assert_eq!(keys(text).len(), 1);
    }
}

#[test]
fn a_key_has_the_id_and_fingerprint_that_gpg_shows() {
    let key = &keys(text!("ed25519.asc"))[0];
    // The output of `gpg --show-keys testdata/ed25519.asc`.
    let fingerprint = text!("ed25519.fingerprint").trim();
    assert_eq!(key.fingerprint(), fingerprint.to_lowercase());
    assert!(fingerprint.ends_with(&key.key_id().to_string()));
}

#[test]
fn a_key_is_armoured_again_without_changes() {
    let original = armor::read(text!("rsa2048.asc")).unwrap();
    let key = &keys(text!("rsa2048.asc"))[0];
    let rewritten = armor::read(key.ascii_armor()).unwrap();
    assert_eq!(rewritten.blocks[0].bytes, original.blocks[0].bytes);
    assert_eq!(keys(key.ascii_armor())[0], *key);
}

#[test]
fn armour_has_a_blank_line_short_lines_and_a_checksum() {
    let key = &keys(text!("rsa2048.asc"))[0];
    let lines: Vec<&str> = key.ascii_armor().lines().collect();
    assert_eq!(lines[0], "-----BEGIN PGP PUBLIC KEY BLOCK-----");
    assert_eq!(lines[1], "");
    assert!(lines.iter().all(|line| line.len() <= 64));
    // gpg computed the same checksum.
    let checksum = lines[lines.len() - 2];
    assert!(checksum.starts_with('='));
    assert!(text!("rsa2048.asc").lines().any(|line| line == checksum));
    assert_eq!(lines[lines.len() - 1], "-----END PGP PUBLIC KEY BLOCK-----");
}

#[test]
fn two_blocks_in_one_text_are_two_keys() {
    let both = format!("{}{}", text!("rsa2048.asc"), text!("ed25519.asc"));
    let keys = keys(&both);
    assert_eq!(keys.len(), 2);
    assert!(
        keys.iter()
            .all(|key| key.ascii_armor().matches("BEGIN").count() == 1)
    );
}

#[test]
fn two_keys_in_one_block_are_armoured_separately() {
    let both = keys(text!("two-keys.asc"));
    assert_eq!(both.len(), 2);
    assert_eq!(both[0], keys(text!("rsa2048.asc"))[0]);
    assert_eq!(keys(both[1].ascii_armor())[0], both[1]);
}

#[test]
fn text_around_a_block_and_crlf_are_ignored() {
    let text = format!("my key:\n\n{}\nbye\n", text!("ed25519.asc")).replace('\n', "\r\n");
    assert_eq!(keys(&text), keys(text!("ed25519.asc")));
}

#[test]
fn armour_headers_are_ignored() {
    let text = text!("ed25519.asc").replacen("\n\n", "\nVersion: GnuPG v1\nComment: \n\n", 1);
    assert_eq!(keys(&text), keys(text!("ed25519.asc")));
}

#[test]
fn a_revoked_key_is_refused() {
    let error = parse_signing_keys(text!("revoked.asc")).unwrap_err();
    assert!(matches!(error, OpenPgpError::RevokedKey(_)), "{error}");
}

#[test]
fn a_key_whose_only_user_id_is_revoked_is_refused() {
    let key = Key::v4(1);
    let revocation = forge::certification(
        &key,
        "forged",
        &forge::draft(kind::CERTIFICATION_REVOCATION, &key, &[]),
    );
    let error = parse_forged(&[forge::certificate(&key), revocation]).unwrap_err();
    assert!(matches!(error, OpenPgpError::RevokedKey(_)), "{error}");
}

#[test]
fn a_key_that_may_only_certify_is_refused() {
    let error = parse_signing_keys(text!("certify-only.asc")).unwrap_err();
    assert!(matches!(error, OpenPgpError::NoSigningKey(_)), "{error}");
}

#[test]
fn a_key_without_key_flags_is_refused() {
    let key = Key::v4(1);
    let error = parse_forged(&[forge::primary(&key), forge::user_id(&key, "a", &[])]).unwrap_err();
    assert!(matches!(error, OpenPgpError::NoSigningKey(_)), "{error}");
    assert!(error.to_string().contains("explicit flag"), "{error}");
}

#[test]
fn key_flags_outside_the_signed_area_are_ignored() {
    let key = Key::v4(1);
    let mut draft = forge::draft(0x13, &key, &[]);
    draft.unhashed = signing();
    let user_id = [
        forge::packet(13, b"a"),
        forge::certification(&key, "a", &draft),
    ]
    .concat();
    assert_has_no_signing_key(&[forge::primary(&key), user_id]);
}

#[test]
fn the_newest_self_signature_decides() {
    let key = Key::v4(1);
    let older = forge::user_id(&key, "a", &[signing()]);
    let mut newer = forge::draft(0x13, &key, &[]);
    newer.hashed = [
        forge::created(forge::CREATED + 1),
        key.issuer(),
        forge::key_flags(CERTIFY),
    ]
    .concat();
    let newer = forge::certification(&key, "a", &newer);
    assert_has_no_signing_key(&[forge::primary(&key), older, newer]);
}

#[test]
fn every_one_of_equal_user_ids_must_allow_signing() {
    let key = Key::v4(1);
    let names = [("a", CERTIFY | SIGN), ("b", CERTIFY)]
        .map(|(id, flags)| forge::user_id(&key, id, &[forge::key_flags(flags)]));
    assert_has_no_signing_key(&[forge::primary(&key), names.concat()]);
}

#[test]
fn the_user_id_marked_as_primary_decides() {
    let key = Key::v4(1);
    let marked = forge::user_id(&key, "a", &[signing(), forge::subpacket(25, &[1])]);
    let other = forge::user_id(&key, "b", &[forge::key_flags(CERTIFY)]);
    assert_eq!(parse_forged(&[forge::primary(&key), marked, other]), Ok(1));
}

#[test]
fn a_signing_subkey_is_enough() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let user_id = forge::user_id(&key, "a", &[forge::key_flags(CERTIFY)]);
    let subkey = forge::subkey(&key, &sub, &[forge::key_flags(SIGN)]);
    assert_eq!(
        parse_forged(&[forge::primary(&key), user_id, subkey]),
        Ok(1)
    );
}

#[test]
fn a_revoked_signing_subkey_is_not_enough() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let user_id = forge::user_id(&key, "a", &[forge::key_flags(CERTIFY)]);
    let subkey = forge::subkey(&key, &sub, &[forge::key_flags(SIGN)]);
    let revocation = forge::draft(kind::SUBKEY_REVOCATION, &key, &[]);
    let revocation = forge::binding(&key, &sub, &revocation);
    assert_has_no_signing_key(&[forge::primary(&key), user_id, subkey, revocation]);
}

#[test]
fn a_signing_subkey_without_cross_signature_is_refused() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let draft = forge::draft(kind::SUBKEY_BINDING, &key, &[forge::key_flags(SIGN)]);
    let subkey = [
        forge::packet(14, &sub.body()),
        forge::binding(&key, &sub, &draft),
    ]
    .concat();
    let reason = malformed(&[forge::certificate(&key), subkey]);
    assert_eq!(reason, "a signing subkey has no cross-signature");
}

#[test]
fn a_signing_subkey_cross_signed_by_another_key_is_refused() {
    let (key, sub, thief) = (Key::v4(1), Key::v4(2), Key::v4(3));
    let more = [
        forge::cross_signature(&key, &thief, &[]),
        forge::key_flags(SIGN),
    ];
    let draft = forge::draft(kind::SUBKEY_BINDING, &key, &more);
    let subkey = [
        forge::packet(14, &sub.body()),
        forge::binding(&key, &sub, &draft),
    ]
    .concat();
    let error = parse_forged(&[forge::certificate(&key), subkey]).unwrap_err();
    let OpenPgpError::SelfSignature { of, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(of, "cross-certification");
}

#[test]
fn a_subkey_bound_by_another_key_is_refused() {
    let (key, sub, thief) = (Key::v4(1), Key::v4(2), Key::v4(3));
    let subkey = forge::subkey(&thief, &sub, &[forge::key_flags(SIGN)]);
    let error = parse_forged(&[forge::certificate(&key), subkey]).unwrap_err();
    assert!(
        matches!(error, OpenPgpError::SelfSignature { of: "subkey", .. }),
        "{error}"
    );
}

#[test]
fn a_subkey_without_binding_is_refused() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let subkey = forge::packet(14, &sub.body());
    let reason = malformed(&[forge::certificate(&key), subkey]);
    assert!(reason.contains("no binding signature"), "{reason}");
}

#[test]
fn a_forged_self_signature_is_refused() {
    let (key, thief) = (Key::v4(1), Key::v4(3));
    let forged = thief.sign(&forge::draft(0x13, &key, &[signing()]), b"anything");
    let user_id = [forge::packet(13, b"a"), forge::packet(2, &forged)].concat();
    let error = parse_forged(&[forge::certificate(&key), user_id]).unwrap_err();
    assert!(
        matches!(error, OpenPgpError::SelfSignature { of: "user ID", .. }),
        "{error}"
    );
    assert!(error.to_string().contains("damaged or forged"), "{error}");
}

#[test]
fn a_revocation_by_another_key_is_refused() {
    let (key, other) = (Key::v4(1), Key::v4(3));
    let draft = forge::draft(kind::KEY_REVOCATION, &other, &[]);
    let revocation = forge::packet(2, &other.sign(&draft, &key.hashed()));
    let packets = [
        forge::primary(&key),
        revocation,
        forge::user_id(&key, "a", &[signing()]),
    ];
    let error = parse_forged(&packets).unwrap_err();
    assert!(
        matches!(
            error,
            OpenPgpError::SelfSignature {
                of: "key revocation",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_key_without_a_user_id_is_refused() {
    let reason = malformed(&[forge::primary(&Key::v4(1))]);
    assert_eq!(reason, "it has no user ID with a self-signature");
}

/// Returns a user ID as gpg exports it with `--export-options export-minimal`.
fn revoked_user_id_alone(key: &Key, id: &str) -> Vec<u8> {
    let draft = forge::draft(kind::CERTIFICATION_REVOCATION, key, &[]);
    let revocation = forge::certification(key, id, &draft);
    [forge::packet(13, id.as_bytes()), revocation].concat()
}

#[test]
fn a_revoked_user_id_without_self_signature_is_accepted() {
    let key = Key::v4(1);
    let revoked = revoked_user_id_alone(&key, "b");
    assert_eq!(parse_forged(&[forge::certificate(&key), revoked]), Ok(1));
}

#[test]
fn a_key_with_only_a_revoked_user_id_and_no_self_signature_is_refused() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let revoked = revoked_user_id_alone(&key, "b");
    let subkey = forge::subkey(&key, &sub, &[forge::key_flags(SIGN)]);
    let error = parse_forged(&[forge::primary(&key), revoked, subkey]).unwrap_err();
    assert!(matches!(error, OpenPgpError::RevokedKey(_)), "{error}");
}

#[test]
fn revoked_user_ids_with_and_without_self_signature_are_refused_since_they_crash_clients() {
    let key = Key::v4(1);
    let revoked = revoked_user_id_alone(&key, "b");
    let draft = forge::draft(kind::CERTIFICATION_REVOCATION, &key, &[]);
    let also_revoked = [
        forge::user_id(&key, "c", &[signing()]),
        forge::certification(&key, "c", &draft),
    ];
    let reason = malformed(&[forge::certificate(&key), revoked, also_revoked.concat()]);
    assert!(reason.contains("crashes"), "{reason}");
}

#[test]
fn an_empty_exportable_subpacket_is_refused_since_it_crashes_clients() {
    let key = Key::v4(1);
    let user_id = forge::user_id(&key, "a", &[signing(), forge::subpacket(4, &[])]);
    let reason = malformed(&[forge::primary(&key), user_id]);
    assert!(reason.contains("exportable"), "{reason}");
}

#[test]
fn a_direct_key_signature_after_a_user_id_is_refused() {
    let key = Key::v4(1);
    let direct = forge::key_signature(&key, &forge::draft(kind::DIRECT_KEY, &key, &[]));
    let reason = malformed(&[forge::certificate(&key), direct]);
    assert_eq!(
        reason,
        "a signature of type 0x1f follows a user ID, where it is not allowed"
    );
}

#[test]
fn a_direct_key_signature_before_the_user_ids_is_ignored() {
    let key = Key::v4(1);
    let direct = forge::key_signature(&key, &forge::draft(kind::DIRECT_KEY, &key, &[]));
    let packets = [
        forge::primary(&key),
        direct,
        forge::user_id(&key, "a", &[signing()]),
    ];
    assert_eq!(parse_forged(&packets), Ok(1));
}

#[test]
fn a_self_signature_with_an_unknown_critical_subpacket_is_skipped() {
    let key = Key::v4(1);
    let unknown = forge::critical(forge::subpacket(100, &[]));
    let reason = malformed(&[
        forge::primary(&key),
        forge::user_id(&key, "a", &[signing(), unknown]),
    ]);
    assert_eq!(reason, "it has no user ID with a self-signature");
}

#[test]
fn packets_without_meaning_are_skipped() {
    let key = Key::v4(1);
    let nothing = [
        forge::packet(10, b"PGP"),
        forge::packet(12, &[0]),
        forge::packet(60, b"?"),
    ];
    assert_eq!(
        parse_forged(&[forge::certificate(&key), nothing.concat()]),
        Ok(1)
    );
}

#[test]
fn packets_that_do_not_belong_in_a_key_are_refused() {
    for tag in [1, 3, 4, 8, 9, 11, 18, 20, 30] {
        let reason = malformed(&[forge::certificate(&Key::v4(1)), forge::packet(tag, &[0; 8])]);
        assert_eq!(
            reason,
            format!("a packet with tag {tag} is not allowed in a public key")
        );
    }
}

#[test]
fn a_version_6_key_is_accepted_with_a_direct_key_signature() {
    let key = Key::v6(1);
    let direct = forge::key_signature(&key, &forge::draft(kind::DIRECT_KEY, &key, &[signing()]));
    assert_eq!(parse_forged(&[forge::primary(&key), direct]), Ok(1));
}

#[test]
fn a_version_6_key_without_direct_key_signature_is_refused() {
    let key = Key::v6(1);
    let reason = malformed(&[
        forge::primary(&key),
        forge::user_id(&key, "a", &[signing()]),
    ]);
    assert_eq!(reason, "a version 6 key has no direct-key self-signature");
}

#[test]
fn keys_of_other_versions_are_refused() {
    for version in [2, 3, 5] {
        let mut body = Key::v4(1).body();
        body[0] = version;
        let error = parse_forged(&[forge::packet(6, &body)]).unwrap_err();
        assert!(matches!(error, OpenPgpError::UnknownKey { .. }), "{error}");
    }
}

#[test]
fn a_key_that_only_clients_can_check_is_refused_by_its_algorithm() {
    for (text, name) in [
        (text!("nistp521.asc"), "ECDSA on P-521"),
        (text!("brainpoolP256r1.asc"), "ECDSA on a Brainpool curve"),
    ] {
        let error = parse_signing_keys(text).unwrap_err();
        let OpenPgpError::UncheckableKey { algorithm, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(algorithm, name);
    }
}

#[test]
fn a_secret_key_is_refused_by_its_label_and_by_its_packets() {
    let key = Key::v4(1);
    let secret = forge::packet(5, &[key.body(), vec![0; 35]].concat());
    let secret_subkey = forge::packet(7, &[key.body(), vec![0; 35]].concat());
    let certificate = forge::certificate(&key);
    for text in [
        armor::write("PGP PRIVATE KEY BLOCK", &secret),
        forge::armored(&secret),
        forge::armored(&[certificate.clone(), secret_subkey].concat()),
        format!(
            "{}{}",
            forge::armored(&certificate),
            "-----BEGIN PGP PRIVATE KEY BLOCK-----"
        ),
    ] {
        let error = parse_signing_keys(&text).unwrap_err();
        assert_eq!(error, OpenPgpError::SecretKey);
        assert!(
            error.to_string().contains("gpg --armor --export"),
            "{error}"
        );
    }
}

#[test]
fn a_text_without_a_key_is_refused() {
    for text in ["", "\n", "key", "{}", "-----BEGIN", "\u{1F511}"] {
        assert_eq!(
            parse_signing_keys(text),
            Err(OpenPgpError::NoKey),
            "{text:?}"
        );
    }
}

#[test]
fn other_blocks_are_refused_by_their_label() {
    let error = parse_signing_keys(text!("default-armored.asc")).unwrap_err();
    assert_eq!(error, OpenPgpError::NotAKey("PGP SIGNATURE".to_owned()));
    let signature = armor::write(
        "PGP PUBLIC KEY BLOCK",
        super::fixture::binary!("default.sig"),
    );
    let error = parse_signing_keys(&signature).unwrap_err();
    let OpenPgpError::MalformedKey {
        key: KeyName::Place(1),
        reason,
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(reason, "it does not begin with a public key");
}

#[test]
fn damaged_armour_is_refused() {
    let whole = text!("ed25519.asc");
    let (headers, body) = whole.split_once("\n\n").unwrap();
    let changed = format!("{headers}\n\n{}", body.replacen(['B', 'C'], "A", 1));
    let (unfinished, _) = whole.split_once("-----END").unwrap();
    for (text, damage) in [
        (changed, "checksum"),
        (whole.replacen("\n\n", "\n", 1), "Key: value"),
        (whole.replacen("\n\n", "\n\n!", 1), "base64"),
        (unfinished.to_owned(), "END"),
        (whole.replace("END PGP PUBLIC", "END PGP OTHER"), "END"),
        (
            format!("{whole}-----BEGIN PGP PUBLIC KEY BLOCK-----\n"),
            "END",
        ),
    ] {
        let error = parse_signing_keys(&text).unwrap_err();
        assert!(matches!(error, OpenPgpError::KeyArmor(_)), "{error}");
        assert!(error.to_string().contains(damage), "{error}");
    }
}

#[test]
fn a_truncated_key_is_refused() {
    let whole = forge::certificate(&Key::v4(1));
    for end in 1..whole.len() {
        parse_signing_keys(&forge::armored(&whole[..end])).unwrap_err();
    }
}

#[test]
fn the_newest_copy_of_a_duplicate_key_counts() {
    let key = Key::v4(1);
    let older = forge::certificate(&key);
    let renewal = forge::created(forge::CREATED + 60);
    let renewed = forge::user_id(&key, "b", &[signing(), renewal]);
    let newer = [older.clone(), renewed].concat();
    for both in [[older.clone(), newer.clone()], [newer.clone(), older]] {
        let both = keys(&forge::armored(&both.concat()));
        assert_eq!(both, keys(&forge::armored(&newer)));
    }
}

#[test]
fn more_keys_than_the_limit_are_refused() {
    let limit = u8::try_from(limits::CERTIFICATES).unwrap();
    let many = |count| -> Vec<_> {
        (0..count)
            .map(|n| forge::certificate(&Key::v4(n)))
            .collect()
    };
    assert_eq!(parse_forged(&many(limit)), Ok(limits::CERTIFICATES));
    let error = parse_forged(&many(limit + 1)).unwrap_err();
    assert_eq!(error, OpenPgpError::TooManyKeys(limits::CERTIFICATES + 1));
}

#[test]
fn more_text_than_the_limit_is_refused() {
    let text = " ".repeat(limits::KEYS_BYTES + 1);
    let error = parse_signing_keys(&text).unwrap_err();
    assert_eq!(error, OpenPgpError::KeysTooLong(limits::KEYS_BYTES + 1));
    assert!(error.to_string().contains("export-minimal"), "{error}");
}

#[test]
fn a_key_that_would_be_too_long_when_stored_is_refused() {
    let filler = forge::packet(60, &[0; limits::KEYS_BYTES / 4 * 3 - 400]);
    let packets = [forge::certificate(&Key::v4(1)), filler].concat();
    let text = armor::write("PGP PUBLIC KEY BLOCK", &packets);
    let (headers, body) = text.split_once("\n\n").unwrap();
    let (digits, end) = body.split_once("\n=").unwrap();
    let one_line = format!("{headers}\n\n{}\n={end}", digits.replace('\n', ""));
    assert!(one_line.len() <= limits::KEYS_BYTES);
    let error = parse_signing_keys(&one_line).unwrap_err();
    assert_eq!(error, OpenPgpError::KeysTooLong(text.len()));
}

#[test]
fn more_self_signatures_than_the_limit_are_refused() {
    let key = Key::v4(1);
    let again = forge::certification(&key, "forged", &forge::draft(0x13, &key, &[]));
    let reason = malformed(&[
        forge::certificate(&key),
        again.repeat(limits::SELF_SIGNATURES),
    ]);
    assert!(reason.contains("128 self-signatures"), "{reason}");
}

#[test]
fn a_key_id_is_written_in_upper_case_and_read_in_either() {
    let id: KeyId = "00c0ffee00000001".parse().unwrap();
    assert_eq!(id.to_string(), "00C0FFEE00000001");
    assert_eq!(id.to_string().parse(), Ok(id));
}

#[test]
fn an_invalid_key_id_is_refused() {
    for text in [
        "",
        "C0FFEE",
        "0x00C0FFEE00000001",
        "+0C0FFEE00000001",
        "00C0FFEE0000000G",
    ] {
        assert_eq!(
            text.parse::<KeyId>(),
            Err(OpenPgpError::KeyId(text.to_owned()))
        );
    }
}

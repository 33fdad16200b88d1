//! Parsing of keys.

use super::fixture::{assert_refused, binary, keys, text};
use super::forge::{self, CERTIFY, Key, SIGN, kind};
use crate::{KeyId, OpenPgpError, armor, limits, parse_signing_keys};

fn parse_forged(packets: &[Vec<u8>]) -> Result<usize, OpenPgpError> {
    parse_signing_keys(&forge::armored(&packets.concat())).map(|keys| keys.len())
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
fn a_key_is_armoured_again_without_headers_and_with_short_lines_and_a_checksum() {
    let original = armor::read(text!("rsa2048.asc")).unwrap();
    let key = &keys(text!("rsa2048.asc"))[0];
    let rewritten = armor::read(key.ascii_armor()).unwrap();
    assert_eq!(rewritten.blocks[0].bytes, original.blocks[0].bytes);
    assert_eq!(keys(key.ascii_armor())[0], *key);
    let lines: Vec<&str> = key.ascii_armor().lines().collect();
    assert_eq!(lines[1], "");
    assert!(lines.iter().all(|line| line.len() <= 64));
    // gpg computed the same checksum.
    let checksum = lines[lines.len() - 2];
    assert!(checksum.starts_with('='));
    assert!(text!("rsa2048.asc").lines().any(|line| line == checksum));
}

#[test]
fn two_blocks_in_one_text_are_two_keys() {
    let (one, other) = (text!("rsa2048.asc"), text!("ed25519.asc"));
    let alone = [one, other].map(|text| keys(text).remove(0));
    assert_eq!(keys(&format!("{one}{other}")), alone);
    // Two keys in one block are armoured separately.
    let both = keys(text!("two-keys.asc"));
    assert_eq!((both.len(), &both[0]), (2, &alone[0]));
    assert_eq!(keys(both[1].ascii_armor())[0], both[1]);
}

#[test]
fn text_around_a_block_its_headers_and_crlf_are_ignored() {
    let whole = text!("ed25519.asc");
    let around = format!("my key:\n\n{whole}\nbye\n").replace('\n', "\r\n");
    let headers = whole.replacen("\n\n", "\nVersion: GnuPG v1\nComment: \n\n", 1);
    for text in [around, headers] {
        assert_eq!(keys(&text), keys(whole));
    }
}

/// Returns a user ID as gpg exports it with `--export-options export-minimal`.
fn revoked_user_id_alone(key: &Key, id: &str) -> Vec<u8> {
    let draft = forge::draft(kind::CERTIFICATION_REVOCATION, key, &[]);
    let revocation = forge::certification(key, id, &draft);
    [forge::packet(13, id.as_bytes()), revocation].concat()
}

/// Checks that a key is accepted, or refused with an error that contains `refusal`.
#[track_caller]
fn assert_read(case: &str, packets: &[Vec<u8>], refusal: Option<&str>) {
    match (parse_forged(packets), refusal) {
        (Ok(1), None) => {}
        (Err(error), Some(refusal)) => {
            assert!(format!("{error:?}").contains(refusal), "{case}: {error:?}");
        }
        (other, _) => panic!("{case}: {other:?}"),
    }
}

#[test]
fn a_revoked_key_is_refused() {
    assert_refused(parse_signing_keys(text!("revoked.asc")), "RevokedKey");
}

#[test]
fn a_key_without_key_flags_is_refused() {
    assert_refused(
        parse_signing_keys(text!("certify-only.asc")),
        "NoSigningKey",
    );
    let key = Key::v4(1);
    let user_id = |id: &str, more: &[Vec<u8>]| forge::user_id(&key, id, more);
    let certifying = || forge::key_flags(CERTIFY);
    let mut unsigned = forge::draft(0x13, &key, &[]);
    unsigned.unhashed = signing();
    let mut newer = forge::draft(0x13, &key, &[]);
    let created = forge::created(forge::CREATED + 1);
    newer.hashed = [created, key.issuer(), certifying()].concat();
    let newer = forge::certification(&key, "a", &newer);
    let marked = user_id("a", &[signing(), forge::subpacket(25, &[1])]);
    let refusal = Some("NoSigningKey");
    for (case, user_ids, refusal) in [
        ("without flags", vec![user_id("a", &[])], refusal),
        (
            "with flags outside of the signed area",
            vec![
                forge::packet(13, b"a"),
                forge::certification(&key, "a", &unsigned),
            ],
            refusal,
        ),
        (
            "with a newer self-signature without the flag",
            vec![user_id("a", &[signing()]), newer],
            refusal,
        ),
        (
            "with an equal user ID without the flag",
            vec![user_id("a", &[signing()]), user_id("b", &[certifying()])],
            refusal,
        ),
        (
            "with the flag at the user ID marked as primary",
            vec![marked, user_id("b", &[certifying()])],
            None,
        ),
    ] {
        assert_read(case, &[forge::primary(&key), user_ids.concat()], refusal);
    }
}

#[test]
fn a_subkey_signs_if_it_is_bound_and_has_signed_its_binding() {
    let (key, sub, thief) = (Key::v4(1), Key::v4(2), Key::v4(3));
    let flags = || forge::key_flags(SIGN);
    let certifying = forge::user_id(&key, "a", &[forge::key_flags(CERTIFY)]);
    let certifying = [forge::primary(&key), certifying].concat();
    let subkey = forge::subkey(&key, &sub, &[flags()]);
    let revocation = forge::draft(kind::SUBKEY_REVOCATION, &key, &[]);
    let revocation = forge::binding(&key, &sub, &revocation);
    let bound = |more: &[Vec<u8>]| {
        let draft = forge::draft(kind::SUBKEY_BINDING, &key, more);
        let binding = forge::binding(&key, &sub, &draft);
        [forge::packet(14, &sub.body()), binding].concat()
    };
    let stolen = bound(&[forge::cross_signature(&key, &thief, &[]), flags()]);
    let whole = || forge::certificate(&key);
    for (case, key, subkey, refusal) in [
        ("valid", certifying.clone(), subkey.clone(), None),
        (
            "revoked",
            certifying,
            [subkey, revocation].concat(),
            Some("NoSigningKey"),
        ),
        (
            "without a cross-signature",
            whole(),
            bound(&[flags()]),
            Some("a signing subkey has no cross-signature"),
        ),
        (
            "cross-signed by another key",
            whole(),
            stolen,
            Some("of: \"cross-certification\""),
        ),
        (
            "bound by another key",
            whole(),
            forge::subkey(&thief, &sub, &[flags()]),
            Some("of: \"subkey\""),
        ),
        (
            "without a binding",
            whole(),
            forge::packet(14, &sub.body()),
            Some("no binding signature"),
        ),
    ] {
        assert_read(case, &[key, subkey], refusal);
    }
}

#[test]
fn forged_and_revoked_user_ids_and_keys_are_refused() {
    let (key, sub, other) = (Key::v4(1), Key::v4(2), Key::v4(3));
    let whole = || forge::certificate(&key);
    let user_id = || forge::user_id(&key, "a", &[signing()]);
    let draft = forge::draft(kind::CERTIFICATION_REVOCATION, &key, &[]);
    let forged = other.sign(&forge::draft(0x13, &key, &[signing()]), b"anything");
    let forged = [forge::packet(13, b"a"), forge::packet(2, &forged)].concat();
    let revocation = forge::draft(kind::KEY_REVOCATION, &other, &[]);
    let revocation = forge::packet(2, &other.sign(&revocation, &key.hashed()));
    let alone = || revoked_user_id_alone(&key, "b");
    let subkey = forge::subkey(&key, &sub, &[forge::key_flags(SIGN)]);
    let also_revoked = forge::user_id(&key, "c", &[signing()]);
    let also_revoked = [also_revoked, forge::certification(&key, "c", &draft)].concat();
    for (case, packets, refusal) in [
        (
            "with a revocation of its only user ID",
            vec![whole(), forge::certification(&key, "forged", &draft)],
            Some("RevokedKey"),
        ),
        (
            "with a forged self-signature",
            vec![whole(), forged],
            Some("of: \"user ID\""),
        ),
        (
            "with a revocation by another key",
            vec![forge::primary(&key), revocation, user_id()],
            Some("of: \"key revocation\""),
        ),
        (
            "without a user ID",
            vec![forge::primary(&key)],
            Some("it has no user ID with a self-signature"),
        ),
        (
            "with a revoked user ID without a self-signature",
            vec![whole(), alone()],
            None,
        ),
        (
            "with only such a user ID",
            vec![forge::primary(&key), alone(), subkey],
            Some("RevokedKey"),
        ),
        (
            "with revoked user IDs with and without one, which crashes clients",
            vec![whole(), alone(), also_revoked],
            Some("crashes"),
        ),
    ] {
        assert_read(case, &packets, refusal);
    }
}

#[test]
fn packets_are_read_where_clients_read_them() {
    let key = Key::v4(1);
    let user_id = |more: Vec<u8>| forge::user_id(&key, "a", &[signing(), more]);
    let direct = || forge::key_signature(&key, &forge::draft(kind::DIRECT_KEY, &key, &[]));
    let unknown = forge::critical(forge::subpacket(100, &[]));
    let without_meaning = [
        forge::packet(10, b"PGP"),
        forge::packet(12, &[0]),
        forge::packet(60, b"?"),
    ];
    let six = Key::v6(1);
    let of_six = forge::draft(kind::DIRECT_KEY, &six, &[signing()]);
    for (case, packets, refusal) in [
        (
            "an empty exportable subpacket, which crashes clients",
            vec![forge::primary(&key), user_id(forge::subpacket(4, &[]))],
            Some("exportable"),
        ),
        (
            "a direct-key signature after a user ID",
            vec![forge::certificate(&key), direct()],
            Some("a signature of type 0x1f follows a user ID"),
        ),
        (
            "a direct-key signature before the user IDs",
            vec![forge::primary(&key), direct(), user_id(Vec::new())],
            None,
        ),
        (
            "a skipped self-signature",
            vec![forge::primary(&key), user_id(unknown)],
            Some("it has no user ID with a self-signature"),
        ),
        (
            "packets without meaning",
            vec![forge::certificate(&key), without_meaning.concat()],
            None,
        ),
        (
            "version 6",
            vec![forge::primary(&six), forge::key_signature(&six, &of_six)],
            None,
        ),
        (
            "version 6 without a direct-key signature",
            vec![
                forge::primary(&six),
                forge::user_id(&six, "a", &[signing()]),
            ],
            Some("a version 6 key has no direct-key self-signature"),
        ),
    ] {
        assert_read(case, &packets, refusal);
    }
    for tag in [1, 3, 4, 8, 9, 11, 18, 20, 30] {
        let packets = [forge::certificate(&key), forge::packet(tag, &[0; 8])];
        let refusal = format!("a packet with tag {tag} is not allowed in a public key");
        assert_read("another packet", &packets, Some(&refusal));
    }
}

#[test]
fn keys_that_clients_or_this_registry_cannot_check_are_refused_by_name() {
    for version in [2, 3, 5] {
        let mut body = Key::v4(1).body();
        body[0] = version;
        assert_refused(parse_forged(&[forge::packet(6, &body)]), "UnknownKey");
    }
    for (text, name) in [
        (text!("nistp521.asc"), "ECDSA on P-521"),
        (text!("brainpoolP256r1.asc"), "ECDSA on a Brainpool curve"),
    ] {
        let error = parse_signing_keys(text).unwrap_err();
        assert!(
            matches!(error, OpenPgpError::UncheckableKey { algorithm, .. } if algorithm == name),
            "{error}"
        );
    }
}

#[test]
fn a_secret_key_is_refused_by_its_label_and_by_its_packets() {
    let key = Key::v4(1);
    let secret = forge::packet(5, &[key.body(), vec![0; 35]].concat());
    let secret_subkey = forge::packet(7, &[key.body(), vec![0; 35]].concat());
    let certificate = forge::certificate(&key);
    let label = "-----BEGIN PGP PRIVATE KEY BLOCK-----";
    for text in [
        armor::write("PGP PRIVATE KEY BLOCK", &secret),
        forge::armored(&secret),
        forge::armored(&[certificate.clone(), secret_subkey].concat()),
        format!("{}{label}", forge::armored(&certificate)),
    ] {
        assert_refused(parse_signing_keys(&text), "SecretKey");
    }
}

#[test]
fn a_text_without_a_key_is_refused() {
    let signature = armor::write("PGP PUBLIC KEY BLOCK", binary!("default.sig"));
    for (text, refusal) in [
        ("", "NoKey"),
        ("\n", "NoKey"),
        ("key", "NoKey"),
        ("-----BEGIN", "NoKey"),
        ("\u{1F511}", "NoKey"),
        (text!("default-armored.asc"), "NotAKey(\"PGP SIGNATURE\")"),
        (
            &signature,
            "MalformedKey { key: Place(1), reason: \"it does not begin with a public key",
        ),
    ] {
        assert_refused(parse_signing_keys(text), refusal);
    }
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
        assert!(
            matches!(error, OpenPgpError::KeyArmor(found) if found.contains(damage)),
            "{error}"
        );
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
fn more_than_the_limits_is_refused() {
    let limit = u8::try_from(limits::CERTIFICATES).unwrap();
    let many = |count| -> Vec<_> {
        (0..count)
            .map(|n| forge::certificate(&Key::v4(n)))
            .collect()
    };
    assert_eq!(parse_forged(&many(limit)), Ok(limits::CERTIFICATES));
    assert_refused(parse_forged(&many(limit + 1)), "TooManyKeys(17)");
    let text = " ".repeat(limits::KEYS_BYTES + 1);
    assert_refused(parse_signing_keys(&text), "KeysTooLong(65537)");
    let key = Key::v4(1);
    let again = forge::certification(&key, "forged", &forge::draft(0x13, &key, &[]));
    let again = again.repeat(limits::SELF_SIGNATURES);
    let refusal = Some("it has more than 128 self-signatures");
    assert_read("certified", &[forge::certificate(&key), again], refusal);
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
fn a_key_id_is_written_in_upper_case_and_read_in_either() {
    let id: KeyId = "00c0ffee00000001".parse().unwrap();
    assert_eq!(id.to_string(), "00C0FFEE00000001");
    assert_eq!(id.to_string().parse(), Ok(id));
    for text in [
        "",
        "C0FFEE",
        "000C0FFEE00000001",
        "+0C0FFEE00000001",
        "00C0FFEE0000000G",
    ] {
        assert_refused(text.parse::<KeyId>(), "KeyId(");
    }
}

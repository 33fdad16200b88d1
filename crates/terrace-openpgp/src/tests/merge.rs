//! Several copies of one key.

use std::collections::BTreeMap;

use super::fixture::{NEXT_DAY, keys, text};
use super::forge::{self, CERTIFY, CREATED, Key, SIGN, kind};
use crate::{OpenPgpError, SigningKey, key_text, parse_signing_keys};
use terrace_base::time::UnixTime;

const YEAR: u32 = 31_536_000;

fn signing() -> Vec<u8> {
    forge::key_flags(CERTIFY | SIGN)
}

/// Returns a copy of a key.
fn copy(packets: &[Vec<u8>]) -> SigningKey {
    keys(&forge::armored(&packets.concat())).remove(0)
}

/// Returns a copy whose user ID was certified `age` seconds after the creation of the key, with this lifetime of the key.
fn valid_for(key: &Key, age: u32, lifetime: u32) -> Vec<Vec<u8>> {
    let expires = forge::subpacket(9, &lifetime.to_be_bytes());
    let more = [signing(), forge::created(CREATED + age), expires];
    vec![forge::primary(key), forge::user_id(key, "a", &more)]
}

/// Merges two copies in both orders, checks that this makes no difference, and that either copy then adds nothing.
fn merged(one: &[Vec<u8>], other: &[Vec<u8>]) -> SigningKey {
    let (one, other) = (copy(one), copy(other));
    let merged = one.merged(&other).unwrap();
    let reversed = other.merged(&one).unwrap();
    assert_eq!(merged.expires(), reversed.expires());
    let subkeys = |key: &SigningKey| BTreeMap::from_iter(key.signing_subkeys());
    assert_eq!(subkeys(&merged), subkeys(&reversed));
    for copy in [&one, &other, &merged] {
        assert_eq!(merged.merged(copy).unwrap(), merged);
    }
    merged
}

#[test]
fn the_newest_self_signature_of_two_copies_counts() {
    let key = Key::v4(1);
    let (old, new) = (valid_for(&key, 0, YEAR), valid_for(&key, 60, 2 * YEAR));
    let both = merged(&old, &new);
    assert_eq!(both, copy(&new));
    let end = UnixTime(u64::from(CREATED + 2 * YEAR));
    assert_eq!(both.expires(), Some(end));
    assert_eq!(both.expiry_warning(end), None);
    let warning = both.expiry_warning(end.plus(1)).unwrap();
    assert!(warning.contains("expired at 2025-12-31"), "{warning}");
    // An owner may shorten the validity as well.
    let shorter = valid_for(&key, 90, YEAR / 2);
    assert_eq!(merged(&shorter, &new), copy(&shorter));
}

#[test]
fn the_signatures_of_verified_copies_are_not_verified_again() {
    let key = Key::v4(1);
    let mut newer = valid_for(&key, 60, YEAR).concat();
    *newer.last_mut().unwrap() ^= 1;
    let text = forge::armored(&newer);
    assert!(parse_signing_keys(&text).is_err());
    let newer = SigningKey::from_stored(&text).unwrap();
    newer.merged(&copy(&valid_for(&key, 0, YEAR))).unwrap();
}

#[test]
fn a_deleted_user_id_does_not_return_with_its_dates() {
    let key = Key::v4(1);
    let main = forge::subpacket(25, &[1]);
    let expires = |lifetime: u32| forge::subpacket(9, &lifetime.to_be_bytes());
    let id = |id, more: &[Vec<u8>]| vec![forge::primary(&key), forge::user_id(&key, id, more)];
    let old = id("old", &[signing(), main, expires(YEAR)]);
    let new = id("new", &[signing(), forge::created(CREATED + 60)]);
    assert_eq!(merged(&old, &new), copy(&new));
}

#[test]
fn user_ids_and_signing_subkeys_of_both_copies_stay() {
    let (key, first, second) = (Key::v4(1), Key::v4(2), Key::v4(3));
    let id = |id, more: &[Vec<u8>]| forge::user_id(&key, id, more);
    let start = || vec![forge::primary(&key), id("a", &[signing()])];
    let subkey = |subkey| forge::subkey(&key, subkey, &[forge::key_flags(SIGN)]);
    let new = id("b", &[signing(), forge::created(CREATED + 60)]);
    let one = [start(), vec![subkey(&first)]].concat();
    let other = [start(), vec![new, subkey(&second)]].concat();
    let both = merged(&one, &other);
    assert_eq!(both.signing_subkeys().len(), 2);
    assert_eq!(both.certificate.user_ids.len(), 2);
    let twice = forge::armored(&[other, one].concat().concat());
    assert_eq!(keys(&twice)[0].signing_subkeys().len(), 2);
}

#[test]
fn a_revoked_part_stays_revoked() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let subkey = forge::subkey(&key, &sub, &[forge::key_flags(SIGN)]);
    let revocation = forge::draft(kind::SUBKEY_REVOCATION, &key, &[]);
    let revocation = forge::binding(&key, &sub, &revocation);
    let revoked_id = |id: &str| {
        let draft = forge::draft(kind::CERTIFICATION_REVOCATION, &key, &[]);
        forge::certification(&key, id, &draft)
    };
    let (a, b) = ("a", "b");
    let id = |id: &str| forge::user_id(&key, id, &[signing()]);
    let old = [forge::primary(&key), id(a), id(b), subkey.clone()];
    let revoked = [revoked_id(b), subkey, revocation];
    let new = [&[forge::primary(&key), id(a), id(b)][..], &revoked].concat();
    let both = merged(&old, &new);
    assert_eq!(both.signing_subkeys(), []);
    let revoked = both.certificate.user_ids.iter();
    let revoked = revoked.filter(|id| !id.revocations.is_empty());
    assert_eq!(revoked.count(), 1);
    assert!(!both.supersedes(&copy(&old)));
    assert!(copy(&old).supersedes(&both));
    // gpg exports a revoked user ID without its self-signature, and clients crash over a mixture.
    let alone = |id: &str| [forge::packet(13, id.as_bytes()), revoked_id(id)].concat();
    let minimal = [forge::primary(&key), id(a), alone(b), alone("c")];
    merged(&old, &minimal);
}

#[test]
fn parts_that_clients_do_not_need_are_dropped() {
    let certified = &keys(text!("certified.asc"))[0];
    let own = forge::armored(&[valid_for(&Key::v4(1), 0, YEAR).concat()].concat());
    assert_eq!(certified.merged(certified).unwrap(), *certified);
    assert!(certified.merged(&keys(&own)[0]).is_err(), "another key");
    let (key, other) = (Key::v4(1), Key::v4(9));
    let mut third_party = valid_for(&key, 0, YEAR);
    let draft = forge::draft(0x13, &other, &[]);
    third_party.push(forge::certification(&other, "a", &draft));
    let newer = valid_for(&key, 60, YEAR);
    assert_eq!(merged(&third_party, &newer), copy(&newer));
}

#[test]
fn a_copy_supersedes_another_if_no_client_loses_a_signature() {
    let (key, sub) = (Key::v4(1), Key::v4(2));
    let old = copy(&valid_for(&key, 0, YEAR));
    let with = |more: &[Vec<u8>], parts: &[Vec<u8>]| {
        let more = [&[forge::created(CREATED + 60)], more].concat();
        let start = [forge::primary(&key), forge::user_id(&key, "a", &more)];
        copy(&[&start, parts].concat())
    };
    let subkey = forge::subkey(&key, &sub, &[forge::key_flags(SIGN)]);
    assert!(with(&[signing()], &[]).supersedes(&old));
    assert!(with(&[signing()], std::slice::from_ref(&subkey)).supersedes(&old));
    assert!(!with(&[forge::key_flags(CERTIFY)], &[subkey]).supersedes(&old));
    let notation = forge::critical(forge::notation("x@example.com"));
    assert!(!with(&[signing(), notation], &[]).supersedes(&old));
    let lifetime = forge::subpacket(3, &YEAR.to_be_bytes());
    assert!(!with(&[signing(), lifetime], &[]).supersedes(&old));
    let [rsa, mixed] = [text!("rsa2048.asc"), text!("rsa2048-cv25519.asc")].map(keys);
    assert!(!mixed[0].supersedes(&rsa[0]));
}

#[test]
fn a_self_signature_from_the_future_is_refused() {
    let ahead = copy(&valid_for(&Key::v4(1), 600, YEAR));
    let created = u64::from(CREATED) + 600;
    ahead.check_dates(UnixTime(created)).unwrap();
    let error = ahead.check_dates(UnixTime(created - 1)).unwrap_err();
    let is_ahead = matches!(error, OpenPgpError::FutureSignature { seconds: 1, .. });
    assert!(is_ahead, "{error}");
}

#[test]
fn a_stored_key_is_read_without_verifying_it_again() {
    let key = keys(text!("subkey.asc")).remove(0);
    assert_eq!(SigningKey::from_stored(key.ascii_armor()), Ok(key));
    SigningKey::from_stored("").unwrap_err();
}

#[test]
fn the_encodings_of_powershell_are_read() {
    let key = text!("rsa2048.asc");
    let bytes = |to: fn(u16) -> [u8; 2], text: &str| -> Vec<u8> {
        text.encode_utf16().flat_map(to).collect()
    };
    let marked = format!("\u{feff}{}", key.replace('\n', "\r\n"));
    for file in [
        marked.clone().into_bytes(),
        bytes(u16::to_le_bytes, &marked),
        bytes(u16::to_be_bytes, &marked),
    ] {
        assert_eq!(keys(&key_text(&file).unwrap()), keys(key));
    }
    for file in [b"\xff\xfe\x00".as_slice(), b"\xff\xfe\x00\xd8", b"\x99\x01"] {
        assert_eq!(key_text(file), None, "{file:?}");
    }
    assert_eq!(keys(key)[0].expiry_warning(UnixTime(NEXT_DAY)), None);
}

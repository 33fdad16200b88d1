//! Which clients are too old for which keys. What is said of `golang.org/x/crypto/openpgp` was seen of its version
//! v0.1.0 with these files.

use super::fixture::{binary, keys, text};
use super::forge::{self, Key, certification, draft, kind, primary};
use crate::armor;
use crate::{TooOld, parse_signing_keys};

const BEFORE_GO_CRYPTO: &str = "Terraform before 1.6.0 cannot verify ";
const BEFORE_RFC_9580: &str = "Terraform before 1.12.0 and OpenTofu before 1.11.0 cannot verify ";

fn told(key: &str) -> String {
    let keys = parse_signing_keys(key).unwrap();
    let too_old: Vec<String> = keys
        .iter()
        .filter_map(|key| Some(key.too_old()?.to_string()))
        .collect();
    too_old.join("\n")
}

fn packets_of(armored: &str) -> Vec<u8> {
    armor::read(armored).unwrap().blocks.remove(0).bytes
}

#[test]
fn rsa_dsa_and_ecdsa_keys_are_verified_by_all_clients() {
    for key in [
        text!("rsa2048.asc"),
        text!("dsa2048.asc"),
        text!("nistp256.asc"),
        text!("nistp384.asc"),
    ] {
        assert_eq!(told(key), "");
    }
    for signature in [
        binary!("rsa2048.sig"),
        binary!("dsa2048.sig"),
        binary!("nistp256.sig"),
    ] {
        assert_eq!(TooOld::for_signature(signature), None);
    }
}

#[test]
fn an_eddsa_key_is_not_verified_by_terraform_before_1_6_2_3_11() {
    for key in [
        text!("ed25519.asc"),
        text!("default.asc"),
        text!("subkey.asc"),
    ] {
        let told = told(key);
        assert!(told.starts_with(BEFORE_GO_CRYPTO), "{told}");
        assert!(
            told.contains("an EdDSA key (algorithm 22): sign with an RSA key"),
            "{told}"
        );
    }
    for signature in [binary!("ed25519.sig"), binary!("sha384.sig")] {
        let told = TooOld::for_signature(signature).unwrap().to_string();
        assert!(told.starts_with(BEFORE_GO_CRYPTO), "{told}");
    }
}

#[test]
fn a_key_of_rfc_9580_is_not_verified_by_more_clients() {
    let key = Key::v6(1);
    let direct = forge::key_signature(
        &key,
        &draft(
            kind::DIRECT_KEY,
            &key,
            &[forge::key_flags(forge::CERTIFY | forge::SIGN)],
        ),
    );
    let told = told(&forge::armored(&[primary(&key), direct].concat()));
    assert!(told.starts_with(BEFORE_RFC_9580), "{told}");
    assert!(told.contains("an Ed25519 key of version 6"), "{told}");
    let signature = forge::detached(&key, b"data", &[]);
    let told = TooOld::for_signature(&signature).unwrap().to_string();
    assert!(told.starts_with(BEFORE_RFC_9580), "{told}");
}

#[test]
fn one_packet_of_another_kind_spoils_an_rsa_key_for_terraform_before_1_6_2_3_11() {
    let certifier = Key::v4(1);
    let rsa = packets_of(text!("rsa2048.asc"));
    // Clients pass over a certification by somebody else without checking it.
    let certified = certification(
        &certifier,
        "rsa2048",
        &draft(kind::POSITIVE_CERTIFICATION, &certifier, &[]),
    );
    let told = told(&forge::armored(&[rsa, certified].concat()));
    assert!(told.starts_with(BEFORE_GO_CRYPTO), "{told}");
    assert!(told.contains("export-minimal"), "{told}");

    // As gpg makes it.
    let told = self::told(text!("rsa2048-cv25519.asc"));
    assert!(told.starts_with(BEFORE_GO_CRYPTO), "{told}");
    assert!(
        told.contains("an ECDH key (algorithm 18) as a subkey"),
        "{told}"
    );
    assert!(told.contains("drop-subkey='key_algo = 18'"), "{told}");
}

#[test]
fn only_the_keys_that_are_affected_are_named() {
    let both = format!("{}\n{}", text!("rsa2048.asc"), text!("ed25519.asc"));
    let affected = keys(&both)
        .into_iter()
        .filter(|key| key.too_old().is_some());
    assert_eq!(affected.count(), 1);
}

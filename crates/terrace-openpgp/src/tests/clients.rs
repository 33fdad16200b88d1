//! Warnings about clients that are too old for a key. The behaviour of `golang.org/x/crypto/openpgp` was
//! observed in version v0.1.0 with these files.

use super::fixture::{binary, text};
use super::forge::{self, Key, certification, draft, kind, primary};
use crate::armor;
use crate::{SigningKey, parse_signing_keys, too_old_for_signature};

const BEFORE_GO_CRYPTO: &str = "Terraform before 1.6.0 cannot verify ";
const BEFORE_RFC_9580: &str = "Terraform before 1.12.0 and OpenTofu before 1.11.0 cannot verify ";

fn warning(key: &str) -> String {
    let keys = parse_signing_keys(key).unwrap();
    let too_old: Vec<String> = keys.iter().filter_map(SigningKey::too_old).collect();
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
        assert_eq!(warning(key), "");
    }
    for signature in [
        binary!("rsa2048.sig"),
        binary!("dsa2048.sig"),
        binary!("nistp256.sig"),
    ] {
        assert_eq!(too_old_for_signature(signature), None);
    }
}

#[test]
fn an_eddsa_key_is_not_verified_by_terraform_before_1_6_2_3_11() {
    for key in [
        text!("ed25519.asc"),
        text!("default.asc"),
        text!("subkey.asc"),
    ] {
        let warning = warning(key);
        assert!(warning.starts_with(BEFORE_GO_CRYPTO), "{warning}");
        assert!(
            warning.contains("an EdDSA key (algorithm 22): sign with an RSA key"),
            "{warning}"
        );
    }
    for signature in [binary!("ed25519.sig"), binary!("sha384.sig")] {
        let warning = too_old_for_signature(signature).unwrap();
        assert!(warning.starts_with(BEFORE_GO_CRYPTO), "{warning}");
    }
}

#[test]
fn a_key_of_rfc_9580_is_unsupported_by_more_clients() {
    let key = Key::v6(1);
    let direct = forge::key_signature(
        &key,
        &draft(
            kind::DIRECT_KEY,
            &key,
            &[forge::key_flags(forge::CERTIFY | forge::SIGN)],
        ),
    );
    let warning = warning(&forge::armored(&[primary(&key), direct].concat()));
    assert!(warning.starts_with(BEFORE_RFC_9580), "{warning}");
    assert!(warning.contains("an Ed25519 key of version 6"), "{warning}");
    let signature = forge::detached(&key, b"data", &[]);
    let warning = too_old_for_signature(&signature).unwrap();
    assert!(warning.starts_with(BEFORE_RFC_9580), "{warning}");
}

#[test]
fn one_unsupported_packet_makes_terraform_before_1_6_refuse_an_rsa_key_2_3_11() {
    let certifier = Key::v4(1);
    let rsa = packets_of(text!("rsa2048.asc"));
    // Clients skip a third-party certification without checking it.
    let certified = certification(
        &certifier,
        "rsa2048",
        &draft(kind::POSITIVE_CERTIFICATION, &certifier, &[]),
    );
    let warning = warning(&forge::armored(&[rsa, certified].concat()));
    assert!(warning.starts_with(BEFORE_GO_CRYPTO), "{warning}");
    assert!(warning.contains("export-minimal"), "{warning}");

    // The default structure of a gpg key.
    let warning = self::warning(text!("rsa2048-cv25519.asc"));
    assert!(warning.starts_with(BEFORE_GO_CRYPTO), "{warning}");
    assert!(
        warning.contains("an ECDH key (algorithm 18) as a subkey"),
        "{warning}"
    );
    assert!(warning.contains("drop-subkey='key_algo = 18'"), "{warning}");
}

//! Properties: no input panics, and no changed input is accepted.

use proptest::prelude::*;

use super::fixture::{NEXT_DAY, SIGNED, binary, keys, text};
use super::forge::{self, CERTIFY, Key, SIGN};
use crate::{armor, detached_signature, parse_signing_keys, verify_detached};

/// Returns keys with all the parts that the parser reads.
fn certificates() -> Vec<Vec<u8>> {
    let dearmored = |text| armor::read(text).unwrap().blocks.remove(0).bytes;
    let (key, sub, six) = (Key::v4(1), Key::v4(2), Key::v6(3));
    let flags = forge::key_flags(CERTIFY | SIGN);
    let version_6 = forge::key_signature(&six, &forge::draft(0x1F, &six, &[flags]));
    vec![
        dearmored(text!("rsa2048.asc")),
        dearmored(text!("dsa2048.asc")),
        dearmored(text!("nistp256.asc")),
        dearmored(text!("nistp384.asc")),
        dearmored(text!("default.asc")),
        dearmored(text!("revoked-subkey.asc")),
        dearmored(text!("two-names.asc")),
        dearmored(text!("certified.asc")),
        [
            forge::certificate(&key),
            forge::subkey(&key, &sub, &[forge::key_flags(SIGN)]),
        ]
        .concat(),
        [forge::primary(&six), version_6].concat(),
    ]
}

const SIGNATURES: [(&str, &[u8]); 6] = [
    (text!("rsa2048.asc"), binary!("rsa2048.sig")),
    (text!("dsa2048.asc"), binary!("dsa2048.sig")),
    (text!("nistp256.asc"), binary!("nistp256.sig")),
    (text!("nistp384.asc"), binary!("nistp384.sig")),
    (text!("default.asc"), binary!("default.sig")),
    (text!("default.asc"), binary!("two-signers.sig")),
];

/// Changes to an input: at a position, the number of bytes to remove and the bytes to insert.
type Changes = Vec<(prop::sample::Index, usize, Vec<u8>)>;

fn changes() -> impl Strategy<Value = Changes> {
    let byte = prop_oneof![any::<u8>(), Just(0), Just(0xff)];
    let change = (
        any::<prop::sample::Index>(),
        0..3usize,
        prop::collection::vec(byte, 0..3),
    );
    prop::collection::vec(change, 1..4)
}

fn changed(mut bytes: Vec<u8>, changes: &Changes) -> Vec<u8> {
    for (place, gone, come) in changes {
        let start = place.index(bytes.len() + 1);
        let end = (start + gone).min(bytes.len());
        bytes.splice(start..end, come.iter().copied());
    }
    bytes
}

proptest! {
    #[test]
    fn no_packets_as_a_key_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse_signing_keys(&forge::armored(&bytes));
    }

    #[test]
    fn no_signature_packet_panics(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let body = [&[4, 0, 1, 8], body.as_slice()].concat();
        let _ = detached_signature(&forge::packet(2, &body));
    }

    #[test]
    fn a_changed_key_does_not_panic(
        certificate in prop::sample::select(certificates()),
        changes in changes(),
    ) {
        let text = forge::armored(&changed(certificate, &changes));
        if let Ok(keys) = parse_signing_keys(&text) {
            for (_, signature) in SIGNATURES {
                let _ = verify_detached(&keys, SIGNED, signature, NEXT_DAY);
            }
            // The served form of a key parses to the same key.
            for key in &keys {
                prop_assert_eq!(&parse_signing_keys(key.ascii_armor()).unwrap(), &vec![key.clone()]);
            }
        }
    }

    #[test]
    fn a_changed_signature_does_not_panic(
        (key, signature) in prop::sample::select(SIGNATURES.to_vec()),
        changes in changes(),
    ) {
        let signature = changed(signature.to_vec(), &changes);
        let _ = detached_signature(&signature);
        let _ = verify_detached(&keys(key), SIGNED, &signature, NEXT_DAY);
    }

    #[test]
    fn changed_data_is_never_accepted(
        (key, signature) in prop::sample::select(SIGNATURES.to_vec()),
        changes in changes(),
    ) {
        let data = changed(SIGNED.to_vec(), &changes);
        let accepted = verify_detached(&keys(key), &data, signature, NEXT_DAY).is_ok();
        prop_assert_eq!(accepted, data == SIGNED);
    }
}

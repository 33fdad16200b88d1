//! Checksum files, OpenPGP keys and signatures.

use terrace_core::model::shasums::Shasums;
use terrace_openpgp::{detached_signature, parse_signing_keys, verify_detached};

use crate::{NOW, split, text};

/// Parses the text of SHA256SUMS.
pub fn shasums(data: &[u8]) {
    let Some(text) = text(data) else { return };
    match Shasums::parse(text) {
        Ok(parsed) => assert_eq!(parsed.as_str(), text),
        Err(errors) => assert!(!errors.is_empty(), "an error has a reason"),
    }
}

/// Parses armoured keys, up to a NUL, and a signature.
pub fn openpgp(data: &[u8]) {
    let (keys, signature) = split(data, 0);
    let keys = text(keys).and_then(|keys| parse_signing_keys(keys).ok());
    for signature in [signature, data] {
        let Ok(signature) = detached_signature(signature) else {
            continue;
        };
        if let Some(keys) = &keys {
            let _ = verify_detached(keys, b"signed", &signature, NOW.0);
        }
    }
}

//! Properties: no other token than a signed one is accepted.

use super::forge::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn no_random_claims_are_accepted(claims in "\\{(\"(iss|aud|exp|iat|sub)\":(\"\\PC{0,9}\"|[0-9e.-]{1,20}|\\[\\]),?){0,5}\\}") {
        let token = compact(&header().to_string(), &claims, |message| RSA.sign("RS256", message));
        prop_assert!(verify(&token).is_err());
    }

    #[test]
    fn a_token_with_any_other_byte_is_refused(at in 0_usize..2_000, byte in 0x20_u8..0x7f) {
        let mut bytes = by(&ED25519, &serde_json::json!({ "alg": "EdDSA", "kid": "ed25519" }), &job()).into_bytes();
        let at = at % bytes.len();
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        let token = String::from_utf8(bytes).unwrap();
        prop_assert!(verify(&token).is_err());
    }
}

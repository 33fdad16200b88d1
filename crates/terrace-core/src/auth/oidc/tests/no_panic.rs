//! Arbitrary texts as rules.

use crate::auth::oidc::{LoginRules, TrustedPublishers};
use proptest::prelude::*;

proptest! {
    #[test]
    fn no_rules_panic(text in "\\PC{0,60}") {
        let _ = text.parse::<TrustedPublishers>();
        let _ = text.parse::<LoginRules>();
    }
}

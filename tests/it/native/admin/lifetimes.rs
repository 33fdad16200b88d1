//! The maximum lifetime of tokens.

use serde_json::json;
use terrace_base::time::UnixTime;

use crate::support::Registry;
use crate::support::memory::Memory;
use crate::support::tokens::{create, post};

const TOKENS: &str = "/admin/v1/tokens";
const MAXIMUM: [(&str, &str); 1] = [("TERRACE_MAX_TOKEN_LIFETIME", "3600")];

#[test]
fn a_new_token_must_end_within_the_maximum() {
    let registry = Registry::in_memory(&Memory::new(), &MAXIMUM);
    for (expires_in, status) in [
        (json!(3600), 201),
        (json!(60), 201),
        (json!(3601), 422),
        (json!(59), 422),
        (json!(null), 422),
    ] {
        let body = json!({ "name": "a test", "scopes": ["read"], "expires_in": expires_in });
        let answer = post(&registry, TOKENS, &body).expect(status);
        if status == 422 {
            let errors = answer.errors();
            assert!(
                errors.contains(
                    "60 to 3600 seconds (TERRACE_MAX_TOKEN_LIFETIME), that is, from 1m to 1h"
                ),
                "{errors}"
            );
        }
    }
}

#[test]
fn a_rotation_shortens_the_lifetime_to_the_maximum() {
    let memory = Memory::new();
    let before = Registry::in_memory(&memory, &[]);
    let endless = create(&before, &["read"], None).0;
    let long = create(&before, &["read"], Some(7200)).0;
    let short = create(&before, &["read"], Some(600)).0;
    let registry = Registry::in_memory(&memory, &MAXIMUM);
    for (id, seconds) in [(endless, 3600), (long, 3600), (short, 600)] {
        let path = format!("{TOKENS}/{id}/rotation");
        let made = post(&registry, &path, &json!({})).expect(201).json();
        let time = |name: &str| UnixTime::parse_utc(made[name].as_str().unwrap()).unwrap();
        assert_eq!(time("expires").since(time("created")), seconds);
    }
}

//! The identity of a signed-in person.

use serde_json::{Map, Value};

use crate::auth::access::TokenName;
use terrace_base::digest::Sha256;

/// A person, as identified by their provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The display name, which is also the name of their tokens.
    pub name: TokenName,
    /// The unique account, which never belongs to another person.
    pub account: TokenName,
}

/// Maximum length in bytes of a display name that is not unique, next to that of the account.
const LABEL_BYTES: usize = 48;

/// Maximum length in bytes of an account's name next to the display name.
const ACCOUNT_BYTES: usize = 46;

impl Person {
    /// Identifies a person by their claims. The display name is one that only they can have: a verified
    /// address, or otherwise their account, after the name that they chose.
    pub fn of(claims: &Map<String, Value>) -> Self {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let subject = text("sub").unwrap_or_default();
        let is_verified = match claims.get("email_verified") {
            Some(Value::Bool(is_verified)) => *is_verified,
            // Amazon Cognito sends a string.
            Some(Value::String(text)) => text == "true",
            _ => false,
        };
        let account = account_of(subject);
        let label = ["preferred_username", "login", "email", "name"];
        let label = label.iter().find_map(|name| text(name));
        let name = match (text("email").filter(|_| is_verified), label) {
            (Some(address), _) => TokenName::nearest(address),
            (None, None) => account.clone(),
            (None, Some(label)) => {
                let (label, subject) = (cut(label, LABEL_BYTES), cut(subject, ACCOUNT_BYTES));
                TokenName::nearest(&format!("{label} ({subject})"))
            }
        };
        Self { name, account }
    }
}

/// Returns the name of an account. If the subject cannot be shown unchanged, the name ends with part of its
/// digest, so that no two accounts share a name in the audit log.
fn account_of(subject: &str) -> TokenName {
    let nearest = TokenName::nearest(subject);
    if nearest.to_string() == subject && !subject.contains(MARK) {
        return nearest;
    }
    let digest = Sha256::of(subject.as_bytes()).to_string();
    let (shown, mark) = (cut(subject, ACCOUNT_BYTES), cut(&digest, 16));
    TokenName::nearest(&format!("{shown}{MARK}{mark}"))
}

/// The separator before the digest of an account.
const MARK: &str = " #";

/// Returns the start of a text.
fn cut(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn named(claims: Value) -> (String, String) {
        let person = Person::of(claims.as_object().unwrap());
        (person.name.to_string(), person.account.to_string())
    }

    #[test]
    fn only_a_verified_address_names_a_person() {
        let ann = |verified: Value| {
            named(json!({ "sub": "1", "email": "ann@acme.example", "email_verified": verified })).0
        };
        assert_eq!(ann(Value::from(true)), "ann@acme.example");
        assert_eq!(ann(Value::from("true")), "ann@acme.example");
        for not in [json!(false), json!("false"), json!(1), Value::Null] {
            assert_eq!(ann(not), "ann@acme.example (1)");
        }
    }

    #[test]
    fn no_two_accounts_share_a_name() {
        let long = |end: char| "a".repeat(150) + &end.to_string();
        for (one, other) in [
            (long('1'), long('2')),
            ("a\n".to_owned(), "a\t".to_owned()),
            (" a".to_owned(), "a".to_owned()),
            (long('1'), format!("{} #9314294587e5a06d", "a".repeat(46))),
        ] {
            let account = |subject: &str| named(json!({ "sub": subject })).1;
            assert_ne!(account(&one), account(&other));
        }
        let (_, account) = named(json!({ "sub": long('1') }));
        assert_eq!(account, format!("{} #9314294587e5a06d", "a".repeat(46)));
    }

    #[test]
    fn a_person_without_an_address_is_named_by_the_account() {
        assert_eq!(
            named(json!({ "sub": "1" })),
            ("1".to_owned(), "1".to_owned())
        );
        let entra =
            json!({ "sub": "AAAA", "preferred_username": "ann@acme.example", "email": "x" });
        assert_eq!(named(entra).0, "ann@acme.example (AAAA)");
    }

    #[test]
    fn long_and_unprintable_names_become_valid_token_names() {
        let long = json!({ "sub": "s".repeat(255), "name": "ä".repeat(100) });
        assert_eq!(
            named(long).0,
            format!("{} ({})", "ä".repeat(24), "s".repeat(46))
        );
        let odd = json!({ "sub": " a\n\u{202e}b ", "name": 7 });
        assert_eq!(named(odd).0, "a\u{fffd}\u{fffd}b  #1959f9f8fa5401bc");
    }

    proptest! {
        #[test]
        fn every_claim_gives_a_name(sub in "(?s).{0,200}", name in "(?s).{0,200}") {
            let (name, account) = named(json!({ "sub": sub, "name": name }));
            prop_assert!(name.parse::<TokenName>().is_ok());
            prop_assert!(account.parse::<TokenName>().is_ok());
        }
    }
}

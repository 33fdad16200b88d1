//! Who has signed in.

use serde_json::{Map, Value};

use crate::auth::access::TokenName;
use terrace_base::digest::Sha256;

/// A person, as their provider knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// What people know them by, and their tokens are called.
    pub name: TokenName,
    /// The account that is theirs and nobody else's, ever.
    pub account: TokenName,
}

/// Bytes of a name that others could have, too, next to that of the account.
const LABEL_BYTES: usize = 48;

/// Bytes of an account's name next to it.
const ACCOUNT_BYTES: usize = 46;

impl Person {
    /// Whom these claims are about. They are called by what only they can have: an address that they have
    /// shown to be theirs, or else their account, after what they call themselves.
    pub fn of(claims: &Map<String, Value>) -> Self {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let subject = text("sub").unwrap_or_default();
        let is_verified = match claims.get("email_verified") {
            Some(Value::Bool(is_verified)) => *is_verified,
            // Amazon Cognito says it so.
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

/// The name of an account. Where what is told of it cannot be shown whole, it ends in some of its digest:
/// no two accounts share a name in the audit log.
fn account_of(subject: &str) -> TokenName {
    let nearest = TokenName::nearest(subject);
    if nearest.to_string() == subject && !subject.contains(MARK) {
        return nearest;
    }
    let digest = Sha256::of(subject.as_bytes()).to_string();
    let (shown, mark) = (cut(subject, ACCOUNT_BYTES), cut(&digest, 16));
    TokenName::nearest(&format!("{shown}{MARK}{mark}"))
}

/// What stands before the digest of an account.
const MARK: &str = " #";

/// The beginning of a text.
fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
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
    fn an_address_that_is_verified_names_a_person_and_another_does_not() {
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
    fn without_one_the_account_is_told() {
        assert_eq!(
            named(json!({ "sub": "1" })),
            ("1".to_owned(), "1".to_owned())
        );
        let entra =
            json!({ "sub": "AAAA", "preferred_username": "ann@acme.example", "email": "x" });
        assert_eq!(named(entra).0, "ann@acme.example (AAAA)");
    }

    #[test]
    fn long_and_odd_names_become_names_of_tokens() {
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

//! The tokens and rules of a person, and everything that they added with these tokens.

use std::collections::BTreeSet;

use serde_json::Value;
use terrace_core::api::admin::{RuleAnswer, TokenAnswer};
use terrace_core::auth::access::SIGN_IN;
use terrace_core::auth::oidc::RuleKind;

/// The tokens of a person, among those that the registry lists, and the tokens created with them.
pub(super) struct Belongings<'a> {
    /// The names of the person, in lower case: the given one, and those that their sign-ins have.
    names: BTreeSet<String>,
    /// The tokens of the person.
    pub(super) own: Vec<&'a TokenAnswer>,
    /// The other tokens that were created with those of the person, or with one of these.
    pub(super) created: Vec<&'a TokenAnswer>,
}

/// How a rule, a webhook or a signing key is connected with a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Connection {
    /// The person added it.
    Added,
    /// It is a rule that grants something to the person by their name.
    Names,
    /// It was added with a token that the person created, possibly by someone else.
    AddedWithCreated,
}

impl<'a> Belongings<'a> {
    /// Finds what belongs to a person. A token that they created may have created others in turn, and so on.
    pub(super) fn of(person: &str, all: &'a [TokenAnswer]) -> Self {
        let own: Vec<&TokenAnswer> = all.iter().filter(|token| is_of(token, person)).collect();
        let signed_in = own
            .iter()
            .filter_map(|it| Some([it.name.as_str(), login(it)?]));
        let names = signed_in.flatten().chain([person]);
        let mut found = Self {
            names: names.map(str::to_lowercase).collect(),
            own,
            created: Vec::new(),
        };
        let mut known: BTreeSet<&str> = found.own.iter().map(|token| &*token.id).collect();
        loop {
            let is_new = |token: &&TokenAnswer| {
                !known.contains(&*token.id)
                    && creator(&token.created_by)
                        .is_some_and(|it| found.is_own(it) || known.contains(it.0))
            };
            let more: Vec<&TokenAnswer> = all.iter().filter(is_new).collect();
            if more.is_empty() {
                return found;
            }
            known.extend(more.iter().map(|token| &*token.id));
            found.created.extend(more);
        }
    }

    /// Returns whether one of the tokens is from a sign-in.
    pub(super) fn has_signed_in(&self) -> bool {
        let mut own = self.own.iter();
        own.any(|token| token.created_by.starts_with(SIGN_IN))
    }

    /// Returns the connection of a rule with the person, if there is one. A block grants nothing, and stays when its creator leaves.
    pub(super) fn connection(&self, rule: &RuleAnswer) -> Option<Connection> {
        if rule.kind == RuleKind::Block {
            return None;
        }
        let added = self.connection_of(&rule.created_by);
        if added == Some(Connection::Added) {
            return added;
        }
        let claims = rule.rule.get("claims").and_then(Value::as_object);
        let mut patterns = claims.into_iter().flat_map(|claims| claims.values());
        let is_person = |pattern: &Value| {
            pattern
                .as_str()
                .is_some_and(|pattern| self.names.contains(&pattern.to_lowercase()))
        };
        if patterns.any(is_person) {
            return Some(Connection::Names);
        }
        added
    }

    /// Returns the connection of something with the person, by the name of the caller who added it.
    pub(super) fn connection_of(&self, by: &str) -> Option<Connection> {
        let creator = creator(by)?;
        if self.is_own(creator) {
            return Some(Connection::Added);
        }
        let mut created = self.created.iter();
        let is_created = created.any(|token| token.id == creator.0);
        is_created.then_some(Connection::AddedWithCreated)
    }

    /// Returns whether a creator is one of the person's tokens. The list may lack the token: an administrator of a namespace
    /// sees only some.
    fn is_own(&self, (id, name): (&str, &str)) -> bool {
        self.names.contains(&name.to_lowercase()) || self.own.iter().any(|token| token.id == id)
    }
}

/// Returns the ID and the name of a token as the creator of another token, of a rule, a webhook or a signing key:
/// `token 7f3a9c2e51b04d68 (ci)`.
fn creator(text: &str) -> Option<(&str, &str)> {
    let (id, name) = text.strip_prefix("token ")?.split_once(" (")?;
    Some((id, name.strip_suffix(')')?))
}

/// Returns the login of a person who signed in through GitHub, where an account is a number and a login has one account: that in the
/// name of the token, `ann (1001)`. The names of other providers are not parsed: people choose them, so that two accounts can have
/// one.
fn login(token: &TokenAnswer) -> Option<&str> {
    let account = token.created_by.strip_prefix(SIGN_IN)?;
    let is_number = account.bytes().all(|byte| byte.is_ascii_digit());
    let (login, id) = token.name.strip_suffix(')')?.split_once(" (")?;
    (is_number && id == account).then_some(login)
}

/// Returns whether a token is that of a person: it has the name, or is from a sign-in with the account or the login.
pub(super) fn is_of(token: &TokenAnswer, person: &str) -> bool {
    let account = token.created_by.strip_prefix(SIGN_IN);
    let names = [Some(token.name.as_str()), account, login(token)];
    let person = person.to_lowercase();
    names
        .into_iter()
        .flatten()
        .any(|name| name.to_lowercase() == person)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn token(id: &str, name: &str, created_by: &str) -> TokenAnswer {
        let token = json!({
            "id": id, "name": name, "scopes": ["read"], "created": "2026-01-01T00:00:00Z", "created_by": created_by,
        });
        serde_json::from_value(token).unwrap()
    }

    fn ids<'t>(tokens: &[&'t TokenAnswer]) -> Vec<&'t str> {
        tokens.iter().map(|token| &*token.id).collect()
    }

    #[test]
    fn a_person_is_named_by_the_token_or_by_the_account_of_the_sign_in() {
        let token = token("1", "Ann@acme.example", "login as https://idp.example 17");
        let is_named = |person| is_of(&token, person);
        assert!(is_named("ann@ACME.example") && is_named("https://idp.example 17"));
        assert!(!is_named("https://idp.example 1") && !is_named("ann") && !is_named(""));
    }

    #[test]
    fn a_person_who_signed_in_through_github_is_named_by_the_login_too() {
        let all = [
            token("1", "Ann (1001)", "login as 1001"),
            token("2", "ci", "token 9 (ann (1001))"),
            // Names that somebody chose.
            token("3", "ann (1002)", "root"),
            token("4", "ann (auth0|1)", "login as auth0|1"),
        ];
        for person in ["ann", "ANN (1001)", "1001"] {
            let found = Belongings::of(person, &all);
            assert_eq!(ids(&found.own), ["1"], "{person}");
            assert_eq!(ids(&found.created), ["2"], "{person}");
            assert!(found.names.contains("ann"), "{person}");
        }
    }

    #[test]
    fn tokens_are_followed_over_any_number_of_creators() {
        let all = [
            token("4", "last", "token 3 (middle)"),
            token("3", "middle", "token 2 (ci)"),
            token("2", "ci", "token 1 (ann)"),
            // Creators in a circle.
            token("1", "ann", "token 2 (ci)"),
            // Its creator is in no list that the caller may see.
            token("5", "deploy", "token 9 (Ann)"),
            token("6", "other", "token 8 (bob)"),
            token("7", "of root", "root"),
        ];
        let found = Belongings::of("ann", &all);
        assert_eq!(ids(&found.own), ["1"]);
        assert_eq!(ids(&found.created), ["2", "5", "3", "4"]);
    }
}

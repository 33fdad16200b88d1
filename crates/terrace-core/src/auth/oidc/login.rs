//! Rules for sign-in: the scopes of people, according to the claims of their organisation's provider.

use std::str::FromStr;

use serde_json::{Map, Value};

use super::rule::{Lists, Rule, parse_rules, union};
use super::{GrantError, RuleError, RulesError};
use crate::auth::access::Scopes;
use terrace_jose::{Quoted, TokenError};

/// The rules of a deployment: a JSON list such as
///
/// ```json
/// [{"scopes": ["read"], "claims": {"sub": "*"}},
///  {"scopes": ["publish:acme"], "claims": {"groups": "platform"}},
///  {"scopes": ["admin"], "claims": {"email": "ann@example.com"}}]
/// ```
///
/// For a claim that is a list, such as `groups`, one matching element is enough. A rule on `email` also
/// requires `email_verified`. Some providers (Entra) never set that claim, because their users may write
/// anything into `email`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginRules {
    rules: Vec<Rule>,
}

impl LoginRules {
    /// Returns the scopes of the person with these claims, from any source.
    ///
    /// # Errors
    /// The reason why nothing is granted.
    pub fn scopes(&self, claims: &Map<String, Value>) -> Result<Scopes, GrantError> {
        let numbered = self.rules.iter().zip(1..);
        let verdicts =
            numbered.map(|(rule, place)| (place, rule, rule.compare_all(claims, Lists::AnyOf)));
        let no_rule = || TokenError::Issuer(Quoted::value(claims.get("iss")));
        union(verdicts).unwrap_or_else(|| Err(no_rule().into()))
    }
}

/// Parses a rule. A rule that grants changes must identify people: `*` alone matches everyone who has an
/// account at the provider, possibly the whole world.
fn take(members: &mut Map<String, Value>) -> Result<Rule, RuleError> {
    let rule = Rule::take(members)?;
    match rule.grants_changes() && rule.is_for_everybody() {
        true => Err(RuleError::Everybody),
        false => Ok(rule),
    }
}

impl FromStr for LoginRules {
    type Err = RulesError;

    fn from_str(text: &str) -> Result<Self, RulesError> {
        let rules = parse_rules(text, take)?;
        Ok(Self { rules })
    }
}

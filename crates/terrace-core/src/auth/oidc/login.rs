//! Signing in: which people may do what, by what their organisation's provider says of them.

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
/// Of a claim that is a list, as `groups` is, one text is enough. A rule on `email` asks for
/// `email_verified`, too; some providers (Entra) never say that, because their users may write into
/// `email` what they like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginRules {
    rules: Vec<Rule>,
}

impl LoginRules {
    /// What is granted to the person of whom these claims are, wherever they come from.
    ///
    /// # Errors
    /// Why nothing is.
    pub fn scopes(&self, claims: &Map<String, Value>) -> Result<Scopes, GrantError> {
        let numbered = self.rules.iter().zip(1..);
        let verdicts =
            numbered.map(|(rule, place)| (place, rule, rule.compare_all(claims, Lists::AnyOf)));
        let no_rule = || TokenError::Issuer(Quoted::value(claims.get("iss")));
        union(verdicts).unwrap_or_else(|| Err(no_rule().into()))
    }
}

/// A rule that lets people change something must say who they are: `*` alone is everybody whom the
/// provider knows, which may be the world.
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

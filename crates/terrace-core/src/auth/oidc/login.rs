//! Signing in: which people may do what, by what their organisation's provider says of them.

use std::str::FromStr;

use serde_json::{Map, Value};

use super::rule::{Lists, Rule, parse_rules, union};
use super::{
    Claims, Expected, IssuerKeys, Quoted, Refusal, RuleFault, RulesError, UnverifiedToken,
};
use crate::auth::access::Scopes;
use terrace_base::time::UnixTime;

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

/// The sign-in that an ID token must be the answer to.
#[derive(Debug, Clone, Copy)]
pub struct SignIn<'s> {
    /// What the registry is to the provider, and so the token's audience.
    pub client_id: &'s str,
    /// What the registry sent along, unique to this sign-in.
    pub nonce: &'s str,
    /// The time.
    pub now: UnixTime,
}

impl LoginRules {
    /// What is granted to the person of whom these claims are, wherever they come from.
    ///
    /// # Errors
    /// Why nothing is.
    pub fn scopes(&self, claims: &Map<String, Value>) -> Result<Scopes, Refusal> {
        let numbered = self.rules.iter().zip(1..);
        let verdicts =
            numbered.map(|(rule, place)| (place, rule, rule.compare_all(claims, Lists::AnyOf)));
        let no_rule = || Refusal::Issuer(Quoted::value(claims.get("iss")));
        union(verdicts).unwrap_or_else(|| Err(no_rule()))
    }
}

impl SignIn<'_> {
    /// What the provider says of a person, if this token is the answer to this sign-in.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn verify(
        &self,
        token: &UnverifiedToken<'_>,
        keys: &IssuerKeys,
    ) -> Result<Claims, Refusal> {
        let expected = Expected {
            audiences: &[self.client_id],
            now: self.now,
            longest_life: None,
        };
        let claims = token.verify(keys, &expected)?;
        claims.check_authorized_party(self.client_id)?;
        if self.nonce.is_empty() || claims.nonce() != Some(self.nonce) {
            return Err(Refusal::Nonce);
        }
        Ok(claims)
    }
}

/// A rule that lets people change something must say who they are: `*` alone is everybody whom the
/// provider knows, which may be the world.
fn take(members: &mut Map<String, Value>) -> Result<Rule, RuleFault> {
    let rule = Rule::take(members)?;
    match rule.grants_changes() && rule.is_for_everybody() {
        true => Err(RuleFault::Everybody),
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

//! Signing in: which people may do what, by what their organisation's provider says of them.

use std::str::FromStr;

use super::rule::{Lists, Rule, parse_rules, union};
use super::{Expected, Grant, IssuerKeys, Quoted, Refusal, RulesError, UnverifiedToken};
use crate::time::UnixTime;

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
    /// What is granted to the person of whom this ID token is.
    ///
    /// # Errors
    /// Why nothing is.
    pub fn grant(
        &self,
        token: &UnverifiedToken<'_>,
        keys: &IssuerKeys,
        sign_in: &SignIn<'_>,
    ) -> Result<Grant, Refusal> {
        let expected = Expected {
            audiences: &[sign_in.client_id],
            now: sign_in.now,
            longest_life: None,
        };
        let claims = token.verify(keys, &expected)?;
        claims.check_authorized_party(sign_in.client_id)?;
        if sign_in.nonce.is_empty() || claims.nonce() != Some(sign_in.nonce) {
            return Err(Refusal::Nonce);
        }
        let numbered = self.rules.iter().zip(1..);
        let verdicts =
            numbered.map(|(rule, place)| (place, rule, rule.compare(&claims, Lists::AnyOf)));
        let no_rule = || Refusal::Issuer(Quoted::text(claims.issuer().as_str()));
        let scopes = union(verdicts).unwrap_or_else(|| Err(no_rule()))?;
        Ok(Grant { claims, scopes })
    }
}

impl FromStr for LoginRules {
    type Err = RulesError;

    fn from_str(text: &str) -> Result<Self, RulesError> {
        let rules = parse_rules(text, Rule::take)?;
        Ok(Self { rules })
    }
}

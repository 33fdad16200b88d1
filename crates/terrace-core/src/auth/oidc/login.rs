//! Rules for sign-in: the scopes of people, according to the claims of their organisation's provider.

use std::str::FromStr;

use serde_json::{Map, Value};

use super::rule::{Lists, Rule, RuleName, parse_rules, union};
use super::{GrantError, GrantedScopes, RuleError, RulesError, impossible, warnings};
use terrace_jose::Quoted;

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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginRules {
    rules: Vec<(RuleName, Rule)>,
}

impl LoginRules {
    /// Returns the scopes of the person with these claims, from any source.
    ///
    /// # Errors
    /// The reason why nothing is granted.
    pub fn scopes(&self, claims: &Map<String, Value>) -> Result<GrantedScopes, GrantError> {
        let verdicts = self.rules.iter();
        let verdicts =
            verdicts.map(|(name, rule)| (*name, rule, rule.compare_all(claims, Lists::AnyOf)));
        union(verdicts).unwrap_or(Err(GrantError::NoRoles))
    }

    /// Returns these rules together with others.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        Self {
            rules: [&*self.rules, &*others.rules].concat(),
        }
    }

    /// Returns warnings about rules that are valid but should be changed, one line each. `subject` names a rule.
    pub fn warnings(&self, subject: &dyn Fn(RuleName) -> String) -> Vec<String> {
        let warnings = self.rules.iter().flat_map(|(name, rule)| {
            let warnings = warnings::of_people(rule).into_iter();
            warnings.map(|warning| format!("{} {warning}", subject(*name)))
        });
        warnings.collect()
    }

    /// Returns the errors of rules that are accepted in the configuration only, one line each. `subject` names a rule.
    pub fn faults(&self, subject: &dyn Fn(RuleName) -> String) -> Vec<String> {
        let faulty = self.rules.iter().filter_map(|(name, rule)| {
            let fault = check(rule).err()?;
            Some(format!("{} {fault}", subject(*name)))
        });
        faulty.collect()
    }

    pub(super) fn push(&mut self, name: RuleName, rule: Rule) {
        self.rules.push((name, rule));
    }
}

/// Parses a rule. A rule that grants changes must identify people: `*` alone matches everyone who has an
/// account at the provider, possibly the whole world.
pub(super) fn take(members: &mut Map<String, Value>) -> Result<Rule, RuleError> {
    let rule = Rule::take(members)?;
    match rule.grants_more_than_reading() && rule.is_for_everybody() {
        true => Err(RuleError::Everybody),
        false => Ok(rule),
    }
}

/// Checks that people can match a new rule, and only those who are meant.
pub(super) fn check(rule: &Rule) -> Result<(), RuleError> {
    if let Some(impossible) = impossible::of_people(rule) {
        return Err(impossible);
    }
    match rule
        .open_domain()
        .filter(|_| rule.grants_more_than_reading())
    {
        Some(pattern) => Err(RuleError::OpenDomain(Quoted::text(&pattern.to_string()))),
        None => Ok(()),
    }
}

impl FromStr for LoginRules {
    type Err = RulesError;

    fn from_str(text: &str) -> Result<Self, RulesError> {
        let rules = parse_rules(text, take)?;
        Ok(Self { rules })
    }
}

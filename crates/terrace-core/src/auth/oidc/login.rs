//! Rules for sign-in: the scopes of people, according to the claims of their organisation's provider.

use std::str::FromStr;

use serde_json::{Map, Value};

use super::GrantedScopes;
use super::rule::{Lists, Rule, RuleName, parse_rules, union};
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
    pub(super) rules: Vec<(RuleName, Rule)>,
}

impl LoginRules {
    /// Returns the scopes of the person with these claims, from any source.
    ///
    /// # Errors
    /// The reason why nothing is granted.
    pub fn scopes(&self, claims: &Map<String, Value>) -> Result<GrantedScopes, String> {
        let verdicts = self.rules.iter();
        let verdicts =
            verdicts.map(|(name, rule)| (*name, rule, rule.compare(claims, Lists::AnyOf)));
        let none =
            "there is no rule for sign-in: set TERRACE_LOGIN_RULES, or run `terrace role add`";
        union(verdicts).unwrap_or_else(|| Err(none.to_owned()))
    }

    /// Returns these rules together with others.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        Self {
            rules: [&*self.rules, &*others.rules].concat(),
        }
    }

    /// Returns warnings about rules, one line each. `subject` names a rule.
    pub fn warnings(&self, subject: &dyn Fn(RuleName) -> String) -> Vec<String> {
        let warnings = self.rules.iter().filter_map(|(name, rule)| {
            warning(rule).map(|warning| format!("{} {warning}", subject(*name)))
        });
        warnings.collect()
    }
}

/// Returns a warning about a rule that lets strangers read. It continues its name.
pub(super) fn warning(rule: &Rule) -> Option<&'static str> {
    let is_open = rule.is_for_everybody() || rule.open_domain().is_some();
    is_open.then_some(
        "matches accounts of any domain: where strangers can have one, as at Google, GitHub or GitLab, require a domain, as in \
         *@acme.example, an organisation or a group",
    )
}

/// Parses a rule. A rule that grants changes must identify people: `*` alone matches everyone who has an account at the
/// provider, possibly the whole world, and so does a pattern for addresses of any domain.
pub(super) fn take(members: &mut Map<String, Value>) -> Result<Rule, String> {
    let rule = Rule::take(members)?;
    if !rule.grants_more_than_reading() {
        return Ok(rule);
    }
    if rule.is_for_everybody() {
        let why = "grants write access to every account of the provider: a rule whose only pattern is * may grant only read";
        return Err(why.to_owned());
    }
    match rule.open_domain() {
        Some(pattern) => Err(format!(
            "requires email to be {}, which matches addresses of any domain, and such a pattern may grant only reading: write \
             the domain after an @, such as *@acme.example, or also require another claim, such as groups",
            Quoted::text(&pattern.to_string())
        )),
        None => Ok(rule),
    }
}

impl FromStr for LoginRules {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rules = parse_rules(text, take)?;
        Ok(Self { rules })
    }
}

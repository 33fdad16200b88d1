//! The numbers of rules that the registry stores.

use std::collections::BTreeMap;

use super::{RuleDocument, StoredRule};
use crate::auth::access::Scope;
use crate::limits;

/// The reason why no further rule can be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleQuotaError {
    /// The registry is full.
    #[error(
        "the registry stores {max} rules, the maximum (STORED_RULES): remove one first",
        max = limits::STORED_RULES
    )]
    Registry,
    /// The rest is left to administrators of the whole registry.
    #[error(
        "the registry stores {max} rules, the maximum for administrators of namespaces (DELEGATED_RULES): remove one first, \
         or ask an administrator of the whole registry",
        max = limits::DELEGATED_RULES
    )]
    Delegates,
    /// The namespace, or the host of mirrored providers, is full.
    #[error(
        "{max} rules grant something in {0}, the maximum for its administrators (RULES_OF_NAMESPACE): remove one first, or \
         ask an administrator of the whole registry",
        max = limits::RULES_OF_NAMESPACE
    )]
    Namespace(String),
}

/// Checks that a further rule may be stored beside the active ones. An administrator of a namespace cannot use up the rules of
/// all others.
///
/// # Errors
/// The limit that the rule would exceed.
pub fn check_quota<'d>(
    rule: &StoredRule,
    active: impl ExactSizeIterator<Item = &'d RuleDocument>,
    is_delegated: bool,
) -> Result<(), RuleQuotaError> {
    let count = active.len();
    if count >= limits::STORED_RULES {
        return Err(RuleQuotaError::Registry);
    }
    if !is_delegated {
        return Ok(());
    }
    if count >= limits::DELEGATED_RULES {
        return Err(RuleQuotaError::Delegates);
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for other in active.filter_map(|document| document.parse().ok()) {
        for namespace in namespaces(&other) {
            *counts.entry(namespace).or_default() += 1;
        }
    }
    let is_full = |namespace: &String| {
        counts
            .get(namespace)
            .is_some_and(|count| *count >= limits::RULES_OF_NAMESPACE)
    };
    match namespaces(rule).into_iter().find(is_full) {
        Some(namespace) => Err(RuleQuotaError::Namespace(namespace)),
        None => Ok(()),
    }
}

/// Returns the namespaces in which a rule grants something, without duplicates. All namespaces of a host of mirrored providers
/// count as one: who administers the host could otherwise divide the rules among them.
fn namespaces(rule: &StoredRule) -> Vec<String> {
    let mut namespaces: Vec<String> = Vec::new();
    for scope in rule.scopes() {
        let (Scope::ReadOf(owners) | Scope::Publish(owners) | Scope::AdminOf(owners)) = scope
        else {
            continue;
        };
        let namespace = owners.first_part();
        if !namespaces.iter().any(|it| it == namespace) {
            namespaces.push(namespace.to_owned());
        }
    }
    namespaces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::oidc::RuleKind;
    use serde_json::json;
    use terrace_base::time::UnixTime;

    fn rule(scopes: &[&str]) -> StoredRule {
        let rule = json!({ "scopes": scopes, "claims": { "groups": "staff" } });
        StoredRule::parse(RuleKind::Role, &rule.to_string()).unwrap()
    }

    fn documents(count: usize, scopes: &[&str]) -> Vec<RuleDocument> {
        let document = RuleDocument {
            kind: RuleKind::Role,
            rule: rule(scopes).text().to_owned(),
            created: UnixTime(1),
            by: "root".to_owned(),
            removed: None,
        };
        vec![document; count]
    }

    #[test]
    fn the_rules_of_a_namespace_are_limited_for_its_administrators_only() {
        let full = documents(limits::RULES_OF_NAMESPACE, &["publish:acme", "read:acme"]);
        let acme = rule(&["read:globex", "admin:acme"]);
        let error = check_quota(&acme, full.iter(), true).unwrap_err();
        assert_eq!(error, RuleQuotaError::Namespace("acme".to_owned()));
        assert_eq!(check_quota(&acme, full.iter(), false), Ok(()));
        assert_eq!(check_quota(&acme, full[1..].iter(), true), Ok(()));
        let other = rule(&["read:globex"]);
        assert_eq!(check_quota(&other, full.iter(), true), Ok(()));
    }

    #[test]
    fn all_namespaces_of_a_host_count_as_one() {
        let full = documents(limits::RULES_OF_NAMESPACE, &["read:a.example/acme"]);
        let other = rule(&["read:a.example/globex"]);
        let error = check_quota(&other, full.iter(), true).unwrap_err();
        assert_eq!(error, RuleQuotaError::Namespace("a.example".to_owned()));
    }

    #[test]
    fn administrators_of_namespaces_leave_rules_to_those_of_the_registry() {
        let many = documents(limits::STORED_RULES, &["read"]);
        let acme = rule(&["read:acme"]);
        let check =
            |count: usize, is_delegated| check_quota(&acme, many[..count].iter(), is_delegated);
        assert_eq!(check(limits::DELEGATED_RULES - 1, true), Ok(()));
        let last = check(limits::DELEGATED_RULES, true);
        assert_eq!(last, Err(RuleQuotaError::Delegates));
        assert_eq!(check(limits::STORED_RULES - 1, false), Ok(()));
        for is_delegated in [true, false] {
            let full = check(limits::STORED_RULES, is_delegated);
            assert_eq!(full, Err(RuleQuotaError::Registry));
        }
    }
}

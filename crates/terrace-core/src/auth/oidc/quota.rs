//! The numbers of rules that the registry stores.

use super::{RuleDocument, StoredRule};
use crate::auth::access::{Caller, Scope};
use crate::limits;
use crate::model::owner::OwnerPattern;

/// The reason why no further rule can be stored, with the number of those that are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleQuotaError {
    /// The registry is full.
    #[error(
        "the registry stores {0} rules, and the maximum is {max} (STORED_RULES): remove one first",
        max = limits::STORED_RULES
    )]
    Registry(usize),
    /// The rest is left to administrators of the whole registry.
    #[error(
        "the registry stores {0} rules, and the maximum for administrators of namespaces is {max} (DELEGATED_RULES): remove \
         one first, or ask an administrator of the whole registry",
        max = limits::DELEGATED_RULES
    )]
    Delegates(usize),
    /// The namespace, or the host of mirrored providers, is full.
    #[error(
        "{1} rules grant something in {0}, and the maximum for its administrators is {max} (RULES_OF_NAMESPACE): remove one \
         first, or ask an administrator of the whole registry",
        max = limits::RULES_OF_NAMESPACE
    )]
    Namespace(OwnerPattern, usize),
}

/// Checks that a caller may store a further rule beside the active ones. An administrator of a namespace cannot use up the
/// rules of all others.
///
/// # Errors
/// The limit that the rule would exceed.
pub fn check_quota<'d>(
    rule: &StoredRule,
    active: impl ExactSizeIterator<Item = &'d RuleDocument>,
    caller: &Caller,
) -> Result<(), RuleQuotaError> {
    let count = active.len();
    if count >= limits::STORED_RULES {
        return Err(RuleQuotaError::Registry(count));
    }
    if caller.is_admin() {
        return Ok(());
    }
    if count >= limits::DELEGATED_RULES {
        return Err(RuleQuotaError::Delegates(count));
    }
    let active: Vec<StoredRule> = active.filter_map(|it| it.parse().ok()).collect();
    for namespace in owners(rule).map(|it| counted(it, caller)) {
        let grants_there = |rule: &&StoredRule| owners(rule).any(|it| namespace.covers(it));
        let count = active.iter().filter(grants_there).count();
        if count >= limits::RULES_OF_NAMESPACE {
            return Err(RuleQuotaError::Namespace(namespace, count));
        }
    }
    Ok(())
}

/// Returns the namespaces and hosts in which a rule grants something, possibly with duplicates.
fn owners(rule: &StoredRule) -> impl Iterator<Item = &OwnerPattern> {
    rule.required_scopes().filter_map(Scope::owners)
}

/// Returns the part of the registry in which rules count together. All namespaces of a host of mirrored providers count
/// as one for the administrators of the host, who could otherwise divide the rules among them. An administrator of one of
/// the namespaces can neither see nor remove the rules of the others, so these do not count.
fn counted(owners: &OwnerPattern, caller: &Caller) -> OwnerPattern {
    let host = owners.whole_host();
    let administration = Scope::AdminOf(host.clone());
    match caller.lacks(std::iter::once(&administration)) {
        None => host,
        Some(_) => owners.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::access::{Scopes, Token};
    use crate::auth::oidc::RuleKind;
    use crate::model::token_id::TokenId;
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

    /// Returns an administrator of namespaces or hosts, or of the whole registry.
    fn holder(scopes: &[&str]) -> Caller {
        let scopes = scopes.iter().map(|it| it.parse().unwrap()).collect();
        Caller::Bearer(Box::new(Token {
            id: TokenId::new([7; 16]),
            name: "ci".parse().unwrap(),
            scopes: Scopes::new(scopes).unwrap(),
            expires: None,
            is_of_previous: false,
            provenance: None,
        }))
    }

    fn full(namespace: &str) -> RuleQuotaError {
        RuleQuotaError::Namespace(namespace.parse().unwrap(), limits::RULES_OF_NAMESPACE)
    }

    #[test]
    fn the_rules_of_a_namespace_are_limited_for_its_administrators_only() {
        let stored = documents(limits::RULES_OF_NAMESPACE, &["publish:acme", "read:acme"]);
        let caller = holder(&["admin:acme", "admin:globex"]);
        let acme = rule(&["read:globex", "admin:acme"]);
        let error = check_quota(&acme, stored.iter(), &caller).unwrap_err();
        assert_eq!(error, full("acme"));
        assert_eq!(
            check_quota(&acme, stored.iter(), &holder(&["admin"])),
            Ok(())
        );
        assert_eq!(check_quota(&acme, stored[1..].iter(), &caller), Ok(()));
        let other = rule(&["read:globex"]);
        assert_eq!(check_quota(&other, stored.iter(), &caller), Ok(()));
    }

    #[test]
    fn all_namespaces_of_a_host_count_as_one_for_its_administrators() {
        let stored = documents(limits::RULES_OF_NAMESPACE, &["read:a.example/acme"]);
        let other = rule(&["read:a.example/globex"]);
        let error = check_quota(&other, stored.iter(), &holder(&["admin:a.example"]));
        assert_eq!(error, Err(full("a.example")));
    }

    #[test]
    fn an_administrator_of_a_namespace_of_a_host_cannot_use_up_the_rules_of_another() {
        let stored = documents(limits::RULES_OF_NAMESPACE, &["read:a.example/acme"]);
        for (namespace, expected) in [
            ("a.example/globex", Ok(())),
            ("a.example/acme", Err(full("a.example/acme"))),
        ] {
            let rule = rule(&[&format!("publish:{namespace}")]);
            let caller = holder(&[&format!("admin:{namespace}")]);
            let checked = check_quota(&rule, stored.iter(), &caller);
            assert_eq!(checked, expected, "{namespace}");
        }
    }

    #[test]
    fn administrators_of_namespaces_leave_rules_to_those_of_the_registry() {
        let many = documents(limits::STORED_RULES + 1, &["read"]);
        let acme = rule(&["read:acme"]);
        let [delegate, admin] = ["admin:acme", "admin"].map(|it| holder(&[it]));
        let check =
            |count: usize, caller: &Caller| check_quota(&acme, many[..count].iter(), caller);
        assert_eq!(check(limits::DELEGATED_RULES - 1, &delegate), Ok(()));
        for count in [limits::DELEGATED_RULES, limits::DELEGATED_RULES + 7] {
            let refused = check(count, &delegate);
            assert_eq!(refused, Err(RuleQuotaError::Delegates(count)));
        }
        assert_eq!(check(limits::STORED_RULES - 1, &admin), Ok(()));
        for caller in [&delegate, &admin] {
            for count in [limits::STORED_RULES, limits::STORED_RULES + 1] {
                let refused = check(count, caller);
                assert_eq!(refused, Err(RuleQuotaError::Registry(count)));
            }
        }
    }
}

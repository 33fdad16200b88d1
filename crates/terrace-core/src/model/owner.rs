//! Owners of packages and repositories. Access is granted by owner.

use std::str::FromStr;

use crate::limits;
use crate::model::name::{Hostname, Namespace};
use crate::model::package::Package;

/// The owner of a package: `acme`, the namespace of packages published here, or `registry.example.com/acme`,
/// the hostname and namespace of packages mirrored from there.
///
/// Owners are in lower case: two module namespaces that differ only in case have one owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner(String);

/// The owners that a scope or a setting names: one owner, or with a hostname alone all owners of that host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerPattern(String);

/// The error for a text that is not an owner pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is neither a namespace, such as acme, nor a hostname or hostname/namespace of mirrored packages"
)]
pub struct OwnerError(String);

impl Owner {
    /// Returns the owner of a provider or module.
    pub fn of(package: &Package) -> Self {
        Self(match package {
            Package::Provider(address) => address.namespace.to_string(),
            Package::Module(address) => {
                let namespace = address.namespace.as_str().to_ascii_lowercase();
                match &address.hostname {
                    Some(hostname) => format!("{hostname}/{namespace}"),
                    None => namespace,
                }
            }
            Package::Mirrored(address) => {
                format!("{}/{}", address.hostname, address.provider.namespace)
            }
        })
    }

    /// Returns the owner of a repository that contains no provider, from the start of its name.
    pub fn of_repository(name: &str) -> Self {
        let mut parts = name.splitn(3, '/');
        let first = parts.next().unwrap_or_default();
        match parts.next() {
            Some(second) if first.contains('.') => Self(format!("{first}/{second}")),
            _ => Self(first.to_owned()),
        }
    }

    /// Parses an owner in its canonical text, as in a key: `acme` or `registry.example.com/acme`, in lower case.
    pub fn parse_key(text: &str) -> Option<Self> {
        let pattern: OwnerPattern = text.parse().ok()?;
        // A hostname alone owns nothing.
        let is_owner = pattern.0 == text && (text.contains('/') || !text.contains('.'));
        is_owner.then(|| Self(text.to_owned()))
    }

    /// Returns an owner that has no packages, for lookups of hidden packages.
    #[must_use]
    pub fn hidden() -> Self {
        Self::of_namespace(Namespace::hidden().as_str())
    }

    /// Returns the owner of a namespace.
    pub fn of_namespace(namespace: &str) -> Self {
        Self(namespace.to_ascii_lowercase())
    }
}

impl OwnerPattern {
    /// Returns whether the pattern includes this owner.
    pub fn includes(&self, owner: &Owner) -> bool {
        self.is_at_the_beginning_of(&owner.0)
    }

    /// Returns whether the pattern includes all owners of another pattern.
    pub fn covers(&self, other: &Self) -> bool {
        self.is_at_the_beginning_of(&other.0)
    }

    /// Returns the pattern for the whole host, or the same for a namespace of this registry.
    #[must_use]
    pub fn whole_host(&self) -> Self {
        let first = self.0.split('/').next().unwrap_or_default();
        Self(first.to_owned())
    }

    fn is_at_the_beginning_of(&self, text: &str) -> bool {
        let rest = text.strip_prefix(&self.0);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl FromStr for OwnerPattern {
    type Err = OwnerError;

    fn from_str(text: &str) -> Result<Self, OwnerError> {
        let is_namespace = |text: &str| {
            let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            (1..=limits::NAME_BYTES).contains(&text.len()) && text.bytes().all(is_inner)
        };
        let is_hostname = |text: &str| text.parse::<Hostname>().is_ok();
        let is_pattern = match text.split_once('/') {
            Some((hostname, namespace)) => is_hostname(hostname) && is_namespace(namespace),
            None => is_namespace(text) || is_hostname(text),
        };
        if is_pattern {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(OwnerError(text.chars().take(limits::NAME_BYTES).collect()))
        }
    }
}

crate::model::text_display!(Owner, OwnerPattern);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_belongs_to_its_namespace_in_any_case_and_a_mirrored_one_to_that_of_its_host() {
        for (address, owner) in [
            ("acme/widget", "acme"),
            ("Acme/vpc/aws", "acme"),
            ("a.example/acme/widget", "a.example/acme"),
            ("a.example/Acme/vpc/aws", "a.example/acme"),
        ] {
            let package = Package::parse_address(address).unwrap();
            assert_eq!(Owner::of(&package).to_string(), owner, "{address}");
        }
    }

    #[test]
    fn an_owner_is_parsed_from_its_canonical_text_only() {
        for text in ["acme", "a-b_c", "registry.example.com/acme"] {
            assert_eq!(Owner::parse_key(text), Some(Owner(text.to_owned())));
        }
        for text in [
            "",
            "Acme",
            "registry.example.com",
            "A.example/acme",
            "a.b/c/d",
            "acme/widget",
            "acme/",
        ] {
            assert_eq!(Owner::parse_key(text), None, "{text}");
        }
    }

    #[test]
    fn a_pattern_includes_one_owner_or_all_of_a_host() {
        let includes = |pattern: &str, owner: &str| {
            let pattern: OwnerPattern = pattern.parse().unwrap();
            pattern.includes(&Owner(owner.to_owned()))
        };
        assert!(includes("acme", "acme") && includes("ACME", "acme"));
        assert!(includes("a.example", "a.example/acme"));
        assert!(includes("a.example/acme", "a.example/acme"));
        for (pattern, owner) in [
            ("acme", "acme-evil"),
            ("acme", "acm"),
            ("acme", "a.example/acme"),
            ("a.example", "a.example.com/acme"),
            ("a.example/acme", "a.example/acme-evil"),
            ("a.example/acme", "a.example"),
        ] {
            assert!(!includes(pattern, owner), "{pattern} {owner}");
        }
    }

    #[test]
    fn a_text_that_names_no_owner_is_rejected() {
        for text in [
            "",
            "*",
            "acme/widget",
            "acme/",
            "/acme",
            "a.b/c/d",
            "аcme",
            "a cme",
            ".",
            "a..b",
            "a.b:443",
            "acme\n",
        ] {
            assert!(text.parse::<OwnerPattern>().is_err(), "{text}");
        }
    }
}

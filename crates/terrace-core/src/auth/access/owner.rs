//! Whose something is. Access is given by it.

use std::fmt;
use std::str::FromStr;

use crate::limits;
use crate::model::name::Hostname;
use crate::model::package::Package;

/// Whose something is: `acme`, as the namespace of what is published here, or
/// `registry.example.com/acme`, as a hostname with a namespace of what is mirrored from there.
///
/// In lower case: two namespaces of modules that differ in case alone have one owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner(String);

/// Which owners a scope or a setting names: one, or with a hostname alone all those of that host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerPattern(String);

/// Why a text names no owners.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no namespace, such as acme, no hostname and no hostname/namespace of a mirrored provider"
)]
pub struct OwnerError(String);

impl Owner {
    /// The one of a provider or a module.
    pub fn of(package: &Package) -> Self {
        Self(match package {
            Package::Provider(address) => address.namespace.to_string(),
            Package::Module(address) => address.namespace.as_str().to_ascii_lowercase(),
            Package::Mirrored(address) => {
                format!("{}/{}", address.hostname, address.provider.namespace)
            }
        })
    }

    /// The one of a repository that holds no provider: as its name begins.
    pub fn of_repository(name: &str) -> Self {
        let mut parts = name.splitn(3, '/');
        let first = parts.next().unwrap_or_default();
        match parts.next() {
            Some(second) if first.contains('.') => Self(format!("{first}/{second}")),
            _ => Self(first.to_owned()),
        }
    }

    /// The one of a namespace.
    pub fn of_namespace(namespace: &str) -> Self {
        Self(namespace.to_ascii_lowercase())
    }
}

impl OwnerPattern {
    /// Whether this is one of them.
    pub fn includes(&self, owner: &Owner) -> bool {
        self.is_at_the_beginning_of(&owner.0)
    }

    /// Whether all that another one names are among them.
    pub fn covers(&self, other: &Self) -> bool {
        self.is_at_the_beginning_of(&other.0)
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

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for OwnerPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_published_belongs_to_its_namespace_whatever_its_case() {
        let provider = Package::Provider("acme/widget".parse().unwrap());
        let module = Package::Module("Acme/vpc/aws".parse().unwrap());
        assert_eq!(Owner::of(&provider).to_string(), "acme");
        assert_eq!(Owner::of(&module).to_string(), "acme");
    }

    #[test]
    fn what_is_mirrored_belongs_to_a_namespace_of_another_host() {
        let package = Package::Mirrored("registry.example.com/acme/widget".parse().unwrap());
        assert_eq!(Owner::of(&package).to_string(), "registry.example.com/acme");
    }

    #[test]
    fn a_pattern_names_one_owner_or_those_of_a_host() {
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
    fn what_names_no_owner_is_refused() {
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

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,80}") {
            let _ = text.parse::<OwnerPattern>();
        }
    }
}

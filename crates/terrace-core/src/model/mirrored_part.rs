//! A part of the mirror: all providers of another registry, or of one of its namespaces.

use std::fmt;
use std::str::FromStr;

use crate::model::name::{Hostname, NameError, Namespace};
use crate::model::owner::{Owner, OwnerPattern};

/// All mirrored providers of a registry, or of one of its namespaces: `registry.example.com` or
/// `registry.example.com/acme`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirroredPart {
    /// The registry that hosts the providers.
    pub hostname: Hostname,
    /// Their namespace; `None` for those of all namespaces.
    pub namespace: Option<Namespace>,
}

/// The error for a text that is not a part of the mirror.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MirroredPartError {
    /// The text has too many parts.
    #[error("{0:?} is neither a hostname nor of the form hostname/namespace")]
    Shape(String),
    /// A part is not a name.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl MirroredPart {
    /// Returns whether the packages of an owner belong to the part.
    pub fn owns(&self, owner: &Owner) -> bool {
        let pattern = self.to_string().parse::<OwnerPattern>();
        pattern.is_ok_and(|it| it.includes(owner))
    }
}

impl FromStr for MirroredPart {
    type Err = MirroredPartError;

    fn from_str(text: &str) -> Result<Self, MirroredPartError> {
        let (hostname, namespace) = match text.split_once('/') {
            Some((_, namespace)) if namespace.contains('/') => {
                return Err(MirroredPartError::Shape(text.to_owned()));
            }
            Some((hostname, namespace)) => (hostname, Some(namespace.parse()?)),
            None => (text, None),
        };
        Ok(Self {
            hostname: hostname.parse()?,
            namespace,
        })
    }
}

impl fmt::Display for MirroredPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{}/{namespace}", self.hostname),
            None => self.hostname.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::package::Package;

    #[test]
    fn a_part_owns_the_packages_of_its_host_or_namespace() {
        let package = Package::Mirrored("a.example/acme/widget".parse().unwrap());
        let owner = Owner::of(&package);
        for (text, owns) in [
            ("a.example", true),
            ("A.example/Acme", true),
            ("a.example/acm", false),
            ("a.example/acmee", false),
            ("b.example", false),
        ] {
            let part: MirroredPart = text.parse().unwrap();
            assert_eq!(part.owns(&owner), owns, "{text}");
            assert_eq!(part.to_string(), text.to_ascii_lowercase());
        }
    }

    #[test]
    fn a_provider_a_wildcard_and_a_namespace_of_the_registry_are_no_parts() {
        for text in [
            "",
            "acme",
            "a.example/",
            "a.example/*",
            "a.example/acme/widget",
            "acme/widget",
            "*.example",
        ] {
            assert!(text.parse::<MirroredPart>().is_err(), "{text:?}");
        }
    }
}

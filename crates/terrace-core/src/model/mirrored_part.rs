//! A part of the mirror: all packages of another registry, or of one of its namespaces.

use std::fmt;
use std::str::FromStr;

use crate::model::address::ModuleAddress;
use crate::model::name::{Hostname, NameError, Namespace};
use crate::model::owner::{Owner, OwnerPattern};
use crate::model::package::Package;

/// All mirrored packages of a registry, or of one of its namespaces: `registry.example.com` or
/// `registry.example.com/acme`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirroredPart {
    /// The registry that hosts the packages.
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
    /// Returns whether a package belongs to the part. A module of a public registry belongs to both of them, because one copy
    /// serves both names.
    pub fn owns(&self, package: &Package) -> bool {
        let pattern = self.to_string().parse::<OwnerPattern>();
        let is_public = |it: &Option<Hostname>| it.as_ref().is_some_and(Hostname::is_public);
        let owner = match package {
            Package::Module(it) if self.hostname.is_public() && is_public(&it.hostname) => {
                let hostname = Some(self.hostname.clone());
                Owner::of(&Package::Module(ModuleAddress {
                    hostname,
                    ..it.clone()
                }))
            }
            package => Owner::of(package),
        };
        pattern.is_ok_and(|it| it.includes(&owner))
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

    #[test]
    fn a_part_owns_the_packages_of_its_host_or_namespace() {
        let widget = "a.example/acme/widget";
        let (random, vpc) = (
            "registry.opentofu.org/acme/random",
            "registry.opentofu.org/Acme/vpc/aws",
        );
        for (text, address, owns) in [
            ("a.example", widget, true),
            ("A.example/Acme", widget, true),
            ("a.example/acm", widget, false),
            ("a.example/acmee", widget, false),
            ("b.example", widget, false),
            ("registry.opentofu.org", vpc, true),
            ("registry.terraform.io", vpc, true),
            ("registry.terraform.io/acme", vpc, true),
            ("registry.terraform.io/other", vpc, false),
            ("registry.terraform.io", random, false),
            ("a.example", vpc, false),
        ] {
            let part: MirroredPart = text.parse().unwrap();
            let package = Package::parse_address(address).unwrap();
            assert_eq!(part.owns(&package), owns, "{text} {address}");
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

//! Patterns by which an operator names providers: `hostname/namespace/type`, with `*` for a namespace or
//! type.

use std::fmt;
use std::str::FromStr;

use crate::model::address::MirroredAddress;
use crate::model::name::{Hostname, NameError, Namespace, ProviderType};
use crate::model::version::{Version, VersionError};

/// A set of providers of one registry. The hostname is always explicit: no wildcard causes requests to
/// unnamed registries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderPattern {
    hostname: Hostname,
    namespace: Option<Namespace>,
    provider_type: Option<ProviderType>,
}

/// A set of providers, or one version of each of them: `hostname/namespace/type@version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionPattern {
    providers: ProviderPattern,
    version: Option<Version>,
}

/// Reasons why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderPatternError {
    /// The text has too many or too few parts.
    #[error("{0:?} is not of the form hostname/namespace/type, with * for any namespace or type")]
    Shape(String),
    /// A part is neither `*` nor a name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The text after the `@` is not a version.
    #[error(transparent)]
    Version(#[from] VersionError),
}

impl ProviderPattern {
    /// Returns the registry of the providers.
    pub fn hostname(&self) -> &Hostname {
        &self.hostname
    }

    /// Returns whether the pattern matches a provider.
    pub fn matches(&self, address: &MirroredAddress) -> bool {
        let MirroredAddress { hostname, provider } = address;
        let any_or = |matches: Option<bool>| matches.unwrap_or(true);
        self.hostname == *hostname
            && any_or(self.namespace.as_ref().map(|n| *n == provider.namespace))
            && any_or(
                self.provider_type
                    .as_ref()
                    .map(|t| *t == provider.provider_type),
            )
    }
}

impl VersionPattern {
    /// Returns whether the pattern matches a version.
    pub fn matches(&self, address: &MirroredAddress, version: &Version) -> bool {
        let is_it = self.version.as_ref().is_none_or(|named| named == version);
        is_it && self.providers.matches(address)
    }
}

impl FromStr for ProviderPattern {
    type Err = ProviderPatternError;

    fn from_str(text: &str) -> Result<Self, ProviderPatternError> {
        let parts: Vec<&str> = text.split('/').collect();
        let [hostname, namespace, provider_type] = parts.as_slice() else {
            return Err(ProviderPatternError::Shape(text.to_owned()));
        };
        Ok(Self {
            hostname: hostname.parse()?,
            namespace: any_or_name(namespace)?,
            provider_type: any_or_name(provider_type)?,
        })
    }
}

fn any_or_name<T: FromStr>(text: &str) -> Result<Option<T>, T::Err> {
    if text == "*" {
        return Ok(None);
    }
    text.parse().map(Some)
}

impl FromStr for VersionPattern {
    type Err = ProviderPatternError;

    fn from_str(text: &str) -> Result<Self, ProviderPatternError> {
        let (providers, version) = match text.split_once('@') {
            Some((providers, version)) => (providers, Some(version.parse()?)),
            None => (text, None),
        };
        Ok(Self {
            providers: providers.parse()?,
            version,
        })
    }
}

impl fmt::Display for VersionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{}@{version}", self.providers),
            None => self.providers.fmt(f),
        }
    }
}

impl fmt::Display for ProviderPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.namespace.as_ref().map_or("*", Namespace::as_str);
        let provider_type = self
            .provider_type
            .as_ref()
            .map_or("*", ProviderType::as_str);
        write!(f, "{}/{namespace}/{provider_type}", self.hostname)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_parsed_as_written() {
        for text in [
            "a.test/*/*",
            "a.test/acme/*",
            "a.test/*/widget",
            "a.test/acme/widget",
        ] {
            assert_eq!(text.parse::<ProviderPattern>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_invalid_pattern_is_rejected_with_the_rule() {
        for (text, rule) in [
            ("", "hostname/namespace/type"),
            ("a.test/acme", "hostname/namespace/type"),
            ("a.test/acme/widget/1.0.0", "hostname/namespace/type"),
            ("*/acme/widget", "whole domain name"),
            ("*.test/acme/widget", "letters, digits"),
            ("a.test:8443/acme/widget", "port"),
            ("a.test/ac*/widget", "letters, digits"),
        ] {
            let error = text.parse::<ProviderPattern>().unwrap_err().to_string();
            assert!(error.contains(rule), "{text:?}: {error}");
            assert!(text.parse::<VersionPattern>().is_err(), "{text:?}");
        }
        let error = "a.test/acme/widget@1"
            .parse::<VersionPattern>()
            .unwrap_err();
        assert!(error.to_string().contains("semantic version"), "{error}");
    }

    #[test]
    fn a_version_pattern_is_one_version_or_all() {
        let address = "a.test/acme/widget".parse().unwrap();
        let matches = |pattern: &str, version: &str| {
            let pattern: VersionPattern = pattern.parse().unwrap();
            pattern.matches(&address, &version.parse().unwrap())
        };
        assert!(matches("a.test/acme/widget@1.0.0", "1.0.0"));
        assert!(!matches("a.test/acme/widget@1.0.0", "1.0.0+b"));
        assert!(matches("a.test/acme/*", "1.0.0+b"));
        assert!(!matches("a.test/other/*", "1.0.0"));
    }
}

//! Patterns by which an operator names providers: `hostname/namespace/type`, with `*` for a namespace or
//! type.

use std::fmt;
use std::str::FromStr;

use crate::model::address::MirroredAddress;
use crate::model::name::{Hostname, NameError, Namespace, ProviderType};
use crate::model::version::Version;

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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let [hostname, namespace, provider_type] = parts.as_slice() else {
            return Err(format!(
                "{text:?} is not of the form hostname/namespace/type, with * for any namespace or type"
            ));
        };
        Ok(Self {
            hostname: hostname
                .parse()
                .map_err(|error: NameError| error.to_string())?,
            namespace: any_or_name(namespace)?,
            provider_type: any_or_name(provider_type)?,
        })
    }
}

fn any_or_name<T: FromStr<Err = NameError>>(text: &str) -> Result<Option<T>, String> {
    if text == "*" {
        return Ok(None);
    }
    let name = text.parse().map(Some);
    name.map_err(|error: NameError| error.to_string())
}

impl FromStr for VersionPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (providers, version) = match text.split_once('@') {
            Some((providers, version)) => (providers, Some(version.parse::<Version>())),
            None => (text, None),
        };
        let version = version.transpose().map_err(|error| error.to_string())?;
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
            let error = text.parse::<ProviderPattern>().unwrap_err();
            assert!(error.contains(rule), "{text:?}: {error}");
            assert!(text.parse::<VersionPattern>().is_err(), "{text:?}");
        }
        let error = "a.test/acme/widget@1".parse::<VersionPattern>();
        let error = error.unwrap_err();
        assert!(error.contains("semantic version"), "{error}");
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

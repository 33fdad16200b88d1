//! The addresses of providers and modules, named as in OpenTofu (`registry-address`).

use std::fmt;
use std::str::FromStr;

use crate::model::name::{
    Hostname, ModuleName, ModuleNamespace, NameError, Namespace, PUBLIC_HOSTS, ProviderType, System,
};

/// A provider that this registry hosts: `namespace/type`.
///
/// The hostname of the full address is the registry's own. It is not stored, so that a registry may be
/// reached under several names and may move to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderAddress {
    /// The publisher.
    pub namespace: Namespace,
    /// The type of the provider, such as `aws`.
    pub provider_type: ProviderType,
}

/// A provider that this registry mirrors: `hostname/namespace/type`.
///
/// The hostname belongs to another registry, and is only a name: nothing is fetched from it to answer a
/// client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MirroredAddress {
    /// The registry that hosts the provider.
    pub hostname: Hostname,
    /// The provider's address in that registry.
    pub provider: ProviderAddress,
}

/// A module: `namespace/name/system` if this registry hosts it, `hostname/namespace/name/system` if it mirrors it.
/// A hostname has a dot, a namespace has none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleAddress {
    /// The registry of a mirrored module; `None` for a module that this registry hosts.
    pub hostname: Option<Hostname>,
    /// The publisher.
    pub namespace: ModuleNamespace,
    /// The name, usually of the infrastructure that the module creates, such as `vpc`.
    pub name: ModuleName,
    /// The remote system that the module is written for, such as `aws`.
    pub system: System,
}

/// The error for a text that is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// A part is not a valid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The address has too many or too few parts.
    #[error("{value:?} is not a {what}: write it as {shape}")]
    Shape {
        /// The kind of address that was expected.
        what: &'static str,
        /// The rejected text.
        value: String,
        /// The expected form.
        shape: &'static str,
    },
}

impl fmt::Display for ProviderAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.provider_type)
    }
}

impl fmt::Display for MirroredAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.hostname, self.provider)
    }
}

impl ModuleAddress {
    /// Parses the address of a module that this registry hosts.
    ///
    /// # Errors
    /// If it has a hostname, or is no address.
    pub fn parse_hosted(text: &str) -> Result<Self, AddressError> {
        let mut parts = text.split('/');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(namespace), Some(name), Some(system), None) => Ok(Self {
                hostname: None,
                namespace: namespace.parse()?,
                name: name.parse()?,
                system: system.parse()?,
            }),
            _ => Err(AddressError::Shape {
                what: "module address",
                value: text.to_owned(),
                shape: "namespace/name/system",
            }),
        }
    }

    /// Returns the address under which a module is mirrored that a source names: without a hostname it is that of a public
    /// registry, one of which stands for the other, because the client decides which one it means.
    #[must_use]
    pub fn mirrored(self) -> Self {
        let [public, ..] = PUBLIC_HOSTS;
        match &self.hostname {
            Some(hostname) if !hostname.is_public() => self,
            _ => Self {
                hostname: public.parse().ok(),
                ..self
            },
        }
    }

    /// Returns the address in its own registry.
    #[must_use]
    pub fn without_hostname(self) -> Self {
        Self {
            hostname: None,
            ..self
        }
    }
}

impl fmt::Display for ModuleAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(hostname) = &self.hostname {
            write!(f, "{hostname}/")?;
        }
        write!(f, "{}/{}/{}", self.namespace, self.name, self.system)
    }
}

impl FromStr for ProviderAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let mut parts = text.split('/');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(namespace), Some(provider_type), None) => Ok(Self {
                namespace: namespace.parse()?,
                provider_type: provider_type.parse()?,
            }),
            _ => Err(AddressError::Shape {
                what: "provider address",
                value: text.to_owned(),
                shape: "namespace/type",
            }),
        }
    }
}

impl FromStr for MirroredAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let parts = text.split_once('/');
        // An address of two parts does not name its registry, which must not be guessed.
        let whole = parts.filter(|(_, provider)| provider.contains('/'));
        let (hostname, provider) = whole.ok_or_else(|| AddressError::Shape {
            what: "mirrored provider's address",
            value: text.to_owned(),
            shape: "hostname/namespace/type",
        })?;
        Ok(Self {
            hostname: hostname.parse()?,
            provider: provider.parse()?,
        })
    }
}

impl FromStr for ModuleAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.split_once('/') {
            Some((hostname, address)) if hostname.contains('.') => Ok(Self {
                hostname: Some(hostname.parse()?),
                ..Self::parse_hosted(address)?
            }),
            _ => Self::parse_hosted(text),
        }
    }
}

terrace_base::text_serde!(MirroredAddress);

terrace_base::text_serde!(ModuleAddress);

terrace_base::text_serde!(ProviderAddress);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_the_wrong_number_of_parts_is_rejected_with_the_expected_form() {
        let error = "acme".parse::<ProviderAddress>().unwrap_err().to_string();
        assert!(error.contains("namespace/type"), "{error}");
        let error = "random".parse::<MirroredAddress>().unwrap_err().to_string();
        assert!(error.contains("hostname/namespace/type"), "{error}");
        for text in ["a/b/c/d", "a.b/c/d", "a.b/c/d/e/f"] {
            let error = text.parse::<ModuleAddress>().unwrap_err().to_string();
            assert!(error.contains("namespace/name/system"), "{error}");
        }
    }
}

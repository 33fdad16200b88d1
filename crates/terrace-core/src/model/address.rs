//! What a provider or a module is called, with OpenTofu's own nouns (`registry-address`).

use std::fmt;
use std::str::FromStr;

use crate::model::name::{
    Hostname, ModuleName, ModuleNamespace, NameError, Namespace, ProviderType, System,
};

/// A provider that this registry hosts: `namespace/type`.
///
/// The hostname of the full address is the registry's own and is not stored, so that a
/// registry may be reached under several names and may move to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderAddress {
    /// Who publishes it.
    pub namespace: Namespace,
    /// What it is a provider for, such as `aws`.
    pub provider_type: ProviderType,
}

/// A provider that this registry mirrors: `hostname/namespace/type`.
///
/// The hostname is another registry's, and only a name: nothing is fetched from it to answer a
/// client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MirroredAddress {
    /// Which registry hosts it.
    pub hostname: Hostname,
    /// What it is called there.
    pub provider: ProviderAddress,
}

/// A module that this registry hosts: `namespace/name/system`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleAddress {
    /// Who publishes it.
    pub namespace: ModuleNamespace,
    /// What it builds, such as `vpc`.
    pub name: ModuleName,
    /// The remote system it is written for, such as `aws`.
    pub system: System,
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// One of the parts is not a name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There are too many or too few parts.
    #[error("{value:?} is not a {what}: write it as {shape}")]
    Shape {
        /// What was wanted.
        what: &'static str,
        /// What was given.
        value: String,
        /// What it should look like.
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

impl fmt::Display for ModuleAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        // Which registry is meant by two parts is a guess that nobody should make.
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
        let mut parts = text.split('/');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(namespace), Some(name), Some(system), None) => Ok(Self {
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
}

terrace_base::text_serde!(MirroredAddress);

terrace_base::text_serde!(ModuleAddress);

terrace_base::text_serde!(ProviderAddress);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_back_as_they_are_written() {
        for text in ["acme/widget", "a1/b-2"] {
            assert_eq!(text.parse::<ProviderAddress>().unwrap().to_string(), text);
        }
        let text = "registry.opentofu.org/hashicorp/random";
        assert_eq!(text.parse::<MirroredAddress>().unwrap().to_string(), text);
        let text = "Acme/My_Vpc/aws";
        assert_eq!(text.parse::<ModuleAddress>().unwrap().to_string(), text);
    }

    #[test]
    fn an_address_with_other_parts_says_how_to_write_it() {
        let error = "acme".parse::<ProviderAddress>().unwrap_err().to_string();
        assert!(error.contains("namespace/type"), "{error}");
        let error = "random".parse::<MirroredAddress>().unwrap_err().to_string();
        assert!(error.contains("hostname/namespace/type"), "{error}");
        let error = "a/b/c/d".parse::<ModuleAddress>().unwrap_err().to_string();
        assert!(error.contains("namespace/name/system"), "{error}");
    }
}

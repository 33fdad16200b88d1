//! The catalogue of a registry, as its API describes it.
//!
//! Only the fields that the command shows are read. Unknown fields are ignored, and a field of an unknown form counts as
//! missing, so that the command also shows the answers of a newer registry. The tests compare the fields with those that
//! the core writes.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use terrace_core::model::provenance::Provenance;

/// A page of the namespaces.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct NamespacesPage {
    pub(crate) namespaces: Vec<NamespaceLine>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) next: Option<String>,
}

/// A namespace, or the hostname and namespace of mirrored providers.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct NamespaceLine {
    pub(crate) namespace: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) modules: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) providers: Option<u64>,
}

/// A page of the packages of a namespace.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct PackagesPage {
    pub(crate) packages: Vec<PackageLine>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) next: Option<String>,
}

/// A package in a list.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct PackageLine {
    pub(crate) kind: String,
    pub(crate) address: String,
    /// The newest version that can be installed, or, without one, the newest.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) latest: Option<String>,
    /// The number of versions.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) versions: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) published_at: Option<Date>,
    /// The status of the package, or, without one, of its latest version.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) state: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) description: Option<String>,
}

/// A page of the results of a search.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct SearchPage {
    pub(crate) results: Vec<SearchResult>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) next: Option<String>,
}

/// A result of a search.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum SearchResult {
    Package(PackageLine),
    Symbol(SymbolLine),
    /// A result of a kind that this command does not know.
    #[serde(other)]
    Unknown,
}

/// A resource, data source, function or the like of a provider.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct SymbolLine {
    /// The name of the kind in paths, such as `resources`.
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) provider: ProviderName,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) version: Option<String>,
}

/// The provider of a symbol.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct ProviderName {
    pub(crate) address: String,
}

/// A package with its versions, the newest first.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct PackageDetails {
    /// The address, which has a hostname only if the provider is mirrored.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) address: Option<String>,
    /// The version that can be installed without naming one.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) latest: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) status: Option<Status>,
    pub(crate) versions: Vec<VersionLine>,
}

/// A version in the list of a package.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct VersionLine {
    pub(crate) version: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) published_at: Option<Date>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) status: Option<Status>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) source: Option<Source>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) is_documented: bool,
}

/// One version of a package.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct VersionDetails {
    /// The address, which has a hostname only if the provider is mirrored.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) address: Option<String>,
    #[serde(flatten)]
    pub(crate) line: VersionLine,
    /// The status of the whole package.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) package_status: Option<Status>,
    /// The job that published it, if it was a job with a verified identity.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) provenance: Option<Provenance>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) documentation: Option<Documentation>,
    /// The plugin protocols of a provider.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) protocols: Vec<String>,
    /// The packages of a provider.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) platforms: Vec<Platform>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) signing_key: Option<SigningKey>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) module: Option<Module>,
}

/// A time in RFC 3339, of which the date is shown.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(transparent)]
pub(crate) struct Date(String);

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.split('T').next().unwrap_or_default())
    }
}

/// The status of a package or a version.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct Status {
    pub(crate) state: String,
    /// The reason, for users.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) reason: Option<String>,
    /// The time when it was set (RFC 3339).
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) at: Option<String>,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.state)?;
        match &self.reason {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}

/// The repository that a version was built from.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct Source {
    pub(crate) url: String,
    /// Whether it is only the publisher's claim.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) claimed: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) commit: Option<String>,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)?;
        if let Some(commit) = &self.commit {
            write!(f, " at {commit}")?;
        }
        if self.claimed {
            f.write_str(" (claimed by the publisher)")?;
        }
        Ok(())
    }
}

/// A package of a provider for one platform.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct Platform {
    pub(crate) os: String,
    pub(crate) arch: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) size: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) sha256: Option<String>,
}

/// The key that signed a provider.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct SigningKey {
    pub(crate) key_id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) fingerprint: Option<String>,
}

/// The origin of the documentation of a version.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct Documentation {
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) license: Option<String>,
    /// The page that it was taken from.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) origin: Option<String>,
    /// How often it was changed after it was first added.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) changes: u64,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) changed_at: Option<Date>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) notes: Vec<String>,
}

/// The details of a module.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct Module {
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) root: ModulePart,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) submodules: Vec<Named>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) examples: Vec<Named>,
}

/// The documents of a version.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct Navigation {
    pub(crate) documents: Vec<Document>,
}

/// A document of a version.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct Document {
    /// The name of the kind in paths, such as `resources`.
    pub(crate) kind: String,
    pub(crate) name: String,
}

/// The root of a module.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct ModulePart {
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) inputs: Vec<Input>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) outputs: Vec<ModuleOutput>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) resources: Vec<Resource>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) providers: Vec<Requirement>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) required_versions: Vec<String>,
    /// The errors of files that could not be read.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) errors: Vec<String>,
    /// Whether Terraform finds no configuration.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) is_opentofu_only: bool,
    /// The module as OpenTofu reads it, if that differs.
    #[serde(default, deserialize_with = "lenient")]
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    pub(crate) opentofu: Option<Box<ModulePart>>,
}

#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct Input {
    pub(crate) name: String,
    #[serde(default, rename = "type", deserialize_with = "lenient")]
    pub(crate) constraint: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) description: Option<String>,
    /// The default value in the source; `None` for a required input.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) default: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) deprecated: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct ModuleOutput {
    pub(crate) name: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) description: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct Resource {
    pub(crate) mode: String,
    #[serde(rename = "type")]
    pub(crate) resource_type: String,
    pub(crate) name: String,
}

/// A requirement on a provider.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct Requirement {
    pub(crate) name: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) source: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) versions: Vec<String>,
}

/// A submodule or an example.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(crate) struct Named {
    pub(crate) name: String,
    /// The errors of files that could not be read.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) errors: Vec<String>,
}

/// Reads a field. One of another form counts as missing.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

#[cfg(test)]
mod tests;

//! The details of a module, as the `terrace` command extracts them from its configuration files.
//!
//! Texts are those of the author. They may contain any character except where a type says otherwise.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::page::Page;
use crate::model::relative_path::RelativePath;

/// The details of a module: of its root, and of the modules and examples in its archive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleDetails {
    /// The root module.
    pub root: ModulePart,
    /// The directories with configuration below `modules/`, at any depth, ascending by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<NamedPart>,
    /// The directories with configuration below `examples/`, at any depth, ascending by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<NamedPart>,
    /// The files of the package that pages show or link: images of READMEs, and the licence. Their members are the files
    /// themselves, not compressed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Page>,
}

/// A submodule or an example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedPart {
    /// The path of its directory, below `modules/` or `examples/`.
    pub name: RelativePath,
    /// Its details.
    #[serde(default)]
    pub part: ModulePart,
    /// The files of an example that readers can open, ascending by name; empty for a submodule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Page>,
}

/// The details of one directory with configuration files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModulePart {
    /// The text of its README in Markdown, cut at [`limits::PAGE_BYTES`](crate::limits::PAGE_BYTES).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readme: Option<String>,
    /// The input variables, in the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// The output values, in the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Output>,
    /// The resources and data sources, in the order of their modes, types and names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    /// The providers that it requires, in the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<ProviderRequirement>,
    /// The constraints on the version of Terraform or OpenTofu, as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_versions: Vec<String>,
    /// The modules that it calls, in the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ModuleCall>,
    /// The errors of files that could not be read, each with file and line. Their contents are missing here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Whether all configuration files have names of OpenTofu, such as `main.tofu`: Terraform finds none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_opentofu_only: bool,
    /// The directory as OpenTofu reads it, without README and errors, if its `.tofu` files make a difference. The other
    /// fields are then the directory as Terraform reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opentofu: Option<Box<ModulePart>>,
}

/// An input variable.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Input {
    /// The name.
    pub name: String,
    /// The type constraint, as written in the source; `None` for any type.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub constraint: Option<String>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The default value, as written in the source; `None` for a required input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whether clients hide its value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_sensitive: bool,
    /// Whether its value is never stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ephemeral: bool,
    /// Whether null is a value of its own and not a request for the default (`nullable`, true unless written).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_nullable: Option<bool>,
    /// The reason why it is deprecated, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
}

/// An output value.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Output {
    /// The name.
    pub name: String,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether clients hide its value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_sensitive: bool,
    /// Whether its value is never stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ephemeral: bool,
    /// The reason why it is deprecated, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
}

/// A block that declares a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Resource {
    /// The kind of block.
    pub mode: ResourceMode,
    /// The type, such as `aws_instance`.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// The name within the module.
    pub name: String,
    /// The local name of its provider: the one that it names, or the beginning of its type.
    pub provider: String,
}

/// The kind of block that declares a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceMode {
    /// `resource`.
    Managed,
    /// `data`.
    Data,
    /// `ephemeral`.
    Ephemeral,
}

impl ResourceMode {
    /// Returns the name of the block.
    pub fn block(self) -> &'static str {
        match self {
            Self::Managed => "resource",
            Self::Data => "data",
            Self::Ephemeral => "ephemeral",
        }
    }
}

/// A requirement on a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProviderRequirement {
    /// The local name.
    pub name: String,
    /// The source address, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The version constraints, as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// The aliases that the caller must configure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// A call of another module.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModuleCall {
    /// The name of the call.
    pub name: String,
    /// The source address; its source text if it is an expression.
    pub source: String,
    /// The version constraint; its source text if it is an expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The name of the only client that reads a thing in this form; `None` if both do.
pub type OnlyIn = Option<&'static str>;

/// Returns the things in a list of two views of a directory, ascending.
pub fn of_both<'a, P, T: Ord>(
    terraform: &'a P,
    opentofu: Option<&'a P>,
    list: impl Fn(&'a P) -> &'a [T],
) -> Vec<(&'a T, OnlyIn)> {
    let Some(opentofu) = opentofu else {
        return list(terraform).iter().map(|it| (it, None)).collect();
    };
    let mut all: BTreeMap<&T, OnlyIn> = BTreeMap::new();
    all.extend(list(terraform).iter().map(|it| (it, Some("Terraform"))));
    for thing in list(opentofu) {
        let client = all.entry(thing).and_modify(|it| *it = None);
        client.or_insert(Some("OpenTofu"));
    }
    all.into_iter().collect()
}

impl ModulePart {
    /// Returns the directory as OpenTofu reads it.
    pub fn for_opentofu(&self) -> &Self {
        self.opentofu.as_deref().unwrap_or(self)
    }
}

impl Input {
    /// Returns whether every call must set it.
    pub fn is_required(&self) -> bool {
        self.default.is_none()
    }
}

impl ModuleDetails {
    /// Returns the files of all examples.
    pub fn files(&self) -> impl Iterator<Item = &Page> {
        self.examples
            .iter()
            .chain(&self.submodules)
            .flat_map(|part| &part.files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_that_one_client_reads_has_its_name() {
        let (terraform, opentofu) = (vec!["a", "b"], vec!["c", "b"]);
        let of = |other| of_both(&terraform, other, |it| it.as_slice());
        assert_eq!(of(None), [(&"a", None), (&"b", None)]);
        assert_eq!(
            of(Some(&opentofu)),
            [
                (&"a", Some("Terraform")),
                (&"b", None),
                (&"c", Some("OpenTofu"))
            ]
        );
    }
}

//! The answer of `get_module`.

use serde::Serialize;

use super::{Links, UNDOCUMENTED, document_name};
use crate::api::details::{ModuleView, NamedPartView, StatusView};
use crate::documentation::{
    Input, ModulePart, Output, ProviderRequirement, Resource, ResourceMode,
};
use crate::mcp::page::{AnswerPage, Entries, cut};
use crate::model::relative_path::RelativePath;
use crate::model::version::Version;
use crate::read::VersionView;
use terrace_base::json;

/// Maximum number of names within one entry of an answer, such as the files of an example.
const MCP_NAMES: usize = 50;

/// The note about a module that Terraform cannot use.
const OPENTOFU_ONLY: &str = "only OpenTofu reads this module: it has .tofu files, and no .tf files";

/// The note about a module of which OpenTofu reads other files.
const OTHER_IN_OPENTOFU: &str = "this is the module as Terraform reads it: OpenTofu reads .tofu files of it that differ, which the page describes";

/// The answer of `get_module`.
#[derive(Debug, Serialize)]
pub struct ModuleAnswer {
    address: String,
    source: String,
    version: Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest: Option<Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<StatusView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    package_status: Option<StatusView>,
    page: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    snippet: String,
    required_versions: Vec<String>,
    inputs: Entries,
    outputs: Entries,
    providers: Entries,
    resources: Entries,
    submodules: Entries,
    examples: Entries,
    documents: Entries,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

#[derive(Serialize)]
struct InputEntry {
    name: String,
    is_required: bool,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    constraint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_sensitive: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_ephemeral: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_nullable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated: Option<String>,
}

#[derive(Serialize)]
struct OutputEntry {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_sensitive: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_ephemeral: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated: Option<String>,
}

#[derive(Serialize)]
struct ProviderEntry {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    versions: String,
    /// The aliases that the caller must configure.
    #[serde(skip_serializing_if = "String::is_empty")]
    aliases: String,
}

#[derive(Serialize)]
struct ResourceEntry {
    mode: ResourceMode,
    #[serde(rename = "type")]
    resource_type: String,
    name: String,
}

#[derive(Serialize)]
struct SubmoduleEntry<'a> {
    name: &'a RelativePath,
    required_inputs: Vec<String>,
}

#[derive(Serialize)]
struct NamedEntry<'a> {
    name: &'a RelativePath,
    documents: Vec<String>,
}

#[derive(Serialize)]
struct DocumentEntry {
    document: String,
}

impl ModuleAnswer {
    /// Creates the answer about a version of a module, or one of its submodules. `None` if it has no such submodule.
    pub fn new(
        view: VersionView,
        submodule: Option<&RelativePath>,
        links: Links,
        page: &mut AnswerPage,
    ) -> Option<Self> {
        let details = view.details;
        let empty = ModulePart::default();
        let part = match (submodule, &details.module) {
            (None, None) => &empty,
            (None, Some(module)) => &module.root,
            (Some(name), module) => part_of(module.as_ref()?, name)?,
        };
        let (submodules, examples) = match (&details.module, submodule) {
            (Some(module), None) => (module.submodules.as_slice(), module.examples.as_slice()),
            _ => Default::default(),
        };
        let first = page.is_first();
        let inputs = page.take(&part.inputs, |it| json::to_string(&input(it)));
        let outputs = page.take(&part.outputs, |it| json::to_string(&output(it)));
        let providers = page.take(&part.providers, |it| json::to_string(&provider(it)));
        let resources = page.take(&part.resources, |it| json::to_string(&resource(it)));
        let submodules = page.take(submodules, |it| json::to_string(&submodule_entry(it)));
        let examples = page.take(examples, |it| json::to_string(&example(it)));
        let documents = page.take(&view.navigation.documents, |it| {
            let document = document_name(it);
            json::to_string(&DocumentEntry { document })
        });
        Some(Self {
            note: match &details.module {
                None => Some(UNDOCUMENTED),
                Some(_) if part.is_opentofu_only => Some(OPENTOFU_ONLY),
                Some(_) => part.opentofu.as_ref().map(|_| OTHER_IN_OPENTOFU),
            },
            address: details.package.address,
            source: links.source,
            version: details.version.version,
            latest: details.latest,
            published_at: details.version.published_at,
            status: details.version.status,
            package_status: details.package_status,
            page: links.page,
            // It belongs to the first page of a long answer.
            snippet: match first {
                true => links.snippet,
                false => String::new(),
            },
            required_versions: few(part.required_versions.iter()),
            inputs,
            outputs,
            providers,
            resources,
            submodules,
            examples,
            documents,
            next_offset: page.next(),
        })
    }
}

/// Returns the first texts of a list within an entry.
fn few<'t>(texts: impl Iterator<Item = &'t String>) -> Vec<String> {
    texts.take(MCP_NAMES).map(|it| cut(it)).collect()
}

/// Returns a submodule.
fn part_of<'m>(module: &'m ModuleView, name: &RelativePath) -> Option<&'m ModulePart> {
    let mut submodules = module.submodules.iter();
    submodules.find(|it| it.name == *name).map(|it| &it.part)
}

fn input(input: &Input) -> InputEntry {
    InputEntry {
        name: cut(&input.name),
        is_required: input.is_required(),
        constraint: input.constraint.as_deref().map(cut),
        description: input.description.as_deref().map(cut),
        default: input.default.as_deref().map(cut),
        is_sensitive: input.is_sensitive,
        is_ephemeral: input.is_ephemeral,
        is_nullable: input.is_nullable,
        deprecated: input.deprecated.as_deref().map(cut),
    }
}

fn output(output: &Output) -> OutputEntry {
    OutputEntry {
        name: cut(&output.name),
        description: output.description.as_deref().map(cut),
        is_sensitive: output.is_sensitive,
        is_ephemeral: output.is_ephemeral,
        deprecated: output.deprecated.as_deref().map(cut),
    }
}

fn provider(required: &ProviderRequirement) -> ProviderEntry {
    ProviderEntry {
        name: cut(&required.name),
        source: required.source.as_deref().map(cut),
        versions: cut(&required.versions.join(", ")),
        aliases: cut(&required.aliases.join(", ")),
    }
}

fn resource(resource: &Resource) -> ResourceEntry {
    ResourceEntry {
        mode: resource.mode,
        resource_type: cut(&resource.resource_type),
        name: cut(&resource.name),
    }
}

fn submodule_entry(part: &NamedPartView) -> SubmoduleEntry<'_> {
    let required = part.part.inputs.iter().filter(|it| it.is_required());
    SubmoduleEntry {
        name: &part.name,
        required_inputs: few(required.map(|it| &it.name)),
    }
}

fn example(part: &NamedPartView) -> NamedEntry<'_> {
    let files = part.files.iter();
    NamedEntry {
        name: &part.name,
        documents: files
            .take(MCP_NAMES)
            .map(|it| format!("{}/{}", it.kind, it.name))
            .collect(),
    }
}

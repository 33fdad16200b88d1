//! The JSON of packages in the shape of the public registry's API, version 1
//! (<https://developer.hashicorp.com/terraform/registry/api-docs>), for clients that were written for it.
//!
//! All fields are present. This registry does not know some of their values: nothing is verified, downloads are not
//! counted by it, and texts that are unknown are empty.

use serde::Serialize;

use crate::documentation::{
    DocumentPath, Input, ModuleDetails, ModulePart, NamedPart, ProviderDetails, ProviderPage,
    ResourceMode,
};
use crate::index::about::About;
use crate::index::card::{module_description, provider_description};
use crate::index::catalog::CatalogLine;
use crate::model::address::{ModuleAddress, ProviderAddress};
use crate::model::package::Package;
use crate::model::version::Version;
use terrace_base::time::UnixTime;

/// A module in a list, and the beginning of its details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PublicModule {
    id: String,
    owner: String,
    namespace: String,
    name: String,
    version: String,
    provider: String,
    description: String,
    source: String,
    tag: String,
    published_at: String,
    downloads: u32,
    verified: bool,
}

/// The details of a version of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PublicModuleDetails {
    #[serde(flatten)]
    module: PublicModule,
    root: PublicPart,
    submodules: Vec<PublicPart>,
    examples: Vec<PublicPart>,
    providers: Vec<String>,
    versions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct PublicPart {
    path: String,
    name: String,
    readme: String,
    empty: bool,
    inputs: Vec<PublicInput>,
    outputs: Vec<PublicOutput>,
    dependencies: Vec<PublicDependency>,
    provider_dependencies: Vec<PublicProviderDependency>,
    resources: Vec<PublicResource>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct PublicInput {
    name: String,
    #[serde(rename = "type")]
    constraint: String,
    description: String,
    /// Always a text: terraform-ls reads no other JSON.
    default: String,
    required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct PublicOutput {
    name: String,
    description: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct PublicDependency {
    name: String,
    source: String,
    version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct PublicProviderDependency {
    name: String,
    namespace: String,
    source: String,
    version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct PublicResource {
    name: String,
    #[serde(rename = "type")]
    resource_type: String,
}

/// A provider in a list, and the beginning of its details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PublicProvider {
    id: String,
    owner: String,
    namespace: String,
    name: String,
    alias: String,
    version: String,
    tag: String,
    description: String,
    /// `None` if it is unknown: Dependabot fails if the field is absent (clients.md 15.2).
    source: Option<String>,
    published_at: String,
    downloads: u32,
    tier: &'static str,
    logo_url: &'static str,
}

/// The details of a version of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PublicProviderDetails {
    #[serde(flatten)]
    provider: PublicProvider,
    versions: Vec<String>,
    docs: Vec<PublicPage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct PublicPage {
    id: String,
    title: String,
    path: String,
    slug: String,
    category: String,
    subcategory: String,
    language: &'static str,
}

/// A list of modules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PublicModules {
    /// The position in the list.
    pub meta: PublicMeta,
    /// The modules.
    pub modules: Vec<PublicModule>,
}

/// A list of providers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PublicProviders {
    /// The position in the list.
    pub meta: PublicMeta,
    /// The providers.
    pub providers: Vec<PublicProvider>,
}

/// The position of a page in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PublicMeta {
    /// The maximum number of entries of a page.
    pub limit: usize,
    /// The number of entries before this page.
    pub current_offset: usize,
    /// The number of entries before the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// The path of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_url: Option<String>,
    /// The number of entries before the previous page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prev_offset: Option<usize>,
    /// The path of the previous page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prev_url: Option<String>,
}

impl PublicModule {
    fn new(address: &ModuleAddress, version: &Version) -> Self {
        Self {
            id: format!("{address}/{version}"),
            owner: String::new(),
            namespace: address.namespace.to_string(),
            name: address.name.to_string(),
            version: version.to_string(),
            provider: address.system.to_string(),
            description: String::new(),
            source: String::new(),
            tag: String::new(),
            published_at: String::new(),
            downloads: 0,
            verified: false,
        }
    }

    /// Creates the entry of a line of the catalogue; `None` if it describes no module.
    pub fn of_line(line: &CatalogLine) -> Option<Self> {
        let Package::Module(address) = &line.package else {
            return None;
        };
        Some(Self {
            description: line.description.clone(),
            published_at: time(line.published_at),
            ..Self::new(address, &line.latest)
        })
    }
}

impl PublicModuleDetails {
    /// Creates the details of a version. `versions` are those that can be installed, ascending.
    pub fn new(
        address: &ModuleAddress,
        version: &Version,
        about: &About,
        details: ModuleDetails,
        versions: Vec<String>,
    ) -> Self {
        let description = module_description(&details);
        let ModuleDetails {
            root,
            submodules,
            examples,
        } = details;
        let named = |folder: &'static str| {
            move |NamedPart { name, part, .. }: NamedPart| {
                PublicPart::new(format!("{folder}/{name}"), name.to_string(), part)
            }
        };
        Self {
            module: PublicModule {
                description,
                source: about
                    .source
                    .as_ref()
                    .map_or_else(String::new, |source| source.url.to_string()),
                published_at: about.published_at.to_string(),
                ..PublicModule::new(address, version)
            },
            root: PublicPart::new(String::new(), address.name.to_string(), root),
            submodules: submodules.into_iter().map(named("modules")).collect(),
            examples: examples.into_iter().map(named("examples")).collect(),
            providers: vec![address.system.to_string()],
            versions,
        }
    }
}

impl PublicPart {
    fn new(path: String, name: String, part: ModulePart) -> Self {
        let ModulePart {
            readme,
            inputs,
            outputs,
            resources,
            providers,
            calls,
            required_versions: _,
            errors: _,
            is_opentofu_only: _,
            opentofu: _,
        } = part;
        let managed = resources
            .into_iter()
            .filter(|it| it.mode == ResourceMode::Managed);
        Self {
            path,
            name,
            readme: readme.unwrap_or_default(),
            empty: inputs.is_empty() && outputs.is_empty() && calls.is_empty(),
            inputs: inputs.into_iter().map(PublicInput::from).collect(),
            outputs: outputs
                .into_iter()
                .map(|output| PublicOutput {
                    name: output.name,
                    description: output.description.unwrap_or_default(),
                })
                .collect(),
            dependencies: calls
                .into_iter()
                .map(|call| PublicDependency {
                    name: call.name,
                    source: call.source,
                    version: call.version.unwrap_or_default(),
                })
                .collect(),
            provider_dependencies: providers
                .into_iter()
                .map(|required| {
                    let source = required.source.unwrap_or_default();
                    let namespace = source.rsplit('/').nth(1).unwrap_or("hashicorp");
                    PublicProviderDependency {
                        namespace: namespace.to_owned(),
                        name: required.name,
                        version: required.versions.join(", "),
                        source,
                    }
                })
                .collect(),
            resources: managed
                .map(|resource| PublicResource {
                    name: resource.name,
                    resource_type: resource.resource_type,
                })
                .collect(),
        }
    }
}

impl From<Input> for PublicInput {
    fn from(input: Input) -> Self {
        Self {
            required: input.is_required(),
            name: input.name,
            constraint: input.constraint.unwrap_or_else(|| "any".to_owned()),
            description: input.description.unwrap_or_default(),
            default: input.default.unwrap_or_default(),
        }
    }
}

impl PublicProvider {
    fn new(address: &ProviderAddress, version: &Version) -> Self {
        Self {
            id: format!("{address}/{version}"),
            owner: String::new(),
            namespace: address.namespace.to_string(),
            name: address.provider_type.to_string(),
            alias: address.provider_type.to_string(),
            version: version.to_string(),
            tag: String::new(),
            description: String::new(),
            source: None,
            published_at: String::new(),
            downloads: 0,
            tier: "community",
            logo_url: "",
        }
    }

    /// Creates the entry of a line of the catalogue; `None` if it describes no provider published here.
    pub fn of_line(line: &CatalogLine) -> Option<Self> {
        let Package::Provider(address) = &line.package else {
            return None;
        };
        Some(Self {
            description: line.description.clone(),
            published_at: time(line.published_at),
            ..Self::new(address, &line.latest)
        })
    }
}

impl PublicProviderDetails {
    /// Creates the details of a version. `source` is its repository, and `versions` are those that can be installed,
    /// ascending.
    pub fn new(
        address: &ProviderAddress,
        version: &Version,
        source: Option<&str>,
        published_at: Option<UnixTime>,
        versions: Vec<String>,
    ) -> Self {
        Self {
            provider: PublicProvider {
                source: source.map(str::to_owned),
                published_at: time(published_at),
                ..PublicProvider::new(address, version)
            },
            versions,
            docs: Vec::new(),
        }
    }

    /// Adds the pages of the documentation.
    #[must_use]
    pub fn with_pages(mut self, details: ProviderDetails) -> Self {
        let page = |page: ProviderPage| {
            let document = DocumentPath::of_page(page.kind, &page.name).to_string();
            PublicPage {
                path: format!("docs/{document}.md"),
                id: document,
                title: page.title,
                slug: page.name.to_string(),
                category: page.kind.to_string(),
                subcategory: page.subcategory.unwrap_or_default(),
                language: "hcl",
            }
        };
        self.provider.description = provider_description(&details);
        self.docs = details.pages.into_iter().map(page).collect();
        self
    }
}

fn time(at: Option<UnixTime>) -> String {
    at.map(|at| at.to_string()).unwrap_or_default()
}

//! The navigation of a provider's documentation, and its symbols.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::page::{Member, PageName};

/// The documentation of a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderDetails {
    /// The pages, in the order of their kinds and names.
    pub pages: Vec<ProviderPage>,
    /// The names that configurations refer to, in the order of their kinds and names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<Symbol>,
    /// The arguments of the provider's own block, as in [`Symbol::arguments`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

/// A page of a provider's documentation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderPage {
    /// Its kind.
    pub kind: DocumentationKind,
    /// Its name within its kind: the name of its file, without extensions.
    pub name: PageName,
    /// Its title (`page_title`), or its name.
    pub title: String,
    /// The group that it is listed in (`subcategory`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subcategory: Option<String>,
    /// Its description, on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its place in the archive.
    pub member: Member,
    /// Whether the file was cut at [`limits::PAGE_BYTES`](crate::limits::PAGE_BYTES).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_truncated: bool,
    /// Whether the page was generated from the provider's schema, because its file is missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_generated: bool,
}

/// A name that configurations refer to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Its kind; neither an overview nor a guide.
    pub kind: DocumentationKind,
    /// The whole name, such as `acme_widget`, or the name of a function.
    pub name: String,
    /// The page that describes it, of the same kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<PageName>,
    /// The arguments and attributes according to the provider's schema, one a line, nested ones by their paths:
    /// `name: Required, String`. `None` without a schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

/// The kind of a page. The order is that of a navigation (`reference/registry/provider-docs` of Terraform).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentationKind {
    /// The first page of a provider: `index`.
    Overview,
    /// A guide.
    Guide,
    /// A function.
    Function,
    /// An ephemeral resource.
    EphemeralResource,
    /// A resource.
    Resource,
    /// A data source.
    DataSource,
    /// A list resource.
    ListResource,
    /// An action.
    Action,
    /// A state store.
    StateStore,
}

/// The error for a text that is not the kind of a page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a kind of documentation is one of {}",
    DocumentationKind::ALL.map(DocumentationKind::as_str).join(", ")
)]
pub struct DocumentationKindError;

impl DocumentationKind {
    /// All kinds, in their order.
    pub const ALL: [Self; 9] = [
        Self::Overview,
        Self::Guide,
        Self::Function,
        Self::EphemeralResource,
        Self::Resource,
        Self::DataSource,
        Self::ListResource,
        Self::Action,
        Self::StateStore,
    ];

    /// Returns the name in paths, which is also the name of the directory of its pages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Guide => "guides",
            Self::Function => "functions",
            Self::EphemeralResource => "ephemeral-resources",
            Self::Resource => "resources",
            Self::DataSource => "data-sources",
            Self::ListResource => "list-resources",
            Self::Action => "actions",
            Self::StateStore => "state-stores",
        }
    }
}

impl fmt::Display for DocumentationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for DocumentationKind {
    type Err = DocumentationKindError;

    fn from_str(text: &str) -> Result<Self, DocumentationKindError> {
        let mut kinds = Self::ALL.into_iter();
        kinds
            .find(|kind| kind.as_str() == text)
            .ok_or(DocumentationKindError)
    }
}

terrace_base::text_serde!(DocumentationKind);

impl ProviderDetails {
    /// Returns a page by its kind and name.
    pub fn page(&self, kind: DocumentationKind, name: &PageName) -> Option<&ProviderPage> {
        self.pages
            .iter()
            .find(|page| page.kind == kind && page.name == *name)
    }
}

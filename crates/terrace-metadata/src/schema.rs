//! The schema of a provider, as `terraform providers schema -json` prints it: its symbols, and pages generated from it.

mod document;
mod pages;
mod types;

use std::collections::BTreeMap;

use terrace_base::untrusted::quoted;
use terrace_core::documentation::{DocumentationKind as Kind, PageName};

use crate::limits;
use crate::schema::document::{BlockSchema, Document, FunctionSignature, ProviderDocument};

/// The schema of one provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    provider: Option<BlockSchema>,
    parts: BTreeMap<(Kind, String), Part>,
}

/// The schema of a resource or another block, or the signature of a function.
#[derive(Debug, Clone, PartialEq)]
enum Part {
    Block(BlockSchema),
    Function(FunctionSignature),
}

/// A page that was generated from a schema.
#[derive(Debug)]
pub(crate) struct GeneratedPage {
    pub(crate) kind: Kind,
    /// The name of the page: that of the symbol without the type of the provider.
    pub(crate) name: PageName,
    pub(crate) symbol: String,
    pub(crate) description: String,
    pub(crate) markdown: String,
}

impl Schema {
    /// Parses the output of `terraform providers schema -json`.
    ///
    /// # Errors
    /// The reason why it cannot be used.
    pub fn parse(json: &[u8], provider_type: &str) -> Result<Self, String> {
        let (length, max) = (json.len(), limits::SCHEMA_BYTES);
        if length > max {
            return Err(format!(
                "the schema has {length} bytes, at most {max} are read"
            ));
        }
        let mut document: Document = serde_json::from_slice(json).map_err(|error| {
            format!("the schema is not the output of `terraform providers schema -json`: {error}")
        })?;
        let addresses: Vec<String> = document.provider_schemas.keys().cloned().collect();
        let is_type = |address: &&String| address.rsplit('/').next() == Some(provider_type);
        let address = addresses.iter().find(is_type);
        let provider = address.and_then(|address| document.provider_schemas.remove(address));
        provider.map(Self::of).ok_or_else(|| {
            let (found, expected) = (addresses.join(", "), quoted(provider_type));
            let found = quoted(&found);
            format!(
                "the schema describes {found}, but not the provider {expected}; run `terraform providers schema -json` in a directory that requires it"
            )
        })
    }

    fn of(document: ProviderDocument) -> Self {
        let functions = document.functions.into_iter();
        let functions = functions.map(|(name, it)| ((Kind::Function, name), Part::Function(it)));
        let mut parts: BTreeMap<_, _> = functions.collect();
        for (kind, schemas) in [
            (Kind::Resource, document.resource_schemas),
            (Kind::DataSource, document.data_source_schemas),
            (Kind::EphemeralResource, document.ephemeral_resource_schemas),
            (Kind::ListResource, document.list_resource_schemas),
            (Kind::Action, document.action_schemas),
            (Kind::StateStore, document.state_store_schemas),
        ] {
            let schemas = schemas.into_iter();
            parts.extend(schemas.map(|(name, it)| ((kind, name), Part::Block(it.block))));
        }
        Self {
            provider: document.provider.map(|provider| provider.block),
            parts,
        }
    }

    /// Returns the kinds and names of all parts, in their order.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = (Kind, &str)> {
        self.parts.keys().map(|(kind, name)| (*kind, name.as_str()))
    }

    pub(crate) fn has(&self, kind: Kind, name: &str) -> bool {
        self.parts.contains_key(&(kind, name.to_owned()))
    }
}

//! The JSON document. Unknown members are ignored, and missing ones have a default.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
pub(super) struct Document {
    pub(super) provider_schemas: BTreeMap<String, ProviderDocument>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ProviderDocument {
    pub(super) provider: Option<TopLevel>,
    pub(super) resource_schemas: BTreeMap<String, TopLevel>,
    pub(super) data_source_schemas: BTreeMap<String, TopLevel>,
    pub(super) ephemeral_resource_schemas: BTreeMap<String, TopLevel>,
    pub(super) list_resource_schemas: BTreeMap<String, TopLevel>,
    pub(super) action_schemas: BTreeMap<String, TopLevel>,
    pub(super) state_store_schemas: BTreeMap<String, TopLevel>,
    pub(super) functions: BTreeMap<String, FunctionSignature>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TopLevel {
    pub(super) block: BlockSchema,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct BlockSchema {
    pub(super) attributes: BTreeMap<String, AttributeSchema>,
    pub(super) block_types: BTreeMap<String, NestedBlock>,
    pub(super) description: String,
    pub(super) deprecated: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct AttributeSchema {
    #[serde(rename = "type")]
    pub(super) value_type: Value,
    pub(super) nested_type: Option<NestedAttributes>,
    pub(super) description: String,
    pub(super) required: bool,
    pub(super) optional: bool,
    pub(super) computed: bool,
    pub(super) sensitive: bool,
    pub(super) deprecated: bool,
    pub(super) write_only: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct NestedAttributes {
    pub(super) attributes: BTreeMap<String, AttributeSchema>,
    pub(super) nesting_mode: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct NestedBlock {
    pub(super) nesting_mode: String,
    pub(super) block: BlockSchema,
    pub(super) min_items: u64,
    pub(super) max_items: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct FunctionSignature {
    pub(super) summary: String,
    pub(super) description: String,
    pub(super) deprecation_message: String,
    pub(super) return_type: Value,
    pub(super) parameters: Vec<FunctionParameter>,
    pub(super) variadic_parameter: Option<FunctionParameter>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct FunctionParameter {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) is_nullable: bool,
    #[serde(rename = "type")]
    pub(super) value_type: Value,
}

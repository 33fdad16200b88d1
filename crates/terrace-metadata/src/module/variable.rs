//! Input variables.

use std::collections::BTreeMap;

use terrace_core::documentation::Input;

use crate::configuration::Block;
use crate::module::part::FileContext;

/// Adds a `variable` block.
pub(super) fn add(
    inputs: &mut BTreeMap<String, Input>,
    block: Block<'_>,
    context: &mut FileContext<'_>,
) {
    let Some(input) = context.declaration(inputs, &block, undescribed) else {
        return;
    };
    if let Some(attribute) = block.attributes.get("type") {
        // Terraform 0.11 wrote types in quotes.
        let text = attribute.value.literal();
        let text = text.unwrap_or_else(|| attribute.value.source());
        input.constraint = Some(context.limited(attribute, "type", text));
    }
    if let Some(attribute) = block.attributes.get("default") {
        input.default = Some(context.limited(attribute, "default", attribute.value.source()));
    }
    context.set_text(&mut input.description, &block, "description");
    context.set_text(&mut input.deprecated, &block, "deprecated");
    context.set_flag(&mut input.is_sensitive, &block, "sensitive");
    context.set_flag(&mut input.is_ephemeral, &block, "ephemeral");
    if block.attributes.contains_key("nullable") {
        input.is_nullable = context.flag(&block, "nullable");
    }
}

fn undescribed(name: String) -> Input {
    Input {
        name,
        constraint: None,
        description: None,
        default: None,
        is_sensitive: false,
        is_ephemeral: false,
        is_nullable: None,
        deprecated: None,
    }
}

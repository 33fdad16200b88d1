//! Output values.

use std::collections::BTreeMap;

use terrace_core::documentation::Output;

use crate::configuration::Block;
use crate::module::part::FileContext;

/// Adds an `output` block.
pub(super) fn add(
    outputs: &mut BTreeMap<String, Output>,
    block: Block<'_>,
    context: &mut FileContext<'_>,
) {
    let Some(output) = context.declaration(outputs, &block, undescribed) else {
        return;
    };
    context.set_text(&mut output.description, &block, "description");
    context.set_text(&mut output.deprecated, &block, "deprecated");
    context.set_flag(&mut output.is_sensitive, &block, "sensitive");
    context.set_flag(&mut output.is_ephemeral, &block, "ephemeral");
}

fn undescribed(name: String) -> Output {
    Output {
        name,
        description: None,
        is_sensitive: false,
        is_ephemeral: false,
        deprecated: None,
    }
}

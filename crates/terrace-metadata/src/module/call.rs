//! Calls of other modules.

use std::collections::BTreeMap;

use terrace_core::documentation::ModuleCall;

use crate::configuration::Block;
use crate::module::part::FileContext;

/// Adds a `module` block.
pub(super) fn add(
    calls: &mut BTreeMap<String, ModuleCall>,
    block: Block<'_>,
    context: &mut FileContext<'_>,
) {
    let Some(call) = context.declaration(calls, &block, undescribed) else {
        return;
    };
    // OpenTofu also accepts expressions here, which only a caller can evaluate.
    if let Some(attribute) = block.attributes.get("source") {
        let source = attribute.value.literal().unwrap_or_default();
        call.source = context.limited(attribute, "source", source);
    }
    if let Some(attribute) = block.attributes.get("version") {
        let version = attribute.value.literal();
        call.version = version.map(|version| context.limited(attribute, "version", version));
    }
}

fn undescribed(name: String) -> ModuleCall {
    ModuleCall {
        name,
        source: String::new(),
        version: None,
    }
}

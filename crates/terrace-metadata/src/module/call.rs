//! Calls of other modules.

use std::collections::BTreeMap;

use terrace_core::documentation::ModuleCall;

use crate::configuration::{Block, Value};
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
    // Both clients also accept expressions here, which only a caller can evaluate.
    let text = |value: &Value<'_>| value.literal().unwrap_or_else(|| value.source());
    if let Some(attribute) = block.attributes.get("source") {
        call.source = context.limited(attribute, "source", text(&attribute.value));
    }
    if let Some(attribute) = block.attributes.get("version") {
        let version = Some(text(&attribute.value)).filter(|_| !attribute.value.is_null());
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

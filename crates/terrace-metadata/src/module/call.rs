//! Calls of other modules.

use terrace_core::documentation::ModuleCall;

use crate::configuration::Block;
use crate::module::part::{Declarations, FileContext};

/// Adds a `module` block.
pub(super) fn add(
    declarations: &mut Declarations,
    block: Block<'_>,
    context: &mut FileContext<'_>,
) {
    let Some(name) = context.name(&block) else {
        return;
    };
    if !context.may_add(&block, &name, declarations.calls.contains_key(&name)) {
        return;
    }
    let call = declarations
        .calls
        .entry(name.clone())
        .or_insert_with(|| ModuleCall {
            name,
            source: String::new(),
            version: None,
        });
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

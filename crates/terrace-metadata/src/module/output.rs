//! Output values.

use terrace_core::documentation::Output;

use crate::configuration::Block;
use crate::module::part::{Declarations, FileContext};

/// Adds an `output` block.
pub(super) fn add(
    declarations: &mut Declarations,
    block: Block<'_>,
    context: &mut FileContext<'_>,
) {
    let Some(name) = context.name(&block) else {
        return;
    };
    if !context.may_add(&block, &name, declarations.outputs.contains_key(&name)) {
        return;
    }
    let output = declarations
        .outputs
        .entry(name.clone())
        .or_insert_with(|| undescribed(name));
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

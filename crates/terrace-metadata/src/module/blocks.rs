//! The blocks that declare inputs, outputs, resources and calls.

use std::collections::BTreeMap;

use terrace_core::documentation::{Input, ModuleCall, Output, Resource, ResourceMode};

use crate::configuration::{Block, Value};
use crate::module::context::{Declarations, FileContext};

/// Adds a `variable` block.
pub(super) fn add_input(
    inputs: &mut BTreeMap<String, Input>,
    block: &Block<'_>,
    context: &mut FileContext<'_>,
) {
    let undescribed = |name| Input {
        name,
        ..Input::default()
    };
    let Some(input) = context.declaration(inputs, block, undescribed) else {
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
    context.set_text(&mut input.description, block, "description");
    context.set_text(&mut input.deprecated, block, "deprecated");
    context.set_flag(&mut input.is_sensitive, block, "sensitive");
    context.set_flag(&mut input.is_ephemeral, block, "ephemeral");
    if block.attributes.contains_key("nullable") {
        input.is_nullable = context.flag(block, "nullable");
    }
}

/// Adds an `output` block.
pub(super) fn add_output(
    outputs: &mut BTreeMap<String, Output>,
    block: &Block<'_>,
    context: &mut FileContext<'_>,
) {
    let undescribed = |name| Output {
        name,
        ..Output::default()
    };
    let Some(output) = context.declaration(outputs, block, undescribed) else {
        return;
    };
    context.set_text(&mut output.description, block, "description");
    context.set_text(&mut output.deprecated, block, "deprecated");
    context.set_flag(&mut output.is_sensitive, block, "sensitive");
    context.set_flag(&mut output.is_ephemeral, block, "ephemeral");
}

/// Adds a `module` block.
pub(super) fn add_call(
    calls: &mut BTreeMap<String, ModuleCall>,
    block: &Block<'_>,
    context: &mut FileContext<'_>,
) {
    let undescribed = |name| ModuleCall {
        name,
        ..ModuleCall::default()
    };
    let Some(call) = context.declaration(calls, block, undescribed) else {
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

/// Adds a `resource`, `data` or `ephemeral` block.
pub(super) fn add_resource(
    declarations: &mut Declarations,
    mode: ResourceMode,
    block: &Block<'_>,
    context: &mut FileContext<'_>,
) {
    let [resource_type, name] = block.labels.as_slice() else {
        context.error(
            block.line,
            format!("{} must have a type and a name", block.kind),
        );
        return;
    };
    let key = (mode, resource_type.clone(), name.clone());
    let address = format!("{resource_type}.{name}");
    let resources = &mut declarations.resources;
    if !context.may_add(block, &address, resources.contains_key(&key)) {
        return;
    }
    // The part of a type before the first underscore is the local name of its provider.
    let implied = resource_type.split('_').next().unwrap_or_default();
    let resource = resources.entry(key).or_insert_with(|| Resource {
        mode,
        resource_type: resource_type.clone(),
        name: name.clone(),
        provider: implied.to_owned(),
    });
    let Some(attribute) = block.attributes.get("provider") else {
        return;
    };
    let names = attribute.value.reference();
    match names.and_then(|names| names.into_iter().next()) {
        Some(provider) => resource.provider = provider,
        None => context.error(
            attribute.line,
            "provider must be the name of a provider, or that of a configuration such as aws.peer",
        ),
    }
}

//! Resources, data sources and ephemeral resources.

use terrace_core::documentation::{Resource, ResourceMode};

use crate::configuration::Block;
use crate::module::part::{Declarations, FileContext};

/// Adds a `resource`, `data` or `ephemeral` block.
pub(super) fn add(
    declarations: &mut Declarations,
    mode: ResourceMode,
    block: Block<'_>,
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
    if !context.may_add(&block, &address, declarations.resources.contains_key(&key)) {
        return;
    }
    let resource = declarations
        .resources
        .entry(key)
        .or_insert_with(|| Resource {
            mode,
            resource_type: resource_type.clone(),
            name: name.clone(),
            provider: implied_provider(resource_type).to_owned(),
        });
    let Some(attribute) = block.attributes.get("provider") else {
        return;
    };
    match attribute
        .value
        .reference()
        .and_then(|names| names.into_iter().next())
    {
        Some(provider) => resource.provider = provider,
        None => context.error(
            attribute.line,
            "provider must be the name of a provider, or that of a configuration such as aws.peer",
        ),
    }
}

/// Returns the local name of the provider of a type: its part before the first underscore.
fn implied_provider(resource_type: &str) -> &str {
    resource_type
        .split_once('_')
        .map_or(resource_type, |(provider, _)| provider)
}

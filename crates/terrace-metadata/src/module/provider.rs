//! Requirements on providers, and on the version of Terraform or OpenTofu.

use terrace_core::documentation::ProviderRequirement;

use crate::configuration::{Attribute, Block, Value};
use crate::module::context::{Declarations, FileContext};

/// A requirement without a source address and versions.
pub(super) fn unconstrained(name: &str) -> ProviderRequirement {
    ProviderRequirement {
        name: name.to_owned(),
        ..ProviderRequirement::default()
    }
}

/// Adds a `terraform` block.
pub(super) fn add_settings(
    declarations: &mut Declarations,
    block: Block<'_>,
    context: &mut FileContext<'_>,
) {
    if let Some(attribute) = block.attributes.get("required_version")
        && let Some(version) = context.text(attribute, "required_version")
    {
        if context.is_override {
            declarations.required_versions.clear();
        }
        declarations.required_versions.push(version);
    }
    for inner in block.blocks {
        if inner.kind != "required_providers" {
            continue;
        }
        for (name, attribute) in inner.attributes {
            add_requirement(declarations, name, attribute, context);
        }
    }
}

/// Adds a `provider` block: it requires the provider, and could require versions before Terraform 0.13.
pub(super) fn add_configuration(
    declarations: &mut Declarations,
    block: Block<'_>,
    context: &mut FileContext<'_>,
) {
    let Some(name) = context.name(&block) else {
        return;
    };
    let requirement = declarations
        .providers
        .entry(name.clone())
        .or_insert_with(|| unconstrained(&name));
    if let Some(attribute) = block.attributes.get("version")
        && let Some(version) = context.text(attribute, "version")
    {
        requirement.versions.push(version);
    }
}

fn add_requirement(
    declarations: &mut Declarations,
    name: String,
    attribute: Attribute<'_>,
    context: &mut FileContext<'_>,
) {
    let mut found = unconstrained(&name);
    if let Some(version) = attribute.value.literal() {
        found
            .versions
            .push(context.limited(&attribute, "version", version));
    } else if !read_object(&mut found, attribute, context) {
        return;
    }
    match declarations.providers.get_mut(&name) {
        Some(known) if !context.is_override => {
            known.source = known.source.take().or(found.source);
            known.versions.extend(found.versions);
            known.aliases.extend(found.aliases);
        }
        _ => {
            declarations.providers.insert(name, found);
        }
    }
}

/// Reads the form with source, version and aliases. Returns whether it is an object.
fn read_object(
    found: &mut ProviderRequirement,
    attribute: Attribute<'_>,
    context: &mut FileContext<'_>,
) -> bool {
    let Attribute { value, line } = attribute;
    let Some(entries) = value.entries() else {
        context.error(
            line,
            "a provider requirement must be a version or an object",
        );
        return false;
    };
    for (key, value) in entries {
        let attribute = Attribute { value, line };
        match key.as_str() {
            "configuration_aliases" => found.aliases.extend(aliases(attribute, context)),
            "source" if !attribute.value.is_null() => {
                found.source = context.text(&attribute, "source");
            }
            "version" if !attribute.value.is_null() => {
                found.versions.extend(context.text(&attribute, "version"));
            }
            _ => {}
        }
    }
    true
}

fn aliases(attribute: Attribute<'_>, context: &mut FileContext<'_>) -> Vec<String> {
    let Attribute { value, line } = attribute;
    let items = value.items().into_iter().flatten();
    let names = items.map(|item: Value<'_>| item.reference().map(|names| names.join(".")));
    let names: Option<Vec<String>> = names.collect();
    names.unwrap_or_else(|| {
        context.error(line, "configuration_aliases must be names such as aws.peer");
        Vec::new()
    })
}

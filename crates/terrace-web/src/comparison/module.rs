//! The comparison of modules.

use std::collections::BTreeSet;

use terrace_core::api::details::{ModuleView, NamedPartView};
use terrace_core::documentation::{
    DocumentPath, Input, ModuleCall, ModulePart, Output, ProviderRequirement, Resource,
    ResourceMode,
};
use terrace_core::model::relative_path::RelativePath;

use super::{Comparison, Fields, Rules, words};

/// Compares two versions of a module, with their submodules.
pub fn modules(old: &ModuleView, new: &ModuleView) -> Comparison {
    let mut comparison = Comparison::default();
    both_views(&mut comparison, "", &old.root, &new.root);
    let rules = Rules {
        name: |part: &NamedPartView| part.name.to_string(),
        fields: |_| Vec::new(),
        is_breaking: |_, new| new.is_none(),
        link: |part| Some(place(&part.name)),
    };
    comparison.add("Submodules", &old.submodules, &new.submodules, &rules);
    for submodule in &new.submodules {
        let mut known = old.submodules.iter();
        if let Some(known) = known.find(|it| it.name == submodule.name) {
            let of = format!(" of {}", submodule.name);
            let before = comparison.sections.len();
            both_views(&mut comparison, &of, &known.part, &submodule.part);
            let sections = comparison.sections.iter_mut().skip(before);
            let links = sections
                .flat_map(|it| &mut it.changes)
                .flat_map(|it| &mut it.link);
            links.for_each(|link| link.insert_str(0, &place(&submodule.name)));
        }
    }
    comparison
}

/// Returns the path of a submodule's page, after that of the version.
fn place(name: &RelativePath) -> String {
    format!("/{}", DocumentPath::Submodule(name.clone()))
}

/// Compares two parts as Terraform reads them, and adds the differences that only OpenTofu reads.
fn both_views(comparison: &mut Comparison, of: &str, old: &ModulePart, new: &ModulePart) {
    let known = comparison.sections.len();
    if old.opentofu.is_none() && new.opentofu.is_none() {
        return parts(comparison, of, "Terraform or OpenTofu", old, new);
    }
    parts(comparison, of, "Terraform", old, new);
    let mut others = Comparison::default();
    let (old, new) = (old.for_opentofu(), new.for_opentofu());
    parts(&mut others, of, "OpenTofu", old, new);
    let shown = comparison.sections.get(known..).unwrap_or_default();
    for section in &mut others.sections {
        let same = shown.iter().find(|it| it.title == section.title);
        let same = same.map_or_else(BTreeSet::new, |it| it.changes.iter().collect());
        section.changes.retain(|it| !same.contains(it));
        if !section.title.starts_with("OpenTofu") {
            section.title.push_str(" (OpenTofu)");
        }
    }
    others.sections.retain(|it| !it.changes.is_empty());
    comparison.sections.extend(others.sections);
}

/// Compares two parts as `client` reads them. `of` follows the titles.
fn parts(comparison: &mut Comparison, of: &str, client: &str, old: &ModulePart, new: &ModulePart) {
    comparison.add(format!("Inputs{of}"), &old.inputs, &new.inputs, &INPUTS);
    comparison.add(format!("Outputs{of}"), &old.outputs, &new.outputs, &OUTPUTS);
    let title = format!("Resources{of}");
    comparison.add(title, &old.resources, &new.resources, &RESOURCES);
    let title = format!("Providers{of}");
    comparison.add(title, &old.providers, &new.providers, &PROVIDERS);
    comparison.add(format!("Modules{of}"), &old.calls, &new.calls, &CALLS);
    let title = format!("{client}{of}");
    let (old, new) = (&old.required_versions, &new.required_versions);
    comparison.add(title, &[joined(old)], &[joined(new)], &REQUIRED_VERSIONS);
}

const INPUTS: Rules<Input> = Rules {
    name: |it| it.name.clone(),
    fields: input_fields,
    is_breaking: |old, new| match (old, new) {
        (None, Some(new)) => new.is_required(),
        (Some(old), Some(new)) => {
            let becomes_required = new.is_required() && !old.is_required();
            let rejects_null = |it: &Input| it.is_nullable == Some(false);
            let loses_null = rejects_null(new) && !rejects_null(old);
            let loses_ephemeral = old.is_ephemeral && !new.is_ephemeral;
            becomes_required
                || loses_null
                || loses_ephemeral
                || words(old.constraint.as_ref()) != words(new.constraint.as_ref())
        }
        (_, None) => true,
    },
    link: |it| Some(format!("#page-input-{}", it.name)),
};

const OUTPUTS: Rules<Output> = Rules {
    name: |it| it.name.clone(),
    fields: |it| {
        vec![
            ("description", it.description.clone()),
            ("sensitive", flag(it.is_sensitive)),
            ("ephemeral", flag(it.is_ephemeral)),
            ("deprecated", it.deprecated.clone()),
        ]
    },
    is_breaking: |old, new| {
        let is_sensitive = |it: Option<&Output>| it.is_some_and(|it| it.is_sensitive);
        let is_ephemeral = |it: Option<&Output>| it.is_some_and(|it| it.is_ephemeral);
        let becomes_secret = is_sensitive(new) && !is_sensitive(old);
        let becomes_ephemeral = is_ephemeral(new) && !is_ephemeral(old);
        new.is_none() || (old.is_some() && (becomes_secret || becomes_ephemeral))
    },
    link: |it| Some(format!("#page-output-{}", it.name)),
};

const RESOURCES: Rules<Resource> = Rules {
    name: |it| {
        let name = format!("{}.{}", it.resource_type, it.name);
        match it.mode {
            ResourceMode::Managed => name,
            mode => format!("{}.{name}", mode.block()),
        }
    },
    fields: |it| vec![("provider", Some(it.provider.clone()))],
    // A resource that is removed from a module is destroyed, unless the module moves or forgets it.
    is_breaking: |_, new| new.is_none(),
    link: |_| Some("#page-resources".to_owned()),
};

const PROVIDERS: Rules<ProviderRequirement> = Rules {
    name: |it| it.name.clone(),
    fields: |it| {
        vec![
            ("source", it.source.clone()),
            ("version", joined(&it.versions)),
            ("aliases", joined(&it.aliases)),
        ]
    },
    is_breaking: |old, new| match (old, new) {
        (Some(old), Some(new)) => {
            (&old.source, &old.versions, &old.aliases) != (&new.source, &new.versions, &new.aliases)
        }
        (None, Some(new)) => !new.aliases.is_empty(),
        (_, None) => false,
    },
    link: |_| Some("#page-providers".to_owned()),
};

const CALLS: Rules<ModuleCall> = Rules {
    name: |it| it.name.clone(),
    fields: |it| {
        vec![
            ("source", Some(it.source.clone())),
            ("version", it.version.clone()),
        ]
    },
    is_breaking: |_, _| false,
    link: |_| Some("#page-modules".to_owned()),
};

const REQUIRED_VERSIONS: Rules<Option<String>> = Rules {
    name: |_| "required version".to_owned(),
    fields: |it| vec![("constraint", it.clone())],
    is_breaking: |_, new| new.is_some_and(Option::is_some),
    link: |_| Some("#page-dependencies".to_owned()),
};

fn input_fields(input: &Input) -> Fields {
    vec![
        ("type", input.constraint.clone()),
        ("required", flag(input.is_required())),
        ("default", input.default.clone()),
        ("description", input.description.clone()),
        ("sensitive", flag(input.is_sensitive)),
        ("ephemeral", flag(input.is_ephemeral)),
        ("not null", flag(input.is_nullable == Some(false))),
        ("deprecated", input.deprecated.clone()),
    ]
}

fn flag(value: bool) -> Option<String> {
    value.then(|| "yes".to_owned())
}

fn joined(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join(", "))
}

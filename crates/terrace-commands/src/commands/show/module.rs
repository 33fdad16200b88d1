//! The details of a module.

use terrace_core::api::details::{ModuleView, NamedPartView};
use terrace_core::documentation::{ModulePart, OnlyIn, of_both};

use crate::output::{Column, Screen, Table, shown};

/// Adds the inputs, outputs and requirements of a module.
pub(super) fn add(module: &ModuleView, screen: &mut Screen) {
    let root = &module.root;
    let sections = [
        ("Inputs", inputs(root)),
        ("Outputs", outputs(root)),
        ("Providers", providers(root)),
        ("Resources", resources(root)),
        ("Submodules", names(&module.submodules)),
        ("Examples", names(&module.examples)),
    ];
    for (title, table) in &sections {
        if !table.is_empty() {
            screen.title(title);
            screen.table(table);
        }
    }
}

/// Returns the errors of all directories, which name the missing declarations.
pub(super) fn errors(module: &ModuleView) -> impl Iterator<Item = &String> {
    let parts = module.submodules.iter().chain(&module.examples);
    let errors = parts.flat_map(|it| &it.part.errors);
    module.root.errors.iter().chain(errors)
}

/// Returns the clients that a module is for, with their versions, if it requires any.
pub(super) fn required(root: &ModulePart) -> Option<String> {
    let line = |client: &str, versions: &[String]| match versions.join(", ").as_str() {
        "" => client.to_owned(),
        versions => format!("{client} {versions}"),
    };
    let versions = &root.required_versions;
    match &root.opentofu {
        Some(other) if other.required_versions != *versions => {
            let other = line("OpenTofu", &other.required_versions);
            Some(format!("{}; {other}", line("Terraform", versions)))
        }
        _ if root.is_opentofu_only => Some(line("OpenTofu", versions)),
        _ => (!versions.is_empty()).then(|| line("Terraform or OpenTofu", versions)),
    }
}

/// Returns the things of a list, and the client of those that only one client reads.
fn both<T: Ord>(root: &ModulePart, list: fn(&ModulePart) -> &[T]) -> Vec<(&T, OnlyIn)> {
    of_both(root, root.opentofu.as_deref(), list)
}

/// Returns a name, with the only client that reads the thing.
fn named(name: &str, only: OnlyIn) -> String {
    only.map_or_else(|| name.to_owned(), |client| format!("{name} ({client})"))
}

/// Returns the inputs, the required ones first: a call does not work without them.
pub(super) fn inputs(root: &ModulePart) -> Table {
    let columns = [
        Column::whole("NAME"),
        Column::cut("TYPE"),
        Column::cut("DEFAULT"),
        Column::wrapped("DESCRIPTION"),
    ];
    let mut inputs = both(root, |it| &it.inputs);
    inputs.sort_by_key(|(input, _)| input.default.is_some());
    let rows = inputs.into_iter().map(|(input, only)| {
        let description = shown(input.description.as_ref());
        let default = input.default.clone();
        [
            named(&input.name, only),
            input.constraint.clone().unwrap_or_else(|| "any".to_owned()),
            default.unwrap_or_else(|| "(required)".to_owned()),
            match &input.deprecated {
                Some(reason) => format!("deprecated: {reason} {description}"),
                None => description,
            },
        ]
    });
    Table::of(columns, rows)
}

fn outputs(root: &ModulePart) -> Table {
    let columns = [Column::whole("NAME"), Column::wrapped("DESCRIPTION")];
    let outputs = both(root, |it| &it.outputs).into_iter();
    let rows = outputs.map(|(it, only)| [named(&it.name, only), shown(it.description.as_ref())]);
    Table::of(columns, rows)
}

fn providers(root: &ModulePart) -> Table {
    let columns = [
        Column::whole("NAME"),
        Column::whole("SOURCE"),
        Column::cut("VERSIONS"),
    ];
    let providers = both(root, |it| &it.providers).into_iter();
    let rows = providers.map(|(it, only)| {
        let source = shown(it.source.as_ref());
        [named(&it.name, only), source, it.versions.join(", ")]
    });
    Table::of(columns, rows)
}

fn resources(root: &ModulePart) -> Table {
    let columns = [
        Column::whole("TYPE"),
        Column::cut("NAME"),
        Column::left_out(1, "MODE"),
    ];
    let resources = both(root, |it| &it.resources).into_iter();
    let rows = resources.map(|(it, only)| {
        let mode = it.mode.block().to_owned();
        [it.resource_type.clone(), named(&it.name, only), mode]
    });
    Table::of(columns, rows)
}

fn names(parts: &[NamedPartView]) -> Table {
    let names = parts.iter().map(|part| [part.name.to_string()]);
    Table::of([Column::whole("NAME")], names)
}

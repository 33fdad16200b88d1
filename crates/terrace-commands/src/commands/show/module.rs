//! The details of a module.

use crate::output::{Column, Screen, Table, shown};
use crate::registry::catalog::{Input, Module, ModulePart, Named, Requirement};

/// Adds the inputs, outputs and requirements of a module.
pub(super) fn add(module: &Module, screen: &mut Screen) {
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
pub(super) fn errors(module: &Module) -> impl Iterator<Item = &String> {
    let parts = module.submodules.iter().chain(&module.examples);
    let errors = parts.flat_map(|part| &part.errors);
    module.root.errors.iter().chain(errors)
}

fn inputs(root: &ModulePart) -> Table {
    let mut table = Table::new([
        Column::whole("NAME"),
        Column::cut("TYPE"),
        Column::cut("DEFAULT"),
        Column::wrapped("DESCRIPTION"),
    ]);
    // Required inputs first: a call does not work without them.
    let is_optional = |input: &&Input| input.default.is_some();
    let mut inputs: Vec<&Input> = root.inputs.iter().collect();
    inputs.sort_by_key(is_optional);
    for input in inputs {
        let default = input.default.clone();
        let description = shown(input.description.as_ref());
        let description = match &input.deprecated {
            Some(reason) => format!("deprecated: {reason} {description}"),
            None => description,
        };
        table.row([
            input.name.clone(),
            input.constraint.clone().unwrap_or_else(|| "any".to_owned()),
            default.unwrap_or_else(|| "(required)".to_owned()),
            description,
        ]);
    }
    table
}

fn outputs(root: &ModulePart) -> Table {
    let mut table = Table::new([Column::whole("NAME"), Column::wrapped("DESCRIPTION")]);
    for output in &root.outputs {
        table.row([output.name.clone(), shown(output.description.as_ref())]);
    }
    table
}

fn providers(root: &ModulePart) -> Table {
    let mut table = Table::new([
        Column::whole("NAME"),
        Column::whole("SOURCE"),
        Column::cut("VERSIONS"),
    ]);
    for Requirement {
        name,
        source,
        versions,
    } in &root.providers
    {
        table.row([name.clone(), shown(source.as_ref()), versions.join(", ")]);
    }
    table
}

fn resources(root: &ModulePart) -> Table {
    let mut table = Table::new([
        Column::whole("TYPE"),
        Column::cut("NAME"),
        Column::left_out(1, "MODE"),
    ]);
    for resource in &root.resources {
        let mode = match resource.mode.as_str() {
            "managed" => "resource",
            mode => mode,
        };
        table.row([
            resource.resource_type.clone(),
            resource.name.clone(),
            mode.to_owned(),
        ]);
    }
    table
}

fn names(parts: &[Named]) -> Table {
    let mut table = Table::new([Column::whole("NAME")]);
    for part in parts {
        table.row([part.name.clone()]);
    }
    table
}

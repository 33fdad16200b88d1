//! The interface of a module: inputs, outputs, resources and dependencies.

use maud::{Markup, html};
use terrace_core::documentation::{
    Input, ModuleCall, ModulePart, OnlyIn, Output, ProviderRequirement, Resource, ResourceMode,
    of_both,
};

use crate::parts::room::Room;
use crate::parts::{code, label};
use crate::text::counted;

/// Lists up to this length are shown without a filter.
const UNFILTERED: usize = 12;

/// Returns the number of things in a section.
type Count = fn(&ModulePart) -> usize;

/// The sections of a module's interface, in their order.
const SECTIONS: [(&str, &str, Count); 4] = [
    ("inputs", "Inputs", |part| both(part, |it| &it.inputs).len()),
    ("outputs", "Outputs", |part| {
        both(part, |it| &it.outputs).len()
    }),
    ("resources", "Resources", |part| {
        both(part, |it| &it.resources).len()
    }),
    ("dependencies", "Dependencies", |part| {
        let versions = required_versions(part).into_iter();
        let versions: usize = versions.map(|(_, versions)| versions.len()).sum();
        versions + both(part, |it| &it.providers).len() + both(part, |it| &it.calls).len()
    }),
];

/// Returns the things of a list, and the client of those that only one client reads.
fn both<T: Ord>(part: &ModulePart, list: fn(&ModulePart) -> &[T]) -> Vec<(&T, OnlyIn)> {
    of_both(part, part.opentofu.as_deref(), list)
}

/// Returns the constraints on the versions of clients.
fn required_versions(part: &ModulePart) -> Vec<(&'static str, &[String])> {
    let versions = part.required_versions.as_slice();
    match part
        .opentofu
        .as_deref()
        .map(|it| it.required_versions.as_slice())
    {
        Some(others) if others != versions => vec![("Terraform", versions), ("OpenTofu", others)],
        _ if part.is_opentofu_only => vec![("OpenTofu", versions)],
        _ => vec![("Terraform or OpenTofu", versions)],
    }
}

fn client(only: OnlyIn) -> Markup {
    html! { @if let Some(client) = only { " " (label("quiet", client)) } }
}

/// Returns the links to the sections, for the contents of a page.
pub(super) fn section_links(part: &ModulePart) -> Markup {
    html! {
        @for (id, name, count) in SECTIONS {
            @if count(part) > 0 { li { a href={ "#page-" (id) } { (name) " " span.count { (count(part)) } } } }
        }
    }
}

/// Returns all sections.
pub(super) fn sections(part: &ModulePart) -> Markup {
    let room = &Room::new();
    html! {
        (errors(room, &part.errors))
        @if part.opentofu.is_some() {
            div.notice.info role="note" {
                p { "OpenTofu reads " code { ".tofu" } " files of this module that Terraform ignores. What only one of them reads has its name below." }
            }
        }
        (inputs(room, both(part, |it| &it.inputs)))
        (outputs(room, both(part, |it| &it.outputs)))
        (resources(room, both(part, |it| &it.resources)))
        (dependencies(room, part))
        (room.notice())
    }
}

fn errors(room: &Room, errors: &[String]) -> Markup {
    html! {
        @if !errors.is_empty() {
            div.notice.warn role="note" {
                p { strong { (counted(errors.len(), "file")) " could not be read." } " Their contents are missing below." }
                ul { (room.rows(errors, |error| html! { li { code dir="auto" { (error) } } })) }
            }
        }
    }
}

fn inputs(room: &Room, inputs: Vec<(&Input, OnlyIn)>) -> Markup {
    let count = inputs.len();
    let (required, optional): (Vec<_>, Vec<_>) =
        inputs.into_iter().partition(|(it, _)| it.is_required());
    let group = |name: &str, inputs: Vec<(&Input, OnlyIn)>| {
        html! {
            @if !inputs.is_empty() {
                h3 { (name) " " span.count { (inputs.len()) } }
                ul.fields { (room.rows(inputs, input)) }
            }
        }
    };
    html! {
        @if count > 0 {
            section #page-inputs {
                div.heading-row {
                    h2 #page-inputs-heading { "Inputs " span.count { (count) } }
                    @if count > UNFILTERED {
                        input type="search" hidden data-filter-list="page-inputs" aria-label="Filter inputs" placeholder="Filter inputs";
                    }
                }
                (group("Required", required))
                (group("Optional", optional))
            }
        }
    }
}

fn input((input, only): (&Input, OnlyIn)) -> Markup {
    let anchor = anchor("input", &input.name, only);
    html! {
        li.field #(anchor) {
            div.field-head {
                a.name href={ "#" (anchor) } { code { bdi { (input.name) } } }
                (client(only))
                @match input.constraint.as_deref() {
                    Some(constraint) if is_short(constraint) => code.type { (constraint) },
                    Some(_) => {}
                    None => code.type { "any" },
                }
                @if input.is_sensitive { (label("quiet", "sensitive")) }
                @if input.is_ephemeral { (label("quiet", "ephemeral")) }
                @if input.is_nullable == Some(false) { (label("quiet", "not null")) }
                @if input.deprecated.is_some() { (label("warn", "deprecated")) }
            }
            (description(input.description.as_deref(), input.deprecated.as_deref()))
            @if let Some(constraint) = input.constraint.as_deref().filter(|it| !is_short(it)) {
                details { summary { "Type" } (code::terraform(&format!("the type of {}", input.name), constraint)) }
            }
            @match input.default.as_deref() {
                Some(value) if is_short(value) => p.default { "Default " code { (value) } },
                Some(value) => details { summary { "Default" } (code::terraform(&format!("the default of {}", input.name), value)) },
                None => {}
            }
        }
    }
}

fn outputs(room: &Room, outputs: Vec<(&Output, OnlyIn)>) -> Markup {
    html! {
        @if !outputs.is_empty() {
            section #page-outputs {
                h2 #page-outputs-heading { "Outputs " span.count { (outputs.len()) } }
                ul.fields { (room.rows(outputs, output)) }
            }
        }
    }
}

fn output((output, only): (&Output, OnlyIn)) -> Markup {
    let anchor = anchor("output", &output.name, only);
    html! {
        li.field #(anchor) {
            div.field-head {
                a.name href={ "#" (anchor) } { code { bdi { (output.name) } } }
                (client(only))
                @if output.is_sensitive { (label("quiet", "sensitive")) }
                @if output.is_ephemeral { (label("quiet", "ephemeral")) }
                @if output.deprecated.is_some() { (label("warn", "deprecated")) }
            }
            (description(output.description.as_deref(), output.deprecated.as_deref()))
        }
    }
}

fn description(description: Option<&str>, deprecated: Option<&str>) -> Markup {
    html! {
        @if let Some(reason) = deprecated { p.deprecated dir="auto" { "Deprecated: " (reason) } }
        @if let Some(text) = description { p.text dir="auto" { (text.trim()) } }
    }
}

fn resources(room: &Room, resources: Vec<(&Resource, OnlyIn)>) -> Markup {
    let mode = |mode: ResourceMode| match mode {
        ResourceMode::Managed => "resource",
        ResourceMode::Data => "data",
        ResourceMode::Ephemeral => "ephemeral",
    };
    html! {
        @if !resources.is_empty() {
            section #page-resources {
                h2 #page-resources-heading { "Resources " span.count { (resources.len()) } }
                div.scroll tabindex="0" role="region" aria-labelledby="page-resources-heading" {
                    table {
                        thead { tr { th scope="col" { "Block" } th scope="col" { "Type" } th scope="col" { "Name" } } }
                        tbody {
                            (room.rows(resources, |(it, only)| html! {
                                tr { td { (mode(it.mode)) } td { code { (it.resource_type) } } td { code { (it.name) } (client(only)) } }
                            }))
                        }
                    }
                }
            }
        }
    }
}

fn dependencies(room: &Room, part: &ModulePart) -> Markup {
    let (providers, calls) = (both(part, |it| &it.providers), both(part, |it| &it.calls));
    let versions = required_versions(part);
    let has_versions = versions.iter().any(|(_, versions)| !versions.is_empty());
    html! {
        @if has_versions || !(providers.is_empty() && calls.is_empty()) {
            section #page-dependencies {
                h2 #page-dependencies-heading { "Dependencies" }
                @if has_versions {
                    (room.rows(versions, |(client, versions)| html! {
                        p { (client) " " @if versions.is_empty() { "of any version" } @else { code { (versions.join(", ")) } } }
                    }))
                }
                @if !providers.is_empty() { (self::providers(room, providers)) }
                @if !calls.is_empty() { (self::calls(room, calls)) }
            }
        }
    }
}

fn providers(room: &Room, providers: Vec<(&ProviderRequirement, OnlyIn)>) -> Markup {
    html! {
        h3 #page-providers { "Providers" }
        div.scroll tabindex="0" role="region" aria-labelledby="page-providers" {
            table {
                thead { tr { th scope="col" { "Name" } th scope="col" { "Source" } th scope="col" { "Version" } th scope="col" { "Aliases" } } }
                tbody {
                    (room.rows(providers, |(it, only)| html! {
                        tr {
                            th scope="row" { code { (it.name) } (client(only)) }
                            td { @if let Some(source) = &it.source { code { (source) } } @else { "–" } }
                            td { (or_dash(&it.versions.join(", "))) }
                            td { (or_dash(&it.aliases.join(", "))) }
                        }
                    }))
                }
            }
        }
    }
}

fn calls(room: &Room, calls: Vec<(&ModuleCall, OnlyIn)>) -> Markup {
    html! {
        h3 #page-modules { "Modules" }
        div.scroll tabindex="0" role="region" aria-labelledby="page-modules" {
            table {
                thead { tr { th scope="col" { "Name" } th scope="col" { "Source" } th scope="col" { "Version" } } }
                tbody {
                    (room.rows(calls, |(it, only)| html! {
                        tr {
                            th scope="row" { code { (it.name) } (client(only)) }
                            td { (or_dash(&it.source)) }
                            td { (or_dash(it.version.as_deref().unwrap_or_default())) }
                        }
                    }))
                }
            }
        }
    }
}

fn or_dash(text: &str) -> Markup {
    html! { @if text.is_empty() { "–" } @else { code { (text) } } }
}

/// Returns whether a type or a value fits in a line.
fn is_short(text: &str) -> bool {
    text.len() <= 60 && !text.contains('\n')
}

/// Returns the ID of a field, without spaces. IDs of pages begin with [`markdown::RESERVED_ID`](crate::markdown::RESERVED_ID),
/// so that no heading of a document has the same.
fn anchor(prefix: &str, name: &str, only: OnlyIn) -> String {
    let name: String = name.split_whitespace().collect();
    let client = if only == Some("OpenTofu") {
        "opentofu-"
    } else {
        ""
    };
    format!("page-{client}{prefix}-{name}")
}

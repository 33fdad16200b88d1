//! The interface of a module: inputs, outputs, resources and dependencies.

use std::borrow::Cow;

use maud::{Markup, PreEscaped, html};
use terrace_core::documentation::{
    DocumentPath, DocumentationKind, Input, ModuleCall, ModulePart, OnlyIn, Output,
    ProviderRequirement, Resource, ResourceMode, of_both,
};
use terrace_core::http::form::Query;

use crate::links::TAB;
use crate::parts::package_head::Release;
use crate::parts::room::Room;
use crate::parts::{code, label};
use crate::site::Site;
use crate::text::counted;
use crate::{links, markdown, rendering};

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

/// Returns the fragment of the section of a module's page that a query asks for.
pub fn section_of_tab(query: &str) -> Option<String> {
    let tab = Query(query).value(TAB)?;
    let mut sections = SECTIONS.iter();
    sections
        .any(|(id, ..)| *id == tab)
        .then(|| format!("#page-{tab}"))
}

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

/// A directory of a module, whose interface is shown.
pub(super) struct Place<'a> {
    pub(super) site: &'a Site,
    pub(super) release: &'a Release<'a>,
    pub(super) directory: &'a str,
    pub(super) part: &'a ModulePart,
}

impl Place<'_> {
    /// Returns the link to the documentation of a resource.
    fn resource(&self, resource: &Resource) -> Option<String> {
        let views = [Some(self.part), self.part.opentofu.as_deref()];
        let mut known = views.into_iter().flatten().flat_map(|it| &it.providers);
        let known = known.find(|it| it.name == resource.provider);
        let source = known.and_then(|it| it.source.as_deref());
        let kind = match resource.mode {
            ResourceMode::Managed => DocumentationKind::Resource,
            ResourceMode::Data => DocumentationKind::DataSource,
            ResourceMode::Ephemeral => DocumentationKind::EphemeralResource,
        };
        let name = resource.resource_type.split_once('_');
        let name = name.map_or(resource.resource_type.as_str(), |(_, name)| name);
        let path = DocumentPath::Page(kind, name.parse().ok()?);
        links::provider_page(self.site, source.unwrap_or(&resource.provider), Some(path))
    }

    /// Returns the link to the page of a module that is called.
    fn call(&self, call: &ModuleCall) -> Option<String> {
        rendering::part_link(self.release, self.directory, &call.source)
            .or_else(|| links::module_page(self.site, &call.source))
    }
}

/// Returns a name in code, as a link if it leads anywhere.
fn linked(text: &str, link: Option<String>) -> Markup {
    html! {
        @match link {
            Some(link) => a href=(link) rel="nofollow" { code { (text) } },
            None => (or_dash(text)),
        }
    }
}

/// Returns the heading of a section, with a filter if its list is long.
fn heading(id: &str, name: &str, count: usize) -> Markup {
    html! {
        div.heading-row {
            h2 #{ (id) "-heading" } { (name) " " span.count { (count) } }
            @if count > UNFILTERED {
                @let text = format!("Filter {}", name.to_ascii_lowercase());
                input type="search" hidden data-filter-list=(id) aria-label=(text) placeholder=(text);
            }
        }
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
pub(super) fn sections(place: &Place<'_>) -> Markup {
    let part = place.part;
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
        (resources(room, place))
        (dependencies(room, place))
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
                (heading("page-inputs", "Inputs", count))
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
                code.type { (outline(input.constraint.as_deref().unwrap_or("any"))) }
                @if let Some(value) = input.default.as_deref().filter(|it| is_short(it)) { span.default { "default " code { (value) } } }
                @if input.is_sensitive { (label("quiet", "sensitive")) }
                @if input.is_ephemeral { (label("quiet", "ephemeral")) }
                @if input.is_nullable == Some(false) { (label("quiet", "not null")) }
                @if input.deprecated.is_some() { (label("warn", "deprecated")) }
            }
            (description(input.description.as_deref(), input.deprecated.as_deref()))
            @if let Some(constraint) = input.constraint.as_deref().filter(|it| !is_short(it)) {
                details { summary { "Type" } (code::terraform(&format!("the type of {}", input.name), constraint)) }
            }
            @if let Some(value) = input.default.as_deref().filter(|it| !is_short(it)) {
                details { summary { "Default" } (code::terraform(&format!("the default of {}", input.name), value)) }
            }
        }
    }
}

fn outputs(room: &Room, outputs: Vec<(&Output, OnlyIn)>) -> Markup {
    html! {
        @if !outputs.is_empty() {
            section #page-outputs {
                (heading("page-outputs", "Outputs", outputs.len()))
                ul.fields.outputs { (room.rows(outputs, output)) }
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
        @if let Some(text) = description { div.text dir="auto" { (PreEscaped(markdown::description(text))) } }
    }
}

fn resources(room: &Room, place: &Place<'_>) -> Markup {
    let resources = both(place.part, |it| &it.resources);
    let rows = room.rows(&resources, |(it, only)| html! {
        tr { td { (it.mode.block()) } td { (linked(&it.resource_type, place.resource(it))) } td { code { (it.name) } (client(*only)) } }
    });
    html! {
        @if !resources.is_empty() {
            section #page-resources {
                (heading("page-resources", "Resources", resources.len()))
                (table("page-resources-heading", &["Block", "Type", "Name"], &rows))
            }
        }
    }
}

fn table(label: &str, columns: &[&str], rows: &Markup) -> Markup {
    html! {
        div.scroll.wrap tabindex="0" role="region" aria-labelledby=(label) {
            table {
                thead { tr { @for column in columns { th scope="col" { (column) } } } }
                tbody { (rows) }
            }
        }
    }
}

fn dependencies(room: &Room, place: &Place<'_>) -> Markup {
    let part = place.part;
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
                @if !providers.is_empty() { (self::providers(room, place.site, providers)) }
                @if !calls.is_empty() { (self::calls(room, place, calls)) }
            }
        }
    }
}

fn providers(room: &Room, site: &Site, providers: Vec<(&ProviderRequirement, OnlyIn)>) -> Markup {
    let rows = room.rows(providers, |(it, only)| {
        html! {
            tr {
                th scope="row" { code { (it.name) } (client(only)) }
                @let source = it.source.as_deref().unwrap_or_default();
                td { (linked(source, links::provider_page(site, source, None))) }
                td { (or_dash(&it.versions.join(", "))) }
                td { (or_dash(&it.aliases.join(", "))) }
            }
        }
    });
    html! {
        h3 #page-providers { "Providers" }
        (table("page-providers", &["Name", "Source", "Version", "Aliases"], &rows))
    }
}

fn calls(room: &Room, place: &Place<'_>, calls: Vec<(&ModuleCall, OnlyIn)>) -> Markup {
    let rows = room.rows(calls, |(it, only)| {
        html! {
            tr {
                th scope="row" { code { (it.name) } (client(only)) }
                td { (linked(&it.source, place.call(it))) }
                td { (or_dash(it.version.as_deref().unwrap_or_default())) }
            }
        }
    });
    html! {
        h3 #page-modules { "Modules" }
        (table("page-modules", &["Name", "Source", "Version"], &rows))
    }
}

fn or_dash(text: &str) -> Markup {
    html! { @if text.is_empty() { "–" } @else { code { (text) } } }
}

/// Returns whether a type or a value fits in a line.
fn is_short(text: &str) -> bool {
    text.len() <= 60 && !text.contains('\n')
}

/// Returns a type in a line: of an object, only that it is one.
fn outline(constraint: &str) -> Cow<'_, str> {
    if is_short(constraint) {
        return Cow::Borrowed(constraint);
    }
    let start = constraint.split(['{', '\n']).next().unwrap_or_default();
    let start: String = start
        .chars()
        .take(60)
        .filter(|c| !c.is_whitespace())
        .collect();
    let open = start
        .matches('(')
        .count()
        .saturating_sub(start.matches(')').count());
    let inner = if start.ends_with("object(") {
        "{…}"
    } else {
        "…"
    };
    Cow::Owned(format!("{start}{inner}{}", ")".repeat(open)))
}

/// Returns the ID of a field, without spaces. IDs of pages begin with [`markdown::RESERVED_ID`](crate::markdown::RESERVED_ID),
/// so that no heading of a document has the same.
fn anchor(prefix: &str, name: &str, only: OnlyIn) -> String {
    let name: String = name.split_ascii_whitespace().collect();
    let client = if only == Some("OpenTofu") {
        "opentofu-"
    } else {
        ""
    };
    format!("page-{client}{prefix}-{name}")
}

//! The JSON of packages in the shape of the public registry's API, version 1
//! (<https://developer.hashicorp.com/terraform/registry/api-docs>), for clients that were written for it.
//!
//! All fields are present. This registry does not know some of their values: nothing is verified, downloads are not
//! counted by it, and texts that are unknown are empty.

use serde_json::Value;

use crate::documentation::{
    DocumentPath, Input, ModuleDetails, ModulePart, NamedPart, ProviderDetails, ProviderPage,
    ProviderRequirement, ResourceMode,
};
use crate::index::about::About;
use crate::index::card::{module_description, provider_description};
use crate::index::catalog::CatalogLine;
use crate::model::address::{ModuleAddress, ProviderAddress};
use crate::model::package::Package;
use crate::model::version::Version;
use terrace_base::time::UnixTime;

/// Returns a module in a list; `None` if the line of the catalogue describes no module published here.
pub fn listed_module(line: &CatalogLine) -> Option<Value> {
    let Package::Module(address) = &line.package else {
        return None;
    };
    if address.hostname.is_some() {
        return None;
    }
    let (latest, description) = (&line.latest, &line.description);
    Some(module(address, latest, description, "", line.published_at))
}

/// Returns the details of a version of a module. `versions` are those that can be installed, ascending.
pub fn module_details(
    address: &ModuleAddress,
    version: &Version,
    about: &About,
    details: &ModuleDetails,
    versions: &[String],
) -> Value {
    let source = about.source.as_ref().map(|source| source.url.to_string());
    let named = |folder, parts: &[NamedPart]| -> Vec<Value> {
        let part = |it: &NamedPart| {
            part(
                &format!("{folder}/{}", it.name),
                &it.name.to_string(),
                &it.part,
            )
        };
        parts.iter().map(part).collect()
    };
    extended(
        module(
            address,
            version,
            &module_description(details),
            &source.unwrap_or_default(),
            Some(about.published_at),
        ),
        object([
            ("root", part("", &address.name.to_string(), &details.root)),
            ("submodules", named("modules", &details.submodules).into()),
            ("examples", named("examples", &details.examples).into()),
            ("providers", vec![address.system.to_string()].into()),
            ("versions", versions.into()),
        ]),
    )
}

fn module(
    address: &ModuleAddress,
    version: &Version,
    description: &str,
    source: &str,
    published_at: Option<UnixTime>,
) -> Value {
    object([
        ("id", format!("{address}/{version}").into()),
        ("owner", "".into()),
        ("namespace", address.namespace.to_string().into()),
        ("name", address.name.to_string().into()),
        ("version", version.to_string().into()),
        ("provider", address.system.to_string().into()),
        ("description", description.into()),
        ("source", source.into()),
        ("tag", "".into()),
        ("published_at", time(published_at).into()),
        ("downloads", 0_u32.into()),
        ("verified", false.into()),
    ])
}

fn part(path: &str, name: &str, part: &ModulePart) -> Value {
    let is_empty = part.inputs.is_empty() && part.outputs.is_empty() && part.calls.is_empty();
    let managed = part.resources.iter();
    let managed = managed.filter(|it| it.mode == ResourceMode::Managed);
    let outputs = part.outputs.iter().map(|it| {
        let description = text(&it.description).into();
        object([
            ("name", it.name.as_str().into()),
            ("description", description),
        ])
    });
    let calls = part.calls.iter().map(|it| {
        object([
            ("name", it.name.as_str().into()),
            ("source", it.source.as_str().into()),
            ("version", text(&it.version).into()),
        ])
    });
    let resources = managed.map(|it| {
        let kind = it.resource_type.as_str().into();
        object([("name", it.name.as_str().into()), ("type", kind)])
    });
    object([
        ("path", path.into()),
        ("name", name.into()),
        ("readme", text(&part.readme).into()),
        ("empty", is_empty.into()),
        ("inputs", part.inputs.iter().map(input).collect()),
        ("outputs", outputs.collect()),
        ("dependencies", calls.collect()),
        (
            "provider_dependencies",
            part.providers.iter().map(required).collect(),
        ),
        ("resources", resources.collect()),
    ])
}

/// The default is always a text: terraform-ls reads no other JSON.
fn input(input: &Input) -> Value {
    object([
        ("name", input.name.as_str().into()),
        ("type", input.constraint.as_deref().unwrap_or("any").into()),
        ("description", text(&input.description).into()),
        ("default", text(&input.default).into()),
        ("required", input.is_required().into()),
    ])
}

fn required(required: &ProviderRequirement) -> Value {
    let source = text(&required.source);
    object([
        ("name", required.name.as_str().into()),
        (
            "namespace",
            source.rsplit('/').nth(1).unwrap_or("hashicorp").into(),
        ),
        ("source", source.into()),
        ("version", required.versions.join(", ").into()),
    ])
}

/// Returns a provider in a list; `None` if the line of the catalogue describes no provider published here.
pub fn listed_provider(line: &CatalogLine) -> Option<Value> {
    let Package::Provider(address) = &line.package else {
        return None;
    };
    let (latest, description) = (&line.latest, &line.description);
    Some(provider(
        address,
        latest,
        description,
        None,
        line.published_at,
    ))
}

/// Returns the details of a version of a provider. `source` is its repository, and `versions` are those that can be
/// installed, ascending.
pub fn provider_details(
    address: &ProviderAddress,
    version: &Version,
    (source, published_at): (Option<&str>, Option<UnixTime>),
    versions: &[String],
    details: Option<&ProviderDetails>,
) -> Value {
    let description = details.map(provider_description).unwrap_or_default();
    let page = |page: &ProviderPage| {
        let document = DocumentPath::of_page(page.kind, &page.name).to_string();
        object([
            ("id", document.as_str().into()),
            ("title", page.title.as_str().into()),
            ("path", format!("docs/{document}.md").into()),
            ("slug", page.name.to_string().into()),
            ("category", page.kind.to_string().into()),
            ("subcategory", text(&page.subcategory).into()),
            ("language", "hcl".into()),
        ])
    };
    let pages = details.map(|details| details.pages.iter().map(page).collect::<Vec<_>>());
    extended(
        provider(address, version, &description, source, published_at),
        object([
            ("versions", versions.into()),
            ("docs", pages.unwrap_or_default().into()),
        ]),
    )
}

/// `source` is null if it is unknown: Dependabot fails if the field is absent (clients.md 15.2).
fn provider(
    address: &ProviderAddress,
    version: &Version,
    description: &str,
    source: Option<&str>,
    published_at: Option<UnixTime>,
) -> Value {
    object([
        ("id", format!("{address}/{version}").into()),
        ("owner", "".into()),
        ("namespace", address.namespace.to_string().into()),
        ("name", address.provider_type.to_string().into()),
        ("alias", address.provider_type.to_string().into()),
        ("version", version.to_string().into()),
        ("tag", "".into()),
        ("description", description.into()),
        ("source", source.into()),
        ("published_at", time(published_at).into()),
        ("downloads", 0_u32.into()),
        ("tier", "community".into()),
        ("logo_url", "".into()),
    ])
}

/// Returns an object. It is not made by `serde_json::json!`, which serialises each value.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let members = members.into_iter();
    let members = members.map(|(name, value)| (name.to_owned(), value));
    Value::Object(members.collect())
}

fn extended(mut object: Value, more: Value) -> Value {
    if let (Value::Object(members), Value::Object(more)) = (&mut object, more) {
        members.extend(more);
    }
    object
}

fn text(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or_default()
}

fn time(at: Option<UnixTime>) -> String {
    at.map(|at| at.to_string()).unwrap_or_default()
}

//! The names of the imported packages: those that the user gives, and those that the origin lists.
//!
//! The protocols have no lists. `GET {service}?limit&offset` and `GET {service}{namespace}` are those of the public
//! registry, which some registries have as well
//! (<https://developer.hashicorp.com/terraform/registry/api-docs>).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use terrace_core::model::package::Package;
use terrace_core::upstream::origin::{ORIGIN_VERSIONS_BYTES, Service};

use super::Origin;
use crate::commands::admin::registry_import::RegistryImportArguments;
use crate::error::Failure;
use crate::output::Output;

/// The number of entries that one page of a list is asked for.
const PAGE: u64 = 100;

/// The maximum number of entries of a list.
const MOST: u64 = 100_000;

/// The names of everything to import.
#[derive(Default)]
pub(super) struct Names {
    /// The packages by their addresses: providers, then modules.
    pub(super) packages: BTreeMap<(bool, String), Package>,
    /// The lists that the origin does not have, and the failure of each.
    pub(super) failures: Vec<(String, Failure)>,
}

/// A kind of packages: its word in messages, and how the user names such packages.
type Kind = (&'static str, &'static str);

const PROVIDERS: Kind = ("providers", "--provider NAMESPACE/TYPE");

const MODULES: Kind = ("modules", "--module NAMESPACE/NAME/SYSTEM");

/// A page of a list.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    meta: Meta,
    #[serde(alias = "providers")]
    modules: Vec<Item>,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default)]
    next_offset: Option<u64>,
}

/// A provider or module of a list: a module also has a `provider`, its target system.
#[derive(Deserialize)]
struct Item {
    namespace: String,
    name: String,
    #[serde(default)]
    provider: Option<String>,
}

impl Item {
    /// Returns the package; `None` if its address is not valid here.
    fn package(&self, kind: Kind) -> Option<Package> {
        let (namespace, name) = (&self.namespace, &self.name);
        let text = match kind == MODULES {
            true => {
                let system = self.provider.as_deref().unwrap_or_default();
                format!("{namespace}/{name}/{system}")
            }
            false => format!("{namespace}/{name}"),
        };
        hosted(&text)
    }
}

/// Parses the address of a provider or module without a hostname.
fn hosted(text: &str) -> Option<Package> {
    Package::parse_address(text).filter(|it| it.origin().is_none())
}

/// Returns whether a package of a kind is in a namespace.
fn is_in(package: &Package, kind: Kind, namespace: &str) -> bool {
    match package {
        Package::Provider(it) => kind == PROVIDERS && it.namespace.as_str() == namespace,
        Package::Module(it) => kind == MODULES && it.namespace.as_str() == namespace,
        Package::Mirrored(_) => false,
    }
}

impl Names {
    /// Returns the named packages, those of the named namespaces, or, if nothing is named, all that the origin lists.
    pub(super) fn find(
        origin: &Origin<'_>,
        arguments: &RegistryImportArguments,
        output: &Output,
    ) -> Result<Self, Failure> {
        let mut names = Self::default();
        let providers = arguments.providers.iter().cloned().map(Package::Provider);
        let modules = arguments.modules.iter().cloned().map(Package::Module);
        names.extend(providers.chain(modules));
        if let Some(path) = &arguments.list {
            names.read(path)?;
        }
        let is_all = names.packages.is_empty() && arguments.namespaces.is_empty();
        let modules = origin.modules.as_ref().map(|modules| &modules.service);
        for (kind, service) in [(PROVIDERS, origin.providers.as_ref()), (MODULES, modules)] {
            let Some(service) = service else {
                continue;
            };
            let namespaces = arguments.namespaces.iter().map(|it| it.as_str());
            // A user who names some modules of a namespace needs no list of its modules.
            let namespaces = namespaces.filter(|it| !names.has_some(kind, it));
            let mut lists: Vec<Option<&str>> = namespaces.map(Some).collect();
            lists.extend(is_all.then_some(None));
            for namespace in lists {
                names.list(origin, (kind, service), namespace, output)?;
            }
        }
        // A list that has failed may have had the packages of any namespace.
        if names.failures.is_empty() {
            let mut empty = arguments.namespaces.clone();
            empty.retain(|it| {
                ![PROVIDERS, MODULES]
                    .iter()
                    .any(|kind| names.has_some(*kind, it.as_str()))
            });
            let url = &origin.url;
            let failures = empty.into_iter().map(|namespace| {
                let reason = format!(
                    "{url} has no such namespace: {namespace} has neither providers nor modules that it lists for this token"
                );
                (namespace.to_string(), Failure::refused(reason))
            });
            names.failures.extend(failures);
        }
        if names.packages.is_empty() && names.failures.is_empty() {
            return Err(Failure::refused(format!(
                "{} lists nothing to import: name the packages with {} and {}, or in a file with --list",
                origin.url, PROVIDERS.1, MODULES.1
            )));
        }
        Ok(names)
    }

    fn extend(&mut self, packages: impl IntoIterator<Item = Package>) {
        let key = |it: &Package| (matches!(it, Package::Module(_)), it.address());
        let packages = packages.into_iter();
        self.packages.extend(packages.map(|it| (key(&it), it)));
    }

    /// Returns whether there are packages of a kind in a namespace.
    fn has_some(&self, kind: Kind, namespace: &str) -> bool {
        let mut packages = self.packages.values();
        packages.any(|it| is_in(it, kind, namespace))
    }

    /// Reads a file: an address on each line. Empty lines, and what follows `#`, are ignored.
    fn read(&mut self, path: &Path) -> Result<(), Failure> {
        let place = path.display();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Failure::refused(format!("{place}: {error}")))?;
        for (number, line) in text.lines().enumerate() {
            let name = line.split('#').next().unwrap_or_default().trim();
            if name.is_empty() {
                continue;
            }
            let package = hosted(name).ok_or_else(|| {
                Failure::refused(format!(
                    "{place}, line {}: {name:?} is neither NAMESPACE/TYPE, a provider, nor NAMESPACE/NAME/SYSTEM, a module",
                    number + 1
                ))
            })?;
            self.extend([package]);
        }
        Ok(())
    }

    /// Adds everything that a list of the origin names.
    fn list(
        &mut self,
        origin: &Origin<'_>,
        (kind, service): (Kind, &Service),
        namespace: Option<&str>,
        output: &Output,
    ) -> Result<(), Failure> {
        let (noun, option) = kind;
        let mut offset = 0;
        let reason = loop {
            let Some(page) = page(origin, service, namespace, offset)? else {
                // An origin that lists packages of this kind has none of them in the namespace.
                if namespace.is_some() && matches!(page(origin, service, None, 0), Ok(Some(_))) {
                    return Ok(());
                }
                break "has no list of its";
            };
            for item in &page.modules {
                match item.package(kind) {
                    Some(package) => self.extend([package]),
                    None => output.warning(&format!(
                        "skipped: the origin lists {:?} of {:?}, whose address is not valid here",
                        item.name, item.namespace
                    )),
                }
            }
            match page.meta.next_offset {
                _ if offset > MOST => break "has too long a list of its",
                Some(next) if next > offset && !page.modules.is_empty() => offset = next,
                _ => return Ok(()),
            }
        };
        let what = match namespace {
            Some(namespace) => format!("{noun} of {namespace}"),
            None => format!("the {noun}"),
        };
        let reason = format!(
            "{} {reason} {noun}: name them with {option}, or in a file with --list",
            origin.url
        );
        self.failures.push((what, Failure::refused(reason)));
        Ok(())
    }
}

/// Returns a page of a list; `None` if the origin has no such list.
fn page(
    origin: &Origin<'_>,
    service: &Service,
    namespace: Option<&str>,
    offset: u64,
) -> Result<Option<Page>, Failure> {
    let namespace = namespace.unwrap_or_default();
    let path = format!("{namespace}?limit={PAGE}&offset={offset}");
    let mut fetch = service.fetch(&path, ORIGIN_VERSIONS_BYTES, "list");
    // The list of everything is at the URL of the service itself, without the slash.
    fetch.reference = fetch.reference.replacen("/?limit", "?limit", 1);
    let fetched = origin.upstream.fetch(&fetch, &origin.hostname)?;
    match fetched.status {
        // Pages of other programs are no lists either.
        200 => Ok(serde_json::from_slice(&fetched.body).ok()),
        401 | 403 => Err(Failure::NotAllowed(format!(
            "{}: the origin denies access to its lists (status {}): give its token with --from-token-env, \
             TF_TOKEN_<hostname> or `terraform login`, or name the packages with --provider and --module",
            origin.url, fetched.status
        ))),
        _ => Ok(None),
    }
}

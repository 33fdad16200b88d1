//! The names of the imported packages: those that the user gives, and those that the origin lists.
//!
//! The protocols have no lists. `GET {service}?limit&offset` and `GET {service}{namespace}` are those of the public
//! registry, which some registries have as well
//! (<https://developer.hashicorp.com/terraform/registry/api-docs>).

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use terrace_core::limits;
use terrace_core::model::address::{ModuleAddress, ProviderAddress};
use terrace_core::upstream::origin::{ORIGIN_VERSIONS_BYTES, Service};

use super::Origin;
use crate::commands::admin::registry_import::RegistryImportArguments;
use crate::error::Failure;
use crate::output::Output;

/// The number of entries that one page of a list is asked for.
const PAGE: u64 = 100;

/// The maximum number of pages of a list.
const PAGES: u32 = 1000;

/// The names of everything to import.
#[derive(Default)]
pub(super) struct Names {
    pub(super) providers: BTreeSet<ProviderAddress>,
    pub(super) modules: BTreeSet<ModuleAddress>,
    /// The lists that the origin does not have, and the failure of each.
    pub(super) failures: Vec<(String, Failure)>,
}

/// A kind of packages, and its words in messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Provider,
    Module,
}

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

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Self::Provider => "providers",
            Self::Module => "modules",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Provider => "name them with --provider NAMESPACE/TYPE, or in a file with --list",
            Self::Module => {
                "name them with --module NAMESPACE/NAME/SYSTEM, or in a file with --list"
            }
        }
    }
}

impl Names {
    /// Returns the named packages, those of the named namespaces, or, if nothing is named, all that the origin lists.
    pub(super) fn find(
        origin: &Origin<'_>,
        arguments: &RegistryImportArguments,
        output: &Output,
    ) -> Result<Self, Failure> {
        let mut names = Self {
            providers: arguments.providers.iter().cloned().collect(),
            modules: arguments.modules.iter().cloned().collect(),
            failures: Vec::new(),
        };
        if let Some(path) = &arguments.list {
            names.read(path)?;
        }
        let is_all = names.is_empty() && arguments.namespaces.is_empty();
        let modules = origin.modules.as_ref().map(|modules| &modules.service);
        for (kind, service) in [
            (Kind::Provider, origin.providers.as_ref()),
            (Kind::Module, modules),
        ] {
            let Some(service) = service else {
                continue;
            };
            let namespaces = arguments.namespaces.iter();
            let namespaces = namespaces.map(|it| Some(it.as_str()));
            // A user who names some modules of a namespace needs no list of its modules.
            let namespaces = namespaces.filter(|it| !names.names_some(kind, *it));
            let mut lists: Vec<Option<&str>> = namespaces.collect();
            if is_all {
                lists.push(None);
            }
            for namespace in lists {
                names.list(origin, (kind, service), namespace, output)?;
            }
        }
        // A list that has failed may have had the packages of any namespace.
        if names.failures.is_empty() {
            for namespace in &arguments.namespaces {
                names.check_found(origin, namespace.as_str());
            }
        }
        if names.is_empty() && names.failures.is_empty() {
            let url = &origin.url;
            return Err(Failure::refused(format!(
                "{url} lists nothing to import: {}, and {}",
                Kind::Provider.advice(),
                Kind::Module.advice()
            )));
        }
        Ok(names)
    }

    fn is_empty(&self) -> bool {
        self.providers.is_empty() && self.modules.is_empty()
    }

    /// Returns whether the user names packages of a kind in a namespace.
    fn names_some(&self, kind: Kind, namespace: Option<&str>) -> bool {
        let is_in = |of: &str| namespace == Some(of);
        match kind {
            Kind::Provider => self.providers.iter().any(|it| is_in(it.namespace.as_str())),
            Kind::Module => self.modules.iter().any(|it| is_in(it.namespace.as_str())),
        }
    }

    /// Reports a namespace in which the origin lists nothing.
    fn check_found(&mut self, origin: &Origin<'_>, namespace: &str) {
        let is_found = [Kind::Provider, Kind::Module]
            .iter()
            .any(|kind| self.names_some(*kind, Some(namespace)));
        if is_found {
            return;
        }
        let url = &origin.url;
        let reason = format!(
            "{url} has no such namespace: {namespace} has neither providers nor modules that it lists for this token"
        );
        self.failures
            .push((namespace.to_owned(), Failure::refused(reason)));
    }

    /// Reads a file: an address on each line. Empty lines, and what follows `#`, are ignored.
    fn read(&mut self, path: &Path) -> Result<(), Failure> {
        let place = path.display();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Failure::refused(format!("{place}: {error}")))?;
        let mut reasons = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let name = line.split('#').next().unwrap_or_default().trim();
            if name.is_empty() {
                continue;
            }
            match (name.parse(), name.parse()) {
                (Ok(provider), _) => self.providers.extend([provider]),
                (_, Ok(module)) => self.modules.extend([module]),
                _ => reasons.push(format!(
                    "{place}, line {}: {name:?} is neither NAMESPACE/TYPE, a provider, nor NAMESPACE/NAME/SYSTEM, a module",
                    number + 1
                )),
            }
        }
        match reasons.is_empty() {
            true => Ok(()),
            false => {
                reasons.truncate(limits::REASONS);
                Err(Failure::Refused(reasons))
            }
        }
    }

    /// Adds everything that a list of the origin names.
    fn list(
        &mut self,
        origin: &Origin<'_>,
        (kind, service): (Kind, &Service),
        namespace: Option<&str>,
        output: &Output,
    ) -> Result<(), Failure> {
        let mut offset = 0;
        for _ in 0..PAGES {
            let Some(page) = page(origin, service, namespace, offset)? else {
                // An origin that lists packages of this kind has none of them in the namespace.
                if namespace.is_some() && matches!(page(origin, service, None, 0), Ok(Some(_))) {
                    return Ok(());
                }
                let (noun, url) = (kind.noun(), &origin.url);
                let what = match namespace {
                    Some(namespace) => format!("{noun} of {namespace}"),
                    None => format!("the {noun}"),
                };
                let reason = format!("{url} has no list of its {noun}: {}", kind.advice());
                self.failures.push((what, Failure::refused(reason)));
                return Ok(());
            };
            for item in &page.modules {
                self.add(kind, item, output);
            }
            match page.meta.next_offset {
                Some(next) if next > offset && !page.modules.is_empty() => offset = next,
                _ => return Ok(()),
            }
        }
        let (noun, url) = (kind.noun(), &origin.url);
        let reason = format!(
            "{url} lists {noun} on more than {PAGES} pages, of which the rest was not read: {}",
            kind.advice()
        );
        self.failures
            .push((format!("the {noun}"), Failure::refused(reason)));
        Ok(())
    }

    fn add(&mut self, kind: Kind, item: &Item, output: &Output) {
        let Item {
            namespace, name, ..
        } = item;
        let system = item.provider.as_deref().unwrap_or_default();
        let text = match kind {
            Kind::Provider => format!("{namespace}/{name}"),
            Kind::Module => format!("{namespace}/{name}/{system}"),
        };
        let added = match kind {
            Kind::Provider => text.parse().map(|it| self.providers.extend([it])),
            Kind::Module => ModuleAddress::parse_hosted(&text).map(|it| self.modules.extend([it])),
        };
        if let Err(error) = added {
            output.warning(&format!(
                "skipped: the origin lists {text:?}, whose address is not valid here: {error}"
            ));
        }
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

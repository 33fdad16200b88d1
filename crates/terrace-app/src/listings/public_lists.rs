//! Lists of packages in the shape of the public registry's API
//! (<https://developer.hashicorp.com/terraform/registry/api-docs>), which pages them by their number.

use serde_json::Value;
use terrace_core::api::public::{listed_module, listed_provider, object};
use terrace_core::auth::access::Owner;
use terrace_core::http::form::encoded;
use terrace_core::http::problem::Problem;
use terrace_core::index::catalog::CatalogLine;
use terrace_core::limits;
use terrace_core::model::name::{ModuleName, ModuleNamespace, Namespace};
use terrace_core::search::{Match, Search, SearchKind, packages};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Host, Request};
use crate::listings::namespaces::missing;
use crate::listings::search;
use crate::outcome::{Call, Handled};
use crate::{listing, listings};

/// A list of packages.
pub(crate) struct List {
    kind: SearchKind,
    /// The beginning of the keys of its packages.
    keys: String,
    /// The owner of its packages, and the error if it has none; `None` for packages of all owners.
    owner: Option<(Owner, Problem)>,
}

/// The page that a client asks for.
struct Paging {
    limit: usize,
    offset: usize,
}

/// The filters of a list of modules.
#[derive(Default)]
struct ModuleFilter {
    system: Option<String>,
    /// No module of this registry is verified.
    is_verified: bool,
}

/// Sends a page of a list, of the packages that the caller may see.
pub(crate) async fn send<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    list: List,
) -> Handled<P::Stream> {
    let paging = Paging::of(&call)?;
    let filter = match list.kind {
        SearchKind::Module => ModuleFilter::of(&call)?,
        _ => ModuleFilter::default(),
    };
    let catalog = match &list.owner {
        Some((owner, _)) => listings::of_owner(ctx, &call.caller, owner).await?,
        None => listings::merged(ctx, &call.caller).await?,
    };
    let texts = catalog.texts();
    let is_visible = |owner: &Owner| listings::sees(ctx, &call.caller, owner);
    let lines = packages(&texts, Some(list.kind), &is_visible);
    let mut lines = lines
        // Only the hostname of a mirrored package has a dot.
        .filter(|(key, _)| key.starts_with(&list.keys) && !key.contains('.'))
        .peekable();
    if let (None, Some((_, missing))) = (lines.peek(), list.owner) {
        return Err(missing.into());
    }
    let (page, has_more) = paging.page(lines.filter(|(key, _)| filter.admits(key)));
    let meta = paging.meta(has_more, &call)?;
    let page = page.iter().filter_map(|(_, line)| CatalogLine::parse(line));
    let document = match list.kind {
        SearchKind::Module => {
            let modules = page.filter_map(|line| listed_module(&line)).collect();
            object([("meta", meta), ("modules", modules)])
        }
        _ => {
            let providers = page.filter_map(|line| listed_provider(&line)).collect();
            object([("meta", meta), ("providers", providers)])
        }
    };
    Ok(listing::reply(&call.caller, &request, &document).into())
}

/// Searches for modules.
pub(crate) async fn search<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
) -> Handled<P::Stream> {
    let query = search::query(&call)?;
    let paging = Paging::of(&call)?;
    let ModuleFilter {
        system,
        is_verified,
    } = ModuleFilter::of(&call)?;
    let owner = search::namespace(&call)?;
    let catalog = listings::searched(ctx, &call.caller, owner.as_ref()).await?;
    let search = Search {
        query,
        kind: Some(SearchKind::Module),
        system,
        after: None,
        offset: paging.offset,
        limit: paging.limit,
    };
    let texts = match is_verified {
        true => Vec::new(),
        false => catalog.texts(),
    };
    let is_visible = |owner: &Owner| listings::sees(ctx, &call.caller, owner);
    let found = search.run(&texts, &is_visible);
    let modules = found.matches.iter().filter_map(|found| match found {
        Match::Package(line, _) => listed_module(line),
        Match::Symbol(_) => None,
    });
    let meta = paging.meta(found.next.is_some(), &call)?;
    let document = object([("meta", meta), ("modules", modules.collect())]);
    Ok(listing::reply(&call.caller, &request, &document).into())
}

impl List {
    /// The modules of all namespaces.
    pub(crate) fn modules() -> Self {
        Self::new(SearchKind::Module, "modules/".to_owned(), None)
    }

    /// The modules of a namespace.
    pub(crate) fn modules_of(namespace: &ModuleNamespace) -> Self {
        let owner = Owner::of_namespace(namespace.as_str());
        let missing = missing(&owner);
        let keys = format!("modules/{namespace}/");
        Self::new(SearchKind::Module, keys, Some((owner, missing)))
    }

    /// The target systems of a module, each with its newest version.
    pub(crate) fn modules_named(namespace: &ModuleNamespace, name: &ModuleName) -> Self {
        let owner = Owner::of_namespace(namespace.as_str());
        let missing = format!("this registry has no module {namespace}/{name}");
        let missing = Problem::NotFound(missing);
        let keys = format!("modules/{namespace}/{name}/");
        Self::new(SearchKind::Module, keys, Some((owner, missing)))
    }

    /// The providers published here, of all namespaces.
    pub(crate) fn providers() -> Self {
        Self::new(SearchKind::Provider, "providers/hosted/".to_owned(), None)
    }

    /// The providers of a namespace.
    pub(crate) fn providers_of(namespace: &Namespace) -> Self {
        let owner = Owner::of_namespace(namespace.as_str());
        let missing = missing(&owner);
        let keys = "providers/hosted/".to_owned();
        Self::new(SearchKind::Provider, keys, Some((owner, missing)))
    }

    fn new(kind: SearchKind, keys: String, owner: Option<(Owner, Problem)>) -> Self {
        Self { kind, keys, owner }
    }
}

impl ModuleFilter {
    fn of(call: &Call) -> Result<Self, Failure> {
        let system = listing::parameter(call, "provider")?;
        Ok(Self {
            system,
            is_verified: listing::flag(call, "verified")?,
        })
    }

    /// Returns whether the module with this key is in the list.
    fn admits(&self, key: &str) -> bool {
        let system = key.rsplit('/').next();
        !self.is_verified && (self.system.is_none() || self.system.as_deref() == system)
    }
}

impl Paging {
    fn of(call: &Call) -> Result<Self, Failure> {
        Ok(Self {
            limit: listing::limit(call)?,
            offset: listing::number(call, "offset", 0, 0, limits::MAX_OFFSET)?,
        })
    }

    /// Returns the page of a list, and whether entries follow it.
    fn page<T>(&self, entries: impl Iterator<Item = T>) -> (Vec<T>, bool) {
        let mut entries = entries.skip(self.offset);
        let page = entries.by_ref().take(self.limit).collect();
        (page, entries.next().is_some())
    }

    /// Returns the position of a page. The last page that can be requested names no next one.
    fn meta(&self, has_more: bool, call: &Call) -> Result<Value, Failure> {
        let Self { limit, offset } = *self;
        let mut meta = object([("limit", limit.into()), ("current_offset", offset.into())]);
        let next = Some(offset + limit).filter(|next| has_more && *next <= limits::MAX_OFFSET);
        let previous = (offset > 0).then(|| offset.saturating_sub(limit));
        for (name, offset) in [("next", next), ("prev", previous)] {
            if let (Some(offset), Some(members)) = (offset, meta.as_object_mut()) {
                members.insert(format!("{name}_offset"), offset.into());
                members.insert(format!("{name}_url"), url(call, limit, offset)?.into());
            }
        }
        Ok(meta)
    }
}

/// Returns the path of another page of the same list.
fn url(call: &Call, limit: usize, offset: usize) -> Result<String, Failure> {
    let [limit, offset] = [limit, offset].map(|number| number.to_string());
    let mut parameters = vec![("limit", limit), ("offset", offset)];
    for name in ["q", "provider", "namespace", "verified"] {
        let value = listing::parameter(call, name)?;
        parameters.extend(value.map(|value| (name, value)));
    }
    let parameters: Vec<(&str, &str)> = parameters
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    Ok(format!("{}?{}", call.path, encoded(&parameters)))
}

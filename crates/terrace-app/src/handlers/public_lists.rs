//! Lists of packages in the shape of the public registry's API
//! (<https://developer.hashicorp.com/terraform/registry/api-docs>), which pages them by their number.

use terrace_base::untrusted::{QUOTED_CHARS, line};
use terrace_core::api::public::{
    PublicMeta, PublicModule, PublicModules, PublicProvider, PublicProviders,
};
use terrace_core::auth::access::Owner;
use terrace_core::http::form::encoded;
use terrace_core::http::problem::Problem;
use terrace_core::index::catalog::{CatalogLine, CatalogText};
use terrace_core::limits;
use terrace_core::model::name::{ModuleName, ModuleNamespace, Namespace};
use terrace_core::search::{Match, Query, Search, SearchKind, packages};

use crate::context::Context;
use crate::failure::Failure;
use crate::handlers::listing;
use crate::handlers::namespaces::missing;
use crate::handlers::outcome::{Call, Handled};
use crate::handlers::search;
use crate::host::{Host, Request};
use crate::services::listings;

/// The page that a client asks for.
struct Paging {
    limit: usize,
    offset: usize,
}

/// The key of a package, and its line in the catalogue, which is parsed only for the page that is sent.
type Line<'t> = (&'t str, &'t str);

/// The filters of a list of modules.
struct ModuleFilter {
    system: Option<String>,
    /// No module of this registry is verified.
    is_verified: bool,
}

/// Lists the modules that the caller may see.
pub(crate) async fn modules<P, R>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
) -> Handled<P::Stream>
where
    P: Host,
    R: Request<Stream = P::Stream>,
{
    let catalog = listings::merged(ctx, &call.caller).await?;
    let lines = lines(ctx, &call, &catalog.texts(), SearchKind::Module, &|_| true);
    list_modules(&call, &request, "/v1/modules", lines)
}

/// Lists the modules of a namespace.
pub(crate) async fn modules_of<P, R>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    namespace: ModuleNamespace,
) -> Handled<P::Stream>
where
    P: Host,
    R: Request<Stream = P::Stream>,
{
    let owner = Owner::of_namespace(namespace.as_str());
    let catalog = listings::of_owner(ctx, &call.caller, &owner).await?;
    let prefix = format!("modules/{namespace}/");
    let is_of = |key: &str| key.starts_with(&prefix);
    let lines = lines(ctx, &call, &catalog.texts(), SearchKind::Module, &is_of);
    if lines.is_empty() {
        return Err(missing(&owner).into());
    }
    list_modules(&call, &request, &format!("/v1/modules/{namespace}"), lines)
}

/// Lists the target systems of a module, each with its newest version.
pub(crate) async fn modules_named<P, R>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    namespace: ModuleNamespace,
    name: ModuleName,
) -> Handled<P::Stream>
where
    P: Host,
    R: Request<Stream = P::Stream>,
{
    let owner = Owner::of_namespace(namespace.as_str());
    let catalog = listings::of_owner(ctx, &call.caller, &owner).await?;
    let prefix = format!("modules/{namespace}/{name}/");
    let is_of = |key: &str| key.starts_with(&prefix);
    let lines = lines(ctx, &call, &catalog.texts(), SearchKind::Module, &is_of);
    if lines.is_empty() {
        let message = format!("this registry has no module {namespace}/{name}");
        return Err(Problem::NotFound(message).into());
    }
    let path = format!("/v1/modules/{namespace}/{name}");
    list_modules(&call, &request, &path, lines)
}

/// Searches for modules.
pub(crate) async fn search<P, R>(ctx: &Context<'_, P>, call: Call, request: R) -> Handled<P::Stream>
where
    P: Host,
    R: Request<Stream = P::Stream>,
{
    let query = unquoted(search::query(&call)?)?;
    let paging = Paging::of(&call)?;
    let filter = ModuleFilter::of(&call)?;
    let owner = search::namespace(&call)?;
    let catalog = listings::searched(ctx, &call.caller, owner.as_ref()).await?;
    let search = Search {
        query,
        kind: Some(SearchKind::Module),
        after: None,
        // Modules of other systems take places as well.
        limit: limits::MAX_OFFSET + limits::MAX_LISTED_AT_ONCE,
    };
    let is_visible = |owner: &Owner| listings::sees(ctx, &call.caller, owner);
    let found = search.run(&catalog.texts(), &is_visible);
    let found = found.matches.into_iter().filter_map(|found| match found {
        Match::Package(line) => Some(line),
        Match::Symbol(_) => None,
    });
    let found: Vec<CatalogLine> = found
        .filter(|line| filter.admits(&line.package.to_string()))
        .collect();
    let (page, meta) = paging.page(found, &call, "/v1/modules/search")?;
    let modules = page.iter().filter_map(PublicModule::of_line).collect();
    Ok(listing::reply(&call.caller, &request, &PublicModules { meta, modules }).into())
}

/// Returns a query without the quotes that HashiCorp's MCP server puts around it.
fn unquoted(query: Query) -> Result<Query, Failure> {
    let words = query.words().join(" ");
    let words = words.trim_matches('\'').parse::<Query>();
    Ok(words.map_err(|error| Problem::BadRequest(error.to_string()))?)
}

/// Lists the providers published here that the caller may see.
pub(crate) async fn providers<P, R>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
) -> Handled<P::Stream>
where
    P: Host,
    R: Request<Stream = P::Stream>,
{
    let catalog = listings::merged(ctx, &call.caller).await?;
    let is_hosted = |key: &str| key.starts_with("providers/hosted/");
    let lines = lines(
        ctx,
        &call,
        &catalog.texts(),
        SearchKind::Provider,
        &is_hosted,
    );
    list_providers(&call, &request, "/v1/providers", lines)
}

/// Lists the providers of a namespace.
pub(crate) async fn providers_of<P, R>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    namespace: Namespace,
) -> Handled<P::Stream>
where
    P: Host,
    R: Request<Stream = P::Stream>,
{
    let owner = Owner::of_namespace(namespace.as_str());
    let catalog = listings::of_owner(ctx, &call.caller, &owner).await?;
    let lines = lines(ctx, &call, &catalog.texts(), SearchKind::Provider, &|_| {
        true
    });
    if lines.is_empty() {
        return Err(missing(&owner).into());
    }
    let path = format!("/v1/providers/{namespace}");
    list_providers(&call, &request, &path, lines)
}

/// Returns the lines of a kind that the caller may see, each with the key of its package.
fn lines<'t, P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    texts: &[CatalogText<'t>],
    kind: SearchKind,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Vec<Line<'t>> {
    let is_visible = |owner: &Owner| listings::sees(ctx, &call.caller, owner);
    let mut lines = packages(texts, Some(kind), &is_visible);
    lines.retain(|(key, _)| is_wanted(key));
    lines
}

fn parsed((_, line): Line<'_>) -> Option<CatalogLine> {
    CatalogLine::parse(line)
}

fn list_modules<S, R: Request>(
    call: &Call,
    request: &R,
    path: &str,
    lines: Vec<Line<'_>>,
) -> Handled<S> {
    let filter = ModuleFilter::of(call)?;
    let mut lines = lines;
    lines.retain(|(key, _)| filter.admits(key));
    let (page, meta) = Paging::of(call)?.page(lines, call, path)?;
    let page = page.into_iter().filter_map(parsed);
    let modules = page
        .filter_map(|line| PublicModule::of_line(&line))
        .collect();
    Ok(listing::reply(&call.caller, request, &PublicModules { meta, modules }).into())
}

fn list_providers<S, R: Request>(
    call: &Call,
    request: &R,
    path: &str,
    lines: Vec<Line<'_>>,
) -> Handled<S> {
    let (page, meta) = Paging::of(call)?.page(lines, call, path)?;
    let page = page.into_iter().filter_map(parsed);
    let providers = page
        .filter_map(|line| PublicProvider::of_line(&line))
        .collect();
    Ok(listing::reply(&call.caller, request, &PublicProviders { meta, providers }).into())
}

impl ModuleFilter {
    fn of(call: &Call) -> Result<Self, Failure> {
        let system = listing::parameter(call, "provider")?;
        let is_verified = match listing::parameter(call, "verified")?.as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => {
                let other = line(other).at_most(QUOTED_CHARS);
                let rule = format!("the parameter verified is {other}: it must be true or false");
                return Err(Problem::BadRequest(rule).into());
            }
        };
        Ok(Self {
            system,
            is_verified,
        })
    }

    /// Whether the module with this key is in the list.
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

    /// Returns the page of a list, and its position.
    fn page<T>(
        self,
        lines: Vec<T>,
        call: &Call,
        path: &str,
    ) -> Result<(Vec<T>, PublicMeta), Failure> {
        let Self { limit, offset } = self;
        let count = lines.len();
        let page = lines.into_iter().skip(offset).take(limit).collect();
        let next = (count > offset + limit).then_some(offset + limit);
        let previous = (offset > 0).then(|| offset.saturating_sub(limit));
        let url = |offset: usize| self::url(call, path, limit, offset);
        let meta = PublicMeta {
            limit,
            current_offset: offset,
            next_url: next.map(url).transpose()?,
            next_offset: next,
            prev_url: previous.map(url).transpose()?,
            prev_offset: previous,
        };
        Ok((page, meta))
    }
}

/// Returns the path of another page of the same list.
fn url(call: &Call, path: &str, limit: usize, offset: usize) -> Result<String, Failure> {
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
    Ok(format!("{path}?{}", encoded(&parameters)))
}

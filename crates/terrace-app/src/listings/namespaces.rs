//! Lists of namespaces, of the packages of one, and of those that call a package.

use terrace_core::api::details::{
    ListedPackage, NamespacePage, NamespaceView, PackagePage, UsedByPage,
};
use terrace_core::api::route::ApiRoute;
use terrace_core::auth::access::Owner;
use terrace_core::http::problem::Problem;
use terrace_core::index::calls;
use terrace_core::index::catalog::CatalogLine;
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::search::{
    NamespaceCount, SearchKind, callers, namespaces, packages as package_lines,
};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Host, Request};
use crate::listings::Catalog;
use crate::outcome::{Call, Handled};
use crate::{listing, listings};

/// Lists the namespaces with packages that the caller may see.
pub(crate) async fn list<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
) -> Handled<P::Stream> {
    let limit = listing::limit(&call)?;
    let after = listing::parameter(&call, "after")?.unwrap_or_default();
    let catalog = listings::merged(ctx, &call.caller).await?;
    let is_visible = |owner: &Owner| listings::sees(ctx, &call.caller, owner);
    let mut left = views(&catalog, &is_visible).into_iter();
    let mut left = left.by_ref().filter(|view| view.namespace > after);
    let page: Vec<NamespaceView> = left.by_ref().take(limit).collect();
    let last = page.last().map(|last| last.namespace.clone());
    let page = NamespacePage {
        next: last.filter(|_| left.next().is_some()),
        namespaces: page,
    };
    Ok(listing::reply(&call.caller, &request, &page).into())
}

/// Returns the namespaces in a catalogue that are visible, ascending.
pub(crate) fn views(catalog: &Catalog, is_visible: &dyn Fn(&Owner) -> bool) -> Vec<NamespaceView> {
    let counts = namespaces(&catalog.texts(), is_visible);
    counts.iter().map(view).collect()
}

fn view((namespace, count): (&String, &NamespaceCount)) -> NamespaceView {
    let owner = Owner::parse_key(namespace);
    NamespaceView {
        namespace: namespace.clone(),
        path: owner.map_or_else(String::new, |owner| ApiRoute::Namespace(owner).to_string()),
        modules: count.modules,
        providers: count.providers,
    }
}

/// Lists the packages of a namespace. One without packages does not exist.
pub(crate) async fn packages<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    owner: Owner,
) -> Handled<P::Stream> {
    let page = page(ctx, &call, &owner).await?;
    Ok(listing::reply(&call.caller, &request, &page).into())
}

/// Returns the packages of a namespace that the query of a request selects.
pub(crate) async fn page<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    owner: &Owner,
) -> Result<PackagePage, Failure> {
    let kind = kind(call)?;
    let catalog = listings::of_owner(ctx, &call.caller, owner).await?;
    let texts = catalog.texts();
    let mut lines = package_lines(&texts, None, &|_| true).peekable();
    if lines.peek().is_none() {
        return Err(missing(owner).into());
    }
    let prefix = match kind {
        Some(SearchKind::Module) => "modules/",
        Some(SearchKind::Provider) => "providers/",
        _ => "",
    };
    let wanted = lines.filter(|(key, _)| key.starts_with(prefix));
    let (packages, next) = page_of(call, wanted)?;
    Ok(PackagePage {
        namespace: owner.to_string(),
        packages,
        next,
    })
}

/// Lists the packages that call a package.
pub(crate) async fn used_by<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    package: Package,
) -> Handled<P::Stream> {
    let page = used_by_page(ctx, &call, &package).await?;
    Ok(listing::reply(&call.caller, &request, &page).into())
}

/// Returns the packages that call a package, of those that the caller may see. Since it depends on nothing else, the answer
/// does not tell whether the package exists.
pub(crate) async fn used_by_page<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: &Package,
) -> Result<UsedByPage, Failure> {
    let catalog = listings::merged(ctx, &call.caller).await?;
    let is_visible = |owner: &Owner| listings::sees(ctx, &call.caller, owner);
    let own = OwnHosts::new(&call.origin, &ctx.config.hostnames);
    let addresses = calls::of_package(package, &own);
    let lines = callers(&catalog.texts(), &addresses, &is_visible);
    let (packages, next) = page_of(call, lines)?;
    Ok(UsedByPage {
        address: package.address(),
        packages,
        next,
    })
}

/// Returns the packages of a page, and the cursor of the next one. `lines` are ascending by their keys.
pub(crate) fn page_of<'t>(
    call: &Call,
    lines: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Result<(Vec<ListedPackage>, Option<String>), Failure> {
    let limit = listing::limit(call)?;
    let after = listing::parameter(call, "after")?.unwrap_or_default();
    let mut left = lines.into_iter().filter(|(key, _)| *key > after.as_str());
    let page: Vec<(&str, &str)> = left.by_ref().take(limit).collect();
    let last = page.last().map(|(key, _)| (*key).to_owned());
    let parsed = page.iter().filter_map(|(_, line)| CatalogLine::parse(line));
    let packages = parsed.map(|line| ListedPackage::from(&line)).collect();
    Ok((packages, last.filter(|_| left.next().is_some())))
}

fn kind(call: &Call) -> Result<Option<SearchKind>, Failure> {
    match listing::parsed(call, "kind")? {
        Some(SearchKind::Symbol(_) | SearchKind::AnySymbol) => {
            let rule = "the parameter kind must be module or provider: search lists other kinds";
            Err(Problem::BadRequest(rule.to_owned()).into())
        }
        kind => Ok(kind),
    }
}

/// Returns the error for an owner without packages.
pub(crate) fn missing(owner: &Owner) -> Problem {
    Problem::NotFound(format!("this registry has no packages of {owner}"))
}

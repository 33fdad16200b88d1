//! The pages of lists of packages.
use terrace_core::api::route::PageRoute;
use terrace_core::auth::access::Owner;
use terrace_core::http::problem::Problem;
use terrace_core::index::catalog::CatalogLine;
use terrace_core::model::package::{Package, PackageKind};
use terrace_core::search::SearchKind;
use terrace_web::{NAMESPACES_AFTER, pages};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Host, Request};
use crate::listings::{namespaces, search as searches};
use crate::outcome::{Call, Handled};
use crate::pages::shared::{document, html, site_of, site_of_call};
use crate::{listing, listings};

/// Number of packages on the start page, the newest first: two screens of a laptop. The lists of modules and providers
/// have all.
const RECENT_PACKAGES: usize = 12;

/// Maximum length of the names that the search field offers, in bytes: 3,500 packages, and 100 KB compressed.
const NAMES_BYTES: usize = 400_000;

/// Maximum length of a description among them, in characters.
const NAMES_DESCRIPTION_CHARS: usize = 80;

/// Shows the start page: the packages that were published last, or the first steps in an empty registry. It has no lists
/// while the catalogue is being rebuilt.
pub(super) async fn start<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
) -> Handled<P::Stream> {
    let site = site_of_call(ctx, &call);
    let catalog = match listings::merged(ctx, &call.caller).await {
        Ok(catalog) => catalog,
        Err(Failure::Problem(Problem::NotYet(..))) => {
            let start = pages::Start {
                is_being_rebuilt: true,
                ..pages::Start::default()
            };
            return html(&call, &request, false, pages::start(&site, &start));
        }
        Err(failure) => return Err(failure),
    };
    let is_visible = |owner: &Owner| listings::sees(ctx, &call.caller, owner);
    let mut recent = catalog.recent(&is_visible);
    recent.truncate(RECENT_PACKAGES);
    let start = pages::Start {
        recent: &recent,
        namespaces: &namespaces::views(&catalog, &is_visible),
        is_being_rebuilt: false,
    };
    html(&call, &request, false, pages::start(&site, &start))
}

/// Shows the packages of a kind.
pub(super) async fn browse<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    kind: PackageKind,
) -> Handled<P::Stream> {
    let catalog = listings::merged(ctx, &call.caller).await?;
    let is_visible = |owner: &Owner| listings::sees(ctx, &call.caller, owner);
    let wanted = match kind {
        PackageKind::Module => SearchKind::Module,
        PackageKind::Provider => SearchKind::Provider,
    };
    let texts = catalog.texts();
    let lines = terrace_core::search::packages(&texts, Some(wanted), &is_visible);
    let (packages, next) = namespaces::page_of(&call, lines)?;
    let namespaces_after = listing::parameter(&call, NAMESPACES_AFTER)?.unwrap_or_default();
    let browse = pages::Browse {
        kind,
        packages: &packages,
        next: next.as_deref(),
        namespaces: &namespaces::views(&catalog, &is_visible),
        namespaces_after: &namespaces_after,
    };
    let site = site_of_call(ctx, &call);
    html(&call, &request, false, pages::browse(&site, &browse))
}

/// Shows the packages of a namespace.
pub(super) async fn namespace<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    owner: Owner,
) -> Handled<P::Stream> {
    let listed = namespaces::page(ctx, &call, &owner).await?;
    let is_private = listings::is_private(ctx, &call.caller, &owner);
    let site = site_of(ctx, &call, is_private);
    html(
        &call,
        &request,
        is_private,
        pages::namespace(&site, &owner, &listed),
    )
}

/// Shows the packages that call a package.
pub(super) async fn used_by<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    package: Package,
) -> Handled<P::Stream> {
    let listed = namespaces::used_by_page(ctx, &call, &package).await?;
    let site = site_of_call(ctx, &call);
    let page = pages::used_by(&site, &package, &listed);
    html(&call, &request, false, page)
}

/// Shows the results of a search. Without words, it shows the form.
pub(super) async fn search<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
) -> Handled<P::Stream> {
    let text = |name| -> Result<String, Failure> {
        Ok(listing::parameter(&call, name)?.unwrap_or_default())
    };
    let (query, kind, namespace) = (text("q")?, text("kind")?, text("namespace")?);
    let (results, error) = match query.trim() {
        "" => (None, None),
        _ => match searches::page(ctx, &call).await {
            Ok(page) => (Some(page), None),
            // The form shows why it was rejected.
            Err(Failure::Problem(Problem::BadRequest(reason))) => (None, Some(reason)),
            Err(failure) => return Err(failure),
        },
    };
    let searched = pages::Searched {
        query: &query,
        kind: &kind,
        namespace: &namespace,
        is_continued: !text("after")?.is_empty(),
        results: results.as_ref(),
        error: error.as_deref(),
    };
    let site = site_of_call(ctx, &call);
    html(&call, &request, false, pages::search(&site, &searched))
}

/// Sends the path and the beginning of the description of each package that the caller may see, for the search field. It
/// does without them if there are too many.
pub(super) async fn names<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
) -> Handled<P::Stream> {
    let catalog = listings::merged(ctx, &call.caller).await?;
    let is_visible = |owner: &Owner| listings::sees(ctx, &call.caller, owner);
    let texts = catalog.texts();
    let mut names = String::new();
    for (_, line) in terrace_core::search::packages(&texts, None, &is_visible) {
        let Some(line) = CatalogLine::parse(line) else {
            continue;
        };
        names.push_str(&PageRoute::Package(line.package).to_string());
        names.push('\t');
        names.extend(line.description.chars().take(NAMES_DESCRIPTION_CHARS));
        names.push('\n');
        if names.len() > NAMES_BYTES {
            let message = "this registry has too many packages for a list of their names: search";
            return Err(Problem::NotFound(message.to_owned()).into());
        }
    }
    document(&call, &request, true, "text/plain; charset=utf-8", names)
}

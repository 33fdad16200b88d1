//! Documentation: the tool that reads it, and the resources.

use terrace_base::json;
use terrace_core::api::route::PageRoute;
use terrace_core::auth::access::Owner;
use terrace_core::documentation::DocumentPath;
use terrace_core::http::reply::Reply;
use terrace_core::index::catalog::CatalogLine;
use terrace_core::limits;
use terrace_core::mcp::answers::{DocumentAnswer, ResourceList};
use terrace_core::mcp::reply::Answered;
use terrace_core::mcp::{DocumentResource, McpError, TextPage};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::version::{RequestedVersion, Version};
use terrace_core::read::{PageSubject, VersionView};
use terrace_core::search::packages;

use crate::context::Context;
use crate::documentation::document;
use crate::documentation::document::RequestedDocument;
use crate::failure::Failure;
use crate::host::Host;
use crate::listings;
use crate::mcp::shared::{exact, resource_failure};
use crate::outcome::Call;
use crate::pages::version_view;

/// Answers `get_docs`: the part of a document after `offset` characters.
pub(super) async fn answer<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: Package,
    view: VersionView,
    document: DocumentPath,
    offset: usize,
) -> Result<String, Failure> {
    let version = view.details.version.version.clone();
    let requested = RequestedDocument::new(package, version, document);
    let documentation = view.documentation.as_ref();
    let text = document::text_in(ctx, &requested, documentation).await?;
    let RequestedDocument {
        package,
        version,
        path,
    } = requested;
    let address = package.address();
    let exact = RequestedVersion::Exact(version.clone());
    let module = view.details.module.as_ref();
    let mut examples = module.into_iter().flat_map(|module| &module.examples);
    let shown = path
        .clone()
        .shown_by(|name| examples.any(|it| it.name == *name));
    let route = match shown {
        DocumentPath::Readme => PageRoute::Version(package, exact),
        path => PageRoute::Document(package, exact, path),
    };
    let page = format!("{}{route}", call.origin);
    let answer = DocumentAnswer::new((address, version), &path, &text, offset, page);
    Ok(json::to_string(&answer))
}

/// Answers `resources/list`: the documentation of the packages that the caller may see.
pub(super) async fn list<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    to: &Answered,
    last: Option<Package>,
) -> Reply<P::Stream> {
    let catalog = match listings::merged(ctx, &call.caller).await {
        Ok(catalog) => catalog,
        Err(failure) => return to.error(McpError::Problem(ctx.report(failure))),
    };
    let is_visible = |owner: &Owner| listings::sees(ctx, &call.caller, owner);
    let after = last.map(|package| package.to_string()).unwrap_or_default();
    let texts = catalog.texts();
    let mut lines = packages(&texts, None, &is_visible).filter(|(key, _)| *key > after.as_str());
    let page: Vec<_> = lines.by_ref().take(limits::MAX_LISTED_AT_ONCE).collect();
    let last = page.last().map(|(key, _)| (*key).to_owned());
    let next = last.filter(|_| lines.next().is_some());
    let page = page.iter().filter_map(|(_, line)| CatalogLine::parse(line));
    to.resources(&ResourceList::new(page, next))
}

/// Answers `resources/read`.
pub(super) async fn read<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    to: &Answered,
    uri: String,
) -> Reply<P::Stream> {
    let own = OwnHosts::new(&call.origin, &ctx.config.hostnames);
    let resource = match DocumentResource::parse(&uri, &own) {
        Ok(resource) => resource,
        Err(reason) => return to.error(McpError::NoResource(uri, reason, to.revision)),
    };
    match contents(ctx, call, &resource).await {
        Ok(text) => to.contents(&uri, &resource, &text),
        Err(failure) => resource_failure(ctx, to, uri, failure),
    }
}

/// Returns the contents of a resource. After a part of a long document, they name the URI of the next one.
async fn contents<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    resource: &DocumentResource,
) -> Result<String, Failure> {
    let (DocumentResource::Navigation(package, version)
    | DocumentResource::Document(package, version, ..)) = resource;
    let version = exact(ctx, call, package, requested(version)).await?;
    let subject = PageSubject::Document(package.clone(), version.clone());
    let view = version_view(ctx, call, subject).await?.value;
    let DocumentResource::Document(_, _, document, offset) = resource else {
        return Ok(json::to_string(&view.navigation));
    };
    let requested = RequestedDocument::new(package.clone(), version, document.clone());
    let whole = document::text_in(ctx, &requested, view.documentation.as_ref()).await?;
    let TextPage { text, next, .. } = TextPage::of(&whole, *offset);
    let Some(next) = next else { return Ok(text) };
    let version = RequestedVersion::Exact(requested.version);
    let next = DocumentResource::Document(requested.package, version, requested.path, next);
    Ok(format!("{text}\n\n[The document continues at {next}]\n"))
}

fn requested(version: &RequestedVersion) -> Option<Version> {
    match version {
        RequestedVersion::Latest => None,
        RequestedVersion::Exact(version) => Some(version.clone()),
    }
}

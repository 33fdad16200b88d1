//! Documentation: the tool that reads it, and the resources.

use terrace_base::json;
use terrace_core::api::route::{PageRoute, RequestedVersion};
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
use terrace_core::model::version::Version;
use terrace_core::read::PageSubject;
use terrace_core::search::packages;

use crate::context::Context;
use crate::failure::Failure;
use crate::handlers::document::{self, RequestedDocument};
use crate::handlers::mcp::shared::{exact, resource_failure};
use crate::handlers::outcome::Call;
use crate::handlers::pages::version_view;
use crate::host::Host;
use crate::services::listings;

/// Answers `get_docs`: the part of a document after `offset` characters.
pub(super) async fn answer<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    (package, version): (Package, Option<Version>),
    document: DocumentPath,
    offset: usize,
) -> Result<DocumentAnswer, Failure> {
    let version = exact(ctx, call, &package, version).await?;
    let text = text(ctx, call, &package, &version, &document).await?;
    let address = package.address();
    let shown = match document {
        // Only the API has a path for it.
        DocumentPath::ExampleFile(ref example, _) => DocumentPath::Example(example.clone()),
        ref document => document.clone(),
    };
    let route = match shown {
        DocumentPath::Readme => {
            PageRoute::Version(package, RequestedVersion::Exact(version.clone()))
        }
        shown => PageRoute::Document(package, RequestedVersion::Exact(version.clone()), shown),
    };
    let page = format!("{}{route}", call.origin);
    Ok(DocumentAnswer::new(
        (address, version),
        &document,
        &text,
        offset,
        page,
    ))
}

/// Returns the whole text of a document: one operation for its version, and one ranged read.
async fn text<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: &Package,
    version: &Version,
    document: &DocumentPath,
) -> Result<String, Failure> {
    let subject = PageSubject::Document(package.clone(), version.clone());
    let view = version_view(ctx, call, subject).await?.value;
    let requested = RequestedDocument::new(package.clone(), version.clone(), document.clone());
    document::text_in(ctx, &requested, view.documentation.as_ref()).await
}

/// Answers `resources/list`: the documentation of the packages that the caller may see.
pub(super) async fn list<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    to: &Answered,
    cursor: Option<String>,
) -> Reply<P::Stream> {
    let catalog = match listings::merged(ctx, &call.caller).await {
        Ok(catalog) => catalog,
        Err(failure) => return to.error(McpError::Problem(ctx.report(failure))),
    };
    let is_visible = |owner: &Owner| listings::sees(ctx, &call.caller, owner);
    let after = cursor.unwrap_or_default();
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
        Err(error) => {
            let reason = error.to_string();
            return to.error(McpError::NoResource(uri, reason, to.revision));
        }
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
    match resource {
        DocumentResource::Navigation(package, version) => {
            let version = exact(ctx, call, package, requested(version)).await?;
            let subject = PageSubject::Document(package.clone(), version);
            let view = version_view(ctx, call, subject).await?.value;
            Ok(json::to_string(&view.navigation))
        }
        DocumentResource::Document(package, version, document, offset) => {
            let version = exact(ctx, call, package, requested(version)).await?;
            let whole = text(ctx, call, package, &version, document).await?;
            let TextPage { text, next, .. } = TextPage::of(&whole, *offset);
            let Some(next) = next else { return Ok(text) };
            let next = DocumentResource::Document(
                package.clone(),
                RequestedVersion::Exact(version),
                document.clone(),
                next,
            );
            Ok(format!("{text}\n\n[The document continues at {next}]\n"))
        }
    }
}

fn requested(version: &RequestedVersion) -> Option<Version> {
    match version {
        RequestedVersion::Latest => None,
        RequestedVersion::Exact(version) => Some(version.clone()),
    }
}

//! The web pages. Each is drawn from the values that the API answers with, by `terrace-web`.

mod catalog;
mod documents;
mod feeds;
mod files;
mod package;
mod reads;
mod shared;
mod token_form;

use terrace_core::api::route::{PageRoute, no_such_route};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::model::package::Package;
use terrace_core::model::version::RequestedVersion;
use terrace_web::pages::section_of_tab;
use terrace_web::public_page;

use crate::context::Context;
use crate::documentation::document;
use crate::documentation::document::RequestedDocument;
use crate::failure::Failure;
use crate::host::{Host, Request};
use crate::outcome::{Call, Handled};

pub(crate) use package::{compared, details, read, version_view};
pub(crate) use shared::{FailedVisit, accepts_html, problem_page, site};
pub(crate) use token_form::{enter, show};

/// Answers the request for a page. If a version or document does not exist but its package does, the page of the error
/// leads there.
pub(crate) async fn page<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    route: PageRoute,
) -> Handled<P::Stream> {
    let around = match &route {
        PageRoute::Version(package, RequestedVersion::Exact(_))
        | PageRoute::Document(package, RequestedVersion::Exact(_), _) => {
            Some((package.clone(), call.clone()))
        }
        _ => None,
    };
    // The tabs of the public registry's pages are sections here.
    if let Some((Package::Module(_), call)) = &around
        && let Some(section) = section_of_tab(&call.query)
    {
        return Ok(Reply::redirect(format!("{route}{section}")).into());
    }
    let public = public_page(&call.query, &route);
    let answer = existing(ctx, call, request, route).await;
    if let (Err(Failure::Problem(Problem::NotFound(_))), Some(url)) = (&answer, public) {
        return Ok(Reply::redirect(url).into());
    }
    match (answer, around) {
        (Err(Failure::Problem(problem @ Problem::NotFound(_))), Some((package, call))) => {
            package::missing(ctx, &call, &package, problem).await
        }
        (answer, _) => answer,
    }
}

async fn existing<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    route: PageRoute,
) -> Handled<P::Stream> {
    match route {
        PageRoute::Home => catalog::start(ctx, call, request).await,
        PageRoute::Browse(kind) => catalog::browse(ctx, call, request, kind).await,
        PageRoute::Search => catalog::search(ctx, call, request).await,
        PageRoute::Names => catalog::names(ctx, call, request).await,
        PageRoute::Assistants => files::assistants(ctx, &call, &request),
        PageRoute::Namespace(owner) => catalog::namespace(ctx, call, request, owner).await,
        PageRoute::Package(ref package)
        | PageRoute::Version(ref package, RequestedVersion::Latest)
        | PageRoute::Document(ref package, RequestedVersion::Latest, _)
        | PageRoute::Text(ref package, RequestedVersion::Latest, _) => {
            let package = package.clone();
            package::newest(ctx, call, request, package, route).await
        }
        PageRoute::Versions(package) => package::versions(ctx, call, request, package).await,
        PageRoute::UsedBy(package) => catalog::used_by(ctx, call, request, package).await,
        PageRoute::Version(package, RequestedVersion::Exact(version)) => {
            package::version(ctx, call, request, package, version).await
        }
        PageRoute::Comparison(package, from, to) => {
            package::comparison(ctx, call, request, package, [from, to]).await
        }
        PageRoute::ComparisonForm(package) => package::choice(ctx, call, request, package).await,
        PageRoute::Document(package, RequestedVersion::Exact(version), path) => {
            let requested = RequestedDocument::new(package, version, path);
            documents::page(ctx, call, request, requested).await
        }
        PageRoute::Text(package, RequestedVersion::Exact(version), path) => {
            let requested = RequestedDocument::new(package, version, path);
            document::send(ctx, call, request, requested).await
        }
        PageRoute::Feed(scope) => feeds::feed(ctx, call, request, scope).await,
        PageRoute::Sitemap => feeds::sitemap(ctx, call, request).await,
        PageRoute::Badge(package, badge) => feeds::badge(ctx, call, request, package, badge).await,
        PageRoute::Asset(file) => files::asset(ctx, &file),
        PageRoute::OpenSearch => files::open_search(ctx, &call, &request),
        PageRoute::Robots => files::robots(ctx, &call, &request),
        PageRoute::Moved(path) => {
            let reply = Reply::new(301, CachePolicy::Short).with("location", path);
            Ok(reply.into())
        }
        PageRoute::Guessed(path) if accepts_html(&request) => {
            Ok(Reply::redirect(path).varying_by("accept").into())
        }
        PageRoute::Invalid(problem) => Err(problem.into()),
        // The dispatcher has already passed a sign-in and its end to other handlers.
        PageRoute::SignIn | PageRoute::SignOut | PageRoute::Guessed(_) | PageRoute::Unknown => {
            Err(no_such_route(request.path()).into())
        }
    }
}

//! Feeds, badges and the sitemap.

use terrace_core::api::details::{ListedPackage, PackageDetails};
use terrace_core::api::route::{Badge, FeedScope, PageRoute};
use terrace_core::auth::access::{Caller, Owner};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{Body, CachePolicy, Reply};
use terrace_core::index::catalog::CatalogLine;
use terrace_core::model::package::Package;
use terrace_core::model::status::ReleaseState;
use terrace_core::model::version::RequestedVersion;
use terrace_core::search::packages;
use terrace_web::badge::BadgeText;
use terrace_web::feed::{self, Entry};
use terrace_web::well_known;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Host, Request};
use crate::listings;
use crate::listings::namespaces;
use crate::outcome::{Call, Handled};
use crate::pages::package::{Shown, details};
use crate::pages::shared::{document, site};

const ATOM: &str = "application/atom+xml; charset=utf-8";
const SVG: &str = "image/svg+xml";
const XML: &str = "application/xml; charset=utf-8";

/// Sends a feed of new versions.
pub(super) async fn feed<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    scope: FeedScope,
) -> Handled<P::Stream> {
    let (entries, is_private) = match &scope {
        FeedScope::Registry => {
            let catalog = listings::merged(ctx, &call.caller).await?;
            let recent = catalog.recent(&|owner| listings::sees(ctx, &call.caller, owner));
            (recent.iter().filter_map(Entry::of_package).collect(), false)
        }
        FeedScope::Namespace(owner) => {
            let catalog = listings::of_owner(ctx, &call.caller, owner).await?;
            let texts = catalog.texts();
            let lines = packages(&texts, None, &|_| true);
            let lines = lines.filter_map(|(_, line)| CatalogLine::parse(line));
            let packages: Vec<_> = lines.map(|line| ListedPackage::from(&line)).collect();
            if packages.is_empty() {
                return Err(namespaces::missing(owner).into());
            }
            let is_private = listings::is_private(ctx, &call.caller, owner);
            (
                packages.iter().filter_map(Entry::of_package).collect(),
                is_private,
            )
        }
        FeedScope::Package(package) => {
            let found = details(ctx, &call, package.clone()).await?;
            let versions = found.value.versions.iter();
            let entries = versions.map(|version| Entry::of_version(package, version));
            (entries.collect::<Vec<_>>(), found.is_private)
        }
    };
    let site = site(ctx, &call.origin, &call.caller);
    let text = feed::feed(&site, &scope, &entries);
    document(&call, &request, is_private, ATOM, text)
}

/// Sends the badge of a package. The error for one that does not exist is a badge too, because an image shows no text.
pub(super) async fn badge<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    package: Package,
    badge: Badge,
) -> Handled<P::Stream> {
    let label = package.address().to_string();
    let Shown { value, is_private } = match details(ctx, &call, package).await {
        Ok(found) => found,
        Err(Failure::Problem(problem @ Problem::NotFound(_))) => {
            let svg = BadgeText::unknown(&label).to_svg();
            return Ok(Reply::new(problem.status(), CachePolicy::NoStore)
                .with("content-type", SVG)
                .with_security_headers()
                .with_body(Body::Text(svg))
                .into());
        }
        Err(failure) => return Err(failure),
    };
    let state = state(&value);
    let text = match badge {
        Badge::Version => BadgeText::version(&label, value.latest.as_ref(), state),
        Badge::Status => BadgeText::status(&label, state),
    };
    document(&call, &request, is_private, SVG, text.to_svg())
}

/// Returns the status of a package, or of its newest version if that is worse. The newest version is the one that can be
/// installed, if there is one.
fn state(details: &PackageDetails) -> Option<ReleaseState> {
    let mut versions = details.versions.iter();
    let newest = match &details.latest {
        Some(latest) => versions.find(|it| it.version == *latest),
        None => versions.next(),
    };
    let of_newest = newest.and_then(|it| it.status.as_ref());
    let states = [details.status.as_ref(), of_newest];
    states.into_iter().flatten().map(|it| it.state).max()
}

/// Sends the sitemap: the packages that anyone may see.
pub(super) async fn sitemap<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
) -> Handled<P::Stream> {
    let anyone = Caller::Anonymous;
    let catalog = listings::merged(ctx, &call.caller).await?;
    let is_visible = |owner: &Owner| listings::sees(ctx, &anyone, owner);
    let texts = catalog.texts();
    let lines = packages(&texts, None, &is_visible);
    let lines = lines.filter_map(|(_, line)| CatalogLine::parse(line));
    let pages =
        lines.map(|line| PageRoute::Version(line.package, RequestedVersion::Exact(line.latest)));
    let site = site(ctx, &call.origin, &anyone);
    document(
        &call,
        &request,
        false,
        XML,
        well_known::sitemap(&site, pages),
    )
}

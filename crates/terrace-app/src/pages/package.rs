//! The pages of packages and versions.

use terrace_core::api::details::PackageDetails;
use terrace_core::api::route::PageRoute;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::model::package::Package;
use terrace_core::model::version::{RequestedVersion, Version};
use terrace_core::read::{PageRead, PageSubject, PageView, VersionView};
use terrace_web::comparison::{ComparedVersion, Comparison};
use terrace_web::pages::ComparedVersions;
use terrace_web::views::DocumentPage;
use terrace_web::{
    BREAKING, FROM_VERSION, OR, SHOWN_CHANGES, VERSIONS_AFTER, comparison, pages, views,
};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Host, Request};
use crate::listing::parameter;
use crate::outcome::{Call, Handled};
use crate::pages::reads;
use crate::pages::shared::{
    FailedVisit, chosen_by_accept, html, markdown, prefers_markdown, problem_page, site_of,
};

/// The details of a package, and whether they are private.
pub(crate) struct Shown<T> {
    pub(crate) value: T,
    pub(crate) is_private: bool,
}

/// Reads the details of a package.
pub(crate) async fn details<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: Package,
) -> Result<Shown<PackageDetails>, Failure> {
    let (view, is_private) = read(ctx, call, PageSubject::Package(package)).await?;
    match view {
        PageView::Package(value) => Ok(Shown { value, is_private }),
        PageView::Version(_) | PageView::Comparison(_) => Err(Failure::corrupt("the page")),
    }
}

/// Reads the details of a version, or of one of its documents.
pub(crate) async fn version_view<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    subject: PageSubject,
) -> Result<Shown<VersionView>, Failure> {
    let (view, is_private) = read(ctx, call, subject).await?;
    match view {
        PageView::Version(value) => Ok(Shown {
            value: *value,
            is_private,
        }),
        PageView::Package(_) | PageView::Comparison(_) => Err(Failure::corrupt("the page")),
    }
}

/// Reads the values of a page, and whether they are private.
pub(crate) async fn read<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    subject: PageSubject,
) -> Result<(PageView, bool), Failure> {
    let config = ctx.config;
    let page = PageRead::new(subject, &call.caller, &config.access, &config.pull)?;
    let view = reads::read(ctx, &page).await?;
    Ok((view, page.is_private()))
}

/// Redirects to the newest version that can be installed. Without one, shows all versions.
pub(super) async fn newest<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    package: Package,
    route: PageRoute,
) -> Handled<P::Stream> {
    let found = details(ctx, &call, package.clone()).await?;
    match found.value.latest.clone() {
        Some(latest) => {
            let route = route.at(latest);
            let may_be_missing = parameter(&call, FROM_VERSION)?
                .or(parameter(&call, OR)?)
                .is_some();
            let route = match may_be_missing {
                true => existing(ctx, &call, route).await?,
                false => route,
            };
            let section = pages::section_of_tab(&call.query).unwrap_or_default();
            let reply =
                Reply::new(302, CachePolicy::NoStore).with("location", format!("{route}{section}"));
            Ok(reply.into())
        }
        None => all_versions(ctx, &call, &request, (&package, &found)),
    }
}

/// Answers the request for a version or document that does not exist: with a page that leads to its package, if the caller
/// may see that.
pub(super) async fn missing<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: &Package,
    problem: Problem,
) -> Handled<P::Stream> {
    if details(ctx, call, package.clone()).await.is_err() {
        return Err(problem.into());
    }
    let visit = FailedVisit {
        origin: &call.origin,
        path: &call.path,
        query: &call.query,
        reader: &call.caller,
        may_sign_in: false,
        package: Some(package),
    };
    Ok(problem_page(ctx, &visit, &problem).into())
}

/// Returns the route of a document, or of its version if that has no such document: readers come from the same document
/// of another version.
async fn existing<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    route: PageRoute,
) -> Result<PageRoute, Failure> {
    let PageRoute::Document(package, RequestedVersion::Exact(version), path) = &route else {
        return Ok(route);
    };
    let subject = PageSubject::Document(package.clone(), version.clone());
    let found = version_view(ctx, call, subject).await?;
    Ok(match DocumentPage::find(package, &found.value, path) {
        Some(_) => route,
        None => {
            let exact = RequestedVersion::Exact(version.clone());
            PageRoute::Version(package.clone(), exact)
        }
    })
}

/// Shows the versions of a package.
pub(super) async fn versions<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    package: Package,
) -> Handled<P::Stream> {
    let found = details(ctx, &call, package.clone()).await?;
    all_versions(ctx, &call, &request, (&package, &found))
}

fn all_versions<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    call: &Call,
    request: &R,
    (package, found): (&Package, &Shown<PackageDetails>),
) -> Handled<P::Stream> {
    let after = chosen(call, VERSIONS_AFTER)?;
    let site = site_of(ctx, call, found.is_private);
    let page = pages::versions(&site, package, &found.value, after.as_ref());
    html(call, request, found.is_private, page)
}

/// Shows a version.
pub(super) async fn version<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    package: Package,
    version: Version,
) -> Handled<P::Stream> {
    let subject = PageSubject::Version(package.clone(), version);
    let found = version_view(ctx, &call, subject).await?;
    if let Some(text) = readme(&package, &found.value).filter(|_| prefers_markdown(&request)) {
        return markdown(&call, &request, found.is_private, text).map(chosen_by_accept);
    }
    let site = site_of(ctx, &call, found.is_private);
    let page = views::version(&site, &package, &found.value);
    let sent = html(&call, &request, found.is_private, page);
    match package {
        Package::Module(_) => sent.map(chosen_by_accept),
        Package::Provider(_) | Package::Mirrored(_) => sent,
    }
}

/// Returns the README of a module.
fn readme(package: &Package, view: &VersionView) -> Option<String> {
    match package {
        Package::Module(_) => view.details.module.as_ref()?.root.readme.clone(),
        Package::Provider(_) | Package::Mirrored(_) => None,
    }
}

/// Compares two versions.
pub(super) async fn comparison<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    package: Package,
    [from, to]: [Version; 2],
) -> Handled<P::Stream> {
    let subject = PageSubject::Comparison(package.clone(), from.clone(), to.clone());
    let (view, is_private) = read(ctx, &call, subject).await?;
    let PageView::Comparison(both) = view else {
        return Err(Failure::corrupt("the page"));
    };
    let comparison = compared(&both);
    let only = parameter(&call, SHOWN_CHANGES)?;
    let shown = ComparedVersions {
        from: &from,
        to: &to,
        comparison: comparison.as_ref(),
        is_only_breaking: only.as_deref() == Some(BREAKING),
    };
    let [old, _] = &*both;
    let site = site_of(ctx, &call, is_private);
    let page = pages::comparison(&site, &package, &old.versions, Some(&shown));
    html(&call, &request, is_private, page)
}

/// Returns the differences; `None` if the documentation of a version is missing.
pub(crate) fn compared([old, new]: &[VersionView; 2]) -> Option<Comparison> {
    let [old, new] = [old, new].map(|view| ComparedVersion {
        details: &view.details,
        navigation: &view.navigation,
    });
    comparison::versions(old, new)
}

/// Redirects to the comparison of the versions that a form names. Without them, asks for them.
pub(super) async fn choice<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    package: Package,
) -> Handled<P::Stream> {
    if let (Some(from), Some(to)) = (chosen(&call, "from")?, chosen(&call, "to")?) {
        let route = PageRoute::Comparison(package, from, to);
        return Ok(Reply::redirect(route.to_string()).into());
    }
    let found = details(ctx, &call, package.clone()).await?;
    let site = site_of(ctx, &call, found.is_private);
    let page = pages::comparison(&site, &package, &found.value.versions, None);
    html(&call, &request, found.is_private, page)
}

fn chosen(call: &Call, name: &str) -> Result<Option<Version>, Failure> {
    let Some(text) = parameter(call, name)? else {
        return Ok(None);
    };
    let version = Version::parse_request(&text);
    let version = version
        .map_err(|error| Problem::BadRequest(format!("the parameter {name} is invalid: {error}")));
    Ok(Some(version?))
}

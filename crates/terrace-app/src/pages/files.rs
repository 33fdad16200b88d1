//! Files that are the same for every caller.

use terrace_base::untrusted::{QUOTED_CHARS, line};
use terrace_core::auth::access::Caller;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{Body, CachePolicy, Reply};
use terrace_web::{Site, pages, well_known};

use crate::context::Context;
use crate::host::{Host, Request};
use crate::outcome::{Call, Handled};
use crate::pages::shared::{document, html, site, site_of_call};

/// Sends a stylesheet, a script or a picture. Under a name of another version of Terrace it is the current one, which is
/// not cached: while a deployment is gradual, pages of both versions are sent.
pub(super) fn asset<P: Host>(ctx: &Context<'_, P>, name: &str) -> Handled<P::Stream> {
    let assets = ctx.host.cache().assets(&ctx.config.brand);
    let (file, is_current) = assets.file(name).ok_or_else(|| {
        let name = line(name).at_most(QUOTED_CHARS);
        Problem::NotFound(format!("this registry has no file {name}"))
    })?;
    let policy = match is_current {
        true => CachePolicy::Immutable,
        false => CachePolicy::NoStore,
    };
    Ok(Reply::new(200, policy)
        .with("content-type", file.content_type)
        .with_security_headers()
        .with_body(Body::Text(file.contents.to_owned()))
        .into())
}

/// Shows how assistants and editors use the registry.
pub(super) fn assistants<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    call: &Call,
    request: &R,
) -> Handled<P::Stream> {
    let site = site_of_call(ctx, call);
    html(call, request, false, pages::assistants(&site))
}

/// Sends the description of the search for browsers.
pub(super) fn open_search<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    call: &Call,
    request: &R,
) -> Handled<P::Stream> {
    let text = well_known::open_search(&site(ctx, &call.origin, &Caller::Anonymous));
    document(
        call,
        request,
        false,
        "application/opensearchdescription+xml",
        text,
    )
}

/// Sends the rules for crawlers.
pub(super) fn robots<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    call: &Call,
    request: &R,
) -> Handled<P::Stream> {
    let site = Site {
        // Crawlers may see the packages that are public.
        is_private: ctx.config.access.guards_all_reads(),
        ..site(ctx, &call.origin, &Caller::Anonymous)
    };
    let text = well_known::robots(&site);
    document(call, request, false, "text/plain; charset=utf-8", text)
}

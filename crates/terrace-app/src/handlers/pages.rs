//! The web pages.

use terrace_core::api::route::PageRoute;
use terrace_core::http::problem::Problem;

use crate::context::Context;
use crate::handlers::outcome::{Call, Handled};
use crate::host::{Host, Request};

/// Answers the request for a page.
pub(crate) async fn page<P, R>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    route: PageRoute,
) -> Handled<P::Stream>
where
    P: Host,
    R: Request<Stream = P::Stream>,
{
    let _ = (ctx, call, route);
    Err(Problem::NotFound(format!(
        "this registry has no path {}: check the URL",
        request.path()
    ))
    .into())
}

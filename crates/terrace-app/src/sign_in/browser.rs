//! `/sign-in` and `/sign-out`: the session of a browser, for the pages of a registry in which reads are guarded.

use terrace_base::url::authority;
use terrace_core::api::route::{PageRoute, Route};
use terrace_core::auth::access::Session;
use terrace_core::auth::login::{ReturnPath, SignInPurpose, signed_out_page};
use terrace_core::http::form::Form;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;

use crate::context::Context;
use crate::host::{Host, Request};
use crate::outcome::{Call, Handled};
use crate::sign_in::shared::{configured, is_from_own_page, or_page};
use crate::sign_in::start::send_to_provider;

/// Sends a browser to the provider, from which it returns to the page in the parameter `to`.
pub(crate) async fn sign_in<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
) -> Handled<P::Stream> {
    let login = configured(ctx)?;
    let to = destination(&call.query);
    if !ctx.config.reads_sessions() {
        return Ok(Reply::redirect(to.to_string()).into());
    }
    let purpose = SignInPurpose::Page(to);
    let sent = send_to_provider(ctx, login, &request, purpose.clone()).await;
    Ok(or_page(sent, &request, Some(&purpose)).into())
}

/// Ends the session of a browser. Pages of other websites cannot: the browser states where a request comes from.
pub(crate) async fn sign_out<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: R,
) -> Handled<P::Stream> {
    if is_from_own_page(&request) != Some(true) {
        return Err(Problem::Forbidden(
            "signing out takes a request from a page of this registry, as the header Sec-Fetch-Site of a browser \
             shows: use the button on such a page, or delete the cookies of this site"
                .to_owned(),
        )
        .into());
    }
    let to = match ctx.config.access.guards_all_reads() {
        true if is_by_token(ctx) => PageRoute::SignIn.to_string(),
        true => PageRoute::SignOut.to_string(),
        false => ReturnPath::default().to_string(),
    };
    let reply = Reply::redirect(to);
    Ok(reply.with("set-cookie", Session::end()).into())
}

/// Shows that a browser is signed out, in a registry in which it can then read nothing. Any other browser is sent to the
/// start page.
pub(crate) fn signed_out<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
) -> Handled<P::Stream> {
    let cookies = request.header("cookie").unwrap_or_default();
    let reply = match ctx.config.access.guards_all_reads() && !Session::is_in(&cookies) {
        true => signed_out_page(authority(request.origin())),
        false => Reply::redirect(ReturnPath::default().to_string()),
    };
    Ok(reply.into())
}

/// Returns whether browsers sign in with a token, because the registry has no identity provider.
pub(crate) fn is_by_token<P: Host>(ctx: &Context<'_, P>) -> bool {
    ctx.config.login.is_none() && ctx.config.reads_sessions()
}

/// Returns the page to which a sign-in returns; the start page if the form or query names none of this registry.
pub(crate) fn destination(form: &str) -> ReturnPath {
    let to = Form(form).value("to").ok().flatten();
    let to = to.and_then(|to| to.parse::<ReturnPath>().ok());
    let is_for_people = |to: &ReturnPath| {
        let route = Route::parse(to.path());
        matches!(route, Ok(Route::Page(page)) if page.is_for_people())
    };
    to.filter(is_for_people).unwrap_or_default()
}

/// Returns the path and query of a page, if the browser may sign in and return to it. After a request with a token that is
/// not valid it may not, because the token would be sent again after the sign-in, and count before the session.
pub(crate) fn return_path<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    route: &Route,
    request: &R,
) -> Option<ReturnPath> {
    let Route::Page(page) = route else {
        return None;
    };
    let may_sign_in = ctx.config.reads_sessions()
        && page.is_for_people()
        && request.header("authorization").is_none();
    let target = match request.query() {
        "" => request.path().to_owned(),
        query => format!("{}?{query}", request.path()),
    };
    may_sign_in.then(|| target.parse().unwrap_or_default())
}

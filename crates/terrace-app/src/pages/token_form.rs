//! The form by which a browser signs in with a token, in a registry without an identity provider.

use terrace_core::api::route::no_such_route;
use terrace_core::auth::access::{Caller, Session};
use terrace_core::http::form::Form;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_web::pages;

use crate::access::auth;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Host, Request};
use crate::outcome::{Call, Handled};
use crate::pages::shared::site_of_call;
use crate::sign_in::browser::{destination, is_by_token};
use crate::sign_in::shared::{form_body, is_from_own_page};

/// Shows the form.
pub(crate) fn show<P: Host>(ctx: &Context<'_, P>, call: &Call) -> Handled<P::Stream> {
    let to = destination(&call.query);
    let html = pages::token_form(&site_of_call(ctx, call), &to.to_string(), None);
    Ok(Reply::page(200, CachePolicy::NoStore, html).into())
}

/// Begins the session of a browser in which a person has entered a token. Other websites cannot send the form, or they could
/// sign a person in with a token of their own.
pub(crate) async fn enter<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    call: Call,
    mut request: R,
) -> Handled<P::Stream> {
    if !is_by_token(ctx) {
        return Err(no_such_route(request.path()).into());
    }
    if is_from_own_page(&request) != Some(true) {
        return Err(Problem::Forbidden(
            "signing in takes a request from a page of this registry, as the header Sec-Fetch-Site of a browser shows: \
             open /sign-in, and use the form there"
                .to_owned(),
        )
        .into());
    }
    let form = form_body(&mut request).await.unwrap_or_default();
    let to = destination(&form).to_string();
    let token = Form(&form).value("token").ok().flatten();
    let entered = auth::entered(ctx, &request, &token.unwrap_or_default()).await;
    let cookie = entered.and_then(|caller| Ok(begin_session(ctx, &caller)?));
    match cookie {
        Ok(cookie) => Ok(Reply::redirect(to).with("set-cookie", cookie).into()),
        Err(Failure::Problem(problem)) => {
            let error = problem.messages().join("; ");
            let html = pages::token_form(&site_of_call(ctx, &call), &to, Some(&error));
            Ok(Reply::page(problem.status(), CachePolicy::NoStore, html).into())
        }
        Err(failure) => Err(failure),
    }
}

/// Returns the cookie of a session that reads what a token reads.
fn begin_session<P: Host>(ctx: &Context<'_, P>, caller: &Caller) -> Result<String, Problem> {
    let unknown = || Problem::Unauthorized("this is not a token of this registry".to_owned());
    let now = ctx.host.clock().now();
    let (session, seconds) = match caller {
        Caller::Bearer(token) => {
            let seconds = token.expires.map_or(u64::MAX, |expires| expires.since(now));
            (Some(Session::of_token(token)), seconds)
        }
        Caller::Root(_) => (Session::of_root(), u64::MAX),
        Caller::Anonymous | Caller::Browser(_) | Caller::Client(_) => (None, 0),
    };
    let session = session.ok_or_else(unknown)?;
    let keys = ctx.config.access.session_keys().ok_or_else(unknown)?;
    let begun = keys.begin(&session, now, seconds);
    begun.map_err(|error| Problem::BadRequest(error.to_string()))
}

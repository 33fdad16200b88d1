//! Parts shared by the steps of signing in.

use serde_json::{Map, Value};
use terrace_base::url::authority;
use terrace_core::auth::access::{Scopes, Session};
use terrace_core::auth::login::{
    BrowserSession, CALLBACK_PATH, Client, Consent, LOGIN_FORM_BYTES, Login, PendingToken, Person,
    RedemptionError, ReturnPath, SIGN_IN_SECONDS, SessionBinding, SignInError, SignInPurpose,
    SignInState, consent_page,
};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::model::token_id::TokenId;

use crate::access::rules;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Host, Request};
use crate::sign_in::{clients, log};

/// Returns the sign-in configuration of this registry.
pub(crate) fn configured<'a, P: Host>(ctx: &Context<'a, P>) -> Result<&'a Login, Problem> {
    let message = "sign-in is not enabled in this registry: TERRACE_LOGIN_ISSUER is not set";
    let login = ctx.config.login.as_deref();
    login.ok_or_else(|| Problem::NotFound(message.to_owned()))
}

/// Logs an internal failure, and returns the error for the terminal.
pub(crate) fn oauth_error_reply<P: Host>(
    ctx: &Context<'_, P>,
    failure: Failure,
) -> Reply<P::Stream> {
    match failure {
        Failure::Problem(problem) => problem.reply(),
        failure => {
            ctx.report(failure);
            let fault = RedemptionError::Unavailable;
            log::write(ctx, &format!("no token issued: {fault}"));
            fault.reply()
        }
    }
}

/// Returns the reply, or the error page of a sign-in for this purpose, if it is known.
pub(crate) fn or_page<S, R: Request>(
    answered: Result<Reply<S>, SignInError>,
    request: &R,
    purpose: Option<&SignInPurpose>,
) -> Reply<S> {
    answered.unwrap_or_else(|stop| stop.page(request.origin(), purpose))
}

/// Continues the sign-in of a person whom the provider has identified: asks for consent to give their terminal or client a
/// token, or begins a session of their browser.
pub(crate) async fn conclude<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    request: &R,
    state: SignInState,
    claims: &Map<String, Value>,
) -> Result<Reply<P::Stream>, SignInError> {
    let person = Person::of(claims);
    let who = format!("{} (account {})", person.name, person.account);
    let stored = rules::current(ctx).await;
    let stored = stored.map_err(|failure| log::unreachable(ctx, failure))?;
    let granted = login.rules.and(&stored.login).scopes(claims);
    let granted = granted.map_err(|refusal| {
        log::write(ctx, &format!("no access for {who}: {refusal}"));
        SignInError::NothingGranted(person.name.to_string())
    })?;
    if let Some(note) = granted.note() {
        log::write(ctx, &format!("{who}: {note}"));
    }
    let scopes = granted.scopes;
    let SignInState { purpose, browser } = state;
    match purpose {
        SignInPurpose::Token(authorization) => {
            let (name, scopes) = match &authorization.client {
                Client::Terminal => (None, scopes),
                Client::Application { id, .. } => {
                    let name = clients::name(ctx, login, id, &authorization.redirect).await?;
                    (Some(name), scopes.to_read())
                }
            };
            let id = TokenId::new(ctx.host.random());
            let token = PendingToken { id, person, scopes };
            let consent = Consent {
                authorization: *authorization,
                browser,
                token,
            };
            let now = ctx.host.clock().now();
            let sealed = login.seal_keys.seal(&consent, now.plus(SIGN_IN_SECONDS));
            let expires = now.plus(u32::try_from(login.lifetime).unwrap_or(u32::MAX));
            let host = authority(request.origin());
            Ok(consent_page(
                &consent,
                name.as_ref(),
                &sealed,
                host,
                expires,
            ))
        }
        SignInPurpose::Page(to) => begin_session(ctx, login, person, &scopes, &to),
    }
}

/// Lets the browser read what its person may read, and shows the page asked for. No consent is asked for, because nothing
/// leaves the browser, and the person asked it to sign in.
fn begin_session<P: Host>(
    ctx: &Context<'_, P>,
    login: &Login,
    person: Person,
    scopes: &Scopes,
    to: &ReturnPath,
) -> Result<Reply<P::Stream>, SignInError> {
    let Person { name, account } = person;
    let session = Session::new(name, account, scopes);
    let (name, account) = (&session.name, &session.account);
    let now = ctx.host.clock().now();
    let begun = login.session_keys.begin(&session, now, login.lifetime);
    let cookie = begun.map_err(|error| {
        log::write(
            ctx,
            &format!("no session for {name} (account {account}): {error}"),
        );
        SignInError::TooManyScopes
    })?;
    let scopes = session.scopes();
    log::write(
        ctx,
        &format!("session of a browser for {name} (account {account}): {scopes}"),
    );
    Ok(Reply::redirect(to.to_string()).with("set-cookie", cookie))
}

/// Returns the browser of the request, if it is the one that began the sign-in.
pub(crate) fn check_browser<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    begun_in: &SessionBinding,
) -> Result<BrowserSession, SignInError> {
    let cookies = request.header("cookie").unwrap_or_default();
    let browser = BrowserSession::of_cookies(&cookies);
    browser.filter(|it| begun_in.is_of(it)).ok_or_else(|| {
        log::write(
            ctx,
            "the cookie does not belong to the browser that began the sign-in",
        );
        SignInError::Foreign
    })
}

/// Returns whether a page of this registry sent a request, as the browser says; `None` if it does not
/// (<https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header>).
pub(crate) fn is_from_own_page<R: Request>(request: &R) -> Option<bool> {
    let site = request.header("sec-fetch-site");
    site.map(|site| site == "same-origin")
}

/// Reads a form, unless it is too long. A body that is not UTF-8 counts as empty.
pub(crate) async fn form_body<R: Request>(request: &mut R) -> Option<String> {
    let limit = LOGIN_FORM_BYTES;
    let body = request.bytes_up_to(limit).await.unwrap_or_default();
    let is_short = u64::try_from(body.len()).is_ok_and(|length| length <= limit);
    is_short.then(|| String::from_utf8(body).unwrap_or_default())
}

pub(crate) fn callback_of<R: Request>(request: &R) -> String {
    format!("{}{CALLBACK_PATH}", request.origin())
}

//! Parts shared by the steps of signing in.

use terrace_core::auth::login::{
    BrowserSession, CALLBACK_PATH, Consent, Login, PendingToken, Person, RedemptionError,
    SessionBinding, SignInError, Terminal, consent_page,
};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::limits;
use terrace_core::model::token_id::TokenId;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Host, Request};
use crate::services::sign_in::log;
use crate::services::sign_in::person::People;

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

/// Returns the reply, or the error page for a person with a waiting terminal.
pub(crate) fn or_page<S, R: Request>(
    answered: Result<Reply<S>, SignInError>,
    request: &R,
    terminal: &Terminal,
) -> Reply<S> {
    let host = host_of(request.origin());
    answered.unwrap_or_else(|stop| stop.page(host, Some(terminal)))
}

pub(crate) fn ask_consent<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    request: &R,
    (terminal, browser): (Terminal, SessionBinding),
    claims: &People,
) -> Result<Reply<P::Stream>, SignInError> {
    let person = Person::of(claims);
    let scopes = login.rules.scopes(claims).map_err(|refusal| {
        let Person { name, account } = &person;
        log::write(
            ctx,
            &format!("no access for {name} (account {account}): {refusal}"),
        );
        SignInError::NothingGranted(Box::new(person.clone()))
    })?;
    let id = TokenId::new(ctx.host.random());
    let token = PendingToken { id, person, scopes };
    let consent = Consent {
        terminal,
        browser,
        token,
    };
    let now = ctx.host.clock().now();
    let sealed = login
        .seal_keys
        .seal(&consent, now.plus(limits::SIGN_IN_SECONDS));
    let expires = now.plus(u32::try_from(login.lifetime).unwrap_or(u32::MAX));
    let host = host_of(request.origin());
    Ok(consent_page(&consent, &sealed, host, expires))
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

/// Reads a form, unless it is too long. A body that is not UTF-8 counts as empty.
pub(crate) async fn form_body<R: Request>(request: &mut R) -> Option<String> {
    let limit = limits::LOGIN_FORM_BYTES;
    let body = request.bytes_up_to(limit).await.unwrap_or_default();
    let is_short = u64::try_from(body.len()).is_ok_and(|length| length <= limit);
    is_short.then(|| String::from_utf8(body).unwrap_or_default())
}

pub(crate) fn callback_of<R: Request>(request: &R) -> String {
    format!("{}{CALLBACK_PATH}", request.origin())
}

/// Returns the registry's host, as shown to people.
pub(crate) fn host_of(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, host)| host)
}

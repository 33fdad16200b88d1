//! What the steps of signing in have in common.

use terrace_core::auth::login::{
    Allowed, Browser, BrowserMark, CALLBACK_PATH, Consent, Login, Person, RedemptionError,
    SignInError, Terminal, consent_page,
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

/// Returns how people sign in to this registry.
pub(crate) fn configured<'a, P: Host>(ctx: &Context<'a, P>) -> Result<&'a Login, Problem> {
    let told = "nobody can sign in to this registry: TERRACE_LOGIN_ISSUER is not set";
    let login = ctx.config.login.as_deref();
    login.ok_or_else(|| Problem::NotFound(told.to_owned()))
}

/// Returns the answer to a failure inside, which only a terminal can be told of.
pub(crate) fn failed<P: Host>(ctx: &Context<'_, P>, failure: Failure) -> Reply<P::Stream> {
    match failure {
        Failure::Problem(problem) => problem.reply(),
        failure => {
            ctx.report(failure);
            let fault = RedemptionError::Unavailable;
            log::write(ctx, &format!("no token: {fault}"));
            fault.reply()
        }
    }
}

/// The answer, or the page that says why there is none, to somebody whose terminal waits.
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
    (terminal, browser): (Terminal, BrowserMark),
    claims: &People,
) -> Result<Reply<P::Stream>, SignInError> {
    let person = Person::of(claims);
    let scopes = login.rules.scopes(claims).map_err(|refusal| {
        let Person { name, account } = &person;
        log::write(
            ctx,
            &format!("nothing for {name} (account {account}): {refusal}"),
        );
        SignInError::NothingGranted(Box::new(person.clone()))
    })?;
    let id = TokenId::new(ctx.host.random());
    let token = Allowed { id, person, scopes };
    let consent = Consent {
        terminal,
        browser,
        token,
    };
    let now = ctx.host.clock().now();
    let sealed = login
        .seals
        .seal(&consent, now.plus(limits::SIGN_IN_SECONDS));
    let expires = now.plus(u32::try_from(login.lifetime).unwrap_or(u32::MAX));
    let host = host_of(request.origin());
    Ok(consent_page(&consent, &sealed, host, expires))
}

/// The browser in which a sign-in was begun, if it is the one that goes on with it.
pub(crate) fn check_browser<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    begun_in: &BrowserMark,
) -> Result<Browser, SignInError> {
    let cookies = request.header("cookie").unwrap_or_default();
    let browser = Browser::of_cookies(&cookies);
    browser.filter(|it| begun_in.is_of(it)).ok_or_else(|| {
        log::write(
            ctx,
            "the cookie is not that of the browser in which it was begun",
        );
        SignInError::Foreign
    })
}

/// A form that is not too long. What is no text has nothing in it.
pub(crate) async fn form_body<R: Request>(request: &mut R) -> Option<String> {
    let most = limits::LOGIN_FORM_BYTES;
    let body = request.bytes_up_to(most).await.unwrap_or_default();
    let is_short = u64::try_from(body.len()).is_ok_and(|length| length <= most);
    is_short.then(|| String::from_utf8(body).unwrap_or_default())
}

pub(crate) fn callback_of<R: Request>(request: &R) -> String {
    format!("{}{CALLBACK_PATH}", request.origin())
}

/// What people call the registry.
pub(crate) fn host_of(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, host)| host)
}

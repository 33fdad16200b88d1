//! Signing in: from the terminal by the browser to the provider, and back.

use terrace_core::api::route::Route;
use terrace_core::auth::login::{
    Allowed, Browser, BrowserMark, CALLBACK_PATH, Code, Consent, ExchangeFault, Form, Login,
    LoginToken, ParameterFault, Person, Provider, SignInState, Stop, Terminal, TokenRequest,
    Verifier, consent_page,
};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::limits;
use terrace_core::model::token_id::TokenId;

use crate::context::Context;
use crate::host::{Clock as _, Platform, Request};
use crate::services::audit::Change;
use crate::services::sign_in::log::printable;
use crate::services::sign_in::person::{People, Return};
use crate::services::sign_in::{cloudflare, github, log, openid};
use crate::services::{audit, auth, tokens};

/// Answers whoever signs in.
pub(crate) async fn login<P: Platform, R>(
    ctx: &Context<'_, P>,
    route: Route,
    request: R,
) -> Reply<P::Stream>
where
    R: Request<Stream = P::Stream>,
{
    let Some(login) = ctx.config.login.as_deref() else {
        let told = "nobody can sign in to this registry: TERRACE_LOGIN_ISSUER is not set";
        return Problem::NotFound(told.to_owned()).reply();
    };
    let host = host_of(request.origin()).to_owned();
    let answered = match route {
        Route::LoginStart => begin_sign_in(ctx, login, &request).await,
        Route::LoginCallback => end_sign_in(ctx, login, &request).await,
        Route::LoginConsent => take_consent(ctx, login, request).await,
        _ => return exchange_code(ctx, login, request).await,
    };
    answered.unwrap_or_else(|stop| stop.page(&host, None))
}

/// Sends a browser to the provider. What has to be known when it is back goes along, and is bound to
/// the browser by a cookie.
async fn begin_sign_in<P: Platform, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    request: &R,
) -> Result<Reply<P::Stream>, Stop> {
    let terminal = Terminal::parse(request.query()).map_err(Stop::Parameter)?;
    let begun = send_to_provider(ctx, login, request, terminal.clone());
    Ok(or_page(begun.await, request, &terminal))
}

async fn send_to_provider<P: Platform, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    request: &R,
    terminal: Terminal,
) -> Result<Reply<P::Stream>, Stop> {
    let browser = Browser::new(ctx.platform.random());
    let expires = ctx.platform.clock().now().plus(limits::SIGN_IN_SECONDS);
    let mark = browser.mark();
    let state = |terminal| {
        let browser = mark.clone();
        let state = SignInState { terminal, browser };
        login.seals.seal(&state, expires)
    };
    let callback = callback_of(request);
    let reply = match &login.provider {
        Provider::OpenId(issuer, client) => {
            let begun = (browser.nonce(login.seals.newest()), state(terminal));
            let verifier = browser.verifier(login.seals.newest());
            let url = openid::visit(ctx, issuer, client, &callback, begun, verifier);
            Reply::redirect(url.await?)
        }
        Provider::GitHub(client) => {
            let verifier = browser.verifier(login.seals.newest());
            let url = github::visit(client, &callback, &state(terminal), verifier);
            Reply::redirect(url)
        }
        Provider::CloudflareAccess { team, audience } => {
            let claims = cloudflare::person(ctx, team, audience, request).await?;
            ask_consent(ctx, login, request, (terminal, mark), &claims)?
        }
    };
    Ok(reply.with("set-cookie", browser.cookie()))
}

/// Somebody is back from the provider: who is it, and shall their terminal have a token?
async fn end_sign_in<P: Platform, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    request: &R,
) -> Result<Reply<P::Stream>, Stop> {
    let form = Form(request.query());
    let sealed = form.value("state").ok().flatten().unwrap_or_default();
    let opened = login.seals.open(&sealed, ctx.platform.clock().now());
    let (SignInState { terminal, browser }, key) =
        opened.map_err(|fault| log::unsealed(ctx, "state", fault))?;
    let sender = check_browser(ctx, request, &browser)?;
    let derived = (sender.nonce(key), sender.verifier(key));
    // Whatever comes back is asked of the provider, under the name of this registry.
    let (address, now) = (ctx.client_address.as_str(), ctx.platform.clock().now());
    let sign_ins = ctx.platform.isolate().sign_ins();
    let most = ctx.config.failures_a_minute;
    // Counted before it is known, or many at once would all be asked.
    if !address.is_empty() && sign_ins.borrow_mut().count(address, now) > most {
        return Ok(or_page(Err(Stop::TooOften), request, &terminal));
    }
    let known = person_back(ctx, login, request, derived).await;
    if !matches!(known, Err(Stop::Distrusted)) {
        sign_ins.borrow_mut().forgive(address);
    }
    let asked = known.and_then(|claims| {
        let waiting = (terminal.clone(), browser);
        ask_consent(ctx, login, request, waiting, &claims)
    });
    Ok(or_page(asked, request, &terminal))
}

/// Whom the provider has sent back.
async fn person_back<P: Platform, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    request: &R,
    (nonce, verifier): (String, Option<Verifier>),
) -> Result<People, Stop> {
    let form = Form(request.query());
    if let Ok(Some(error)) = form.value("error") {
        let words = form.value("error_description").ok().flatten();
        let (error, words) = (printable(&error), printable(&words.unwrap_or_default()));
        log::write(ctx, &format!("the provider answers {error:?}: {words:?}"));
        return Err(Stop::RefusedThere(error));
    }
    let code = form.value("code").ok().flatten();
    let code = code.filter(|code| code.len() <= limits::PROVIDER_CODE_BYTES);
    let no_code = || log::distrusted(ctx, "somebody came back without a code");
    let back = Return {
        code: &code.ok_or_else(no_code)?,
        callback: &callback_of(request),
        nonce,
        verifier,
    };
    match &login.provider {
        Provider::OpenId(issuer, client) => openid::person(ctx, issuer, client, &back).await,
        Provider::GitHub(client) => github::person(ctx, client, &back).await,
        // Nobody is sent away who could come back.
        Provider::CloudflareAccess { .. } => Err(Stop::Foreign),
    }
}

/// The answer, or the page that says why there is none, to somebody whose terminal waits.
fn or_page<S, R: Request>(
    answered: Result<Reply<S>, Stop>,
    request: &R,
    terminal: &Terminal,
) -> Reply<S> {
    let host = host_of(request.origin());
    answered.unwrap_or_else(|stop| stop.page(host, Some(terminal)))
}

fn ask_consent<P: Platform, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    request: &R,
    (terminal, browser): (Terminal, BrowserMark),
    claims: &People,
) -> Result<Reply<P::Stream>, Stop> {
    let person = Person::of(claims);
    let scopes = login.rules.scopes(claims).map_err(|refusal| {
        let Person { name, account } = &person;
        log::write(
            ctx,
            &format!("nothing for {name} (account {account}): {refusal}"),
        );
        Stop::NothingGranted(Box::new(person.clone()))
    })?;
    let id = TokenId::new(ctx.platform.random());
    let token = Allowed { id, person, scopes };
    let consent = Consent {
        terminal,
        browser,
        token,
    };
    let now = ctx.platform.clock().now();
    let sealed = login
        .seals
        .seal(&consent, now.plus(limits::SIGN_IN_SECONDS));
    let expires = now.plus(u32::try_from(login.lifetime).unwrap_or(u32::MAX));
    let host = host_of(request.origin());
    Ok(consent_page(&consent, &sealed, host, expires))
}

/// What a person answers goes to their terminal, or nowhere.
async fn take_consent<P: Platform, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    mut request: R,
) -> Result<Reply<P::Stream>, Stop> {
    let body = form_body(&mut request).await;
    let wrong = |parameter, rule: &str| {
        let rule = rule.to_owned();
        Stop::Parameter(ParameterFault { parameter, rule })
    };
    let body = body.ok_or_else(|| wrong("consent", "is too long"))?;
    let form = Form(&body);
    let sealed = form.value("consent").ok().flatten().unwrap_or_default();
    let now = ctx.platform.clock().now();
    let opened = login.seals.open::<Consent>(&sealed, now);
    let (consent, _) = opened.map_err(|fault| log::unsealed(ctx, "consent", fault))?;
    check_browser(ctx, &request, &consent.browser)?;
    let allow = |consent: Consent| {
        let (terminal, code) = consent.into_code();
        let expires = now.plus(limits::LOGIN_CODE_SECONDS);
        let code = login.seals.seal(&code, expires);
        Ok(Reply::redirect(terminal.redirect_to(&code)))
    };
    match form.value("answer").ok().flatten().as_deref() {
        Some("allow") => allow(consent),
        Some("read") => allow(consent.to_read()),
        Some("refuse") => {
            let refused = Err(Stop::RefusedHere);
            Ok(or_page(refused, &request, &consent.terminal))
        }
        _ => Err(wrong("answer", "must be allow, read or refuse")),
    }
}

/// A terminal comes with its code.
async fn exchange_code<P: Platform, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    mut request: R,
) -> Reply<P::Stream> {
    let Some(body) = form_body(&mut request).await else {
        return Problem::TooLarge(limits::LOGIN_FORM_BYTES).reply();
    };
    match token_for(ctx, login, &request, body.as_bytes()).await {
        Ok(token) => token.reply(),
        Err(fault) => {
            if fault.may_be_a_guess() && auth::is_one_guess_too_many(ctx).await {
                return ExchangeFault::TooMany.reply();
            }
            log::write(ctx, &format!("no token: {fault}"));
            fault.reply()
        }
    }
}

async fn token_for<P: Platform, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    request: &R,
    body: &[u8],
) -> Result<LoginToken, ExchangeFault> {
    let asked = TokenRequest::parse(body)?;
    let now = ctx.platform.clock().now();
    let (code, _) = login.seals.open::<Code>(&asked.code, now)?;
    let token = code.redeem(&asked)?;
    let by = format!("login as {}", token.person.account);
    let made = format!(
        "token {} for {} (account {}): {}",
        token.id, token.person.name, token.person.account, token.scopes
    );
    let unavailable = |failure| {
        ctx.report(failure);
        ExchangeFault::Unavailable
    };
    let id = token.id;
    let text = tokens::make_for_login(ctx, token, login.lifetime).await;
    let text = text.map_err(unavailable)?;
    // What was sent opens something, also as a hash.
    let change = Change::new(by, request, b"");
    let change = change.making(Some(&format!("/admin/v1/tokens/{id}")));
    let status = if text.is_some() { 200 } else { 400 };
    audit::record(ctx, change, status)
        .await
        .map_err(unavailable)?;
    let Some(text) = text else {
        log::write(
            ctx,
            &format!("token {id} is revoked: its code was used twice"),
        );
        return Err(ExchangeFault::Used);
    };
    log::write(ctx, &made);
    Ok(LoginToken::new(text, login.lifetime))
}

/// The browser in which a sign-in was begun, if it is the one that goes on with it.
fn check_browser<P: Platform, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    begun_in: &BrowserMark,
) -> Result<Browser, Stop> {
    let cookies = request.header("cookie").unwrap_or_default();
    let browser = Browser::of_cookies(&cookies);
    browser.filter(|it| begun_in.is_of(it)).ok_or_else(|| {
        log::write(
            ctx,
            "the cookie is not that of the browser in which it was begun",
        );
        Stop::Foreign
    })
}

/// A form that is not too long. What is no text has nothing in it.
async fn form_body<R: Request>(request: &mut R) -> Option<String> {
    let most = limits::LOGIN_FORM_BYTES;
    let body = request.bytes_up_to(most).await.unwrap_or_default();
    let is_short = u64::try_from(body.len()).is_ok_and(|length| length <= most);
    is_short.then(|| String::from_utf8(body).unwrap_or_default())
}

fn callback_of<R: Request>(request: &R) -> String {
    format!("{}{CALLBACK_PATH}", request.origin())
}

/// What people call the registry.
fn host_of(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, host)| host)
}

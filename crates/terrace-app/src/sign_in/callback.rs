//! `/oauth/callback`: the URL to which the provider redirects the browser.

use serde_json::{Map, Value};
use terrace_core::auth::login::{
    Login, PROVIDER_CODE_BYTES, Provider, SignInError, SignInPurpose, SignInState, Verifier,
};
use terrace_core::http::form::Form;
use terrace_core::http::reply::Reply;

use crate::context::Context;
use crate::host::{Clock as _, Host, Request};
use crate::outcome::Handled;
use crate::sign_in::log::printable;
use crate::sign_in::openid::Return;
use crate::sign_in::shared::{callback_of, check_browser, conclude, configured, or_page};
use crate::sign_in::{github, log, openid};

/// Answers a browser that returns from the provider.
pub(crate) async fn callback<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: R,
) -> Handled<P::Stream> {
    let login = configured(ctx)?;
    let answered = end_sign_in(ctx, login, &request).await;
    Ok(or_page(answered, &request, None).into())
}

/// Identifies the person who returns from the provider, and gives the sign-in its conclusion.
async fn end_sign_in<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    request: &R,
) -> Result<Reply<P::Stream>, SignInError> {
    let form = Form(request.query());
    let sealed = form.value("state").ok().flatten().unwrap_or_default();
    let now = ctx.host.clock().now();
    let opened = login.seal_keys.open::<SignInState>(&sealed, now);
    let (state, key) = opened.map_err(|fault| log::unsealed(ctx, "state", fault))?;
    let purpose = state.purpose.clone();
    let sender = match check_browser(ctx, request, &state.browser) {
        Ok(sender) => sender,
        Err(stop) if matches!(purpose, SignInPurpose::Page(_)) => {
            return Ok(or_page(Err(stop), request, Some(&purpose)));
        }
        // Nothing is said about a terminal or client to a browser that did not begin the sign-in for it.
        Err(stop) => return Err(stop),
    };
    let derived = (sender.nonce(key), sender.verifier(key));
    // Every code is sent to the provider, in the name of this registry.
    let (address, now) = (ctx.client_address.as_str(), ctx.host.clock().now());
    let sign_ins = ctx.host.cache().sign_ins();
    let limit = ctx.config.failures_a_minute;
    // The attempt is counted before its outcome is known. Otherwise many concurrent ones would all reach the
    // provider.
    if !address.is_empty() && sign_ins.borrow_mut().count(address, now) > limit {
        return Ok(or_page(Err(SignInError::TooOften), request, Some(&purpose)));
    }
    let known = person_back(ctx, login, request, derived).await;
    if !matches!(known, Err(SignInError::Distrusted)) {
        sign_ins.borrow_mut().forgive(address);
    }
    let concluded = match known {
        Ok(claims) => conclude(ctx, login, request, state, &claims).await,
        Err(stop) => Err(stop),
    };
    Ok(or_page(concluded, request, Some(&purpose)))
}

/// Identifies the person who returned from the provider.
async fn person_back<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    request: &R,
    (nonce, verifier): (String, Option<Verifier>),
) -> Result<Map<String, Value>, SignInError> {
    let form = Form(request.query());
    if let Ok(Some(error)) = form.value("error") {
        let words = form.value("error_description").ok().flatten();
        let (error, words) = (printable(&error), printable(&words.unwrap_or_default()));
        log::write(
            ctx,
            &format!("the provider returned the error {error:?}: {words:?}"),
        );
        return Err(SignInError::RefusedThere(error));
    }
    let code = form.value("code").ok().flatten();
    let code = code.filter(|code| code.len() <= PROVIDER_CODE_BYTES);
    let no_code = || {
        let most = PROVIDER_CODE_BYTES;
        let line = format!(
            "the provider redirected the browser without the parameter code, or with one of more than {most} bytes"
        );
        log::distrusted(ctx, line)
    };
    let back = Return {
        code: &code.ok_or_else(no_code)?,
        callback: &callback_of(request),
        nonce,
        verifier,
    };
    match &login.provider {
        Provider::OpenId(issuer, client) => openid::person(ctx, issuer, client, &back).await,
        Provider::GitHub(client) => github::person(ctx, client, &back).await,
        // With Cloudflare Access, no browser is redirected away, so none can return.
        Provider::CloudflareAccess { .. } => Err(SignInError::Foreign),
    }
}

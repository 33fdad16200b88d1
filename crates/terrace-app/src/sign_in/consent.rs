//! `/oauth/consent`: the answer of a person who was asked for consent.

use terrace_core::auth::login::{
    Client, Code, Consent, LOGIN_CODE_SECONDS, LOGIN_FORM_BYTES, Login, ParameterError,
    SignInError, SignInPurpose,
};
use terrace_core::http::form::Form;
use terrace_core::http::reply::Reply;

use crate::context::Context;
use crate::host::{Clock as _, Host, Request};
use crate::outcome::Handled;
use crate::sign_in::shared::{check_browser, configured, form_body, is_from_own_page, or_page};
use crate::sign_in::{clients, log};

/// Handles the consent form.
pub(crate) async fn consent<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    mut request: R,
) -> Handled<P::Stream> {
    let login = configured(ctx)?;
    let answered = take_consent(ctx, login, &mut request).await;
    Ok(or_page(answered, &request, None).into())
}

/// Redirects the browser to the person's program with the result, or shows an error page.
async fn take_consent<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    request: &mut R,
) -> Result<Reply<P::Stream>, SignInError> {
    // Only the page knows the sealed consent, so a browser that does not say where the form comes from is not refused. The
    // header `Origin` says nothing: it is `null` for a page without referrers.
    if is_from_own_page(request) == Some(false) {
        log::write(ctx, "the consent was not sent by a page of this registry");
        return Err(SignInError::Foreign);
    }
    let body = form_body(request).await;
    let wrong = |parameter, rule: &str| {
        let rule = rule.to_owned();
        SignInError::Parameter(ParameterError { parameter, rule })
    };
    let too_long = || {
        let most = LOGIN_FORM_BYTES;
        let rule = format!("must be sent in a form of at most {most} bytes");
        wrong("consent", &rule)
    };
    let body = body.ok_or_else(too_long)?;
    let form = Form(&body);
    let sealed = form.value("consent").ok().flatten().unwrap_or_default();
    let now = ctx.host.clock().now();
    let opened = login.seal_keys.open::<Consent>(&sealed, now);
    let (consent, _) = opened.map_err(|fault| log::unsealed(ctx, "consent", fault))?;
    check_browser(ctx, request, &consent.browser)?;
    if let Client::Application { id, .. } = &consent.authorization.client {
        clients::host(ctx, login, id)?;
    }
    let origin = request.origin().to_owned();
    let allow = |consent: Consent| {
        let authorization = consent.authorization.clone();
        let expires = now.plus(LOGIN_CODE_SECONDS);
        let code = login.seal_keys.seal(&Code(consent), expires);
        Ok(Reply::redirect(authorization.redirect_to(&code, &origin)))
    };
    match form.value("answer").ok().flatten().as_deref() {
        Some("allow") => allow(consent),
        Some("read") => allow(consent.to_read()),
        Some("refuse") => Ok(match consent.authorization.client {
            // Terminals do not read an error that they are redirected to.
            Client::Terminal => {
                let purpose = SignInPurpose::Token(Box::new(consent.authorization));
                or_page(Err(SignInError::RefusedHere), request, Some(&purpose))
            }
            Client::Application { .. } => Reply::redirect(consent.authorization.refusal(&origin)),
        }),
        _ => Err(wrong("answer", "must be allow, read or refuse")),
    }
}

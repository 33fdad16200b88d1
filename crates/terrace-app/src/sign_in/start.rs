//! `/oauth/authorize`: the URL that a terminal or an OAuth client opens in a browser to sign in.

use terrace_core::api::route::McpScope;
use terrace_core::auth::login::{
    Authorization, BrowserSession, GitHub, Login, Provider, SIGN_IN_SECONDS, SignInError,
    SignInPurpose, SignInState,
};
use terrace_core::http::reply::Reply;

use crate::context::Context;
use crate::host::{Clock as _, Host, Request};
use crate::outcome::Handled;
use crate::sign_in::shared::{callback_of, conclude, configured, or_page};
use crate::sign_in::{cloudflare, openid};

/// Answers a browser that a terminal or an OAuth client opened.
pub(crate) async fn start<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: R,
) -> Handled<P::Stream> {
    let login = configured(ctx)?;
    let resources = McpScope::ALL.map(|scope| scope.resource(request.origin()));
    let authorization = Authorization::parse(request.query(), &login.client_hosts, &resources);
    let authorization = match authorization {
        Ok(authorization) => authorization,
        Err(error) => {
            let stop = Err(SignInError::Parameter(error));
            return Ok(or_page(stop, &request, None).into());
        }
    };
    let purpose = SignInPurpose::Token(Box::new(authorization));
    let begun = send_to_provider(ctx, login, &request, purpose.clone());
    Ok(or_page(begun.await, &request, Some(&purpose)).into())
}

/// Redirects a browser to the provider. The state needed when it returns travels along, and is bound to the
/// browser by a cookie.
pub(crate) async fn send_to_provider<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    login: &Login,
    request: &R,
    purpose: SignInPurpose,
) -> Result<Reply<P::Stream>, SignInError> {
    let browser = BrowserSession::new(ctx.host.random());
    let expires = ctx.host.clock().now().plus(SIGN_IN_SECONDS);
    let state = SignInState {
        purpose,
        browser: browser.binding(),
    };
    let sealed = || login.seal_keys.seal(&state, expires);
    let callback = callback_of(request);
    let reply = match &login.provider {
        Provider::OpenId(issuer, client) => {
            let begun = (browser.nonce(login.seal_keys.newest()), sealed());
            let verifier = browser.verifier(login.seal_keys.newest());
            let url = openid::visit(ctx, issuer, client, &callback, begun, verifier);
            Reply::redirect(url.await?)
        }
        Provider::GitHub(client) => {
            let verifier = browser.verifier(login.seal_keys.newest());
            let endpoint = GitHub::AUTHORIZE;
            let url = client.provider_url(endpoint, &callback, &sealed(), None, verifier.as_ref());
            Reply::redirect(url)
        }
        Provider::CloudflareAccess { team, audience } => {
            let claims = cloudflare::person(ctx, team, audience, request).await?;
            let reply = conclude(ctx, login, request, state, &claims).await?;
            if reply.header("set-cookie").is_some() {
                return Ok(reply);
            }
            reply
        }
    };
    Ok(reply.with("set-cookie", browser.cookie()))
}

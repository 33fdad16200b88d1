//! Sign-in with an OpenID Connect provider.

use terrace_base::url::HttpsUrl;
use terrace_core::auth::login::{OAuthClient, ProviderAnswer, SignInError, Verifier, Visit};
use terrace_core::auth::oidc::issuer_guard;
use terrace_core::http::guard::Guard;
use terrace_jose::{IssuerKeys, IssuerUrl, SignIn, UnverifiedToken};

use crate::access::issuer;
use crate::access::issuer::KeysAt;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Host, IdentityProviderRequest, Upstream as _};
use crate::sign_in::log;
use crate::sign_in::log::printable;
use crate::sign_in::person::{People, Return};

/// Maximum size of a provider's response to a code: an ID token, an access token and a refresh token.
const PROVIDER_ANSWER_BYTES: usize = 64 * 1024;

/// How long a provider's response may take, in seconds.
pub(crate) const SECONDS: u32 = 8;

/// Returns the URL to redirect the browser to.
pub(crate) async fn visit<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    client: &OAuthClient,
    callback: &str,
    (nonce, state): (String, String),
    verifier: Option<Verifier>,
) -> Result<String, SignInError> {
    let discovery = issuer::cached_discovery(ctx, issuer).await;
    let discovery = discovery.map_err(|failure| log::unreachable(ctx, failure))?;
    let endpoint = discovery.authorization_endpoint.as_ref();
    let none = || {
        log::distrusted(
            ctx,
            format!("the discovery document of {issuer} has no authorization_endpoint"),
        )
    };
    let challenge = verifier.filter(|_| client.uses_pkce(&discovery));
    let challenge = challenge.map(|verifier| verifier.challenge());
    Ok(client.visit(&Visit {
        endpoint: endpoint.ok_or_else(none)?.as_str(),
        callback,
        state: &state,
        nonce: Some(&nonce),
        challenge: challenge.as_ref(),
    }))
}

/// Identifies the person who returned.
pub(crate) async fn person<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    client: &OAuthClient,
    back: &Return<'_>,
) -> Result<People, SignInError> {
    let discovery = issuer::cached_discovery(ctx, issuer).await;
    let discovery = discovery.map_err(|failure| log::unreachable(ctx, failure))?;
    let none = || {
        log::distrusted(
            ctx,
            format!("the discovery document of {issuer} has no token_endpoint"),
        )
    };
    let endpoint = discovery.token_endpoint.as_ref().ok_or_else(none)?;
    let verifier = back.verifier.as_ref();
    let verifier = verifier.filter(|_| client.uses_pkce(&discovery));
    let methods = &discovery.token_endpoint_auth_methods;
    let redemption = client.redemption(back.code, back.callback, verifier, methods);
    let unknown = || {
        let methods = methods.join(" ");
        log::distrusted(
            ctx,
            format!(
                "{issuer} supports neither client_secret_basic nor client_secret_post, only {}",
                printable(&methods)
            ),
        )
    };
    let redemption = redemption.ok_or_else(unknown)?;
    let guard = issuer_guard(issuer, &[issuer]);
    let answer = redeem_code(ctx, endpoint, &guard, redemption).await?;
    let no_token = || log::distrusted(ctx, format!("{issuer} returned no id_token for the code"));
    let text = answer.id_token.ok_or_else(no_token)?;
    let token = UnverifiedToken::parse(&text);
    let token = token.map_err(|refusal| log::distrusted(ctx, format!("id_token: {refusal}")))?;
    let sign_in = SignIn {
        client_id: &client.id,
        nonce: &back.nonce,
        now: ctx.host.clock().now(),
    };
    let verify = |keys: &IssuerKeys| sign_in.verify(&token, keys);
    let verified = issuer::verified(ctx, issuer, KeysAt::Discovery, verify).await;
    let verified = verified.map_err(|failure| log::unreachable(ctx, failure))?;
    let claims = verified.map_err(|it| log::distrusted(ctx, format!("id_token: {it}")))?;
    Ok(claims.members().clone())
}

/// Redeems a code at the provider's token endpoint.
pub(crate) async fn redeem_code<P: Host>(
    ctx: &Context<'_, P>,
    endpoint: &HttpsUrl,
    guard: &Guard,
    (form, authorization): (String, Option<String>),
) -> Result<ProviderAnswer, SignInError> {
    let inquiry = IdentityProviderRequest {
        url: endpoint.to_string(),
        form: Some(form),
        authorization,
        max_bytes: PROVIDER_ANSWER_BYTES as u64,
    };
    let answer = ctx.host.upstream().inquire(&inquiry, guard, SECONDS);
    let failed = |why: String| {
        let message = Failure::Origin(format!("{endpoint}: {why}"));
        log::unreachable(ctx, message)
    };
    let answer = answer.await.map_err(|error| failed(error.to_string()))?;
    let (status, length) = (answer.status, answer.body.len());
    if status >= 500 {
        return Err(failed(format!("it answers with status {status}")));
    }
    if length > PROVIDER_ANSWER_BYTES {
        return Err(log::distrusted(
            ctx,
            format!(
                "{endpoint}: the response is longer than {} bytes",
                PROVIDER_ANSWER_BYTES
            ),
        ));
    }
    let answer = ProviderAnswer::parse(&answer.body);
    // GitHub answers every request with 200.
    if status != 200 || answer.error.is_some() {
        let error = printable(answer.error.as_deref().unwrap_or_default());
        let words = printable(answer.error_description.as_deref().unwrap_or_default());
        return Err(log::distrusted(
            ctx,
            format!("{endpoint} rejects the code (status {status}): {error:?}: {words:?}"),
        ));
    }
    Ok(answer)
}

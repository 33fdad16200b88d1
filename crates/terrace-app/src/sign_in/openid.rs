//! Sign-in with an OpenID Connect provider.

use serde_json::{Map, Value};
use terrace_base::url::HttpsUrl;
use terrace_core::auth::login::{OAuthClient, ProviderAnswer, SignInError, Verifier};
use terrace_core::http::guard::Guard;
use terrace_jose::{IssuerKeys, IssuerUrl, UnverifiedToken};

use crate::access::issuer;
use crate::access::issuer::unanswered;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Host, IdentityProviderRequest, Upstream as _};
use crate::sign_in::log;
use crate::sign_in::log::{printable, printable_up_to};

/// Maximum size of a provider's response to a code: an ID token, an access token and a refresh token.
const PROVIDER_ANSWER_BYTES: usize = 64 * 1024;

/// Maximum length of a provider's description of an error in the log: those of Ory are longer than other texts of origins.
const DESCRIPTION_CHARS: usize = 500;

/// How long a provider's response may take, in seconds.
pub(crate) const SECONDS: u32 = 8;

/// The parameters of a person's return from their provider.
pub(crate) struct Return<'r> {
    /// The code that the provider issued.
    pub(crate) code: &'r str,
    /// The callback URL, as it was sent to the provider before.
    pub(crate) callback: &'r str,
    /// The nonce that the provider's token must contain.
    pub(crate) nonce: String,
    /// The PKCE verifier, if the provider supports it.
    pub(crate) verifier: Option<Verifier>,
}

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
    let discovery = discovery.map_err(|error| log::failed(ctx, error))?;
    let endpoint = discovery.authorization_endpoint.as_ref();
    let none = || {
        log::distrusted(
            ctx,
            format!("the discovery document of {issuer} has no authorization_endpoint"),
        )
    };
    let endpoint = endpoint.ok_or_else(none)?.as_str();
    let verifier = verifier.filter(|_| client.uses_pkce(&discovery));
    Ok(client.provider_url(endpoint, callback, &state, Some(&nonce), verifier.as_ref()))
}

/// Identifies the person who returned.
pub(crate) async fn person<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    client: &OAuthClient,
    back: &Return<'_>,
) -> Result<Map<String, Value>, SignInError> {
    let discovery = issuer::cached_discovery(ctx, issuer).await;
    let discovery = discovery.map_err(|error| log::failed(ctx, error))?;
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
    let redemptions = client.redemptions(back.code, back.callback, verifier, methods);
    if redemptions.is_empty() {
        let methods = printable(&methods.join(" "));
        let message = format!(
            "{issuer} supports neither client_secret_basic nor client_secret_post, only {methods}"
        );
        return Err(log::distrusted(ctx, message));
    }
    let guard = ctx.config.issuer_guard(issuer);
    let answer = redeem_code(ctx, endpoint, &guard, redemptions).await?;
    let no_token = || log::distrusted(ctx, format!("{issuer} returned no id_token for the code"));
    let text = answer.id_token.ok_or_else(no_token)?;
    let token = UnverifiedToken::parse(&text);
    let token = token.map_err(|refusal| log::distrusted(ctx, format!("id_token: {refusal}")))?;
    let now = ctx.host.clock().now();
    let verify = |keys: &IssuerKeys| token.verify_sign_in(keys, &client.id, &back.nonce, now);
    let verified = issuer::verified(ctx, issuer, None, verify).await;
    let verified = verified.map_err(|error| log::failed(ctx, error))?;
    let claims = verified.map_err(|it| log::distrusted(ctx, format!("id_token: {it}")))?;
    Ok(claims.members().clone())
}

/// Redeems a code at the provider's token endpoint, by the first of these redemptions with which it does not reject the client. A
/// provider that rejects the client leaves the code valid.
pub(crate) async fn redeem_code<P: Host>(
    ctx: &Context<'_, P>,
    endpoint: &HttpsUrl,
    guard: &Guard,
    redemptions: Vec<(String, Option<String>)>,
) -> Result<ProviderAnswer, SignInError> {
    let mut why = String::new();
    for (form, authorization) in redemptions {
        let inquiry = IdentityProviderRequest {
            url: endpoint.to_string(),
            form: Some(form),
            authorization,
            max_bytes: PROVIDER_ANSWER_BYTES as u64,
        };
        let answer = ctx.host.upstream().inquire(&inquiry, guard, SECONDS).await;
        let failed = |error| log::failed(ctx, unanswered(endpoint, &error, true));
        let answer = answer.map_err(failed)?;
        let (status, length) = (answer.status, answer.body.len());
        if status >= 500 {
            let message = format!("{endpoint}: it answers with status {status}");
            return Err(log::unreachable(ctx, Failure::Origin(message)));
        }
        if length > PROVIDER_ANSWER_BYTES {
            why = format!("{endpoint}: the response is longer than {PROVIDER_ANSWER_BYTES} bytes");
            break;
        }
        let answer = ProviderAnswer::parse(&answer.body);
        // GitHub answers every request with 200.
        if status == 200 && answer.error.is_none() {
            return Ok(answer);
        }
        let error = printable(answer.error.as_deref().unwrap_or_default());
        let words = answer.error_description.unwrap_or_default();
        let words = printable_up_to(DESCRIPTION_CHARS, &words);
        why = format!("{endpoint} rejects the code (status {status}): {error:?}: {words:?}");
        // RFC 6749, section 5.2.
        if status != 401 && error != "invalid_client" {
            break;
        }
    }
    Err(log::distrusted(ctx, why))
}

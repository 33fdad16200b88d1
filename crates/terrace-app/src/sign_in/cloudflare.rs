//! Sign-in with Cloudflare Access, which runs in front of the registry
//! (<https://developers.cloudflare.com/cloudflare-one/access-controls/applications/http-apps/authorization-cookie/validating-json/>).

use serde_json::{Map, Value};
use terrace_base::url::HttpsUrl;
use terrace_core::auth::login::SignInError;
use terrace_jose::{IssuerKeys, IssuerUrl, UnverifiedToken};

use crate::access::issuer;
use crate::context::Context;
use crate::host::{Clock as _, Host, Request};
use crate::sign_in::log;

/// The header that contains the identity of the person.
const ASSERTION: &str = "cf-access-jwt-assertion";

/// The path of a team's keys.
const KEYS_PATH: &str = "/cdn-cgi/access/certs";

/// Identifies the person of a request that Cloudflare Access let through.
pub(crate) async fn person<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    team: &IssuerUrl,
    audience: &str,
    request: &R,
) -> Result<Map<String, Value>, SignInError> {
    let refused = |why: String| {
        log::write(ctx, &format!("{ASSERTION}: {why}"));
        SignInError::Unprotected
    };
    let text = request.header(ASSERTION);
    let text = text.ok_or_else(|| {
        refused(
            "the request has no such header, so it did not come through Cloudflare Access"
                .to_owned(),
        )
    })?;
    let token = UnverifiedToken::parse(&text).map_err(|it| refused(it.to_string()))?;
    let base = team.as_str().trim_end_matches('/');
    let url: Result<HttpsUrl, _> = format!("{base}{KEYS_PATH}").parse();
    let url = &url.map_err(|error| log::distrusted(ctx, error))?;
    let now = ctx.host.clock().now();
    let verify = |keys: &IssuerKeys| token.verify(keys, &[audience], now);
    let verified = issuer::verified(ctx, team, Some(url), verify).await;
    let verified = verified.map_err(|failure| log::failed(ctx, failure))?;
    let claims = verified.map_err(|it| refused(it.to_string()))?;
    let mut claims = claims.members().clone();
    // Cloudflare Access only includes addresses that its identity provider confirmed, or to which it sent a
    // code.
    let verified = Value::from(claims.contains_key("email"));
    claims.entry("email_verified").or_insert(verified);
    Ok(claims)
}

//! Identity providers: their discovery documents, and the keys that they sign with.

use std::fmt::Display;

use terrace_base::time::UnixTime;
use terrace_base::url::HttpsUrl;
use terrace_core::auth::login::Provider;
use terrace_core::config::{ISSUER_HOSTS, TRUSTED_PUBLISHERS};
use terrace_core::http::guard::GuardError;
use terrace_jose::{Discovery, DiscoveryError, IssuerKeys, IssuerUrl, TokenError, limits};

use crate::cache::IssuerError;
use crate::context::Context;
use crate::host::{Clock as _, Host, IdentityProviderRequest, Upstream as _, UpstreamError};

/// How long a response may take, in seconds.
const SECONDS: u32 = 8;

/// How long to wait for a concurrent fetch, in seconds: for the discovery document and for the keys.
const WAIT_SECONDS: u32 = 2 * SECONDS + 1;

/// How long cached keys are used, in seconds. Providers announce new keys before they use them, and withdraw
/// old ones when everything signed with them has expired.
const KEYS_SECONDS: u64 = 3_600;

/// How soon keys may be fetched again after a token that they do not match, in seconds.
const RENEWAL_SECONDS: u64 = 60;

/// Returns the error for a request to `subject` that was not answered, or not sent. Settings allow hosts only to the issuers
/// that the configuration names.
pub(crate) fn unanswered(
    subject: impl Display,
    error: &UpstreamError,
    is_configured: bool,
) -> IssuerError {
    let is_permanent = error.is_refusal();
    let advice = match (is_permanent, is_configured) {
        (true, true) => format!("; if it is yours, name it in {ISSUER_HOSTS}"),
        (true, false) => format!(
            "; only the sign-in provider and the issuers in {TRUSTED_PUBLISHERS} may be at private hosts"
        ),
        (false, _) => String::new(),
    };
    IssuerError {
        why: format!("{subject}: {error}{advice}"),
        is_permanent,
    }
}

/// Verifies a token with the issuer's keys, which are at `keys_at`, or else where its discovery document says. A token that matches none of them may be signed with a new key: then they
/// are fetched again, unless that was done recently.
///
/// # Errors
/// If the issuer cannot be reached. The inner error is the reason why the token is invalid.
pub(crate) async fn verified<P: Host, T>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    keys_at: Option<&HttpsUrl>,
    verify: impl Fn(&IssuerKeys) -> Result<T, TokenError>,
) -> Result<Result<T, TokenError>, IssuerError> {
    let (keys, read) = issuer_keys(ctx, issuer, keys_at, None).await?;
    match verify(&keys) {
        Err(TokenError::Key(_)) => {
            let (keys, _) = issuer_keys(ctx, issuer, keys_at, Some(read)).await?;
            Ok(verify(&keys))
        }
        verified => Ok(verified),
    }
}

/// Checks that the keys of an issuer can be read, unless that was done within the last hour, and that the token endpoint of the
/// sign-in provider may be contacted.
///
/// # Errors
/// The reason why not.
pub(crate) async fn check<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
) -> Result<(), IssuerError> {
    issuer_keys(ctx, issuer, None, None).await?;
    let provider = ctx.config.login.as_ref().map(|login| &login.provider);
    if matches!(provider, Some(Provider::OpenId(own, _)) if own == issuer)
        && let Some(endpoint) = cached_discovery(ctx, issuer).await?.token_endpoint
    {
        let checked = ctx
            .config
            .issuer_guard(issuer)
            .check(endpoint.as_url().into());
        let error = |error: GuardError| UpstreamError(error.to_string());
        checked.map_err(|it| unanswered(&endpoint, &error(it), true))?;
    }
    Ok(())
}

async fn issuer_keys<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    keys_at: Option<&HttpsUrl>,
    newer_than: Option<UnixTime>,
) -> Result<(IssuerKeys, UnixTime), IssuerError> {
    let known = || known_keys(ctx, issuer, newer_than);
    let read = async || match keys_at {
        Some(url) => read_keys(ctx, issuer, url).await,
        None => {
            let discovery = discovery(ctx, issuer).await?;
            read_keys(ctx, issuer, &discovery.jwks_uri).await
        }
    };
    once(ctx, issuer, known, read).await
}

/// Returns the discovery document of the sign-in provider.
pub(crate) async fn cached_discovery<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
) -> Result<Discovery, IssuerError> {
    let cache = ctx.host.cache();
    let known = || {
        let (discovery, read) = cache.discovery(issuer)?;
        let age = ctx.host.clock().now().0.saturating_sub(read.0);
        (age < KEYS_SECONDS).then_some(discovery)
    };
    let read = async || {
        let now = ctx.host.clock().now();
        let discovery = discovery(ctx, issuer).await?;
        cache.remember_discovery(issuer.clone(), discovery.clone(), now);
        Ok(discovery)
    };
    once(ctx, issuer, known, read).await
}

fn known_keys<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    newer_than: Option<UnixTime>,
) -> Option<(IssuerKeys, UnixTime)> {
    let (keys, read) = ctx.host.cache().issuer_keys(issuer)?;
    let age = ctx.host.clock().now().0.saturating_sub(read.0);
    let is_wanted = match newer_than {
        Some(known) => read > known || age < RENEWAL_SECONDS,
        None => age < KEYS_SECONDS,
    };
    is_wanted.then_some((keys, read))
}

async fn read_keys<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    url: &HttpsUrl,
) -> Result<(IssuerKeys, UnixTime), IssuerError> {
    let now = ctx.host.clock().now();
    let body = read_from(ctx, issuer, url, limits::KEYS_BYTES).await?;
    let keys = IssuerKeys::parse(issuer, &body).map_err(|error| failed(issuer, error))?;
    let cache = ctx.host.cache();
    cache.remember_issuer_keys(keys.clone(), now);
    Ok((keys, now))
}

/// Returns the `known` value of an issuer, or else fetches it. One request fetches for all concurrent ones,
/// and an issuer that has just failed is not contacted. So a client that presents tokens of an issuer, valid
/// or not, cannot control how often the issuer is contacted.
async fn once<P: Host, T>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    known: impl Fn() -> Option<T>,
    ask: impl AsyncFnOnce() -> Result<T, IssuerError>,
) -> Result<T, IssuerError> {
    let cache = ctx.host.cache();
    for _ in 0..WAIT_SECONDS {
        if let Some(known) = known() {
            return Ok(known);
        }
        let now = ctx.host.clock().now();
        if let Some(why) = cache.recent_failure(issuer, now) {
            return Err(why);
        }
        if cache.begin_flight(issuer, now) {
            let answered = ask().await;
            cache.end_flight(issuer);
            if let Err(error) = &answered {
                cache.remember_failure(issuer, now, error);
            }
            return answered;
        }
        ctx.host.clock().sleep(1).await;
    }
    Err(failed(
        issuer,
        "another request has been waiting for its response for too long",
    ))
}

/// Fetches the discovery document of an issuer.
async fn discovery<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
) -> Result<Discovery, IssuerError> {
    let url = issuer.discovery_url();
    let url: HttpsUrl = url.parse().map_err(|error| failed(issuer, error))?;
    let body = read_from(ctx, issuer, &url, limits::DISCOVERY_BYTES).await?;
    Discovery::parse(issuer, &body).map_err(|error| IssuerError {
        // A page for maintenance is no JSON.
        is_permanent: matches!(error, DiscoveryError::Misfit(_)),
        ..failed(issuer, error)
    })
}

async fn read_from<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    url: &HttpsUrl,
    limit: usize,
) -> Result<Vec<u8>, IssuerError> {
    let inquiry = IdentityProviderRequest::get(url.to_string(), None, limit);
    let guard = ctx.config.issuer_guard(issuer);
    let upstream = ctx.host.upstream();
    let answer = upstream.inquire(&inquiry, &guard, SECONDS).await;
    let answer = answer.map_err(|error| {
        let is_configured = ctx.config.issuers().contains(&issuer);
        unanswered(issuer, &error, is_configured)
    })?;
    match answer.status {
        200 => Ok(answer.body),
        status => Err(IssuerError {
            is_permanent: matches!(status, 400..=499) && !matches!(status, 408 | 429),
            ..failed(issuer, format!("{url} answers with status {status}"))
        }),
    }
}

fn failed(issuer: &IssuerUrl, error: impl ToString) -> IssuerError {
    IssuerError {
        why: format!("{issuer}: {}", error.to_string()),
        is_permanent: false,
    }
}

//! Providers of identities: what they say about themselves, and the keys that they sign with.

use terrace_base::time::UnixTime;
use terrace_base::url::HttpsUrl;
use terrace_core::auth::oidc::issuer_guard;
use terrace_jose::{Discovery, IssuerKeys, IssuerUrl, TokenError, limits};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Host, Inquiry, Upstream as _};

/// How long an answer may take, in seconds.
const SECONDS: u32 = 8;

/// How long somebody waits for who asks already, in seconds: for the document and for the keys.
const WAIT_SECONDS: u32 = 2 * SECONDS + 1;

/// How long keys are gone by, in seconds. Providers announce new keys before they use them, and take old
/// ones back when nothing that they have signed is good any more.
const KEYS_SECONDS: u64 = 3_600;

/// How soon they are asked for again after a token that they do not fit, in seconds.
const RENEWAL_SECONDS: u64 = 60;

/// Where the keys of an issuer are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeysAt<'k> {
    /// Where its discovery document says.
    Discovery,
    /// Here.
    Url(&'k HttpsUrl),
}

/// What an issuer's keys make of a token. One that fits none of them may be signed with a new one: then
/// they are read again, unless that was a moment ago.
///
/// # Errors
/// That the issuer cannot be asked; the inner one is what is wrong with the token.
pub(crate) async fn verified<P: Host, T>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    keys_at: KeysAt<'_>,
    verify: impl Fn(&IssuerKeys) -> Result<T, TokenError>,
) -> Result<Result<T, TokenError>, Failure> {
    let (keys, read) = issuer_keys(ctx, issuer, keys_at, None).await?;
    match verify(&keys) {
        Err(refusal) if refusal.is_cured_by_newer_keys() => {
            let (keys, _) = issuer_keys(ctx, issuer, keys_at, Some(read)).await?;
            Ok(verify(&keys))
        }
        verified => Ok(verified),
    }
}

async fn issuer_keys<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    keys_at: KeysAt<'_>,
    newer_than: Option<UnixTime>,
) -> Result<(IssuerKeys, UnixTime), Failure> {
    let known = || known_keys(ctx, issuer, newer_than);
    let read = async || match keys_at {
        KeysAt::Url(url) => read_keys(ctx, issuer, url).await,
        KeysAt::Discovery => {
            let discovery = discovery(ctx, issuer).await?;
            read_keys(ctx, issuer, &discovery.jwks_uri).await
        }
    };
    once(ctx, issuer, known, read).await
}

/// What the provider of people says about itself.
pub(crate) async fn provider<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
) -> Result<Discovery, Failure> {
    let cache = ctx.host.cache();
    let known = || {
        let (discovery, read) = cache.provider(issuer)?;
        let age = ctx.host.clock().now().0.saturating_sub(read.0);
        (age < KEYS_SECONDS).then_some(discovery)
    };
    let read = async || {
        let now = ctx.host.clock().now();
        let discovery = discovery(ctx, issuer).await?;
        cache.remember_provider(issuer.clone(), discovery.clone(), now);
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
) -> Result<(IssuerKeys, UnixTime), Failure> {
    let now = ctx.host.clock().now();
    let body = read_from(ctx, issuer, url, limits::KEYS_BYTES).await?;
    let keys = IssuerKeys::parse(issuer, &body).map_err(|error| failed(issuer, error))?;
    let cache = ctx.host.cache();
    cache.remember_issuer_keys(keys.clone(), now);
    Ok((keys, now))
}

/// What is `known` of an issuer, or else what it answers. One asks it for all who come meanwhile, and
/// nobody asks one that has just not answered: whoever presents tokens of an issuer, good ones or not,
/// decides nothing about how often it is asked.
async fn once<P: Host, T>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    known: impl Fn() -> Option<T>,
    ask: impl AsyncFnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let cache = ctx.host.cache();
    for _ in 0..WAIT_SECONDS {
        if let Some(known) = known() {
            return Ok(known);
        }
        let now = ctx.host.clock().now();
        if let Some(why) = cache.recent_failure(issuer, now) {
            return Err(Failure::Origin(why));
        }
        if cache.begin_flight(issuer, now) {
            let answered = ask().await;
            cache.end_flight(issuer);
            if let Err(Failure::Origin(why)) = &answered {
                cache.remember_failure(issuer, now, why);
            }
            return answered;
        }
        ctx.host.clock().sleep(1).await;
    }
    Err(failed(
        issuer,
        "others have asked it for long, and it does not answer",
    ))
}

/// What an issuer says about itself.
async fn discovery<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
) -> Result<Discovery, Failure> {
    let url = issuer.discovery_url();
    let url: HttpsUrl = url.parse().map_err(|error| failed(issuer, error))?;
    let body = read_from(ctx, issuer, &url, limits::DISCOVERY_BYTES).await?;
    Discovery::parse(issuer, &body).map_err(|error| failed(issuer, error))
}

async fn read_from<P: Host>(
    ctx: &Context<'_, P>,
    issuer: &IssuerUrl,
    url: &HttpsUrl,
    most: usize,
) -> Result<Vec<u8>, Failure> {
    let inquiry = Inquiry {
        url: url.to_string(),
        form: None,
        authorization: None,
        max_bytes: most as u64,
    };
    let upstream = ctx.host.upstream();
    let answer = upstream
        .inquire(&inquiry, &issuer_guard(issuer), SECONDS)
        .await;
    let answer = answer.map_err(|error| failed(issuer, error))?;
    match answer.status {
        200 => Ok(answer.body),
        status => Err(failed(
            issuer,
            format!("{url} answers with status {status}"),
        )),
    }
}

fn failed(issuer: &IssuerUrl, error: impl ToString) -> Failure {
    Failure::Origin(format!("{issuer}: {}", error.to_string()))
}

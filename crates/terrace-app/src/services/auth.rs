//! Who is asking, and whether they may.

use terrace_core::auth::access::{
    Caller, CredentialsError, Owner, RevocationDocument, Revocations, network,
};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{Body, Reply};
use terrace_core::limits;
use terrace_core::model::token_id::TokenId;
use terrace_core::read::{Asked, IndexForm, refusal, refused};
use terrace_core::storage::key::{FactKey, IndexKey, REVOCATIONS};

use crate::cache::Remembered;
use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Clock as _, Host, Indices as _, Request};
use crate::services::documents;

/// What a request needs.
#[derive(Debug, Clone)]
pub(crate) enum Permission {
    /// To be allowed everything.
    Admin,
    /// To be allowed to publish for an owner.
    Publish(Owner),
}

/// The caller of a request that changes something.
///
/// # Errors
/// Why it may not.
pub(crate) async fn authorize<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    need: &Permission,
) -> Result<Caller, Failure> {
    let caller = authenticate(ctx, request).await?;
    let is_allowed = match need {
        Permission::Admin => caller.is_admin(),
        Permission::Publish(owner) => caller.may_publish(owner),
    };
    match (is_allowed, &caller) {
        (true, _) => Ok(caller),
        (false, Caller::Anonymous) => Err(Problem::no_token().into()),
        (false, _) => Err(Problem::Forbidden(lacking(&caller, need)).into()),
    }
}

/// Who sends a request.
///
/// # Errors
/// That its credentials are of no use.
pub(crate) async fn authenticate<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
) -> Result<Caller, Failure> {
    let header = request.header("authorization");
    let now = || ctx.host.clock().now();
    let caller = ctx.config.access.caller(header.as_deref(), now);
    let bad = match caller {
        Err(bad) => bad,
        Ok(caller) => match caller.token() {
            Some(token) if is_revoked(ctx, token).await? => CredentialsError::Revoked,
            _ => return Ok(caller),
        },
    };
    Err(Problem::from(refuse(ctx, request, bad).await).into())
}

/// Writes down that credentials were of no use: to the log why, never what they were. Tells what to
/// answer, which is something else where too many come from one address. Right ones always pass:
/// nobody shall lock out their neighbours.
pub(crate) async fn refuse<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    bad: CredentialsError,
) -> CredentialsError {
    let address = &ctx.client_address;
    // Only this may be a guess.
    if bad == CredentialsError::Unknown && is_one_guess_too_many(ctx).await {
        return CredentialsError::TooMany;
    }
    let (method, path) = (request.method(), request.path());
    let line = format!("access: {method} {path:?} from {address:?}: {bad}");
    ctx.host.log(&line);
    bad
}

/// Counts a guess, and tells whether too many came from its address; the log tells that once. Whoever
/// floods the registry shall not flood the log.
pub(crate) async fn is_one_guess_too_many<P: Host>(ctx: &Context<'_, P>) -> bool {
    let address = ctx.client_address.as_str();
    if address.is_empty() {
        return false;
    }
    let most = ctx.config.failures_a_minute;
    let now = ctx.host.clock().now();
    let throttle = ctx.host.cache().throttle();
    let count = throttle.borrow_mut().count(address, now);
    let network = network(address);
    if count == most.saturating_add(1) {
        let line = format!("access: too many wrong credentials from {network}; no more is told");
        ctx.host.log(&line);
    }
    count > most || ctx.host.is_one_failure_too_many(&network).await
}

/// The answer to whoever reads with a token that is revoked, or may be.
pub(crate) async fn revoked<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    token: TokenId,
    request: &R,
    asked: &Asked<'_>,
) -> Option<Reply<P::Stream>> {
    match is_revoked(ctx, token).await {
        Ok(false) => None,
        Ok(true) => {
            refuse(ctx, request, CredentialsError::Revoked).await;
            Some(refused(asked, CredentialsError::Revoked))
        }
        Err(failure) => Some(refusal(asked, &ctx.report(failure))),
    }
}

/// Whether a token is revoked. As long as the isolate remembers, nothing is read.
async fn is_revoked<P: Host>(ctx: &Context<'_, P>, token: TokenId) -> Result<bool, Failure> {
    let now = ctx.host.clock().now();
    match ctx.host.cache().recall(token, now) {
        Remembered::Fresh(is_revoked) => Ok(is_revoked),
        Remembered::Stale(is_revoked) => {
            ctx.defer(Task::Revocations);
            Ok(is_revoked)
        }
        Remembered::Miss => Ok(read_revocations(ctx).await?.include(token, now)),
    }
}

/// Reads which tokens are revoked, for all requests that follow.
pub(crate) async fn read_revocations<P: Host>(
    ctx: &Context<'_, P>,
) -> Result<Revocations, Failure> {
    let began = ctx.host.clock().now();
    let key = IndexKey::Revocations;
    let seconds = limits::LIST_CACHE_SECONDS;
    let found = ctx.host.indices().get(&key, IndexForm::Text, seconds);
    let read = match found.await {
        Ok(Some(found)) => match found.body {
            Body::Text(text) => serde_json::from_slice(text.as_bytes()).ok(),
            Body::Empty | Body::Stream(_) => None,
        },
        Ok(None) => None,
        Err(error) => {
            ctx.host.log(&format!("storage: {error}"));
            None
        }
    };
    let revocations = match read {
        Some(revocations) => revocations,
        None => {
            ctx.defer(Task::Rebuild(key));
            revocations(ctx).await?
        }
    };
    let cache = ctx.host.cache();
    cache.remember(Revocations::clone(&revocations), began);
    Ok(revocations)
}

/// Which tokens are revoked, by the facts.
pub(crate) async fn revocations<P: Host>(ctx: &Context<'_, P>) -> Result<Revocations, Failure> {
    let mut all = Vec::new();
    for fact in documents::list(ctx, REVOCATIONS).await? {
        let Ok(id) = fact.name.parse() else { continue };
        let document = match RevocationDocument::from_metadata(&fact.metadata) {
            Some(document) => Some(document),
            None => documents::read(ctx, &FactKey::Revocation(id)).await?,
        };
        all.extend(document.map(|document| (id, document)));
    }
    Ok(Revocations::of(all, ctx.host.clock().now()))
}

fn lacking(caller: &Caller, need: &Permission) -> String {
    let takes = match need {
        Permission::Admin => "admin".to_owned(),
        Permission::Publish(owner) => format!("publish:{owner} or admin"),
    };
    let has = match caller {
        Caller::Bearer(token) => token.scopes.to_string(),
        Caller::Anonymous | Caller::Root => String::new(),
    };
    format!("this takes the scope {takes}; the token has {has}")
}

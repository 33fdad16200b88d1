//! Authenticates and authorises callers.

use serde::de::DeserializeOwned;
use terrace_core::api::endpoint::Action;
use terrace_core::api::route::McpScope;
use terrace_core::auth::access::{
    Caller, CredentialsError, Owner, RevocationDocument, Revocations, Scope, Visibility, network,
};
use terrace_core::http::method::Method;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{Body, Reply};
use terrace_core::limits;
use terrace_core::maintenance::garbage::{GarbageDocument, GarbageState};
use terrace_core::model::oci::Digest;
use terrace_core::model::token_id::TokenId;
use terrace_core::read::{IndexForm, RequestHead, invalid_credentials_reply, unauthorized_reply};
use terrace_core::storage::key::{BytesKey, FactKey, GARBAGE, IndexKey, REVOCATIONS};

use crate::cache::Cached;
use crate::context::{Context, Task};
use crate::documents;
use crate::failure::Failure;
use crate::host::{Clock as _, Host, Indices as _, Request};

/// The permission that a request requires.
#[derive(Debug, Clone)]
pub(crate) enum Permission {
    /// To use the whole admin API.
    Admin,
    /// To administer an owner.
    Administer(Owner),
    /// To administer any owner.
    AdministerAny,
    /// To copy everything that is stored.
    BackUp,
    /// To publish for an owner.
    Publish(Owner),
}

/// Returns the caller of a request that changes something.
///
/// # Errors
/// If the caller lacks the permission.
pub(crate) async fn authorize<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    need: &Permission,
) -> Result<Caller, Failure> {
    let caller = authenticate(ctx, request).await?;
    let is_allowed = match need {
        Permission::Admin => caller.is_admin(),
        Permission::Administer(owner) => caller.may_administer(owner),
        Permission::AdministerAny => caller.may_administer_any(),
        Permission::BackUp => caller.may_back_up(),
        Permission::Publish(owner) => caller.may_publish(owner),
    };
    if is_allowed {
        return Ok(caller);
    }
    if matches!(caller, Caller::Anonymous) {
        return Err(Problem::no_token().into());
    }
    let takes = match need {
        Permission::Admin => "admin".to_owned(),
        Permission::Administer(owner) => format!("admin:{owner} or admin"),
        Permission::AdministerAny => "admin:<namespace> or admin".to_owned(),
        Permission::BackUp => "backup or admin".to_owned(),
        Permission::Publish(owner) => format!("publish:{owner}, admin:{owner} or admin"),
    };
    let has = scopes_of(&caller);
    let message = format!("this request requires the scope {takes}; the token has {has}");
    Err(Problem::Forbidden(message).into())
}

/// Returns the caller of a request.
///
/// # Errors
/// If the credentials are invalid.
pub(crate) async fn authenticate<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
) -> Result<Caller, Failure> {
    accepted(ctx, request, presented(ctx, request)).await
}

/// Returns the caller that credentials name, unless they are invalid or revoked.
async fn accepted<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    named: Result<Caller, CredentialsError>,
) -> Result<Caller, Failure> {
    let bad = match named {
        Err(bad) => bad,
        Ok(caller) => match caller.token() {
            Some(token) if is_revoked(ctx, token).await? => CredentialsError::Revoked,
            _ => return Ok(caller),
        },
    };
    Err(Problem::from(refuse(ctx, request, bad).await).into())
}

/// Returns the caller that the credentials of a request name; revocation is not checked. The endpoints of the Model Context
/// Protocol, and nothing else, accept the tokens of OAuth clients.
fn presented<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
) -> Result<Caller, CredentialsError> {
    let header = request.header("authorization");
    let now = || ctx.host.clock().now();
    let resource = McpScope::at(request.path()).map(|scope| scope.resource(request.origin()));
    let access = &ctx.config.access;
    access.caller_at(header.as_deref(), resource.as_ref(), now)
}

/// Returns the caller of a request about the presented token. A token that revokes itself may be revoked already, because the
/// request may be a retry: the handler decides.
///
/// # Errors
/// If there is no token, or it is invalid.
pub(crate) async fn holder<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    action: &Action,
) -> Result<Caller, Failure> {
    let caller = match (action.method, presented(ctx, request)) {
        (Method::Delete, Ok(caller)) => caller,
        (_, named) => accepted(ctx, request, named).await?,
    };
    match caller {
        Caller::Anonymous => Err(Problem::no_token().into()),
        caller => Ok(caller),
    }
}

/// Returns the caller of a request that everyone may make. Invalid credentials, and a token that cannot be checked, count
/// as none: a stale token must not break a request that works without one. Nothing is refused or logged for them.
pub(crate) async fn recognized<P: Host, R: Request>(ctx: &Context<'_, P>, request: &R) -> Caller {
    let caller = presented(ctx, request).unwrap_or(Caller::Anonymous);
    let Some(token) = caller.token() else {
        return caller;
    };
    match is_revoked(ctx, token).await {
        Ok(false) => caller,
        Ok(true) | Err(_) => Caller::Anonymous,
    }
}

/// Returns the keys that a caller reads in place of the keys of an owner's indices, and the owner's visibility to the
/// caller. If the owner is hidden from the caller, nothing is stored under the returned keys.
///
/// # Errors
/// If the caller must authenticate first.
pub(crate) fn readable_keys<P: Host, const N: usize>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    owner: &Owner,
    keys: [IndexKey; N],
) -> Result<([IndexKey; N], Visibility), Problem> {
    let visibility = ctx.config.access.visibility(caller, owner);
    match visibility {
        Visibility::Unauthenticated => Err(Problem::no_token()),
        Visibility::Hidden => Ok((keys.map(|key| key.hidden()), visibility)),
        Visibility::Public | Visibility::Private => Ok((keys, visibility)),
    }
}

/// Returns the caller of a read: by the token, or else by the session of a browser if the endpoint reads it.
///
/// # Errors
/// If the token is invalid.
pub(crate) async fn identify<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    action: &Action,
) -> Result<Caller, Failure> {
    let reads_session = action.reads_session && ctx.config.reads_sessions();
    if !reads_session || request.header("authorization").is_some() {
        return authenticate(ctx, request).await;
    }
    let cookies = request.header("cookie");
    of_cookies(ctx, cookies.as_deref()).await
}

/// Returns the caller by the session in these cookies. One that is not valid counts as none: its browser is signed out.
///
/// # Errors
/// If its token cannot be checked.
pub(crate) async fn of_cookies<P: Host>(
    ctx: &Context<'_, P>,
    cookies: Option<&str>,
) -> Result<Caller, Failure> {
    let now = || ctx.host.clock().now();
    let caller = ctx.config.caller_of_cookies(cookies, now);
    match caller.token() {
        Some(token) if is_revoked(ctx, token).await? => Ok(Caller::Anonymous),
        _ => Ok(caller),
    }
}

/// Returns the caller of a token that a browser sends in a form.
///
/// # Errors
/// If the token is invalid.
pub(crate) async fn entered<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    token: &str,
) -> Result<Caller, Failure> {
    let now = || ctx.host.clock().now();
    let header = format!("Bearer {token}");
    accepted(ctx, request, ctx.config.access.caller(Some(&header), now)).await
}

/// Logs that credentials were rejected: the reason, never the credentials. Returns the error for the client,
/// which is `TooMany` if too many attempts come from one address. Valid credentials are always accepted, so
/// that a client cannot lock out its neighbours.
pub(crate) async fn refuse<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &R,
    bad: CredentialsError,
) -> CredentialsError {
    let address = &ctx.client_address;
    // Only an unknown token may be a guess.
    if bad == CredentialsError::Unknown && is_one_guess_too_many(ctx).await {
        return CredentialsError::TooMany;
    }
    let (method, path) = (request.method(), request.path());
    let line = format!("access: {method} {path:?} from {address:?}: {bad}");
    ctx.host.log(&line);
    bad
}

/// Counts a failed attempt, and returns whether its address is over the limit. This is logged only once, so
/// that a flood of requests does not flood the log.
pub(crate) async fn is_one_guess_too_many<P: Host>(ctx: &Context<'_, P>) -> bool {
    let address = ctx.client_address.as_str();
    if address.is_empty() {
        return false;
    }
    let limit = ctx.config.failures_a_minute;
    let now = ctx.host.clock().now();
    let throttle = ctx.host.cache().throttle();
    let count = throttle.borrow_mut().count(address, now);
    let network = network(address);
    if count == limit.saturating_add(1) {
        let line = format!(
            "access: too many wrong credentials from {network}; further ones are not logged"
        );
        ctx.host.log(&line);
    }
    count > limit || ctx.host.is_one_failure_too_many(&network).await
}

/// Returns whether the caller of a read counts. The session of a browser does not if its token is revoked.
///
/// # Errors
/// The response to a token that is revoked, or cannot be checked.
pub(crate) async fn counts<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    token: TokenId,
    request: &R,
    head: &RequestHead<'_>,
) -> Result<bool, Reply<P::Stream>> {
    match is_revoked(ctx, token).await {
        Ok(false) => Ok(true),
        Ok(true) if request.header("authorization").is_none() => Ok(false),
        Ok(true) => {
            refuse(ctx, request, CredentialsError::Revoked).await;
            Err(invalid_credentials_reply(head, CredentialsError::Revoked))
        }
        Err(failure) => Err(unauthorized_reply(head, &ctx.report(failure))),
    }
}

/// Returns whether a token is revoked. Reads nothing while the isolate's cache is usable.
async fn is_revoked<P: Host>(ctx: &Context<'_, P>, token: TokenId) -> Result<bool, Failure> {
    let now = ctx.host.clock().now();
    let cached = ctx.host.cache().revocation(token, now);
    decided(ctx, cached, |all| all.include(token, now)).await
}

/// Returns whether a digest may have been erased. Reads nothing while the isolate's cache is usable.
pub(crate) async fn may_have_erased<P: Host>(
    ctx: &Context<'_, P>,
    digest: Digest,
) -> Result<bool, Failure> {
    let now = ctx.host.clock().now();
    let cached = ctx.host.cache().erasure(digest, now);
    decided(ctx, cached, |all| all.may_have_erased(digest)).await
}

/// Returns what the cache knows, or else the revocations.
async fn decided<P: Host>(
    ctx: &Context<'_, P>,
    cached: Cached<bool>,
    by: impl FnOnce(&Revocations) -> bool,
) -> Result<bool, Failure> {
    match cached {
        Cached::Fresh(known) => Ok(known),
        Cached::Stale(known) => {
            ctx.defer(Task::ReadRevocations);
            Ok(known)
        }
        Cached::Miss => Ok(by(&read_revocations(ctx).await?)),
    }
}

/// Reads the revoked tokens and erased digests into the cache.
pub(crate) async fn read_revocations<P: Host>(
    ctx: &Context<'_, P>,
) -> Result<Revocations, Failure> {
    let began = ctx.host.clock().now();
    let key = IndexKey::Revocations;
    let revocations = match stored_index::<_, Revocations>(ctx, &key).await {
        Some(revocations) => revocations,
        None => {
            ctx.defer(Task::BackfillIndex(key));
            revocations(ctx).await?
        }
    };
    let cache = ctx.host.cache();
    cache.store_revocations(Revocations::clone(&revocations), began);
    Ok(revocations)
}

/// Returns an index that decides about admission; `None` if it is missing or cannot be read.
pub(crate) async fn stored_index<P: Host, T: DeserializeOwned>(
    ctx: &Context<'_, P>,
    key: &IndexKey,
) -> Option<T> {
    let seconds = limits::LIST_CACHE_SECONDS;
    let found = ctx.host.indices().get(key, IndexForm::Text, seconds);
    match found.await {
        Ok(Some(found)) => match found.body {
            Body::Text(text) => serde_json::from_slice(text.as_bytes()).ok(),
            Body::Empty | Body::Stream(_) => None,
        },
        Ok(None) => None,
        Err(error) => {
            ctx.host.log(&format!("storage: {error}"));
            None
        }
    }
}

/// Returns the revoked tokens and erased digests, according to the facts.
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
    let revocations = Revocations::of(all, ctx.host.clock().now());
    Ok(revocations.with_erased(erased_digests(ctx).await?))
}

/// Returns the erased digests. Each has a tombstone under the key of a blob, whatever had it.
async fn erased_digests<P: Host>(ctx: &Context<'_, P>) -> Result<Vec<Digest>, Failure> {
    let mut erased = Vec::new();
    for mark in documents::list(ctx, GARBAGE).await? {
        let Ok(BytesKey::Blob(digest)) = mark.name.parse() else {
            continue;
        };
        // A mark of unknown state counts as a tombstone: its bytes are only read from the bucket more often. Reading each
        // would take more operations than a request has.
        let state = GarbageDocument::state_in(&mark.metadata);
        if state.is_none_or(|state| state == GarbageState::Erased) {
            erased.push(digest);
        }
    }
    Ok(erased)
}

/// Ensures that a caller grants only scopes that it has.
///
/// # Errors
/// If a scope is not covered by the caller's own.
pub(crate) fn ensure_may_grant<'s>(
    caller: &Caller,
    scopes: impl Iterator<Item = &'s Scope>,
) -> Result<(), Problem> {
    let Some(lacking) = caller.lacks(scopes) else {
        return Ok(());
    };
    let has = scopes_of(caller);
    Err(Problem::Forbidden(format!(
        "a token can grant only what it has: this request grants {lacking}; the token has {has}"
    )))
}

fn scopes_of(caller: &Caller) -> String {
    match caller {
        Caller::Bearer(token) => token.scopes.to_string(),
        Caller::Anonymous | Caller::Root(_) | Caller::Browser(_) | Caller::Client(_) => {
            String::new()
        }
    }
}

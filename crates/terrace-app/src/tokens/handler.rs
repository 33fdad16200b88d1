//! Creates, lists, revokes and rotates API tokens.

use std::borrow::Cow;

use futures_util::future::join_all;
use terrace_base::time::{UnixTime, in_largest_unit};
use terrace_core::api::admin::{
    PresentedToken, RevokedToken, RotationBody, TokenAnswer, TokenBody, TokenPage,
};
use terrace_core::auth::access::{
    Caller, CredentialsError, KeyMark, RevocationDocument, Scopes, TokenDocument, TokenKeys,
    TokenName,
};
use terrace_core::config::MAX_TOKEN_LIFETIME;
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::model::token_id::TokenId;
use terrace_core::storage::key::{FactKey, TOKENS};

use crate::access::auth;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Facts as _, Host, StoreError};
use crate::outcome::{AuditDetails, Call, Handled, Outcome};
use crate::{documents, json, listing, tokens};

/// The seconds for which a token that has revoked itself may repeat the request, if its response was lost or its audit
/// entry could not be written. A client that retries gives up earlier.
const TOKEN_FAREWELL_SECONDS: u64 = 300;

/// Maximum number of tokens in one list. Each is read from storage.
const TOKENS_AT_ONCE: u32 = 100;

/// How many pages of tokens a request reads at most, to find one that its caller may see: fewer reads than a Worker may make.
const TOKEN_PAGES: u32 = 8;

pub(crate) async fn create<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    let TokenBody {
        name,
        scopes,
        expires_in,
    } = json::parse(&call.body)?;
    let invalid = |error: String| Problem::Invalid(vec![error]);
    let name: TokenName = name.parse().map_err(invalid)?;
    let scopes: Result<_, _> = scopes.iter().map(|scope| scope.parse()).collect();
    let scopes = scopes.and_then(Scopes::new).map_err(invalid)?;
    auth::ensure_may_grant(&call.caller, scopes.iter())?;
    let now = ctx.host.clock().now();
    check_lifetime(ctx, expires_in).map_err(invalid)?;
    let expires = expires_in.map(|seconds| UnixTime(now.0 + seconds));
    let document = TokenDocument {
        name,
        scopes,
        created: now,
        by: call.caller.name(),
        expires,
        revoked: None,
        successor: None,
        key: key_mark(ctx),
        resource: None,
    };
    let id = TokenId::new(call.id_of_created(ctx.host.random()));
    let made = match tokens::make(ctx, id, &document).await? {
        Some(text) => answer(ctx, id, &document, text),
        None if call.key.is_some() => created_before(ctx, &call, id, &document).await?,
        None => return Err(taken(id)),
    };
    reply(id, &made)
}

/// Returns the token that an earlier attempt of the same request created.
async fn created_before<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    id: TokenId,
    wanted: &TokenDocument,
) -> Result<TokenAnswer, Failure> {
    let known = tokens::document(ctx, id).await?;
    let lifetime = |it: &TokenDocument| it.expires.map(|end| end.since(it.created));
    let is_equal = |known: &TokenDocument| {
        known.name == wanted.name
            && known.scopes == wanted.scopes
            && known.by == wanted.by
            // A rotation or a revocation changes the end of a token.
            && (lifetime(known) == lifetime(wanted) || known.successor.is_some() || known.revoked.is_some())
    };
    if known.as_ref().is_some_and(|known| !is_equal(known)) {
        return Err(call.reused_key(&format!("token {id}")).into());
    }
    let is_retry = |known: &TokenDocument| {
        let age = wanted.created.since(known.created);
        lifetime(known) == lifetime(wanted)
            && known.revoked.is_none()
            && age <= limits::IDEMPOTENT_TOKEN_SECONDS
    };
    let known = known.filter(is_retry).ok_or_else(|| {
        let message = format!(
            "the Idempotency-Key of this request created token {id} earlier: send another one"
        );
        Problem::Conflict(vec![message])
    })?;
    let text = tokens::text_of(ctx, id, &known)?;
    Ok(answer(ctx, id, &known, text))
}

/// Checks the lifetime of a new token; `None` is one that never expires.
fn check_lifetime<P: Host>(ctx: &Context<'_, P>, lifetime: Option<u64>) -> Result<(), String> {
    let (min, longest) = limits::TOKEN_LIFETIME_SECONDS.into_inner();
    let limit = ctx.config.max_token_lifetime;
    let max = limit.unwrap_or(longest).min(longest);
    let setting = limit.map(|_| format!(" ({MAX_TOKEN_LIFETIME})"));
    let allowed = format!(
        "it must be from {min} to {max} seconds{}, that is, from {} to {}",
        setting.unwrap_or_default(),
        in_largest_unit(min),
        in_largest_unit(max)
    );
    match (lifetime, limit) {
        (None, Some(_)) => Err(format!(
            "expires_in is missing, but a token of this registry must expire: {allowed}"
        )),
        (Some(seconds), _) if !(min..=max).contains(&seconds) => {
            Err(format!("expires_in is {seconds}: {allowed}"))
        }
        _ => Ok(()),
    }
}

/// Lists the tokens created in this registry that the caller may manage, by id.
pub(crate) async fn list<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    listing::only(&call, listing::CURSOR)?;
    let mut after = call.after().map(Cow::into_owned);
    for _ in 0..TOKEN_PAGES {
        let (page, is_complete) = page(ctx, &call.caller, after.as_deref()).await?;
        // A page without a token that the caller may see would end at the ID of another one.
        if is_complete || !page.tokens.is_empty() {
            return Ok(json::reply(200, &page)?.into());
        }
        after = page.next;
    }
    let asked = call.after();
    let next = after.map(|last| cursor(asked.as_deref().unwrap_or_default(), &last));
    let tokens = Vec::new();
    Ok(json::reply(200, &TokenPage { tokens, next })?.into())
}

/// Returns a cursor that continues before or at an ID, and after the previous cursor: the shortest beginning of the ID that
/// follows it. The ID may be that of a token which the caller must not learn of.
fn cursor(previous: &str, last: &str) -> String {
    let beginnings = (1..=last.len()).filter_map(|length| last.get(..length));
    let mut following = beginnings.filter(|beginning| *beginning > previous);
    following.next().unwrap_or(last).to_owned()
}

/// Returns a page of tokens, and whether it is the last one. The next page continues after the last token that the caller
/// may see, so that a page names no other.
async fn page<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    after: Option<&str>,
) -> Result<(TokenPage, bool), Failure> {
    let facts = ctx.host.facts();
    let page = facts.list(TOKENS, after, TOKENS_AT_ONCE).await?;
    let ids = page.facts.iter().filter_map(|fact| fact.name.parse().ok());
    let read = ids.map(async |id| Ok::<_, Failure>((id, tokens::document(ctx, id).await?)));
    let mut tokens = Vec::new();
    for read in join_all(read).await {
        let (id, document) = read?;
        let document = document.filter(|it| caller.lacks(it.scopes.iter()).is_none());
        let keys = ctx.config.access.keys();
        tokens.extend(document.map(|document| TokenAnswer::new(id, &document, keys)));
    }
    let last = page.facts.into_iter().next_back().map(|fact| fact.name);
    let shown = tokens.last().map(|token| token.id.clone());
    let next = match caller.is_admin() {
        true => last,
        false => shown.or(last),
    };
    let next = next.filter(|_| page.is_truncated);
    Ok((TokenPage { tokens, next }, !page.is_truncated))
}

/// Creates a token with the same name, scopes and lifetime, and revokes the old one after the overlap. Within the
/// overlap, a repeated request returns the same token again.
pub(crate) async fn rotate<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    id: TokenId,
) -> Handled<P::Stream> {
    let RotationBody { overlap } = json::parse(&call.body)?;
    if overlap > limits::TOKEN_OVERLAP_SECONDS {
        let max = limits::TOKEN_OVERLAP_SECONDS;
        let message = format!("overlap is {overlap}: it must be at most {max} seconds");
        return Err(Problem::Invalid(vec![message]).into());
    }
    if !may_manage(ctx, &call.caller, id).await? {
        return Err(unknown(id).into());
    }
    if let Some(resource) = tokens::document(ctx, id).await?.and_then(|it| it.resource) {
        let message = format!(
            "token {id} belongs to an MCP client, for {resource} only, so it is not rotated: revoke it, and let the client \
             sign in again"
        );
        return Err(Problem::Conflict(vec![message]).into());
    }
    let now = ctx.host.clock().now();
    let (old, successor, document) = tokens::succeed(ctx, id).await?;
    let made = match document {
        Some(document) => {
            let text = tokens::text_of(ctx, successor, &document)?;
            answer(ctx, successor, &document, text)
        }
        None => {
            // A token that was created before the maximum was set gets a successor all the same.
            let lifetime = old.expires.map(|expires| expires.since(old.created));
            let lifetime = [lifetime, ctx.config.max_token_lifetime];
            let lifetime = lifetime.into_iter().flatten().min();
            let document = TokenDocument {
                created: now,
                by: call.caller.name(),
                expires: lifetime.map(|lifetime| UnixTime(now.0 + lifetime)),
                revoked: None,
                successor: None,
                key: key_mark(ctx),
                ..old.clone()
            };
            let text = tokens::make(ctx, successor, &document).await?;
            let text = text.ok_or_else(|| taken(successor))?;
            answer(ctx, successor, &document, text)
        }
    };
    let from = UnixTime(now.0.saturating_add(overlap));
    let from = tokens::revoke(ctx, id, old.expires, from).await?;
    let replaced = TokenAnswer {
        revoked: Some(from.to_string()),
        ..TokenAnswer::new(id, &old, ctx.config.access.keys())
    };
    let replaced = Some(Box::new(replaced));
    reply(successor, &TokenAnswer { replaced, ..made })
}

/// Revokes a token, including one that was not created in this registry if the caller administers the whole registry.
pub(crate) async fn revoke<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    id: TokenId,
) -> Handled<P::Stream> {
    if !may_manage(ctx, &call.caller, id).await? {
        // Unlike other deletions of something missing, it is no retry of a change that might lack its audit entry.
        return Ok(Outcome::new(unknown(id).reply(), AuditDetails::None));
    }
    let known = tokens::revoke_known(ctx, id).await?;
    Ok(json::reply(200, &RevokedToken { known })?.into())
}

/// Describes the token of the request: from the token itself, and from its stored document, which knows an early end.
pub(crate) async fn describe_presented<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
) -> Handled<P::Stream> {
    let document = match call.caller.token() {
        Some(id) => tokens::document(ctx, id).await?,
        None => None,
    };
    presented(ctx, &call.caller, document.as_ref())
}

fn presented<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    document: Option<&TokenDocument>,
) -> Handled<P::Stream> {
    let key = ctx.config.access.mark_of(caller);
    let presented = PresentedToken::of(caller, key, document).ok_or_else(Problem::no_token)?;
    Ok(json::reply(200, &presented)?.into())
}

/// Revokes the token of the request. A repeated request succeeds for a while.
pub(crate) async fn revoke_presented<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
) -> Handled<P::Stream> {
    let Caller::Bearer(token) = &call.caller else {
        let message = "the admin token cannot revoke itself: the operator replaces it, in TERRACE_ADMIN_TOKEN";
        return Err(Problem::Forbidden(message.to_owned()).into());
    };
    let now = ctx.host.clock().now();
    let revocation: Option<RevocationDocument> =
        documents::read(ctx, &FactKey::Revocation(token.id)).await?;
    if revocation.is_some_and(|it| now.since(it.from) > TOKEN_FAREWELL_SECONDS) {
        return Err(Problem::from(CredentialsError::Revoked).into());
    }
    tokens::revoke(ctx, token.id, token.expires, now).await?;
    let entry = AuditDetails::Revokes(tokens::path(token.id));
    Ok(Outcome {
        entry,
        ..presented(ctx, &call.caller, None)?
    })
}

/// Returns whether the caller may manage a token. If not, the token appears not to exist.
async fn may_manage<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    id: TokenId,
) -> Result<bool, Failure> {
    if caller.is_admin() {
        return Ok(true);
    }
    let document = tokens::document(ctx, id).await?;
    Ok(document.is_some_and(|it| caller.lacks(it.scopes.iter()).is_none()))
}

fn unknown(id: TokenId) -> Problem {
    Problem::NotFound(format!("there is no token {id}"))
}

/// Returns the failure for an ID that another token has: for a new ID, one with the same 64 random bits; for a successor, the
/// one that a concurrent rotation has just created.
fn taken(id: TokenId) -> Failure {
    StoreError::Busy(FactKey::Token(id).to_string()).into()
}

fn answer<P: Host>(
    ctx: &Context<'_, P>,
    id: TokenId,
    document: &TokenDocument,
    text: String,
) -> TokenAnswer {
    TokenAnswer {
        token: Some(text),
        ..TokenAnswer::new(id, document, ctx.config.access.keys())
    }
}

fn reply<S>(id: TokenId, made: &TokenAnswer) -> Handled<S> {
    let path = tokens::path(id);
    Ok(Outcome::new(
        json::reply(201, made)?.with("location", path.clone()),
        AuditDetails::Makes(path),
    ))
}

fn key_mark<P: Host>(ctx: &Context<'_, P>) -> Option<KeyMark> {
    ctx.config.access.keys().map(TokenKeys::mark)
}

#[cfg(test)]
mod tests {
    use super::cursor;

    #[test]
    fn a_cursor_is_the_shortest_beginning_that_follows_the_previous_one() {
        for (previous, last, expected) in [
            ("", "48aa48aa48aa48aa", "4"),
            ("3fffffffffffffff", "48aa48aa48aa48aa", "4"),
            ("4", "48aa48aa48aa48aa", "48"),
            ("47ff", "48aa48aa48aa48aa", "48"),
            ("48aa48aa48aa48a9", "48aa48aa48aa48aa", "48aa48aa48aa48aa"),
        ] {
            assert_eq!(cursor(previous, last), expected);
            assert!(expected > previous);
        }
    }
}

//! Creates and revokes API tokens. The stored document of a token cannot be used as a token.

pub(crate) mod exchange;
pub(crate) mod handler;
pub(crate) mod rule_changes;
pub(crate) mod rules;

use terrace_base::time::UnixTime;
use terrace_core::auth::access::{
    ClientToken, Resource, RevocationDocument, SIGN_IN, Token, TokenDocument, TokenKeys,
};
use terrace_core::auth::login::PendingToken;
use terrace_core::http::problem::Problem;
use terrace_core::model::token_id::TokenId;
use terrace_core::storage::key::FactKey;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Host};
use crate::index::index_refresh;
use crate::{documents, json};

/// Creates the token that a person allowed. If that was done before, the code was used twice, and its bearer
/// may not be the right one: the token is revoked, and none is returned (RFC 6749, section 4.1.2). The token of an OAuth client
/// is for `resource` only.
pub(crate) async fn make_for_login<P: Host>(
    ctx: &Context<'_, P>,
    (token, resource): (PendingToken, Option<Resource>),
    lifetime: u64,
) -> Result<Option<String>, Failure> {
    let PendingToken { id, person, scopes } = token;
    let now = ctx.host.clock().now();
    let document = TokenDocument {
        name: person.name,
        scopes,
        created: now,
        by: format!("{SIGN_IN}{}", person.account),
        expires: Some(UnixTime(now.0.saturating_add(lifetime))),
        revoked: None,
        successor: None,
        key: ctx.config.access.keys().map(TokenKeys::mark),
        resource,
    };
    let made = make(ctx, id, &document).await?;
    if made.is_none() {
        revoke_known(ctx, id).await?;
    }
    Ok(made)
}

/// Stores the document of a token before the token is handed out, so that each can be revoked; `None` if one
/// with this id exists.
pub(crate) async fn make<P: Host>(
    ctx: &Context<'_, P>,
    id: TokenId,
    document: &TokenDocument,
) -> Result<Option<String>, Failure> {
    let (key, text) = (FactKey::Token(id), json::text(document)?);
    let written = documents::put(ctx, &key, &text, &[], Condition::Absent);
    if written.await?.is_none() {
        return Ok(None);
    }
    text_of(ctx, id, document).map(Some)
}

/// Returns the text of a token that is stored.
pub(crate) fn text_of<P: Host>(
    ctx: &Context<'_, P>,
    id: TokenId,
    document: &TokenDocument,
) -> Result<String, Failure> {
    if let Some(resource) = &document.resource {
        let name = document.name.clone();
        let token = ClientToken::new(id, name, &document.scopes, resource.clone());
        let expires = document.expires.unwrap_or(UnixTime(u64::MAX));
        let keys = ctx.config.access.client_keys();
        let keys = keys.ok_or_else(Problem::no_token)?;
        return Ok(keys.write(&token, expires));
    }
    let token = Token {
        id,
        name: document.name.clone(),
        scopes: document.scopes.clone(),
        expires: document.expires,
        is_of_previous: false,
        provenance: None,
    };
    let keys = ctx.config.access.keys();
    Ok(keys.ok_or_else(Problem::no_token)?.write(&token))
}

/// Selects the token that replaces one: the same at each call while that token is valid, so that a repeated rotation does
/// not leave several. Returns the replaced token, the ID of the one that replaces it, and that one, if it exists already.
pub(crate) async fn succeed<P: Host>(
    ctx: &Context<'_, P>,
    id: TokenId,
) -> Result<(TokenDocument, TokenId, Option<TokenDocument>), Failure> {
    let key = FactKey::Token(id);
    loop {
        let (old, unchanged) = documents::read_for_change::<_, TokenDocument>(ctx, &key).await?;
        let unknown = || Problem::NotFound(format!("there is no token {id}"));
        let old = old.ok_or_else(unknown)?;
        if is_dead(ctx, id, &old).await? {
            return Err(dead(id, &old).into());
        }
        if let Some(known) = old.successor {
            let document = document(ctx, known).await?;
            let next = document.as_ref().and_then(|it| it.successor);
            if let Some(next) = next {
                let message = format!(
                    "token {id} was replaced by {known}, and that by {next}: rotate {next} instead"
                );
                return Err(Problem::Conflict(vec![message]).into());
            }
            // Without a document, an earlier request ended before it created the token.
            let is_valid = match &document {
                Some(document) => !is_dead(ctx, known, document).await?,
                None => true,
            };
            if is_valid {
                return Ok((old, known, document));
            }
        }
        let successor = TokenId::new(ctx.host.random());
        let old = TokenDocument {
            successor: Some(successor),
            ..old
        };
        let text = json::text(&old)?;
        let written = documents::put(ctx, &key, &text, &[], unchanged);
        if written.await?.is_some() {
            return Ok((old, successor, None));
        }
    }
}

/// Returns whether a token is expired or revoked.
async fn is_dead<P: Host>(
    ctx: &Context<'_, P>,
    id: TokenId,
    document: &TokenDocument,
) -> Result<bool, Failure> {
    let now = ctx.host.clock().now();
    let revocation: Option<RevocationDocument> =
        documents::read(ctx, &FactKey::Revocation(id)).await?;
    let ends = [revocation.map(|it| it.from), document.expires];
    Ok(ends.into_iter().flatten().any(|time| time <= now))
}

/// Returns the error for a token that is expired or revoked, with the token that replaces it, if there is one.
fn dead(id: TokenId, old: &TokenDocument) -> Problem {
    let advice = match old.successor {
        Some(successor) => format!(", and was replaced by {successor}: rotate {successor}, or"),
        None => ":".to_owned(),
    };
    let message = format!("token {id} is expired or revoked{advice} create a new one");
    Problem::Conflict(vec![message])
}

/// Revokes a token, and returns whether it was created here.
pub(crate) async fn revoke_known<P: Host>(
    ctx: &Context<'_, P>,
    id: TokenId,
) -> Result<bool, Failure> {
    let document = document(ctx, id).await?;
    let now = ctx.host.clock().now();
    let expires = document.as_ref().and_then(|document| document.expires);
    revoke(ctx, id, expires, now).await?;
    Ok(document.is_some())
}

/// Revokes a token, whether it was created here or issued for an hour only. Returns the time from which it is revoked. The
/// fact is written first; a retry of the same request can write everything derived from it.
pub(crate) async fn revoke<P: Host>(
    ctx: &Context<'_, P>,
    id: TokenId,
    expires: Option<UnixTime>,
    from: UnixTime,
) -> Result<UnixTime, Failure> {
    let key = FactKey::Revocation(id);
    let from = loop {
        let (known, unchanged) =
            documents::read_for_change::<_, RevocationDocument>(ctx, &key).await?;
        // A revocation is never postponed, even if a later request asks for an overlap.
        let from = known.map_or(from, |known| known.from.min(from));
        let revocation = RevocationDocument { from, expires };
        let (text, metadata) = (json::text(&revocation)?, revocation.to_metadata());
        let written = documents::put(ctx, &key, &text, &metadata, unchanged);
        if written.await?.is_some() {
            break from;
        }
    };
    let (change, marker) = (FactKey::RevocationChange, ctx.change_marker());
    documents::put(ctx, &change, &marker, &[], Condition::Any).await?;
    index_refresh::refresh_revocations(ctx).await?;
    write_revoked(ctx, id, from).await?;
    Ok(from)
}

/// Records the revocation in the document of a token.
async fn write_revoked<P: Host>(
    ctx: &Context<'_, P>,
    id: TokenId,
    from: UnixTime,
) -> Result<(), Failure> {
    let key = FactKey::Token(id);
    loop {
        let (known, unchanged) = documents::read_for_change::<_, TokenDocument>(ctx, &key).await?;
        let Some(known) = known else { return Ok(()) };
        let from = known.revoked.map_or(from, |known| known.min(from));
        let revoked = TokenDocument {
            revoked: Some(from),
            ..known
        };
        let text = json::text(&revoked)?;
        let written = documents::put(ctx, &key, &text, &[], unchanged);
        if written.await?.is_some() {
            return Ok(());
        }
    }
}

pub(crate) async fn document<P: Host>(
    ctx: &Context<'_, P>,
    id: TokenId,
) -> Result<Option<TokenDocument>, Failure> {
    documents::read(ctx, &FactKey::Token(id)).await
}

/// Returns the path of a token in the admin API.
pub(crate) fn path(id: TokenId) -> String {
    format!("/admin/v1/tokens/{id}")
}

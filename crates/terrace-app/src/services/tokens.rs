//! API tokens: made and revoked. What is stored of one cannot be used as one.

use terrace_base::time::UnixTime;
use terrace_core::auth::access::{RevocationDocument, Token, TokenDocument};
use terrace_core::auth::login::Allowed;
use terrace_core::http::problem::Problem;
use terrace_core::model::token_id::TokenId;
use terrace_core::storage::key::FactKey;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Host};
use crate::json;
use crate::services::{documents, indexer};

/// Makes the token that a person has allowed, unless that was done before: then whoever has it may not
/// be who it was allowed to, so it is revoked, and there is none (RFC 6749, section 4.1.2).
pub(crate) async fn make_for_login<P: Host>(
    ctx: &Context<'_, P>,
    token: Allowed,
    lifetime: u64,
) -> Result<Option<String>, Failure> {
    let Allowed { id, person, scopes } = token;
    let now = ctx.host.clock().now();
    let document = TokenDocument {
        name: person.name,
        scopes,
        created: now,
        by: format!("login as {}", person.account),
        expires: Some(UnixTime(now.0.saturating_add(lifetime))),
        revoked: None,
    };
    let made = make(ctx, id, &document).await?;
    if made.is_none() {
        revoke_known(ctx, id).await?;
    }
    Ok(made)
}

/// Stores what is known of a token before anybody has it, so that each can be revoked; `None` if there
/// is one of this id.
pub(crate) async fn make<P: Host>(
    ctx: &Context<'_, P>,
    id: TokenId,
    document: &TokenDocument,
) -> Result<Option<String>, Failure> {
    let (key, said) = (FactKey::Token(id), json::text(document)?);
    let written = documents::put(ctx, &key, &said, &[], Condition::Absent);
    if written.await?.is_none() {
        return Ok(None);
    }
    let token = Token {
        id,
        name: document.name.clone(),
        scopes: document.scopes.clone(),
        expires: document.expires,
        is_of_previous: false,
    };
    let Some(keys) = ctx.config.access.keys() else {
        return Err(Problem::no_token().into());
    };
    Ok(Some(keys.write(&token)))
}

/// Revokes a token, and returns whether it is known here.
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

/// Revokes a token, whether it was made here or given to somebody for an hour. The fact comes first;
/// what follows from it can be made again by the same request.
pub(crate) async fn revoke<P: Host>(
    ctx: &Context<'_, P>,
    id: TokenId,
    expires: Option<UnixTime>,
    from: UnixTime,
) -> Result<(), Failure> {
    let key = FactKey::Revocation(id);
    let from = loop {
        let (known, unchanged) =
            documents::read_for_change::<_, RevocationDocument>(ctx, &key).await?;
        // Once dead it stays so, whoever says later that it may live on for a while.
        let from = known.map_or(from, |known| known.from.min(from));
        let revocation = RevocationDocument { from, expires };
        let (said, metadata) = (json::text(&revocation)?, revocation.to_metadata());
        let written = documents::put(ctx, &key, &said, &metadata, unchanged);
        if written.await?.is_some() {
            break from;
        }
    };
    let (change, marker) = (FactKey::RevocationChange, ctx.change_marker());
    documents::put(ctx, &change, &marker, &[], Condition::Any).await?;
    indexer::refresh_revocations(ctx).await?;
    write_revoked(ctx, id, from).await
}

/// Writes into what is known of a token that it is revoked.
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
        let said = json::text(&revoked)?;
        let written = documents::put(ctx, &key, &said, &[], unchanged);
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

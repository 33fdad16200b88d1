//! Creates and revokes API tokens. The stored document of a token cannot be used as a token.

use terrace_base::time::UnixTime;
use terrace_core::auth::access::{RevocationDocument, Token, TokenDocument};
use terrace_core::auth::login::PendingToken;
use terrace_core::http::problem::Problem;
use terrace_core::model::token_id::TokenId;
use terrace_core::storage::key::FactKey;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Host};
use crate::json;
use crate::services::{documents, index_refresh};

/// Creates the token that a person allowed. If that was done before, the code was used twice, and its bearer
/// may not be the right one: the token is revoked, and none is returned (RFC 6749, section 4.1.2).
pub(crate) async fn make_for_login<P: Host>(
    ctx: &Context<'_, P>,
    token: PendingToken,
    lifetime: u64,
) -> Result<Option<String>, Failure> {
    let PendingToken { id, person, scopes } = token;
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
    let token = Token {
        id,
        name: document.name.clone(),
        scopes: document.scopes.clone(),
        expires: document.expires,
        is_of_previous: false,
        provenance: None,
    };
    let Some(keys) = ctx.config.access.keys() else {
        return Err(Problem::no_token().into());
    };
    Ok(Some(keys.write(&token)))
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

/// Revokes a token, whether it was created here or issued for an hour only. The fact is written first; a
/// retry of the same request can write everything derived from it.
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
    write_revoked(ctx, id, from).await
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

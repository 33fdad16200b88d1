//! Manages signing keys.

use std::cell::Cell;

use terrace_core::api::admin::{KeyAddition, KeyChangeAnswer, SigningKeysDocument, StatusBody};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::limits;
use terrace_core::maintenance::audit::StatusChange;
use terrace_core::model::name::Namespace;
use terrace_core::model::status::{ACTIVE, KeyState, KeyStatus, Reason};
use terrace_core::storage::release::SigningKeyDocument;
use terrace_openpgp::{KeyId, parse_signing_keys};

use crate::context::Context;
use crate::documents::keys;
use crate::host::{Clock as _, Host};
use crate::index::index_refresh;
use crate::outcome::{AuditDetails, Call, Handled, Outcome};
use crate::{json, listing};

pub(crate) async fn list<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    namespace: Namespace,
) -> Handled<P::Stream> {
    listing::only(&call, &[])?;
    let (document, _) = keys::document(ctx, &namespace).await?;
    Ok(answer(200, &document).into())
}

pub(crate) async fn add<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    namespace: Namespace,
) -> Handled<P::Stream> {
    let text = std::str::from_utf8(&call.body).map_err(|_| {
        Problem::BadRequest("the body is not UTF-8 text: send the key in ASCII armour".to_owned())
    })?;
    let added: Vec<SigningKeyDocument> = parse_signing_keys(text)
        .map_err(|error| Problem::Invalid(vec![error.to_string()]))?
        .iter()
        .map(SigningKeyDocument::from)
        .collect();
    let addition = KeyAddition {
        at: ctx.host.clock().now(),
        by: call.caller.name(),
    };
    let add = |document: &mut SigningKeysDocument| add_to(document, &added, &addition);
    let changed = keys::change(ctx, &namespace, &add).await?;
    Ok(answer(200, &changed).into())
}

pub(crate) async fn remove<P: Host>(
    ctx: &Context<'_, P>,
    namespace: Namespace,
    key_id: KeyId,
) -> Handled<P::Stream> {
    let changed = keys::change(ctx, &namespace, &|document| {
        let before = document.keys.len();
        document.keys.retain(|key| key.key_id != key_id);
        if document.keys.len() == before {
            let message = format!("namespace {namespace} has no signing key {key_id}");
            return Err(Problem::NotFound(message));
        }
        document.added.remove(&key_id);
        Ok(true)
    })
    .await?;
    Ok(answer(200, &changed).into())
}

/// Retires or revokes a key, or reverts that, and refreshes the indices of the releases that it signed. One
/// request refreshes only some of them; the response contains the cursor for the next.
pub(crate) async fn change_status<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    namespace: Namespace,
    key_id: KeyId,
) -> Handled<P::Stream> {
    let after = call.after();
    let StatusBody { state, reason } = json::parse(&call.body)?;
    let invalid = |error: &dyn ToString| Problem::Invalid(vec![error.to_string()]);
    let reason: Reason = reason.parse().map_err(|error| invalid(&error))?;
    let state: Option<KeyState> = match state.as_str() {
        ACTIVE => None,
        state => Some(state.parse().map_err(|error| invalid(&error))?),
    };
    let status = state.map(|state| KeyStatus {
        state,
        reason: reason.clone(),
        at: ctx.host.clock().now(),
        by: call.caller.name(),
    });
    let state_before = Cell::new(None);
    keys::change(ctx, &namespace, &|document| {
        let is_known = document.keys.iter().any(|key| key.key_id == key_id);
        let before = document.statuses.get(&key_id);
        state_before.set(before.map(|it| it.state));
        if !is_known && before.is_none() {
            let message = format!("namespace {namespace} has no signing key {key_id}");
            return Err(Problem::NotFound(message));
        }
        let state_and_reason = |it: &KeyStatus| (it.state, it.reason.clone());
        let changes = before.map(state_and_reason) != status.as_ref().map(state_and_reason);
        if changes && after.is_some() {
            let message = "after is set, but it only continues an earlier change to the same status, and this change differs: omit after";
            return Err(Problem::BadRequest(message.to_owned()));
        }
        if changes {
            match status.clone() {
                Some(status) => document.statuses.insert(key_id, status),
                None => document.statuses.remove(&key_id),
            };
        }
        Ok(changes)
    })
    .await?;
    let next = index_refresh::refresh_signed_by(ctx, &namespace, key_id, after.as_deref()).await?;
    let (keys, _) = keys::document(ctx, &namespace).await?;
    let change = StatusChange::of_states([state_before.get(), state], &reason);
    let reply = json::reply(200, &KeyChangeAnswer { keys, next })?;
    Ok(Outcome::new(reply, AuditDetails::Status(change)))
}

/// Adds keys. A key with the same fingerprint is replaced, since its owner may have extended its validity; its addition stays
/// the first one.
fn add_to(
    document: &mut SigningKeysDocument,
    added: &[SigningKeyDocument],
    addition: &KeyAddition,
) -> Result<bool, Problem> {
    let before = document.keys.clone();
    for key in added {
        let known = document
            .keys
            .iter_mut()
            .find(|known| known.fingerprint == key.fingerprint);
        match known {
            Some(known) => known.clone_from(key),
            None => {
                document.keys.push(key.clone());
                document.added.insert(key.key_id, addition.clone());
            }
        }
    }
    if document.keys.len() > limits::KEYS {
        let limit = limits::KEYS;
        let reason = format!(
            "the namespace would have more than {limit} signing keys, the maximum: remove one first"
        );
        return Err(Problem::Invalid(vec![reason]));
    }
    Ok(document.keys != before)
}

fn answer<S>(status: u16, document: &SigningKeysDocument) -> Reply<S> {
    let text = serde_json::to_string(document).unwrap_or_default();
    Reply::json(status, CachePolicy::NoStore, text)
}

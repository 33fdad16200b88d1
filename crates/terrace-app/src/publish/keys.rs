//! Manages signing keys.

use std::cell::Cell;

use terrace_core::api::admin::{KeyAddition, KeyChangeAnswer, SigningKeysDocument, StatusBody};
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::maintenance::audit::StatusChange;
use terrace_core::model::name::Namespace;
use terrace_core::model::status::{ACTIVE, KeyState, KeyStatus, Reason};
use terrace_core::storage::release::SigningKeyDocument;
use terrace_openpgp::{KeyId, SigningKey, key_text, parse_signing_keys};

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
    Ok(json::reply(200, &document.answer(None))?.into())
}

/// Adds keys, and refreshes the indices of the releases that have another copy of one of them, as [`change_status`] does.
pub(crate) async fn add<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    namespace: Namespace,
) -> Handled<P::Stream> {
    let after = call.after();
    let text = key_text(&call.body).ok_or_else(|| {
        Problem::BadRequest("the body is not text: send the key in ASCII armour".to_owned())
    })?;
    let added =
        parse_signing_keys(&text).map_err(|error| Problem::Invalid(vec![error.to_string()]))?;
    let addition = KeyAddition {
        at: ctx.host.clock().now(),
        by: call.caller.name(),
    };
    let add = |document: &mut SigningKeysDocument| {
        let changes = add_to(document, &added, &addition)?;
        check_continues(after.as_deref(), changes)?;
        Ok(changes)
    };
    let changed = keys::change(ctx, &namespace, &add).await?;
    let mut next = None;
    if added
        .iter()
        .any(|key| changed.updated.contains_key(&key.key_id()))
    {
        let has_other_copy = |own: &SigningKeyDocument| {
            let mut keys = changed.keys.iter();
            let current = keys.find(|it| it.fingerprint == own.fingerprint);
            // The indices of a key that was added after its removal may have the removed copy.
            let [added, updated] = [&changed.added, &changed.updated].map(|it| it.get(&own.key_id));
            current.is_some_and(|it| it.ascii_armor != own.ascii_armor || added == updated)
        };
        let after = after.as_deref();
        next = index_refresh::refresh_signed_by(ctx, &namespace, &has_other_copy, after).await?;
    }
    Ok(json::reply(200, &changed.answer(next))?.into())
}

pub(crate) async fn remove<P: Host>(
    ctx: &Context<'_, P>,
    namespace: Namespace,
    key_id: KeyId,
) -> Handled<P::Stream> {
    let changed = keys::change(ctx, &namespace, &|document| {
        let at = document.keys.iter().position(|key| key.key_id == key_id);
        let Some(at) = at else {
            let message = format!("namespace {namespace} has no signing key {key_id}");
            return Err(Problem::NotFound(message));
        };
        document.removed.push(document.keys.remove(at));
        if document.removed.len() > limits::KEYS {
            document.removed.remove(0);
        }
        document.added.remove(&key_id);
        document.updated.remove(&key_id);
        Ok(true)
    })
    .await?;
    Ok(json::reply(200, &changed.answer(None))?.into())
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
        check_continues(after.as_deref(), changes)?;
        if changes {
            match status.clone() {
                Some(status) => document.statuses.insert(key_id, status),
                None => document.statuses.remove(&key_id),
            };
        }
        Ok(changes)
    })
    .await?;
    let is_signed_by = |it: &SigningKeyDocument| it.key_id == key_id;
    let after = after.as_deref();
    let next = index_refresh::refresh_signed_by(ctx, &namespace, &is_signed_by, after).await?;
    let (keys, _) = keys::document(ctx, &namespace).await?;
    let keys = keys.answer(None);
    let change = StatusChange::of_states([state_before.get(), state], &reason);
    let reply = json::reply(200, &KeyChangeAnswer { keys, next })?;
    Ok(Outcome::new(reply, AuditDetails::Status(change)))
}

/// Checks that a request with `after` changes nothing, because an earlier one has made the change.
fn check_continues(after: Option<&str>, changes: bool) -> Result<(), Problem> {
    if changes && after.is_some() {
        let message = "after is set, but it only continues an earlier request with the same change, and this change differs: omit after";
        return Err(Problem::BadRequest(message.to_owned()));
    }
    Ok(())
}

/// Adds keys. The copies of a key are merged, since its owner may have extended its validity; its addition stays the first one.
fn add_to(
    document: &mut SigningKeysDocument,
    added: &[SigningKey],
    addition: &KeyAddition,
) -> Result<bool, Problem> {
    let before = document.keys.clone();
    for key in added {
        let key_id = key.key_id();
        let is_copy = |it: &SigningKeyDocument| it.fingerprint == key.fingerprint();
        match document.keys.iter_mut().find(|it| is_copy(it)) {
            Some(known) => {
                let merged = SigningKey::from_stored(&known.ascii_armor)
                    .and_then(|known| known.merged(key))
                    .and_then(|merged| merged.check_dates(addition.at).map(|()| merged))
                    .map_err(|error| {
                        Problem::Invalid(vec![format!(
                            "key {key_id} is registered, and its two copies cannot be merged: {error}. To replace the \
                             registered copy, remove it first"
                        )])
                    })?;
                if known.ascii_armor != merged.ascii_armor() {
                    *known = SigningKeyDocument::from(&merged);
                    document.updated.insert(key_id, addition.clone());
                }
            }
            None => {
                key.check_dates(addition.at)
                    .map_err(|error| Problem::Invalid(vec![error.to_string()]))?;
                let is_changed = |it: &SigningKeyDocument| it.ascii_armor != key.ascii_armor();
                if document
                    .removed
                    .iter()
                    .any(|it| is_copy(it) && is_changed(it))
                {
                    document.updated.insert(key_id, addition.clone());
                }
                document.removed.retain(|it| !is_copy(it));
                document.keys.push(SigningKeyDocument::from(key));
                document.added.insert(key_id, addition.clone());
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

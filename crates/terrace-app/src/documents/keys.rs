//! The signing keys of a namespace: one small document, changed by compare-and-swap.

use std::collections::BTreeMap;

use terrace_core::api::admin::SigningKeysDocument;
use terrace_core::http::problem::Problem;
use terrace_core::model::name::Namespace;
use terrace_core::model::status::KeyStatus;
use terrace_core::storage::key::FactKey;
use terrace_openpgp::{KeyId, SigningKey, parse_signing_keys};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Condition, Host};
use crate::{documents, json};

/// A change of the document: returns whether it changes anything, or the reason why it is rejected.
type Change<'a> = &'a dyn Fn(&mut SigningKeysDocument) -> Result<bool, Problem>;

/// Returns the namespace's keys, ready to verify with, and their status.
pub(crate) async fn verifying<P: Host>(
    ctx: &Context<'_, P>,
    namespace: &Namespace,
) -> Result<(Vec<SigningKey>, BTreeMap<KeyId, KeyStatus>), Failure> {
    let (document, _) = document(ctx, namespace).await?;
    let mut keys = Vec::new();
    for key in &document.keys {
        let parsed = parse_signing_keys(&key.ascii_armor)
            .map_err(|error| Failure::Corrupt(format!("key {}: {error}", key.key_id)))?;
        keys.extend(parsed);
    }
    Ok((keys, document.statuses))
}

/// Reads, changes and writes the document, until no other write comes in between.
pub(crate) async fn change<P: Host>(
    ctx: &Context<'_, P>,
    namespace: &Namespace,
    change: Change<'_>,
) -> Result<SigningKeysDocument, Failure> {
    loop {
        let (mut document, condition) = document(ctx, namespace).await?;
        if !change(&mut document)? {
            return Ok(document);
        }
        let text = json::text(&document)?;
        let key = FactKey::SigningKeys(namespace.clone());
        let written = documents::put(ctx, &key, &text, &[], condition).await?;
        if written.is_some() {
            return Ok(document);
        }
    }
}

pub(crate) async fn document<P: Host>(
    ctx: &Context<'_, P>,
    namespace: &Namespace,
) -> Result<(SigningKeysDocument, Condition), Failure> {
    let key = FactKey::SigningKeys(namespace.clone());
    let (document, unchanged) = documents::read_for_change(ctx, &key).await?;
    Ok((Option::unwrap_or_default(document), unchanged))
}

//! The stored documents about the origins of pulled providers.

use terrace_base::time::UnixTime;
use terrace_core::model::address::MirroredAddress;
use terrace_core::storage::key::FactKey;
use terrace_core::storage::release::SigningKeyDocument;
use terrace_core::upstream::pull::OriginDocument;

use crate::context::Context;
use crate::documents::BUSY_TRIES;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, StoreError};
use crate::{documents, json};

/// Allows a key to sign versions of a pulled provider, because an administrator mirrored a version signed
/// with it.
pub(crate) async fn trust_key<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    key: &SigningKeyDocument,
) -> Result<(), Failure> {
    if ctx.config.pull.pulls(address) {
        let with_key = |before: Option<OriginDocument>, _| before.unwrap_or_default().with_key(key);
        change(ctx, address, with_key).await?;
    }
    Ok(())
}

/// Returns the last known state of a provider at its origin, and the etag of the document.
pub(crate) async fn document<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
) -> Result<Option<(OriginDocument, String)>, Failure> {
    let key = FactKey::Origin(address.clone());
    let Some(fact) = ctx.host.facts().get(&key).await? else {
        return Ok(None);
    };
    let document = OriginDocument::from_document(&fact.bytes)
        .map_err(|error| Failure::Corrupt(format!("{key}: {error}")))?;
    Ok(Some((document, fact.etag)))
}

/// Reads, changes and writes the document, until no other write comes in between.
pub(crate) async fn change<P: Host>(
    ctx: &Context<'_, P>,
    address: &MirroredAddress,
    change: impl Fn(Option<OriginDocument>, UnixTime) -> OriginDocument,
) -> Result<OriginDocument, Failure> {
    let key = FactKey::Origin(address.clone());
    for _ in 0..BUSY_TRIES {
        let (before, etag) = document(ctx, address).await?.unzip();
        let after = change(before.clone(), ctx.host.clock().now());
        if before.as_ref() == Some(&after) {
            return Ok(after);
        }
        let condition = etag.map_or(Condition::Absent, Condition::Unchanged);
        let text = json::text(&after)?;
        let written = documents::put(ctx, &key, &text, &[], condition).await?;
        if written.is_some() {
            return Ok(after);
        }
    }
    Err(StoreError::Busy(key.to_string()).into())
}

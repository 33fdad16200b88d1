//! Indices that follow a fact: each is written until it is known to be the newest.

use std::cell::Cell;

use futures_util::future::join_all;
use terrace_core::limits;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey};

use crate::concurrent::Boxed;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, Indices as _, Revision, StoreError};
use crate::services::catalog::Indexed;
use crate::services::documents::BUSY_TRIES;

/// Indices that are written together, and that many may wait to write.
pub(crate) struct Coalesced {
    /// By what name others are told.
    name: IndexKey,
    has_written: Cell<bool>,
}

impl Coalesced {
    pub(crate) fn new(name: IndexKey) -> Self {
        Self {
            name,
            has_written: Cell::new(false),
        }
    }

    /// Whether anything may have been written.
    pub(crate) fn has_written(&self) -> bool {
        self.has_written.get()
    }
}

/// Writes what follows a fact, and again as long as that changes meanwhile; why this ends with the
/// newest is told in [`terrace_core::index`]. Tells whether it did.
pub(crate) async fn until_current<'w, P: Host>(
    ctx: &Context<'_, P>,
    fact: &FactKey,
    write: &dyn Fn() -> Boxed<'w>,
) -> Result<bool, Failure> {
    coalesced(ctx, fact, None, write).await
}

/// The same for what many may wait to write, since it takes one write a second: who had to wait tells
/// the others by which state of the fact it is written, so that one of them writes for all.
pub(crate) async fn coalesced<'w, P: Host>(
    ctx: &Context<'_, P>,
    fact: &FactKey,
    shared: Option<&Coalesced>,
    write: &dyn Fn() -> Boxed<'w>,
) -> Result<bool, Failure> {
    let facts = ctx.host.facts();
    let mut has_waited = false;
    for _ in 0..limits::REFRESH_ROUNDS {
        let before = facts.revision(fact).await?;
        if has_waited && is_written(ctx, shared, before.as_ref()).await? {
            return Ok(true);
        }
        match write().await {
            // What others commit meanwhile is in the next one.
            Err(Failure::Store(StoreError::Busy(_))) => {
                has_waited = true;
                ctx.host.clock().sleep(1).await;
            }
            Err(failure) => return Err(failure),
            Ok(()) => {
                if facts.revision(fact).await? == before {
                    if has_waited {
                        tell_written(ctx, shared, before.as_ref()).await;
                    }
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Whether somebody else has written indices by this state of what they follow, and nothing was
/// written here that may have replaced them.
async fn is_written<P: Host>(
    ctx: &Context<'_, P>,
    shared: Option<&Coalesced>,
    state: Option<&Revision>,
) -> Result<bool, StoreError> {
    let (Some(shared), Some(state)) = (shared, state) else {
        return Ok(false);
    };
    if shared.has_written() {
        return Ok(false);
    }
    let key = FactKey::Written(shared.name.clone());
    let told = ctx.host.facts().get(&key).await?;
    Ok(told.is_some_and(|told| told.bytes == state.0.as_bytes()))
}

/// Tells whoever waits. If that fails, they write it themselves.
async fn tell_written<P: Host>(
    ctx: &Context<'_, P>,
    shared: Option<&Coalesced>,
    state: Option<&Revision>,
) {
    if let (Some(shared), Some(state)) = (shared, state) {
        let key = FactKey::Written(shared.name.clone());
        let facts = ctx.host.facts();
        if let Err(error) = facts.put(&key, &state.0, &[], Condition::Any).await {
            ctx.host.log(&format!("storage: {error}"));
        }
    }
}

/// Writes indices that follow one fact: whoever is the first at the first of them, writes the others. If
/// all were written at once, of many each could be the first at another one, and nobody at all.
pub(crate) async fn write<P: Host>(
    ctx: &Context<'_, P>,
    indices: &Indexed,
    shared: &Coalesced,
) -> Result<(), StoreError> {
    let put = async |(key, document): &(IndexKey, IndexDocument)| {
        let written = ctx.host.indices().put(key, document).await;
        // What fails may take effect.
        if !matches!(written, Err(StoreError::Busy(_))) {
            shared.has_written.set(true);
        }
        written
    };
    let mut indices = indices.iter();
    if let Some(first) = indices.next() {
        put(first).await?;
    }
    outcome(join_all(indices.map(put)).await)
}

/// Changes the fact that tells of changes. It takes one write a second, and whose it is does not
/// matter: if somebody else's comes while this one waits, it is told.
pub(crate) async fn mark<P: Host>(ctx: &Context<'_, P>, fact: &FactKey) -> Result<(), StoreError> {
    let facts = ctx.host.facts();
    let marker = ctx.change_marker();
    let mut waiting_since = None;
    for _ in 1..BUSY_TRIES {
        match facts.put(fact, &marker, &[], Condition::Any).await {
            Err(StoreError::Busy(_)) => {}
            other => return other.map(drop),
        }
        let now = facts.revision(fact).await?;
        if waiting_since.is_some_and(|then| then != now) {
            return Ok(());
        }
        waiting_since = Some(now);
        ctx.host.clock().sleep(1).await;
    }
    facts
        .put(fact, &marker, &[], Condition::Any)
        .await
        .map(drop)
}

/// What became of several writes: that one of them was refused is told only where nothing worse is to be
/// told.
fn outcome(written: Vec<Result<(), StoreError>>) -> Result<(), StoreError> {
    let is_busy = |written: &Result<(), _>| matches!(written, Err(StoreError::Busy(_)));
    let (busy, others): (Vec<_>, Vec<_>) = written.into_iter().partition(is_busy);
    others.into_iter().chain(busy).collect()
}

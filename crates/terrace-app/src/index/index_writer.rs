//! The loop that writes the indices of one fact until they are known to be the newest, and that writes once for
//! many requests that wait for the same indices.

use std::cell::{Cell, RefCell};

use futures_util::future::join_all;
use futures_util::stream;
use futures_util::stream::StreamExt as _;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey};

use crate::concurrent::Boxed;
use crate::context::Context;
use crate::documents;
use crate::documents::BUSY_TRIES;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, Indices as _, Revision, StoreError};
use crate::index::expected_indices::Indexed;

/// Maximum number of times that an index is rewritten because a release was committed in the meantime. KV
/// allows one write per second to a key, so this is also the longest wait, in seconds.
const REFRESH_ROUNDS: u32 = 30;

/// How many indices are written at once. A Worker has six connections
/// (<https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections>): the many indices of a
/// version leave one to the lists, which are written at the same time.
const CONCURRENT_WRITES: usize = 5;

/// An index and its key.
type Index = (IndexKey, IndexDocument);

/// The indices that a request writes together.
pub(crate) struct Writing {
    /// The name under which requests that wait to write the same indices are notified; `None` if none of them waits.
    name: Option<IndexKey>,
    /// Those that may have been written, and were not compared with the newest facts yet.
    written: RefCell<Vec<IndexKey>>,
    /// Whether the current round has written nothing, because an earlier one has written the same.
    is_repeated: Cell<bool>,
}

impl Writing {
    /// Indices that many requests may be waiting to write.
    pub(crate) fn coalesced(name: IndexKey) -> Self {
        Self {
            name: Some(name),
            written: RefCell::default(),
            is_repeated: Cell::default(),
        }
    }

    /// Indices that each request writes itself.
    pub(crate) fn alone() -> Self {
        Self {
            name: None,
            written: RefCell::default(),
            is_repeated: Cell::default(),
        }
    }

    /// Notes that this round would write what an earlier one has written.
    pub(crate) fn note_repetition(&self) {
        self.is_repeated.set(true);
    }

    /// Returns whether anything may have been written.
    pub(crate) fn has_written(&self) -> bool {
        !self.written.borrow().is_empty()
    }

    /// Writes an index.
    pub(crate) async fn put<P: Host>(
        &self,
        ctx: &Context<'_, P>,
        key: &IndexKey,
        document: &IndexDocument,
    ) -> Result<(), StoreError> {
        let written = ctx.host.indices().put(key, document).await;
        ctx.host.cache().absences().forget();
        // A failed write may have taken effect.
        if !matches!(written, Err(StoreError::Busy(_))) {
            let mut written_keys = self.written.borrow_mut();
            if !written_keys.contains(key) {
                written_keys.push(key.clone());
            }
        }
        written
    }

    /// Removes the indices that were written and cannot be compared with the newest facts: they may be older, and nothing else
    /// might replace them. A read that misses its index is answered from the facts.
    pub(crate) async fn withdraw<P: Host>(&self, ctx: &Context<'_, P>) {
        let keys = self.written.take();
        let removed = join_all(keys.iter().map(async |key| {
            let delete = async || Ok(ctx.host.indices().delete(key).await?);
            documents::retry_while_busy(ctx, delete).await
        }));
        for failure in removed.await.into_iter().filter_map(Result::err) {
            // It may be older than the facts until the repair reaches it.
            ctx.report(failure);
        }
    }
}

/// Writes the indices that follow a fact, and again as long as the fact changes in the meantime;
/// [`terrace_core::index`] explains why this ends with the newest. Many requests may wait to write the same ones, because KV
/// allows one write per key and second: one that had to wait records the state of the fact that it wrote, so that one of them
/// writes for all. Returns `false` if [`REFRESH_ROUNDS`] rounds do not suffice. If it does not end with the newest, it
/// leaves none that it has written.
pub(crate) async fn until_current<'w, P: Host>(
    ctx: &Context<'_, P>,
    fact: &FactKey,
    writing: &Writing,
    write: &dyn Fn() -> Boxed<'w>,
) -> Result<bool, Failure> {
    let is_current = attempts(ctx, fact, writing, write).await;
    if !matches!(is_current, Ok(true)) {
        writing.withdraw(ctx).await;
    }
    is_current
}

async fn attempts<'w, P: Host>(
    ctx: &Context<'_, P>,
    fact: &FactKey,
    writing: &Writing,
    write: &dyn Fn() -> Boxed<'w>,
) -> Result<bool, Failure> {
    let facts = ctx.host.facts();
    let mut has_waited = false;
    for _ in 0..REFRESH_ROUNDS {
        let before = facts.revision(fact).await?;
        if has_waited && is_written(ctx, writing, before.as_ref()).await? {
            return Ok(true);
        }
        writing.is_repeated.set(false);
        match write().await {
            // The next round includes the commits that others make in the meantime.
            Err(Failure::Store(StoreError::Busy(_))) => {
                has_waited = true;
                ctx.host.clock().sleep(1).await;
            }
            Err(failure) => return Err(failure),
            Ok(()) => {
                if facts.revision(fact).await? == before {
                    // In the meantime, another request may have withdrawn the indices that an earlier round has written. Its retry
                    // would take the record for its own.
                    if has_waited && !writing.is_repeated.get() {
                        record_written(ctx, writing, before.as_ref()).await;
                    }
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// Returns whether another request has written the indices for this state of the fact, and this request has
/// written nothing that may have replaced them.
async fn is_written<P: Host>(
    ctx: &Context<'_, P>,
    writing: &Writing,
    state: Option<&Revision>,
) -> Result<bool, StoreError> {
    let (Some(name), Some(state)) = (&writing.name, state) else {
        return Ok(false);
    };
    if writing.has_written() {
        return Ok(false);
    }
    let key = FactKey::Written(name.clone());
    let written = ctx.host.facts().get(&key).await?;
    Ok(written.is_some_and(|written| written.bytes == state.0.as_bytes()))
}

/// Notifies the waiting requests. If that fails, they write the indices themselves.
async fn record_written<P: Host>(
    ctx: &Context<'_, P>,
    writing: &Writing,
    state: Option<&Revision>,
) {
    if let (Some(name), Some(state)) = (&writing.name, state) {
        let key = FactKey::Written(name.clone());
        let facts = ctx.host.facts();
        if let Err(error) = facts.put(&key, &state.0, &[], Condition::Any).await {
            ctx.host.log(&format!("storage: {error}"));
        }
    }
}

/// Writes indices that follow one fact. The writer that wins the first key writes the others. If all keys
/// were written at once, each of many concurrent requests could win a different key, and none of them all.
pub(crate) async fn write<P: Host>(
    ctx: &Context<'_, P>,
    indices: &Indexed,
    writing: &Writing,
) -> Result<(), StoreError> {
    let Some(((key, document), others)) = indices.split_first() else {
        return Ok(());
    };
    writing.put(ctx, key, document).await?;
    let put = async |(key, document): &Index| writing.put(ctx, key, document).await;
    let written = stream::iter(others.iter().map(put)).buffer_unordered(CONCURRENT_WRITES);
    outcome(written.collect().await)
}

/// Changes a change marker. It allows one write per second. The identity of the writer does not
/// matter: if another request changes the marker while this one waits, that suffices.
pub(crate) async fn rewrite_change_marker<P: Host>(
    ctx: &Context<'_, P>,
    fact: &FactKey,
) -> Result<(), StoreError> {
    let facts = ctx.host.facts();
    let marker = ctx.change_marker();
    let mut waiting_since = None;
    for _ in 1..BUSY_TRIES {
        match facts.put(fact, &marker, &[], Condition::Any).await {
            Err(StoreError::Busy(_)) => {}
            other => return other.map(drop),
        }
        let now = facts.revision(fact).await?;
        if waiting_since.as_ref().is_some_and(|then| *then != now) {
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

/// Combines the results of several writes: `Busy` is returned unless there is a worse error.
fn outcome(written: Vec<Result<(), StoreError>>) -> Result<(), StoreError> {
    let is_busy = |written: &Result<(), _>| matches!(written, Err(StoreError::Busy(_)));
    let (busy, others): (Vec<_>, Vec<_>) = written.into_iter().partition(is_busy);
    others.into_iter().chain(busy).collect()
}

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
use crate::documents::BUSY_TRIES;
use crate::failure::Failure;
use crate::host::{Clock as _, Condition, Facts as _, Host, Indices as _, Revision, StoreError};
use crate::index::expected_indices::Indexed;

/// Maximum number of times that an index is rewritten because a release was committed in the meantime. KV
/// allows one write per second to a key, so this is also the longest wait, in seconds.
const REFRESH_ROUNDS: u32 = 30;

/// Number of attempts of a publish to write an index that only people read, one second apart: people wait for no more than three
/// seconds. All
/// other indices of the publish have been written by then.
const FOR_PEOPLE_TRIES: u32 = 3;

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
        let busy = withdraw_all(ctx, self.written.take(), true).await;
        if !busy.is_empty() {
            // Each was written a moment ago.
            ctx.host.clock().sleep(1).await;
            withdraw_all(ctx, busy, false).await;
        }
    }
}

/// Removes indices. Returns those with keys that accept no write at the moment, if they can be removed later.
async fn withdraw_all<P: Host>(
    ctx: &Context<'_, P>,
    keys: Vec<IndexKey>,
    again: bool,
) -> Vec<IndexKey> {
    let removed = join_all(keys.iter().map(
        async |key| match ctx.host.indices().delete(key).await {
            Ok(()) => false,
            Err(StoreError::Busy(_)) if again => true,
            Err(error) => {
                ctx.host.log(&format!(
                    "storage: {error}; it may be older than the facts until the repair reaches it"
                ));
                false
            }
        },
    ));
    let busy = removed.await.into_iter().zip(keys);
    busy.filter_map(|(is_busy, key)| is_busy.then_some(key))
        .collect()
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
    let unwritten = write_all(ctx, indices, writing).await?.into_iter();
    outcome(unwritten.map(|(_, error)| Err(error)).collect())
}

/// Does the same as [`write`], but returns the error of an index that only people read apart, after a few attempts if its
/// key takes no write at the moment: for that alone, not all of the others are written again.
pub(crate) async fn write_for_clients<P: Host>(
    ctx: &Context<'_, P>,
    indices: &Indexed,
    writing: &Writing,
) -> Result<Option<StoreError>, StoreError> {
    let mut failure = None;
    for (index, error) in write_all(ctx, indices, writing).await? {
        let written = match error {
            StoreError::Busy(_) => write_when_free(ctx, index, writing).await,
            error @ StoreError::Failed { .. } => Err(error),
        };
        failure = failure.or(written.err());
    }
    Ok(failure)
}

/// Writes indices. Returns those that only people read and that could not be written, except for the first one if its key
/// takes no write at the moment: another writer has won it.
async fn write_all<'i, P: Host>(
    ctx: &Context<'_, P>,
    indices: &'i Indexed,
    writing: &Writing,
) -> Result<Vec<(&'i Index, StoreError)>, StoreError> {
    let Some((first, others)) = indices.split_first() else {
        return Ok(Vec::new());
    };
    let unwritten = RefCell::new(Vec::new());
    let set_aside = |index: &'i Index, error| match index.0.is_for_people() {
        true => {
            unwritten.borrow_mut().push((index, error));
            Ok(())
        }
        false => Err(error),
    };
    let (key, document) = first;
    match writing.put(ctx, key, document).await {
        Err(error @ StoreError::Failed { .. }) => set_aside(first, error)?,
        written => written?,
    }
    let put = async |index: &'i Index| {
        let (key, document) = index;
        let written = writing.put(ctx, key, document).await;
        written.or_else(|error| set_aside(index, error))
    };
    let written = stream::iter(others.iter().map(put)).buffer_unordered(CONCURRENT_WRITES);
    outcome(written.collect().await)?;
    Ok(unwritten.into_inner())
}

/// Writes an index under a key that accepted no write a moment ago.
async fn write_when_free<P: Host>(
    ctx: &Context<'_, P>,
    (key, document): &Index,
    writing: &Writing,
) -> Result<(), StoreError> {
    for _ in 2..FOR_PEOPLE_TRIES {
        ctx.host.clock().sleep(1).await;
        match writing.put(ctx, key, document).await {
            Err(StoreError::Busy(_)) => {}
            written => return written,
        }
    }
    ctx.host.clock().sleep(1).await;
    writing.put(ctx, key, document).await
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

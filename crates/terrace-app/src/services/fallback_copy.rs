//! The copy of the archives and blobs in the second bucket: compared with the main bucket page by page, and completed.
//!
//! A publish does not wait for the copy. An object that only the second bucket has is removed if it was erased, and otherwise
//! stays: the main bucket may be the one that lost it.

use terrace_core::limits;
use terrace_core::storage::failover::{CopyCounts, FallbackCopyDocument};
use terrace_core::storage::fallback::FallbackBucket;
use terrace_core::storage::key::{BytesKey, FactKey, IndexKey};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Condition, Host};
use crate::json;
use crate::services::{
    documents, failover, failover_changes, fallback_requests, garbage, inventory,
};

/// The differences of one page.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// The number of objects in the main bucket.
    pub(crate) stored: u64,
    /// Those that the second bucket does not have with this length, each with its length.
    pub(crate) missing: Vec<(BytesKey, u64)>,
    /// The objects that only the second bucket has.
    pub(crate) surplus: Vec<BytesKey>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}

impl Comparison {
    /// Returns whether there may be something to copy or to remove.
    fn has_differences(&self) -> bool {
        !self.missing.is_empty() || !self.surplus.is_empty()
    }
}

/// Compares a page of the two buckets. The page ends early when it has `most` missing objects.
pub(crate) async fn compare<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    after: Option<&str>,
    most: usize,
) -> Result<Comparison, Failure> {
    let limit = limits::COMPARED_AT_ONCE;
    // The main bucket first: an archive that is copied in the meantime is no difference.
    let stored = inventory::page(ctx, after, limit).await?;
    let (prefix, after) = inventory::place(after)?;
    let after = after.map(|after| format!("{prefix}{after}"));
    let copies = fallback_requests::list(ctx, fallback, prefix, (after.as_deref(), limit)).await?;
    let objects = stored.page.objects.into_iter();
    let objects: Vec<(String, u64)> = objects
        .map(|object| (format!("{prefix}{}", object.name), object.size))
        .collect();
    // Beyond the last key of a truncated list, nothing is known.
    let end_of = |objects: &[(String, u64)], is_truncated: bool| {
        let last = objects.last().map(|(key, _)| key.clone());
        last.filter(|_| is_truncated)
    };
    let ends = [
        end_of(&objects, stored.page.is_truncated),
        end_of(&copies.objects, copies.is_truncated),
    ];
    let mut end = ends.into_iter().flatten().min();
    let mut found = Comparison::default();
    for (key, size) in &objects {
        if end.as_ref().is_some_and(|end| key > end) {
            break;
        }
        found.stored += 1;
        let copy = size_in(&copies.objects, key);
        if copy == Some(*size) {
            continue;
        }
        // Objects with other keys are not the registry's.
        if let Some(bytes) = BytesKey::parse_key(key) {
            found.missing.push((bytes, *size));
        }
        if found.missing.len() == most {
            end = Some(key.clone());
            break;
        }
    }
    let is_before_end = |key: &String| end.as_ref().is_none_or(|end| key <= end);
    let is_surplus = |key: &String| size_in(&objects, key).is_none();
    let keys = copies.objects.iter().map(|(key, _)| key);
    let surplus = keys.filter(|key| is_before_end(key) && is_surplus(key));
    found.surplus = surplus.filter_map(|key| BytesKey::parse_key(key)).collect();
    found.next = end.or_else(|| inventory::after_last(prefix));
    Ok(found)
}

/// Returns the length of an object in a listing, which is in the order of the keys.
fn size_in(listed: &[(String, u64)], key: &str) -> Option<u64> {
    let place = listed.binary_search_by(|(known, _)| known.as_str().cmp(key));
    listed.get(place.ok()?).map(|(_, size)| *size)
}

/// Copies an object, natively. Returns `false` if the main bucket does not have it any more.
async fn copy<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    key: BytesKey,
) -> Result<bool, Failure> {
    let Some(opened) = ctx.host.archives().open(key).await? else {
        return Ok(false);
    };
    fallback_requests::store(ctx, fallback, key, opened).await?;
    Ok(true)
}

/// Returns those objects of the second bucket that were erased, or whose removal was interrupted.
pub(crate) async fn leftovers<P: Host>(
    ctx: &Context<'_, P>,
    surplus: &[BytesKey],
) -> Result<Vec<BytesKey>, Failure> {
    let mut found = Vec::new();
    let marked = garbage::marked_among(ctx, surplus).await?;
    for key in marked.iter().take(limits::SURPLUS_AT_ONCE) {
        if garbage::is_leftover(ctx, *key).await? {
            found.push(*key);
        }
    }
    Ok(found)
}

/// Removes [leftovers] from the second bucket. Returns their keys.
pub(crate) async fn remove_leftovers<P: Host>(
    ctx: &Context<'_, P>,
    surplus: &[BytesKey],
) -> Result<Vec<BytesKey>, Failure> {
    let found = leftovers(ctx, surplus).await?;
    for key in &found {
        garbage::remove_leftover(ctx, *key).await?;
    }
    Ok(found)
}

/// Drops those missing objects that are about to be removed, or were erased: they are not copied.
pub(crate) async fn drop_marked<P: Host>(
    ctx: &Context<'_, P>,
    missing: &mut Vec<(BytesKey, u64)>,
) -> Result<(), Failure> {
    let keys: Vec<BytesKey> = missing.iter().map(|(key, _)| *key).collect();
    let marked = garbage::marked_among(ctx, &keys).await?;
    missing.retain(|(key, _)| !marked.contains(key));
    Ok(())
}

/// The reason to take a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// It is the turn of the copy.
    Turn,
    /// Nothing else is to be done: a walk that has begun goes on.
    Leisure,
}

/// Compares the next page of the two buckets, and copies some of the missing objects. A failure is recorded for the operator. While
/// another step copies or removes, nothing is done.
pub(crate) async fn take_step<P: Host>(
    ctx: &Context<'_, P>,
    occasion: Occasion,
) -> Result<(), Failure> {
    let Some(fallback) = &ctx.config.fallback else {
        return Ok(());
    };
    let key = FactKey::FallbackCopy;
    let read = documents::read_for_change::<_, FallbackCopyDocument>(ctx, &key);
    let (stored, mut condition) = read.await?;
    let mut document = stored.unwrap_or_default().of_bucket(fallback.url());
    let is_due = occasion == Occasion::Turn || document.is_incomplete();
    if !is_due || document.is_taken(ctx.host.clock().now()) {
        return Ok(());
    }
    let after = document.next.as_deref();
    let compared = compare(ctx, fallback, after, usize::MAX).await;
    if compared.as_ref().is_ok_and(Comparison::has_differences) {
        match begin(ctx, &document, condition).await? {
            Some(begun) => condition = begun,
            None => return Ok(()),
        }
    }
    let taken = match compared {
        Ok(found) => walk_page(ctx, fallback, &mut document, found).await,
        Err(failure) => Err(failure),
    };
    document.begun = None;
    document.error = taken.as_ref().err().map(reason);
    let text = json::text(&document)?;
    documents::put(ctx, &key, &text, &[], condition).await?;
    if document.next.is_none() && document.last.is_some() {
        record(ctx, &document).await?;
    }
    taken
}

/// Records that a step begins to copy or to remove. Returns the condition that no other step has begun since; `None` if one has.
async fn begin<P: Host>(
    ctx: &Context<'_, P>,
    document: &FallbackCopyDocument,
    condition: Condition,
) -> Result<Option<Condition>, Failure> {
    let begun = FallbackCopyDocument {
        begun: Some(ctx.host.clock().now()),
        ..document.clone()
    };
    let (key, text) = (FactKey::FallbackCopy, json::text(&begun)?);
    let written = documents::put(ctx, &key, &text, &[], condition).await?;
    if written.is_none() {
        return Ok(None);
    }
    let read = documents::read_for_change::<_, FallbackCopyDocument>(ctx, &key);
    Ok(Some(read.await?.1))
}

/// Records a complete walk in KV, where the probe finds it while R2 does not answer; now and then also one with the same result.
async fn record<P: Host>(
    ctx: &Context<'_, P>,
    document: &FallbackCopyDocument,
) -> Result<(), Failure> {
    let key = IndexKey::FailoverCopy;
    let known = failover::text_of(ctx, &key).await?;
    let known: Option<FallbackCopyDocument> = failover::parsed(&known);
    if known.is_some_and(|known| document.repeats(&known)) {
        return Ok(());
    }
    failover_changes::put_index(ctx, &key, &document.index()).await
}

/// Returns the progress of the copy in the configured second bucket; `None` before its first step.
pub(crate) async fn progress<P: Host>(
    ctx: &Context<'_, P>,
) -> Result<Option<FallbackCopyDocument>, Failure> {
    let Some(fallback) = &ctx.config.fallback else {
        return Ok(None);
    };
    let stored: Option<FallbackCopyDocument> = documents::read(ctx, &FactKey::FallbackCopy).await?;
    Ok(stored.filter(|document| document.bucket == fallback.url()))
}

/// Copies some of the missing objects of a page, removes leftovers, and adds the page to the walk.
async fn walk_page<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    document: &mut FallbackCopyDocument,
    found: Comparison,
) -> Result<(), Failure> {
    let began = ctx.host.clock().now();
    let mut counts = CopyCounts {
        stored: found.stored,
        ..CopyCounts::default()
    };
    let mut missing = found.missing.into_iter();
    let mut next: Vec<_> = missing.by_ref().take(limits::COPIED_AT_ONCE).collect();
    drop_marked(ctx, &mut next).await?;
    let mut copied = Vec::new();
    let mut failed = None;
    for (key, size) in next {
        let is_late = ctx.host.clock().now().since(began) > limits::COPY_RUN_SECONDS;
        let done = match is_late {
            false => copy(ctx, fallback, key).await.map(Some),
            true => Ok(None),
        };
        match done {
            Ok(Some(true)) => copied.push(key),
            Ok(Some(false)) => {}
            Ok(None) => count_missing(&mut counts, size),
            // The walk goes on: one object, which may be damaged, must not stop the others.
            Err(failure) => {
                count_missing(&mut counts, size);
                failed.get_or_insert(failure);
            }
        }
    }
    for (_, size) in missing {
        count_missing(&mut counts, size);
    }
    counts.copied = copied.len() as u64;
    match remove_erased(ctx, &copied, &found.surplus).await {
        Ok(removed) => counts.removed = removed,
        Err(failure) => drop(failed.get_or_insert(failure)),
    }
    add(&mut document.current, &counts);
    document.current.at = ctx.host.clock().now();
    document.next = found.next;
    if document.next.is_none() {
        document.last = Some(std::mem::take(&mut document.current));
    }
    failed.map_or(Ok(()), Err)
}

/// Removes leftovers from the second bucket, and those of the copied objects that were removed while they were copied: their removal
/// has not found the copy. Returns their number.
async fn remove_erased<P: Host>(
    ctx: &Context<'_, P>,
    copied: &[BytesKey],
    surplus: &[BytesKey],
) -> Result<u64, Failure> {
    let marked = garbage::marked_among(ctx, copied).await?;
    for key in &marked {
        fallback_requests::discard(ctx, *key).await?;
    }
    let leftovers = remove_leftovers(ctx, surplus).await?;
    Ok((marked.len() + leftovers.len()) as u64)
}

fn count_missing(counts: &mut CopyCounts, size: u64) {
    counts.missing += 1;
    counts.missing_bytes += size;
}

fn add(sum: &mut CopyCounts, counts: &CopyCounts) {
    sum.stored += counts.stored;
    sum.missing += counts.missing;
    sum.missing_bytes += counts.missing_bytes;
    sum.copied += counts.copied;
    sum.removed += counts.removed;
}

/// Returns the reason of a failure, as far as an operator may see it without the log.
fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Origin(reason) => reason.clone(),
        _ => "the log has the reason".to_owned(),
    }
}

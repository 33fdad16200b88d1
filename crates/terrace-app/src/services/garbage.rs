//! Garbage collection: marks archives that nothing refers to, and removes them an hour later.
//! [`terrace_core::maintenance::garbage`] explains why no archive is removed that a release refers to.

use terrace_base::time::UnixTime;
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::maintenance::garbage::{GarbageDocument, GarbageState};
use terrace_core::storage::key::{ArchiveKey, BytesKey, FactKey, GARBAGE};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Condition, Facts as _, Host};
use crate::json;
use crate::services::documents;

/// A snapshot of the marks, taken before a request looks up the archives that it is about to refer to.
#[derive(Debug)]
pub(crate) struct GcFence {
    marks: Vec<ArchiveKey>,
    at: UnixTime,
}

impl GcFence {
    /// Returns whether an archive had a mark.
    pub(crate) fn has_mark(&self, archive: ArchiveKey) -> bool {
        self.marks.contains(&archive)
    }
}

/// Returns the error for an archive that cannot be stored at the moment.
pub(crate) fn being_removed(key: ArchiveKey) -> Problem {
    Problem::Unavailable(format!(
        "{key} is being removed as garbage: send the same request again in a moment; if this continues for more \
         than an hour, complete the removal with `terrace admin gc --yes`"
    ))
}

/// Returns the error for an archive that was erased.
fn erased(key: ArchiveKey, tombstone: &GarbageDocument) -> Problem {
    let reason = tombstone
        .reason
        .as_ref()
        .map(|reason| format!(": {reason}"));
    let reason = reason.unwrap_or_default();
    Problem::Gone(format!(
        "{key} was erased, and never returns{reason}; publish an archive with other contents"
    ))
}

/// Takes a snapshot of the marks. There are hardly ever any, so this is one listing.
pub(crate) async fn fence<P: Host>(ctx: &Context<'_, P>) -> Result<GcFence, Failure> {
    let at = ctx.host.clock().now();
    let marks = documents::list(ctx, GARBAGE).await?;
    let marks = marks.iter().filter_map(|fact| fact.name.parse().ok());
    let marks = marks.collect();
    Ok(GcFence { marks, at })
}

/// Rejects a commit if the snapshot is too old.
pub(crate) fn ensure_fresh<P: Host>(ctx: &Context<'_, P>, fence: &GcFence) -> Result<(), Problem> {
    let age = ctx.host.clock().now().0.saturating_sub(fence.at.0);
    if age <= limits::FENCE_SECONDS {
        return Ok(());
    }
    Err(Problem::Unavailable(format!(
        "checking the stored archives took {age} s, too long to commit safely: send the same request again"
    )))
}

/// Returns whether an archive was erased.
pub(crate) async fn is_erased<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
) -> Result<bool, Failure> {
    let mark = mark_of(ctx, archive).await?;
    Ok(mark.is_some_and(|(document, _)| document.state == GarbageState::Erased))
}

/// Rejects an archive that was erased before the snapshot, before its bytes are stored again.
pub(crate) async fn ensure_not_erased<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
    fence: &GcFence,
) -> Result<(), Failure> {
    match fence.has_mark(archive) {
        true => ensure_kept(ctx, archive).await,
        false => Ok(()),
    }
}

/// Rejects an archive that was erased, for a caller without a snapshot.
pub(crate) async fn ensure_kept<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
) -> Result<(), Failure> {
    match mark_of(ctx, archive).await? {
        Some((document, _)) if document.state == GarbageState::Erased => {
            Err(erased(archive, &document).into())
        }
        _ => Ok(()),
    }
}

/// Ensures that an archive, if it is stored, is not removed. Returns `false` if nothing may refer to it,
/// because it is being removed.
///
/// # Errors
/// Also [`Problem::Gone`], for an archive that was erased: no caller can overlook that.
pub(crate) async fn claim<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
    fence: &GcFence,
) -> Result<bool, Failure> {
    if !fence.has_mark(archive) {
        return Ok(true);
    }
    loop {
        let Some((document, etag)) = mark_of(ctx, archive).await? else {
            // Another request kept it, or it has been removed. The caller checks that next.
            return Ok(true);
        };
        let now = ctx.host.clock().now();
        match document.state {
            GarbageState::Kept => return Ok(true),
            GarbageState::Marked => {
                let kept = GarbageDocument::becomes(GarbageState::Kept, now);
                let unchanged = Condition::Unchanged(etag);
                if put_mark(ctx, archive, kept, unchanged).await? {
                    return Ok(true);
                }
            }
            // The request that began the removal has ended.
            GarbageState::Removing if document.is_settled(now) => {
                // Only one request removes the archive: a late second removal would delete a new upload.
                if let Some(begun) = begin_removal(ctx, archive, etag).await? {
                    finish_removal(ctx, archive, begun).await?;
                    return Ok(true);
                }
            }
            GarbageState::Removing => return Ok(false),
            GarbageState::Erased => return Err(erased(archive, &document).into()),
        }
    }
}

/// Marks an archive. One that was kept, and that still nothing refers to, is marked again, and its hour
/// starts again.
pub(crate) async fn mark<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
) -> Result<bool, Failure> {
    let condition = match mark_of(ctx, archive).await? {
        None => Condition::Absent,
        Some((document, etag)) => match document.state {
            GarbageState::Marked => return Ok(true),
            GarbageState::Kept => Condition::Unchanged(etag),
            GarbageState::Removing | GarbageState::Erased => return Ok(false),
        },
    };
    let marked = GarbageDocument::marked(ctx.host.clock().now());
    put_mark(ctx, archive, marked, condition).await
}

/// Removes a mark. An archive that is being removed stays so: nothing can refer to it. So does one that was erased.
pub(crate) async fn unmark<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
) -> Result<bool, Failure> {
    let Some((document, etag)) = mark_of(ctx, archive).await? else {
        return Ok(true);
    };
    match document.state {
        GarbageState::Removing | GarbageState::Erased => return Ok(false),
        GarbageState::Marked | GarbageState::Kept => {}
    }
    let now = ctx.host.clock().now();
    let kept = GarbageDocument::becomes(GarbageState::Kept, now);
    if !put_mark(ctx, archive, kept, Condition::Unchanged(etag)).await? {
        return Ok(false);
    }
    remove_mark(ctx, archive, now).await?;
    Ok(true)
}

/// Makes the tombstone of an archive, so that nothing stores it or refers to it any more, and then removes the archive.
/// Returns the time of the tombstone, which may have existed before.
pub(crate) async fn erase<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
    tombstone: GarbageDocument,
) -> Result<UnixTime, Failure> {
    let since = bury(ctx, archive, tombstone).await?;
    ctx.host.archives().discard(archive.into()).await?;
    Ok(since)
}

/// Removes an archive that was erased and is stored again, by an upload whose URL was signed before. Returns whether it was.
pub(crate) async fn remove_again<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
) -> Result<bool, Failure> {
    let archives = ctx.host.archives();
    if !is_erased(ctx, archive).await? || archives.head(archive.into()).await?.is_none() {
        return Ok(false);
    }
    archives.discard(archive.into()).await?;
    Ok(true)
}

/// Replaces the mark of an archive, if it has one, by a tombstone. Returns the time of the tombstone that is stored then.
pub(crate) async fn bury<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
    tombstone: GarbageDocument,
) -> Result<UnixTime, Failure> {
    loop {
        let condition = match mark_of(ctx, archive).await? {
            None => Condition::Absent,
            Some((document, _)) if document.state == GarbageState::Erased => {
                return Ok(document.since);
            }
            Some((document, _)) if document.is_being_removed(ctx.host.clock().now()) => {
                let seconds = limits::MARK_REMOVAL_SECONDS;
                let message = format!(
                    "the garbage mark of {archive} is being changed by another request: send the same request again in {seconds} s"
                );
                return Err(Problem::NotYet(message, seconds).into());
            }
            Some((_, etag)) => Condition::Unchanged(etag),
        };
        let since = tombstone.since;
        if put_mark(ctx, archive, tombstone.clone(), condition).await? {
            return Ok(since);
        }
    }
}

/// Removes an archive: the second phase. The mark must be the one that existed before the second examination. An archive that
/// was erased, and stored again, is removed at once.
pub(crate) async fn remove_marked<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
    marked_at: UnixTime,
) -> Result<bool, Failure> {
    let Some((document, etag)) = mark_of(ctx, archive).await? else {
        return Ok(false);
    };
    if document.state == GarbageState::Erased {
        ctx.host.archives().discard(archive.into()).await?;
        return Ok(true);
    }
    let now = ctx.host.clock().now();
    if document.since != marked_at || !document.is_settled(now) {
        return Ok(false);
    }
    if document.state == GarbageState::Kept {
        return Ok(false);
    }
    // A removal that was interrupted is resumed, too: by one request at a time.
    let Some(begun) = begin_removal(ctx, archive, etag).await? else {
        return Ok(false);
    };
    finish_removal(ctx, archive, begun).await?;
    Ok(true)
}

/// Sets the mark to `Removing`. Returns the time, or `None` if another request has changed the mark.
async fn begin_removal<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
    etag: String,
) -> Result<Option<UnixTime>, Failure> {
    let now = ctx.host.clock().now();
    let removing = GarbageDocument::becomes(GarbageState::Removing, now);
    let written = put_mark(ctx, archive, removing, Condition::Unchanged(etag)).await?;
    Ok(written.then_some(now))
}

/// Deletes the archive first, and then its mark: as long as the mark exists, nothing refers to the archive.
async fn finish_removal<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
    begun: UnixTime,
) -> Result<(), Failure> {
    let key = BytesKey::Archive(archive);
    ctx.host.archives().discard(key).await?;
    remove_mark(ctx, archive, begun).await
}

/// Removes a mark that this request has written, at this time. Storage has no conditional removal, so nobody replaces the
/// mark for a while.
async fn remove_mark<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
    written: UnixTime,
) -> Result<(), Failure> {
    let key = FactKey::Garbage(archive);
    let remove = async || {
        let waited = ctx.host.clock().now().since(written);
        if waited > limits::MARK_REMOVAL_SECONDS / 2 {
            let message = format!(
                "the removal of {key} took too long: send the same request again in an hour"
            );
            return Err(Problem::Unavailable(message).into());
        }
        Ok(ctx.host.facts().delete(&key).await?)
    };
    documents::retry_while_busy(ctx, remove).await
}

async fn mark_of<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
) -> Result<Option<(GarbageDocument, String)>, Failure> {
    let key = FactKey::Garbage(archive);
    let Some(fact) = ctx.host.facts().get(&key).await? else {
        return Ok(None);
    };
    let document = serde_json::from_slice(&fact.bytes)
        .map_err(|error| Failure::Corrupt(format!("{key}: {error}")))?;
    Ok(Some((document, fact.etag)))
}

async fn put_mark<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
    document: GarbageDocument,
    condition: Condition,
) -> Result<bool, Failure> {
    let text = json::text(&document)?;
    let key = FactKey::Garbage(archive);
    let written = documents::put(ctx, &key, &text, &[], condition).await?;
    Ok(written.is_some())
}

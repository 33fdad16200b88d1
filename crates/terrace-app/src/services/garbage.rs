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

/// Returns the error for an archive that cannot be stored at the moment.
pub(crate) fn being_removed(key: ArchiveKey) -> Problem {
    Problem::Unavailable(format!(
        "{key} is being removed as garbage: send the same request again in a moment; if this continues for more \
         than an hour, complete the removal with `terrace admin gc --yes`"
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

/// Ensures that an archive, if it is stored, is not removed. Returns `false` if nothing may refer to it,
/// because it is being removed.
pub(crate) async fn claim<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
    fence: &GcFence,
) -> Result<bool, Failure> {
    if !fence.marks.contains(&archive) {
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
                if begin_removal(ctx, archive, etag).await? {
                    finish_removal(ctx, archive).await?;
                    return Ok(true);
                }
            }
            GarbageState::Removing => return Ok(false),
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
            GarbageState::Removing => return Ok(false),
        },
    };
    let marked = GarbageDocument::marked(ctx.host.clock().now());
    put_mark(ctx, archive, marked, condition).await
}

/// Removes a mark. An archive that is being removed stays so: nothing can refer to it.
pub(crate) async fn unmark<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
) -> Result<bool, Failure> {
    match mark_of(ctx, archive).await? {
        Some((document, _)) if document.state == GarbageState::Removing => Ok(false),
        Some(_) => {
            remove_mark(ctx, archive).await?;
            Ok(true)
        }
        None => Ok(true),
    }
}

/// Removes an archive: the second phase. The mark must be the one that existed before the second examination.
pub(crate) async fn remove_marked<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
    marked_at: UnixTime,
) -> Result<bool, Failure> {
    let Some((document, etag)) = mark_of(ctx, archive).await? else {
        return Ok(false);
    };
    let now = ctx.host.clock().now();
    if document.since != marked_at || !document.is_settled(now) {
        return Ok(false);
    }
    if document.state == GarbageState::Kept {
        return Ok(false);
    }
    // A removal that was interrupted is resumed, too: by one request at a time.
    if !begin_removal(ctx, archive, etag).await? {
        return Ok(false);
    }
    finish_removal(ctx, archive).await?;
    Ok(true)
}

/// Sets the mark to `Removing`, unless another request has changed it. Returns whether it did.
async fn begin_removal<P: Host>(
    ctx: &Context<'_, P>,
    archive: ArchiveKey,
    etag: String,
) -> Result<bool, Failure> {
    let now = ctx.host.clock().now();
    let removing = GarbageDocument::becomes(GarbageState::Removing, now);
    put_mark(ctx, archive, removing, Condition::Unchanged(etag)).await
}

/// Deletes the archive first, and then its mark: as long as the mark exists, nothing refers to the archive.
async fn finish_removal<P: Host>(ctx: &Context<'_, P>, archive: ArchiveKey) -> Result<(), Failure> {
    let key = BytesKey::Archive(archive);
    ctx.host.archives().discard(key).await?;
    remove_mark(ctx, archive).await
}

/// Removes a mark that may have been written within the same second.
async fn remove_mark<P: Host>(ctx: &Context<'_, P>, archive: ArchiveKey) -> Result<(), Failure> {
    let key = FactKey::Garbage(archive);
    let remove = async || Ok(ctx.host.facts().delete(&key).await?);
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

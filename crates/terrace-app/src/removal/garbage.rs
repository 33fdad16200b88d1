//! Garbage collection: marks archives and blobs that nothing refers to, and removes them an hour later.
//! [`terrace_core::maintenance::garbage`] explains why nothing is removed that a release or a repository refers to.

use terrace_base::sort;
use terrace_base::time::UnixTime;
use terrace_core::http::problem::Problem;
use terrace_core::index::ListedRelease;
use terrace_core::maintenance::garbage::{
    FENCE_SECONDS, GarbageDocument, GarbageState, MARK_REMOVAL_SECONDS,
};
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{ArchiveKind, BytesKey, FactKey, GARBAGE};
use terrace_core::storage::release::Release;

use crate::context::Context;
use crate::documents::{failures, fallback_requests};
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Condition, Facts as _, Host};
use crate::{documents, json};

/// A snapshot of the marks, taken before a request looks up the archives that it is about to refer to.
#[derive(Debug)]
pub(crate) struct GcFence {
    /// The marks, ascending by the digests of their bytes.
    pub(crate) marks: Vec<Mark>,
    at: UnixTime,
}

/// A listed mark.
#[derive(Debug)]
pub(crate) struct Mark {
    pub(crate) bytes: BytesKey,
    /// The state; `None` if a copy of the bucket has lost the metadata of the object.
    pub(crate) state: Option<GarbageState>,
    pub(crate) stored_at: UnixTime,
}

impl GcFence {
    /// Returns the marks of bytes with a digest: the tombstone of any covers all of them.
    pub(crate) fn of_digest(&self, digest: Digest) -> impl Iterator<Item = &Mark> {
        let first = self
            .marks
            .partition_point(|mark| mark.bytes.digest() < digest);
        let rest = self.marks.iter().skip(first);
        rest.take_while(move |mark| mark.bytes.digest() == digest)
    }

    /// Returns whether bytes had a mark, or any bytes with the same digest.
    pub(crate) fn has_mark(&self, bytes: BytesKey) -> bool {
        self.of_digest(bytes.digest()).next().is_some()
    }

    /// Returns whether there were no marks at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns whether a package or module that a listed release may consist of had a mark.
    pub(crate) fn marks_part_of(&self, release: &ListedRelease) -> bool {
        self.marks.iter().any(|mark| match mark.bytes {
            BytesKey::Archive(archive) => release.may_consist_of(&archive),
            BytesKey::Blob(Digest::Sha256(digest)) => {
                release.may_contain(digest) || release.may_have_tarball(digest)
            }
            BytesKey::Blob(Digest::Sha512(_)) | BytesKey::Staged(_) => false,
        })
    }
}

/// Returns the error for an archive that cannot be stored at the moment.
pub(crate) fn being_removed(key: BytesKey) -> Problem {
    Problem::Unavailable(format!(
        "{key} is being removed, as garbage or with an erased version, so it cannot be stored again for an hour at most: send the same \
         request again later; if this continues, complete the removal with `terrace admin gc --yes`"
    ))
}

/// Returns the error for bytes that were erased.
fn erased(bytes: BytesKey, tombstone: &GarbageDocument) -> Problem {
    let name = match bytes {
        BytesKey::Blob(digest) => digest.to_string(),
        bytes => bytes.to_string(),
    };
    Problem::Gone(format!(
        "{name} was erased, and never returns{}; publish or push other contents",
        because(tombstone)
    ))
}

/// Returns the reason of an erasure, after a colon.
fn because(tombstone: &GarbageDocument) -> String {
    let reason = tombstone.reason.as_ref();
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}

/// Takes a snapshot of the marks. There are hardly ever any, so this is one listing.
pub(crate) async fn fence<P: Host>(ctx: &Context<'_, P>) -> Result<GcFence, Failure> {
    let at = ctx.host.clock().now();
    let facts = documents::list(ctx, GARBAGE).await?.into_iter();
    let marks = facts.filter_map(|fact| -> Option<Mark> {
        Some(Mark {
            bytes: fact.name.parse().ok()?,
            state: GarbageDocument::state_in(&fact.metadata),
            stored_at: fact.stored_at,
        })
    });
    let mut marks: Vec<Mark> = marks.collect();
    sort::sort_by(&mut marks, |one, other| {
        one.bytes.digest().cmp(&other.bytes.digest())
    });
    Ok(GcFence { marks, at })
}

/// Rejects a commit if the snapshot is too old.
pub(crate) fn ensure_fresh<P: Host>(ctx: &Context<'_, P>, fence: &GcFence) -> Result<(), Problem> {
    let age = ctx.host.clock().now().0.saturating_sub(fence.at.0);
    if age <= FENCE_SECONDS {
        return Ok(());
    }
    Err(Problem::Unavailable(format!(
        "checking the stored archives took {age} s, too long to commit safely: send the same request again"
    )))
}

/// Returns whether bytes were erased, wherever they were stored: the tombstone of a digest covers all bytes with it.
pub(crate) async fn is_erased<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<bool, Failure> {
    Ok(tombstone_of(ctx, bytes.digest()).await?.is_some())
}

/// Returns the tombstone of a digest, if it was erased.
async fn tombstone_of<P: Host>(
    ctx: &Context<'_, P>,
    digest: Digest,
) -> Result<Option<GarbageDocument>, Failure> {
    let (mark, _) = mark_of(ctx, BytesKey::Blob(digest)).await?;
    Ok(mark.filter(|mark| mark.state == GarbageState::Erased))
}

/// Describes the erasure of a digest to a reader; `None` if it was not erased.
pub(crate) async fn erasure_of<P: Host>(
    ctx: &Context<'_, P>,
    digest: Digest,
) -> Result<Option<String>, Failure> {
    let tombstone = tombstone_of(ctx, digest).await?;
    Ok(tombstone.map(|it| format!("{digest} was erased{}", because(&it))))
}

/// Rejects bytes that were erased before the snapshot, before they are stored again.
pub(crate) async fn ensure_not_erased<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
    fence: &GcFence,
) -> Result<(), Failure> {
    match fence.has_mark(bytes) {
        true => ensure_kept(ctx, bytes).await,
        false => Ok(()),
    }
}

/// Rejects a release if a package of it, or its module, was erased before the snapshot.
pub(crate) async fn ensure_release_kept<P: Host>(
    ctx: &Context<'_, P>,
    release: &Release,
    fence: &GcFence,
) -> Result<(), Failure> {
    for reference in release.stored() {
        if let BytesKey::Archive(archive) = reference.key
            && let ArchiveKind::Archive(_) = archive.kind
        {
            ensure_not_erased(ctx, reference.key, fence).await?;
        }
    }
    Ok(())
}

/// Rejects bytes that were erased, for a caller without a snapshot.
pub(crate) async fn ensure_kept<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<(), Failure> {
    match tombstone_of(ctx, bytes.digest()).await? {
        Some(tombstone) => Err(erased(bytes, &tombstone).into()),
        None => Ok(()),
    }
}

/// Ensures that a blob, if it is stored, is not removed from now on. Reads the mark of this blob alone. It may have been removed
/// before: the caller looks for it next.
///
/// # Errors
/// If the blob was erased, or is being removed.
pub(crate) async fn claim_blob<P: Host>(
    ctx: &Context<'_, P>,
    digest: Digest,
) -> Result<(), Failure> {
    let bytes = BytesKey::Blob(digest);
    match claim_marked(ctx, bytes).await? {
        true => Ok(()),
        false => Err(being_removed(bytes).into()),
    }
}

/// Ensures that an archive, if it is stored, is not removed. Returns `false` if nothing may refer to it,
/// because it is being removed.
///
/// # Errors
/// Also [`Problem::Gone`], for an archive that was erased: no caller can overlook that.
pub(crate) async fn claim<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
    fence: &GcFence,
) -> Result<bool, Failure> {
    if !fence.has_mark(bytes) {
        return Ok(true);
    }
    let digest = BytesKey::Blob(bytes.digest());
    let mut marks = fence.of_digest(bytes.digest());
    if digest != bytes && marks.any(|mark| mark.bytes == digest) {
        ensure_kept(ctx, bytes).await?;
    }
    claim_marked(ctx, bytes).await
}

/// Claims bytes that may have a mark.
async fn claim_marked<P: Host>(ctx: &Context<'_, P>, bytes: BytesKey) -> Result<bool, Failure> {
    loop {
        let (Some(document), unchanged) = mark_of(ctx, bytes).await? else {
            // Another request kept it, or it has been removed. The caller checks that next.
            return Ok(true);
        };
        let now = ctx.host.clock().now();
        match document.state {
            GarbageState::Kept => return Ok(true),
            GarbageState::Marked => {
                let kept = GarbageDocument::becomes(GarbageState::Kept, now);
                if put_mark(ctx, bytes, kept, unchanged).await? {
                    return Ok(true);
                }
            }
            // The request that began the removal has ended.
            GarbageState::Removing if document.is_settled(now) => {
                // Before the mark, by which the scheduled copy finds it. A refusal of the second bucket is no fault of the caller.
                if let Err(failure) = fallback_requests::discard(ctx, bytes).await {
                    failures::log(ctx, "removal of copies", failure);
                    return Err(being_removed(bytes).into());
                }
                // Only one request removes the archive: a late second removal would delete a new upload.
                if let Some(begun) = begin_removal(ctx, bytes, unchanged).await? {
                    finish_removal(ctx, bytes, begun).await?;
                    return Ok(true);
                }
            }
            GarbageState::Removing => return Ok(false),
            GarbageState::Erased => return Err(erased(bytes, &document).into()),
        }
    }
}

/// Marks an archive. One that was kept, and that still nothing refers to, is marked again, and its hour
/// starts again.
pub(crate) async fn mark<P: Host>(ctx: &Context<'_, P>, bytes: BytesKey) -> Result<bool, Failure> {
    let (mark, unchanged) = mark_of(ctx, bytes).await?;
    match mark.map(|mark| mark.state) {
        None | Some(GarbageState::Kept) => {
            let marked = GarbageDocument::marked(ctx.host.clock().now());
            put_mark(ctx, bytes, marked, unchanged).await
        }
        Some(GarbageState::Marked) => Ok(true),
        Some(GarbageState::Removing | GarbageState::Erased) => Ok(false),
    }
}

/// Removes a mark. An archive that is being removed stays so: nothing can refer to it. So does one that was erased.
pub(crate) async fn unmark<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<bool, Failure> {
    let (mark, unchanged) = mark_of(ctx, bytes).await?;
    match mark.map(|mark| mark.state) {
        None => return Ok(true),
        Some(GarbageState::Removing | GarbageState::Erased) => return Ok(false),
        Some(GarbageState::Marked | GarbageState::Kept) => {}
    }
    let now = ctx.host.clock().now();
    let kept = GarbageDocument::becomes(GarbageState::Kept, now);
    if !put_mark(ctx, bytes, kept, unchanged).await? {
        return Ok(false);
    }
    remove_mark(ctx, bytes, now).await?;
    Ok(true)
}

/// Marks bytes as being removed, whatever their state is, unless they are being removed, or were erased.
pub(crate) async fn mark_removal<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<(), Failure> {
    loop {
        let now = ctx.host.clock().now();
        let (mark, unchanged) = mark_of(ctx, bytes).await?;
        match mark {
            Some(mark) if matches!(mark.state, GarbageState::Removing | GarbageState::Erased) => {
                return Ok(());
            }
            Some(mark) if mark.is_being_removed(now) => return Err(being_changed(bytes).into()),
            _ => {}
        }
        if begin_removal(ctx, bytes, unchanged).await?.is_some() {
            return Ok(());
        }
    }
}

/// Returns the error for bytes whose mark another request may be about to remove.
fn being_changed(bytes: BytesKey) -> Problem {
    let seconds = MARK_REMOVAL_SECONDS;
    let message = format!(
        "the garbage mark of {bytes} is being changed by another request: send the same request again in {seconds} s"
    );
    Problem::NotYet(message, seconds)
}

/// Returns the state of bytes with a mark.
pub(crate) async fn state_of<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<Option<GarbageState>, Failure> {
    let (mark, _) = mark_of(ctx, bytes).await?;
    Ok(mark.map(|mark| mark.state))
}

/// Completes a removal that was interrupted, in both buckets. Returns whether it did.
pub(crate) async fn complete_removal<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<bool, Failure> {
    match mark_of(ctx, bytes).await?.0 {
        Some(mark) if mark.state == GarbageState::Removing => {
            remove_marked(ctx, bytes, mark.since).await
        }
        _ => Ok(false),
    }
}

/// Removes bytes that were erased and are stored again, by an upload whose URL was signed before. Returns whether they were.
pub(crate) async fn remove_again<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
) -> Result<bool, Failure> {
    let archives = ctx.host.archives();
    if !is_erased(ctx, bytes).await? || archives.head(bytes).await?.is_none() {
        return Ok(false);
    }
    // The scheduled copy removes a copy of them.
    archives.discard(bytes).await?;
    Ok(true)
}

/// Makes the tombstone of a digest, which covers all bytes with it, and that of the bytes themselves, so that nothing stores
/// them or refers to them any more. Returns the time of the
/// tombstone that is stored then.
pub(crate) async fn bury<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
    tombstone: GarbageDocument,
) -> Result<UnixTime, Failure> {
    let digest = BytesKey::Blob(bytes.digest());
    let since = replace_mark(ctx, digest, tombstone.clone()).await?;
    if digest == bytes {
        return Ok(since);
    }
    replace_mark(ctx, bytes, tombstone).await
}

/// Replaces a mark, if there is one, by a tombstone. Returns the time of the tombstone that is stored then.
async fn replace_mark<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
    tombstone: GarbageDocument,
) -> Result<UnixTime, Failure> {
    loop {
        let (mark, unchanged) = mark_of(ctx, bytes).await?;
        match mark {
            Some(mark) if mark.state == GarbageState::Erased => return Ok(mark.since),
            Some(mark) if mark.is_being_removed(ctx.host.clock().now()) => {
                return Err(being_changed(bytes).into());
            }
            _ => {}
        }
        let since = tombstone.since;
        if put_mark(ctx, bytes, tombstone.clone(), unchanged).await? {
            return Ok(since);
        }
    }
}

/// Removes an archive: the second phase. The mark must be the one that existed before the second examination. An archive that
/// was erased, and stored again, is removed at once.
pub(crate) async fn remove_marked<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
    marked_at: UnixTime,
) -> Result<bool, Failure> {
    if is_erased(ctx, bytes).await? {
        ctx.host.archives().discard(bytes).await?;
        fallback_requests::discard(ctx, bytes).await?;
        return Ok(true);
    }
    let now = ctx.host.clock().now();
    let (mark, unchanged) = mark_of(ctx, bytes).await?;
    let is_due = |mark: &GarbageDocument| {
        let is_marked = matches!(mark.state, GarbageState::Marked | GarbageState::Removing);
        is_marked && mark.since == marked_at && mark.is_settled(now)
    };
    if !mark.as_ref().is_some_and(is_due) {
        return Ok(false);
    }
    // A removal that was interrupted is resumed, too: by one request at a time.
    let Some(begun) = begin_removal(ctx, bytes, unchanged).await? else {
        return Ok(false);
    };
    // While the mark exists, the next collection resumes the removal.
    fallback_requests::discard(ctx, bytes).await?;
    finish_removal(ctx, bytes, begun).await?;
    Ok(true)
}

/// Sets the mark to `Removing`. Returns the time, or `None` if another request has changed the mark.
async fn begin_removal<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
    unchanged: Condition,
) -> Result<Option<UnixTime>, Failure> {
    let now = ctx.host.clock().now();
    let removing = GarbageDocument::becomes(GarbageState::Removing, now);
    let written = put_mark(ctx, bytes, removing, unchanged).await?;
    Ok(written.then_some(now))
}

/// Deletes the archive first, and then its mark: as long as the mark exists, nothing refers to the archive.
async fn finish_removal<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
    begun: UnixTime,
) -> Result<(), Failure> {
    ctx.host.archives().discard(bytes).await?;
    remove_mark(ctx, bytes, begun).await
}

/// Removes a mark that this request has written, at this time. Storage has no conditional removal, so no request replaces
/// the mark for a while.
async fn remove_mark<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
    written: UnixTime,
) -> Result<(), Failure> {
    let key = FactKey::Garbage(bytes);
    let remove = async || {
        let waited = ctx.host.clock().now().since(written);
        if waited > MARK_REMOVAL_SECONDS / 2 {
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
    bytes: BytesKey,
) -> Result<(Option<GarbageDocument>, Condition), Failure> {
    documents::read_for_change(ctx, &FactKey::Garbage(bytes)).await
}

async fn put_mark<P: Host>(
    ctx: &Context<'_, P>,
    bytes: BytesKey,
    document: GarbageDocument,
    condition: Condition,
) -> Result<bool, Failure> {
    let text = json::text(&document)?;
    let key = FactKey::Garbage(bytes);
    let metadata = document.to_metadata();
    let written = documents::put(ctx, &key, &text, &metadata, condition).await?;
    Ok(written.is_some())
}

//! Staged uploads: a caller who may not read everything must upload the archives that it publishes.
//!
//! All owners share the stored archives: an archive is named by its digest, and a release that refers to it
//! grants access to it. Digests are not secret: lock files contain them. So for a publisher who may not read
//! everything, it makes no difference which archives are stored already: only those uploaded for the same
//! release count.

use futures_util::future::{join_all, try_join_all};
use terrace_core::auth::access::Caller;
use terrace_core::publish::{ArchiveState, ExpectedArchive, Publication};
use terrace_core::storage::key::StagedKey;

use crate::archives::stored_archives;
use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Archives as _, Host, Payload, Stored};
use crate::removal::garbage;
use crate::removal::garbage::GcFence;

/// How many archives are copied at once: each copy has two connections, and a Worker has six
/// (<https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections>).
const CONCURRENT_COPIES: usize = 3;

/// Returns whether this caller must upload the archives that it publishes.
pub(crate) fn requires_possession<P: Host>(ctx: &Context<'_, P>, caller: &Caller) -> bool {
    !ctx.config.access.may_read_all(caller)
}

/// Promotes the staged archives of a release once all of them are uploaded. Returns the state of each.
pub(crate) async fn promote<P: Host>(
    ctx: &Context<'_, P>,
    publication: &Publication,
    fence: &GcFence,
) -> Result<Vec<ArchiveState>, Failure> {
    let expected = publication.archives();
    let looked = expected
        .iter()
        .map(|it| staged_state(ctx, publication, it, fence));
    let mut states = try_join_all(looked).await?;
    if states.contains(&ArchiveState::Missing) {
        return Ok(states);
    }
    states.clear();
    for some in expected.chunks(CONCURRENT_COPIES) {
        let promoted = some.iter().map(async |archive| {
            match promote_archive(ctx, staged_key(publication, archive)).await? {
                true => stored_archives::state(ctx, archive, fence).await,
                false => Ok(ArchiveState::Missing),
            }
        });
        // No copy is left under way after a failure of another.
        let promoted: Result<Vec<_>, _> = join_all(promoted).await.into_iter().collect();
        states.extend(promoted?);
    }
    Ok(states)
}

/// Returns whether an archive is staged, and its size.
async fn staged_state<P: Host>(
    ctx: &Context<'_, P>,
    publication: &Publication,
    archive: &ExpectedArchive,
    fence: &GcFence,
) -> Result<ArchiveState, Failure> {
    garbage::ensure_not_erased(ctx, archive.key.into(), fence).await?;
    let staged = staged_key(publication, archive);
    let head = ctx.host.archives().head(staged.into()).await?;
    Ok(
        head.map_or(ArchiveState::Missing, |head| ArchiveState::Stored {
            size: head.size,
            reasons: Vec::new(),
            warnings: Vec::new(),
        }),
    )
}

/// Copies a staged archive to the archives, even if it is stored there already, so that the duration reveals
/// nothing. Its bytes do not enter wasm. Returns whether it matches the digest in its key.
pub(crate) async fn promote_archive<P: Host>(
    ctx: &Context<'_, P>,
    staged: StagedKey,
) -> Result<bool, Failure> {
    let archives = ctx.host.archives();
    let Some((_, stream)) = archives.open(staged.into()).await? else {
        return Ok(false);
    };
    let stored = archives.store(staged.archive.into(), Payload::Stream(stream));
    match stored.await? {
        Stored::Yes => Ok(true),
        Stored::DigestMismatch => {
            archives.discard(staged.into()).await?;
            Ok(false)
        }
    }
}

/// Schedules the removal of the staged archives of a published release.
pub(crate) fn discard_staged_later<P: Host>(ctx: &Context<'_, P>, publication: &Publication) {
    let archives = publication.archives();
    let keys = archives
        .iter()
        .map(|archive| staged_key(publication, archive));
    ctx.defer(Task::DiscardStaged(keys.collect()));
}

pub(crate) async fn discard_staged<P: Host>(
    ctx: &Context<'_, P>,
    staged: Vec<StagedKey>,
) -> Result<(), Failure> {
    for key in staged {
        ctx.host.archives().discard(key.into()).await?;
    }
    Ok(())
}

/// Returns the key under which an archive of a release is staged.
pub(crate) fn staged_key(publication: &Publication, archive: &ExpectedArchive) -> StagedKey {
    let key = archive.key;
    key.staged_for(&publication.package(), publication.version())
}

//! Archives that have to be brought by whoever names them.
//!
//! All owners share what is stored: an archive is named by its digest, and a release by that name opens
//! it. Digests are no secrets; lock files hold them. So for a publisher who may not read everything it
//! makes no difference what is stored already: what counts is what was brought for the same release.

use terrace_core::auth::access::Caller;
use terrace_core::publish::{ArchiveState, ExpectedArchive, Publication};
use terrace_core::storage::key::IncomingKey;

use crate::context::{Context, Task};
use crate::failure::Failure;
use crate::host::{Archives as _, Host, Payload, Stored};
use crate::services::archives;
use crate::services::garbage::GcFence;

/// Whether this caller has to bring what it publishes.
pub(crate) fn requires_upload<P: Host>(ctx: &Context<'_, P>, caller: &Caller) -> bool {
    !ctx.config.access.lets_read_all(caller)
}

/// What has been brought of the archives of a release. They are taken in when all of them are there.
pub(crate) async fn promote<P: Host>(
    ctx: &Context<'_, P>,
    publication: &Publication,
    fence: &GcFence,
) -> Result<Vec<ArchiveState>, Failure> {
    let archives = ctx.host.archives();
    let expected = publication.archives();
    let mut states = Vec::new();
    for archive in &expected {
        let head = archives.head(key(publication, archive).into()).await?;
        states.push(
            head.map_or(ArchiveState::Missing, |head| ArchiveState::Stored {
                size: head.size,
                reasons: Vec::new(),
                warnings: Vec::new(),
            }),
        );
    }
    if states.contains(&ArchiveState::Missing) {
        return Ok(states);
    }
    for (archive, state) in expected.iter().zip(&mut states) {
        *state = match promote_archive(ctx, key(publication, archive)).await? {
            true => archives::state(ctx, archive, fence).await?,
            false => ArchiveState::Missing,
        };
    }
    Ok(states)
}

/// Copies what was brought to where archives are kept, also where it is kept already: the time that
/// this takes tells nothing. Its bytes do not enter wasm. Tells whether it is what its key says.
async fn promote_archive<P: Host>(
    ctx: &Context<'_, P>,
    incoming: IncomingKey,
) -> Result<bool, Failure> {
    let archives = ctx.host.archives();
    let Some((_, stream)) = archives.open(incoming.into()).await? else {
        return Ok(false);
    };
    let stored = archives.store(incoming.archive.into(), Payload::Stream(stream));
    match stored.await? {
        Stored::Yes => Ok(true),
        Stored::DigestMismatch => {
            archives.discard(incoming.into()).await?;
            Ok(false)
        }
    }
}

/// Has what was brought removed: it is published.
pub(crate) fn discard_later<P: Host>(ctx: &Context<'_, P>, publication: &Publication) {
    let archives = publication.archives();
    let keys = archives.iter().map(|archive| key(publication, archive));
    ctx.defer(Task::DiscardStaged(keys.collect()));
}

pub(crate) async fn discard<P: Host>(
    ctx: &Context<'_, P>,
    incoming: Vec<IncomingKey>,
) -> Result<(), Failure> {
    for key in incoming {
        ctx.host.archives().discard(key.into()).await?;
    }
    Ok(())
}

/// Where an archive of a release comes in.
pub(crate) fn key(publication: &Publication, archive: &ExpectedArchive) -> IncomingKey {
    let key = archive.key;
    key.incoming(&publication.package(), publication.version())
}

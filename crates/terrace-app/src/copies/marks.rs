//! The garbage marks and tombstones, by which the copy leaves objects out, or removes them.

use terrace_base::time::UnixTime;
use terrace_core::maintenance::garbage::GarbageState;
use terrace_core::storage::fallback::COPY_SWEEP_SECONDS;
use terrace_core::storage::key::BytesKey;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::Host;
use crate::removal::garbage;
use crate::removal::garbage::{GcFence, Mark};

/// The effect of the marks on the copy of an object, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// There is none.
    None,
    /// The object is not copied: it may be garbage, or is being removed.
    NotCopied,
    /// The object was erased, so its copy is removed.
    Removed,
}

/// Returns the effect of its mark, and of that of its digest, on the copy of an object. Reads those whose state is not listed.
pub(crate) async fn effect<P: Host>(
    ctx: &Context<'_, P>,
    marks: &GcFence,
    bytes: BytesKey,
) -> Result<Effect, Failure> {
    let digest = bytes.digest();
    let mut effect = Effect::None;
    for mark in marks.of_digest(digest) {
        let is_own = mark.bytes == bytes;
        if !is_own && mark.bytes != BytesKey::Blob(digest) {
            continue;
        }
        let state = match mark.state {
            Some(state) => Some(state),
            None => garbage::state_of(ctx, mark.bytes).await?,
        };
        effect = effect.max(match state {
            // That of a blob with the same digest covers all bytes with it.
            Some(GarbageState::Erased) => Effect::Removed,
            Some(GarbageState::Marked | GarbageState::Removing) if is_own => Effect::NotCopied,
            _ => Effect::None,
        });
    }
    Ok(effect)
}

/// Returns the bytes whose removal began so long ago that no upload of a copy from before can still be in progress.
pub(crate) fn interrupted(marks: &GcFence, now: UnixTime) -> Vec<BytesKey> {
    let is_old = |mark: &&Mark| now.since(mark.stored_at) > COPY_SWEEP_SECONDS;
    let is_removal = |mark: &&Mark| mark.state == Some(GarbageState::Removing);
    let marks = marks.marks.iter().filter(is_removal).filter(is_old);
    marks.map(|mark| mark.bytes).collect()
}

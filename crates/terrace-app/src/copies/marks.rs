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

/// Returns the effect of its mark, and of that of its digest, on the copy of an object, as far as they are listed; `None` if a state
/// is not listed, because a copy of the bucket has lost the metadata.
pub(crate) fn listed_effect(marks: &GcFence, bytes: BytesKey) -> Option<Effect> {
    let mut effect = Effect::None;
    for mark in about(marks, bytes) {
        effect = effect.max(effect_of(mark.state?, mark.bytes == bytes));
    }
    Some(effect)
}

/// Returns the effect on the copy of an object. Reads the marks whose state is not listed.
pub(crate) async fn effect<P: Host>(
    ctx: &Context<'_, P>,
    marks: &GcFence,
    bytes: BytesKey,
) -> Result<Effect, Failure> {
    let mut effect = Effect::None;
    for mark in about(marks, bytes) {
        let state = match mark.state {
            Some(state) => Some(state),
            None => garbage::state_of(ctx, mark.bytes).await?,
        };
        if let Some(state) = state {
            effect = effect.max(effect_of(state, mark.bytes == bytes));
        }
    }
    Ok(effect)
}

fn about(marks: &GcFence, bytes: BytesKey) -> impl Iterator<Item = &Mark> {
    let digest = bytes.digest();
    let same = marks.of_digest(digest);
    same.filter(move |mark| mark.bytes == bytes || mark.bytes == BytesKey::Blob(digest))
}

/// Returns the effect of a mark: of the object itself, or of a blob with the same digest, whose tombstone covers all bytes with it.
fn effect_of(state: GarbageState, is_own: bool) -> Effect {
    match state {
        GarbageState::Erased => Effect::Removed,
        GarbageState::Marked | GarbageState::Removing if is_own => Effect::NotCopied,
        GarbageState::Kept | GarbageState::Marked | GarbageState::Removing => Effect::None,
    }
}

/// Returns the bytes whose removal began so long ago that no upload of a copy from before can still be in progress.
pub(crate) fn interrupted(marks: &GcFence, now: UnixTime) -> Vec<BytesKey> {
    let is_old = |mark: &&Mark| now.since(mark.stored_at) > COPY_SWEEP_SECONDS;
    let is_removal = |mark: &&Mark| mark.state == Some(GarbageState::Removing);
    let marks = marks.marks.iter().filter(is_removal).filter(is_old);
    marks.map(|mark| mark.bytes).collect()
}

//! The garbage marks and tombstones, by which the copy leaves objects out, or removes them.

use terrace_base::sort;
use terrace_base::time::UnixTime;
use terrace_core::maintenance::garbage::{GarbageDocument, GarbageState};
use terrace_core::storage::fallback::COPY_SWEEP_SECONDS;
use terrace_core::storage::key::{BytesKey, GARBAGE};

use crate::context::Context;
use crate::documents;
use crate::failure::Failure;
use crate::host::Host;
use crate::removal::garbage;

/// All marks, from one listing, in the order of their digests. There are hardly ever any, except for tombstones.
#[derive(Debug)]
pub(crate) struct Marks(Vec<Mark>);

#[derive(Debug)]
struct Mark {
    bytes: BytesKey,
    /// The state; `None` if the listing does not contain it.
    state: Option<GarbageState>,
    stored_at: UnixTime,
}

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

impl Marks {
    /// Lists the marks.
    pub(crate) async fn list<P: Host>(ctx: &Context<'_, P>) -> Result<Self, Failure> {
        let facts = documents::list(ctx, GARBAGE).await?;
        let marks = facts.into_iter().filter_map(|fact| -> Option<Mark> {
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
        Ok(Self(marks))
    }

    /// Returns the effect on the copy of an object, as far as the listing contains it; `None` if a mark must be read.
    pub(crate) fn listed_effect(&self, bytes: BytesKey) -> Option<Effect> {
        let mut effect = Effect::None;
        for mark in self.about(bytes) {
            effect = effect.max(effect_of(mark.state?, mark.bytes == bytes));
        }
        Some(effect)
    }

    /// Returns the effect on the copy of an object. Reads the marks whose state the listing does not contain.
    pub(crate) async fn effect<P: Host>(
        &self,
        ctx: &Context<'_, P>,
        bytes: BytesKey,
    ) -> Result<Effect, Failure> {
        let mut effect = Effect::None;
        for mark in self.about(bytes) {
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

    /// Returns the bytes whose removal began so long ago that no upload of a copy from before can still be in progress.
    pub(crate) fn interrupted(&self, now: UnixTime) -> impl Iterator<Item = BytesKey> + '_ {
        let is_old = move |mark: &&Mark| now.since(mark.stored_at) > COPY_SWEEP_SECONDS;
        let is_removal = |mark: &&Mark| mark.state == Some(GarbageState::Removing);
        let marks = self.0.iter().filter(is_removal).filter(is_old);
        marks.map(|mark| mark.bytes)
    }

    /// Returns the mark of an object, and that of its digest.
    fn about(&self, bytes: BytesKey) -> impl Iterator<Item = &Mark> + '_ {
        let digest = bytes.digest();
        let first = self.0.partition_point(|mark| mark.bytes.digest() < digest);
        let same = self
            .0
            .iter()
            .skip(first)
            .take_while(move |mark| mark.bytes.digest() == digest);
        same.filter(move |mark| mark.bytes == bytes || mark.bytes == BytesKey::Blob(digest))
    }
}

/// Returns the effect of a mark: of the object itself, or of a blob with the same digest, whose tombstone covers all bytes with it.
fn effect_of(state: GarbageState, is_own: bool) -> Effect {
    match state {
        GarbageState::Erased => Effect::Removed,
        GarbageState::Marked | GarbageState::Removing if is_own => Effect::NotCopied,
        GarbageState::Kept | GarbageState::Marked | GarbageState::Removing => Effect::None,
    }
}

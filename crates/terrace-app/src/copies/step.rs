//! The work of one step of the copy: some copies, and some removals of copies.

use terrace_base::time::UnixTime;
use terrace_core::storage::failover::{COPY_RUN_SECONDS, CopyCounts};
use terrace_core::storage::fallback::{COPY_SECONDS, FallbackBucket};
use terrace_core::storage::key::BytesKey;

use crate::context::Context;
use crate::copies::comparison::Comparison;
use crate::copies::marks::{Effect, effect, interrupted, listed_effect};
use crate::documents::{failures, fallback_requests};
use crate::failure::Failure;
use crate::host::{Archives as _, Clock as _, Host};
use crate::removal::garbage;
use crate::removal::garbage::GcFence;

/// Maximum number of archives that one run copies to the second bucket. Each takes a request to the bucket, of the 50 to other servers
/// that an event may send on the free plan (<https://developers.cloudflare.com/workers/platform/limits/#subrequests>), and may take
/// another one to undo it. With those of [`SURPLUS_AT_ONCE`] and [`COMPLETED_REMOVALS_AT_ONCE`] and two of the check of the main bucket and the lists,
/// a run sends 42 at most.
const COPIED_AT_ONCE: usize = 10;

/// Maximum number of erased objects that one comparison removes from the second bucket: each takes a request.
const SURPLUS_AT_ONCE: usize = 10;

/// Maximum number of interrupted removals that one comparison completes: each takes a request and six operations.
const COMPLETED_REMOVALS_AT_ONCE: usize = 10;

/// A step, with its counts so far.
struct Step<'s, 'c, P: Host> {
    ctx: &'s Context<'c, P>,
    fallback: &'s FallbackBucket,
    began: UnixTime,
    counts: CopyCounts,
}

/// Copies some of the missing objects of a page, and removes some of the erased ones. The first page of a walk is also the turn of
/// interrupted removals. An object that cannot be copied or removed stops no other one: the counts have the reason.
///
/// # Errors
/// If the marks cannot be listed.
pub(crate) async fn work<P: Host>(
    ctx: &Context<'_, P>,
    fallback: &FallbackBucket,
    found: Comparison,
    is_first: bool,
) -> Result<CopyCounts, Failure> {
    let began = ctx.host.clock().now();
    let counts = CopyCounts {
        stored: found.stored,
        ..CopyCounts::default()
    };
    let mut step = Step {
        ctx,
        fallback,
        began,
        counts,
    };
    if !is_first && !found.has_differences() {
        return Ok(step.counts);
    }
    let marks = garbage::fence(ctx).await?;
    let copied = step.copy(found.missing, &marks).await;
    if !copied.is_empty() {
        step.undo_copies(&copied).await?;
    }
    let completed = match is_first {
        true => step.complete_removals(&marks).await,
        false => Vec::new(),
    };
    let mut surplus = found.surplus;
    surplus.retain(|key| !completed.contains(key));
    step.remove_erased(surplus, &marks).await;
    Ok(step.counts)
}

impl<P: Host> Step<'_, '_, P> {
    /// Copies some of the missing objects, and counts the others.
    async fn copy(&mut self, missing: Vec<(BytesKey, u64)>, marks: &GcFence) -> Vec<BytesKey> {
        let mut copied = Vec::new();
        let mut left = COPIED_AT_ONCE;
        for (key, size) in rotated(missing, self.began) {
            let listed = listed_effect(marks, key);
            if listed.is_some_and(|effect| effect != Effect::None) {
                continue;
            }
            if left == 0 || self.is_after(COPY_RUN_SECONDS) {
                self.count_missing(size);
                continue;
            }
            left -= 1;
            match self.copy_unless_marked(key, marks).await {
                Ok(true) => copied.push(key),
                Ok(false) => {}
                Err(failure) => {
                    self.count_missing(size);
                    self.fail(failure);
                }
            }
        }
        self.counts.copied = copied.len() as u64;
        copied
    }

    /// Copies an object, natively. Returns `false` if the main bucket does not have it any more, or it must not be copied.
    async fn copy_unless_marked(&self, key: BytesKey, marks: &GcFence) -> Result<bool, Failure> {
        if effect(self.ctx, marks, key).await? != Effect::None {
            return Ok(false);
        }
        let Some(opened) = self.ctx.host.archives().open(key).await? else {
            return Ok(false);
        };
        fallback_requests::store(self.ctx, self.fallback, key, opened).await?;
        Ok(true)
    }

    /// Removes the copies of objects that were removed while they were copied: that removal has not found the copy.
    async fn undo_copies(&mut self, copied: &[BytesKey]) -> Result<(), Failure> {
        let marks = garbage::fence(self.ctx).await?;
        for key in copied {
            if effect(self.ctx, &marks, *key).await? != Effect::None {
                self.remove(*key).await;
            }
        }
        Ok(())
    }

    /// Removes some of the erased objects that only the second bucket has, and counts the others.
    async fn remove_erased(&mut self, surplus: Vec<BytesKey>, marks: &GcFence) {
        let (mut left, mut reads) = (SURPLUS_AT_ONCE, SURPLUS_AT_ONCE);
        for key in rotated(surplus, self.began) {
            let effect = match listed_effect(marks, key) {
                Some(effect) => Ok(effect),
                // Rare: a copy of the bucket has lost the metadata of the marks. Most of them are tombstones.
                None if reads == 0 => Ok(Effect::NotCopied),
                None => {
                    reads -= 1;
                    effect(self.ctx, marks, key).await
                }
            };
            match effect {
                Ok(Effect::Removed) if left > 0 => {
                    left -= 1;
                    self.remove(key).await;
                }
                // Those that are being removed wait until no upload of their copy can be in progress.
                Ok(Effect::Removed | Effect::NotCopied) => self.counts.erased += 1,
                // The main bucket may be the one that has lost it.
                Ok(Effect::None) => self.counts.surplus += 1,
                Err(failure) => self.fail(failure),
            }
        }
    }

    /// Completes removals that were interrupted, or whose copy may have arrived later. Returns the removed objects. Copies of others
    /// are counted on their page.
    async fn complete_removals(&mut self, marks: &GcFence) -> Vec<BytesKey> {
        let mut completed = Vec::new();
        let interrupted = interrupted(marks, self.began);
        let some = COMPLETED_REMOVALS_AT_ONCE;
        for key in rotated(interrupted, self.began).take(some) {
            if self.is_late() {
                break;
            }
            match garbage::complete_removal(self.ctx, key).await {
                Ok(true) => completed.push(key),
                Ok(false) => {}
                Err(failure) => self.fail(failure),
            }
        }
        completed
    }

    async fn remove(&mut self, key: BytesKey) {
        if self.is_late() {
            self.counts.erased += 1;
            return;
        }
        match fallback_requests::discard(self.ctx, key).await {
            Ok(()) => {}
            Err(failure) => {
                self.counts.erased += 1;
                self.fail(failure);
            }
        }
    }

    /// Returns whether the step begins no further removal, so that it ends before another one may begin.
    fn is_late(&self) -> bool {
        self.is_after(COPY_RUN_SECONDS + u64::from(COPY_SECONDS))
    }

    fn is_after(&self, seconds: u64) -> bool {
        self.ctx.host.clock().now().since(self.began) > seconds
    }

    fn count_missing(&mut self, size: u64) {
        self.counts.missing += 1;
        self.counts.missing_bytes += size;
    }

    /// Logs a failure, and records the first one for the operator.
    fn fail(&mut self, failure: Failure) {
        let reason = failures::reason(&failure);
        failures::log(self.ctx, "copy", failure);
        self.counts.error.get_or_insert(reason);
    }
}

/// Returns the objects from another place on at each time, and then those before it: objects that fail again and again do not keep
/// the others waiting.
fn rotated<T>(mut objects: Vec<T>, now: UnixTime) -> impl Iterator<Item = T> {
    // Multiples of the golden ratio are spread evenly, whatever the time between two steps is.
    let spread = now.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let place = (spread * objects.len() as u64) >> 32;
    objects.rotate_left(usize::try_from(place).unwrap_or_default());
    objects.into_iter()
}

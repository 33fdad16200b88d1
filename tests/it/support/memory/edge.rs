//! KV as its locations see it (<https://developers.cloudflare.com/kv/concepts/how-kv-works/>): a key takes
//! one write a second, each location caches the values that it has read, including missing ones, and a write
//! reaches other locations within a minute, in any order.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use terrace_app::host::StoreError;
use terrace_core::storage::index_document::IndexDocument;

use crate::support::faults::Break;

/// The longest time that a write takes to reach a location that has no cached value of its key.
pub const ARRIVAL_MS: u64 = 60_000;

/// The minimum interval between two writes of a key.
const INTERVAL_MS: u64 = 1_000;

/// KV as its locations see it. By default, only values that were read are cached.
#[derive(Debug, Default)]
pub struct Edge {
    /// Decides which writes have arrived and which operations break. Without it every write arrives at once,
    /// and only values that were read are cached.
    rng: Option<StdRng>,
    /// Every write of each key, in their final order: the last one wins.
    writes: BTreeMap<String, Vec<Write>>,
    kept: BTreeMap<(usize, String), Kept>,
    refused: usize,
}

#[derive(Debug)]
struct Write {
    at_ms: u64,
    document: Option<IndexDocument>,
}

/// A value that a location has read.
#[derive(Debug)]
struct Kept {
    at_ms: u64,
    milliseconds: u64,
    document: Option<IndexDocument>,
}

/// A location that reads, and how old the value may be.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    pub location: usize,
    pub cache_seconds: u32,
}

impl Edge {
    /// Returns an edge with all rules, where the seed decides which writes are visible.
    pub fn with_rules(seed: u64) -> Self {
        Self {
            rng: Some(StdRng::seed_from_u64(seed)),
            ..Self::default()
        }
    }

    /// Draws whether an operation breaks, which happens to `per_mille` per thousand, and how.
    pub fn accident(&mut self, per_mille: u32, is_write: bool) -> Option<Break> {
        // Only the rules decide that a key is written too often.
        let ways: &[Break] = match is_write {
            true => &[
                Break::Before,
                Break::After,
                Break::KilledBefore,
                Break::KilledAfter,
            ],
            false => &[Break::Before, Break::KilledBefore],
        };
        let rng = self.rng.as_mut()?;
        let is_broken = rng.gen_ratio(per_mille, 1_000);
        is_broken.then(|| ways[rng.gen_range(0..ways.len())])
    }

    /// Draws how many turns an operation takes.
    pub fn turns(&mut self) -> u32 {
        let turns = |rng: &mut StdRng| rng.gen_range(1..=3);
        self.rng.as_mut().map_or(1, turns)
    }

    /// Returns how many writes were refused.
    pub fn refused(&self) -> usize {
        self.refused
    }

    /// Rejects a write of a key within the minimum interval after its last write.
    pub fn refuse_frequent(
        &mut self,
        key: &str,
        written_ms: Option<u64>,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        let is_too_early = |written_ms| now_ms < written_ms + INTERVAL_MS;
        if self.rng.is_some() && written_ms.is_some_and(is_too_early) {
            self.refused += 1;
            return Err(StoreError::Busy(key.to_owned()));
        }
        Ok(())
    }

    pub fn write(
        &mut self,
        key: &str,
        document: Option<&IndexDocument>,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        let last = self.writes.get(key).and_then(|writes| writes.last());
        self.refuse_frequent(key, last.map(|last| last.at_ms), now_ms)?;
        self.writes.entry(key.to_owned()).or_default().push(Write {
            at_ms: now_ms,
            document: document.cloned(),
        });
        Ok(())
    }

    /// Reads `key`. Its last write left `last`.
    pub fn read(
        &mut self,
        key: &str,
        reader: Reader,
        last: Option<IndexDocument>,
        now_ms: u64,
    ) -> Option<IndexDocument> {
        let place = (reader.location, key.to_owned());
        let wanted = 1_000 * u64::from(reader.cache_seconds);
        if let Some(kept) = self.kept.get_mut(&place) {
            // A reader that requires a fresher value shortens the life of the cached one.
            kept.milliseconds = kept.milliseconds.min(wanted);
            if now_ms < kept.at_ms + kept.milliseconds {
                return kept.document.clone();
            }
        }
        let document = match self.rng {
            Some(_) => self.arrived(key, now_ms),
            None => last,
        };
        let kept = Kept {
            at_ms: now_ms,
            milliseconds: wanted,
            document: document.clone(),
        };
        self.kept.insert(place, kept);
        document
    }

    /// Draws one of the writes that may be visible: the last one that is at least a minute old, or any later
    /// one.
    fn arrived(&mut self, key: &str, now_ms: u64) -> Option<IndexDocument> {
        let writes = self.writes.get(key)?;
        let sure = writes
            .iter()
            .filter(|write| write.at_ms + ARRIVAL_MS <= now_ms)
            .count();
        // 0 means that no write has arrived yet.
        let rng = self.rng.as_mut()?;
        let seen = match rng.gen_bool(0.5) {
            true => writes.len(),
            false => rng.gen_range(sure..=writes.len()),
        };
        writes[..seen].last()?.document.clone()
    }
}

//! The ways in which an operation of storage can break.

use super::memory::is_write;

/// When a failing write fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// It does nothing.
    Before,
    /// It takes effect, and its answer is lost.
    After,
}

/// How an operation breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// It fails and does nothing.
    Before,
    /// It takes effect, and its answer is lost.
    After,
    /// Its key is written too often; the next try works.
    Busy,
    /// Whoever asked for it is killed before it does anything.
    KilledBefore,
    /// Whoever asked for it is killed when it has taken effect.
    KilledAfter,
    /// It fails, and so does every one behind it.
    Outage,
}

impl Break {
    /// What can become of a read: whether it took effect makes no difference.
    pub const OF_READS: [Self; 3] = [Self::Before, Self::KilledBefore, Self::Outage];

    /// What can become of a write.
    pub const OF_WRITES: [Self; 6] = [
        Self::Before,
        Self::After,
        Self::Busy,
        Self::KilledBefore,
        Self::KilledAfter,
        Self::Outage,
    ];
}

/// What can become of an operation.
pub fn ways(operation: &str) -> &'static [Break] {
    if is_write(operation) {
        &Break::OF_WRITES
    } else {
        &Break::OF_READS
    }
}

//! Reads that no index answers, and the index that is written after one.

pub(crate) mod index_backfill;
pub(crate) mod reader;

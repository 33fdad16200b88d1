//! The copy of the archives and blobs in the second bucket: compared with the main bucket page by page, and completed.
//!
//! A publish does not wait for the copy. An object that only the second bucket has is removed if it was erased, and otherwise
//! stays: the main bucket may be the one that lost it.

pub(crate) mod comparison;
pub(crate) mod failover;
pub(crate) mod failover_changes;
pub(crate) mod marks;
pub(crate) mod replication;
pub(crate) mod step;
pub(crate) mod walk;

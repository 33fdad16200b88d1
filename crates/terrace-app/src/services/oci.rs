//! Repositories that clients push to.

pub(crate) mod blobs;
pub(crate) mod catalog;
pub(crate) mod error;
pub(crate) mod indexer;
pub(crate) mod manifests;
pub(crate) mod mounts;
pub(crate) mod providers;
pub(crate) mod referrers;
pub(crate) mod uploads;

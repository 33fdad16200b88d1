//! Handlers for OCI clients, besides the reads served from an index.

pub(crate) mod blobs;
pub(crate) mod manifests;
pub(crate) mod referrers;
pub(crate) mod session;
pub(crate) mod uploads;

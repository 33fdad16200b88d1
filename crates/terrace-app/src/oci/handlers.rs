//! Handlers for OCI clients, except for the reads that an index answers.

pub(crate) mod blobs;
pub(crate) mod manifests;
pub(crate) mod referrers;
pub(crate) mod session;
pub(crate) mod uploads;

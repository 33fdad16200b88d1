//! Answers to OCI clients, besides those that an index gives.

pub(crate) mod blobs;
pub(crate) mod manifests;
pub(crate) mod referrers;
pub(crate) mod session;
pub(crate) mod uploads;

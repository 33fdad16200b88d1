//! Handlers for OCI clients, except for the reads that an index answers.

pub(crate) mod manifests;
pub(crate) mod session;
pub(crate) mod uploads;

//! Repositories that clients push to.

pub(crate) mod blobs;
pub(crate) mod handlers;
pub(crate) mod manifests;
pub(crate) mod mounts;
pub(crate) mod providers;
pub(crate) mod pushed_contents;
pub(crate) mod pushed_index_refresh;
pub(crate) mod referrers;
pub(crate) mod uploads;

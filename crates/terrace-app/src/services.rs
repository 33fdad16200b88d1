//! The operations of the registry, in layers. Each layer uses those below it: `tests/it/native/rings.rs`
//! lists them.

pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod documents;
pub(crate) mod expected_indices;
pub(crate) mod format;
pub(crate) mod garbage;
pub(crate) mod index_backfill;
pub(crate) mod index_refresh;
pub(crate) mod index_writer;
pub(crate) mod issuer;
pub(crate) mod keys;
pub(crate) mod oci;
pub(crate) mod origins;
pub(crate) mod publisher;
pub(crate) mod pull;
pub(crate) mod reader;
pub(crate) mod releases;
pub(crate) mod repair;
pub(crate) mod restore;
pub(crate) mod sign_in;
pub(crate) mod staging;
pub(crate) mod status;
pub(crate) mod stored_archives;
pub(crate) mod tokens;

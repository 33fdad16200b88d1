//! The indices in KV: what they should be, how they are written, and the catalogue.

pub(crate) mod catalog;
pub(crate) mod expected_indices;
pub(crate) mod index_refresh;
pub(crate) mod index_writer;

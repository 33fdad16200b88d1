//! Copies of a registry: its documents and archives, listed and restored.

pub(crate) mod archive_inventory;
pub(crate) mod facts;
pub(crate) mod restore;

//! Repair, in steps that fit the limit of storage operations.

pub(crate) mod catalogs;
pub(crate) mod comparison;
pub(crate) mod documentation;
pub(crate) mod facts;
pub(crate) mod indices;
pub(crate) mod packages;
pub(crate) mod periodic;
pub(crate) mod reindex;
pub(crate) mod step;
pub(crate) mod walk;

//! Repair, in steps that fit the limit of storage operations.

pub(crate) mod abandoned_documentation;
pub(crate) mod abandoned_uploads;
pub(crate) mod catalog_walk;
pub(crate) mod comparison;
pub(crate) mod fact_walk;
pub(crate) mod index_walk;
pub(crate) mod package_walk;
pub(crate) mod reindex;
pub(crate) mod step;
pub(crate) mod version_walk;
pub(crate) mod walk;

//! Repair, in steps that fit the limit of storage operations.

pub(crate) mod facts;
pub(crate) mod indices;
pub(crate) mod schedule;
pub(crate) mod staging;
pub(crate) mod step;
pub(crate) mod walk;

//! Repair, in steps that storage has time for.

pub(crate) mod facts;
pub(crate) mod indices;
pub(crate) mod schedule;
pub(crate) mod staging;
pub(crate) mod step;
pub(crate) mod walk;

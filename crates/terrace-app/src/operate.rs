//! Operation: health, the audit log, the examination, and the scheduled event.

pub(crate) mod audit;
pub(crate) mod doctor;
pub(crate) mod health;
pub(crate) mod schedule;

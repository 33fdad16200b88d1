//! What operators see and what runs by itself: health, the audit log, the examination, the scheduled event.

pub(crate) mod audit;
pub(crate) mod doctor;
pub(crate) mod health;
pub(crate) mod schedule;

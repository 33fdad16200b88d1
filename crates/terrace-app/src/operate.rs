//! Operation: health, the audit log, and the examination.

pub(crate) mod audit;
pub(crate) mod doctor;
pub(crate) mod health;

//! Maintenance: repair and garbage collection, checks of imported copies, the chain of the audit log.

pub mod audit;
pub mod garbage;
pub mod repair;
pub mod restore;

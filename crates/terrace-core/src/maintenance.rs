//! Maintenance: repair and garbage collection, checks of imported copies, the chain of the audit log, the events of
//! webhooks.

pub mod audit;
pub mod garbage;
pub mod repair;
pub mod restore;
pub mod webhook_event;

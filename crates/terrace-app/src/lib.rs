//! The application of Terrace: how a registry handles requests.
//!
//! [`pipeline`] answers requests through the traits of [`host`], which a platform implements. This crate names no
//! platform, and nothing in it is `Send`: each instance of a host has one thread, like a Worker.
//!
//! The layers. Each uses those above it in this list, and none below:
//!
//! | | |
//! |---|---|
//! | [`cache`], [`usage`], [`host`] | the host traits, and the caches and counters that a host holds |
//! | [`driver`] | the read machine, as steps; the host reads an index between them |
//! | `failure`, [`context`], `json`, `concurrent`, `endpoint` | the state of one request; each endpoint's properties |
//! | `services` | the operations of the registry, in layers of their own |
//! | `handlers` | the handlers, by resource |
//! | `dispatch`, [`pipeline`], [`perform`] | routing, authentication, audit and logging; deferred tasks |

pub mod cache;
mod concurrent;
pub mod context;
mod dispatch;
pub mod driver;
mod failure;
mod handlers;
pub mod host;
mod json;
pub mod pipeline;
mod services;
mod tasks;
pub mod usage;

pub use services::repair::schedule::run_repair_step;
pub use tasks::perform;

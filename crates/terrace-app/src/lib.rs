//! The application of Terrace: how a registry handles requests.
//!
//! [`pipeline`] answers requests through the traits of [`host`], which a platform implements. This crate names no
//! platform, and nothing in it is `Send`: each instance of a host has one thread, like a Worker.
//!
//! The layers. Each uses those above it in this list, and none below. ARCHITECTURE.md also lists the layers of
//! the services; `tests/it/native/rings.rs` checks all of them.
//!
//! | | |
//! |---|---|
//! | [`absences`], [`cache`], [`usage`] | the caches and counters that a host holds |
//! | [`host`] | the host traits |
//! | [`driver`], `failure` | the read machine, as steps, between which the host reads an index; errors |
//! | [`context`], `json`, `concurrent` | the state of one request; helpers |
//! | `services` | the operations of the registry |
//! | `handlers` | the handlers, by resource |
//! | `dispatch`, `tasks` | from a route to its handler; the work after a response ([`perform`]) |
//! | [`pipeline`] | authentication, audit and logging |

pub mod absences;
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

pub use handlers::cached_archives::{cache_tag, cached_archive, cached_archive_path};
pub use services::repair::schedule::run_repair_step;
pub use tasks::perform;

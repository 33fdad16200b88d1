//! The application of Terrace: how a registry handles requests.
//!
//! [`pipeline`] answers requests through the traits of [`host`], which a platform implements. This crate names no
//! platform, and nothing in it is `Send`: each instance of a host has one thread, like a Worker.
//!
//! A folder is a capability: its handlers and its services. ARCHITECTURE.md lists the layers: each folder uses those
//! in earlier lines, and none in its own or a later one. `tests/it/native/rings.rs` checks that.

pub mod absences;
mod access;
mod archives;
mod backup;
mod body;
pub mod cache;
mod check;
mod concurrent;
pub mod context;
mod copies;
mod dispatch;
mod documentation;
mod documents;
pub mod driver;
mod erasure;
mod failure;
pub mod host;
mod index;
mod jobs;
mod json;
mod listing;
mod listings;
mod mcp;
mod oci;
mod operate;
mod outcome;
mod pages;
pub mod pipeline;
mod publish;
mod pull;
mod read;
mod removal;
mod repair;
mod sign_in;
mod status;
mod tasks;
mod tokens;
pub mod usage;
mod webhooks;

pub use archives::cached_archives::{cache_tag, cached_archive, cached_archive_path};
pub use jobs::run_job;
pub use tasks::perform;

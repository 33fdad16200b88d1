//! The pure part of Terrace.
//!
//! # In scope
//! The rules of a registry: addresses, versions, the stored documents, the index functions, each protocol's
//! wire format, request parsing into one [`api::route::Route`], URL signing, and every check that a publish
//! must pass.
//!
//! # Out of scope
//! All side effects. This crate reads no clock, opens no connection, never awaits and names no platform;
//! time, keys and bytes are arguments. That is why native tests, the Worker and the `terrace` command can
//! share it.

pub mod api;
pub mod auth;
pub mod config;
pub mod documentation;
pub mod http;
pub mod index;
pub mod limits;
pub mod maintenance;
pub mod mcp;
pub mod model;
pub mod oci;
// A helper of the tests that pin stored formats.
#[cfg(test)]
mod pinned;
pub mod publish;
pub mod read;
pub mod search;
pub mod storage;
pub mod upstream;

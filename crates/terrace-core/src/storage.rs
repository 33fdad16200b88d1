//! Storage: every key, the stored documents, and the signed URLs of stored archives.
//!
//! # In scope
//! One type for each key, with its text written and parsed in one place ([`key`]); the documents that describe
//! releases ([`release`]) and the format ([`format`](mod@format)); signed URLs ([`archive_url`], [`signed_path`]); the paths
//! of documents on a disk ([`copy`]); the second bucket ([`fallback`]) and the state of the failover to it ([`failover`]).
//!
//! # Out of scope
//! The values of indices ([`crate::index`]) and every read or write.

pub mod archive_url;
pub mod copy;
pub mod documentation;
pub mod failover;
pub mod fallback;
pub mod format;
pub mod index_document;
pub mod key;
pub mod release;
pub mod signed_path;
pub mod webhook;

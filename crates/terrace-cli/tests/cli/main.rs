//! The real program against a fake registry of a few threads.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic; that is how it fails"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "native tests have a clock, and files have times"
)]

mod account;
mod admin;
mod catalog;
mod check;
mod collections;
mod completion;
mod config;
mod credentials;
mod docs;
mod doctor;
mod hostile;
mod import;
mod jobs;
mod keys;
mod mcp;
mod mirror_pull;
mod mirror_push;
mod mirrored;
mod modules;
mod packages;
mod packing;
mod plain_http;
mod providers;
mod registry_import;
mod releases;
mod rules;
mod secrets;
mod serve;
mod support;
mod tls;
mod tokens;
mod trouble;
mod usage;
mod webhooks;
mod workflows;

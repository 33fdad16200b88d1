//! Tests of the registry through its public interfaces.
//!
//! `http` runs against a registry in memory, or against a running one when `TERRACE_TEST_URL` and
//! `TERRACE_TEST_TOKEN` are set. `native` inspects storage and needs the memory.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic; that is how it fails"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "names that no earlier run used are derived from the time"
)]
#![expect(
    unreachable_pub,
    reason = "the support modules are this crate's library"
)]

mod http;
mod native;
mod support;

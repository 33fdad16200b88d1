//! Tests of all pages, of packages and texts as they occur.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic; that is how it fails"
)]

pub mod fixtures;
pub mod pages;

mod documents;
mod escaping;
mod html;
mod limits;
mod links;
mod modules;
mod snippets;
mod structure;

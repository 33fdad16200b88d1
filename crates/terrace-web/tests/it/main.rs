//! Tests of all pages of the gallery.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic; that is how it fails"
)]

#[path = "../../examples/gallery/fixtures/mod.rs"]
pub mod fixtures;
#[path = "../../examples/gallery/pages.rs"]
pub mod pages;

mod documents;
mod escaping;
mod html;
mod limits;
mod links;
mod snippets;
mod structure;

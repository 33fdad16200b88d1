//! Small types that all crates of Terrace share.
//!
//! # In scope
//! Digests, MACs, secrets, timestamps, percent-encoding, URLs, address ranges, JSON serialisation, sorting, spelling
//! suggestions, and the one printer of untrusted text.
//!
//! # Out of scope
//! Everything that belongs to one protocol, and all IO: time, keys and bytes are arguments.

pub mod digest;
pub mod json;
pub mod mac;
pub mod network;
pub mod percent;
pub mod secret;
pub mod sort;
pub mod spelling;
mod text_serde;
pub mod time;
pub mod untrusted;
pub mod url;

#[doc(hidden)]
pub use serde;

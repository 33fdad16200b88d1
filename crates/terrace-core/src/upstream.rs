//! Other registries, from the side of a client.

pub mod origin;
pub mod pull;

//! Other registries, as their clients see them.

pub mod origin;
pub mod pull;

//! The registry's own API, and the lists and details in the shape of the public registry.

mod access;
mod answers;
mod check;
mod documents;
pub(super) mod packages;
mod search;

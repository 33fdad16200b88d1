//! Publishing through the admin API.

mod mirrored;
mod module;
mod provider;

//! Publishing through the admin API.

mod documentation;
mod mirrored;
mod module;
mod provider;

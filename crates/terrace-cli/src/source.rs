//! The local sources of a release: a dist directory of GoReleaser, a repository.

pub(crate) mod dist;
pub(crate) mod repository;

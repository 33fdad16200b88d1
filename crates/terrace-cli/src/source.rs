//! The local sources of a release: a dist directory of GoReleaser, a repository, and the files with documentation.

pub(crate) mod dist;
pub(crate) mod documentation;
pub(crate) mod repository;

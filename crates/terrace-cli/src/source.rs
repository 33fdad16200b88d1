//! The things on this machine that a release is made from: a directory of GoReleaser's, a repository.

pub(crate) mod dist;
pub(crate) mod repository;

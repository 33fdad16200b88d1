//! The local files that commands read: a dist directory of GoReleaser, a repository, the files with documentation, and the
//! configuration of a deployment.

pub(crate) mod dist;
pub(crate) mod documentation;
pub(crate) mod repository;
pub(crate) mod syntax;
pub(crate) mod wrangler;

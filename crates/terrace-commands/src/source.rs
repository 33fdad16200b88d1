//! The local files that commands read: a dist directory of GoReleaser, a repository, the files with documentation, and the
//! configuration of a deployment.

pub(crate) mod collection;
pub(crate) mod dist;
pub(crate) mod documentation;
pub(crate) mod git;
pub(crate) mod local_paths;
pub(crate) mod pattern;
pub(crate) mod repository;
pub(crate) mod syntax;
pub(crate) mod wrangler;

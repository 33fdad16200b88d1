//! A version of a module of a collection.

use std::path::PathBuf;
use std::sync::Arc;

use terrace_core::model::source_url::SourceUrl;
use terrace_core::model::version::Version;

use crate::source::collection::FoundModule;
use crate::source::git::{Repository, Tag};

/// A repository, or a directory without one.
pub(super) struct Origin {
    pub(super) directory: PathBuf,
    pub(super) repository: Option<Repository>,
    /// The URL that is published as the source of the releases.
    pub(super) source: Option<SourceUrl>,
}

/// A version of a module.
#[derive(Clone)]
pub(super) struct PlannedVersion {
    pub(super) module: FoundModule,
    pub(super) version: Version,
    pub(super) origin: Arc<Origin>,
    /// The tag that names it; `None` for the files of a working tree.
    pub(super) tag: Option<Tag>,
}
